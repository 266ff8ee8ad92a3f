"""Select the notes of a briefing, by what the files say alone: no clock, no count of uses.

One pass over the catalogue sorts the project's records into the parts of the briefing; their bodies
are read later. Beside them stand what people's own notes say, and what is theirs alone: notes of
their own vault.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from cortex.core.briefing.compose import (
    AT_HAND,
    DECISIONS,
    EVERYWHERE,
    KNOWLEDGE,
    MEETINGS,
    NOTES,
    OPEN,
    PINNED,
    PLAN,
    RULES,
    SESSIONS,
    TRAPS,
    BriefingEntry,
    BriefingPart,
)
from cortex.core.minutes.note_items import DECISION, MEETING, TASK, plain_text
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import DONE_STATUSES
from cortex.core.model.problem import CortexError, Problem
from cortex.core.ranking.importance import (
    DEFAULT_PRIORITY,
    DEFAULT_SALIENCE,
    MAX_PRIORITY,
    NON_DECAYING_TYPES,
    TYPE_SALIENCE,
)
from cortex.core.text.strings import cortex_command
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, NoteRow, OwnItemRow
from cortex.index.catalogue.filters import CURRENT
from cortex.index.file_scan import TEMPLATE_MARK
from cortex.index.links import in_degree
from cortex.index.refresh import IndexSession, query_index
from cortex.index.state_file import state_path
from cortex.vault.git.branches import DEFAULT_BRANCHES
from cortex.vault.layout import SETTINGS_FILE
from cortex.vault.locate import (
    Vault,
    default_vault_file,
    find_personal_vault,
    personal_vault_problem,
)
from cortex.vault.state import briefing_cache

# type -> the part in which it stands; what is not here is worth knowing too, and stands there last.
PART_BY_TYPE = {
    "decision": DECISIONS, "rejection": DECISIONS, "plan": PLAN, "gotcha": TRAPS, "pattern": TRAPS,
    "session": SESSIONS, "action": OPEN, "question": OPEN, "preference": RULES,
    "architecture": KNOWLEDGE, "config": KNOWLEDGE, "learning": KNOWLEDGE, "discovery": KNOWLEDGE,
    "bugfix": KNOWLEDGE, "convention": KNOWLEDGE, "reference": KNOWLEDGE, "progress": KNOWLEDGE,
}  # fmt: skip
# These stand nowhere unless they are pinned: what a meeting decided are records of their own.
_EXCLUDED_TYPES = frozenset(["meeting", "briefing"])
_RECENT_SESSIONS, _RECENT_EVENTS = 5, 60  # the last ones, whose files count as touched lately
_MAX_OF_OTHER_BRANCHES = 1000  # notes that are looked for in git
_SESSION_CANDIDATES = 15  # some of which say nothing
_MAX_IDLE_SESSIONS = 5  # that have ended since a plan was touched
_TOUCHED_WORTH = 0.15  # of a decision about files of the last sessions
# Tokens of the shortest likely line of a part: a budget has room for no more lines than that.
_MIN_LINE_TOKENS = {
    DECISIONS: 15, TRAPS: 20, KNOWLEDGE: 20, OPEN: 20, PLAN: 100, PINNED: 15, EVERYWHERE: 30,
    RULES: 15, AT_HAND: 20,
}  # fmt: skip
# Days behind the newest note after which a rank is halved; seed 003's 14 are for a running clock.
_DECAY_DAYS = 90.0
# Part, items, the most that are told, and the command that lists all. Without a clock the decisions
# and meetings with the latest dates are the newest.
_OWN_PARTS = (
    (OPEN, TASK, 12, ("actions",)),
    (DECISIONS, DECISION, 12, ("recall", "--type", "decision")),
    (MEETINGS, MEETING, 5, ("meetings",)),
)
_MAX_LINKED_NOTES = 8
_MAX_FOLDERS = 3000  # of a vault whose stamps are kept
_MAX_PERSONAL_NOTES = 30  # of each kind
_PERSONAL_KINDS = (PINNED, EVERYWHERE, RULES, DECISIONS, TRAPS, KNOWLEDGE)
_MAX_AT_HAND = 8  # of what bears on the files and the branch at hand
# A record as it is sorted: ten thousand of them are looked at, so they get no names.
_SortRow: TypeAlias = "tuple[Any, ...]"
_NUMBER, _ID, _TYPE, _STATUS, _BRANCH, _LAST_SAID, _PINNED, _, _, _DUE, _IS_OWN = range(11)


class BriefingSelection(NamedTuple):
    """The records of a project by part, best first, no more than could be shown."""

    parts: dict[str, list[NoteRow]]
    totals: dict[str, int]
    left_out: int  # records that belong to other branches
    newest: str  # when the newest one was said
    knowledge_types: tuple[str, ...]  # of what is worth knowing
    record_branches: frozenset[str]  # that records of the project name


class BriefingRequest(NamedTuple):
    """The names of a project, the current branch, and which records hold there."""

    project_names: Sequence[str]
    branch: str
    budget: int  # tokens
    # Of the branches that records name, those whose records hold.
    included_branches: Callable[[Iterable[str]], frozenset[str]] = frozenset
    # Of the paths of notes those that the commit has which is checked out there.
    in_head: Callable[[Collection[str]], frozenset[str]] = frozenset
    with_personal: bool = True  # also what somebody has said is theirs alone


def select_candidates(catalogue: Catalogue, request: BriefingRequest) -> BriefingSelection:
    """The records that may stand in the briefing."""
    rows = catalogue.briefing_candidates(request.project_names, with_personal=request.with_personal)
    done = catalogue.ticked_actions()
    named = frozenset(row[_BRANCH] for row in rows if row[_IS_OWN])
    included = request.included_branches(named) | {""}
    parts: dict[str, list[_SortRow]] = {kind: [] for kind in (*_MIN_LINE_TOKENS, SESSIONS)}
    others: list[tuple[str, _SortRow]] = []  # of other branches, with their parts
    for row in rows:
        if not row[_IS_OWN]:
            parts[PINNED if row[_PINNED] else EVERYWHERE].append(row)
            continue
        kind = PART_BY_TYPE.get(row[_TYPE]) or ("" if row[_TYPE] in _EXCLUDED_TYPES else KNOWLEDGE)
        if kind in (OPEN, PLAN) and _is_done(row, done):
            continue
        kind = PINNED if row[_PINNED] and kind != PLAN else kind
        if not kind:
            continue
        if row[_BRANCH] in included:
            parts[kind].append(row)
        else:
            others.append((kind, row))
    merged = _numbers_in_head(catalogue, [row for _, row in others], request)
    for kind, row in others:
        if row[_NUMBER] in merged:
            parts[kind].append(row)
    said = {row[_LAST_SAID] for some in parts.values() for row in some}
    newest = max(filter(starts_with_date, said), default="")
    parts[PLAN] = _standing_plans(parts[PLAN], parts[SESSIONS])
    types = tuple(sorted({row[_TYPE] for row in parts[KNOWLEDGE]}))
    best = _order_parts(catalogue, parts, request, newest[:10])
    totals = {kind: len(some) for kind, some in parts.items() if some}
    by_number = catalogue.rows_by_number(row[_NUMBER] for some in best.values() for row in some)
    chosen = {kind: [by_number[row[_NUMBER]] for row in best[kind]] for kind in best if best[kind]}
    return BriefingSelection(chosen, totals, len(others) - len(merged), newest, types, named)


def _numbers_in_head(
    catalogue: Catalogue, rows: list[_SortRow], request: BriefingRequest
) -> frozenset[int]:
    """Those of the newest of these rows that stand in the commit which is checked out."""
    if not rows:
        return frozenset()
    some = [row[_NUMBER] for row in _newest_first(rows)[:_MAX_OF_OTHER_BRANCHES]]
    by_path = {row.path: number for number, row in catalogue.rows_by_number(some).items()}
    return frozenset(by_path[path] for path in request.in_head(by_path) if path in by_path)


def _order_parts(
    catalogue: Catalogue, parts: dict[str, list[_SortRow]], request: BriefingRequest, newest: str
) -> dict[str, list[_SortRow]]:
    """The best of each part. What bears on the files of the last sessions, or is of a branch that is
    not the default one, moves into a part of its own."""
    most = {kind: request.budget // tokens + 1 for kind, tokens in _MIN_LINE_TOKENS.items()}
    latest = _newest_first(parts[SESSIONS])
    best = {SESSIONS: _raise_branch_session(request.branch, latest)[:_SESSION_CANDIDATES]}
    plans = _newest_first(parts[PLAN])
    plans.sort(key=lambda row: (row[_BRANCH] != request.branch, not row[_PINNED]))
    best[PLAN] = plans[: most[PLAN]]
    best[OPEN] = sorted(parts[OPEN], key=_due_sort_key)[: most[OPEN]]
    ranked = (PINNED, RULES, DECISIONS, TRAPS, KNOWLEDGE, EVERYWHERE)
    if any(parts[kind] for kind in ranked):
        recent = [row[_NUMBER] for row in latest[:_RECENT_SESSIONS]]
        touched = catalogue.notes_naming_files_of(recent, _RECENT_EVENTS)
        inputs = request.branch, newest, touched, in_degree(catalogue)
        branch = "" if request.branch in DEFAULT_BRANCHES else request.branch
        near = [
            row
            for kind in (DECISIONS, TRAPS, KNOWLEDGE)
            for row in parts[kind]
            if row[_NUMBER] in touched or (branch and row[_BRANCH] == branch)
        ]
        best[AT_HAND] = parts[AT_HAND] = _rank(near, *inputs)[:_MAX_AT_HAND]
        moved = {row[_NUMBER] for row in best[AT_HAND]}
        for kind in (DECISIONS, TRAPS, KNOWLEDGE):
            parts[kind] = [row for row in parts[kind] if row[_NUMBER] not in moved]
        best |= {kind: _rank(parts[kind], *inputs)[: most[kind]] for kind in ranked}
    return best


def _standing_plans(plans: list[_SortRow], sessions: Sequence[_SortRow]) -> list[_SortRow]:
    """The plans that somebody has agreed to, without those that the last sessions left alone."""
    ends = sorted((row[_LAST_SAID] for row in sessions), reverse=True)
    since = ends[_MAX_IDLE_SESSIONS - 1] if len(ends) >= _MAX_IDLE_SESSIONS else ""
    return [
        row
        for row in plans
        if row[_STATUS] != "proposed" and (row[_PINNED] or row[_LAST_SAID] >= since)
    ]


def _is_done(row: _SortRow, done: Container[str]) -> bool:
    """Whether an action, question or plan needs nothing more."""
    return (
        row[_STATUS] in DONE_STATUSES
        or row[_ID] in done
        or (row[_TYPE] == "question" and row[_STATUS] not in ("", "open", "active"))
    )


def last_said(row: NoteRow) -> str:
    """When a record was last said, as text (mostly a time): what begins with a digit. File times do
    not count."""
    return next((text for text in (row.updated, row.created) if "0" < text < ":"), "")


def _newest_first(rows: Iterable[_SortRow]) -> list[_SortRow]:
    """Newest first; of the same moment by id."""
    ordered = sorted(rows, key=itemgetter(_ID, _NUMBER))
    return sorted(ordered, key=itemgetter(_LAST_SAID), reverse=True)


def _raise_branch_session(branch: str, latest: list[_SortRow]) -> list[_SortRow]:
    """The sessions, newest first, but the newest one of the branch in second place if it is further
    down."""
    of_branch = [row for row in latest if branch and row[_BRANCH] == branch][:1]
    if not of_branch or of_branch[0] in latest[:2]:
        return latest
    rest = [row for row in latest if row is not of_branch[0]]
    return [*rest[:1], *of_branch, *rest[1:]]


def _due_sort_key(row: _SortRow) -> tuple[object, ...]:
    """Pinned first, then by due date, then odd dates, then none; equal ones by age."""
    due = row[_DUE]
    validity = 0 if starts_with_date(due) else 1 if due else 2
    return not row[_PINNED], validity, due, row[_LAST_SAID], row[_ID], row[_NUMBER]


def starts_with_date(text: str) -> bool:
    """Whether a text begins with a day."""
    digits = text[:4] + text[5:7] + text[8:10]
    return len(digits) == 8 and text[4] == text[7] == "-" and digits.isdecimal()


def _rank(
    rows: list[_SortRow],
    branch: str,
    newest: str,
    touched: frozenset[int],
    incoming: dict[int, int],
) -> list[_SortRow]:
    """What names files touched lately, then by worth; types of no part last. A decision holds
    whatever was touched, and loses half of its worth at most by its age. `touched` are notes that
    name files of the last sessions, `incoming` says how many notes lead to each.

    Without a clock: ages count from the newest note.
    """
    share = 0.15 / (max(incoming.values(), default=0) or 1)
    decay_by_day: dict[str, float] = {"": 0.0}
    end = _day_number(newest) if newest else 0
    scored = []
    for row in rows:
        number, id_, type_, _, of, said, pinned, confidence, priority, *_ = row
        day = said[:10]
        decay = decay_by_day.get(day)
        if decay is None:
            age = max(0, end - _day_number(day)) if starts_with_date(day) else float("inf")
            decay = decay_by_day[day] = 1.0 / (1.0 + age / _DECAY_DAYS)
        salience = TYPE_SALIENCE.get(type_, DEFAULT_SALIENCE) if confidence is None else confidence
        worth = 0.4 * salience + 0.05 * min(priority or DEFAULT_PRIORITY, MAX_PRIORITY)
        if number in incoming:
            worth += share * incoming[number]
        if of and of == branch:
            worth += 0.1
        if type_ in NON_DECAYING_TYPES:
            decay = 0.5 + 0.5 * decay
            worth += _TOUCHED_WORTH * (number in touched)
        elif pinned:
            decay = 1.0
        is_first = number in touched and type_ not in NON_DECAYING_TYPES
        group = 2 if type_ not in PART_BY_TYPE else int(not is_first)
        scored.append((group, -worth * decay, id_, number, row))
    scored.sort()
    return [one[-1] for one in scored]


def _day_number(day: str) -> int:
    """A day as a number, for differences: months of 31 days are near enough."""
    return int(day[:4]) * 372 + int(day[5:7]) * 31 + int(day[8:10])


def load_own_parts(
    catalogue: Catalogue, projects: Collection[str], *, alone: bool
) -> tuple[list[BriefingPart], list[str]]:
    """The parts that the own notes of these projects fill, and the paths of the notes that are told.
    `alone` says that there are no records: where there are no items either, the notes are told, the
    most linked first. No file time counts."""
    parts, paths = [], []
    of_project = () if "" in projects else tuple(f"--project={name}" for name in projects)[:1]
    for kind, of, most, words in _OWN_PARTS:
        order: Literal["day", "-day"] = "day" if of == TASK else "-day"
        items, total = catalogue.own_items(of, projects, order, most)
        command = cortex_command(*words, *of_project)
        parts.append(BriefingPart(kind, tuple(map(_own_entry, items)), total, command))
        paths += [one.path for one in items]
    if alone and not paths:
        linked = in_degree(catalogue)
        rows = catalogue.find(CURRENT._replace(projects=projects))
        rows.sort(key=lambda row: (-linked.get(row.number, 0), row.path.count("/"), row.path))
        entries = tuple(
            BriefingEntry(row.id, row.type, row.title) for row in rows[:_MAX_LINKED_NOTES]
        )
        command = cortex_command("recall", *of_project)
        parts.append(BriefingPart(NOTES, entries, len(rows), command))
        paths = [row.path for row in rows[:_MAX_LINKED_NOTES]]
    return [part for part in parts if part.total], paths


def _own_entry(item: OwnItemRow) -> BriefingEntry:
    handle = f"{item.path}:{item.line}" if item.line > 1 else item.path
    if item.kind != TASK:
        return BriefingEntry(handle, item.kind, plain_text(item.text), day=item.day)
    marks = (item.person, f"due {item.day}" if item.day else "")
    return BriefingEntry(handle, TASK, plain_text(item.text), marks=tuple(filter(None, marks)))


def dependency_stamps(index: IndexSession, vault: Vault, paths: Iterable[str]) -> dict[str, str]:
    """Every file and folder on which a briefing with these notes depends, with the index's stamp if
    it has one that can be trusted. A note that is added to an empty folder changes only that."""
    known, racy = index.snapshot.stamps, index.snapshot.racy
    rules = (line.rpartition(" ")[0] for line in index.snapshot.rule_stamps.splitlines())
    # git's index decides what is ignored, but it changes with every `git add`, which no note does.
    rules = (path for path in rules if os.path.basename(path) != "index")
    folders = (*index.snapshot.folders[:_MAX_FOLDERS], vault.layout().pending())
    stamps = dict.fromkeys((SETTINGS_FILE, *folders, *rules), "")
    for path in paths:
        stamps[path] = "" if path in racy else known.get(path, "").rstrip(TEMPLATE_MARK)
    whole = {vault.file(path).rstrip("/"): stamp for path, stamp in stamps.items()}
    return whole | {state_path(vault): briefing_cache.file_stamp(state_path(vault))}


class PersonalNotes(NamedTuple):
    """Notes of the person's own vault, best first, and what they were read from."""

    pinned: list[NoteRow]
    others: list[NoteRow]
    vault: Vault | None
    stamps: dict[str, str]  # absolute paths, with a stamp where the index took one
    problems: tuple[Problem, ...] = ()


