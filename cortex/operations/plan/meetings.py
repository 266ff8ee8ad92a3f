"""Meetings, with what was decided and is to be done in each."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, NamedTuple

from cortex.core.minutes.note_items import DECISION, TASK
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import DONE_STATUSES, TIER_CURRENT
from cortex.core.model.parameters import Between, Since
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.filters import NoteFilter
from cortex.index.links import LinkGraph
from cortex.index.queries import own_items, ticked_ids
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.project_context import canonical_project
from cortex.operations.find.hits import Hit, Listing, build_hit
from cortex.operations.plan.actions import MAX_RESULTS
from cortex.operations.upkeep.bring_up_to_date import bring_up_to_date, read_edited_minutes
from cortex.vault.locate import Vault


class MeetingHit(NamedTuple):
    """A meeting, and what came of it."""

    hit: Hit
    open_actions: int
    done_actions: int
    decisions: int


def meetings(
    vault: Vault,
    caller: Caller,
    *,
    number: Annotated[int, Between(1, MAX_RESULTS)] = 20,
    since: Since | None = None,
    project: str = "",
) -> Listing[MeetingHit]:
    """List meetings, newest first, with what came of each.

    number: how many at the most
    since: only since then: 7d, 2w, 3m or a date
    project: only of this project; by default of all

    Example: cortex meetings --since 2w
    """
    named = canonical_project(vault, project)
    is_meeting = NoteFilter(tiers=(TIER_CURRENT,), types=("meeting",))
    wanted = is_meeting._replace(projects=(named,) if named else None, changed_since=since)
    noted = (*bring_up_to_date(vault, caller), *read_edited_minutes(vault, caller))
    problems = list(dict.fromkeys(noted))

    def find(index: IndexSession) -> tuple[list[NoteRow], int, dict[int, tuple[int, int, int]]]:
        rows = index.catalogue.find(wanted, "-created", number)
        outcomes = _meeting_outcomes(index.catalogue, [row.number for row in rows])
        return rows, index.catalogue.count(wanted), outcomes

    rows, total, outcomes = query_index(vault, caller.progress, find)
    hits = [MeetingHit(build_hit(vault, row), *outcomes[row.number]) for row in rows]
    return Listing(hits, total, problems)


def _meeting_outcomes(catalogue: Catalogue, numbers: list[int]) -> dict[int, tuple[int, int, int]]:
    """Of each meeting: how many of its actions are open, how many done, and its decisions."""
    parts: dict[int, set[int]] = {number: set() for number in numbers}
    for edge in LinkGraph(catalogue).edges_touching(numbers, ("derived_from",)):
        if edge.target in parts:
            parts[edge.target].add(edge.source)
    rows = catalogue.rows_by_number({part for some in parts.values() for part in some})
    ticked = ticked_ids(catalogue)
    items = (own_items(catalogue, kind)[0] for kind in (TASK, DECISION))
    tasks, decided = (Counter(one.number for one in some) for some in items)
    outcomes = {}
    for number, some in parts.items():
        current = [rows[part] for part in some if part in rows and rows[part].tier == TIER_CURRENT]
        actions = [row for row in current if row.type == "action"]
        done = sum(row.status in DONE_STATUSES or row.id in ticked for row in actions)
        decisions = sum(row.type == "decision" for row in current)
        outcomes[number] = (len(actions) - done + tasks[number], done, decisions + decided[number])
    return outcomes
