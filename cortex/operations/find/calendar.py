"""What was captured, decided, opened and done on each day, and what was used."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.model.parameters import Day, Since
from cortex.core.model.problem import Problem
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.strings import format_time
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue
from cortex.index.catalogue.filters import KNOWLEDGE, NoteFilter
from cortex.index.refresh import IndexSession
from cortex.operations.capture.project_context import canonical_project
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

_YEAR_SECONDS = 365 * 24 * 3600
_FIRST_DAY = "1970-01-01"
_MAX_USED, _MAX_LOOKED_UP = 10, 2000  # notes; of those that were used some are gone


class CalendarDay(NamedTuple):
    """A day of UTC on which there was something. A note counts on the day on which it was made, a done
    action on that of its last change or of its tick."""

    date: Day
    captures: int  # events
    decisions: int
    opened: int  # actions
    done: int  # actions


class CalendarWeek(NamedTuple):
    """A week from Monday on."""

    date: Day  # its Monday
    captures: int
    open: int  # actions that were open at its end, or are now


class UsedNote(NamedTuple):
    """A note, and how often it was shown to somebody who asked."""

    id: str
    title: str
    type: str
    path: str  # relative to the vault
    file: str  # absolute path
    uses: int


class Calendar(NamedTuple):
    """The days and weeks since a day, oldest first, and the notes that were used most since then."""

    since: Day
    until: Day  # today
    days: tuple[CalendarDay, ...]
    weeks: tuple[CalendarWeek, ...]
    used: tuple[UsedNote, ...]
    problems: tuple[Problem, ...]


def calendar(
    vault: Vault, caller: Caller, *, since: Since | None = None, project: str = ""
) -> Calendar:
    """Show what was captured, decided, opened and done on each day.

    Days are those of UTC. With them come the totals of each week, for plots, and the notes that
    agents and people used most on this machine.

    since: from then on: 7d, 2w, 3m, 1y or a date; by default a year
    project: only of this project; by default of all

    Example: cortex calendar
    Example: cortex calendar --since 3m --project cortex --json
    """
    named = canonical_project(vault, project)
    projects = (named,) if named else None
    begin = epoch_seconds(caller.now) - _YEAR_SECONDS if since is None else since
    first, last = max(_FIRST_DAY, format_time(max(0, begin))[:10]), caller.now[:10]

    def load(index: IndexSession) -> tuple[_Counts, tuple[UsedNote, ...]]:
        used = _most_used(vault, index.catalogue, begin, projects)
        return _count(index.catalogue, projects), used

    (counts, used), problems = query_fresh(vault, caller, load)
    days = sorted({day for each in counts[:4] for day in each if first <= day <= last})
    shown = tuple(CalendarDay(day, *(each.get(day, 0) for each in counts[:4])) for day in days)
    weeks = tuple(_weeks(counts, first, last))
    return Calendar(first, last, shown, weeks, used, tuple(problems))


class _Counts(NamedTuple):
    """How many there were on each day."""

    captures: Mapping[str, int]
    decisions: Mapping[str, int]
    opened: Mapping[str, int]
    done: Mapping[str, int]
    closed: Mapping[str, int]  # actions that are done, or set aside


def _count(catalogue: Catalogue, projects: tuple[str, ...] | None) -> _Counts:
    notes = KNOWLEDGE._replace(projects=projects)
    events = notes._replace(tiers=(TIER_TRAIL,), not_types=("briefing",))
    actions = notes._replace(types=("action",))
    closed = Counter(catalogue.count_by_day(actions, "done"))
    closed.subtract(catalogue.count_by_day(actions._replace(state="to_do"), "done"))
    return _Counts(
        catalogue.count_by_day(events, "changed"),
        catalogue.count_by_day(notes._replace(types=("decision",)), "created"),
        catalogue.count_by_day(actions, "created"),
        catalogue.count_by_day(actions._replace(state="done"), "done"),
        closed,
    )


def _weeks(counts: _Counts, first: str, last: str) -> list[CalendarWeek]:
    """Every week from the first day on; where nothing is that old, from the first one with something."""
    captured: Counter[str] = Counter()
    for day, count in counts.captures.items():
        captured[_monday(day)] += count if first <= day <= last else 0
    balance = Counter(counts.opened)
    balance.subtract(counts.closed)
    changes = sorted(balance.items())
    weeks, at, left = [], 0, 0
    begin = _monday(max(first, min((day for each in counts for day in each), default=last)))
    while begin <= last:
        end = (date.fromisoformat(begin) + timedelta(days=7)).isoformat()
        while at < len(changes) and changes[at][0] < end:
            left += changes[at][1]
            at += 1
        weeks.append(CalendarWeek(begin, captured[begin], left))
        begin = end
    return weeks


def _monday(day: str) -> str:
    whole = date.fromisoformat(day)
    return (whole - timedelta(days=whole.weekday())).isoformat()


def _most_used(
    vault: Vault, catalogue: Catalogue, since: int, projects: tuple[str, ...] | None
) -> tuple[UsedNote, ...]:
    counts = access_log.read_counts(vault, since)
    best = sorted(counts, key=lambda id_: (-counts[id_].count, id_))[:_MAX_LOOKED_UP]
    rows = catalogue.find(NoteFilter(ids=best, projects=projects), "tier")
    found = {row.id: row for row in reversed(rows)}  # of several with an id one that holds
    return tuple(
        UsedNote(id_, row.title, row.type, row.path, os.path.join(vault.root, row.path), uses)
        for id_, row, uses in ((id_, found[id_], counts[id_].count) for id_ in best if id_ in found)
    )[:_MAX_USED]
