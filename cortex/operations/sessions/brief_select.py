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
from cortex.core.model.note_status import DONE_STATUSES
from cortex.core.ranking.importance import DEFAULT_PRIORITY, DEFAULT_SALIENCE, TYPE_SALIENCE
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue

# type -> the part in which it stands; what is not here is worth knowing too, and stands there last.
PART_BY_TYPE = {
    "decision": DECISIONS, "rejection": DECISIONS, "plan": PLAN, "gotcha": TRAPS, "pattern": TRAPS, "session": SESSIONS, "action": OPEN, "question": OPEN,
    "preference": KNOWLEDGE, "architecture": KNOWLEDGE, "config": KNOWLEDGE, "learning": KNOWLEDGE, "discovery": KNOWLEDGE, "bugfix": KNOWLEDGE,
    "convention": KNOWLEDGE, "reference": KNOWLEDGE, "progress": KNOWLEDGE,
}  # fmt: skip
# These stand nowhere unless they are pinned: what a meeting decided are records of their own.
_EXCLUDED_TYPES = frozenset(["meeting", "briefing"])
_MAX_DEPENDENCY_NOTES = (
    1000  # notes whose change makes a kept briefing stale at once; of others a look tells
)
_RECENT_SESSIONS, _RECENT_EVENTS = 5, 60  # the last ones, whose files count as touched lately
_MAX_SESSIONS = 5  # seed 001's
# Tokens of the shortest line that is likely in a part: a budget has room for so many lines at the most, and no more are looked at.
_MIN_LINE_TOKENS = {
    DECISIONS: 20,
    TRAPS: 30,
    KNOWLEDGE: 30,
    OPEN: 30,
    PLAN: 150,
    PINNED: 60,
    EVERYWHERE: 60,
}
_DECAY_DAYS = 90.0  # days behind the newest note after which a rank is halved; seed 003's 14 are for a clock that runs on
_CROSS_PROJECT_SCOPES = ("personal", "global")
# When a record was last said, as text, so that no clone's file times count: what begins with a digit, and mostly is a time. SQL.
_LAST_SAID_SQL = "CASE WHEN updated > '0' AND updated < ':' THEN updated WHEN created > '0' AND created < ':' THEN created ELSE '' END"
_COLUMNS = f"number, id, type, status, branch, {_LAST_SAID_SQL}, pinned, confidence, priority, due"
_NUMBER, _ID, _TYPE, _STATUS, _BRANCH, _LAST_SAID, _PINNED, _, _, _DUE, _IS_OWN = range(11)


class BriefingCandidate(NamedTuple):
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
    last_said: str  # the time at which it was last said


# A record as it is sorted: the columns above. Ten thousand of them are looked at, so they get no names.
_SortRow: TypeAlias = "tuple[Any, ...]"


class BriefingSelection(NamedTuple):
    """The records of a project by part, best first, each list cut to what could ever be shown."""

    parts: dict[str, list[BriefingCandidate]]
    totals: dict[str, int]
    left_out: int  # records that belong to other branches
    newest: str  # the day of the newest one
    knowledge_types: tuple[str, ...]  # of what is worth knowing
    record_branches: frozenset[str]  # that records of the project name


class BriefingRequest(NamedTuple):
    """For whom: the names of a project, the branch that is worked on, and those whose records hold there."""

    project_names: Sequence[str]
    branch: str
    included_branches: Callable[
        [Iterable[str]], frozenset[str]
    ]  # of the branches that records name, those whose records hold
    budget: int  # tokens


