"""Run installed hooks and servers once, as a host does, and report the result.

A project's settings may come from a stranger: of them only what Cortex itself writes there is run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from cortex.core.model.problem import Problem
from cortex.core.text.strings import shell_quote, shorten
from cortex.core.text.value import NamedTuple
from cortex.hosts.host import Host
from cortex.hosts.mcp_settings import HOSTS, WiredServer, wired_servers
from cortex.vault.layout import SETTINGS_FILE

_SECONDS = 10.0  # for an answer
_MAX_WORDS = 300  # characters of what a program says when it fails
# What the least generous of hosts hands on to a server.
_VARIABLES = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
_CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "cortex", "version": "1"}}  # fmt: skip
_MESSAGES: tuple[dict[str, Any], ...] = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": _CLIENT},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)
# Part of the path of an environment; what installs Cortex there once more, and what puts it on the PATH.
_INSTALLERS = (
    ("/pipx/venvs/", "pipx reinstall cortex-vault", "pipx ensurepath"),
    ("/uv/tools/", "uv tool upgrade --reinstall cortex-vault", "uv tool update-shell"),
)


class Trial(NamedTuple):
    """What was tried and what came of it: it was seen to work, or there is a fault."""

    host: str
    file: str  # the settings that name it
    is_own: bool  # the user's, not a project's
    seen: str = ""  # such as `answers in 60 ms with 8 tools`
    fault: str = ""
    hint: str = ""


def try_servers(
    root: str, *, hosts: Collection[str] = (), files: Collection[str] = ()
) -> list[Trial]:
    """Start the servers that are wired for the project at `root` and for the user, each once and all
    at the same time, but for what may be a stranger's; with `hosts` or `files` those of these hosts, or in these settings, alone."""
    wired = [
        one
        for one in wired_servers(root)
        if (not hosts or one.host in hosts) and (not files or one.file in files)
    ]
    runs = {one: _run_of(one, root) for one in wired if _is_safe(one)}
    with ThreadPoolExecutor(max_workers=8) as pool:
        once = {str(run): run for run in runs.values()}
        came = dict(zip(once, pool.map(lambda run: _try_server(*run), once.values()), strict=True))
    return [
        Trial(*one[:3], *(came[str(runs[one])] if one in runs else _untried(one)), _mend_hint(one))
        for one in wired
    ]


def server_problems(trials: Sequence[Trial]) -> list[Problem]:
    """The servers that do not answer."""
    faulty = (one for one in trials if one.fault)
    return [Problem(one.file, f"its server cortex {one.fault}", one.hint) for one in faulty]


def _is_safe(one: WiredServer) -> bool:
    """The user's own, or what Cortex puts into the settings of a project."""
    return one.is_own or (one.line[:2] == ("cortex", "mcp") and "--http" not in one.line)


def _untried(one: WiredServer) -> tuple[str, str]:
    line = shorten(" ".join(one.line), _MAX_WORDS)
    return "", f"was not tried: {line} is not what cortex mcp install writes into a project"


def _run_of(one: WiredServer, root: str) -> tuple[list[str], str, dict[str, str]]:
    """What the host starts, where, and in which environment."""
    home = os.path.expanduser("~")
    is_elsewhere = one.is_own and HOSTS[one.host].mcp.starts_elsewhere
    environ = {key: os.environ[key] for key in _VARIABLES if key in os.environ}
    if one.is_own:  # a stranger's could name other code
        environ |= {key: text.replace("${workspaceFolder}", root) for key, text in one.environ}
    return [*one.line], home if is_elsewhere or not root else root, environ


def _try_server(line: list[str], folder: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """What a server was seen to do, or its fault."""
    started = time.monotonic()
    said, fault = _run(line, folder, environ, b"".join(map(_json_line, _MESSAGES)))
    milliseconds = (time.monotonic() - started) * 1000
    for answer in said.splitlines():
        with suppress(ValueError, LookupError, TypeError):
            tools = len(json.loads(answer)["result"]["tools"])
            return f"answers in {milliseconds:.0f} ms with {tools} tools", ""
    return "", fault or f"does not answer: {_last_words(said)}"


def try_hook(host: Host, line: Sequence[str]) -> tuple[str, str]:
    """Run the hook for the end of a turn in a vault that is gone afterwards: what was seen, or its fault."""
    with tempfile.TemporaryDirectory() as scratch:
        open(os.path.join(scratch, SETTINGS_FILE), "w").close()
        payload: dict[str, Any] = {}
        fields = {"session": "trial", "cwd": scratch, "message": "Cortex tries its hook."}
        for field, value in fields.items():
            outer, _, inner = host.fields[field][0].partition(".")
            payload[outer] = {inner: value} if inner else value
        ours = ("CORTEX_", *host.project_variables)
        environ = {key: one for key, one in os.environ.items() if not key.startswith(ours)}
        environ |= {f"XDG_{kind}_HOME": scratch for kind in ("STATE", "CACHE", "CONFIG", "DATA")}
        said, fault = _run(line, scratch, environ, _json_line(payload))
        inbox = os.path.join(scratch, "inbox", "pending")
        if os.path.isdir(inbox) and os.listdir(inbox):
            return "keeps a turn", ""
    return "", fault or f"keeps nothing of a turn: {_last_words(said)}"


def _run(
    line: Sequence[str], folder: str, environ: Mapping[str, str], sent: bytes
) -> tuple[bytes, str]:
    """What a program prints, and why it gave no answer at all."""
    try:
        done = subprocess.run(
            line, cwd=folder, env=environ, input=sent, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=_SECONDS, check=False,
        )  # fmt: skip
    except OSError as error:
        return b"", f"does not start: {line[0]}: {error.strerror}"
    except subprocess.TimeoutExpired:
        return b"", f"does not answer within {_SECONDS:g} s"
    return done.stdout, ""


def _json_line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _last_words(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return shorten(lines[-1], _MAX_WORDS) if lines else "it ends without a word"


def _mend_hint(one: WiredServer) -> str:
    """What to do about a server that fails, as this Cortex was installed."""
    if not _is_safe(one):
        return f"cortex mcp install {one.host}"
    again, path = next((hints for part, *hints in _INSTALLERS if part in sys.prefix), ("", ""))
    folder, python = (shell_quote(one) for one in (os.path.dirname(sys.executable), sys.executable))
    if one.is_own or shutil.which(one.line[0]):
        again = again or f"{python} -m pip install --force-reinstall ./cortex"
        return f"{again}, then cortex mcp install {one.host}{' --user' * one.is_own}"
    return f"{path or f'export PATH={folder}:$PATH'}, or cortex mcp install {one.host} --user"
