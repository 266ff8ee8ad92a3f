"""Gemini CLI: hooks in its settings; its transcripts are not read.

Source, looked at in November 2026: the hooks reference of gemini-cli.
"""

from __future__ import annotations

from cortex.hosts.host import (
    EVENTS,
    FIELDS,
    NESTED_CONTEXT,
    Host,
    HostEvent,
    McpSettings,
    matcher_group,
)


def make_entry(on: HostEvent, line: str, _words: list[str]) -> dict[str, object]:
    """An entry of the settings; timeouts are milliseconds there."""
    milliseconds = on.timeout_seconds * 1000
    handler = {"name": "cortex", "type": "command", "command": line, "timeout": milliseconds}
    return matcher_group(on, handler)


HOST = Host(
    "gemini",
    "Gemini CLI",
    mcp=McpSettings(".gemini/settings.json", "mcpServers", asks="whether the folder is trusted"),
    # A matcher of a lifecycle event is one word there, so none is set: a start is any start.
    events=(
        HostEvent("SessionStart", "session-start"),
        HostEvent("BeforeAgent", "user-prompt-submit"),
        HostEvent("AfterAgent", "stop"),
        HostEvent("PreCompress", "pre-compact"),
        HostEvent("SessionEnd", "session-end", 5),
    ),
    make_entry=make_entry,
    next_step="start Gemini CLI anew; /hooks lists them",
    model_command=("gemini", "-p", "", "--output-format", "json", "--skip-trust"),
    resume_command=("gemini", "--resume"),
    settings_folder=".gemini",
    settings_file="settings.json",
    fields=FIELDS | {"message": ("prompt_response",), "turn": (), "moment": ("timestamp",)},
    project_variables=("GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
    context_key=NESTED_CONTEXT,
    context_events=("session-start", "user-prompt-submit"),
    json_events=EVENTS,
)
