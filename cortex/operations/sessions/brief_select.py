"""Which notes may stand in an injected briefing, by what the files say of them alone: no clock, and no count of uses here.

One pass over the catalogue sorts the project's records into the parts of the briefing; bodies are read later, of those
that there is room for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from cortex.core.briefing.compose import (
    DECISIONS,
    EVERYWHERE,
    KNOWLEDGE,
    OPEN,
    PINNED,
    PLAN,
    SESSIONS,
    TRAPS,
)
from cortex.core.model.status import DONE
from cortex.core.ranking.importance import DEFAULT_PRIORITY, OTHER_SALIENCE, SALIENCE
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue

# type -> the part in which it stands; what is not here is worth knowing too, and stands there last.
PART_OF = {
    "decision": DECISIONS, "rejection": DECISIONS, "plan": PLAN, "gotcha": TRAPS, "pattern": TRAPS, "session": SESSIONS, "action": OPEN, "question": OPEN,
    "preference": KNOWLEDGE, "architecture": KNOWLEDGE, "config": KNOWLEDGE, "learning": KNOWLEDGE, "discovery": KNOWLEDGE, "bugfix": KNOWLEDGE,
    "convention": KNOWLEDGE, "reference": KNOWLEDGE, "progress": KNOWLEDGE,
}  # fmt: skip
# These stand nowhere unless they are pinned: what a meeting decided are records of their own.
_NOWHERE = frozenset(["meeting", "briefing"])
MOST_CONSIDERED = (
    1000  # notes whose change makes a kept briefing stale at once; of others a look tells
)
_TOUCHED_SESSIONS, _TOUCHED_EVENTS = 5, 60  # the last ones, whose files count as touched lately
_MOST_SESSIONS = 5  # seed 001's
# Tokens of the shortest line that is likely in a part: a budget has room for so many lines at the most, and no more are looked at.
_SHORTEST = {
    DECISIONS: 20,
    TRAPS: 30,
    KNOWLEDGE: 30,
    OPEN: 30,
    PLAN: 150,
    PINNED: 60,
    EVERYWHERE: 60,
}
_FADING = 90.0  # days behind the newest note after which a rank is halved; seed 003's 14 are for a clock that runs on
_ALONE = ("personal", "global")
# When a record was last said, as text, so that no clone's file times count: what begins with a digit, and mostly is a time. SQL.
_SAID = "CASE WHEN updated > '0' AND updated < ':' THEN updated WHEN created > '0' AND created < ':' THEN created ELSE '' END"
_COLUMNS = f"number, id, type, status, branch, {_SAID}, pinned, confidence, priority, due"
_NUMBER, _ID, _TYPE, _STATUS, _BRANCH, _STAMP, _PINNED, _, _, _DUE, _IS_OWN = range(11)


class Row(NamedTuple):
    """What the catalogue says of a record that may be shown."""

    number: int
    path: str
    id: str
    type: str
    title: str
    status: str
    branch: str
    created: str
    due: str
    pinned: bool
    confidence: float | None
    said: str  # the time at which it was last said


# A record as it is sorted: the columns above. Ten thousand of them are looked at, so they get no names.
_Sorted: TypeAlias = "tuple[Any, ...]"


class Chosen(NamedTuple):
    """The records of a project by part, best first, each list cut to what could ever be shown."""

    parts: dict[str, list[Row]]
    totals: dict[str, int]
    left_out: int  # records that belong to other branches
    newest: str  # the day of the newest one
    types: tuple[str, ...]  # of what is worth knowing
    branches: frozenset[str]  # that records of the project name


class Asked(NamedTuple):
    """For whom: the names of a project, the branch that is worked on, and those whose records hold there."""

    names: Sequence[str]
    branch: str
    holds: Callable[
        [Iterable[str]], frozenset[str]
    ]  # of the branches that records name, those whose records hold
    budget: int  # tokens


def choose(catalogue: Catalogue, asked: Asked) -> Chosen:
    """The records that may stand in the briefing."""
    here = ",".join("?" * len(asked.names))
    of_all = f"(scope IN {_ALONE} OR (scope = '' AND project = '')) AND (pinned = 1 OR type = 'preference')"
    own = list(
        catalogue.asked(
            f"SELECT {_COLUMNS}, project IN ({here}) FROM note WHERE tier = 0 AND id != CAST(path AS TEXT) AND type != 'briefing'"
            f" AND (project IN ({here}) OR ({of_all}))",
            (*asked.names, *asked.names),
        )
    )
    done = {row[0] for row in catalogue.asked("SELECT id FROM tick")}
    named = frozenset(row[_BRANCH] for row in own if row[_IS_OWN])
    holds = asked.holds(named) | {""}
    parts: dict[str, list[_Sorted]] = {kind: [] for kind in (*_SHORTEST, SESSIONS)}
    left_out = 0
    for row in own:
        if not row[_IS_OWN]:
            parts[EVERYWHERE].append(row)
            continue
        kind = PART_OF.get(row[_TYPE]) or (
            PINNED if row[_PINNED] else "" if row[_TYPE] in _NOWHERE else KNOWLEDGE
        )
        if not kind or (kind in (OPEN, PLAN) and _is_done(row, done)):
            continue
        if row[_BRANCH] in holds:
            parts[kind].append(row)
        else:
            left_out += 1
    newest = max(
        filter(is_day, {row[_STAMP][:10] for some in parts.values() for row in some}), default=""
    )
    totals = {kind: len(some) for kind, some in parts.items() if some}
    types = tuple(sorted({row[_TYPE] for row in parts[KNOWLEDGE]}))
    first = _ordered(catalogue, parts, asked, newest)
    rows = _rows(catalogue, [row for some in first.values() for row in some])
    return Chosen(
        {kind: [rows[row[_NUMBER]] for row in some] for kind, some in first.items() if some},
        totals,
        left_out,
        newest,
        types,
        named,
    )


def _ordered(
    catalogue: Catalogue, parts: dict[str, list[_Sorted]], asked: Asked, newest: str
) -> dict[str, list[_Sorted]]:
    """The best of each part."""
    most = {kind: asked.budget // tokens + 1 for kind, tokens in _SHORTEST.items()}
    latest = _latest(parts[SESSIONS])
    first = {SESSIONS: latest[:_MOST_SESSIONS]}
    for kind in (DECISIONS, PINNED, EVERYWHERE):
        first[kind] = sorted(_latest(parts[kind]), key=_unpinned)[: most[kind]]
    first[PLAN] = sorted(
        _latest(parts[PLAN]), key=lambda row: (row[_BRANCH] != asked.branch, not row[_PINNED])
    )[: most[PLAN]]
    first[OPEN] = _by_due(parts[OPEN])[: most[OPEN]]
    if parts[TRAPS] or parts[KNOWLEDGE]:
        from cortex.index.in_degree import in_degree  # noqa: PLC0415  only what is ranked needs it

        incoming = in_degree(catalogue)
        touched = _touched(catalogue, [row[_NUMBER] for row in latest[:_TOUCHED_SESSIONS]])
        for kind in (TRAPS, KNOWLEDGE):
            first[kind] = _ranked(parts[kind], Weighed(asked.branch, newest, touched, incoming))[
                : most[kind]
            ]
    return first


def _rows(catalogue: Catalogue, some: list[_Sorted]) -> dict[int, Row]:
    """What else there is to know of those that may be shown, by number."""
    said = {row[_NUMBER]: row[_STAMP] for row in some}
    numbers = list(said)
    found: dict[int, Row] = {}
    for start in range(0, len(numbers), 900):  # SQLite takes 999 values at a time everywhere
        part = numbers[start : start + 900]
        query = f"SELECT number, path, id, type, title, status, branch, created, due, pinned, confidence FROM note WHERE number IN ({','.join('?' * len(part))})"
        for (
            number,
            path,
            id_,
            type_,
            title,
            status,
            branch,
            created,
            due,
            pinned,
            confidence,
        ) in catalogue.asked(query, part):
            found[number] = Row(
                number,
                os.fsdecode(path),
                id_,
                type_,
                title,
                status,
                branch,
                created,
                due,
                bool(pinned),
                confidence,
                said[number],
            )
    return found


def projects(catalogue: Catalogue) -> list[str]:
    """The projects that have records, those with the most first."""
    return [
        name
        for (name,) in catalogue.asked(
            "SELECT project FROM note WHERE tier = 0 AND project != '' GROUP BY project ORDER BY count(*) DESC, project"
        )
    ]


def considered(catalogue: Catalogue, names: Sequence[str]) -> list[str]:
    """The paths of the notes that could change the briefing when somebody edits them in their place: the latest of the project, set aside
    ones too, and those that stand in every project's."""
    here = ",".join("?" * len(names))
    # `+date`: by its index SQLite would fetch the notes one by one, which takes twice as long as to read them all and sort.
    found = catalogue.asked(
        f"SELECT path FROM note WHERE tier < 2 AND (project IN ({here}) OR scope IN {_ALONE}) ORDER BY +date DESC, path LIMIT {MOST_CONSIDERED}",
        names,
    )
    return [os.fsdecode(path) for (path,) in found]


