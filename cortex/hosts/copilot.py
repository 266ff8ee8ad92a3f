"""GitHub Copilot CLI's transcripts: lines of `{type, data, id, timestamp, parentId}`, a session in a file of its own.

What subagents do stands in their session's file and names the tool call that began them.
"""

from __future__ import annotations

from collections.abc import Sequence

from cortex.core.text.value import TYPE_CHECKING
from cortex.hosts.transcript_item import Piece, Read, read_all
from cortex.hosts.transcript_reader import Telling, object_of, text_of

if TYPE_CHECKING:
    from typing import Any

_SHELLS = ("bash", "powershell", "shell", "run_in_terminal")
_EDITS = ("edit", "create", "str_replace", "write", "delete")
_PATHS = ("path", "file_path", "filePath")


def read(lines: list[bytes], root: str, since: str = "") -> Read:
    """What the lines tell that are later than `since`. `root`: the project's folder, to which paths are relative."""
    return read_all(reader(), lines, root, since)


def reader() -> CopilotReader:
    """A reader for one transcript."""
    return CopilotReader()


class CopilotReader(Telling):
    """Reads one transcript, part by part."""

    def feed(self, lines: Sequence[bytes]) -> list[Piece]:
        """The pieces that these lines tell."""
        for line in lines:
            told = object_of(line)
            data = told.get("data") if told else None
            if told is None or not isinstance(data, dict):
                self.skipped += 1
            elif self.moment(told.get("timestamp")):
                self._line(told.get("type"), data, _text(told.get("id")))
        return self.taken()

    def _line(self, type_: object, data: dict[str, Any], id_: str) -> None:
        self.chain = _text(data.get("parentToolCallId"))
        if type_ in ("session.start", "session.resume", "session.context_changed"):
            self._context(data)
        elif type_ == "session.title_changed":
            self.title = _text(data.get("title")) or self.title
        elif type_ == "user.message":
            self.prompt(data.get("content"), id_)
        elif type_ == "assistant.message":
            self.say(data.get("content"), _text(data.get("messageId")) or id_)
        elif type_ == "tool.execution_start":
            self._called(
                _text(data.get("toolName")), data.get("arguments"), _text(data.get("toolCallId"))
            )
        elif type_ == "tool.execution_complete":
            self._answered(data)
        elif type_ == "session.compaction_complete":
            self.summary(data.get("summaryContent"), id_)

    def _context(self, data: dict[str, Any]) -> None:
        self.session = self.session or _text(data.get("sessionId"))
        where = data["context"] if isinstance(data.get("context"), dict) else data
        self.cwd = _text(where.get("cwd")) or self.cwd
        branch = where.get("branch")
        if isinstance(branch, str):
            self.branch = "" if branch == "HEAD" else branch

    def _called(self, name: str, given: object, call: str) -> None:
        held = object_of(given.encode("utf-8", "replace")) if isinstance(given, str) else given
        if not isinstance(held, dict):
            return
        if name in _SHELLS:
            self.ask(held.get("command"), call)
        elif name in _EDITS:
            self.edit(
                next((held[key] for key in _PATHS if isinstance(held.get(key), str)), ""), call
            )

    def _answered(self, data: dict[str, Any]) -> None:
        result, error = data.get("result"), data.get("error")
        output = result.get("content") if isinstance(result, dict) else result
        failed = data.get("success") is False
        text = error.get("message") if failed and isinstance(error, dict) else text_of(output)
        words = (
            text.rstrip().rpartition("exited with exit code ")[2].rstrip(">. ")
            if isinstance(text, str)
            else ""
        )
        code = words if words.isdecimal() and len(words) < 4 else ""
        self.answer(
            data.get("toolCallId"),
            failed or code not in ("", "0"),
            text if isinstance(text, str) else "",
            code,
        )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
