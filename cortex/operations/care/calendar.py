"""What was captured, decided, opened and done on each day, and what was used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.model.parameters import Day, Since
from cortex.core.model.problem import Problem
from cortex.core.text.days import clock
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.strings import format_time
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue
from cortex.index.catalogue.filters import KNOWLEDGE, NoteFilter
from cortex.index.refresh import IndexSession
from cortex.operations.capture.project_context import only_project
from cortex.operations.find.hits import Hit, make_hit
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault
from cortex.vault.state import access_log
from cortex.vault.state.access_log import AccessCount

_YEAR_SECONDS = 365 * 24 * 3600
_MAX_USED, _MAX_LOOKED_UP = 10, 2000  # notes; of those that were used some are gone


class CalendarDay(NamedTuple):
    """A day on which there was something. A note counts on the day on which it was made, a done
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

    hit: Hit
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

    Days are those of your time zone. With them come the totals of each week, for plots, and the notes that
    agents and people used most on this machine.

    since: from then on: 7d, 2w, 3m, 1y or a date; by default a year
    project: only of this project; by default of all

    Example: cortex calendar
    Example: cortex calendar --since 3m --project cortex --json
    """
    notes = KNOWLEDGE._replace(projects=only_project(vault, project), zone=caller.zone)
    begin = max(0, epoch_seconds(caller.now) - _YEAR_SECONDS if since is None else since)
    first, last = clock(format_time(begin), caller.zone)[:10], caller.today

    def load(
        index: IndexSession,
    ) -> tuple[list[dict[str, int]], Counter[str], tuple[UsedNote, ...]]:
        count, actions = index.catalogue.count_by_day, notes._replace(types=("action",))
        counts = [
            count(notes._replace(tiers=(TIER_TRAIL,), not_types=("briefing",)), "changed"),
            count(notes._replace(types=("decision",)), "created"),
            count(actions, "created"),
            count(actions._replace(state="done"), "done"),
        ]
        opened = Counter(counts[2])  # less what is done or set aside
        opened.subtract(count(actions, "done"))
        opened.update(count(actions._replace(state="to_do"), "done"))
        used = access_log.read_counts(vault, begin)
        return counts, opened, _most_used(vault, index.catalogue, notes, used)

    (counts, opened, used), problems = query_fresh(vault, caller, load)
    known = sorted({day for each in counts for day in each})
    shown = (day for day in known if first <= day <= last)
    days = tuple(CalendarDay(day, *(each.get(day, 0) for each in counts)) for day in shown)
    weeks = _weeks(days, opened, max(first, [*known, last][0]), last)
    return Calendar(first, last, days, weeks, used, tuple(problems))


def _weeks(
    days: Sequence[CalendarDay], opened: Mapping[str, int], first: str, last: str
) -> tuple[CalendarWeek, ...]:
    """The weeks of these days. `opened`: on each day, less what is closed since its last change."""
    captures, changes = Counter[str](), Counter[str]()
    for day in days:
        captures[_monday(day.date)] += day.captures
    for at, number in opened.items():
        changes[_monday(max(at, first))] += number
    weeks, left, monday = list[CalendarWeek](), 0, _monday(first)
    while monday <= last:
        left += changes[monday]
        weeks.append(CalendarWeek(monday, captures[monday], left))
        monday = (date.fromisoformat(monday) + timedelta(days=7)).isoformat()
    return tuple(weeks)


def _monday(day: str) -> str:
    whole = date.fromisoformat(day)
    return (whole - timedelta(days=whole.weekday())).isoformat()


def _most_used(
    vault: Vault, catalogue: Catalogue, wanted: NoteFilter, counts: Mapping[str, AccessCount]
) -> tuple[UsedNote, ...]:
    best = sorted(counts, key=lambda id_: (-counts[id_].count, id_))[:_MAX_LOOKED_UP]
    # Of several with an id that which holds.
    rows = {row.id: row for row in catalogue.find(wanted._replace(ids=best), "tier")[::-1]}
    shown = [rows[id_] for id_ in best if id_ in rows][:_MAX_USED]
    return tuple(UsedNote(make_hit(vault, row, 1, ""), counts[row.id].count) for row in shown)
