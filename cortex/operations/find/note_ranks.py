"""Rank notes by what the catalogue, the links and the use on this machine say of them, explain the
score of one, and find those that have faded."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.model.problem import Problem
from cortex.core.ranking import importance
from cortex.core.ranking.importance import Signals
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.strings import format_time
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import CURRENT, NoteFilter
from cortex.index.links import in_degree
from cortex.index.refresh import IndexSession
from cortex.operations.find.resolve_note import find_one
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

# Of more records than these only some are ranked: half of them the last changed, half those from
# which time takes nothing, and those that were used last. About 20 µs a record.
MAX_RANKED, MAX_RECENTLY_USED = 1000, 200


def rank_best(
    vault: Vault,
    index: IndexSession,
    caller: Caller,
    wanted: NoteFilter,
    branch: str,
    *,
    rank: Callable[[Signals, float], float] = importance.rank,
) -> list[tuple[NoteRow, float]]:
    """The notes of a filter with their rank, best first; of many, those that may rank highest."""
    rows = select_for_ranking(vault, index, wanted)
    return rank_notes(vault, index, caller, rows, branch, rank=rank)


def select_for_ranking(vault: Vault, index: IndexSession, wanted: NoteFilter) -> Iterable[NoteRow]:
    """Of the notes of a filter those that may rank highest. Pinned ones are always included, then
    the newest of types that do not decay."""
    if index.catalogue.count(wanted) <= MAX_RANKED:
        return index.catalogue.find(wanted)
    used = access_log.read_counts(vault)
    recently = sorted(used, key=lambda id_: (-used[id_].last_seconds, id_))[:MAX_RECENTLY_USED]
    enduring = wanted._replace(enduring_types=importance.NON_DECAYING_TYPES)
    parts = (
        index.catalogue.find(wanted, "-date", MAX_RANKED // 2),
        index.catalogue.find(enduring, "-pinned", MAX_RANKED // 2),
        index.catalogue.find(wanted._replace(ids=recently)),
    )
    return {row.number: row for rows in parts for row in rows}.values()


def signals_of_notes(
    vault: Vault, index: IndexSession, rows: Iterable[NoteRow], branch: str = ""
) -> dict[int, Signals]:
    """The signals of notes, by note number. `branch` is the branch that counts as current."""
    used, incoming = access_log.read_counts(vault), in_degree(index.catalogue)
    most_incoming = max(incoming.values(), default=0)
    most_uses = max((one.count for one in used.values()), default=0)
    found = {}
    for row in rows:
        use = used.get(row.id)
        last_use, uses = (use.last_seconds, use.count) if use else (None, 0)
        # A note without a creation date counts as made at its last change.
        created = timestamp_of(row.created) or row.date
        found[row.number] = Signals(
            row.type, created, row.date, last_use, uses, incoming.get(row.number, 0),
            row.confidence, row.priority, row.pinned, row.branch == branch != "", most_incoming,
            most_uses,
        )  # fmt: skip
    return found


def rank_notes(
    vault: Vault,
    index: IndexSession,
    caller: Caller,
    rows: Iterable[NoteRow],
    branch: str = "",
    *,
    rank: Callable[[Signals, float], float] = importance.rank,
) -> list[tuple[NoteRow, float]]:
    """Notes with their rank, 0 to 1, best first; `branch` is the one that counts as current."""
    moment = epoch_seconds(caller.now)
    rows = list(rows)
    signals = signals_of_notes(vault, index, rows, branch)
    scored = [
        (-rank(signals[row.number], moment), -min(row.date, moment), row.path, row) for row in rows
    ]
    scored.sort()
    return [(row, -negative) for negative, _, _, row in scored]


class DueRecord(NamedTuple):
    """A record that a rule selects."""

    row: NoteRow
    since: float  # the oldest go first
    score: float
    why: str


class NoteScore(NamedTuple):
    """The score of a note, 0 to 5, and its parts."""

    score: float
    parts: dict[str, float]
    uses: int
    last_use: str  # UTC; empty when it was never used here
    lifecycle: str  # what a pass would do with it, and why


def explain_score(
    vault: Vault, caller: Caller, name: str, branch: str
) -> tuple[NoteRow, NoteScore, list[Problem]]:
    """How much the note `name` matters now on `branch`, by default the one that is checked out."""
    current = branch or checkout.branch_of(caller.cwd)

    def load(index: IndexSession) -> tuple[NoteRow, Signals]:
        row = find_one(index.catalogue, name)
        return row, signals_of_notes(vault, index, [row], current)[row.number]

    (row, signals), problems = query_fresh(vault, caller, load)
    moment = epoch_seconds(caller.now)
    numbers = importance.score_parts(signals, moment)
    parts = {name: round(value, 6) + 0.0 for name, value in numbers.items()}
    last_use = "" if signals.used is None else format_time(signals.used)
    lifecycle = _describe_lifecycle(row, signals, moment)
    total = round(importance.total_score(signals, moment), 6)
    return row, NoteScore(total, parts, signals.uses, last_use, lifecycle), problems


def _describe_lifecycle(row: NoteRow, signals: Signals, moment: int) -> str:
    """What the lifecycle does with a note, and why."""
    if row.tier == TIER_TRAIL:
        return "kept: events are never archived"
    if row.id == row.path:
        return "kept: a note of your own, without an id"
    verdict = importance.judge_archiving(signals, moment, row.status)
    return f"{'a pass would archive it' if verdict.should_archive else 'kept'}: {verdict.reason}"


def find_faded(index: IndexSession, vault: Vault, now: str) -> tuple[list[DueRecord], int]:
    """The records that `lifecycle` would archive now, longest untouched first, and the number of active
    records."""
    active = CURRENT._replace(has_id=True)
    kept = (*importance.NON_DECAYING_TYPES, *importance.NEVER_ARCHIVED_TYPES)
    # The rules keep all others, too; of ten thousand records it would take half a second to say so.
    rows = index.catalogue.find(active._replace(is_rated=True, not_types=kept))
    signals, moment = signals_of_notes(vault, index, rows), epoch_seconds(now)
    due = []
    for row in rows:
        known = signals[row.number]
        verdict = importance.judge_archiving(known, moment, row.status)
        if verdict.should_archive:
            score = importance.total_score(known, moment)
            due.append(DueRecord(row, importance.last_touched(known), score, verdict.reason))
    due.sort(key=lambda one: (one.since, one.row.path))
    return due, index.catalogue.count(active)


def timestamp_of(text: str) -> int:
    """A time as Cortex writes it, or a leading day, in seconds since the epoch; 0 for others."""
    if len(text) == 20 and text.endswith("Z"):
        return epoch_seconds(text)
    return epoch_seconds(f"{text[:10]}T00:00:00Z") if text[4:8:3] == "--" else 0
