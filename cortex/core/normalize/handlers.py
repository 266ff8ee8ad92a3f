"""Handlers of event types: `(event, existing records) -> changes`, pure and deterministic.

`cortex.operations.upkeep.normalize` applies them. Every clone makes the same bytes of the events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cortex.core.distill.records import compose_record_of, distilled_records
from cortex.core.extract.candidate import JUDGED_LAYER, LeadingPhrases
from cortex.core.extract.extraction import TAGS_ONLY_TYPES, extract_records
from cortex.core.extract.learnings import find_learnings
from cortex.core.markdown.bound import MAX_RECORDS, structured_part
from cortex.core.model import event as events, topics, turn_summary
from cortex.core.model.event import Event, session_note_id
from cortex.core.model.note_form import NESTED, NoteForm
from cortex.core.model.note_status import SET_ASIDE_STATUSES
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.record import (
    SCOPES,
    Record,
    canonical_type,
    compose_record,
    content_digest,
    default_scope,
    initial_status,
    is_record_type,
    record_id,
    without_repeated_title,
)
from cortex.core.normalize import session_note as sessions
from cortex.core.normalize.changes import (
    AddProvenance,
    AppendToSession,
    CreateNote,
    ExistingRecords,
    MarkSuperseded,
    NoteChange,
    UpsertTopic,
)
from cortex.core.normalize.text_records import (
    base_record,
    manual_records,
    parse_task_text,
    turn_tasks,
    type_and_title,
)
from cortex.core.notes import edit, note as notes
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import parse_time, shorten, slugify, text_digest

MAX_SAVED_TITLE_CHARS = 200  # of one that somebody gave

# Events of a session, whose texts the layers of extraction read.
SESSION_TEXT_TYPES = (*events.TURN_TYPES, *TAGS_ONLY_TYPES)

_UTC_TIME_RE = lazy_re(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


def parse_event(data: bytes, where: str) -> Event:
    """The event in a file of the inbox. `InvalidInputError` if it or the file's name is wrong."""
    note = notes.read_strict(data, where)
    id_ = where.rpartition("/")[2].removesuffix(".md")
    if not note.opening_fence:
        raise InvalidInputError(
            "the file has no frontmatter, so it is no event",
            f"capture its text instead; or add an id, a type and a time, then cortex retry {id_}",
        )
    if note.get("id") != id_:
        raise InvalidInputError(
            f"the file name is not the event's id, {note.get('id')!r}",
            f"mend the id or the name, then cortex retry {id_}",
        )
    text = events.raw_content(note.text)
    if text is None:
        raise InvalidInputError(
            f"there is no {events.RAW_HEADING!r} heading",
            f"put the text below one, then cortex retry {id_}",
        )
    fields: dict[str, Any] = {
        key: note.get_list(key) if key in events.LIST_FIELDS else note.get(key)
        for key in Event._fields
    }
    event = Event(**fields | {"text": text})
    events.validate(event)
    if not _UTC_TIME_RE.fullmatch(event.at) or parse_time(event.at) is None:
        raise InvalidInputError(
            f"{event.at!r} is not a time such as {events.time_of_id(id_)}",
            f"mend `at`, then cortex retry {id_}",
        )
    return event


def changes_for_event(
    event: Event, known: ExistingRecords, *, unfinished: bool = False
) -> list[NoteChange]:
    """The changes of the vault for this event; none if it was normalized before. Of an `unfinished`
    event, whose file is still in the inbox, some records may be missing after a crash: all changes
    are returned again, and records that exist do not change."""
    if event.id in known.path_by_event_id and not unfinished:
        return []
    return HANDLERS[event.type](event, known)


