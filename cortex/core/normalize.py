"""Event to records: deterministic, pure, and done once. `(event, what exists) -> changes`.

A handler decides; `cortex.operations.inbox` applies. The same events give the same bytes on every clone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple, TypeAlias

from cortex.core import emit, event as events, note as notes
from cortex.core.event import Event
from cortex.core.note import Note
from cortex.core.problem import Invalid
from cortex.core.record import LEADING_WORDS, RECORD_TYPES, Record, compose, record_id
from cortex.core.text import digest, one_line, short_hash, shorten, slug

TWIN_WINDOW = 15 * 60  # seconds within which equal content is the same record (engram's and seed 001's window)
TITLE_LIMIT = 80
GIST_LIMIT = 240
SESSION_HEADING = "## Events"

_LEAD = re.compile(r"[#>*\-\s]*([A-Za-z]{2,20})(?:\*\*)?:(?:\*\*)?\s+(?=\S)")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
_ORNAMENT = re.compile(r"^[#>\s]+|^[-*+]\s+(?:\[.\]\s+)?|\*\*|`|\[\[|\]\]")
_SENTENCE = re.compile(r"[.!?](?=\s)")
_FOLDED = re.compile(rb"^- .*\[\[([0-9tz]{16}-[a-z2-7]{10})\]\]\s*$")


class Create(NamedTuple):
    """Write a new note."""

    path: str
    text: str
    id: str
    type: str
    project: str
    at: str
    digest: str


class Grow(NamedTuple):
    """Name one more event in a record's provenance."""

    path: str
    event: Event


class Fold(NamedTuple):
    """Add a turn to the one note of its session."""

    path: str
    event: Event


Change: TypeAlias = "Create | Grow | Fold"


class Known:
    """What the vault holds already, as far as normalizing must know it; grows as changes are applied."""

    def __init__(self) -> None:
        self.events: dict[str, str] = {}  # event id -> path of the first note that names it
        self.paths: dict[str, str] = {}  # record id -> path, wherever a person has moved it
        self._twins: dict[tuple[str, str, str], list[tuple[float, str]]] = {}

    def add(self, *, path: str, id_: str, type_: str, project: str, at: str, digest_: str, from_events: tuple[str, ...]) -> None:
        for one in from_events:
            self.events.setdefault(one, path)
        self.paths.setdefault(id_, path)
        if digest_ and (seconds := seconds_of(at)) is not None:
            self._twins.setdefault((type_, project, digest_), []).append((seconds, path))

    def twin(self, type_: str, project: str, digest_: str, at: str) -> str:
        """The path of a record with this content, made within the window; empty when there is none."""
        now = seconds_of(at) or 0.0
        for then, path in self._twins.get((type_, project, digest_), ()):
            if abs(now - then) <= TWIN_WINDOW:
                return path
        return ""

    def learn(self, change: Change, event: Event) -> None:
        if isinstance(change, Create):
            self.add(
                path=change.path, id_=change.id, type_=change.type, project=change.project, at=change.at,
                digest_=change.digest, from_events=(event.id,),
            )  # fmt: skip
        else:
            self.events.setdefault(event.id, change.path)


def read_event(data: bytes, where: str) -> Event:
    """The event in a file of the inbox, whose stem must be its id. Raises `Invalid` with the reason it can't be used."""
    note = notes.parse(data, where)
    id_ = where.rpartition("/")[2].removesuffix(".md")
    if not note.opening:
        raise Invalid(
            "the file has no frontmatter, so it is no event", f"capture its text instead; or add an id, a type and a time, then cortex retry {id_}"
        )
    if note.get("id") != id_:
        raise Invalid(f"the file name is not the event's id, {note.get('id')!r}", f"mend the id or the name, then cortex retry {id_}")
    text = events.raw_content(note.text)
    if text is None:
        raise Invalid(f"there is no {events.RAW_HEADING!r} heading", f"put the text below one, then cortex retry {id_}")
    event = Event(
        id=id_,
        type=note.get("type"),
        at=note.get("at"),
        text=text,
        session=note.get("session"),
        project=note.get("project"),
        branch=note.get("branch"),
        tags=note.texts("tags"),
        host=note.get("host"),
        source=note.get("source"),
    )
    events.check(event)
    if not _TIME.fullmatch(event.at) or seconds_of(event.at) is None:
        raise Invalid(f"{event.at!r} is not a time such as {events.time_of(id_)}", f"mend `at`, then cortex retry {id_}")
    return event


