"""GitHub Copilot CLI: hooks in a file of ours; one transcript file per session.

A line of a transcript is `{type, data, id, timestamp, parentId}`. Lines of subagents are in the
file of their session and name the tool call that started them.
Source, looked at in November 2026: docs.github.com/en/copilot/reference/hooks-reference.
"""

from __future__ import annotations

import os

from cortex.core.text.value import Any
from cortex.hosts.host import FIELDS, Host, HostEvent, McpSettings
from cortex.hosts.transcript_reader import (
    UUID_CHARS,
    TranscriptReader,
    get_str,
    parse_json_object,
    text_content,
)

_SHELL_TOOLS = ("bash", "powershell", "shell", "run_in_terminal")
_EDIT_TOOLS = ("edit", "create", "str_replace", "write", "delete")
_PATH_KEYS = ("path", "file_path", "filePath")


class CopilotReader(TranscriptReader):
    """Reads one transcript, part by part."""

    @staticmethod
    def is_transcript(_folder: str, name: str) -> bool:
        """Whether a file holds a session: `<session>/events.jsonl`, or `<session>.jsonl`."""
        return name == "events.jsonl" or len(name) == UUID_CHARS + len(".jsonl")

    def identify(self, path: str, session: str) -> tuple[str, str]:
        """The session of a file; never a subagent."""
        folder, name = os.path.split(os.path.abspath(path))
        stem = name.removesuffix(".jsonl")
        return session or (os.path.basename(folder) if stem == "events" else stem), ""

    def read_line(self, data: dict[str, Any]) -> None:
        """Add what a line tells to the items."""
        type_, about, id_ = data.get("type"), data.get("data"), get_str(data, "id")
        if not isinstance(about, dict):
            self.skipped_lines += 1
            return
        if not self.advance_time(data.get("timestamp")):
            return
        self.sidechain = get_str(about, "parentToolCallId")
        if type_ in ("session.start", "session.resume", "session.context_changed"):
            self._read_context(about)
        elif type_ == "session.title_changed":
            self.title = get_str(about, "title") or self.title
        elif type_ == "user.message":
            self.add_prompt(about.get("content"), id_)
        elif type_ == "assistant.message":
            self.add_agent_text(about.get("content"), get_str(about, "messageId") or id_)
        elif type_ == "tool.execution_start":
            self._read_tool_call(about, get_str(about, "toolName"), get_str(about, "toolCallId"))
        elif type_ == "tool.execution_complete":
            self._read_tool_result(about)
        elif type_ == "session.compaction_complete":
            self.add_summary(about.get("summaryContent"), id_)

    def _read_context(self, about: dict[str, Any]) -> None:
        self.session = self.session or get_str(about, "sessionId")
        where = about["context"] if isinstance(about.get("context"), dict) else about
        self.cwd = get_str(where, "cwd") or self.cwd
        self.set_branch(where.get("branch"))

    def _read_tool_call(self, about: dict[str, Any], tool: str, call: str) -> None:
        arguments = about.get("arguments")
        if isinstance(arguments, str):
            arguments = parse_json_object(arguments.encode("utf-8", "replace"))
        self.add_call(tool, arguments, call)
        if not isinstance(arguments, dict):
            return
        if tool in _SHELL_TOOLS:
            self.add_command(arguments.get("command"), call)
        elif tool in _EDIT_TOOLS:
            self.add_edit(get_str(arguments, *_PATH_KEYS), call)

    def _read_tool_result(self, about: dict[str, Any]) -> None:
        result, error = about.get("result"), about.get("error")
        failed = about.get("success") is False
        if failed and isinstance(error, dict):
            text = get_str(error, "message")
        else:
            text = text_content(result.get("content") if isinstance(result, dict) else result)
        code = text.rstrip().rpartition("exited with exit code ")[2].rstrip(">. ")
        code = code if code.isdecimal() and len(code) < 4 else ""
        self.finish_call(about.get("toolCallId"), failed or code not in ("", "0"), text, code)


HOST = Host(
    "copilot",
    "Copilot CLI",
    mcp=McpSettings(
        ".mcp.json", "mcpServers", ".copilot/mcp-config.json",
        fields=(("type", "stdio"), ("tools", ["*"])),
    ),
    events=(
        HostEvent("sessionStart", "session-start"),
        HostEvent("userPromptSubmitted", "user-prompt-submit"),
        HostEvent("agentStop", "stop"),
        HostEvent("subagentStop", "subagent-stop"),
        HostEvent("preCompact", "pre-compact"),
        HostEvent("sessionEnd", "session-end", 5),
    ),
    make_entry=lambda on, line, _words: {
        "type": "command",
        "bash": line,
        "timeoutSec": on.timeout_seconds,
    },
    next_step="start Copilot CLI anew",
    settings_folder=".github/hooks",
    settings_file="cortex.json",
    home_folder=".copilot",
    home_variable="COPILOT_HOME",
    hooks_subfolder="hooks",
    is_own_file=True,
    required_fields=(("version", 1),),
    fields=FIELDS
    | {
        "session": ("session_id", "sessionId"),
        "transcript": ("transcript_path", "transcriptPath"),
        "prompt": ("prompt", "initialPrompt"),
        "message": ("last_assistant_message", "lastAssistantMessage"),
        "turn": (),
        "moment": ("timestamp",),
    },
    context_key="additionalContext",
    is_briefed_once=True,
    reader=CopilotReader,
    resume_command=("copilot", "--resume"),
    transcript_folders=("session-state",),
)  # fmt: skip
