"""Save a topic again: the text of the later event wins, the earlier text stays in its event.

The result does not depend on the order in which events arrive. Type, title, text, branch, session,
confidence and priority are those of the greatest event id; tags, relations and provenance are the
union; `created` is the earliest time, `updated` the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

from cortex.core.model.event import Event, id_after, latest_event_id, time_of_id
from cortex.core.model.note_form import NESTED, NoteForm
from cortex.core.model.note_status import SET_ASIDE_STATUSES
from cortex.core.model.record import (
    Record,
    compose_record,
    compose_untitled_record,
    default_scope,
    initial_status,
    without_repeated_title,
)
from cortex.core.model.relation import link_key
from cortex.core.normalize.changes import UpsertTopic
from cortex.core.notes import edit, note as notes
from cortex.core.notes.note import Note
from cortex.core.notes.relations import parse_link_target, relations_of
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text import yaml_writer
from cortex.core.text.strings import hash_bytes
from cortex.core.text.value import NamedTuple

EDIT_SOURCE = "edit"  # the source of an event that keeps what a person had written
# What the latest event alone says. The order is part of the ids of preserved edits.
_TEXT_FIELDS = ("type", "title", "body", "branch", "confidence", "priority")
_SESSION_FIELDS = ("session", "session_note")
# Lines that an upsert may write, in the order in which new ones are added.
_WRITTEN_FIELDS = (
    "type", "status", "branch", "tags", "created", "updated", "confidence", "priority",
)  # fmt: skip
# Fields of a note that are plain text.
_PLAIN_FIELDS = (
    "id", "type", "created", "topic", "owner", "due", "confidence", "priority",
)  # fmt: skip

T = TypeVar("T", str, tuple[str, str])


class UpsertResult(NamedTuple):
    """The record's bytes afterwards."""

    data: bytes
    preserved_event: Event | None  # to be written before the record: it holds what would be lost
    changed: bool  # False when the event said what the record said already


def upsert_record(
    data: bytes,
    change: UpsertTopic,
    said: Callable[[str], Iterable[Record]],
    *,
    instead: bool = False,
    form: NoteForm = NESTED,
) -> UpsertResult:
    """A topic's record after one more event. `said` gives the records of the event with an id, none
    when it cannot be read. `instead` brings back a superseded record too: its
    replacements are superseded by the same event. `InvalidInputError` if the note is unreadable."""
    note = notes.read_strict(data, change.path)
    before, _ = note.provenance()
    event = change.event
    if event.id in before:
        return UpsertResult(data, None, changed=False)
    wins = event.id > latest_event_id(before)
    # Saving restores an archived, pruned or deleted topic. A superseded one stays so, since its
    # replacement is current, unless that is superseded now. An event older than the change restores
    # nothing.
    back = (
        wins
        and note.get("status").lower()
        in {*SET_ASIDE_STATUSES} - (set() if instead else {"superseded"})
        and event.at >= note.updated
    )
    if back:
        note = edit.restore_active_status(note)
    if wins:
        note = edit.without_lost(note, "text", "title")
    existing = record_from_note(note, form)
    joined = _merge_collections(existing, change.record)
    manual_edit = None
    if wins and not has_same_text(existing, change.record, form):
        ids, body = sorted(before, reverse=True), change.record.body
        if not any(has_same_text(one, existing, form) for id_ in ids for one in said(id_)):
            earlier = [one for id_ in ids for one in said(id_)]
            added = _added_paragraphs(existing, earlier[:1])
            if not added or any(all(part not in one.body for one in earlier) for part in added):
                manual_edit = event_of_manual_edit(existing, event)
                joined = joined._replace(events=tuple(sorted({*joined.events, manual_edit.id})))
            body = "\n\n".join([body.strip("\n"), *(part for part in added if part not in body)])
        stands = existing.status == initial_status(existing.type) or (
            change.record.layer and existing.status in ("active", "done")
        )  # a plan is done by its steps
        status = change.record.status if stands else existing.status
        text = {key: getattr(change.record, key) for key in (*_TEXT_FIELDS, *_SESSION_FIELDS)}
        joined = joined._replace(status=status, **text)._replace(body=body)
    elif wins:
        joined = joined._replace(**{key: getattr(change.record, key) for key in _SESSION_FIELDS})
    same = has_same_text(joined, existing, form) and has_same_text(joined, change.record, form)
    return UpsertResult(
        _write_record(note, existing, joined, form), manual_edit, changed=back or not same
    )


def _added_paragraphs(existing: Record, latest: Sequence[Record]) -> list[str]:
    """The paragraphs that a person added to what the latest event says, and left as it was."""
    mine = existing.body.strip("\n").split("\n\n")
    theirs = {part for one in latest for part in one.body.strip("\n").split("\n\n")} | {""}
    is_whole = [one.title for one in latest] == [existing.title] and theirs - {""} <= {*mine}
    return [part for part in mine if part not in theirs] if is_whole else []


def has_same_text(one: Record, other: Record, form: NoteForm = NESTED) -> bool:
    """True if both have the same text fields, in a vault of this form."""
    pair = (
        each._replace(branch="") if each.branch == form.branch else each for each in (one, other)
    )  # a flat record does not tell no branch from that of the vault
    return len({*map(_text_fields, pair)}) == 1