def normalize(event: Event, known: Known, *, unfinished: bool = False) -> list[Change]:
    """What has to change in the vault for this event; nothing when it was normalized before. Of an `unfinished` event,
    whose file has not moved on, some records may be missing: a crash came between them. All are asked for again, and
    those that are there change no more."""
    return [] if event.id in known.events and not unfinished else HANDLERS[event.type](event, known)


def amend(data: bytes, change: Grow | Fold) -> bytes:
    """The bytes of an existing note after a change. `Invalid` when a person's edit left it unreadable."""
    note = notes.parse(data, change.path)
    before, rest = note.provenance()
    if change.event.id in before:
        return data
    block: dict[str, emit.Value] = {"events": sorted((*before, change.event.id)), **rest}
    note = notes.set_field(note, "provenance", emit.field("provenance", block))
    if change.event.at > note.get("updated"):
        note = notes.set_field(note, "updated", emit.field("updated", change.event.at))
    tags = note.texts("tags")
    if isinstance(change, Grow) and (more := [tag for tag in change.event.tags if tag not in tags]):
        note = notes.set_field(note, "tags", emit.field("tags", (*tags, *more)))
    if isinstance(change, Fold):
        if change.event.type == "stop" and note.get("status") == "open":
            note = notes.set_field(note, "status", emit.field("status", "done"))
        note = notes.insert_body_line(note, _turn(change.event), _place_of_turn(note, change.event.id))
    return notes.write(note)


