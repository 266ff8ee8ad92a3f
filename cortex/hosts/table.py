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
from cortex.hosts.hook_command import HOOK_SCRIPT, HookCommand
from cortex.hosts.settings_edit import HOOKS_KEY, WantedEntry

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SETTINGS_FILE = "settings.json"


class HostEvent(NamedTuple):
    """One event of a host that we use."""

    name: str  # as the host calls it
    event: str  # as `cortex hook` does
    timeout_seconds: int
    matcher: str = ""  # of the sources of a start, where the host matches them; empty: all
    is_background: bool = False  # the host need not wait
    empty_answer: str = ""  # what the host must read where there is no Cortex to answer


class Host(NamedTuple):
    """How one host is wired."""

    name: str
    title: str
    events: tuple[HostEvent, ...]
    settings_folder: str  # of its settings, below a project and below the home folder
    settings_file: str
    home_variable: str = ""  # the environment's name for the person's folder
    user_folder: str = ""  # the person's folder below the home folder, where that is another one
    local_file: str = (
        ""  # the project's file that git does not share; empty where the host has none
    )
    is_own_file: bool = False  # the file is ours alone
    required_fields: tuple[tuple[str, object], ...] = ()  # what the file must say besides
    next_step: str = ""  # what the person has to do after an install


_START_SOURCES = "startup|resume|clear|compact"

HOSTS: dict[str, Host] = {
    host.name: host
    for host in (
        Host(
            "claude", "Claude Code",
            (
                HostEvent("SessionStart", "session-start", 10, matcher=f"{_START_SOURCES}|fork"),
                HostEvent("UserPromptSubmit", "user-prompt-submit", 10),
                HostEvent("PreCompact", "pre-compact", 10),
                HostEvent("PostCompact", "post-compact", 10),
                HostEvent("Stop", "stop", 10, is_background=True),
                HostEvent("SubagentStop", "subagent-stop", 10, is_background=True),
                HostEvent("SessionEnd", "session-end", 5),
            ),
            ".claude", SETTINGS_FILE, home_variable="CLAUDE_CONFIG_DIR", local_file="settings.local.json",
            next_step="start Claude Code anew, or look at /hooks in it; it asks whether you trust the folder",
        ),
        Host(
            "codex", "Codex",
            (
                HostEvent("SessionStart", "session-start", 10, matcher=_START_SOURCES),
                HostEvent("UserPromptSubmit", "user-prompt-submit", 10),
                HostEvent("PreCompact", "pre-compact", 10),
                HostEvent("PostCompact", "post-compact", 10),
                HostEvent("Stop", "stop", 10, empty_answer="{}"),
                HostEvent("SubagentStop", "subagent-stop", 10, empty_answer="{}"),
                HostEvent("SessionEnd", "session-end", 3),  # Codex grants no more
            ),
            ".codex", "hooks.json", home_variable="CODEX_HOME",
            next_step="trust the new hooks in Codex (/hooks): it runs none that nobody has looked at",
        ),
        Host(
            "gemini", "Gemini CLI",
            (  # a matcher of a lifecycle event is one word there, so none is set: a start is any start
                HostEvent("SessionStart", "session-start", 10, empty_answer="{}"),
                HostEvent("BeforeAgent", "user-prompt-submit", 10, empty_answer="{}"),
                HostEvent("AfterAgent", "stop", 10, empty_answer="{}"),
                HostEvent("PreCompress", "pre-compact", 10, empty_answer="{}"),
                HostEvent("SessionEnd", "session-end", 5, empty_answer="{}"),
            ),
            ".gemini", SETTINGS_FILE, next_step="start Gemini CLI anew; /hooks lists them",
        ),
        Host(
            "cursor", "Cursor",
            (
                HostEvent("sessionStart", "session-start", 10),
                HostEvent("afterAgentResponse", "stop", 10),
                HostEvent("stop", "stop", 10),
                HostEvent("preCompact", "pre-compact", 10),
                HostEvent("sessionEnd", "session-end", 5),
            ),
            ".cursor", "hooks.json", required_fields=(("version", 1),), next_step="start Cursor anew; its settings list the hooks",
        ),
        Host(
            "copilot", "Copilot CLI",
            (
                HostEvent("sessionStart", "session-start", 10),
                HostEvent("userPromptSubmitted", "user-prompt-submit", 10),
                HostEvent("agentStop", "stop", 10),
                HostEvent("subagentStop", "subagent-stop", 10),
                HostEvent("preCompact", "pre-compact", 10),
                HostEvent("sessionEnd", "session-end", 5),
            ),
            ".github/hooks", "cortex.json", home_variable="COPILOT_HOME", user_folder=".copilot/hooks", is_own_file=True, required_fields=(("version", 1),),
            next_step="start Copilot CLI anew",
        ),
        Host(
            "windsurf", "Windsurf",
            (HostEvent("post_cascade_response", "stop", 10),),
            ".windsurf", "hooks.json", user_folder=".codeium/windsurf",
            next_step="start Windsurf anew; it takes no context from hooks, so brief it by AGENTS.md: cortex brief --help",
        ),
    )
}  # fmt: skip


