"""Which sessions are going on: asked of the catalogue alone, so that a look at the vault's state costs no reading of notes."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model import event as events
from cortex.index.catalogue import Catalogue, Row
from cortex.vault.state.access_log import seconds

ORPHANED = 24 * 3600  # seconds without an event after which nobody is thought to be still at it
SESSION = "type = 'session' AND tier < 2"
# Sessions that count: ended, or somebody was at it. Of one that was only ever compacted nobody knows yet.
HELD = f"{SESSION} AND (status != 'open' OR session IN (SELECT session FROM note WHERE type IN ('session_start', 'prompt')))"


class Live(NamedTuple):
    """A session without an end."""

    row: Row
    last: str  # the time of its last event
    orphan: bool


def live(catalogue: Catalogue, now: str) -> list[Live]:
    """The open sessions, the one that moved last first."""
    found = []
    for row in catalogue.rows("type = 'session' AND tier = 0 AND status = 'open'"):
        last = last_of(row)
        since = seconds(last) if last else row.date
        found.append(Live(row, last, seconds(now) - since > ORPHANED))
    return sorted(found, key=lambda one: (one.last, one.row.id), reverse=True)


def last_of(row: Row) -> str:
    """The time of a session's last event; empty when its note names none."""
    ids = [id_ for id_ in row.events if events.is_event_id(id_)]
    return events.time_of(max(ids)) if ids else ""