def seconds_of(at: str) -> float | None:
    """Seconds since the epoch of an ISO time that names its zone; None when it is none."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo else None


def _manual(event: Event, known: Known) -> list[Change]:
    type_, title = _type_and_title(event)
    status = "open" if type_ == "action" else "active"
    record = _begun(event)._replace(id=record_id(title, event.id), type=type_, title=title, status=status)
    return [_place(record, event, known)]


def _session(event: Event, known: Known) -> list[Change]:
    """Hosts send `stop` after every turn, so a session's events fold into its one note. A session that has only
    been compacted is still `open`: it does not count as one that was held."""
    name = event.session or event.id
    id_ = f"session-{slug(name, 40)}-{short_hash(name)}"
    if id_ in known.paths:
        return [Fold(known.paths[id_], event)]
    status = "done" if event.type == "stop" else "open"
    body = f"{SESSION_HEADING}\n\n{_turn(event)}"
    record = _begun(event)._replace(id=id_, type="session", title=f"Session {shorten(name, 60)}", status=status, body=body)
    path = f"sessions/{event.at[:4]}/{event.at[5:7]}/{id_}.md"
    return [Create(path, compose(record), id_, record.type, record.project, record.created, "")]


def _meeting(event: Event, known: Known) -> list[Change]:
    # markdown-it-py takes 40 ms to import; only a meeting is worth them.
    from cortex.core.extract.meeting import Action, Decision, read_meeting  # noqa: PLC0415

    meeting = read_meeting(event.text)
    title = shorten(meeting.title, TITLE_LIMIT) or "Meeting"
    parts: list[Action | Decision] = sorted((*meeting.actions, *meeting.decisions), key=lambda part: part.line)
    own_id = record_id(title, event.id)
    twin = known.twin("meeting", event.project, digest(event.text), event.at)
    meeting_id = next((id_ for id_, path in known.paths.items() if path == twin), own_id) if twin else own_id
    children: list[Record] = []
    for ordinal, part in enumerate(parts, start=1):
        text = one_line(part.text)
        child = _begun(event)._replace(id=record_id(text, event.id, ordinal), title=_titled(text), relations=(("derived_from", meeting_id),))
        if isinstance(part, Action):
            child = child._replace(type="action", status="done" if part.done else "open", owner=part.owner, due=part.due)
            why = ""
        else:
            child = child._replace(type="decision")
            why = f"**Why.** {one_line(part.reason)}\n\n" if part.reason else ""
        children.append(child._replace(body=f"{text}\n\n{why}From [[{meeting_id}|{_link_text(title)}]]."))
    relations = tuple(("source_of", child.id) for child in children)
    record = _begun(event)._replace(id=own_id, type="meeting", title=title, relations=relations)
    return [_place(one, event, known) for one in (record, *children)]


HANDLERS: dict[str, Callable[[Event, Known], list[Change]]] = {
    "manual": _manual,
    "stop": _session,
    "pre_compact": _session,
    "meeting": _meeting,
}


def _place(record: Record, event: Event, known: Known) -> Change:
    """A new note for the record, or a growing provenance where its content is already known."""
    key = digest(record.body)
    if record.id in known.paths:
        return Grow(known.paths[record.id], event)
    if twin := known.twin(record.type, record.project, key, record.created):
        return Grow(twin, event)
    path = f"records/{record.type}/{record.id}.md"
    return Create(path, compose(record), record.id, record.type, record.project, record.created, key)


def _begun(event: Event) -> Record:
    """A record with what every record takes over from its event; the handler says the rest."""
    return Record(
        id="", type="note", title="", body=event.text, created=event.at, events=(event.id,),
        session=event.session, project=event.project, branch=event.branch, tags=event.tags,
    )  # fmt: skip


def _type_and_title(event: Event) -> tuple[str, str]:
    """The record's type from an explicit tag, else from the text's leading word; its title from the first line."""
    line = next(line for line in event.text.splitlines() if line.strip())
    lead = _LEAD.match(line)
    word = LEADING_WORDS.get(lead[1].lower(), "") if lead else ""
    tagged = next((tag.lower() for tag in event.tags if tag.lower() in RECORD_TYPES), "")
    title = one_line(_ORNAMENT.sub("", line[lead.end() :] if lead and word else line)) or one_line(event.text)
    sentence = _SENTENCE.search(title)
    if sentence and sentence.start() <= TITLE_LIMIT:
        title = title[: sentence.start()]
    return tagged or word or "note", _titled(title.rstrip(".:")) or "note"


def _titled(text: str) -> str:
    """`text` as a title: short, and begun with a capital unless its first word is a name such as `iPhone`."""
    title = shorten(text, TITLE_LIMIT)
    first = title.partition(" ")[0]
    return title[0].upper() + title[1:] if first.islower() and first.isalpha() else title


def _turn(event: Event) -> str:
    """One line for one event of a session; it ends with the event's id, by which the lines are ordered."""
    lines = [_ORNAMENT.sub("", line) for line in event.text.splitlines()]
    gist = shorten(" ".join(line for line in lines if line.strip()), GIST_LIMIT)
    return f"- {event.at[:10]} {event.at[11:16]} {event.type}: {gist} [[{event.id}]]"


def _place_of_turn(note: Note, event_id: str) -> int:
    """The body line before which an event's line belongs: turns stand in the order of their ids on every clone."""
    lines = note.body.splitlines()
    after = 0
    for number, line in enumerate(lines):
        if found := _FOLDED.match(line):
            if found[1].decode() > event_id:
                return number
            after = number + 1
        elif not after and line.strip() == SESSION_HEADING.encode():
            after = number + 2
    return after or len(lines)


def _link_text(title: str) -> str:
    return title.replace("|", "-").replace("]", ")").replace("[", "(")
