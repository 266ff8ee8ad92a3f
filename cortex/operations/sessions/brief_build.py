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
    PART_SPECS,
    PINNED,
    PLAN,
    SESSIONS,
    BriefingEntry,
    BriefingHead,
    BriefingPart,
    FittedBriefing,
    compose_briefing,
    compose_within_characters,
)
from cortex.core.briefing.excerpt import (
    NoteBody,
    PlanStep,
    body_excerpt,
    parse_note_body,
    plan_steps,
    sanitize_line,
    session_excerpt,
    title_key,
)
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import DONE_STATUSES
from cortex.core.model.problem import CortexError, Problem
from cortex.core.notes.yaml_lines import BOM, MAX_FRONTMATTER_BYTES, UNCLOSED, split_note
from cortex.core.text.agent_escape import escape_for_agent
from cortex.core.text.json_text import dumps
from cortex.core.text.shell_command import cortex_command
from cortex.core.text.value import NamedTuple
from cortex.index.refresh import STATE_FILE, IndexSession, query_index
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.sessions.brief import MAX_INJECTED_CHARS, BriefResult
from cortex.operations.sessions.brief_select import (
    PART_BY_TYPE,
    BriefingCandidate,
    BriefingRequest,
    dependency_paths,
    list_projects,
    select_candidates,
    starts_with_date,
)
from cortex.vault import files, layout
from cortex.vault.git import branches, checkout
from cortex.vault.locate import Vault
from cortex.vault.state import briefing_cache
from cortex.vault.state.briefing_cache import BriefingKey, CachedBriefing

