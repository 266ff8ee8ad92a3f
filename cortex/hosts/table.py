"""The hosts of agents that have hooks: where each keeps its settings, how an entry looks there, and which events we use.

Sources, looked at in November 2026: code.claude.com/docs/en/hooks, developers.openai.com/codex/hooks, the hooks reference of
gemini-cli, docs.github.com/en/copilot/reference/hooks-reference, cursor.com/docs/agent/hooks, docs.windsurf.com cascade/hooks.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import NamedTuple

from cortex.hosts import hook_command
from cortex.hosts.hook_command import SCRIPT, Line
from cortex.hosts.settings_edit import HOOKS, Want

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SETTINGS = "settings.json"


class On(NamedTuple):
    """One event of a host that we use."""

    name: str  # as the host calls it
    event: str  # as `cortex hook` does
    seconds: int
    matcher: str = ""  # of the sources of a start, where the host matches them; empty: all
    background: bool = False  # the host need not wait
    silence: str = ""  # what the host must read where there is no Cortex to answer


class Host(NamedTuple):
    """How one host is wired."""

    name: str
    title: str
    ons: tuple[On, ...]
    folder: str  # of its settings, below a project and below the home folder
    file: str
    variable: str = ""  # the environment's name for the person's folder
    home: str = ""  # the person's folder below the home folder, where that is another one
    local: str = ""  # the project's file that git does not share; empty where the host has none
    own: bool = False  # the file is ours alone
    top: tuple[tuple[str, object], ...] = ()  # what the file must say besides
    next: str = ""  # what the person has to do after an install


_STARTS = "startup|resume|clear|compact"

HOSTS: dict[str, Host] = {
    host.name: host
    for host in (
        Host(
            "claude", "Claude Code",
            (
                On("SessionStart", "session-start", 10, matcher=f"{_STARTS}|fork"),
                On("UserPromptSubmit", "user-prompt-submit", 10),
                On("PreCompact", "pre-compact", 10),
                On("PostCompact", "post-compact", 10),
                On("Stop", "stop", 10, background=True),
                On("SubagentStop", "subagent-stop", 10, background=True),
                On("SessionEnd", "session-end", 5),
            ),
            ".claude", SETTINGS, variable="CLAUDE_CONFIG_DIR", local="settings.local.json",
            next="start Claude Code anew, or look at /hooks in it; it asks whether you trust the folder",
        ),
        Host(
            "codex", "Codex",
            (
                On("SessionStart", "session-start", 10, matcher=_STARTS),
                On("UserPromptSubmit", "user-prompt-submit", 10),
                On("PreCompact", "pre-compact", 10),
                On("PostCompact", "post-compact", 10),
                On("Stop", "stop", 10, silence="{}"),
                On("SubagentStop", "subagent-stop", 10, silence="{}"),
                On("SessionEnd", "session-end", 3),  # Codex grants no more
            ),
            ".codex", "hooks.json", variable="CODEX_HOME",
            next="trust the new hooks in Codex (/hooks): it runs none that nobody has looked at",
        ),
        Host(
            "gemini", "Gemini CLI",
            (  # a matcher of a lifecycle event is one word there, so none is set: a start is any start
                On("SessionStart", "session-start", 10, silence="{}"),
                On("BeforeAgent", "user-prompt-submit", 10, silence="{}"),
                On("AfterAgent", "stop", 10, silence="{}"),
                On("PreCompress", "pre-compact", 10, silence="{}"),
                On("SessionEnd", "session-end", 5, silence="{}"),
            ),
            ".gemini", SETTINGS, next="start Gemini CLI anew; /hooks lists them",
        ),
        Host(
            "cursor", "Cursor",
            (
                On("sessionStart", "session-start", 10),
                On("afterAgentResponse", "stop", 10),
                On("stop", "stop", 10),
                On("preCompact", "pre-compact", 10),
                On("sessionEnd", "session-end", 5),
            ),
            ".cursor", "hooks.json", top=(("version", 1),), next="start Cursor anew; its settings list the hooks",
        ),
        Host(
            "copilot", "Copilot CLI",
            (
                On("sessionStart", "session-start", 10),
                On("userPromptSubmitted", "user-prompt-submit", 10),
                On("agentStop", "stop", 10),
                On("subagentStop", "subagent-stop", 10),
                On("preCompact", "pre-compact", 10),
                On("sessionEnd", "session-end", 5),
            ),
            ".github/hooks", "cortex.json", variable="COPILOT_HOME", home=".copilot/hooks", own=True, top=(("version", 1),),
            next="start Copilot CLI anew",
        ),
        Host(
            "windsurf", "Windsurf",
            (On("post_cascade_response", "stop", 10),),
            ".windsurf", "hooks.json", home=".codeium/windsurf",
            next="start Windsurf anew; it takes no context from hooks, so brief it by AGENTS.md: cortex brief --help",
        ),
    )
}  # fmt: skip


def user_folder(host: Host, environ: Mapping[str, str]) -> str:
    """The folder of the person's own settings of a host."""
    named = environ.get(host.variable, "") if host.variable else ""
    if named:
        return os.path.join(
            os.path.abspath(os.path.expanduser(named)), "hooks" if host.name == "copilot" else ""
        )
    return os.path.join(os.path.expanduser("~"), host.home or host.folder)


