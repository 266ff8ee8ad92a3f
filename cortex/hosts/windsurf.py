"""Windsurf: a hook after each answer; no context for the agent; transcripts are not read.

Source, looked at in November 2026: docs.windsurf.com cascade/hooks.
"""

from __future__ import annotations

from cortex.hosts.host import FIELDS, Host, HostEvent, McpSettings

HOST = Host(
    "windsurf",
    "Windsurf",
    mcp=McpSettings(
        "", "mcpServers", ".codeium/windsurf/mcp_config.json", starts_elsewhere=True, variable="${env:%s}",
    ),
    events=(HostEvent("post_cascade_response", "stop"),),
    make_entry=lambda _on, line, _words: {"command": line, "show_output": False},
    next_step="start Windsurf anew; it takes no context from hooks, so brief it by AGENTS.md: cortex brief --help",
    settings_folder=".windsurf",
    settings_file="hooks.json",
    home_folder=".codeium/windsurf",
    fields=FIELDS
    | {
        "session": ("trajectory_id",),
        "prompt": ("tool_info.user_prompt",),
        "message": ("tool_info.response",),
        "transcript": ("tool_info.transcript_path",),
        "turn": ("execution_id",),
    },
    other_events=(
        ("pre_user_prompt", "user-prompt-submit"),
        ("post_cascade_response_with_transcript", "stop"),
    ),
)  # fmt: skip