def amend_note(
    data: bytes, change: AddProvenance | AppendToSession | MarkSuperseded, form: NoteForm = NESTED
) -> bytes:
    """The bytes of a note of a vault of this form after a change. Raises `InvalidInputError` if it is unreadable."""
    note = notes.read_strict(data, change.path)
    if isinstance(change, MarkSuperseded):
        if note.get("status").lower() in SET_ASIDE_STATUSES:
            return data
        by = f"[[{change.superseded_by}]]"
        fields = {"superseded_by": by, "superseded_at": change.event.at}
        note = edit.without_supersedes(note, change.superseded_by)
        note = edit.set_inactive_status(note, "superseded", fields)
        return notes.write(edit.with_updated(note, change.event.at))
    event = change.event
    if event.id in note.provenance()[0]:
        return data
    if isinstance(change, AppendToSession):
        return notes.write(append_turns(note, [event], form))
    _, rest = note.provenance()
    layer = change.confirming_layer
    if surer := layer and "layer" in rest and note.get("confidence") != "1":
        rest["layer"] = layer  # a tag confirms what only its words told
    note = _with_events(note, [event], rest)
    tags = note.get_list("tags")
    if new_tags := [tag for tag in event.tags if tag not in tags]:
        note = edit.with_fields(note, {"tags": (*tags, *new_tags)})
    note = _with_relations_of(note, event)
    if event.type == "meeting" and note.get("type") == "action":  # as it was said last
        said = {"owner": event.owner, "due": event.due}
        note = edit.with_fields(note, {key: value for key, value in said.items() if value})
    if change.pinned and note.fields.get("pinned") is not True:
        note = edit.with_fields(note, {"pinned": True})
    return notes.write(edit.with_fields(note, {"confidence": "1"}) if surer else note)


def append_turns(note: notes.Note, turns: Sequence[Event], form: NoteForm = NESTED) -> notes.Note:
    """A session's note with more events; those that it has are left out."""
    before, rest = note.provenance()
    new = [event for event in turns if event.id not in before]
    note = _with_events(note, new, rest) if new else note
    for event in new:
        note = sessions.append_event(note, event, form)
    return note


def _with_events(note: notes.Note, new: Sequence[Event], rest: dict[str, Any]) -> notes.Note:
    """The note with more events in its provenance, of which `rest` are the other fields."""
    note = edit.with_provenance(note, (*note.provenance()[0], *(event.id for event in new)), rest)
    # What is made of a session later is no part of it.
    last = max((event.at for event in new if event.type != events.DISTILLED), default="")
    return edit.with_updated(note, last)


def _with_relations_of(note: notes.Note, event: Event) -> notes.Note:
    """The note with the `supersedes` and `derived_from` of the event that repeats it."""
    own = note.get("id")
    for kind, ids in (("supersedes", event.supersedes), ("derived_from", event.derived_from)):
        for id_ in ids:
            note = edit.with_relation(note, kind, id_) if id_ != own else note
    return note


def records_from_event(event: Event, phrases: LeadingPhrases = ()) -> list[Record]:
    """The records of an event, whatever the vault holds: of a turn of a session what the layers of
    extraction find, as far as `structured_part` goes. `phrases` are a team's own phrases."""
    found = _records_from_event(event, phrases)[:MAX_RECORDS]
    return [without_repeated_title(one) for one in found]


def _records_from_event(event: Event, phrases: LeadingPhrases) -> list[Record]:
    if event.type in ("observation", events.RUN):
        return [_observation_record(event)]
    part = event._replace(text=structured_part(event.text))
    if event.type in SESSION_TEXT_TYPES:
        return _session_records(part, phrases)
    if event.type == events.DISTILLED:
        return distilled_records(event)
    passive = event.type == "passive"
    if passive and (found := _learning_records(part) or _session_records(part, phrases)):
        return found
    if event.type == "manual":
        return manual_records(part)
    title = type_and_title(event)[1]
    return [base_record(event)._replace(id=record_id(title, event.id), title=title)]


def _handle_manual(event: Event, known: ExistingRecords) -> list[NoteChange]:
    return [_change_for_record(one, event, known) for one in records_from_event(event)]


def _handle_observation(event: Event, known: ExistingRecords) -> list[NoteChange]:
    (record,) = records_from_event(event)
    change = _change_for_record(record, event, known)
    if not record.relations:
        return [change]
    # A duplicate, or a topic's record from another project, has another id than the event would
    # give it.
    id_ = change.record.id if isinstance(change, CreateNote) else known.id_at(change.path)
    supersedes = tuple(one for one in record.supersedes if one != id_)
    relations = tuple(one for one in record.relations if one[1] != id_)
    record = record._replace(supersedes=supersedes, relations=relations)
    paths = (known.path_by_id[one] for one in supersedes if one in known.path_by_id)
    superseded = [MarkSuperseded(path, event, id_) for path in paths]
    return [_change_for_record(record, event, known), *superseded]


def _handle_passive(event: Event, known: ExistingRecords) -> list[NoteChange]:
    """Learnings, each a record of its own topic, else what the layers of extraction find. Without
    either the text belongs to its session; without a session it is a note."""
    records = records_from_event(event, known.phrases)
    if records[0].topic or not event.session:
        return [_change_for_record(one, event, known) for one in records]
    extracted = records if records[0].layer else []
    changes = [_change_for_record(one, event, known) for one in extracted]
    return [*changes, *_handle_session(event, known)]


