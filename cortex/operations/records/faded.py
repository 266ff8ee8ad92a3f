"""Find the records that have lost their importance."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.ranking import archive_rules as rules, importance
from cortex.core.text.iso_time import epoch_seconds
from cortex.index.catalogue import NoteRow
from cortex.index.filters import NoteFilter
from cortex.index.refresh import IndexSession
from cortex.operations.find.note_ranks import signals_of_notes
from cortex.vault.locate import Vault


class DueRecord(NamedTuple):
    """A record that a rule selects."""

    row: NoteRow
    since: float  # the oldest go first
    score: float
    why: str


def find_faded(vault: Vault, session: IndexSession, now: str) -> tuple[list[DueRecord], int]:
    """The records that a pass archives, the longest untouched first; and how many are active."""
    active = NoteFilter(tiers=(TIER_CURRENT,), has_id=True)
    kept = (*importance.NON_DECAYING_TYPES, *rules.NEVER_ARCHIVED_TYPES)
    # The rules keep all others, too; of ten thousand records it would take half a second to say so.
    rows = session.catalogue.find(active._replace(is_rated=True, not_types=kept))
    signals, moment = signals_of_notes(vault, session, rows), epoch_seconds(now)
    due = []
    for row in rows:
        known = signals[row.number]
        verdict = rules.judge(known, moment, row.status)
        if verdict.should_archive:
            score = importance.total_score(known, moment)
            due.append(DueRecord(row, importance.last_touched(known), score, verdict.reason))
    due.sort(key=lambda one: (one.since, one.row.path))
    return due, session.catalogue.count(active)