def _is_done(row: _Sorted, done: set[str]) -> bool:
    """Whether an action, question or plan needs nothing more."""
    return (
        row[_STATUS] in DONE
        or row[_ID] in done
        or (row[_TYPE] == "question" and row[_STATUS] not in ("", "open", "active"))
    )


def _latest(rows: Iterable[_Sorted]) -> list[_Sorted]:
    """Newest first; of the same moment by id."""
    held = sorted(rows, key=itemgetter(_ID, _NUMBER))
    held.sort(key=itemgetter(_STAMP), reverse=True)
    return held


def _unpinned(row: _Sorted) -> bool:
    return not row[_PINNED]


def _by_due(rows: list[_Sorted]) -> list[_Sorted]:
    """Pinned first, then by date, then what has an odd one, then by age."""
    ordered = []
    for row in rows:
        date = row[_DUE]
        ordered.append(
            (
                not row[_PINNED],
                0 if is_day(date) else 1 if date else 2,
                date,
                row[_STAMP],
                row[_ID],
                row[_NUMBER],
                row,
            )
        )
    ordered.sort(key=itemgetter(0, 1, 2, 3, 4, 5))
    return [one[-1] for one in ordered]


def is_day(text: str) -> bool:
    """Whether a text begins with a day."""
    return (
        len(text) >= 10
        and text[4] == text[7] == "-"
        and (text[:4] + text[5:7] + text[8:10]).isdecimal()
    )


