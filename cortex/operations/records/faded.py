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
    active = session.catalogue.find(NoteFilter(tiers=(TIER_CURRENT,), has_id=True))
    signals, moment = signals_of_notes(vault, session, active), epoch_seconds(now)
    due = []
    for row in active:
        known = signals[row.number]
        if known.confidence is None and known.priority is None:
            continue  # by far the most; the rules say the same of it at greater length
        verdict = rules.judge(known, moment, row.status)
        if verdict.should_archive:
            score = importance.total_score(known, moment)
            due.append(DueRecord(row, importance.last_touched(known), score, verdict.reason))
    return sorted(due, key=lambda one: (one.since, one.row.path)), len(active)
