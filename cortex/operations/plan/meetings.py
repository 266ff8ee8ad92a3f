"""Meetings, with what was decided and is to be done in each."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import Problem
from cortex.index.catalogue import CREATED_SECONDS_SQL, Catalogue, NoteMetadata
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.find.hits import build_hit
from cortex.operations.find.project_context import canonical_project
from cortex.operations.find.spans import check_number, parse_since
from cortex.operations.plan.actions import DONE, MAX_RESULTS, ticked_ids
from cortex.vault.locate import Vault


class MeetingHit(NamedTuple):
    """A meeting, as search shows a note, and what came of it."""

    id: str
    path: str
    line: int
    title: str
    type: str
    status: str
    score: float
    snippet: str
    date: str
    project: str
    vault: str
    file: str
    open_actions: int
    done_actions: int
    decisions: int


class MeetingList(NamedTuple):
    """Meetings, newest first."""

    records: tuple[MeetingHit, ...]
    more: int
    problems: tuple[Problem, ...]


def meetings(
    vault: Vault, caller: Caller, *, number: int = 20, since: str = "", project: str = ""
) -> MeetingList:
    """List meetings, newest first, with what came of each.

    number: how many at the most
    since: only since then: 7d, 2w, 3m or a date
    project: only of this project; by default of all

    Example: cortex meetings --since 2w
    """
    check_number(number, MAX_RESULTS, "cortex meetings -n 20")
    where, values = "type = 'meeting' AND tier = 0", list[object]()
    if named := canonical_project(vault, project):
        where, values = f"{where} AND project = ?", [*values, named]
    if since:
        where, values = f"{where} AND date >= ?", [*values, parse_since(since, caller.now)]
    problems = ensure_fresh(vault, caller)

    def asked(now: IndexSession) -> tuple[list[NoteMetadata], int, dict[int, tuple[int, int, int]]]:
        found = list(
            now.catalogue.metadata_rows(
                f"{where} ORDER BY {CREATED_SECONDS_SQL} DESC, date DESC, path LIMIT ?",
                (*values, number),
            )
        )
        total = next(now.catalogue.select(f"SELECT count(*) FROM note WHERE {where}", values))[0]
        return found, int(total), _meeting_outcomes(now.catalogue, [one.number for one in found])

    found, total, outcomes = query_index(vault, caller.progress, asked)
    shown = tuple(
        MeetingHit(*build_hit(vault, one), *outcomes.get(one.number, (0, 0, 0))) for one in found
    )
    return MeetingList(shown, total - len(shown), tuple(problems))


def _meeting_outcomes(catalogue: Catalogue, numbers: list[int]) -> dict[int, tuple[int, int, int]]:
    """Of each meeting: its open actions, those that are done, its decisions."""
    from cortex.index.links import LinkGraph  # noqa: PLC0415  25 ms of imports, which lists of actions need not pay

    parts: dict[int, set[int]] = {number: set() for number in numbers}
    for edge in LinkGraph(catalogue).edges_touching(numbers, ("derived_from",)):
        if edge.target in parts:
            parts[edge.target].add(edge.source)
    rows = catalogue.rows_by_number({part for some in parts.values() for part in some})
    ticked = ticked_ids(catalogue)
    found = {}
    for number, some in parts.items():
        mine = [rows[part] for part in some if part in rows and rows[part].tier == 0]
        acts = [row for row in mine if row.type == "action"]
        finished = sum(row.status in DONE or row.id in ticked for row in acts)
        found[number] = (
            len(acts) - finished,
            finished,
            sum(row.type == "decision" for row in mine),
        )
    return found
