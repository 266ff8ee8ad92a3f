"""What is to be done, and the meetings that it came from."""

from __future__ import annotations

import re
from typing import NamedTuple

from cortex.core.model import status
from cortex.core.model.caller import Caller
from cortex.core.model.problem import Invalid, Problem
from cortex.index.catalogue import MADE, Catalogue, Standing
from cortex.index.refresh import Views, look
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.find.hits import hit
from cortex.operations.find.project_context import project_named
from cortex.operations.find.spans import checked, since_of
from cortex.vault.locate import Vault

MOST = 1000
DONE = status.DONE
# SQL: by its own words, or, an action, by a tick in any note.
IS_DONE = f"(status IN {DONE} OR (type = 'action' AND id IN (SELECT id FROM tick)))"
IS_TO_DO = f"(type = 'action' AND tier = 0 AND NOT {IS_DONE})"
# SQL: what is open. An action is until it is done, whatever word a hand has written there.
IS_OPEN = f"(((status = 'open' AND type != 'session') OR type = 'action') AND NOT {IS_DONE})"
# SQL, as `is_date`.
DUE_IS_DATE = (
    "(due GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]*' AND substr(due, 6, 2) BETWEEN '01' AND '12' AND substr(due, 9, 2) BETWEEN '01' AND '31'"
    " AND substr(due, 11, 1) IN ('', 'T'))"
)
_DAY = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?=T|$)")
OVERDUE, DATED, ODD, UNDATED = range(4)  # the order in which open actions come


class Action(NamedTuple):
    """An action, as search shows a note, and what else there is to say of it."""

    id: str
    path: str
    line: int
    title: str
    type: str
    status: str  # as it counts: done too when its task is ticked
    score: float
    snippet: str
    date: int
    project: str
    vault: str
    owner: str
    due: str  # as it stands in the note
    overdue: bool
    ticked: bool  # done by a tick in a note, and not yet in its own


class Actions(NamedTuple):
    """Actions, overdue ones first, then by date, then those without one."""

    records: tuple[Action, ...]
    more: int
    problems: tuple[Problem, ...]


class Meeting(NamedTuple):
    """A meeting, as search shows a note, and what came of it."""

    id: str
    path: str
    line: int
    title: str
    type: str
    status: str
    score: float
    snippet: str
    date: int
    project: str
    vault: str
    open_actions: int
    done_actions: int
    decisions: int


class Meetings(NamedTuple):
    """Meetings, newest first."""

    records: tuple[Meeting, ...]
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
) -> Actions:
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
    checked(number, MOST, "cortex actions -n 20")
    if overdue and done:
        raise Invalid("what is done is not overdue", "cortex actions --done, or --overdue")
    named = project_named(vault, project)
    problems = freshen(vault, caller)

    def asked(now: Views) -> tuple[list[Standing], frozenset[str]]:
        where, values = f"type = 'action' AND tier = 0 AND {IS_DONE}" if done else IS_TO_DO, []
        if named:
            where, values = f"{where} AND project = ?", [named]
        return list(now.catalogue.standings(where, values)), done_ids(
            now.catalogue
        ) if done else frozenset()

    found, ticked = look(vault, caller.progress, asked)
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
        found.sort(key=lambda one: (*due_order(one.due, caller.now), one.created, one.path))
    shown = tuple(_action(vault, caller, one, done, ticked) for one in found[:number])
    return Actions(shown, len(found) - len(shown), tuple(problems))


def meetings(
    vault: Vault, caller: Caller, *, number: int = 20, since: str = "", project: str = ""
) -> Meetings:
    """List meetings, newest first, with what came of each.

    number: how many at the most
    since: only since then: 7d, 2w, 3m or a date
    project: only of this project; by default of all

    Example: cortex meetings --since 2w
    """
    checked(number, MOST, "cortex meetings -n 20")
    where, values = "type = 'meeting' AND tier = 0", list[object]()
    if named := project_named(vault, project):
        where, values = f"{where} AND project = ?", [*values, named]
    if since:
        where, values = f"{where} AND date >= ?", [*values, since_of(since, caller.now)]
    problems = freshen(vault, caller)

    def asked(now: Views) -> tuple[list[Standing], int, dict[int, tuple[int, int, int]]]:
        found = list(
            now.catalogue.standings(
                f"{where} ORDER BY {MADE} DESC, date DESC, path LIMIT ?", (*values, number)
            )
        )
        total = next(now.catalogue.asked(f"SELECT count(*) FROM note WHERE {where}", values))[0]
        return found, int(total), _outcomes(now.catalogue, [one.number for one in found])

    found, total, outcomes = look(vault, caller.progress, asked)
    shown = tuple(Meeting(*hit(vault, one), *outcomes.get(one.number, (0, 0, 0))) for one in found)
    return Meetings(shown, total - len(shown), tuple(problems))


def due_order(due: str, now: str) -> tuple[int, str]:
    """By which open actions are sorted: what is overdue first, then what has a date, an odd one, none."""
    if not due:
        return UNDATED, ""
    return (OVERDUE if is_overdue(due, now) else DATED if is_date(due) else ODD), due


def is_overdue(due: str, now: str) -> bool:
    return is_date(due) and due[:10] < now[:10]


def is_date(due: str) -> bool:
    return _DAY.match(due) is not None


def done_ids(catalogue: Catalogue) -> frozenset[str]:
    """The ids of actions whose tasks are ticked in any note."""
    return frozenset(str(row[0]) for row in catalogue.asked("SELECT id FROM tick"))


def _action(
    vault: Vault, caller: Caller, one: Standing, done: bool, ticked: frozenset[str]
) -> Action:
    by_tick = one.status not in DONE and one.id in ticked
    shown = hit(vault, one)._replace(status="done" if by_tick else one.status)
    return Action(*shown, one.owner, one.due, not done and is_overdue(one.due, caller.now), by_tick)


def _outcomes(catalogue: Catalogue, numbers: list[int]) -> dict[int, tuple[int, int, int]]:
    """Of each meeting: its open actions, those that are done, its decisions."""
    from cortex.index.links import Links  # noqa: PLC0415  25 ms of imports, which lists of actions need not pay

    parts: dict[int, set[int]] = {number: set() for number in numbers}
    for edge in Links(catalogue).edges(numbers, ("derived_from",)):
        if edge.target in parts:
            parts[edge.target].add(edge.source)
    rows = catalogue.numbered({part for some in parts.values() for part in some})
    ticked = done_ids(catalogue)
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
