"""The records that minutes become: the meeting, and what came of it; and of minutes that a person has
edited, which records come, and which follow their line.

A line as the captured minutes had it changes nothing. A record whose line was edited follows it, if
it is as the minutes made it; what a person has changed in it stays. Nothing is removed. All of it
is a function of the event, the meeting's note and the records: two clones write the same bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice

from cortex.core.extract.candidate import TITLE_LIMIT, capitalize, make_title
from cortex.core.markdown.bound import MAX_RECORDS
from cortex.core.markdown.scan import scan
from cortex.core.minutes.cues import ATTENDEES, DATE_KEY_RE, section_kind
from cortex.core.minutes.dates import iter_dates, without_due
from cortex.core.minutes.meeting import MeetingMinutes, parse_meeting
from cortex.core.minutes.note_items import child_slugs, done_action_ids
from cortex.core.minutes.outcomes import DEICTIC_RE, ActionItem, DecisionItem, Outcome
from cortex.core.minutes.task_signs import opened, with_boxes
from cortex.core.model.note_form import NESTED, NoteForm
from cortex.core.model.note_status import SET_ASIDE_STATUSES
from cortex.core.model.record import Record, compose_record, record_id
from cortex.core.notes import edit, note as notes
from cortex.core.notes.edit import (
    normalized_body,
    with_body,
    with_fields,
    with_relation,
    with_title,
)
from cortex.core.notes.note import Note
from cortex.core.redact.secrets import redact
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, short_hash, shorten, slugify
from cortex.core.text.value import NamedTuple

_DIGEST_KEY = "line_digest"  # of what a record says, as its line had it when it was last read
_MIN_LIKENESS, _MAX_COMPARED_LINES = 0.6, 300
_NO_ALIAS_RE = lazy_re(r"[\"\\|\[\]#^\s]+")


class Reread(NamedTuple):
    """What edited minutes ask for."""

    meeting: Note  # with links to new records
    created: dict[str, tuple[Record, bytes]]  # id -> a new record, and its note
    changed: dict[str, Note]  # id -> a record that follows its line


class MinutesLine(NamedTuple):
    """What a record takes from its line of the minutes, but for the tick."""

    kind: str
    text: str
    owner: str = ""
    due: str = ""

    @property
    def digest(self) -> str:
        return short_hash("\n".join(self.capitalized))

    @property
    def capitalized(self) -> MinutesLine:
        """The line as a title says it."""
        return self._replace(text=capitalize(self.text))


def outcomes_in_order(meeting: MeetingMinutes) -> list[Outcome]:
    """Decisions, actions and questions by their line; the first `MAX_RECORDS`."""
    some: tuple[Outcome, ...] = (
        *meeting.actions, *meeting.decisions, *meeting.questions, *meeting.context,
    )  # fmt: skip
    return sorted(some, key=lambda one: one.line)[:MAX_RECORDS]


def meeting_title(meeting: MeetingMinutes) -> str:
    return shorten(meeting.title, TITLE_LIMIT) or "Meeting"


def records_of_minutes(base: Record) -> list[Record]:
    """The meeting's record, then those of its outcomes, from the text and the event of `base`."""
    meeting = parse_meeting(base.body)
    title = meeting_title(meeting)
    (event,) = base.events
    name = f"{meeting.date} {_without_dates(title)}" if meeting.date else title
    own_id = record_id(name, event)
    children = [
        outcome_record(base, one, record_id(one_line(one.text), event, at), own_id, meeting)
        for at, one in enumerate(outcomes_in_order(meeting), start=1)
    ]
    page = notes.read(base.body.encode("utf-8", "surrogatepass"))
    if page.opening_fence and not page.problems:  # a note has one block of properties
        tags = dict.fromkeys((*base.tags, *page.get_list("tags")))
        base = base._replace(body=page.text, tags=tuple(tags))
    record = base._replace(
        id=own_id, type="meeting", title=title, date=meeting.date, attendees=meeting.attendees,
        relations=tuple(("source_of", child.id) for child in children),
    )  # fmt: skip
    return [record, *children]


