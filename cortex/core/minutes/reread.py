"""Minutes that a person has edited, read again: which records come, and which follow their line.

A line as the captured minutes had it changes nothing. A record whose line was edited follows it, if
it is as the minutes made it; what a person has changed in it stays. Nothing is removed. All of it
is a function of the event, the meeting's note and the records: two clones write the same bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from cortex.core.extract.candidate_records import make_title
from cortex.core.minutes.meeting import MeetingMinutes, parse_meeting
from cortex.core.minutes.outcomes import ActionItem, DecisionItem, Outcome
from cortex.core.minutes.records import meeting_title, outcome_record, outcomes_in_order
from cortex.core.minutes.ticked_tasks import child_slugs
from cortex.core.model.note_status import SET_ASIDE_STATUSES
from cortex.core.model.record import Record, compose_record, record_id
from cortex.core.notes import note as notes
from cortex.core.notes.edit import normalized_body, with_fields_in_order, with_relation, with_title
from cortex.core.notes.note import Note
from cortex.core.text.strings import one_line, short_hash, slugify

_DIGEST_KEY = "line_digest"  # of what a record says, as its line had it when it was last read
_FIELD_ORDER = ("aliases", "owner", "due", "created", "updated", _DIGEST_KEY)
_MIN_LIKENESS = 0.6
_NO_ALIAS_RE = re.compile(r"[\"\\|\[\]#^\s]+")
_BOX_RE = re.compile(rb"^((?:[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+)+)\[([ xX])\](?=[ \t]|$)")


class Reread(NamedTuple):
    """What edited minutes ask for."""

    meeting: Note  # with links to new records
    created: dict[str, tuple[Record, bytes]]  # id -> a new record, and its note
    changed: dict[str, Note]  # id -> a record that follows its line


class _Child(NamedTuple):
    """A record of the meeting. `slug` is that of its line as it was last read."""

    id: str
    note: Note
    slug: str

    @property
    def text(self) -> str:
        return _text_of(self.note)

    def says(self, one: Outcome) -> bool:
        return self.note.get("type") == _kind(one) and self.text == one_line(one.text)


def reread(meeting: Note, base: Record, children: Mapping[str, Note]) -> Reread:
    """The changes that an edited `meeting` asks for. `base` is the meeting's record as its event
    made it; `children` are those of its records that exist."""
    known = _known_lines(parse_meeting(base.body))
    minutes = parse_meeting(meeting.text)
    slugs = {id_: slug for slug, ids in child_slugs(meeting).items() for id_ in ids}
    free = {id_: _Child(id_, note, slugs[id_]) for id_, note in children.items() if id_ in slugs}
    current = outcomes_in_order(minutes)
    added = []
    for one in current:
        key = _line_key(one)
        if known[key]:
            known[key] -= 1
            for id_ in [child.id for child in free.values() if _is_of_line(child, one)][:1]:
                del free[id_]
        else:
            added.append(one)
    original = _known_lines(parse_meeting(base.body))
    result = Reread(meeting, {}, {})
    lines = {slugify(one_line(one.text)) for one in current}
    for one in added:
        child = next((child for child in free.values() if _is_of_line(child, one)), None)
        child = child or _most_similar(one, [c for c in free.values() if c.slug not in lines])
        if child:
            del free[child.id]
            result = _follow(result, child, one, original)
        else:
            result = _create(result, base, minutes, one, slugs)
    return result


def _known_lines(minutes: MeetingMinutes) -> Counter[tuple[str, ...]]:
    return Counter(map(_line_key, outcomes_in_order(minutes)))


def _kind(one: Outcome) -> str:
    if isinstance(one, ActionItem):
        return "action"
    return "decision" if isinstance(one, DecisionItem) else "question"


def _line_key(one: Outcome) -> tuple[str, ...]:
    """What a record takes from its line, but for the tick."""
    fields = (one.owner, one.due) if isinstance(one, ActionItem) else ("", "")
    return _kind(one), one_line(one.text), *fields


def _is_of_line(child: _Child, one: Outcome) -> bool:
    """True if a record says the same, or is that of a line with these words."""
    same_slug = child.slug == slugify(one_line(one.text))
    return child.says(one) or (same_slug and child.note.get("type") == _kind(one))


def _most_similar(one: Outcome, children: list[_Child]) -> _Child | None:
    """The record whose words are most like those of an edited line, if enough of them are."""
    words = Counter(slugify(one_line(one.text), 400).split("-"))

    def likeness(child: _Child) -> float:
        others = Counter(slugify(child.text, 400).split("-"))
        if one_line(one.text).startswith(child.text):
            return 1.0  # it was read while somebody was still writing it
        return 2 * (words & others).total() / (words.total() + others.total())

    alike = [child for child in children if child.note.get("type") == _kind(one)]
    best = max(alike, key=lambda child: (likeness(child), child.id), default=None)
    return best if best and likeness(best) >= _MIN_LIKENESS else None


def _follow(
    result: Reread, child: _Child, one: Outcome, original: Counter[tuple[str, ...]]
) -> Reread:
    note = child.note
    text = one_line(one.text)
    own = (note.get("type"), child.text, note.get("owner"), note.get("due"))
    digest = note.get(_DIGEST_KEY)
    as_read = digest == _digest(own) if digest else own in original
    is_current = note.get("status").lower() not in SET_ASIDE_STATUSES
    if as_read and is_current and note.title == make_title(child.text):
        if own != _line_key(one):
            result.changed[child.id] = _with_line(note, child.text, one)
    elif child.text != text:
        return result  # a person's words stay
    if child.slug != slugify(text):
        return result._replace(meeting=_with_alias(result.meeting, child.id, text))
    return result


def _with_line(note: Note, before: str, one: Outcome) -> Note:
    """A record that says what its line says."""
    text = one_line(one.text)
    body = note.body.replace(f"\n> {before}\n".encode(), f"\n> {text}\n".encode(), 1)
    if body == note.body:  # as earlier versions wrote it
        body = body.replace(f"\n{before}\n".encode(), f"\n{text}\n".encode(), 1)
    note = with_title(note._replace(body=body), make_title(text))
    fields = {_DIGEST_KEY: _digest(_line_key(one))}
    if isinstance(one, ActionItem):
        fields |= {"owner": one.owner, "due": one.due}
    return with_fields_in_order(_FIELD_ORDER, note, fields)


def _create(
    result: Reread, base: Record, minutes: MeetingMinutes, one: Outcome, slugs: Mapping[str, str]
) -> Reread:
    meeting_id = result.meeting.get("id")
    text = one_line(one.text)
    id_ = record_id(text, f"{meeting_id}/{_kind(one)}/{text}")
    if id_ in slugs or id_ in result.created:
        return result  # somebody has removed it
    record = outcome_record(base, one, id_, meeting_id, meeting_title(minutes))
    note = notes.read(compose_record(record).encode())
    note = with_fields_in_order(_FIELD_ORDER, note, {_DIGEST_KEY: _digest(_line_key(one))})
    result.created[id_] = record, notes.write(note)
    return result._replace(meeting=with_relation(result.meeting, "source_of", id_))


def _digest(line: tuple[str, ...]) -> str:
    return short_hash("\n".join(line))


def _text_of(note: Note) -> str:
    """The first paragraph of a record below its title, quoted or not."""
    return re.split(r"\n[ \t]*\n", normalized_body(note).strip())[0].strip().removeprefix("> ")


def _with_alias(meeting: Note, id_: str, text: str) -> Note:
    """The meeting whose link to a record says what the record's line says, for its ticks."""
    alias = _NO_ALIAS_RE.sub(" ", text).strip()
    link = re.compile(rb"\[\[" + re.escape(id_.encode()) + rb"(?:\|[^\[\]\n]*)?\]\]")
    block = link.sub(lambda _: f"[[{id_}|{alias}]]".encode(), meeting.frontmatter)
    return notes.read(notes.write(meeting._replace(frontmatter=block)))


def with_tick(meeting: Note, child_id: str, child: Note, *, done: bool) -> Note:
    """The meeting with the box of an action ticked, or not; itself if the action has no box."""
    slugs = {id_: slug for slug, ids in child_slugs(meeting).items() for id_ in ids}
    action = _Child(child_id, child, slugs.get(child_id, ""))
    lines = meeting.body.splitlines(keepends=True)
    for one in parse_meeting(meeting.text).actions:
        at = one.line - 1
        if one.done == done or not _is_of_line(action, one) or at >= len(lines):
            continue
        mark = b"x" if done else b" "
        lines[at] = _BOX_RE.sub(lambda box: box[1] + b"[" + mark + b"]", lines[at], count=1)  # noqa: B023
    return meeting._replace(body=b"".join(lines))
