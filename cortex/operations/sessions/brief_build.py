"""A briefing made anew: choose, read what there is room for, ask reality, compose, keep."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable

from cortex.core.briefing.compose import (
    EVERYWHERE,
    KNOWLEDGE,
    OPEN,
    PARTS,
    PINNED,
    PLAN,
    SESSIONS,
    Entry,
    Fitted,
    Head,
    Part,
    compose,
    within,
)
from cortex.core.briefing.excerpt import (
    Parts,
    Step,
    folded,
    harmless,
    parts_of,
    session_told,
    steps,
    told,
)
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.status import DONE, decoded
from cortex.core.text.agent_escape import neutral
from cortex.core.text.json_text import dumps
from cortex.core.text.shell_command import line
from cortex.core.text.value import NamedTuple
from cortex.index.refresh import STATE, Views, look
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.sessions.brief import MOST_CHARACTERS, Brief
from cortex.operations.sessions.brief_select import (
    PART_OF,
    Asked,
    Row,
    choose,
    considered,
    is_day,
    projects,
)
from cortex.vault import files, layout
from cortex.vault.git import branches, checkout
from cortex.vault.locate import Vault
from cortex.vault.state import briefing_cache
from cortex.vault.state.briefing_cache import Kept, Key

_READ = 48 * 1024  # bytes of a note: frontmatter and the beginning, which says what it is about
_MOST_FOLDERS = 3000  # of the vault whose stamps are kept
_MOST_NAMED = 5  # other projects that are named where there is nothing
_TYPE = re.compile(r"[\w-]{1,40}")
_OWN_NAME = re.compile(r"Session \S+")  # what a session is called that nobody gave a name
# What decides how a briefing reads: in a checkout it changes without a new version.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PROGRAM = tuple(
    os.path.join(_PACKAGE, *name.split("/"))
    for name in (
        "core/text/agent_escape.py",
        "core/briefing/compose.py",
        "core/briefing/excerpt.py",
        "core/claims.py",
        "core/text/context_markers.py",
        "core/text/token_count.py",
        "operations/sessions/brief_build.py",
        "operations/sessions/brief_select.py",
        "operations/find/manifest_check.py",
        "operations/find/verify_claims.py",
    )
)
# The types that a part's command lists.
_TYPES = {kind: ",".join(type_ for type_, of in PART_OF.items() if of == kind) for kind in PARTS}

# Of these reality is not asked: they tell what was, what is to come, and what is so elsewhere.
_UNCLAIMED = (SESSIONS, PLAN, OPEN, EVERYWHERE)


class _Seen(NamedTuple):
    """What the look at the vault gave."""

    parts: dict[str, list[Row]]
    totals: dict[str, int]
    head: Head
    notes: dict[str, str]  # paths that count, with their stamps where these can be trusted
    folders: frozenset[str]
    rules: tuple[str, ...]  # files that say what git ignores
    state: str  # the stamp of what tells of the last look
    git: tuple[str, ...]  # files of git that were looked at
    types: tuple[str, ...]  # of what is worth knowing
    branches: frozenset[str]  # that records of the project name
    others: tuple[str, ...]  # projects that have records, where this one has none
    problems: tuple[Problem, ...]


def made(vault: Vault, caller: Caller, key: Key, *, edits: bool = False) -> Brief:
    """The briefing of this key, made from the vault as it is now, and kept for the next time. With `edits` its lines say which files
    were edited since; that takes one more call of git."""
    compose((), Head("", "", ""), key.budget)  # a budget that cannot be kept is told first
    problems = freshen(vault, caller)
    project, names = _names(vault, key.project)
    looked = (
        time.time_ns()
    )  # the wall clock: it is compared with the stamps that the file system made
    # The catalogue tells all: after a change nobody waits here for the index of words to be written, which takes 40 ms.
    seen = look(
        vault, caller.progress, lambda now: _seen(now, vault, key, project, names), words=False
    )
    parts, bodies = _read(vault, seen)
    doubts, used, changed, told_of = _doubts(caller.cwd, key, bodies, edits)
    composed = _parts(seen, parts, doubts, project, key.branch)
    fitted = (
        within(composed, seen.head, key.budget, MOST_CHARACTERS)
        if key.injected
        else compose(composed, seen.head, key.budget)
    )
    fitted = _with_edits(fitted, changed)
    shown = {line.id for section in fitted.sections for line in section.lines}
    answer = Brief(
        fitted.text, project, neutral(key.branch), fitted.tokens, key.budget, False, fitted.sections, tuple((id_, why) for id_, why in doubts.items() if id_ in shown),
        seen.head.left_out, seen.head.newest, (), (*problems, *told_of, *_unknown(caller.cwd, key, seen)), others=seen.others,
    )  # fmt: skip
    # While events wait, or could not be made records, the next call is to try again.
    if (
        not problems
        and not files.notes_in(vault.root, layout.PENDING)
        and all(bool(was) == bool(briefing_cache.stamp(path)) for path, was in used)
    ):
        briefing_cache.keep(
            vault,
            key,
            _kept_form(answer, fitted.shown, edits),
            _depends(vault, seen, [path for path, _ in used]),
            looked,
        )
    return answer


def _names(vault: Vault, project: str) -> tuple[str, list[str]]:
    """The project under the name that it has now, and every name under which its records are kept."""
    try:
        said = files.read(vault.root, layout.SETTINGS, 1 << 16)
    except (CortexError, OSError):
        said = b""
    if b"aliases" not in said or not project:
        return project, [project]
    from cortex.operations.find.project_context import names_of, project_named  # noqa: PLC0415  reading settings takes 7 ms, and few projects were merged

    now = project_named(vault, project)
    return now, names_of(vault, now)


def _seen(now: Views, vault: Vault, key: Key, project: str, names: list[str]) -> _Seen:
    """What may stand in the briefing, under the lock of the look: cut to what there is room for when no note says more than its title."""
    git: list[str] = [*branches.head_files(key.folder, key.branch)]

    def holds(named: Iterable[str]) -> frozenset[str]:
        if key.all_branches:
            return frozenset(named)
        usual, files_ = branches.defaults(key.folder)
        git.extend(files_)
        held = {*usual, key.branch}
        merged = branches.merged(
            key.folder, key.branch, [name for name in named if name and name not in held]
        )
        git.extend(merged.used)
        return frozenset(held | merged.names)

    chosen = choose(now.catalogue, Asked(names, key.branch, holds, key.budget))
    parts = chosen.parts
    head = Head(project, key.branch, chosen.newest, chosen.left_out)
    bare = [
        Part(
            kind, tuple(Entry(one.id, one.type, one.title) for one in some), chosen.totals[kind], ""
        )
        for kind, some in parts.items()
    ]
    room = {
        section.kind: len(section.lines) for section in compose(bare, head, key.budget).sections
    }
    stamps = now.snapshot.stamps
    notes = (
        *considered(now.catalogue, names),
        *(one.path for some in parts.values() for one in some),
    )
    rules = tuple(line.rpartition(" ")[0] for line in now.snapshot.rules.splitlines())
    return _Seen(
        {kind: some[: room.get(kind, 0)] for kind, some in parts.items()}, chosen.totals, head,
        {path: "" if path in now.snapshot.racy else stamps.get(path, "") for path in notes},
        frozenset(path.rpartition("/")[0] for path in stamps), rules, briefing_cache.stamp(os.path.join(vault.cache(), STATE)), tuple(git), chosen.types, chosen.branches,
        () if set(chosen.totals) - {EVERYWHERE} else tuple([harmless(name) for name in projects(now.catalogue) if name not in names][: _MOST_NAMED + 1]),
        now.noted,
    )  # fmt: skip


def _read(vault: Vault, seen: _Seen) -> tuple[dict[int, Parts], list[tuple[Row, str]]]:
    """The notes that there is room for, taken apart, by number; and those with their bodies that reality can contradict."""
    parts: dict[int, Parts] = {}
    bodies = []
    for kind, some in seen.parts.items():
        for one in some:
            try:
                held = parts_of(decoded(files.read(vault.root, one.path, _READ)))
            except (CortexError, OSError):
                held = Parts("", "")  # deleted just now
            parts[one.number] = held
            if kind not in _UNCLAIMED:
                bodies.append((one, held.body))
    return parts, bodies


def _unknown(cwd: str, key: Key, seen: _Seen) -> list[Problem]:
    """A branch that neither the records of the project nor its repository know; not the one that is checked out."""
    if not key.branch or key.branch in (
        *seen.branches,
        *branches.DEFAULTS,
        checkout.branch_of(cwd),
    ):
        return []
    from cortex.vault.git.refs import Repository  # noqa: PLC0415  its patterns cost 1 ms, and mostly the branch is the one that is checked out

    place = checkout.git_folder(cwd) if key.project == checkout.project_of(cwd) else None
    if place and branches.is_name(key.branch) and Repository(*place).has_branch(key.branch):
        return []
    return [
        Problem(
            f"branch {neutral(key.branch)}",
            "there is none of this name, and no record names it",
            "cortex brief --all-branches",
        )
    ]


def _with_edits(fitted: Fitted, changed: dict[str, tuple[str, ...]]) -> Fitted:
    if not changed:
        return fitted
    sections = (
        one._replace(
            lines=tuple(line._replace(changed=changed.get(line.id, ())) for line in one.lines)
        )
        for one in fitted.sections
    )
    return fitted._replace(sections=tuple(sections))


class _Reality(NamedTuple):
    """What the project's files and git say of notes, by id; the files that were looked at, and what could not be looked at."""

    doubts: dict[str, str]
    used: tuple[tuple[str, str], ...] = ()
    changed: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  nobody writes to it
    problems: tuple[Problem, ...] = ()


