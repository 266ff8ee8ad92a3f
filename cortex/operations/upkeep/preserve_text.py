"""Keep the text of a record as an event, if no event has it, before it is overwritten or
removed."""

from __future__ import annotations

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import ConflictError, CortexError
from cortex.core.model.record import Record
from cortex.core.normalize.handlers import parse_event, records_from_event
from cortex.core.normalize.topic_upsert import event_of_manual_edit, has_same_text, record_from_note
from cortex.core.notes.edit import with_body, with_fields, with_provenance, with_title
from cortex.core.notes.note import Note
from cortex.core.text.strings import short_hash
from cortex.index.catalogue.filters import TRAIL
from cortex.index.refresh import IndexSession
from cortex.operations.capture.capture import new_event_id
from cortex.vault import files, settings
from cortex.vault.locate import Vault

_MAX_EVENT_BYTES = 2 * events.MAX_CONTENT_BYTES


def preserve_text(vault: Vault, caller: Caller, note: Note) -> tuple[Note, str]:
    """Return the note whose text is about to be replaced, and the id of the latest event that has
    this text. If none has it, one is written and added to the provenance of the note."""
    record = record_from_note(note, settings.load(vault.root).form)
    for id_ in sorted(record.events, reverse=True):
        if any(one.body.strip("\n") == record.body for one in _records_in_event(vault, id_)):
            return note, id_
    event = _event_of_text(caller, record, caller.now)
    write_normalized_event(vault, event)  # always the same event for the same text
    return with_provenance(note, (*record.events, event.id)), event.id


def preserve_removed_record(vault: Vault, caller: Caller, note: Note) -> str:
    """Write what a record says as an event later than all its events, before its file is
    removed. Returns the event's id, which ends in a hash of the record's id for `restore`."""
    record = record_from_note(note, settings.load(vault.root).form)
    now = caller.now.replace("-", "").replace(":", "").lower()
    stamp = max(now, *map(events.next_second, filter(events.is_event_id, record.events)), "")
    id_ = f"{stamp}-{_removal_suffix(record.id)}"
    at = events.time_of_id(id_)
    event = _event_of_text(caller, record, at)._replace(id=id_, at=at)
    data, there = write_normalized_event(vault, event)
    if there != data:
        hint = "run the command again"
        raise ConflictError(f"{record.id} was removed within this second already", hint)
    return id_


def _event_of_text(caller: Caller, record: Record, at: str) -> Event:
    base = Event(new_event_id(caller), "observation", at, "", project=record.project)
    event = event_of_manual_edit(record, base)
    # Taken out of its place and normalized again, it must not pass for the record itself.
    return event if record.topic else event._replace(derived_from=(record.id,))


def write_normalized_event(vault: Vault, event: Event) -> tuple[bytes, bytes]:
    """Write an event that nobody captured to the normalized ones, unless one of its id is there.
    Returns its bytes, and those that are there now."""
    path = vault.layout().event(event.id)
    data = events.compose(event).encode("utf-8", "backslashreplace")
    try:
        files.create(vault.root, path, data)
    except FileExistsError:
        files.sync_folder(vault.root, path.rpartition("/")[0])
        return data, files.read(vault.root, path, _MAX_EVENT_BYTES)
    return data, data


def is_text_in_latest_event(vault: Vault, note: Note) -> bool:
    """Whether the latest event of a record has its text."""
    record = record_from_note(note, settings.load(vault.root).form)
    latest = _records_in_event(vault, events.latest_event_id(record.events))
    form = settings.load(vault.root).form
    return any(has_same_text(record, one, form) for one in latest)


def find_removal_event(index: IndexSession, id_: str) -> tuple[str, str] | None:
    """Path and id of the latest event that `preserve_removed_record` wrote for a record."""
    written = TRAIL._replace(id_end=_removal_suffix(id_))
    return next(((row.path, row.id) for row in index.catalogue.find(written, "-id", 1)), None)


def _removal_suffix(id_: str) -> str:
    """The suffix of the ids of these events."""
    return short_hash(f"{id_}/removed", 10)


def with_text_of_removal(note: Note, event: Event) -> Note:
    """The note with the text and fields of such an event."""
    (said,) = records_from_event(event)
    fields = {key: getattr(said, key) for key in ("type", "branch", "confidence", "priority")}
    note = with_body(with_title(with_fields(note, fields), said.title), said.body)
    return with_provenance(note, tuple({*note.provenance()[0], event.id}))


def find_event(vault: Vault, id_: str) -> tuple[str, Event | None]:
    """The path of an event and the event; an empty path and None where it cannot be read."""
    layout = vault.layout()
    for place in (layout.event, layout.pending, layout.failed) if events.is_event_id(id_) else ():
        if event := load_event(vault, place(id_)):
            return place(id_), event
    return "", None


def load_event(vault: Vault, path: str) -> Event | None:
    """The event of a file; None when it is missing or cannot be parsed."""
    try:
        return parse_event(files.read(vault.root, path, _MAX_EVENT_BYTES), path)
    except (CortexError, OSError):
        return None


def _records_in_event(vault: Vault, id_: str) -> list[Record]:
    """The records of a normalized event; none when it cannot be read."""
    event = load_event(vault, vault.layout().event(id_)) if id_ else None
    return records_from_event(event) if event else []