def _without_dates(title: str) -> str:
    for found in reversed(list(iter_dates(title, day_first=True))):
        title = title[: found.start] + title[found.end :]
    return title


def outcome_record(
    base: Record, one: Outcome, id_: str, meeting_id: str, meeting: MeetingMinutes
) -> Record:
    """The record of one outcome of the meeting with this id: what was said, as a quote."""
    title = meeting_title(meeting)
    text = one_line(one.text)
    alias = title.replace("|", "-").replace("]", ")").replace("[", "(")
    source = f"From [[{meeting_id}|{alias}]]."
    child = base._replace(
        date=one.day or meeting.date, id=id_, title=_title_of(_line_of(one)), relations=(("derived_from", meeting_id),),
        type=one.kind, body=f"> {text}\n\n{source}",
    )  # fmt: skip
    if isinstance(one, ActionItem):
        status = "done" if one.done else "open"
        return child._replace(status=status, owner=one.owner, due=one.due)
    if isinstance(one, DecisionItem) and one.reason:
        return child._replace(body=f"> {text}\n\n**Why.** {one_line(one.reason)}\n\n{source}")
    return child


def _line_of(one: Outcome) -> MinutesLine:
    said = (one.owner, one.due) if isinstance(one, ActionItem) else ()
    return MinutesLine(one.kind, one_line(one.text), *said)


def _title_of(line: MinutesLine) -> str:
    return make_title(without_due(line.text) if line.due else line.text)


def _line_in(note: Note) -> MinutesLine:
    """The line that a record holds: its first paragraph below the title, quoted or not; of a flat
    one the quote, else its title."""
    text = re.split(r"\n[ \t]*\n", normalized_body(note).strip())[0].strip()
    text = note.title if note.is_flat and not text.startswith("> ") else text.removeprefix("> ")
    return MinutesLine(note.get("type"), text, note.get("owner"), note.get("due"))


def _is_of_line(note: Note, slug: str, line: MinutesLine) -> bool:
    """True if a record says the same as a line, or is that of a line with its words."""
    own = _line_in(note)
    is_said = capitalize(own.text) == capitalize(line.text)
    return own.kind == line.kind and (is_said or slug == slugify(line.text))


def reread_versions(
    meeting: Note, bases: Sequence[Record], children: Mapping[str, Note], form: NoteForm = NESTED
) -> Reread:
    """The changes that a `meeting` asks for that was edited, or captured again: `bases` are its records
    as each of its events made it, oldest first. It becomes its last version unless somebody has
    edited one before; that stays then, and says so."""
    made = [records_of_minutes(base)[0] for base in bases]
    versions = [_note_of(one, form) for one in made]
    lines = (one.text.splitlines() for one in (meeting, *versions))
    mine, *texts = ([opened(line).rstrip() for line in some] for some in lines)
    held = min(range(len(texts)), key=lambda at: (len({*mine} ^ {*texts[at]}), -at))
    last = len(texts) - 1
    if held == last:
        return reread(meeting, bases[last], children, {}, form=form)
    if mine != texts[held]:
        told = edit.with_lost_text(meeting, bases[last].events[0])
        return reread(told, bases[held], children, {}, form=form)
    revised = meeting._replace(body=versions[last].body)
    if meeting.get_list("attendees") == made[held].attendees:
        revised = with_fields(revised, {"attendees": made[last].attendees})
    why = f"the minutes as they were captured again no longer tell it: {bases[last].events[0]}"
    aside = {"archived_at": bases[last].created, "archived_because": why}
    done = reread(revised, bases[last]._replace(body=bases[held].body), children, aside, form=form)
    for id_ in done_action_ids(meeting, scan(meeting.text, meeting.body_start_line)):
        if child := done.changed.get(id_) or children.get(id_):
            ticked = with_tick(done.meeting, id_, child, done=True)
            done = done._replace(meeting=ticked)
    return done