def _doubts(cwd: str, key: Key, bodies: list[tuple[Row, str]], edits: bool) -> _Reality:
    """What speaks against these notes, as far as the working directory is the project's."""
    if not bodies or key.project != checkout.project_of(cwd):
        return _Reality({})
    from cortex.core.claims import claim_of  # noqa: PLC0415  its patterns cost 10 ms, and a vault of titles claims nothing
    from cortex.operations.find.verify_claims import doubts  # noqa: PLC0415

    # A note that says nothing beyond its title claims something all the same.
    claims = [
        claim_of(one.id, one.title, body, one.branch, one.created, rejected=one.type == "rejection")
        for one, body in bodies
    ]
    found = doubts(key.folder, claims, changed=edits)
    created = {one.id: one.created[:10] if is_day(one.created) else "" for one, _ in bodies}
    told_of = {
        id_: harmless(f"was true on {created[id_] or 'an earlier day'}: {doubt.why}")
        for id_, doubt in found.doubts.items()
        if id_ in created
    }
    return _Reality(told_of, found.used, found.changed, found.problems)


def _parts(
    seen: _Seen, held: dict[int, Parts], doubts: dict[str, str], project: str, branch: str
) -> list[Part]:
    found = []
    titles = {
        folded(one.title.rstrip("…"))
        for kind, some in seen.parts.items()
        if kind != SESSIONS
        for one in some
    }
    for kind, counted in seen.totals.items():
        total, some = counted, seen.parts.get(kind, [])
        entries = [
            _session(one, held[one.number], titles, branch)
            if kind == SESSIONS
            else _entry(kind, one, held[one.number], doubts, branch)
            for one in some
        ]
        types = ",".join(filter(_TYPE.fullmatch, seen.types)) if kind == KNOWLEDGE else _TYPES[kind]
        command = (
            line("search", f"type:{types}", *([f"project:{project}"] if project else []))
            if types
            else ""
        )
        if kind == PLAN and some:
            own, total = _plan(entries[0], steps(held[some[0].number].body), total)
            entries, command = (
                [*own, *entries[1:]],
                line("show", some[0].id) if total == len(own) else command,
            )
        elif kind == OPEN:
            command = line(
                "recall", "--scope", "open", *(["--project", project] if project else [])
            )
        elif kind == EVERYWHERE:
            command = line("recall", "--scope", "area")
        found.append(Part(kind, tuple(entries), total, command))
    return found


