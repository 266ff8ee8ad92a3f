"""Event to records: deterministic, pure, and done once. `(event, what exists) -> changes`.

A handler decides; `cortex.operations.capture.normalize` applies. The same events give the same bytes on every clone.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from cortex.core.extract.candidate_records import TITLE_LIMIT, found_in, record_of, titled
from cortex.core.extract.passive import learnings
from cortex.core.model import event as events, session as sessions, topic as topics, turn_summary
from cortex.core.model.event import Event
from cortex.core.model.problem import Invalid
from cortex.core.model.record import (
    LEADING_WORDS,
    RECORD_TYPES,
    SCOPES,
    Record,
    begun_as,
    compose,
    is_type,
    record_id,
    scope_of,
    type_named,
)
from cortex.core.model.session import ORNAMENT
from cortex.core.model.status import ASIDE
from cortex.core.normalize.changes import (
    Change,
    Create,
    Fold,
    Grow,
    Known,
    Phrases,
    Retire,
    Upsert,
    seconds_of,
)
from cortex.core.notes import note as notes, yaml_writer
from cortex.core.notes.edit import letting_go, set_aside, touched, with_fields, with_relation
from cortex.core.text.strings import digest, one_line, shorten

SAVED_TITLE_LIMIT = 200  # of one that somebody gave

ONLY_TAGS = ("prompt", "post_compact", "session_end")
TURNS = (
    "stop",
    "pre_compact",
    "subagent_stop",
    *ONLY_TAGS,
)  # of a session, whose texts the layers of extraction read

_LEAD = re.compile(r"[#>*\-\s]*([A-Za-z]{2,20})(?:\*\*)?:(?:\*\*)?\s+(?=\S)")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
_SENTENCE = re.compile(r"[.!?](?=\s)")


def read_event(data: bytes, where: str) -> Event:
    """The event in a file of the inbox, whose stem must be its id. Raises `Invalid` with the reason it can't be used."""
    note = notes.parse(data, where)
    id_ = where.rpartition("/")[2].removesuffix(".md")
    if not note.opening:
        raise Invalid(
            "the file has no frontmatter, so it is no event",
            f"capture its text instead; or add an id, a type and a time, then cortex retry {id_}",
        )
    if note.get("id") != id_:
        raise Invalid(
            f"the file name is not the event's id, {note.get('id')!r}",
            f"mend the id or the name, then cortex retry {id_}",
        )
    text = events.raw_content(note.text)
    if text is None:
        raise Invalid(
            f"there is no {events.RAW_HEADING!r} heading",
            f"put the text below one, then cortex retry {id_}",
        )
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
        title=note.get("title"),
        record=note.get("record"),
        topic=note.get("topic"),
        scope=note.get("scope"),
        confidence=note.get("confidence"),
        priority=note.get("priority"),
        derived_from=note.texts("derived_from"),
        supersedes=note.texts("supersedes"),
    )
    events.check(event)
    if not _TIME.fullmatch(event.at) or seconds_of(event.at) is None:
        raise Invalid(
            f"{event.at!r} is not a time such as {events.time_of(id_)}",
            f"mend `at`, then cortex retry {id_}",
        )
    return event


def normalize(event: Event, known: Known, *, unfinished: bool = False) -> list[Change]:
    """What has to change in the vault for this event; nothing when it was normalized before. Of an `unfinished` event,
    whose file has not moved on, some records may be missing: a crash came between them. All are asked for again, and
    those that are there change no more."""
    return [] if event.id in known.events and not unfinished else HANDLERS[event.type](event, known)


