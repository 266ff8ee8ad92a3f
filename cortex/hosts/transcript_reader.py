"""What the readers of all hosts have in common: where they are in a session, and tools whose answer has not come yet."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cortex.core.model.turn_summary import Step
from cortex.core.redact.secrets import clean
from cortex.core.text import context_markers
from cortex.core.text.json_text import loads
from cortex.core.text.value import TYPE_CHECKING
from cortex.hosts.command_summary import command_of, refused
from cortex.hosts.transcript_item import (
    CHANGED,
    LONGEST_STEP,
    MOST_STEPS,
    PLAN,
    PROMPT,
    RAN,
    SAID,
    SUMMARY,
    Piece,
    one_clean_line,
    time_of,
)

if TYPE_CHECKING:
    from typing import Any

_MOST_OPEN = 2000  # calls without an answer: an old one will never get it
_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"


class Telling:
    """The state of reading one transcript. Its attributes are those of `piece.Reader`."""

    def __init__(self) -> None:
        self.session = self.cwd = self.branch = self.first = self.last = self.title = self.since = (
            ""
        )
        self.skipped = 0
        self.aside = False
        self.parent = self.agent = ""
        self.at = self.chain = ""
        self.pieces: list[Piece] = []
        self.calls: dict[
            str, tuple[str, list[Piece]]
        ] = {}  # id of a call -> its command, else what it does

    def glance(self, lines: Sequence[bytes]) -> None:
        """Nothing later changes what was earlier, with most hosts."""

    def rest(self) -> list[Piece]:
        """Edits and plans whose answer never came count as done; a command without an outcome is not told."""
        found = [
            piece for command, pieces in self.calls.values() if not command for piece in pieces
        ]
        self.calls.clear()
        return found

    def taken(self) -> list[Piece]:
        """The pieces since the last time."""
        found, self.pieces = self.pieces, []
        return found

    def moment(self, value: object) -> bool:
        """Note the time of a line, or take that of the line before. Whether it is late enough to be told."""
        if at := time_of(value):
            self.at = at
        if self.since and self.at and self.at <= self.since:
            return False
        if at:
            self.first = min(self.first or at, at)
            self.last = max(self.last, at)
        return True

    def say(self, text: object, id_: str) -> None:
        """The agent said something."""
        self._text(SAID, text, id_)

    def prompt(self, text: object, id_: str) -> None:
        """The person said something."""
        if isinstance(text, str):
            self._text(PROMPT, _without_reminders(text), id_)

    def summary(self, text: object, id_: str) -> None:
        """The host summed up what was said before, to forget it."""
        self._text(SUMMARY, text, id_)

    def edit(self, path: object, call: str) -> None:
        """A tool is to change a file."""
        if isinstance(path, str) and path:
            self._wait(call, "", self._piece(CHANGED, path, call))

    def ask(self, command: object, call: str) -> None:
        """A command is to run."""
        if isinstance(command, str) and command.strip():
            self._wait(call, command, None)

    def planned(self, steps: Sequence[Step], call: str) -> None:
        """The agent has this plan now, unless the answer refuses it."""
        if steps:
            self._wait(
                call, "", self._piece(PLAN, "", call)._replace(plan=tuple(steps[:MOST_STEPS]))
            )

    def answer(
        self, call: object, failed: bool, output: str = "", code: str = "", known: bool = True
    ) -> None:
        """A tool has answered. `known`: whether it ran to its end."""
        if not isinstance(call, str) or call not in self.calls:
            return
        command, pieces = self.calls.pop(call)
        if command and (known or failed):
            if ran := command_of(command, failed, output, code):
                self.pieces.append(self._piece(RAN, "", call)._replace(command=ran))
        elif not failed and not refused(output):
            self.pieces += pieces

    def _wait(self, call: str, command: str, piece: Piece | None) -> None:
        if not call:
            if piece:
                self.pieces.append(piece)
            return
        if len(self.calls) >= _MOST_OPEN and call not in self.calls:
            self.calls.pop(next(iter(self.calls)))
        held = self.calls.setdefault(call, (command, []))
        if piece:
            held[1].append(piece)

    def _text(self, kind: str, text: object, id_: str) -> None:
        if isinstance(text, str) and (kept := context_markers.without(text).strip()):
            self.pieces.append(self._piece(kind, kept, id_))

    def _piece(self, kind: str, text: str, id_: str) -> Piece:
        return Piece(kind, id_, self.at, text, self.cwd, self.branch, chain=self.chain)


def object_of(line: bytes) -> dict[str, Any] | None:
    """The line as a JSON object; None when it is none. What is no UTF-8 in it, or half of a surrogate pair, becomes a mark."""
    try:
        told = loads(line.decode("utf-8", "replace").removeprefix("\ufeff"))
        if b"\\ud" in line or b"\\uD" in line:
            import json  # noqa: PLC0415  half of a pair is rare

            told = json.loads(json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def step(text: object, done: bool) -> Step | None:
    """A step of a plan; None when it says nothing."""
    line = one_clean_line(text)[:LONGEST_STEP] if isinstance(text, str) else ""
    return Step(line, done) if line else None


def steps_in(plan: str) -> list[Step]:
    """The steps of a plan that was written as markdown: its list items, else its first line."""
    found, first = [], ""
    for line in clean(plan).splitlines():
        words = line.strip()
        head, _, rest = words.partition(" ")
        if words and not first and not words.startswith("```"):
            first = words.lstrip("# ")
        if head in ("-", "*", "+") or (
            head[:-1].isdigit() and head[-1:] in (".", ")") and len(head) < 5
        ):
            done = rest.startswith(("[x] ", "[X] "))
            if one := step(rest[4:] if rest.startswith(("[x] ", "[X] ", "[ ] ")) else rest, done):
                found.append(one)
        if len(found) == MOST_STEPS:
            break
    only = step(first, done=False)
    return found or ([only] if only else [])


def text_of(content: object) -> str:
    """The text of a message or an answer, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(
            part["text"]
            for part in content
            if isinstance(part, dict) and isinstance(part.get("text"), str)
        )
    return ""


def absolute(path: str, cwd: str) -> str:
    """A path as a patch names it, from the folder in which it was applied."""
    return path if os.path.isabs(path) or not cwd else os.path.join(cwd, path)


def _without_reminders(text: str) -> str:
    """A prompt without what the host put into it. A reminder without end goes to the end. Linear."""
    kept, at = [], 0
    while (start := text.find(_REMINDER, at)) >= 0:
        kept.append(text[at:start])
        end = text.find(_REMINDER_END, start)
        at = len(text) if end < 0 else end + len(_REMINDER_END)
    return "".join((*kept, text[at:])) if kept or at else text