def _plan(head: Entry, tasks: list[Step], total: int) -> tuple[list[Entry], int]:
    """The plan that is worked on: its title, what is left, then what was done last; they stand in the plan's order."""
    numbered = list(enumerate(tasks))
    left = [one for one in numbered if not one[1].done]
    done = [one for one in reversed(numbered) if one[1].done]
    entries = [
        Entry(
            head.id,
            head.type,
            f"[{'x' if task.done else ' '}] {task.text}",
            place=(0, number + 1),
            below=True,
        )
        for number, task in (*left, *done)
    ]
    marks = (*head.marks, *([f"{len(done)} of {len(tasks)} done"] if tasks else []))
    return [
        head._replace(told="" if tasks else head.told, marks=marks, place=(0, 0)),
        *entries,
    ], total + len(tasks)


def _entry(kind: str, row: Row, held: Parts, doubts: dict[str, str], branch: str) -> Entry:
    marks = [row.type] if kind in (KNOWLEDGE, PINNED, EVERYWHERE) or row.type == "pattern" else []
    if row.type == "rejection":
        marks.append("rejected")
    if row.due:
        marks.append(f"due {row.due}")
    if row.status not in ("", "active", "open") and not (kind == SESSIONS and row.status in DONE):
        marks.append(row.status)
    elif kind == SESSIONS and row.status == "open":
        marks.append("open")
    if row.pinned:
        marks.append("pinned")
    if row.branch and row.branch != branch and row.branch not in branches.DEFAULTS:
        marks.append(f"branch {row.branch}")
    if row.confidence is not None and row.confidence < 1:
        marks.append(f"{held.layer or 'confidence'} {row.confidence:g}")
    # When something was said last says how far it can be trusted; of an action its date does.
    day = row.said[:10] if kind not in (OPEN, PLAN, EVERYWHERE) and is_day(row.said) else ""
    return Entry(
        row.id,
        row.type,
        row.title,
        told(row.title, held.body),
        tuple(marks),
        day,
        doubts.get(row.id, ""),
        row.confidence,
        held.layer,
    )


