"""What the verbs that plan answer, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cortex.core.model.note_status import DONE_STATUSES
from cortex.core.text.strings import format_count
from cortex.interfaces.cli.text import (
    bold,
    dim,
    format_day,
    hint_lines,
    list_end_lines,
    name_of,
    yellow,
)
from cortex.interfaces.escape_terminal import escape


def actions(answer: Any) -> Iterable[str]:
    for one in answer.hits:
        note = one.hit
        due = f"due {escape(one.due)}" if one.due else "no date"
        if one.overdue:
            due = yellow(f"overdue since {one.due}")
        if note.status in DONE_STATUSES:
            due = escape(note.status) + (" (its task is ticked)" if one.ticked else "")
        owner = f"  {escape(one.owner)}" if one.owner else ""
        yield f"{due}  {bold(note.title)}{owner}  {dim(note.project, name_of(note))}"
    yield from list_end_lines(answer, "actions")


def meetings(answer: Any) -> Iterable[str]:
    for one in answer.hits:
        note = one.hit
        open_actions = format_count(one.open_actions, "open action")
        decisions = format_count(one.decisions, "decision")
        outcome = f"{open_actions}, {one.done_actions} done, {decisions}"
        yield f"{format_day(note.date)}  {bold(note.title)}  {outcome}  {dim(name_of(note))}"
    yield from list_end_lines(answer, "meetings")


def plan(answer: Any) -> Iterable[str]:
    for number, one in enumerate(answer.hits):
        if number:
            yield ""
        count = f"{one.done} of {len(one.steps)} done"
        yield f"{bold(one.hit.title)}  {count}  {dim(one.hit.project, one.branch, name_of(one.hit))}"
        for step in one.steps:
            yield f"  [{'x' if step.is_done else ' '}] {escape(step.text)}"
    yield from list_end_lines(answer, "plans")
    yield from hint_lines(answer)
