"""List open sessions from the catalogue, without reading notes."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model import event as events
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.text.iso_time import epoch_seconds
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import NoteFilter

ORPHAN_AFTER_SECONDS = 24 * 3600  # without an event; then nobody is thought to be still at it


class LiveSession(NamedTuple):
    """A session without an end."""

    row: NoteRow
    last_event_at: str  # the time of its last event
    is_orphan: bool


def list_live_sessions(catalogue: Catalogue, now: str) -> list[LiveSession]:
    """The open sessions, the one with the latest event first."""
    is_open = NoteFilter(tiers=(TIER_CURRENT,), types=("session",), statuses=("open",))
    sessions = []
    for row in catalogue.find(is_open):
        last = last_event_time(row)
        age = epoch_seconds(now) - (epoch_seconds(last) if last else row.date)
        sessions.append(LiveSession(row, last, age > ORPHAN_AFTER_SECONDS))
    return sorted(sessions, key=lambda one: (one.last_event_at, one.row.id), reverse=True)


def last_event_time(row: NoteRow) -> str:
    """The time of a session's last event; empty when its note names none."""
    ids = [id_ for id_ in row.events if events.is_event_id(id_)]
    return events.time_of_id(max(ids)) if ids else ""
