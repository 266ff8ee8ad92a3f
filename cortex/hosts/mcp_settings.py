"""Put the MCP server into a host's settings, and take it out again; all else stays as it is.

As with hooks (`hook_settings.py`), positions of what was put in are remembered in the user's state
folder: while nobody edits the file, a removal restores it byte for byte.

Where a person has put the address of `cortex mcp --http`, that entry gets the token's line. It names
$CORTEX_MCP_TOKEN, whose value stands in no settings: git may share them, and other users read them.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.tables import parse_toml
from cortex.core.text.value import NamedTuple
from cortex.hosts import HOST_NAMES, jsonc, load_host, settings_file, without_hooks
from cortex.hosts.host import Host
from cortex.hosts.settings_file import (
    ENCODING,
    NOTHING_WRITTEN,
    InstallRecord,
    SettingsChange,
)
from cortex.vault import files
from cortex.vault.user_settings import TOKEN_VARIABLE, WORKSPACE_VARIABLE

NAME = "cortex"  # of the server
_MAX_BYTES = 16 << 20  # bytes; Claude Code keeps much else in the file of its user
# A table of TOML to its last line that is no comment and not empty.
_TABLE = (
    r"[^\n]*\n(?:(?:[ \t\r]*(?:#[^\n]*)?\n)*(?![ \t]*\[)(?![ \t\r]*(?:#|\n|\Z))[^\n]*(?:\n|\Z))*"
)
_TOML_BLOCK_RE = lazy_re(rf"(?m)^\[mcp_servers\.cortex\]{_TABLE}")
_TOML_BELOW_RE = lazy_re(rf"(?m)^\[mcp_servers\.cortex\.{_TABLE}")  # as its env
_TOML_COMMAND_RE = lazy_re(r"(?m)^[ \t]*command[ \t]*=[^\n]*")
_TOML_ARGS_RE = lazy_re(r"(?ms)^[ \t]*args[ \t]*=[ \t]*\[.*?\]")
# Of this machine alone: the token of this user is not sent elsewhere.
_ADDRESS_RE = lazy_re(r"(?i)https?://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?(?:/|\Z)")
_ADDRESS_KEYS = ("url", "httpUrl", "serverUrl")
_TOKEN_KEY_RE = lazy_re(r'(?i)"(?:authorization|headersHelper|bearer_token_env_var)":')
_WITH_LINE, _WITHOUT_LINE = "given the token's line", "rid of the token's line"
HOSTS: dict[str, Host] = {
    host.name: host for host in sorted((*map(load_host, HOST_NAMES), *without_hooks.HOSTS))
}


class WiredServer(NamedTuple):
    """An entry of ours in the settings of a host."""

    host: str
    file: str
    is_own: bool  # the user's own settings, not those of a project
    line: tuple[str, ...]  # what the host runs, word by word
    environ: tuple[tuple[str, str], ...]


class McpChange(NamedTuple):
    """What was done to one file, or would be."""

    host: str
    file: str
    outcome: str  # installed, updated, unchanged, removed, not there, `_WITH_LINE`, `_WITHOUT_LINE`
    diff: str = ""  # only when nothing was written
    next_step: str = ""
    seen: str = ""  # what the server did when it was run once
    fault: str = ""

    def as_plan(self, todo: SettingsChange) -> McpChange:
        """The same before it is done, with what it would do to the file."""
        return McpChange(self.host, self.file, f"would be {self.outcome}", todo.diff())


def plan_change(
    name: str, action: str, root: str, words: Sequence[str], *, user: bool
) -> tuple[McpChange, SettingsChange]:
    """What installs or removes the server of one host, in the project at `root` or for the `user`;
    nothing is written before `settings_file.apply_change`. `words` are options of `cortex mcp`; without
    any an entry keeps those that it has. One with an address gets the token's line, or loses it.
    Raises `InvalidInputError`, `ConflictError`."""
    host = HOSTS[name]
    user = user or not host.mcp.project
    path = _settings_path(host, root, user=user)
    inside = (os.path.expanduser("~"), os.path.dirname(path)) if user else (root,)
    real = settings_file.resolve_path(path, inside)
    before = settings_file.read(real, _MAX_BYTES)
    text = (before or b"").decode(*ENCODING)
    record_name = f"{real} mcp"  # hooks may stand in the same file, and have a record of their own
    record, cuts = settings_file.recall(record_name, before)
    put, take = (_put_toml, _take_toml) if path.endswith(".toml") else (_put_json, _take_json)
    present, others = _read_servers(path, host.mcp.key, text)
    entry: dict[str, Any] | None = None
    addressed = present if present and _has_address(present) else None
    if addressed and (words or (action == "remove" and not cuts)):
        hint = "change it there; --tools and --vault go to cortex mcp --http"
        raise ConflictError(f"{path} has the address of the server, as you wrote it", hint)
    if action == "install":
        if present and not words and not addressed:
            ran = command_of(present)
            words = ran[ran.index("mcp") + 1 :]
        # What else a person has written into it, such as its environment, stays.
        ours = _token_line(host, addressed) if addressed else _entry(host, words, own=user)
        if "env" in ours and isinstance(kept := (present or {}).get("env"), dict):
            ours["env"] = {**kept, **ours["env"]}
        entry = {**(present or {}), **ours}
        new = _WITH_LINE if addressed else "updated" if present else "installed"
        outcome = "unchanged" if present == entry else new
        bare = settings_file.remove_spans(text, cuts or ())
        text = put(text, host.mcp.key, entry) if present != entry else text
        after: bytes | None = text.encode(*ENCODING)
        if present is None or addressed or bare != (before or b"").decode(*ENCODING):
            spans = settings_file.inserted_spans(bare, text) or ()
            is_new = record.absent if record and present else before is None
            record = InstallRecord(settings_file.digest(after), spans, is_new, (), ())
    else:
        outcome = _WITHOUT_LINE if addressed else "removed" if present else "not there"
        if cuts:
            text = settings_file.remove_spans(text, cuts)
            entry = _read_servers(path, host.mcp.key, text)[0]  # none, or a person's address
        elif present:
            text = take(text, host.mcp.key)
        is_ours = before is None or (record is not None and record.absent)
        after = None if is_ours and text.strip() in ("", "{}") else text.encode(*ENCODING)
        record = None
    _check_change(path, host.mcp.key, text, entry, others)
    todo = SettingsChange(path, real, before, after, (), record, bool(present), record_name)
    step = _next_step(host) if outcome in ("installed", "updated") else ""
    if addressed and action == "install":
        step = f'{name}: start it with export {TOKEN_VARIABLE}="$(cortex mcp token)"'
    return McpChange(name, path, outcome, next_step=step), todo


def _next_step(host: Host) -> str:
    """What is left to the person after an install."""
    asks = f"; it asks {host.mcp.asks}" if host.mcp.asks else ""
    is_silent = host.mcp.starts_elsewhere and not host.mcp.workspace
    which = "; it names no folder: your default vault is used, or --vault DIR" if is_silent else ""
    return f"{host.name}: {host.mcp.next_step}{asks}{which}"


def plan_token_lines(root: str) -> Iterator[tuple[McpChange, SettingsChange, str]]:
    """What gives the token's line to each entry with an address, in the project at `root` and in the
    user's settings, and the command that does. Of what cannot be edited that command tells."""
    for host, user, _, text in _settings_with_us(root):
        if _ADDRESS_RE.search(text):
            with suppress(CortexError, OSError):
                change, todo = plan_change(host.name, "install", root, (), user=user)
                if change.outcome == _WITH_LINE:
                    yield change, todo, f"cortex mcp install {host.name}{' --user' * user}"


