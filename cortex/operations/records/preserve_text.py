"""What stands in a record and in none of its events is kept as one before it is overwritten."""

from __future__ import annotations

import os
from datetime import datetime, timedelta

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import ConflictError, CortexError
from cortex.core.model.record import Record, provenance_block
from cortex.core.normalize.handlers import parse_event, records_from_event
from cortex.core.normalize.topic_upsert import event_of_manual_edit, has_same_text, record_from_note
from cortex.core.notes.edit import with_body, with_fields
from cortex.core.notes.note import Note
from cortex.core.text.strings import short_hash
from cortex.index.catalogue import Catalogue
from cortex.operations.capture.capture import new_event_id
from cortex.vault import files
from cortex.vault.locate import Vault

_MAX_EVENT_BYTES = 2 * events.MAX_CONTENT_BYTES


def preserve_text(vault: Vault, caller: Caller, note: Note) -> tuple[Note, str]:
    """The note, whose text is about to be replaced, and the id of the event that holds this text. Where none did, there is one now,
    and the note's provenance names it."""
    held = record_from_note(note)
    for id_ in sorted(held.events, reverse=True):
        if any(one.body.strip("\n") == held.body for one in _records_in_event(vault, id_)):
            return note, id_
    now = Event(
        id=new_event_id(caller), type="observation", at=caller.now, text="", project=held.project
    )
    event = event_of_manual_edit(held, now)
    if (
        not held.topic
    ):  # taken out of its place and normalized again, it must not pass for the record itself
        event = event._replace(derived_from=(held.id,))
    path = events.event_path(event.id)
    try:
        files.create(vault.root, path, events.compose(event).encode("utf-8", "backslashreplace"))
    except (
        FileExistsError
    ):  # always the same event for the same text: an earlier attempt ended here
        files.sync_folder(vault.root, path.rpartition("/")[0])
    _, rest = note.provenance()
    rest.pop("session", None)
    return with_fields(
        note, {"provenance": provenance_block((*held.events, event.id), held.session) | rest}
    ), event.id


def preserve_removed_record(vault: Vault, caller: Caller, note: Note) -> str:
    """Keep what a record says whose file is about to be removed: as an event later than all that the record names, whose id is
    answered. It ends in a hash of the record's id, by which `restore` finds it."""
    held = record_from_note(note)
    stamp = max(
        (caller.now, *(_next_second(id_) for id_ in held.events if events.is_event_id(id_)))
    )
    event = event_of_manual_edit(
        held,
        Event(id=new_event_id(caller), type="observation", at=stamp, text="", project=held.project),
    )
    id_ = f"{stamp.replace('-', '').replace(':', '').lower()}-{_removal_suffix(held.id)}"
    event = event._replace(id=id_, at=stamp, derived_from=() if held.topic else (held.id,))
    path, data = events.event_path(id_), events.compose(event).encode("utf-8", "backslashreplace")
    try:
        files.create(vault.root, path, data)
    except FileExistsError:  # an earlier attempt ended here
        if files.read(vault.root, path, _MAX_EVENT_BYTES) != data:
            raise ConflictError(
                f"{held.id} was removed within this second already", "run the command again"
            ) from None
        files.sync_folder(vault.root, path.rpartition("/")[0])
    return id_


def is_text_in_latest_event(vault: Vault, note: Note) -> bool:
    """Whether the latest event that a record names says what the record says."""
    held = record_from_note(note)
    return any(
        has_same_text(held, one)
        for one in _records_in_event(vault, events.latest_event_id(held.events))
    )


def find_removal_event(catalogue: Catalogue, id_: str) -> tuple[str, str] | None:
    """The path and the id of the latest event that keeps what a record said when its file was removed."""
    query = (
        "SELECT path, id FROM note WHERE tier = 2 AND substr(id, 18) = ? ORDER BY id DESC LIMIT 1"
    )
    return next(
        (
            (os.fsdecode(path), event)
            for path, event in catalogue.select(query, (_removal_suffix(id_),))
        ),
        None,
    )


def _removal_suffix(id_: str) -> str:
    """How the ids of those events end."""
    return short_hash(f"{id_}/removed", 10)


def with_text_of_removal(note: Note, event: Event) -> Note:
    """The note with what such an event keeps."""
    (said,) = records_from_event(event)
    fields = {
        key: getattr(said, key) for key in ("type", "title", "branch", "confidence", "priority")
    }
    held, rest = note.provenance()
    session = rest.pop("session", "")
    named = provenance_block(
        tuple(sorted({*held, event.id})), session if isinstance(session, str) else ""
    )
    return with_body(with_fields(note, {**fields, "provenance": named | rest}), said.body)


def _next_second(event: str) -> str:
    """The second after that of an event."""
    return (datetime.fromisoformat(events.time_of_id(event)) + timedelta(seconds=1)).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )


def _records_in_event(vault: Vault, id_: str) -> list[Record]:
    """What an event said that has been normalized; nothing when somebody has made it unreadable."""
    try:
        path = events.event_path(id_)
        return records_from_event(parse_event(files.read(vault.root, path, _MAX_EVENT_BYTES), path))
    except (CortexError, OSError):
        return []