def is_same_action(one: Record, owner: str) -> bool:
    """Whether an open action of this title, and of this owner, is the same; none about `it` is."""
    names = {name.casefold().lstrip("@") for name in (one.owner, owner) if name}
    return len(names) < 2 and not DEICTIC_RE.search(one.title)


def is_version(before: str, after: str) -> bool:
    """Whether minutes are of the same meeting: the others have half of the lines of the shorter ones, but
    for some words. Headings and who was there say nothing."""
    few, many = sorted((_lines_said(text) for text in (before, after)), key=len)
    kept = sum(any(_likeness(line, one) >= _MIN_LIKENESS for one in many) for line in few)
    return 2 * kept >= len(few)


def _lines_said(text: str) -> list[str]:
    lines = (line for line in text.splitlines() if line.strip() and line[0] != "#")
    heads = ((line.partition(":")[0], line) for line in islice(lines, _MAX_COMPARED_LINES))
    said = ((head, line) for head, line in heads if not section_kind(line))
    return [
        one for head, one in said if section_kind(head) != ATTENDEES and not DATE_KEY_RE.match(head)
    ]


def reread(
    meeting: Note,
    base: Record,
    children: Mapping[str, Note],
    aside: Mapping[str, str],
    *,
    form: NoteForm,
) -> Reread:
    """The changes that an edited `meeting` asks for. `base` is the meeting's record as its event
    made it; `children` are those of its records that exist. What minutes that were captured again
    no longer tell gets the fields `aside`, if there are any; `form` is that of new records."""
    original = Counter(map(_line_of, outcomes_in_order(parse_meeting(base.body))))
    # What a person writes into a note stays there as it is; what is made of it is committed for all.
    day, people = meeting.get("date"), meeting.get_list("attendees")
    minutes = parse_meeting(redact(meeting.text)[0], otherwise=day, people=people)
    slugs = {id_: slug for slug, ids in child_slugs(meeting).items() for id_ in ids}
    free = {id_: note for id_, note in children.items() if id_ in slugs}
    current = [(_line_of(one), one) for one in outcomes_in_order(minutes)]

    def record_of(line: MinutesLine) -> str:
        """The id of a line's record that no other line has; empty if there is none."""
        found = (id_ for id_, note in free.items() if _is_of_line(note, slugs[id_], line))
        return next(found, "")

    unread, added = original.copy(), []
    for line, one in current:
        id_ = record_of(line)
        # Of a record that followed an edit which somebody has taken back since, it is a new line.
        followers = {of: note for of, note in free.items() if note.get(_DIGEST_KEY)}
        if unread[line] and (id_ or not _most_similar(line, followers)):
            unread[line] -= 1
            free.pop(id_, None)
        else:
            added.append((line, one))
    result = Reread(meeting, {}, {})
    texts = {slugify(line.text) for line, _ in current}
    for line, one in added:
        unlike = {id_: note for id_, note in free.items() if slugs[id_] not in texts}
        if id_ := record_of(line) or _most_similar(line, unlike):
            note = free.pop(id_)
            as_read = _is_as_read(note, original)
            if as_read and _line_in(note).capitalized != line.capitalized:
                result.changed[id_] = _with_line(note, line)
            elif not as_read and capitalize(_line_in(note).text) != capitalize(line.text):
                continue  # a person's words stay
            if slugs[id_] != slugify(line.text):
                result = result._replace(meeting=_with_alias(result.meeting, id_, line.text))
            continue
        meeting_id = meeting.get("id")
        id_ = record_id(line.text, f"{meeting_id}/{line.kind}/{line.text}")
        if id_ not in slugs and id_ not in result.created:  # else somebody has removed it
            record = outcome_record(base, one, id_, meeting_id, minutes)
            note = with_fields(_note_of(record, form), {_DIGEST_KEY: line.digest})
            result.created[id_] = record, notes.write(note)
            result = result._replace(meeting=with_relation(result.meeting, "source_of", id_))
    for id_, note in free.items() if aside else ():
        is_plain = note.get("status") in ("", "open") and len(note.get_list("derived_from")) < 2
        if is_plain and _is_as_read(note, original):
            result.changed[id_] = edit.set_inactive_status(note, "archived", aside)
    return result


