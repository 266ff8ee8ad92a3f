"""Make records of a text captured by hand, and of the tasks in an agent's turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cortex.core.extract.candidate import TAG_LAYER, TITLE_LIMIT, candidate_to_record, make_title
from cortex.core.extract.extraction import find_candidates
from cortex.core.minutes.task_lines import TASK_LINE_RE, split_tasks
from cortex.core.model import turn_summary
from cortex.core.model.event import Event
from cortex.core.model.record import (
    RECORD_TYPES,
    Record,
    initial_status,
    record_id,
    split_leading_word,
)
from cortex.core.normalize.session_note import MARKDOWN_DECORATION_RE
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line

if TYPE_CHECKING:
    from cortex.core.minutes.outcomes import ActionItem

_SENTENCE_END_RE = lazy_re(r"[.!?](?=\s)")
# What may be a label behind the end of a sentence (`core/extract/keywords.py`).
_INLINE_LABEL_RE = lazy_re(r"[\w)\"`][.!?][*_)]{0,3} {1,3}[*_]{0,3}[A-Z][A-Za-z ]{2,24}[*_]{0,3}:")


def base_record(event: Event) -> Record:
    """A record with the fields that every record copies from its event; handlers set the others."""
    return Record(
        id="", type="note", title="", body=event.text, created=event.at, events=(event.id,),
        session=event.session, project=event.project, branch=event.branch, tags=event.tags,
    )  # fmt: skip


def manual_records(event: Event) -> list[Record]:
    """The records of a text captured by hand: first the text's own, then one for each task. A text that
    is only tasks has none of its own, unless the person gave a type other than action."""
    found, rest = split_tasks(event.text, event.today)
    if found and not rest and _stated_type(event) in ("", "action"):
        return _task_records(event, found, first=0)
    said = event._replace(text=rest or event.text)
    records = (not event.record and _marked_records(said)) or [_stated_record(said)]
    return [*records, *_task_records(event, found if rest else [], first=1)]


def turn_tasks(event: Event) -> list[Record]:
    """The actions in an agent's turn: lines with a label, or a check box with a day or `@person`."""
    said = event.text.partition(turn_summary.ACTIVITY_MARK)[0]
    if not TASK_LINE_RE.search(said):
        return []
    from cortex.core.extract.prose import blank_callouts  # noqa: PLC0415  few turns name a task

    said = blank_callouts(said)
    found, _ = split_tasks(said, event.today, strict=True)
    return _task_records(event._replace(text=said), found, first=1)


def parse_task_text(text: str, day: str) -> ActionItem | None:
    """Parse a task's text into task, owner and due date (relative to `day`); None if it is empty."""
    return next(iter(split_tasks(f"- [ ] {text}", day)[0]), None)


def _task_records(event: Event, found: Sequence[ActionItem], first: int) -> list[Record]:
    """Action records of the tasks, numbered from `first` (0 is the text's own record). Owner and due
    date are only in fields: a copy in the text would become wrong when a field changes."""
    return [
        base_record(event)._replace(
            id=record_id(title, event.id, at), type="action", title=title, status="done" if one.done else "open",
            owner=one.owner, due=one.due, body=one.text,
        )
        for at, one in enumerate(found, first) if (title := make_title(one.text))
    ]  # fmt: skip


def _stated_record(event: Event) -> Record:
    """The record of a whole text."""
    type_, title = type_and_title(event)
    task = parse_task_text(title, event.today) if type_ == "action" else None
    if task:
        event = event._replace(text=event.text.replace(title, task.text, 1))
        title = make_title(task.text)
    return base_record(event)._replace(
        id=record_id(title, event.id), type=type_, title=title, status=initial_status(type_),
        owner=task.owner if task else "", due=task.due if task else "",
    )  # fmt: skip


def _stated_type(event: Event) -> str:
    tagged = (tag.lower() for tag in event.tags if tag.lower() in RECORD_TYPES)
    return event.record if event.record in RECORD_TYPES else next(tagged, "")


def _marked_records(event: Event) -> list[Record]:
    """The records of a capture that is one memory tag with what it says, or of which several lines,
    or one below the first, say their kind."""
    if event.text.lstrip().lower().startswith(turn_summary.MEMORY_TAG_START):
        # Its patterns take 5 ms to compile, and few captures are tags.
        from cortex.core.extract import memory_tags  # noqa: PLC0415

        if one := memory_tags.parse_single_tag(event.text):
            return [candidate_to_record(one, base_record(event))]
    lines = event.text.splitlines()
    is_inline = bool(_INLINE_LABEL_RE.search(event.text))
    if not is_inline and not any(
        ":" in line or turn_summary.MEMORY_TAG_START in line.lower() for line in lines[1:]
    ):
        return []
    found = [one for one in find_candidates(event.text) if one.is_marked or one.layer == TAG_LAYER]
    first = next(number for number, line in enumerate(lines, 1) if line.strip())
    leads = not is_inline or split_leading_word(lines[first - 1])[0] != ""
    if len(found) == 1 and found[0].line == first and leads:
        return []  # the rest of the text is about it
    return [candidate_to_record(one, base_record(event)) for one in found]


def type_and_title(event: Event) -> tuple[str, str]:
    """The record's type, by a tag, else by the leading word; its title from the first line."""
    line = next(line for line in event.text.splitlines() if line.strip())
    word, text = split_leading_word(line)
    title = one_line(MARKDOWN_DECORATION_RE.sub("", text)) or one_line(event.text)
    sentence = _SENTENCE_END_RE.search(title)
    if sentence and sentence.start() <= TITLE_LIMIT:
        title = title[: sentence.start()]
    return _stated_type(event) or word or "note", make_title(title.rstrip(".:")) or "note"