def _handle_turn(event: Event, known: ExistingRecords) -> list[NoteChange]:
    """A turn of a session: an entry in the session's note, and its records."""
    records = records_from_event(event, known.phrases)
    changes = [_change_for_record(one, event, known) for one in records]
    if event.type == "subagent_stop" and any(
        record.type == "learning" and record.topic for record in records
    ):
        return changes
    return [*_handle_session(event, known), *changes]


def _handle_distilled(event: Event, known: ExistingRecords) -> list[NoteChange]:
    """What a model made of a session: an entry in the session's note, and its records."""
    changes = []
    for record in records_from_event(event):
        changes.append(_change_for_record(record, event, known))
        paths = (known.path_by_id.get(id_) for id_ in record.supersedes)
        changes += [MarkSuperseded(path, event, record.id) for path in paths if path]
    return [*_handle_session(event, known), *changes]


def _handle_session(event: Event, known: ExistingRecords) -> list[NoteChange]:
    """Append the event to the one note of its session."""
    id_ = session_note_id(event.session or event.id)
    if id_ in known.path_by_id:
        return [AppendToSession(known.path_by_id[id_], event)]
    record = base_record(event)._replace(id=id_, type="session")
    path = known.layout.path(sessions.note_path(event))
    return [CreateNote(path, sessions.compose_note(event, known.form), record)]


def _handle_meeting(event: Event, known: ExistingRecords) -> list[NoteChange]:
    # markdown-it-py takes 40 ms to import; only a meeting is worth them.
    from cortex.core.minutes.records import (  # noqa: PLC0415
        is_same_action,
        is_version,
        records_of_minutes,
    )

    twin = known.find_duplicate("meeting", event.project, content_digest("", event.text), event.at)
    records = records_of_minutes(base_record(event))
    # What came of a twin, or of an earlier version, is there, is removed, or is brought up to date when
    # the minutes are read again. A crash may have left the meeting of this very event, and not all
    # of its records.
    own, day = known.path_by_id.get(records[0].id), records[0].date or event.at[:10]
    named = known.meetings_by_name.get((event.project, text_digest(records[0].title), day), [])
    for path in [twin] if twin else [] if event.imported_from else named:
        if path != own and (twin or is_version(known.read_text(path), event.text)):
            return [AddProvenance(path, event)]
    meeting, *children = records
    changes: dict[str, NoteChange] = {}
    for one in children:
        name, id_, owner = (one.project, text_digest(one.title)), one.id, one.owner
        if one.status == "open" and id_ not in known.path_by_id:
            id_, owner = known.open_actions.setdefault(name, (id_, owner))
        if id_ == one.id or not is_same_action(one, owner):
            changes[one.id] = _change_for_record(one, event, known)
        elif id_ not in changes:  # it has one source more
            path = known.path_by_id[id_]
            said = event._replace(derived_from=(meeting.id,), owner=one.owner, due=one.due)
            changes[id_] = AddProvenance(path, said)
    meeting = meeting._replace(relations=tuple(("source_of", id_) for id_ in changes))
    return [_change_for_record(meeting, event, known), *changes.values()]


HANDLERS: dict[str, Callable[[Event, ExistingRecords], list[NoteChange]]] = {
    "manual": _handle_manual,
    "meeting": _handle_meeting,
    "observation": _handle_observation,
    events.RUN: _handle_observation,
    "passive": _handle_passive,
    "session_start": _handle_session,
    events.DISTILLED: _handle_distilled,
    **dict.fromkeys(SESSION_TEXT_TYPES, _handle_turn),
}


def _change_for_record(record: Record, event: Event, known: ExistingRecords) -> NoteChange:
    """A new note for the record, or provenance for its twin. A topic has one record."""
    path = known.path_by_id.get(record.id)
    if record.topic:
        topic = record.project, record.scope, record.topic
        # Records of a project that was merged into another keep their ids.
        if path := path or known.path_by_topic.get(topic):
            return UpsertTopic(path, event, record)
        new_path = known.layout.path(topics.record_path(*topic))
        return CreateNote(new_path, compose_record(record, known.form), record, joins_existing=True)
    if path:
        layer = record.layer if record.confidence == "1" else ""
        return AddProvenance(path, event, pinned=record.pinned, confirming_layer=layer)
    # The id of an extracted record is made of its text, so no other record is its duplicate.
    digest = content_digest(record.title, record.body)
    twin = record.type, record.project, digest, record.created, event.title
    # What a source names twice are two things there; of other sources, the import has looked.
    is_own = record.layer or event.imported_from
    if not is_own and (path := known.find_duplicate(*twin)):
        return AddProvenance(path, event)
    new_path = known.layout.record(record.type, record.id)
    return CreateNote(
        new_path, compose_record(record, known.form), record, joins_existing=bool(record.layer)
    )