def _likeness(one: str, other: str) -> float:
    """What share of their words two lines have in common."""
    words, others = (Counter(slugify(text, 400).split("-")) for text in (one, other))
    return 2 * (words & others).total() / (words.total() + others.total())


def _note_of(record: Record, form: NoteForm) -> Note:
    return notes.read(compose_record(record, form).encode())


def _most_similar(line: MinutesLine, records: Mapping[str, Note]) -> str:
    """The id of the record whose words are most like those of an edited line, if enough are."""

    def likeness(id_: str) -> float:
        text = _line_in(records[id_]).text
        # It may have been read while somebody was still writing it.
        return (
            1.0
            if capitalize(line.text).startswith(capitalize(text))
            else _likeness(line.text, text)
        )

    alike = [id_ for id_, note in records.items() if note.get("type") == line.kind]
    best = max(alike, key=lambda id_: (likeness(id_), id_), default="")
    return best if best and likeness(best) >= _MIN_LIKENESS else ""


def _is_as_read(note: Note, original: Counter[MinutesLine]) -> bool:
    """True if nobody has changed a record since its line was last read."""
    own, digest = _line_in(note), note.get(_DIGEST_KEY)
    is_current = note.get("status").lower() not in SET_ASIDE_STATUSES
    digests = own.digest, short_hash("\n".join(own))  # of now, and of earlier versions
    as_read = (
        digest in digests if digest else own.capitalized in {line.capitalized for line in original}
    )
    return as_read and is_current and note.title in (make_title(own.text), _title_of(own))


def _with_line(note: Note, line: MinutesLine) -> Note:
    """A record that says what its line says."""
    before, after = _line_in(note).text.encode(), line.text.encode()
    body = note.body.replace(b"\n> " + before + b"\n", b"\n> " + after + b"\n", 1)
    if body == note.body:  # as earlier versions wrote it
        body = body.replace(b"\n" + before + b"\n", b"\n" + after + b"\n", 1)
    needs_quote = note.is_flat and body == note.body and _title_of(line) != capitalize(line.text)
    note = with_title(note._replace(body=body), _title_of(line))
    if needs_quote:  # the title alone said it, and now it is cut
        note = with_body(note, f"> {line.text}\n\n{normalized_body(note)}")
    fields = {_DIGEST_KEY: line.digest}
    if line.kind == "action":
        fields |= {"owner": line.owner, "due": line.due}
    return with_fields(note, fields)


def _with_alias(meeting: Note, id_: str, text: str) -> Note:
    """The meeting whose link to a record says what the record's line says, for its ticks."""
    alias = _NO_ALIAS_RE.sub(" ", text).strip()
    link = re.compile(rb"\[\[" + re.escape(id_.encode()) + rb"(?:\|[^\[\]\n]*)?\]\]")
    block = link.sub(lambda _: f"[[{id_}|{alias}]]".encode(), meeting.frontmatter)
    return notes.read(notes.write(meeting._replace(frontmatter=block)))


def with_tick(meeting: Note, child_id: str, child: Note, today: str = "", *, done: bool) -> Note:
    """The meeting with the box of an action ticked, or not; itself if the action has no box."""
    slug = next((slug for slug, ids in child_slugs(meeting).items() if child_id in ids), None)
    if slug is None:
        return meeting
    actions = parse_meeting(meeting.text, people=meeting.get_list("attendees")).actions
    boxes = (one for one in actions if one.done != done and _is_of_line(child, slug, _line_of(one)))
    marks = {one.line - 1: done for one in boxes}
    return meeting._replace(body=with_boxes(meeting.body, marks, today))
