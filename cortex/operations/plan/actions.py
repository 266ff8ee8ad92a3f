"""What is to be done, and the meetings that it came from."""

from __future__ import annotations

import re
from typing import NamedTuple

from cortex.core.model import note_status
from cortex.core.model.caller import Caller
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.index.catalogue import Catalogue, NoteMetadata
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.find.hits import build_hit
from cortex.operations.find.project_context import canonical_project
from cortex.operations.find.spans import check_number
from cortex.vault.locate import Vault

MAX_RESULTS = 1000
DONE = note_status.DONE_STATUSES
# SQL: by its own words, or, an action, by a tick in any note.
IS_DONE_SQL = f"(status IN {DONE} OR (type = 'action' AND id IN (SELECT id FROM tick)))"
IS_TO_DO_SQL = f"(type = 'action' AND tier = 0 AND NOT {IS_DONE_SQL})"
# SQL: what is open. An action is until it is done, whatever word a hand has written there.
IS_OPEN_SQL = (
    f"(((status = 'open' AND type != 'session') OR type = 'action') AND NOT {IS_DONE_SQL})"
)
# SQL, as `is_date`.
DUE_IS_DATE_SQL = (
    "(due GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]*' AND substr(due, 6, 2) BETWEEN '01' AND '12' AND substr(due, 9, 2) BETWEEN '01' AND '31'"
    " AND substr(due, 11, 1) IN ('', 'T'))"
)
_DATE_RE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?=T|$)")
OVERDUE, DATED, INVALID_DATE, UNDATED = range(4)  # the order in which open actions come


class ActionHit(NamedTuple):
    """An action, as search shows a note, and what else there is to say of it."""

    id: str
    path: str
    line: int
    title: str
    type: str
    status: str  # as it counts: done too when its task is ticked
    score: float
    snippet: str
    date: str
    project: str
    vault: str
    file: str
    owner: str
    due: str  # as it stands in the note
    overdue: bool
    ticked: bool  # done by a tick in a note, and not yet in its own


class ActionList(NamedTuple):
    """Actions, overdue ones first, then by date, then those without one."""

    records: tuple[ActionHit, ...]
    more: int
    problems: tuple[Problem, ...]


def actions(
    vault: Vault,
    caller: Caller,
    *,
    project: str = "",
    owner: str = "",
    overdue: bool = False,
    done: bool = False,
    number: int = 50,
) -> ActionList:
    """List what is to be done: overdue first, then by date, then what has none.

    An action is done when its note says so, or when its task is ticked: the one in its meeting's minutes, or in any note one
    that is a link to it and nothing else. A due that is no date
    stays as it is written and comes after those that are.

    project: only of this project; by default of all
    owner: only what this person has to do
    overdue: only what was due before today
    done: what is done instead, the newest first
    number: how many at the most

    Example: cortex actions
    Example: cortex actions --overdue --owner Ada
    """
    check_number(number, MAX_RESULTS, "cortex actions -n 20")
    if overdue and done:
        raise InvalidInputError(
            "what is done is not overdue", "cortex actions --done, or --overdue"
        )
    named = canonical_project(vault, project)
    problems = ensure_fresh(vault, caller)

    def asked(now: IndexSession) -> tuple[list[NoteMetadata], frozenset[str]]:
        where, values = (
            f"type = 'action' AND tier = 0 AND {IS_DONE_SQL}" if done else IS_TO_DO_SQL,
            [],
        )
        if named:
            where, values = f"{where} AND project = ?", [named]
        return list(now.catalogue.metadata_rows(where, values)), ticked_ids(
            now.catalogue
        ) if done else frozenset()

    found, ticked = query_index(vault, caller.progress, asked)
    found = [
        one
        for one in found
        if not owner.strip() or one.owner.casefold() == owner.strip().casefold()
    ]
    if overdue:
        found = [one for one in found if is_overdue(one.due, caller.now)]
    if done:
        found.sort(key=lambda one: (-one.date, one.path))
    else:
        found.sort(key=lambda one: (*due_sort_key(one.due, caller.now), one.created, one.path))
    shown = tuple(_action_hit(vault, caller, one, done, ticked) for one in found[:number])
    return ActionList(shown, len(found) - len(shown), tuple(problems))


def due_sort_key(due: str, now: str) -> tuple[int, str]:
    """By which open actions are sorted: what is overdue first, then what has a date, an odd one, none."""
    if not due:
        return UNDATED, ""
    return (OVERDUE if is_overdue(due, now) else DATED if is_date(due) else INVALID_DATE), due


def is_overdue(due: str, now: str) -> bool:
    return is_date(due) and due[:10] < now[:10]


def is_date(due: str) -> bool:
    return _DATE_RE.match(due) is not None


def ticked_ids(catalogue: Catalogue) -> frozenset[str]:
    """The ids of actions whose tasks are ticked in any note."""
    return frozenset(str(row[0]) for row in catalogue.select("SELECT id FROM tick"))


def _action_hit(
    vault: Vault, caller: Caller, one: NoteMetadata, done: bool, ticked: frozenset[str]
) -> ActionHit:
    by_tick = one.status not in DONE and one.id in ticked
    shown = build_hit(vault, one)._replace(status="done" if by_tick else one.status)
    return ActionHit(
        *shown, one.owner, one.due, not done and is_overdue(one.due, caller.now), by_tick
    )
