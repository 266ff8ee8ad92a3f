"""Cursor's transcripts: lines of `{role, message: {content: [...]}}`, without times, ids, or answers of tools."""

from __future__ import annotations

from collections.abc import Sequence

from cortex.core.text.value import TYPE_CHECKING
from cortex.hosts.transcript_item import ParsedLines, TranscriptItem, parse_with
from cortex.hosts.transcript_reader import TranscriptReader, make_plan_step, parse_json_object

if TYPE_CHECKING:
    from typing import Any

_EDIT_TOOLS = (
    "write", "edit", "strreplace", "str_replace", "multiedit", "search_replace", "edit_file", "create_file", "delete", "delete_file", "applypatch",
    "apply_patch", "editnotebook", "edit_notebook", "reapply",
)  # fmt: skip
_PATH_KEYS = ("path", "file_path", "target_file", "target_notebook", "notebook_path")
_QUERY_START, _QUERY_END = "<user_query>", "</user_query>"


def read(lines: list[bytes], root: str, since: str = "") -> ParsedLines:
    """What the lines tell. There are no times in them, so `since` passes none over. `root`: the project's folder."""
    return parse_with(reader(), lines, root, since)


def reader() -> CursorReader:
    """A reader for one transcript."""
    return CursorReader()


class CursorReader(TranscriptReader):
    """Reads one transcript, part by part."""

    def feed(self, lines: Sequence[bytes]) -> list[TranscriptItem]:
        """The pieces that these lines tell."""
        for line in lines:
            told = parse_json_object(line)
            message = told.get("message") if told else None
            content = message.get("content") if isinstance(message, dict) else None
            if told is None or not isinstance(content, (list, str)):
                self.skipped_lines += 1
                continue
            self.advance_time(told.get("timestamp"))
            for part in (
                [{"type": "text", "text": content}] if isinstance(content, str) else content
            ):
                if isinstance(part, dict):
                    self._read_part(told.get("role"), part)
        return self.take_items()

    def _read_part(self, role: object, part: dict[str, Any]) -> None:
        text, given, name = part.get("text"), part.get("input"), part.get("name")
        if part.get("type") == "text" and isinstance(text, str):
            if role == "assistant":
                self.add_agent_text(text, "")
            elif role == "user":
                # The host puts what it attached around what the person typed.
                _, found, rest = text.partition(_QUERY_START)
                self.add_prompt(rest.partition(_QUERY_END)[0] if found else text, "")
        elif (
            part.get("type") == "tool_use"
            and role == "assistant"
            and isinstance(given, dict)
            and isinstance(name, str)
        ):
            if name.lower() in _EDIT_TOOLS:
                self.add_edit(
                    next((given[key] for key in _PATH_KEYS if isinstance(given.get(key), str)), ""),
                    "",
                )
            elif name.lower() in ("todowrite", "todo_write") and isinstance(
                given.get("todos"), list
            ):
                todos = (
                    make_plan_step(one.get("content"), one.get("status") == "completed")
                    for one in given["todos"]
                    if isinstance(one, dict)
                )
                self.add_plan([one for one in todos if one], "")
