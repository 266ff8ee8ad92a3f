"""GitHub Copilot CLI's transcripts: lines of `{type, data, id, timestamp, parentId}`, a session in a file of its own.

What subagents do stands in their session's file and names the tool call that began them.
"""

from __future__ import annotations

from collections.abc import Sequence

from cortex.core.text.value import TYPE_CHECKING
from cortex.hosts.transcript_item import ParsedLines, TranscriptItem, parse_with
from cortex.hosts.transcript_reader import TranscriptReader, parse_json_object, text_content

if TYPE_CHECKING:
    from typing import Any

_SHELL_TOOLS = ("bash", "powershell", "shell", "run_in_terminal")
_EDIT_TOOLS = ("edit", "create", "str_replace", "write", "delete")
_PATH_KEYS = ("path", "file_path", "filePath")


def read(lines: list[bytes], root: str, since: str = "") -> ParsedLines:
    """What the lines tell that are later than `since`. `root`: the project's folder, to which paths are relative."""
    return parse_with(reader(), lines, root, since)


def reader() -> CopilotReader:
    """A reader for one transcript."""
    return CopilotReader()


class CopilotReader(TranscriptReader):
    """Reads one transcript, part by part."""

    def feed(self, lines: Sequence[bytes]) -> list[TranscriptItem]:
        """The pieces that these lines tell."""
        for line in lines:
            told = parse_json_object(line)
            data = told.get("data") if told else None
            if told is None or not isinstance(data, dict):
                self.skipped_lines += 1
            elif self.advance_time(told.get("timestamp")):
                self._read_line(told.get("type"), data, _str_or_empty(told.get("id")))
        return self.take_items()

    def _read_line(self, type_: object, data: dict[str, Any], id_: str) -> None:
        self.sidechain = _str_or_empty(data.get("parentToolCallId"))
        if type_ in ("session.start", "session.resume", "session.context_changed"):
            self._read_context(data)
        elif type_ == "session.title_changed":
            self.title = _str_or_empty(data.get("title")) or self.title
        elif type_ == "user.message":
            self.add_prompt(data.get("content"), id_)
        elif type_ == "assistant.message":
            self.add_agent_text(data.get("content"), _str_or_empty(data.get("messageId")) or id_)
        elif type_ == "tool.execution_start":
            self._read_tool_call(
                _str_or_empty(data.get("toolName")),
                data.get("arguments"),
                _str_or_empty(data.get("toolCallId")),
            )
        elif type_ == "tool.execution_complete":
            self._read_tool_result(data)
        elif type_ == "session.compaction_complete":
            self.add_summary(data.get("summaryContent"), id_)

    def _read_context(self, data: dict[str, Any]) -> None:
        self.session = self.session or _str_or_empty(data.get("sessionId"))
        where = data["context"] if isinstance(data.get("context"), dict) else data
        self.cwd = _str_or_empty(where.get("cwd")) or self.cwd
        branch = where.get("branch")
        if isinstance(branch, str):
            self.branch = "" if branch == "HEAD" else branch

    def _read_tool_call(self, name: str, given: object, call: str) -> None:
        held = (
            parse_json_object(given.encode("utf-8", "replace")) if isinstance(given, str) else given
        )
        if not isinstance(held, dict):
            return
        if name in _SHELL_TOOLS:
            self.add_command(held.get("command"), call)
        elif name in _EDIT_TOOLS:
            self.add_edit(
                next((held[key] for key in _PATH_KEYS if isinstance(held.get(key), str)), ""), call
            )

    def _read_tool_result(self, data: dict[str, Any]) -> None:
        result, error = data.get("result"), data.get("error")
        output = result.get("content") if isinstance(result, dict) else result
        failed = data.get("success") is False
        text = error.get("message") if failed and isinstance(error, dict) else text_content(output)
        words = (
            text.rstrip().rpartition("exited with exit code ")[2].rstrip(">. ")
            if isinstance(text, str)
            else ""
        )
        code = words if words.isdecimal() and len(words) < 4 else ""
        self.finish_call(
            data.get("toolCallId"),
            failed or code not in ("", "0"),
            text if isinstance(text, str) else "",
            code,
        )


def _str_or_empty(value: object) -> str:
    return value if isinstance(value, str) else ""
