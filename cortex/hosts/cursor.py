"""Cursor: hooks in a file of their own; transcripts without times, ids, or answers of tools.

A line of a transcript is `{role, message: {content: [...]}}`.
Source, looked at in November 2026: cursor.com/docs/agent/hooks.
"""

from __future__ import annotations

from cortex.core.text.value import Any
from cortex.hosts.host import FIELDS, Host, HostEvent, McpSettings
from cortex.hosts.transcript_reader import (
    TranscriptReader,
    content_parts,
    get_dict,
    get_str,
    objects_in,
    parse_todos,
)

_EDIT_TOOLS = (
    "write", "edit", "strreplace", "str_replace", "multiedit", "search_replace", "edit_file",
    "create_file", "delete", "delete_file", "applypatch", "apply_patch", "editnotebook",
    "edit_notebook", "reapply",
)  # fmt: skip
_PATH_KEYS = ("path", "file_path", "target_file", "target_notebook", "notebook_path")
_QUERY_START, _QUERY_END = "<user_query>", "</user_query>"


class CursorReader(TranscriptReader):
    """Reads one transcript, part by part."""

    def read_line(self, data: dict[str, Any]) -> None:
        """Add what a line tells to the items."""
        content = get_dict(data, "message").get("content")
        if not isinstance(content, (list, str)):
            self.skipped_lines += 1
            return
        self.advance_time(data.get("timestamp"))
        for part in objects_in(content_parts(content)):
            self._read_part(data.get("role"), part)

    def _read_part(self, role: object, part: dict[str, Any]) -> None:
        text, tool, arguments = part.get("text"), get_str(part, "name").lower(), part.get("input")
        if part.get("type") == "text" and isinstance(text, str):
            if role == "assistant":
                self.add_agent_text(text, "")
            elif role == "user":
                # The host puts what it attached around what the person typed.
                _, marked, rest = text.partition(_QUERY_START)
                self.add_prompt(rest.partition(_QUERY_END)[0] if marked else text, "")
        elif part.get("type") == "tool_use" and role == "assistant" and isinstance(arguments, dict):
            self.add_call(part.get("name"), arguments, get_str(part, "id"))
            if tool in _EDIT_TOOLS:
                self.add_edit(get_str(arguments, *_PATH_KEYS), "")
            elif tool in ("todowrite", "todo_write"):
                self.add_plan(parse_todos(arguments.get("todos"), "content"), "")


HOST = Host(
    "cursor",
    "Cursor",
    mcp=McpSettings(
        ".cursor/mcp.json", "mcpServers", asks="whether the server may run",
        workspace="${workspaceFolder}", starts_elsewhere=True, variable="${env:%s}",
    ),
    events=(
        HostEvent("sessionStart", "session-start"),
        HostEvent("afterAgentResponse", "stop"),
        HostEvent("stop", "stop"),
        HostEvent("preCompact", "pre-compact"),
        HostEvent("sessionEnd", "session-end", 5),
    ),
    make_entry=lambda on, line, _words: {"command": line, "timeout": on.timeout_seconds},
    next_step="start Cursor anew; its settings list the hooks",
    settings_folder=".cursor",
    settings_file="hooks.json",
    required_fields=(("version", 1),),
    fields=FIELDS
    | {
        "session": ("conversation_id", "session_id"),
        "cwd": ("cwd", "workspace_roots"),
        "message": ("text",),
        "turn": ("generation_id",),
    },
    other_events=(("beforeSubmitPrompt", "user-prompt-submit"),),
    project_variables=("CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"),
    context_key="additional_context",
    reader=CursorReader,
)  # fmt: skip