_MAX_READ_BYTES = (
    48 * 1024
)  # bytes of a note: frontmatter and the beginning, which says what it is about
_MAX_FOLDERS = 3000  # of the vault whose stamps are kept
_MAX_OTHER_PROJECTS = 5  # other projects that are named where there is nothing
_TYPE_RE = re.compile(r"[\w-]{1,40}")
_DEFAULT_TITLE_RE = re.compile(r"Session \S+")  # what a session is called that nobody gave a name
# What decides how a briefing reads: in a checkout it changes without a new version.
_PACKAGE_DIR = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SOURCE_FILES = tuple(
    os.path.join(_PACKAGE_DIR, *name.split("/"))
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
_TYPES_OF_PART = {
    kind: ",".join(type_ for type_, of in PART_BY_TYPE.items() if of == kind) for kind in PART_SPECS
}

# Of these reality is not asked: they tell what was, what is to come, and what is so elsewhere.
_UNVERIFIED_PARTS = (SESSIONS, PLAN, OPEN, EVERYWHERE)


class _BriefingInputs(NamedTuple):
    """What the look at the vault gave."""

    parts: dict[str, list[BriefingCandidate]]
    totals: dict[str, int]
    head: BriefingHead
    note_stamps: dict[str, str]  # paths that count, with their stamps where these can be trusted
    folders: frozenset[str]
    ignore_files: tuple[str, ...]  # files that say what git ignores
    index_stamp: str  # the stamp of what tells of the last look
    git_files: tuple[str, ...]  # files of git that were looked at
    knowledge_types: tuple[str, ...]  # of what is worth knowing
    record_branches: frozenset[str]  # that records of the project name
    other_projects: tuple[str, ...]  # projects that have records, where this one has none
    problems: tuple[Problem, ...]


def build_brief(
    vault: Vault, caller: Caller, key: BriefingKey, *, edits: bool = False
) -> BriefResult:
    """The briefing of this key, made from the vault as it is now, and kept for the next time. With `edits` its lines say which files
    were edited since; that takes one more call of git."""
    compose_briefing(
        (), BriefingHead("", "", ""), key.budget
    )  # a budget that cannot be kept is told first
    problems = ensure_fresh(vault, caller)
    project, names = _project_names(vault, key.project)
    looked = (
        time.time_ns()
    )  # the wall clock: it is compared with the stamps that the file system made
    # The catalogue tells all: after a change nobody waits here for the index of words to be written, which takes 40 ms.
    seen = query_index(
        vault,
        caller.progress,
        lambda now: _collect_inputs(now, vault, key, project, names),
        words=False,
    )
    parts, bodies = _read_notes(vault, seen)
    doubts, used, changed, told_of = _verify_claims(caller.cwd, key, bodies, edits)
    composed = _build_parts(seen, parts, doubts, project, key.branch)
    fitted = (
        compose_within_characters(composed, seen.head, key.budget, MAX_INJECTED_CHARS)
        if key.injected
        else compose_briefing(composed, seen.head, key.budget)
    )
    fitted = _add_edited_files(fitted, changed)
    shown = {line.id for section in fitted.sections for line in section.lines}
    answer = BriefResult(
        fitted.text, project, escape_for_agent(key.branch), fitted.tokens, key.budget, False, fitted.sections, tuple((id_, why) for id_, why in doubts.items() if id_ in shown),
        seen.head.left_out, seen.head.newest, (), (*problems, *told_of, *_unknown_branch_problems(caller.cwd, key, seen)), others=seen.other_projects,
    )  # fmt: skip
    # While events wait, or could not be made records, the next call is to try again.
    if (
        not problems
        and not files.list_notes(vault.root, layout.PENDING_FOLDER)
        and all(bool(was) == bool(briefing_cache.file_stamp(path)) for path, was in used)
    ):
        briefing_cache.write(
            vault,
            key,
            _to_cached(answer, fitted.shown_ids, edits),
            _dependency_stamps(vault, seen, [path for path, _ in used]),
            looked,
        )
    return answer


def _project_names(vault: Vault, project: str) -> tuple[str, list[str]]:
    """The project under the name that it has now, and every name under which its records are kept."""
    try:
        said = files.read(vault.root, layout.SETTINGS_FILE, 1 << 16)
    except (CortexError, OSError):
        said = b""
    if b"aliases" not in said or not project:
        return project, [project]
    from cortex.operations.find.project_context import canonical_project, project_names  # noqa: PLC0415  reading settings takes 7 ms, and few projects were merged

    now = canonical_project(vault, project)
    return now, project_names(vault, now)


def _collect_inputs(
    now: IndexSession, vault: Vault, key: BriefingKey, project: str, names: list[str]
) -> _BriefingInputs:
    """What may stand in the briefing, under the lock of the look: cut to what there is room for when no note says more than its title."""
    git: list[str] = [*branches.head_files(key.folder, key.branch)]

    def holds(named: Iterable[str]) -> frozenset[str]:
        if key.all_branches:
            return frozenset(named)
        usual, files_ = branches.find_defaults(key.folder)
        git.extend(files_)
        held = {*usual, key.branch}
        merged = branches.find_merged(
            key.folder, key.branch, [name for name in named if name and name not in held]
        )
        git.extend(merged.depends_on)
        return frozenset(held | merged.names)

    chosen = select_candidates(now.catalogue, BriefingRequest(names, key.branch, holds, key.budget))
    parts = chosen.parts
    head = BriefingHead(project, key.branch, chosen.newest, chosen.left_out)
    bare = [
        BriefingPart(
            kind,
            tuple(BriefingEntry(one.id, one.type, one.title) for one in some),
            chosen.totals[kind],
            "",
        )
        for kind, some in parts.items()
    ]
    room = {
        section.kind: len(section.lines)
        for section in compose_briefing(bare, head, key.budget).sections
    }
    stamps = now.snapshot.stamps
    notes = (
        *dependency_paths(now.catalogue, names),
        *(one.path for some in parts.values() for one in some),
    )
    rules = tuple(line.rpartition(" ")[0] for line in now.snapshot.rule_stamps.splitlines())
    return _BriefingInputs(
        {kind: some[: room.get(kind, 0)] for kind, some in parts.items()}, chosen.totals, head,
        {path: "" if path in now.snapshot.racy else stamps.get(path, "") for path in notes},
        frozenset(path.rpartition("/")[0] for path in stamps), rules, briefing_cache.file_stamp(os.path.join(vault.cache_folder(), STATE_FILE)), tuple(git), chosen.knowledge_types, chosen.record_branches,
        () if set(chosen.totals) - {EVERYWHERE} else tuple([sanitize_line(name) for name in list_projects(now.catalogue) if name not in names][: _MAX_OTHER_PROJECTS + 1]),
        now.setup_problems,
    )  # fmt: skip


def _read_notes(
    vault: Vault, seen: _BriefingInputs
) -> tuple[dict[int, NoteBody], list[tuple[BriefingCandidate, str]]]:
    """The notes that there is room for, taken apart, by number; and those with their bodies that reality can contradict."""
    parts: dict[int, NoteBody] = {}
    bodies = []
    for kind, some in seen.parts.items():
        for one in some:
            try:
                held = _read_body(vault, one.path)
            except (CortexError, OSError):
                held = NoteBody("", "")  # deleted just now
            parts[one.number] = held
            if kind not in _UNVERIFIED_PARTS:
                bodies.append((one, held.body))
    return parts, bodies


def _read_body(vault: Vault, path: str) -> NoteBody:
    data = files.read(vault.root, path, _MAX_READ_BYTES)
    if len(data) == _MAX_READ_BYTES and split_note(data.removeprefix(BOM)).error == UNCLOSED:
        data = files.read(vault.root, path, MAX_FRONTMATTER_BYTES + _MAX_READ_BYTES)
    return parse_note_body(data)


def _unknown_branch_problems(cwd: str, key: BriefingKey, seen: _BriefingInputs) -> list[Problem]:
    """A branch that neither the records of the project nor its repository know; not the one that is checked out."""
    if not key.branch or key.branch in (
        *seen.record_branches,
        *branches.DEFAULT_BRANCHES,
        checkout.branch_of(cwd),
    ):
        return []
    from cortex.vault.git.refs import RepositoryRefs  # noqa: PLC0415  its patterns cost 1 ms, and mostly the branch is the one that is checked out

    place = checkout.find_repository(cwd) if key.project == checkout.project_of(cwd) else None
    if (
        place
        and branches.is_branch_name(key.branch)
        and RepositoryRefs(*place).has_branch(key.branch)
    ):
        return []
    return [
        Problem(
            f"branch {escape_for_agent(key.branch)}",
            "there is none of this name, and no record names it",
            "cortex brief --all-branches",
        )
    ]


def _add_edited_files(
    fitted: FittedBriefing, changed: dict[str, tuple[str, ...]]
) -> FittedBriefing:
    if not changed:
        return fitted
    sections = (
        one._replace(
            lines=tuple(line._replace(changed=changed.get(line.id, ())) for line in one.lines)
        )
        for one in fitted.sections
    )
    return fitted._replace(sections=tuple(sections))


class _Verification(NamedTuple):
    """What the project's files and git say of notes, by id; the files that were looked at, and what could not be looked at."""

    doubts: dict[str, str]
    checked_files: tuple[tuple[str, str], ...] = ()
    edited_files: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  nobody writes to it
    problems: tuple[Problem, ...] = ()


def _verify_claims(
    cwd: str, key: BriefingKey, bodies: list[tuple[BriefingCandidate, str]], edits: bool
) -> _Verification:
    """What speaks against these notes, as far as the working directory is the project's."""
    if not bodies or key.project != checkout.project_of(cwd):
        return _Verification({})
    from cortex.core.claims import extract_claims  # noqa: PLC0415  its patterns cost 10 ms, and a vault of titles claims nothing
    from cortex.operations.find.verify_claims import find_contradictions  # noqa: PLC0415

    # A note that says nothing beyond its title claims something all the same.
    claims = [
        extract_claims(
            one.id, one.title, body, one.branch, one.created, rejected=one.type == "rejection"
        )
        for one, body in bodies
    ]
    found = find_contradictions(key.folder, claims, changed=edits)
    created = {
        one.id: one.created[:10] if starts_with_date(one.created) else "" for one, _ in bodies
    }
    told_of = {
        id_: sanitize_line(f"was true on {created[id_] or 'an earlier day'}: {doubt.reason}")
        for id_, doubt in found.contradictions.items()
        if id_ in created
    }
    return _Verification(told_of, found.file_stamps, found.edited_files, found.problems)


def _build_parts(
    seen: _BriefingInputs,
    held: dict[int, NoteBody],
    doubts: dict[str, str],
    project: str,
    branch: str,
) -> list[BriefingPart]:
    found = []
    titles = {
        title_key(one.title.rstrip("…"))
        for kind, some in seen.parts.items()
        if kind != SESSIONS
        for one in some
    }
    for kind, counted in seen.totals.items():
        total, some = counted, seen.parts.get(kind, [])
        entries = [
            _session_entry(one, held[one.number], titles, branch)
            if kind == SESSIONS
            else _build_entry(kind, one, held[one.number], doubts, branch)
            for one in some
        ]
        types = (
            ",".join(filter(_TYPE_RE.fullmatch, seen.knowledge_types))
            if kind == KNOWLEDGE
            else _TYPES_OF_PART[kind]
        )
        command = (
            cortex_command("search", f"type:{types}", *([f"project:{project}"] if project else []))
            if types
            else ""
        )
        if kind == PLAN and some:
            own, total = _plan_entries(entries[0], plan_steps(held[some[0].number].body), total)
            entries, command = (
                [*own, *entries[1:]],
                cortex_command("show", some[0].id) if total == len(own) else command,
            )
        elif kind == OPEN:
            command = cortex_command(
                "recall", "--scope", "open", *(["--project", project] if project else [])
            )
        elif kind == EVERYWHERE:
            command = cortex_command("recall", "--scope", "area")
        found.append(BriefingPart(kind, tuple(entries), total, command))
    return found


def _plan_entries(
    head: BriefingEntry, tasks: list[PlanStep], total: int
) -> tuple[list[BriefingEntry], int]:
    """The plan that is worked on: its title, what is left, then what was done last; they stand in the plan's order."""
    numbered = list(enumerate(tasks))
    left = [one for one in numbered if not one[1].is_done]
    done = [one for one in reversed(numbered) if one[1].is_done]
    entries = [
        BriefingEntry(
            head.id,
            head.type,
            f"[{'x' if task.is_done else ' '}] {task.text}",
            sort_key=(0, number + 1),
            is_subline=True,
        )
        for number, task in (*left, *done)
    ]
    marks = (*head.marks, *([f"{len(done)} of {len(tasks)} done"] if tasks else []))
    return [
        head._replace(excerpt="" if tasks else head.excerpt, marks=marks, sort_key=(0, 0)),
        *entries,
    ], total + len(tasks)


def _build_entry(
    kind: str, row: BriefingCandidate, held: NoteBody, doubts: dict[str, str], branch: str
) -> BriefingEntry:
    marks = [row.type] if kind in (KNOWLEDGE, PINNED, EVERYWHERE) or row.type == "pattern" else []
    if row.type == "rejection":
        marks.append("rejected")
    if row.due:
        marks.append(f"due {row.due}")
    if row.status not in ("", "active", "open") and not (
        kind == SESSIONS and row.status in DONE_STATUSES
    ):
        marks.append(row.status)
    elif kind == SESSIONS and row.status == "open":
        marks.append("open")
    if row.pinned:
        marks.append("pinned")
    if row.branch and row.branch != branch and row.branch not in branches.DEFAULT_BRANCHES:
        marks.append(f"branch {row.branch}")
    if row.confidence is not None and row.confidence < 1:
        marks.append(f"{held.layer or 'confidence'} {row.confidence:g}")
    # When something was said last says how far it can be trusted; of an action its date does.
    day = (
        row.last_said[:10]
        if kind not in (OPEN, PLAN, EVERYWHERE) and starts_with_date(row.last_said)
        else ""
    )
    return BriefingEntry(
        row.id,
        row.type,
        row.title,
        body_excerpt(row.title, held.body),
        tuple(marks),
        day,
        doubts.get(row.id, ""),
        row.confidence,
        held.layer,
    )


def _session_entry(
    row: BriefingCandidate, held: NoteBody, titles: set[str], branch: str
) -> BriefingEntry:
    """A session by what was done in it; by its name where somebody gave it one."""
    entry, said = (
        _build_entry(SESSIONS, row, held._replace(body=""), {}, branch),
        session_excerpt(held.body, titles),
    )
    if _DEFAULT_TITLE_RE.fullmatch(row.title):
        return entry._replace(title=said or "Session", excerpt="")
    return entry._replace(excerpt=said)


def _dependency_stamps(vault: Vault, seen: _BriefingInputs, used: list[str]) -> dict[str, str]:
    """Every file and folder that the briefing follows from, with a stamp where one was taken at the look."""
    inside = {"", "inbox", layout.PENDING_FOLDER}
    for path in seen.folders:
        folder = path
        while folder and folder not in inside:
            inside.add(folder)
            folder = folder.rpartition("/")[0]
    inside |= _list_folders(vault.root, _MAX_FOLDERS - len(inside))
    # git's index is among the rules, since it decides what is ignored; it changes with every `git add`, and no note does with it.
    outside = [
        path
        for path in (*seen.ignore_files, *seen.git_files, *used)
        if os.path.basename(path) != "index"
    ]
    root = vault.root
    depends = {
        os.path.join(root, name).rstrip("/"): ""
        for name in (layout.SETTINGS_FILE, *sorted(inside)[:_MAX_FOLDERS], *outside, *_SOURCE_FILES)
    }
    depends |= {f"{root}/{name}": held for name, held in seen.note_stamps.items()}
    return depends | {os.path.join(vault.cache_folder(), STATE_FILE): seen.index_stamp}


def _list_folders(root: str, most: int) -> set[str]:
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


def _to_cached(answer: BriefResult, shown: tuple[str, ...], edits: bool) -> CachedBriefing:
    table = answer._asdict() | {"edits": edits}
    for name in ("text", "cached", "written", "print", "into"):
        del table[name]
    return CachedBriefing(answer.text, shown, dumps(table))