def script() -> str:
    """The program that a hook runs."""
    return os.path.join(_PACKAGE, SCRIPT)


def wants(
    host: Host,
    interpreter: str,
    *,
    shared: bool = False,
    standing: Mapping[str, Line] | None = None,
) -> list[Want]:
    """The entries of a host's settings, for this machine alone or for a file that git shares. There a line that is `standing`,
    by the host's name of the event, stays where it can run here: what one machine wrote, the next one need not write anew."""
    found = []
    for on in host.ons:
        words = hook_command.words(interpreter, script(), on.event, host.name)
        held = (standing or {}).get(on.name)
        stays = held is not None and hook_command.runs_as_shared(
            held, on.event, host.name, on.silence
        )
        line = (
            held.text
            if held and stays
            else hook_command.shared(words, on.silence)
            if shared
            else ""
        )
        found.append(Want(on.name, _entry(host, on, words, line)))
    return found


def in_plugin(on: On) -> dict[str, object]:
    """An entry of the plugin: whoever installs that has the command `cortex`."""
    return _group(
        on,
        {
            "type": "command",
            "command": "cortex",
            "args": ["hook", on.event, "--host", "claude"],
            **_claude_limits(on),
        },
    )


def _entry(host: Host, on: On, words: list[str], shared: str) -> dict[str, object]:
    """An entry in the shape of its host; `words` is what runs on this machine, `shared` the line for any, where that is asked for."""
    line = shared or shlex.join(words)
    if host.name == "claude":
        run = {"command": line} if shared else {"command": words[0], "args": words[1:]}
        return _group(on, {"type": "command", **run, **_claude_limits(on)})
    if host.name == "codex":
        about = (
            {"statusMessage": "Cortex: what is known here"} if on.event == "session-start" else {}
        )
        return _group(on, {"type": "command", "command": line, "timeout": on.seconds, **about})
    if host.name == "gemini":
        return _group(
            on, {"name": "cortex", "type": "command", "command": line, "timeout": on.seconds * 1000}
        )
    if host.name == "cursor":
        return {"command": line, "timeout": on.seconds}
    if host.name == "copilot":
        return {"type": "command", "bash": line, "timeoutSec": on.seconds}
    return {"command": line, "show_output": False}


def _group(on: On, handler: dict[str, object]) -> dict[str, object]:
    return {**({"matcher": on.matcher} if on.matcher else {}), HOOKS: [handler]}


def _claude_limits(on: On) -> dict[str, object]:
    return {"timeout": on.seconds, **({"async": True} if on.background else {})}