class Weighed(NamedTuple):
    """What a rank depends on beside the record itself."""

    branch: str
    newest: str
    touched: frozenset[int]  # notes that name files of the last sessions
    incoming: dict[int, int]  # how many notes lead to each


def _ranked(rows: list[_Sorted], by: Weighed) -> list[_Sorted]:
    """What is pinned, then what names files that were touched lately, then what matters most, and of types that no part names last.
    Without a clock: ages count from the newest note."""
    incoming, touched, branch = by.incoming, by.touched, by.branch
    share = 0.15 / (max(incoming.values(), default=0) or 1)
    fading: dict[str, float] = {"": 0.0}  # a day -> what the time since then leaves
    end = _days(by.newest) if by.newest else 0
    scored = []
    for row in rows:
        number, id_, type_, _, of, said, pinned, confidence, priority, *_ = row
        day = said[:10]
        left = fading.get(day)
        if left is None:
            left = fading[day] = (
                1.0 / (1.0 + max(0, end - _days(day)) / _FADING) if is_day(day) else 0.0
            )
        worth = 0.5 * (
            SALIENCE.get(type_, OTHER_SALIENCE) if confidence is None else confidence
        ) + 0.02 * (priority or DEFAULT_PRIORITY)
        if number in incoming:
            worth += share * incoming[number]
        if of and of == branch:
            worth += 0.1
        scored.append(
            (
                0 if pinned else 3 if type_ not in PART_OF else 1 if number in touched else 2,
                -worth * (1.0 if pinned else left),
                id_,
                number,
                row,
            )
        )
    scored.sort()
    return [one[-1] for one in scored]


def _days(day: str) -> int:
    """A day as a number, for differences: months of 31 days are near enough."""
    return int(day[:4]) * 372 + int(day[5:7]) * 31 + int(day[8:10])


def _touched(catalogue: Catalogue, sessions: list[int]) -> frozenset[int]:
    """The notes that name a file which the last sessions name: in their notes, and in the events that these consist of."""
    if not sessions:
        return frozenset()
    numbers = ",".join(map(str, sessions))
    events = [
        number
        for (number,) in catalogue.asked(
            f"SELECT number FROM note WHERE session != '' AND session IN (SELECT session FROM note WHERE number IN ({numbers}))"
            f" AND tier = 2 ORDER BY id DESC LIMIT {_TOUCHED_EVENTS}"
        )
    ]
    both = ",".join(map(str, (*sessions, *events)))
    return frozenset(
        number
        for (number,) in catalogue.asked(
            f"SELECT DISTINCT number FROM entity WHERE key IN (SELECT key FROM entity WHERE kind = 'file' AND number IN ({both})) AND kind = 'file'"
        )
    )
