"""Explain the score of a note."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.model.problem import Problem
from cortex.core.ranking import archive_rules, importance
from cortex.core.ranking.importance import Signals
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.strings import format_time
from cortex.index.catalogue import NoteRow
from cortex.index.refresh import IndexSession
from cortex.operations.find import resolve_note
from cortex.operations.find.note_ranks import signals_of_notes
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.git import checkout
from cortex.vault.locate import Vault


class NoteScore(NamedTuple):
    """The score of a note, 0 to 5, and its parts."""

    id: str
    title: str
    score: float
    parts: dict[str, float]
    path: str  # relative to the vault
    file: str  # absolute path
    type: str
    status: str
    uses: int
    last_use: str  # UTC; empty when it was never used here
    lifecycle: str  # what a pass would do with it, and why
    problems: tuple[Problem, ...] = ()


def explain_score(vault: Vault, caller: Caller, note: str, *, branch: str = "") -> NoteScore:
    """How much a note matters now on `branch`, by default the one that is checked out."""
    current = branch or checkout.branch_of(caller.cwd)

    def load(index: IndexSession) -> tuple[NoteRow, Signals]:
        row = resolve_note.find_one(index.catalogue, note)
        return row, signals_of_notes(vault, index, [row], current)[row.number]

    (row, signals), problems = query_fresh(vault, caller, load)
    moment = epoch_seconds(caller.now)
    answer = importance.explain_score(signals, moment)
    return NoteScore(
        id=row.id,
        title=row.title,
        score=round(answer.score, 6),
        parts={name: round(value, 6) + 0.0 for name, value in answer.parts.items()},
        path=row.path,
        file=os.path.join(vault.root, row.path),
        type=row.type,
        status=row.status,
        uses=signals.uses,
        last_use="" if signals.used is None else format_time(signals.used),
        lifecycle=_describe_lifecycle(row, signals, moment),
        problems=tuple(problems),
    )


def _describe_lifecycle(row: NoteRow, held: Signals, moment: int) -> str:
    """What the lifecycle does with a note, and why."""
    if row.tier == TIER_TRAIL:
        return "kept: events are never archived"
    if row.id == row.path:
        return "kept: a note of your own, without an id"
    verdict = archive_rules.judge(held, moment, row.status)
    return f"{'a pass would archive it' if verdict.should_archive else 'kept'}: {verdict.reason}"
