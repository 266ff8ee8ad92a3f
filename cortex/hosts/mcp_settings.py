"""Put the MCP server into a host's settings, and take it out again; all else stays as it is.

As with hooks (`settings_edit`), positions of what was put in are remembered in the user's state
folder: while nobody edits the file, a removal restores it byte for byte.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from difflib import unified_diff
from typing import Any, Literal, NamedTuple, Protocol

from cortex.core.model.problem import ConflictError, InvalidInputError
from cortex.core.text import jsonc, toml
from cortex.hosts import settings_edit
from cortex.hosts.settings_edit import InstallRecord, SettingsChange

NAME = "cortex"  # of the server
McpHostName = Literal["claude", "codex", "cursor", "gemini", "vscode", "windsurf"]
_ENCODING = ("utf-8", "surrogateescape")  # any bytes come back as they were
_MAX_BYTES = 16 << 20  # bytes; Claude Code keeps much else in the file of its user
_TOML_BLOCK_RE = re.compile(r"(?m)^\[mcp_servers\.cortex\][^\n]*\n(?:(?!\[)[^\n]*(?:\n|\Z))*")
_ASKS = "it asks whether the server may run when it is started there next"


class McpHost(NamedTuple):
    """Where a host keeps the servers of a project, and those of a person."""

    project: str  # below a project; empty where it has none
    user: str
    key: str  # of the table of servers; empty: the file is TOML
    next_step: str = "start it anew"
    home_variable: str = ""  # of the environment, that names the folder of `user` instead
    fields: tuple[tuple[str, str], ...] = ()  # of the entry, beside command and args


_VSCODE_FOLDER = "Library/Application Support" if sys.platform == "darwin" else ".config"
HOSTS: dict[str, McpHost] = {
    "claude": McpHost(".mcp.json", "~/.claude.json", "mcpServers", _ASKS, "CLAUDE_CONFIG_DIR"),
    "codex": McpHost(".codex/config.toml", "~/.codex/config.toml", "", home_variable="CODEX_HOME"),
    "cursor": McpHost(".cursor/mcp.json", "~/.cursor/mcp.json", "mcpServers", _ASKS),
    "gemini": McpHost(".gemini/settings.json", "~/.gemini/settings.json", "mcpServers"),
    "vscode": McpHost(
        ".vscode/mcp.json", f"~/{_VSCODE_FOLDER}/Code/User/mcp.json", "servers", _ASKS,
        fields=(("type", "stdio"),),
    ),
    "windsurf": McpHost("", "~/.codeium/windsurf/mcp_config.json", "mcpServers"),
}  # fmt: skip


class McpChange(NamedTuple):
    """What was done to one file, or would be."""

    host: str
    file: str
    outcome: str  # installed, updated, unchanged, removed, not there
    diff: str = ""  # only when nothing was written
    next_step: str = ""


def snippet() -> str:
    """What goes into the settings of a host that Cortex does not know."""
    return json.dumps({"mcpServers": {NAME: {"command": NAME, "args": ["mcp"]}}})


def change(
    name: str, action: str, root: str, words: Sequence[str], *, user: bool, dry_run: bool
) -> McpChange:
    """Install or remove the server of one host, in the project at `root` or for the `user`.
    `words` are options of `cortex mcp`. Raises `InvalidInputError`, `ConflictError`."""
    host = HOSTS[name]
    user = user or not host.project
    path = _settings_path(host, root, user=user)
    inside = (os.path.expanduser("~"), os.path.dirname(path)) if user else (root,)
    real = settings_edit.resolve_path(path, inside)
    before = settings_edit.read(real, _MAX_BYTES)
    servers = _JsonServers(path, host.key) if host.key else _TomlServers(path)
    if action == "install":
        outcome, todo = _plan_install(path, real, before, servers, _entry(host, words, own=user))
    else:
        outcome, todo = _plan_removal(path, real, before, servers)
    diff = ""
    if dry_run:
        old, new = ((data or b"").decode(*_ENCODING).splitlines() for data in (before, todo.after))
        diff = "\n".join(unified_diff(old, new, path, path, lineterm="", n=2))
    elif todo.has_changes:
        settings_edit.apply_change(todo)
    step = f"{name}: {host.next_step}" if outcome in ("installed", "updated") else ""
    return McpChange(name, path, outcome, diff, step)


def _plan_install(
    path: str, real: str, before: bytes | None, servers: _Servers, entry: dict[str, Any]
) -> tuple[str, SettingsChange]:
    text = (before or b"").decode(*_ENCODING)
    present = servers.find(text)
    after = text if present == entry else servers.put(text, entry)
    data = after.encode(*_ENCODING)
    record = settings_edit.read_record(_record_name(real))
    if not (present and record):
        spans = None if present else settings_edit.inserted_spans(text, after)
        digest = settings_edit.digest(data) if spans else ""
        record = InstallRecord(digest, spans or (), before is None, (), servers.made)
    outcome = "unchanged" if present == entry else "updated" if present else "installed"
    done = SettingsChange(path, real, before, data, (), record, bool(present), _record_name(real))
    return outcome, done


def _plan_removal(
    path: str, real: str, before: bytes | None, servers: _Servers
) -> tuple[str, SettingsChange]:
    text = (before or b"").decode(*_ENCODING)
    record = settings_edit.read_record(_record_name(real))
    is_present = servers.find(text) is not None
    after = text
    if record and record.cuts and record.digest == settings_edit.digest(before):
        after = settings_edit.remove_spans(text, record.cuts)
    elif is_present:
        after = servers.take(text, record.made or () if record else ())
    is_empty = after.strip() in ("", "{}") and (before is None or bool(record and record.absent))
    data = None if is_empty else after.encode(*_ENCODING)
    done = SettingsChange(path, real, before, data, (), None, is_present, _record_name(real))
    return "removed" if is_present else "not there", done


def _settings_path(host: McpHost, root: str, *, user: bool) -> str:
    if not user:
        if not root:
            raise InvalidInputError(
                "your home folder is no project", "--user, or run it in a project"
            )
        return os.path.join(root, host.project)
    if host.home_variable and (folder := os.environ.get(host.home_variable)):
        return os.path.join(os.path.abspath(folder), os.path.basename(host.user))
    return os.path.expanduser(host.user)


def _record_name(real: str) -> str:
    return f"{real} mcp"  # hooks may stand in the same file, and have a record of their own


def _entry(host: McpHost, words: Sequence[str], *, own: bool) -> dict[str, Any]:
    """The server: of a file that git may share the command of any machine, where it is there."""
    program = [NAME] if shutil.which(NAME) and not own else [sys.executable, "-m", "cortex"]
    return {**dict(host.fields), "command": program[0], "args": [*program[1:], "mcp", *words]}


class _Servers(Protocol):
    """The table of servers in a text of settings."""

    made: tuple[str, ...]  # what `put` has made beside the entry

    def find(self, text: str) -> object:
        """Our entry; None without one."""

    def put(self, text: str, entry: dict[str, Any]) -> str:
        """The text with the entry, in the place of ours where there is one."""

    def take(self, text: str, made: Sequence[str]) -> str:
        """The text without our entry, and without what was `made` for it and is empty now."""


class _JsonServers:
    """Settings in JSON, with comments or without."""

    def __init__(self, path: str, key: str) -> None:
        self._path, self._key = path, key
        self.made: tuple[str, ...] = ()

    def find(self, text: str) -> object:
        root = settings_edit.parse(self._path, text.encode(*_ENCODING))
        if root is not None and root.kind != "object":
            raise InvalidInputError(f"{self._path} holds no object", "mend it; nothing was written")
        node = jsonc.find_member(root, self._key, NAME)
        return jsonc.to_python(node) if node else None

    def put(self, text: str, entry: dict[str, Any]) -> str:
        root = jsonc.parse(text)
        if root is None:
            self.made = (self._key,)
            body = jsonc.dumps_in_style(text, {self._key: {NAME: entry}}, "", inline=False)
            return f"{text}{body}{jsonc.newline_of(text)}"
        servers = jsonc.find_member(root, self._key)
        if servers is None:
            self.made = (self._key,)
            splices = jsonc.splices_to_append(text, root, {NAME: entry}, self._key)
        elif servers.kind != "object":
            raise InvalidInputError(f"{self._key} in {self._path} is no object", "mend it first")
        elif (node := jsonc.find_member(servers, NAME)) is None:
            splices = jsonc.splices_to_append(text, servers, entry, NAME)
        else:
            if not _is_ours(jsonc.to_python(node)):
                message = f"{self._path} has a server {NAME!r} that is another program"
                raise ConflictError(message, "rename it, then run the command again")
            splices = [jsonc.splice_to_replace(text, node, entry)]
        return jsonc.apply_splices(text, splices)

    def take(self, text: str, made: Sequence[str]) -> str:
        root = jsonc.parse(text)
        servers = jsonc.find_member(root, self._key)
        assert root is not None
        assert servers is not None
        where, name = (
            (root, self._key)
            if self._key in made and len(servers.entries) == 1
            else (servers, NAME)
        )
        index = next(n for n, one in enumerate(where.entries) if one.key == name)
        return jsonc.apply_splices(text, jsonc.splices_to_remove(text, where, index))


class _TomlServers:
    """Settings in TOML, as of Codex: a table at the end of the file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.made: tuple[str, ...] = ()

    def find(self, text: str) -> object:
        try:
            return toml.parse(text).get("mcp_servers", {}).get(NAME)
        except (ValueError, AttributeError) as error:
            hint = "mend it, then run the command again; nothing was written"
            raise InvalidInputError(f"{self._path}: {error}", hint) from None

    def put(self, text: str, entry: dict[str, Any]) -> str:
        lines = [f"{key} = {json.dumps(value)}" for key, value in entry.items()]
        block = "\n".join([f"[mcp_servers.{NAME}]", *lines, ""])
        if (present := self.find(text)) is not None:
            if not _is_ours(present) or not _TOML_BLOCK_RE.search(text):
                message = f"{self._path} has a server {NAME!r} that is another program"
                raise ConflictError(message, "rename it, then run the command again")
            return _TOML_BLOCK_RE.sub(lambda _: block, text, count=1)
        lead = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{lead}{block}"

    def take(self, text: str, _made: Sequence[str]) -> str:
        return _TOML_BLOCK_RE.sub("", text, count=1)


def _is_ours(entry: object) -> bool:
    """Whether an entry runs `cortex mcp`."""
    if not isinstance(entry, dict):
        return False
    words = [str(entry.get("command", "")), *map(str, entry.get("args") or ())]
    return "mcp" in words and any(os.path.basename(word) == NAME for word in words)
