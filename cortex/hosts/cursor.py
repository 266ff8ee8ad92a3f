"""Cursor's transcripts: lines of `{role, message: {content: [...]}}`, without times, ids, or answers of tools."""

from __future__ import annotations

from collections.abc import Sequence

from cortex.core.text.value import TYPE_CHECKING
from cortex.hosts.transcript_item import Piece, Read, read_all
from cortex.hosts.transcript_reader import Telling, object_of, step

if TYPE_CHECKING:
    from typing import Any

_EDITS = (
    "write", "edit", "strreplace", "str_replace", "multiedit", "search_replace", "edit_file", "create_file", "delete", "delete_file", "applypatch",
    "apply_patch", "editnotebook", "edit_notebook", "reapply",
)  # fmt: skip
_PATHS = ("path", "file_path", "target_file", "target_notebook", "notebook_path")
_QUERY, _QUERY_END = "<user_query>", "</user_query>"


def read(lines: list[bytes], root: str, since: str = "") -> Read:
    """What the lines tell. There are no times in them, so `since` passes none over. `root`: the project's folder."""
    return read_all(reader(), lines, root, since)


def reader() -> CursorReader:
    """A reader for one transcript."""
    return CursorReader()


class CursorReader(Telling):
    """Reads one transcript, part by part."""

    def feed(self, lines: Sequence[bytes]) -> list[Piece]:
        """The pieces that these lines tell."""
        for line in lines:
            told = object_of(line)
            message = told.get("message") if told else None
            content = message.get("content") if isinstance(message, dict) else None
            if told is None or not isinstance(content, (list, str)):
                self.skipped += 1
                continue
            self.moment(told.get("timestamp"))
            for part in (
                [{"type": "text", "text": content}] if isinstance(content, str) else content
            ):
                if isinstance(part, dict):
                    self._part(told.get("role"), part)
        return self.taken()

    def _part(self, role: object, part: dict[str, Any]) -> None:
        text, given, name = part.get("text"), part.get("input"), part.get("name")
        if part.get("type") == "text" and isinstance(text, str):
            if role == "assistant":
                self.say(text, "")
            elif role == "user":
                # The host puts what it attached around what the person typed.
                _, found, rest = text.partition(_QUERY)
                self.prompt(rest.partition(_QUERY_END)[0] if found else text, "")
        elif (
            part.get("type") == "tool_use"
            and role == "assistant"
            and isinstance(given, dict)
            and isinstance(name, str)
        ):
            if name.lower() in _EDITS:
                self.edit(
                    next((given[key] for key in _PATHS if isinstance(given.get(key), str)), ""), ""
                )
            elif name.lower() in ("todowrite", "todo_write") and isinstance(
                given.get("todos"), list
            ):
                todos = (
                    step(one.get("content"), one.get("status") == "completed")
                    for one in given["todos"]
                    if isinstance(one, dict)
                )
                self.planned([one for one in todos if one], "")
