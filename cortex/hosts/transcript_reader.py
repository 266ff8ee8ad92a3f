"""What the readers of all hosts have in common: where they are in a session, and tools whose answer has not come yet."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cortex.core.model.turn_summary import PlannedStep
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text import context_markers
from cortex.core.text.json_text import loads
from cortex.core.text.value import TYPE_CHECKING
from cortex.hosts.command_summary import is_refusal, summarize_command
from cortex.hosts.transcript_item import (
    AGENT_TEXT,
    COMMAND_RUN,
    FILE_CHANGE,
    MAX_PLAN_STEPS,
    MAX_STEP_CHARS,
    PLAN,
    PROMPT,
    SUMMARY,
    TranscriptItem,
    normalize_timestamp,
    redacted_line,
)

if TYPE_CHECKING:
    from typing import Any

_MAX_PENDING_CALLS = 2000  # calls without an answer: an old one will never get it
_REMINDER_START, _REMINDER_END = "<system-reminder>", "</system-reminder>"


class TranscriptReader:
    """The state of reading one transcript. Its attributes are those of `piece.ReaderProtocol`."""

    def __init__(self) -> None:
        self.session = self.cwd = self.branch = self.first_time = self.last_time = self.title = (
            self.since
        ) = ""
        self.skipped_lines = 0
        self.is_sidechain = False
        self.parent_session = self.subagent = ""
        self.current_time = self.sidechain = ""
        self.items: list[TranscriptItem] = []
        self.pending_calls: dict[
            str, tuple[str, list[TranscriptItem]]
        ] = {}  # id of a call -> its command, else what it does

    def prescan(self, lines: Sequence[bytes]) -> None:
        """Nothing later changes what was earlier, with most hosts."""

    def flush(self) -> list[TranscriptItem]:
        """Edits and plans whose answer never came count as done; a command without an outcome is not told."""
        found = [
            piece
            for command, pieces in self.pending_calls.values()
            if not command
            for piece in pieces
        ]
        self.pending_calls.clear()
        return found

    def take_items(self) -> list[TranscriptItem]:
        """The pieces since the last time."""
        found, self.items = self.items, []
        return found

    def advance_time(self, value: object) -> bool:
        """Note the time of a line, or take that of the line before. Whether it is late enough to be told."""
        if at := normalize_timestamp(value):
            self.current_time = at
        if self.since and self.current_time and self.current_time <= self.since:
            return False
        if at:
            self.first_time = min(self.first_time or at, at)
            self.last_time = max(self.last_time, at)
        return True

    def add_agent_text(self, text: object, id_: str) -> None:
        """The agent said something."""
        self._add_text(AGENT_TEXT, text, id_)

    def add_prompt(self, text: object, id_: str) -> None:
        """The person said something."""
        if isinstance(text, str):
            self._add_text(PROMPT, _strip_reminders(text), id_)

    def add_summary(self, text: object, id_: str) -> None:
        """The host summed up what was said before, to forget it."""
        self._add_text(SUMMARY, text, id_)

    def add_edit(self, path: object, call: str) -> None:
        """A tool is to change a file."""
        if isinstance(path, str) and path:
            self._add_pending(call, "", self._new_item(FILE_CHANGE, path, call))

    def add_command(self, command: object, call: str) -> None:
        """A command is to run."""
        if isinstance(command, str) and command.strip():
            self._add_pending(call, command, None)

    def add_plan(self, steps: Sequence[PlannedStep], call: str) -> None:
        """The agent has this plan now, unless the answer refuses it."""
        if steps:
            self._add_pending(
                call,
                "",
                self._new_item(PLAN, "", call)._replace(plan=tuple(steps[:MAX_PLAN_STEPS])),
            )

    def finish_call(
        self, call: object, failed: bool, output: str = "", code: str = "", known: bool = True
    ) -> None:
        """A tool has answered. `known`: whether it ran to its end."""
        if not isinstance(call, str) or call not in self.pending_calls:
            return
        command, pieces = self.pending_calls.pop(call)
        if command and (known or failed):
            if ran := summarize_command(command, failed, output, code):
                self.items.append(self._new_item(COMMAND_RUN, "", call)._replace(command=ran))
        elif not failed and not is_refusal(output):
            self.items += pieces

    def _add_pending(self, call: str, command: str, piece: TranscriptItem | None) -> None:
        if not call:
            if piece:
                self.items.append(piece)
            return
        if len(self.pending_calls) >= _MAX_PENDING_CALLS and call not in self.pending_calls:
            self.pending_calls.pop(next(iter(self.pending_calls)))
        held = self.pending_calls.setdefault(call, (command, []))
        if piece:
            held[1].append(piece)

    def _add_text(self, kind: str, text: object, id_: str) -> None:
        if isinstance(text, str) and (kept := context_markers.strip_injected(text).strip()):
            self.items.append(self._new_item(kind, kept, id_))

    def _new_item(self, kind: str, text: str, id_: str) -> TranscriptItem:
        return TranscriptItem(
            kind, id_, self.current_time, text, self.cwd, self.branch, sidechain=self.sidechain
        )


def parse_json_object(line: bytes) -> dict[str, Any] | None:
    """The line as a JSON object; None when it is none. What is no UTF-8 in it, or half of a surrogate pair, becomes a mark."""
    try:
        told = loads(line.decode("utf-8", "replace").removeprefix("\ufeff"))
        if b"\\ud" in line or b"\\uD" in line:
            import json  # noqa: PLC0415  half of a pair is rare

            told = json.loads(json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def make_plan_step(text: object, done: bool) -> PlannedStep | None:
    """A step of a plan; None when it says nothing."""
    line = redacted_line(text)[:MAX_STEP_CHARS] if isinstance(text, str) else ""
    return PlannedStep(line, done) if line else None


def parse_plan_steps(plan: str) -> list[PlannedStep]:
    """The steps of a plan that was written as markdown: its list items, else its first line."""
    found, first = [], ""
    for line in sanitize_text(plan).splitlines():
        words = line.strip()
        head, _, rest = words.partition(" ")
        if words and not first and not words.startswith("```"):
            first = words.lstrip("# ")
        if head in ("-", "*", "+") or (
            head[:-1].isdigit() and head[-1:] in (".", ")") and len(head) < 5
        ):
            done = rest.startswith(("[x] ", "[X] "))
            if one := make_plan_step(
                rest[4:] if rest.startswith(("[x] ", "[X] ", "[ ] ")) else rest, done
            ):
                found.append(one)
        if len(found) == MAX_PLAN_STEPS:
            break
    only = make_plan_step(first, done=False)
    return found or ([only] if only else [])


def text_content(content: object) -> str:
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


def absolute_path(path: str, cwd: str) -> str:
    """A path as a patch names it, from the folder in which it was applied."""
    return path if os.path.isabs(path) or not cwd else os.path.join(cwd, path)


def _strip_reminders(text: str) -> str:
    """A prompt without what the host put into it. A reminder without end goes to the end. Linear."""
    kept, at = [], 0
    while (start := text.find(_REMINDER_START, at)) >= 0:
        kept.append(text[at:start])
        end = text.find(_REMINDER_END, start)
        at = len(text) if end < 0 else end + len(_REMINDER_END)
    return "".join((*kept, text[at:])) if kept or at else text