def select_candidates(catalogue: Catalogue, asked: BriefingRequest) -> BriefingSelection:
    """The records that may stand in the briefing."""
    here = ",".join("?" * len(asked.project_names))
    of_all = f"(scope IN {_CROSS_PROJECT_SCOPES} OR (scope = '' AND project = '')) AND (pinned = 1 OR type = 'preference')"
    own = list(
        catalogue.select(
            f"SELECT {_COLUMNS}, project IN ({here}) FROM note WHERE tier = 0 AND id != CAST(path AS TEXT) AND type != 'briefing'"
            f" AND (project IN ({here}) OR ({of_all}))",
            (*asked.project_names, *asked.project_names),
        )
    )
    done = {row[0] for row in catalogue.select("SELECT id FROM tick")}
    named = frozenset(row[_BRANCH] for row in own if row[_IS_OWN])
    holds = asked.included_branches(named) | {""}
    parts: dict[str, list[_SortRow]] = {kind: [] for kind in (*_MIN_LINE_TOKENS, SESSIONS)}
    left_out = 0
    for row in own:
        if not row[_IS_OWN]:
            parts[EVERYWHERE].append(row)
            continue
        kind = PART_BY_TYPE.get(row[_TYPE]) or (
            PINNED if row[_PINNED] else "" if row[_TYPE] in _EXCLUDED_TYPES else KNOWLEDGE
        )
        if not kind or (kind in (OPEN, PLAN) and _is_done(row, done)):
            continue
        if row[_BRANCH] in holds:
            parts[kind].append(row)
        else:
            left_out += 1
    newest = max(
        filter(starts_with_date, {row[_LAST_SAID][:10] for some in parts.values() for row in some}),
        default="",
    )
    totals = {kind: len(some) for kind, some in parts.items() if some}
    types = tuple(sorted({row[_TYPE] for row in parts[KNOWLEDGE]}))
    first = _order_parts(catalogue, parts, asked, newest)
    rows = _fetch_candidates(catalogue, [row for some in first.values() for row in some])
    return BriefingSelection(
        {kind: [rows[row[_NUMBER]] for row in some] for kind, some in first.items() if some},
        totals,
        left_out,
        newest,
        types,
        named,
    )