def user_settings_folder(host: Host, environ: Mapping[str, str]) -> str:
    """The folder of the person's own settings of a host."""
    named = environ.get(host.home_variable, "") if host.home_variable else ""
    if named:
        return os.path.join(
            os.path.abspath(os.path.expanduser(named)), "hooks" if host.name == "copilot" else ""
        )
    return os.path.join(os.path.expanduser("~"), host.user_folder or host.settings_folder)


def hook_script() -> str:
    """The program that a hook runs."""
    return os.path.join(_PACKAGE_FOLDER, HOOK_SCRIPT)


def wanted_entries(
    host: Host,
    interpreter: str,
    *,
    shared: bool = False,
    standing: Mapping[str, HookCommand] | None = None,
) -> list[WantedEntry]:
    """The entries of a host's settings, for this machine alone or for a file that git shares. There a line that is `standing`,
    by the host's name of the event, stays where it can run here: what one machine wrote, the next one need not write anew."""
    found = []
    for on in host.events:
        words = hook_command.build_words(interpreter, hook_script(), on.event, host.name)
        held = (standing or {}).get(on.name)
        stays = held is not None and hook_command.is_usable_shared_line(
            held, on.event, host.name, on.empty_answer
        )
        line = (
            held.shared_line
            if held and stays
            else hook_command.build_shared_line(words, on.empty_answer)
            if shared
            else ""
        )
        found.append(WantedEntry(on.name, _settings_entry(host, on, words, line)))
    return found


def plugin_entry(on: HostEvent) -> dict[str, object]:
    """An entry of the plugin: whoever installs that has the command `cortex`."""
    return _matcher_group(
        on,
        {
            "type": "command",
            "command": "cortex",
            "args": ["hook", on.event, "--host", "claude"],
            **_claude_limits(on),
        },
    )


def _settings_entry(host: Host, on: HostEvent, words: list[str], shared: str) -> dict[str, object]:
    """An entry in the shape of its host; `words` is what runs on this machine, `shared` the line for any, where that is asked for."""
    line = shared or shlex.join(words)
    if host.name == "claude":
        run = {"command": line} if shared else {"command": words[0], "args": words[1:]}
        return _matcher_group(on, {"type": "command", **run, **_claude_limits(on)})
    if host.name == "codex":
        about = (
            {"statusMessage": "Cortex: what is known here"} if on.event == "session-start" else {}
        )
        return _matcher_group(
            on, {"type": "command", "command": line, "timeout": on.timeout_seconds, **about}
        )
    if host.name == "gemini":
        return _matcher_group(
            on,
            {
                "name": "cortex",
                "type": "command",
                "command": line,
                "timeout": on.timeout_seconds * 1000,
            },
        )
    if host.name == "cursor":
        return {"command": line, "timeout": on.timeout_seconds}
    if host.name == "copilot":
        return {"type": "command", "bash": line, "timeoutSec": on.timeout_seconds}
    return {"command": line, "show_output": False}


def _matcher_group(on: HostEvent, handler: dict[str, object]) -> dict[str, object]:
    return {**({"matcher": on.matcher} if on.matcher else {}), HOOKS_KEY: [handler]}


def _claude_limits(on: HostEvent) -> dict[str, object]:
    return {"timeout": on.timeout_seconds, **({"async": True} if on.is_background else {})}