def amend(data: bytes, change: Grow | Fold | Retire) -> bytes:
    """The bytes of an existing note after a change. `Invalid` when a person's edit left it unreadable."""
    note = notes.parse(data, change.path)
    if isinstance(change, Retire):
        if note.get("status").lower() in ASIDE:
            return data
        said = {"superseded_by": change.by, "superseded_at": change.event.at}
        return notes.write(
            touched(set_aside(letting_go(note, change.by), "superseded", said), change.event.at)
        )
    before, rest = note.provenance()
    if change.event.id in before:
        return data
    if (
        surer := isinstance(change, Grow)
        and change.sure
        and "layer" in rest
        and note.get("confidence") != "1"
    ):
        rest["layer"] = change.sure  # a tag makes sure what was only found by its words
    block: dict[str, yaml_writer.Value] = {"events": sorted((*before, change.event.id)), **rest}
    note = notes.set_field(note, "provenance", yaml_writer.field("provenance", block))
    if change.event.at > note.get("updated"):
        note = notes.set_field(note, "updated", yaml_writer.field("updated", change.event.at))
    tags = note.texts("tags")
    if isinstance(change, Grow) and (more := [tag for tag in change.event.tags if tag not in tags]):
        note = notes.set_field(note, "tags", yaml_writer.field("tags", (*tags, *more)))
    if isinstance(change, Grow):
        note = _related(note, change.event)
        if change.pinned and note.fields.get("pinned") is not True:
            note = with_fields(note, {"pinned": True})
        if surer:
            note = with_fields(note, {"confidence": "1"})
    return notes.write(sessions.fold(note, change.event) if isinstance(change, Fold) else note)


def _related(note: notes.Note, event: Event) -> notes.Note:
    """The note with what its twin was to supersede and came from."""
    own, named = note.get("id"), note.texts("supersedes")
    if more := [id_ for id_ in event.supersedes if id_ not in (own, *named)]:
        note = with_fields(note, {"supersedes": (*named, *more)})
    for kind, ids in (("supersedes", event.supersedes), ("derived_from", event.derived_from)):
        for id_ in ids:
            note = with_relation(note, kind, id_) if id_ != own else note
    return note


def records_of(event: Event, phrases: Phrases = ()) -> list[Record]:
    """What an event says by itself, before anybody asks what the vault holds already. Of a meeting, its minutes; of a turn of a
    session, what the layers of extraction find worth a record. `phrases` are a team's own words."""
    if event.type == "observation":
        return [_observed(event)]
    if event.type in TURNS:
        return _told(event, phrases)
    if event.type == "passive" and (found := _learned(event) or _told(event, phrases)):
        return found
    if event.type == "manual" and (tagged := _tagged(event)):
        return [tagged]
    type_, title = _type_and_title(event)
    return [
        _begun(event)._replace(
            id=record_id(title, event.id), type=type_, title=title, status=begun_as(type_)
        )
    ]


def _manual(event: Event, known: Known) -> list[Change]:
    return [_place(record, event, known) for record in records_of(event)]


def _observation(event: Event, known: Known) -> list[Change]:
    (record,) = records_of(event)
    place = _place(record, event, known)
    if not record.relations:
        return [place]
    # A twin, or a topic's record from another project: then the id that the event would give is nobody's.
    holds = place.id if isinstance(place, Create) else known.id_at(place.path)
    supersedes = tuple(id_ for id_ in record.supersedes if id_ != holds)
    place = _place(
        record._replace(
            supersedes=supersedes,
            relations=tuple(one for one in record.relations if one[1] != holds),
        ),
        event,
        known,
    )
    return [
        place,
        *(Retire(known.paths[id_], event, holds) for id_ in supersedes if id_ in known.paths),
    ]


def _passive(event: Event, known: Known) -> list[Change]:
    """What was learned, each a record of its own topic, else what the layers of extraction find. Where that is nothing, the text is
    of its session; without one it is kept as it came."""
    found = _learned(event) or _told(event, known.phrases)
    if found and (not event.session or found[0].topic):
        return [_place(record, event, known) for record in found]
    if event.session:
        return [*(_place(record, event, known) for record in found), *_session(event, known)]
    return [
        _place(record._replace(type="note", status=begun_as("note")), event, known)
        for record in records_of(event)
    ]


