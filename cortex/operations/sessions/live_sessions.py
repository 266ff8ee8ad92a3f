"""Which sessions are going on: asked of the catalogue alone, so that a look at the vault's state costs no reading of notes."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model import event as events
from cortex.core.text.iso_time import epoch_seconds
from cortex.index.catalogue import Catalogue, NoteRow

ORPHAN_AFTER_SECONDS = (
    24 * 3600
)  # seconds without an event after which nobody is thought to be still at it
IS_SESSION_SQL = "type = 'session' AND tier < 2"
# Sessions that count: ended, or somebody was at it. Of one that was only ever compacted nobody knows yet.
IS_COUNTED_SESSION_SQL = f"{IS_SESSION_SQL} AND (status != 'open' OR session IN (SELECT session FROM note WHERE type IN ('session_start', 'prompt')))"


class LiveSession(NamedTuple):
    """A session without an end."""

    row: NoteRow
    last_event_at: str  # the time of its last event
    is_orphan: bool


def list_live_sessions(catalogue: Catalogue, now: str) -> list[LiveSession]:
    """The open sessions, the one that moved last first."""
    found = []
    for row in catalogue.rows("type = 'session' AND tier = 0 AND status = 'open'"):
        last = last_event_time(row)
        since = epoch_seconds(last) if last else row.date
        found.append(LiveSession(row, last, epoch_seconds(now) - since > ORPHAN_AFTER_SECONDS))
    return sorted(found, key=lambda one: (one.last_event_at, one.row.id), reverse=True)


def last_event_time(row: NoteRow) -> str:
    """The time of a session's last event; empty when its note names none."""
    ids = [id_ for id_ in row.events if events.is_event_id(id_)]
    return events.time_of_id(max(ids)) if ids else ""