def wired_servers(root: str) -> Iterator[WiredServer]:
    """The entries of ours that run a program, in the project at `root` and in the user's settings; of
    a file that two hosts read the first one's."""
    found: set[str] = set()
    for host, user, path, text in _settings_with_us(root):
        with suppress(CortexError):
            entry = _read_servers(path, host.mcp.key, text)[0] or {}
            environ = entry.get("env", {})
            items = environ.items() if isinstance(environ, dict) else ()
            variables = tuple((key, one) for key, one in items if isinstance(one, str))
            if path not in found and (line := command_of(entry)):
                found.add(path)
                yield WiredServer(host.name, path, user, tuple(line), variables)


def _settings_with_us(root: str) -> Iterator[tuple[Host, bool, str, str]]:
    """The settings that name Cortex: the host, whether they are the user's own, path and text."""
    for host in HOSTS.values():
        for user in (False, True) if root and host.mcp.project else (True,):
            path = _settings_path(host, root, user=user)
            data = files.read_bounded(path, _MAX_BYTES, follow=True)
            if NAME.encode() in data:
                yield host, user, path, data.decode(*ENCODING)


def _settings_path(host: Host, root: str, *, user: bool) -> str:
    if not user:
        if not root:
            hint = "--user, or run it in a project"
            raise InvalidInputError("your home folder is no project", hint)
        return os.path.join(root, host.mcp.project)
    below = host.mcp.user or host.mcp.project
    if host.home_variable and (folder := os.environ.get(host.home_variable)):
        return os.path.join(os.path.abspath(folder), os.path.basename(below))
    return os.path.join(os.path.expanduser("~"), below)


def _entry(host: Host, words: Sequence[str], *, own: bool) -> dict[str, Any]:
    """The server: of a file that git may share the command of any machine."""
    # -P: or a `cortex` or `json.py` in somebody's project would run in place of ours.
    program, *more = [sys.executable, "-P", "-m", "cortex"] if own else [NAME]
    line = [program, *more, "mcp", *words]
    runs = {"command": line} if host.mcp.is_one_list else {"command": program, "args": line[1:]}
    env = {WORKSPACE_VARIABLE: host.mcp.workspace} if own and host.mcp.workspace else {}
    return {**dict(host.mcp.fields), **runs, **({"env": env} if env else {})}