def load_personal_notes(vault: Vault, caller: Caller, request: BriefingRequest) -> PersonalNotes:
    """The notes of the person's own vault that a briefing of this project may tell. Their numbers
    are negative, so that none is a note of `vault`. Raises nothing."""
    stamps = {default_vault_file(): ""}
    own = find_personal_vault(vault)
    if own is None:
        problem = personal_vault_problem(vault)
        return PersonalNotes([], [], None, stamps, (problem,) if problem else ())

    def select(index: IndexSession) -> tuple[BriefingSelection, dict[str, str]]:
        paths = index.catalogue.briefing_dependencies(request.project_names)
        selection = select_candidates(index.catalogue, request)
        return selection, stamps | dependency_stamps(index, own, paths)

    try:
        chosen, stamps = query_index(own, caller.progress, select)
    except (CortexError, OSError) as error:
        problem = Problem(own.root, f"your own vault was not looked in: {error}", "cortex doctor")
        return PersonalNotes([], [], None, stamps, (problem,))
    rows = {
        kind: [row._replace(number=-row.number - 1) for row in chosen.parts.get(kind, ())]
        for kind in _PERSONAL_KINDS
    }
    others = [row for kind in _PERSONAL_KINDS[1:] for row in rows[kind][:_MAX_PERSONAL_NOTES]]
    return PersonalNotes(rows[PINNED], others, own, stamps)