def has_current_replacement(
    note: Note, find: Callable[[str], Note | None], gone: Collection[str]
) -> bool | None:
    """True if a superseded record has a current replacement, directly or through others, apart from
    the ids in `gone`. None if a note on the way cannot be found."""
    passed = {link_key(id_) for id_ in gone}
    while name := link_key(parse_link_target(note.get("superseded_by"))):
        if name in passed:
            return False
        passed.add(name)
        found = find(name)
        if found is None:
            return None
        note = found
        if (status := note.get("status").lower()) != "superseded":
            return status not in SET_ASIDE_STATUSES
    return False


def record_from_note(note: Note, form: NoteForm = NESTED) -> Record:
    """The record that a note of a vault of this form holds."""
    project = note.get_in("project", form)
    events, rest = note.provenance()
    session, layer = rest.get("session"), rest.get("layer")
    pairs = ((kind, parse_link_target(text)) for kind, text in relations_of(note.fields))
    relations = dict.fromkeys(pairs)
    record = Record(
        **{key: note.get(key) for key in _PLAIN_FIELDS},
        project=project, branch=note.get_in("branch", form),
        title=note.title, body=edit.normalized_body(note), events=events,
        tags=note.get_list("tags"), attendees=note.get_list("attendees"),
        status=note.get("status") or "active",
        scope=note.get("scope") or default_scope(project), updated=note.updated,
        supersedes=tuple(parse_link_target(one) for one in note.get_list("supersedes")),
        relations=tuple(relations), session=session if isinstance(session, str) else "",
        pinned=note.fields.get("pinned") is True, layer=layer if isinstance(layer, str) else "",
        session_note=_session_note_of(note), imported_from=note.get("imported_from"),
    )  # fmt: skip
    is_untitled = bool(note.get("title")) and record.type != "meeting"
    return without_repeated_title(record) if is_untitled else record


def _session_note_of(note: Note) -> str:
    """The file that the provenance of a note links to as that of its session; empty without."""
    value = note.fields if note.is_flat else note.fields.get("provenance")
    session = value.get("session") if isinstance(value, dict) else None
    is_link = isinstance(session, str) and session.startswith("[[")
    return str(session).strip("[]").partition("|")[0] if is_link else ""


def _text_fields(record: Record) -> tuple[str, ...]:
    """What an upsert would overwrite."""
    record = record._replace(body=record.body.strip("\n"))
    return tuple(getattr(record, key) for key in _TEXT_FIELDS)


def _merge_collections(existing: Record, added: Record) -> Record:
    """What two events say together, whichever is the later."""
    return existing._replace(
        tags=_union(existing.tags, added.tags),
        supersedes=_union(existing.supersedes, added.supersedes),
        relations=_union(existing.relations, added.relations),
        events=tuple(sorted({*existing.events, *added.events})),
        created=min(existing.created, added.created)
        if existing.created[-1:] == "Z"
        else existing.created,
        updated=max(existing.updated, added.updated or added.created),
    )


def _union(existing: tuple[T, ...], added: tuple[T, ...]) -> tuple[T, ...]:
    """Both, sorted; `existing` as it is, in its own order, if `added` adds nothing."""
    return tuple(sorted(set(existing) | set(added))) if set(added) - set(existing) else existing


def _write_record(note: Note, existing: Record, joined: Record, form: NoteForm) -> bytes:
    """The bytes of `joined`: composed anew if the note is as Cortex writes it, else with only the
    changed lines replaced, since a person has edited it."""
    data = notes.write(note)
    for own in (form, NESTED):  # a vault of format 2 may hold records in both forms
        if compose_record(existing, own).encode("utf-8", "surrogatepass") == data:
            return compose_record(joined, own).encode()
    whole = existing._replace(body=edit.normalized_body(note))
    if compose_untitled_record(whole).encode("utf-8", "surrogatepass") == data:
        joined = joined._replace(body=whole.body) if joined.body == existing.body else joined
        return compose_untitled_record(joined).encode()
    fields: dict[str, yaml_writer.YamlValue] = {
        key: getattr(joined, key)
        for key in _WRITTEN_FIELDS
        if getattr(joined, key) != getattr(existing, key)
    }
    for kind, to in joined.relations:
        note = edit.with_relation(note, kind, to)
    if joined.title != existing.title:
        note = edit.with_title(note, joined.title)
    if joined.body != existing.body:
        note = edit.with_body(note, joined.body)
    rest = note.provenance()[1] | ({"session": joined.session} if joined.session else {})
    return notes.write(edit.with_provenance(edit.with_fields(note, fields), joined.events, rest))


def event_of_manual_edit(existing: Record, event: Event) -> Event:
    """An event that preserves text of a record that none of its events has. Its id follows from the
    record's latest event and the text, so a retry makes the same event, and it sorts directly after
    that event, never as the latest."""
    after = latest_event_id(existing.events) or event.id
    id_ = id_after(after, hash_bytes("/".join((existing.id, *_text_fields(existing))), 4))
    return Event(
        id=id_, type="observation", at=time_of_id(id_), source=EDIT_SOURCE,
        text=sanitize_text(existing.body if existing.body.strip() else existing.title) or "(empty)",
        project=event.project, record=existing.type, topic=existing.topic, scope=existing.scope,
        branch=sanitize_text(existing.branch), title=sanitize_text(existing.title),
        confidence=sanitize_text(existing.confidence), priority=sanitize_text(existing.priority),
    )  # fmt: skip