def _observation_record(event: Event) -> Record:
    """The record of a save. Invalid fields, which a hand may have written, are left out."""
    leading_type, title = type_and_title(event._replace(text=f"{event.title}\n{event.text}"))
    title = shorten(event.title, MAX_SAVED_TITLE_CHARS) or title
    topic = topics.normalize_topic(event.topic) if event.topic else ""
    type_ = (
        canonical_type(event.record)
        if is_record_type(event.record)
        else topics.type_of(topic) or leading_type
    )
    scope = event.scope if event.scope in SCOPES else default_scope(event.project)
    relations = (
        *(("supersedes", id_) for id_ in event.supersedes),
        *(("derived_from", id_) for id_ in event.derived_from),
        *((kind, id_) for kind, _, id_ in (one.partition(" ") for one in event.relations) if id_),
    )
    record = base_record(event)._replace(
        type=type_, title=title, status=initial_status(type_), scope=scope, topic=topic,
        confidence=event.confidence, priority=event.priority, supersedes=event.supersedes,
        relations=tuple(dict.fromkeys(relations)),
    )  # fmt: skip
    if type_ == "action" and (task := parse_task_text(title, event.today)):
        record = record._replace(owner=task.owner, due=task.due)
    record = record._replace(owner=event.owner or record.owner, due=event.due or record.due)
    if event.imported_from:
        record = _with_imported_fields(record, event)
    if topic:
        return _as_topic_record(record)
    # The time of what gives none itself is that of a file, which differs between clones.
    named = event.id[len("20261120t164512z-") :] if event.imported_from else event.id
    return record._replace(id=record_id(title, named))


def _with_imported_fields(record: Record, event: Event) -> Record:
    """The record with what its source said of it beside the fields of a save."""
    is_word = slugify(event.status, 40) == event.status != ""
    return record._replace(
        status=event.status if is_word else record.status,
        superseded_by=event.superseded_by, pinned=event.pinned == "true",
        attendees=event.attendees, created=event.created or event.at,
        updated=event.updated or event.at, imported_from=event.imported_from,
    )  # fmt: skip


def _learning_records(event: Event) -> list[Record]:
    scope = default_scope(event.project)
    begun = base_record(event)._replace(type="learning", scope=scope)
    said = (
        turn_summary.parse_turn_summary(event.text).message
        if turn_summary.ACTIVITY_MARK in event.text
        else event.text
    )
    return [
        _as_topic_record(begun._replace(title=one.title, body=one.text, topic=one.topic))
        for one in find_learnings(said)
    ]


def _session_records(event: Event, phrases: LeadingPhrases) -> list[Record]:
    """The records of a session's event: learnings below their heading, what is marked, tasks, and
    the rules that the person gave."""
    # As of the layers of extraction: its patterns wait until a text is read.
    from cortex.core.distill.judge import find_rules  # noqa: PLC0415

    is_turn = event.type in ("stop", "pre_compact")
    if event.type in TAGS_ONLY_TYPES and not turn_summary.may_hold_memory_tag(event.text):
        return []
    found = [
        _as_topic_record(one) if one.topic else one
        for one in extract_records(event.text, base_record(event), phrases, event.type)
    ]
    is_agent = event.type not in (*TAGS_ONLY_TYPES, "passive")
    learned = _learning_records(event) if is_agent else []
    said = {text_digest(one.body) for one in learned}
    tasks = turn_tasks(event) if is_turn else []
    unsaid = [one for one in found if text_digest(one.body) not in said]
    rules = (compose_record_of(event, one, JUDGED_LAYER) for one in find_rules(event))
    return [*learned, *unsaid, *tasks, *rules]


def _as_topic_record(record: Record) -> Record:
    """The record as that of its topic, its lists sorted, so that they are equal on every clone."""
    id_ = topics.topic_record_id(record.project, record.scope, record.topic)
    tags, supersedes = (tuple(sorted(set(some))) for some in (record.tags, record.supersedes))
    return record._replace(
        id=id_, tags=tags, supersedes=supersedes, relations=tuple(sorted(set(record.relations)))
    )