def command_of(entry: dict[str, Any]) -> list[str]:
    """What an entry runs, word by word; empty for one with an address, and for an odd one."""
    command, args = entry.get("command"), entry.get("args", [])
    words = args if isinstance(args, list) else [None]
    line = command if isinstance(command, list) else [command, *words]
    return line if all(isinstance(word, str) for word in line) else []


def _has_address(entry: dict[str, Any]) -> bool:
    address = next((str(entry[key]) for key in _ADDRESS_KEYS if key in entry), "")
    return "command" not in entry and bool(_ADDRESS_RE.match(address))


def _token_line(host: Host, entry: dict[str, Any]) -> dict[str, Any]:
    """What an entry with an address lacks to bring the token; nothing if it brings one."""
    headers = entry.get("headers", {})
    if _TOKEN_KEY_RE.search(json.dumps(entry, default=str)) or not isinstance(headers, dict):
        return {}
    if host.mcp.project.endswith(".toml"):
        return {"bearer_token_env_var": TOKEN_VARIABLE}
    return {"headers": {**headers, "Authorization": f"Bearer {host.mcp.variable % TOKEN_VARIABLE}"}}


def _read_servers(path: str, key: str, text: str) -> tuple[dict[str, Any] | None, object]:
    """Our entry in settings, None without one, and all else that they say. Raises `InvalidInputError`
    for settings of another shape, `ConflictError` for an entry that does not run `cortex mcp`."""
    if path.endswith(".toml"):
        try:
            root: object = parse_toml(text)
        except ValueError as error:
            raise InvalidInputError(f"{path}: {error}", NOTHING_WRITTEN) from None
    else:
        try:
            root = json.loads(text)  # in milliseconds, also of the megabytes of Claude Code
        except ValueError:
            node = settings_file.parse(path, text.encode(*ENCODING))
            root = jsonc.to_python(node) if node else {}
    servers = root.get(key, {}) if isinstance(root, dict) else None
    entry = servers.get(NAME, {}) if isinstance(servers, dict) else None
    if not isinstance(root, dict) or not isinstance(servers, dict) or not isinstance(entry, dict):
        message = f"{path} holds no table {key}, or no table {NAME} in it"
        raise InvalidInputError(message, NOTHING_WRITTEN)
    words = command_of(entry)
    is_ours = "mcp" in words[1:] and NAME in map(os.path.basename, words)
    if entry and not is_ours and not _has_address(entry):
        message = f"{path} has a server {NAME!r} that is another program, or elsewhere"
        raise ConflictError(message, "rename it, then run the command again")
    others = {name: one for name, one in servers.items() if name != NAME}
    rest = {name: one for name, one in root.items() if name != key}
    return entry or None, (rest, others)


def _check_change(
    path: str, key: str, text: str, entry: dict[str, Any] | None, others: object
) -> None:
    """Raise `InvalidInputError` unless the new text says this entry, and all else as before."""
    with suppress(InvalidInputError):
        if _read_servers(path, key, text) == (entry, others):
            return
    hint = f"change the server {NAME} in it by hand; nothing was written"
    raise InvalidInputError(f"{path} has its servers in another form", hint)


def _put_json(text: str, key: str, entry: dict[str, Any]) -> str:
    """The text with the entry, in the place of ours where there is one."""
    if _has_address(entry):
        header = "headers", "Authorization"
        return jsonc.put_value(text, (key, NAME, *header), entry[header[0]][header[1]])
    return jsonc.put_value(text, (key, NAME), entry)


def _take_json(text: str, key: str) -> str:
    """The text without our entry, and without a table that it leaves empty."""
    root = jsonc.parse(text)
    table = jsonc.find_member(root, key)
    assert root is not None
    assert table is not None
    where, name = (root, key) if len(table.entries) == 1 else (table, NAME)
    index = max(n for n, one in enumerate(where.entries) if one.key == name)  # the one that counts
    return jsonc.remove_entry(text, where, index)


def _put_toml(text: str, key: str, entry: dict[str, Any]) -> str:
    if _has_address(entry):
        line = f'bearer_token_env_var = "{TOKEN_VARIABLE}"\n'
        return re.sub(r"(?m)^\[mcp_servers\.cortex\][^\n]*\n", rf"\g<0>{line}", text, count=1)
    command, args = (
        f"{name} = {json.dumps(entry[name], ensure_ascii=False)}" for name in ("command", "args")
    )
    if block := _TOML_BLOCK_RE.search(text):
        table = _TOML_COMMAND_RE.sub(lambda _: command, block[0], count=1)
        table = _TOML_ARGS_RE.sub(lambda _: args, table, count=1)
        return text[: block.start()] + table + text[block.end() :]
    lead = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{lead}[{key}.{NAME}]\n{command}\n{args}\n"


def _take_toml(text: str, _key: str) -> str:
    return _TOML_BELOW_RE.sub("", _TOML_BLOCK_RE.sub("", text, count=1))