def _turn(event: Event, known: Known) -> list[Change]:
    """A turn of a session: its line in the session's note, and what it says that is worth a record of its own."""
    found = _told(event, known.phrases)
    if event.type == "subagent_stop" and any(
        record.type == "learning" and record.topic for record in found
    ):
        return [_place(record, event, known) for record in found]
    return [*_session(event, known), *(_place(record, event, known) for record in found)]


def _session(event: Event, known: Known) -> list[Change]:
    """A session's events fold into its one note."""
    id_ = sessions.id_of(event.session or event.id)
    if id_ in known.paths:
        return [Fold(known.paths[id_], event)]
    return [
        Create(
            sessions.path_of(event),
            sessions.begun(event),
            id_,
            "session",
            event.project,
            event.at,
            "",
        )
    ]


def _meeting(event: Event, known: Known) -> list[Change]:
    # markdown-it-py takes 40 ms to import; only a meeting is worth them.
    from cortex.core.extract.meeting import Action, Decision, read_meeting  # noqa: PLC0415

    meeting = read_meeting(event.text)
    title = shorten(meeting.title, TITLE_LIMIT) or "Meeting"
    parts: list[Action | Decision] = sorted(
        (*meeting.actions, *meeting.decisions), key=lambda part: part.line
    )
    own_id = record_id(title, event.id)
    twin = known.twin("meeting", event.project, digest(event.text), event.at)
    meeting_id = (
        next((id_ for id_, path in known.paths.items() if path == twin), own_id) if twin else own_id
    )
    children: list[Record] = []
    for ordinal, part in enumerate(parts, start=1):
        text = one_line(part.text)
        child = _begun(event)._replace(
            id=record_id(text, event.id, ordinal),
            title=titled(text),
            relations=(("derived_from", meeting_id),),
        )
        if isinstance(part, Action):
            child = child._replace(
                type="action",
                status="done" if part.done else "open",
                owner=part.owner,
                due=part.due,
            )
            why = ""
        else:
            child = child._replace(type="decision")
            why = f"**Why.** {one_line(part.reason)}\n\n" if part.reason else ""
        children.append(
            child._replace(body=f"{text}\n\n{why}From [[{meeting_id}|{_link_text(title)}]].")
        )
    relations = tuple(("source_of", child.id) for child in children)
    record = _begun(event)._replace(id=own_id, type="meeting", title=title, relations=relations)
    return [_place(one, event, known) for one in (record, *children)]


HANDLERS: dict[str, Callable[[Event, Known], list[Change]]] = {
    "manual": _manual,
    "stop": _turn,
    "pre_compact": _turn,
    "post_compact": _turn,
    "meeting": _meeting,
    "observation": _observation,
    "passive": _passive,
    "subagent_stop": _turn,
    "prompt": _turn,
    "session_start": _session,
    "session_end": _turn,
}


def _place(record: Record, event: Event, known: Known) -> Change:
    """A new note for the record, or a growing provenance where its content is already known. A topic has one record."""
    key = digest(record.body)
    if record.topic:
        # Of a project that was merged into another the records keep their ids.
        if held := known.paths.get(record.id) or known.topics.get(
            (record.project, record.scope, record.topic)
        ):
            return Upsert(held, event, record)
        path = topics.path(record.project, record.scope, record.topic)
        return Create(
            path,
            compose(record),
            record.id,
            record.type,
            record.project,
            record.created,
            key,
            record,
        )
    if record.id in known.paths:
        return Grow(
            known.paths[record.id],
            event,
            pinned=record.pinned,
            sure=record.layer if record.confidence == "1" else "",
        )
    path = f"records/{record.type}/{record.id}.md"
    if record.layer:  # its id says what it says: no other record is its twin
        return Create(
            path,
            compose(record),
            record.id,
            record.type,
            record.project,
            record.created,
            key,
            record,
            record.title,
        )
    if twin := known.twin(record.type, record.project, key, record.created, event.title):
        return Grow(twin, event)
    return Create(
        path,
        compose(record),
        record.id,
        record.type,
        record.project,
        record.created,
        key,
        title=record.title,
    )