def _order_parts(
    catalogue: Catalogue, parts: dict[str, list[_SortRow]], asked: BriefingRequest, newest: str
) -> dict[str, list[_SortRow]]:
    """The best of each part."""
    most = {kind: asked.budget // tokens + 1 for kind, tokens in _MIN_LINE_TOKENS.items()}
    latest = _newest_first(parts[SESSIONS])
    first = {SESSIONS: latest[:_MAX_SESSIONS]}
    for kind in (DECISIONS, PINNED, EVERYWHERE):
        first[kind] = sorted(_newest_first(parts[kind]), key=_is_unpinned)[: most[kind]]
    first[PLAN] = sorted(
        _newest_first(parts[PLAN]), key=lambda row: (row[_BRANCH] != asked.branch, not row[_PINNED])
    )[: most[PLAN]]
    first[OPEN] = _sort_by_due(parts[OPEN])[: most[OPEN]]
    if parts[TRAPS] or parts[KNOWLEDGE]:
        from cortex.index.in_degree import in_degree  # noqa: PLC0415  only what is ranked needs it

        incoming = in_degree(catalogue)
        touched = _recently_touched_notes(
            catalogue, [row[_NUMBER] for row in latest[:_RECENT_SESSIONS]]
        )
        for kind in (TRAPS, KNOWLEDGE):
            first[kind] = _rank(
                parts[kind], RankingInputs(asked.branch, newest, touched, incoming)
            )[: most[kind]]
    return first


def _fetch_candidates(catalogue: Catalogue, some: list[_SortRow]) -> dict[int, BriefingCandidate]:
    """What else there is to know of those that may be shown, by number."""
    said = {row[_NUMBER]: row[_LAST_SAID] for row in some}
    numbers = list(said)
    found: dict[int, BriefingCandidate] = {}
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
        ) in catalogue.select(query, part):
            found[number] = BriefingCandidate(
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


def list_projects(catalogue: Catalogue) -> list[str]:
    """The projects that have records, those with the most first."""
    return [
        name
        for (name,) in catalogue.select(
            "SELECT project FROM note WHERE tier = 0 AND project != '' GROUP BY project ORDER BY count(*) DESC, project"
        )
    ]


def dependency_paths(catalogue: Catalogue, names: Sequence[str]) -> list[str]:
    """The paths of the notes that could change the briefing when somebody edits them in their place: the latest of the project, set aside
    ones too, and those that stand in every project's."""
    here = ",".join("?" * len(names))
    # `+date`: by its index SQLite would fetch the notes one by one, which takes twice as long as to read them all and sort.
    found = catalogue.select(
        f"SELECT path FROM note WHERE tier < 2 AND (project IN ({here}) OR scope IN {_CROSS_PROJECT_SCOPES}) ORDER BY +date DESC, path LIMIT {_MAX_DEPENDENCY_NOTES}",
        names,
    )
    return [os.fsdecode(path) for (path,) in found]


def _is_done(row: _SortRow, done: set[str]) -> bool:
    """Whether an action, question or plan needs nothing more."""
    return (
        row[_STATUS] in DONE_STATUSES
        or row[_ID] in done
        or (row[_TYPE] == "question" and row[_STATUS] not in ("", "open", "active"))
    )


def _newest_first(rows: Iterable[_SortRow]) -> list[_SortRow]:
    """Newest first; of the same moment by id."""
    held = sorted(rows, key=itemgetter(_ID, _NUMBER))
    held.sort(key=itemgetter(_LAST_SAID), reverse=True)
    return held


def _is_unpinned(row: _SortRow) -> bool:
    return not row[_PINNED]


def _sort_by_due(rows: list[_SortRow]) -> list[_SortRow]:
    """Pinned first, then by date, then what has an odd one, then by age."""
    ordered = []
    for row in rows:
        date = row[_DUE]
        ordered.append(
            (
                not row[_PINNED],
                0 if starts_with_date(date) else 1 if date else 2,
                date,
                row[_LAST_SAID],
                row[_ID],
                row[_NUMBER],
                row,
            )
        )
    ordered.sort(key=itemgetter(0, 1, 2, 3, 4, 5))
    return [one[-1] for one in ordered]


def starts_with_date(text: str) -> bool:
    """Whether a text begins with a day."""
    return (
        len(text) >= 10
        and text[4] == text[7] == "-"
        and (text[:4] + text[5:7] + text[8:10]).isdecimal()
    )


class RankingInputs(NamedTuple):
    """What a rank depends on beside the record itself."""

    branch: str
    newest: str
    recently_touched: frozenset[int]  # notes that name files of the last sessions
    in_degrees: dict[int, int]  # how many notes lead to each


def _rank(rows: list[_SortRow], by: RankingInputs) -> list[_SortRow]:
    """What is pinned, then what names files that were touched lately, then what matters most, and of types that no part names last.
    Without a clock: ages count from the newest note."""
    incoming, touched, branch = by.in_degrees, by.recently_touched, by.branch
    share = 0.15 / (max(incoming.values(), default=0) or 1)
    fading: dict[str, float] = {"": 0.0}  # a day -> what the time since then leaves
    end = _day_number(by.newest) if by.newest else 0
    scored = []
    for row in rows:
        number, id_, type_, _, of, said, pinned, confidence, priority, *_ = row
        day = said[:10]
        left = fading.get(day)
        if left is None:
            left = fading[day] = (
                1.0 / (1.0 + max(0, end - _day_number(day)) / _DECAY_DAYS)
                if starts_with_date(day)
                else 0.0
            )
        worth = 0.5 * (
            TYPE_SALIENCE.get(type_, DEFAULT_SALIENCE) if confidence is None else confidence
        ) + 0.02 * (priority or DEFAULT_PRIORITY)
        if number in incoming:
            worth += share * incoming[number]
        if of and of == branch:
            worth += 0.1
        scored.append(
            (
                0 if pinned else 3 if type_ not in PART_BY_TYPE else 1 if number in touched else 2,
                -worth * (1.0 if pinned else left),
                id_,
                number,
                row,
            )
        )
    scored.sort()
    return [one[-1] for one in scored]


def _day_number(day: str) -> int:
    """A day as a number, for differences: months of 31 days are near enough."""
    return int(day[:4]) * 372 + int(day[5:7]) * 31 + int(day[8:10])


def _recently_touched_notes(catalogue: Catalogue, sessions: list[int]) -> frozenset[int]:
    """The notes that name a file which the last sessions name: in their notes, and in the events that these consist of."""
    if not sessions:
        return frozenset()
    numbers = ",".join(map(str, sessions))
    events = [
        number
        for (number,) in catalogue.select(
            f"SELECT number FROM note WHERE session != '' AND session IN (SELECT session FROM note WHERE number IN ({numbers}))"
            f" AND tier = 2 ORDER BY id DESC LIMIT {_RECENT_EVENTS}"
        )
    ]
    both = ",".join(map(str, (*sessions, *events)))
    return frozenset(
        number
        for (number,) in catalogue.select(
            f"SELECT DISTINCT number FROM entity WHERE key IN (SELECT key FROM entity WHERE kind = 'file' AND number IN ({both})) AND kind = 'file'"
        )
    )