def _session(row: Row, held: Parts, titles: set[str], branch: str) -> Entry:
    """A session by what was done in it; by its name where somebody gave it one."""
    entry, said = (
        _entry(SESSIONS, row, held._replace(body=""), {}, branch),
        session_told(held.body, titles),
    )
    if _OWN_NAME.fullmatch(row.title):
        return entry._replace(title=said or "Session", told="")
    return entry._replace(told=said)


def _depends(vault: Vault, seen: _Seen, used: list[str]) -> dict[str, str]:
    """Every file and folder that the briefing follows from, with a stamp where one was taken at the look."""
    inside = {"", "inbox", layout.PENDING}
    for path in seen.folders:
        folder = path
        while folder and folder not in inside:
            inside.add(folder)
            folder = folder.rpartition("/")[0]
    inside |= _empty_folders(vault.root, _MOST_FOLDERS - len(inside))
    # git's index is among the rules, since it decides what is ignored; it changes with every `git add`, and no note does with it.
    outside = [
        path for path in (*seen.rules, *seen.git, *used) if os.path.basename(path) != "index"
    ]
    root = vault.root
    depends = {
        os.path.join(root, name).rstrip("/"): ""
        for name in (layout.SETTINGS, *sorted(inside)[:_MOST_FOLDERS], *outside, *_PROGRAM)
    }
    depends |= {f"{root}/{name}": held for name, held in seen.notes.items()}
    return depends | {os.path.join(vault.cache(), STATE): seen.state}


def _empty_folders(root: str, most: int) -> set[str]:
    """The folders of the vault: a note that is put into an empty one changes no folder but that."""
    found: set[str] = set()
    waiting = [""]
    while waiting and len(found) < most:
        folder = waiting.pop()
        try:
            if os.lstat(f"{root}/{folder}").st_nlink == 2:
                continue  # itself and its own dot: it holds no folder, and may hold thousands of notes. Where that is not counted, it is 1
            with os.scandir(f"{root}/{folder}") as entries:
                inner = [
                    f"{folder}{one.name}"
                    for one in entries
                    if one.name[0] != "." and one.is_dir(follow_symlinks=False)
                ]
        except OSError:
            continue
        found.update(inner)
        waiting += [f"{name}/" for name in inner]
    return found


def _kept_form(answer: Brief, shown: tuple[str, ...], edits: bool) -> Kept:
    table = answer._asdict() | {"edits": edits}
    for name in ("text", "cached", "written", "print", "into"):
        del table[name]
    return Kept(answer.text, shown, dumps(table))