def _begun(event: Event) -> Record:
    """A record with what every record takes over from its event; the handler says the rest."""
    return Record(
        id="", type="note", title="", body=event.text, created=event.at, events=(event.id,),
        session=event.session, project=event.project, branch=event.branch, tags=event.tags,
    )  # fmt: skip


def _observed(event: Event) -> Record:
    """The record that a save asks for. What a hand has written into the event wrongly is made whole or left out."""
    told, title = _type_and_title(event._replace(text=f"{event.title}\n{event.text}"))
    title = shorten(event.title, SAVED_TITLE_LIMIT) or title
    topic = topics.normal(event.topic) if event.topic else ""
    type_ = type_named(event.record) if is_type(event.record) else topics.type_of(topic) or told
    scope = event.scope if event.scope in SCOPES else scope_of(event.project)
    relations = (
        *(("supersedes", id_) for id_ in event.supersedes),
        *(("derived_from", id_) for id_ in event.derived_from),
    )
    record = _begun(event)._replace(
        type=type_, title=title, status=begun_as(type_), scope=scope, topic=topic, confidence=event.confidence, priority=event.priority,
        supersedes=event.supersedes, relations=tuple(dict.fromkeys(relations)),
    )  # fmt: skip
    return _of_topic(record) if topic else record._replace(id=record_id(title, event.id))


def _learned(event: Event) -> list[Record]:
    scope = scope_of(event.project)
    begun = _begun(event)._replace(type="learning", scope=scope)
    said = turn_summary.read(event.text).said if turn_summary.MARK in event.text else event.text
    return [
        _of_topic(begun._replace(title=one.title, body=one.text, topic=one.topic))
        for one in learnings(said)
    ]


def _told(event: Event, phrases: Phrases) -> list[Record]:
    """What an event of a session says that is worth a record: learnings below their heading, and what the layers find."""
    tags_only = event.type in ONLY_TAGS
    if tags_only and not turn_summary.is_tagged(event.text):
        return []
    found = [
        _of_topic(one) if one.topic else one
        for one in found_in(
            event.text,
            _begun(event),
            phrases,
            tags_only=tags_only,
            plan=event.type != "subagent_stop",
        )
    ]
    learned = [] if tags_only or event.type == "passive" else _learned(event)
    said = {digest(one.body) for one in learned}
    return [*learned, *(one for one in found if digest(one.body) not in said)]


def _tagged(event: Event) -> Record | None:
    """The record of a capture that is one memory tag with what it says."""
    if not event.text.lstrip().lower().startswith(turn_summary.TAG):
        return None
    from cortex.core.extract import memory_tags  # noqa: PLC0415  its patterns take their time to compile, and few captures are tags

    one = memory_tags.alone(event.text)
    return record_of(one, _begun(event)) if one else None


def _of_topic(record: Record) -> Record:
    """The record as that of its topic. Its lists stand in an order in which they can grow alike on every clone."""
    id_ = topics.record_id(record.project, record.scope, record.topic)
    tags, supersedes = (tuple(sorted(set(some))) for some in (record.tags, record.supersedes))
    return record._replace(
        id=id_, tags=tags, supersedes=supersedes, relations=tuple(sorted(set(record.relations)))
    )


def _type_and_title(event: Event) -> tuple[str, str]:
    """The record's type from an explicit tag, else from the text's leading word; its title from the first line."""
    line = next(line for line in event.text.splitlines() if line.strip())
    lead = _LEAD.match(line)
    word = LEADING_WORDS.get(lead[1].lower(), "") if lead else ""
    tagged = next((tag.lower() for tag in event.tags if tag.lower() in RECORD_TYPES), "")
    title = one_line(ORNAMENT.sub("", line[lead.end() :] if lead and word else line)) or one_line(
        event.text
    )
    sentence = _SENTENCE.search(title)
    if sentence and sentence.start() <= TITLE_LIMIT:
        title = title[: sentence.start()]
    return tagged or word or "note", titled(title.rstrip(".:")) or "note"


def _link_text(title: str) -> str:
    return title.replace("|", "-").replace("]", ")").replace("[", "(")
