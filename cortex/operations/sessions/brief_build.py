"""Build a briefing: select notes, read them, verify their claims, compose, cache."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable
from typing import NamedTuple

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
    BriefingSection,
    compose_briefing,
    compose_within_characters,
    join_alike,
)
from cortex.core.briefing.excerpt import (
    PASSAGE_CHARACTERS,
    UNLABELLED_CHARACTERS,
    NoteBody,
    PlanStep,
    body_excerpt,
    parse_note_body,
    plan_steps,
    sanitize_line,
    session_excerpt,
    title_key,
)
from cortex.core.briefing.injected import ALWAYS_CUT_TOKENS, MAX_INJECTED_CHARS, BriefResult
from cortex.core.extract.candidate import RULE_LAYERS
from cortex.core.model.caller import Caller
from cortex.core.model.event import is_headless
from cortex.core.model.generated_text import is_untitled, without_title
from cortex.core.model.note_status import DONE_STATUSES, TIER_CURRENT
from cortex.core.model.problem import CortexError, Problem
from cortex.core.notes.yaml_lines import BOM, MAX_FRONTMATTER_BYTES, UNCLOSED, split_note
from cortex.core.ranking.text_similarity import token_set
from cortex.core.text.agent_escape import escape_for_agent
from cortex.core.text.shell_command import cortex_command
from cortex.index.catalogue import NoteRow
from cortex.index.file_scan import TEMPLATE_MARK
from cortex.index.filters import NoteFilter
from cortex.index.queries import briefing_dependencies
from cortex.index.refresh import IndexSession, query_index
from cortex.index.state_file import state_path
from cortex.operations.capture.project_context import canonical_project, project_names
from cortex.operations.find.verify_claims import ClaimCheck, ClaimingNote, find_contradictions
from cortex.operations.sessions.brief_own import load_own_parts
from cortex.operations.sessions.brief_personal import PersonalNotes, load_personal_notes
from cortex.operations.sessions.brief_select import (
    PART_BY_TYPE,
    BriefingRequest,
    BriefingSelection,
    last_said,
    select_candidates,
    starts_with_date,
)
from cortex.operations.upkeep.ensure_fresh import ensure_fresh
from cortex.vault import files, layout
from cortex.vault.git import branches, checkout
from cortex.vault.git.branches import RepositoryRefs
from cortex.vault.locate import Vault
from cortex.vault.state import briefing_cache
from cortex.vault.state.briefing_cache import BriefingKey, CachedBriefing

# Bytes of a note: frontmatter and the beginning, which says what it is about.
_MAX_READ_BYTES = 48 * 1024
_MAX_FOLDERS = 3000  # of the vault whose stamps are kept
_MAX_OTHER_PROJECTS = 5  # other projects that are named where there is nothing
_TYPE_RE = re.compile(r"[\w-]{1,40}")
_MAX_SESSIONS = 5  # seed 001's
_MAX_STEPS = 6  # open ones of a plan
_SPARE_NOTES = 5  # of a part, in the place of those that say what another one says
# The types that a part's command lists.
_TYPES_OF_PART = {
    kind: ",".join(type_ for type_, of in PART_BY_TYPE.items() if of == kind) for kind in PART_SPECS
}

# Their claims are not verified: they tell what was, what is to come, and what is so elsewhere.
_UNVERIFIED_PARTS = (SESSIONS, PLAN, OPEN, EVERYWHERE)


class _BriefingInputs(NamedTuple):
    """What the index gives, and on which files that depends."""

    selection: BriefingSelection  # its parts cut to what there is room for
    note_stamps: dict[str, str]  # paths that count, with their stamps where these can be trusted
    folders: frozenset[str]
    ignore_files: tuple[str, ...]  # files that say what git ignores
    index_stamp: str  # of the index's state file
    git_files: tuple[str, ...]  # files of git that were read
    other_projects: tuple[str, ...]  # projects that have records, where this one has none
    sessions: dict[str, NoteRow]  # those of what is selected, by their ids
    own: list[BriefingPart]  # of people's own notes


def build_brief(
    vault: Vault, caller: Caller, key: BriefingKey, *, with_edited_files: bool = False
) -> BriefResult:
    """Build the briefing of this key from the vault as it is now, and cache its text.

    `with_edited_files` names in each line the files edited since, by one more call of git.
    """
    # Raises for a budget that is too small, before anything is read.
    compose_briefing((), BriefingHead("", "", ""), key.budget)
    problems = ensure_fresh(vault, caller)
    project, names = _project_names(vault, key.project)
    # The wall clock: it is compared with stamps of the file system.
    started_ns = time.time_ns()
    # `words=False`: the catalogue is enough, and updating the full-text index takes 40 ms.

    def collect(index: IndexSession) -> _BriefingInputs:
        return _collect_inputs(index, vault, key, project, names)

    inputs = query_index(vault, caller.progress, collect, words=False)
    personal = load_personal_notes(vault, caller, BriefingRequest(names, key.branch, key.budget))
    inputs = inputs._replace(selection=_with_personal(inputs.selection, personal))
    bodies = _read_notes(vault, personal.vault, inputs)
    verified = _verify_claims(caller.cwd, key, inputs.selection, bodies, with_edited_files)
    # Otherwise all that is told holds here, wherever it came from.
    branch = key.branch if key.all_branches else None
    parts = _build_parts(inputs, bodies, verified.contradictions, project, branch)
    head = _briefing_head(inputs.selection, project, key.branch)
    fitted = (
        compose_within_characters(parts, head, key.budget, MAX_INJECTED_CHARS)
        if key.injected or key.budget <= ALWAYS_CUT_TOKENS
        else compose_briefing(parts, head, key.budget)
    )
    sections = _with_changed_files(fitted.sections, verified.edited_files)
    shown_ids = {line.id for section in sections for line in section.lines}
    if not problems and _is_steady(vault, verified):
        cached = CachedBriefing(fitted.text, fitted.shown_ids)
        dependencies = _dependency_stamps(vault, inputs, verified.file_stamps) | personal.stamps
        briefing_cache.write(vault, key, cached, dependencies, started_ns)
    branch_problems = _branch_problems(caller.cwd, key, inputs.selection)
    doubts = ((id_, why) for id_, why in verified.contradictions.items() if id_ in shown_ids)
    branch_name = escape_for_agent(key.branch)
    return BriefResult(
        fitted.text,
        project,
        branch_name,
        fitted.tokens,
        key.budget,
        sections=sections,
        doubts=tuple(doubts),
        left_out=inputs.selection.left_out,
        newest=inputs.selection.newest,
        problems=(*problems, *personal.problems, *verified.problems, *branch_problems),
        others=inputs.other_projects,
    )


def _is_steady(vault: Vault, verified: ClaimCheck) -> bool:
    """Whether the next call would read the same; it is to try again while events wait."""
    return not files.list_notes(vault.root, vault.layout().pending()) and all(
        bool(stamp) == bool(briefing_cache.file_stamp(path)) for path, stamp in verified.file_stamps
    )


def _project_names(vault: Vault, project: str) -> tuple[str, list[str]]:
    """The name that the project has now, and every name under which its records are kept."""
    try:
        said = files.read(vault.root, layout.SETTINGS_FILE, 1 << 16)
    except (CortexError, OSError):
        said = b""
    if b"aliases" not in said or not project:
        return project, [project]
    canonical = canonical_project(vault, project)
    return canonical, project_names(vault, canonical)


def _with_changed_files(
    sections: tuple[BriefingSection, ...], edited: dict[str, tuple[str, ...]]
) -> tuple[BriefingSection, ...]:
    return tuple(
        one._replace(
            lines=tuple(line._replace(changed=edited.get(line.id, ())) for line in one.lines)
        )
        for one in sections
    )


def _briefing_head(selection: BriefingSelection, project: str, branch: str) -> BriefingHead:
    return BriefingHead(project, branch, selection.newest, selection.left_out)


def _collect_inputs(
    index: IndexSession, vault: Vault, key: BriefingKey, project: str, names: list[str]
) -> _BriefingInputs:
    """Select under the index lock; cut to the budget as if every line were a title alone."""
    git_files: list[str] = [*branches.head_files(key.folder, key.branch)]

    def included_branches(named: Iterable[str]) -> frozenset[str]:
        if key.all_branches:
            return frozenset(named)
        included = branches.find_included(key.folder, key.branch, frozenset(named))
        git_files.extend(included.depends_on)
        return included.names

    def in_head(paths: Collection[str]) -> frozenset[str]:
        return branches.find_in_head(vault.root, key.folder, paths)

    personal = not checkout.is_shared(vault)
    request = BriefingRequest(names, key.branch, key.budget, included_branches, in_head, personal)
    selection = select_candidates(index.catalogue, request)
    titles = []
    for kind, candidates in selection.parts.items():
        entries = tuple(BriefingEntry(one.id, one.type, one.title) for one in candidates)
        titles.append(BriefingPart(kind, entries, selection.totals[kind], ""))
    head = _briefing_head(selection, project, key.branch)
    room = {one.kind: len(one.lines) for one in compose_briefing(titles, head, key.budget).sections}
    paths = briefing_dependencies(index.catalogue, names)
    paths += [one.path for candidates in selection.parts.values() for one in candidates]
    stamps, racy = index.snapshot.stamps, index.snapshot.racy
    others: list[str] = []
    if not set(selection.totals) - {EVERYWHERE}:
        # Those with the most records first.
        counted = index.catalogue.count_by("project", NoteFilter(tiers=(TIER_CURRENT,)))
        projects = [name for name in counted if name and name not in names]
        others = [sanitize_line(name) for name in projects[: _MAX_OTHER_PROJECTS + 1]]
    cut = {kind: some[: room.get(kind, 0) + _SPARE_NOTES] for kind, some in selection.parts.items()}
    told = {one.session for some in cut.values() for one in some if one.session}
    sessions = index.catalogue.find(NoteFilter(types=("session",), sessions=told)) if told else []
    paths += [one.path for one in sessions]
    # Also the own notes of no project, in the project that the vault lies in.
    is_home = key.project == checkout.project_of(vault.root)
    home = [*dict.fromkeys([*names, ""] if is_home else filter(None, names))]
    own, own_paths = load_own_parts(index.catalogue, home, alone=not selection.totals)
    paths += own_paths
    return _BriefingInputs(
        selection._replace(parts=cut),
        {path: "" if path in racy else stamps.get(path, "") for path in paths},
        frozenset(path.rpartition("/")[0] for path in stamps),
        tuple(line.rpartition(" ")[0] for line in index.snapshot.rule_stamps.splitlines()),
        briefing_cache.file_stamp(state_path(vault)),
        tuple(git_files),
        tuple(others),
        {one.session: one for one in sessions},
        own,
    )


def _with_personal(selection: BriefingSelection, personal: PersonalNotes) -> BriefingSelection:
    """The selection with notes of the person's own vault, before those of the project's."""
    parts, totals = dict(selection.parts), dict(selection.totals)
    for kind, rows in ((PINNED, personal.pinned), (EVERYWHERE, personal.others)):
        if rows:
            parts[kind] = [*rows, *parts.get(kind, ())]
            totals[kind] = totals.get(kind, 0) + len(rows)
    return selection._replace(parts=parts, totals=totals)


def _read_notes(vault: Vault, own: Vault | None, inputs: _BriefingInputs) -> dict[int, NoteBody]:
    """The selected notes by number, and the sessions of those that rules found; empty ones for
    those that were deleted just now."""
    bodies: dict[int, NoteBody] = {}
    rows = [one for candidates in inputs.selection.parts.values() for one in candidates]
    for one in rows:
        bodies[one.number] = _read_body(own if own and one.number < 0 else vault, one.path)
    for one in rows:
        session = inputs.sessions.get(one.session)
        if session and session.number not in bodies and bodies[one.number].layer in RULE_LAYERS:
            bodies[session.number] = _read_body(vault, session.path)
    return bodies


def _read_body(vault: Vault, path: str) -> NoteBody:
    """The text of a note: its whole frontmatter, and as much of the rest as excerpts need."""
    try:
        data = files.read(vault.root, path, _MAX_READ_BYTES)
        if len(data) == _MAX_READ_BYTES and split_note(data.removeprefix(BOM)).error == UNCLOSED:
            data = files.read(vault.root, path, MAX_FRONTMATTER_BYTES + _MAX_READ_BYTES)
    except (CortexError, OSError):
        return NoteBody("", "")
    return parse_note_body(data)


def _branch_problems(cwd: str, key: BriefingKey, selection: BriefingSelection) -> list[Problem]:
    """A problem for a branch that is not checked out, and that nothing of the project names."""
    known = (*selection.record_branches, *branches.DEFAULT_BRANCHES, checkout.branch_of(cwd))
    if not key.branch or key.branch in known:
        return []
    repository = checkout.find_repository(cwd) if key.project == checkout.project_of(cwd) else None
    is_name = repository and RepositoryRefs.is_branch_name(key.branch)
    if repository and is_name and RepositoryRefs(*repository).has_branch(key.branch):
        return []
    where = f"branch {escape_for_agent(key.branch)}"
    message = "there is none of this name, and no record names it"
    return [Problem(where, message, "cortex brief --all-branches")]


def _verify_claims(
    cwd: str,
    key: BriefingKey,
    selection: BriefingSelection,
    bodies: dict[int, NoteBody],
    with_edited_files: bool,
) -> ClaimCheck:
    """Contradictions of these notes, if the working directory is the project's."""
    claiming = [
        one
        for kind, candidates in selection.parts.items()
        if kind not in _UNVERIFIED_PARTS
        for one in candidates
        if one.number >= 0 and one.scope not in ("personal", "global")
    ]
    if not claiming or key.project != checkout.project_of(cwd):
        return ClaimCheck({})
    # A note that says nothing beyond its title claims something all the same.
    notes = (
        ClaimingNote(one.id, one.title, bodies[one.number].body, one.created, one.type)
        for one in claiming
    )
    found = find_contradictions(key.folder, notes, changed=with_edited_files)
    created = {one.id: one.created[:10] for one in claiming if starts_with_date(one.created)}
    doubts = {
        id_: sanitize_line(f"was true on {created.get(id_, 'an earlier day')}: {why}")
        for id_, why in found.contradictions.items()
    }
    return found._replace(contradictions=doubts)


def _build_parts(
    inputs: _BriefingInputs,
    bodies: dict[int, NoteBody],
    doubts: dict[str, str],
    project: str,
    branch: str | None,
) -> list[BriefingPart]:
    parts, selection = [], inputs.selection
    titles = {
        title_key(one.title.rstrip("…"))
        for kind, candidates in selection.parts.items()
        if kind != SESSIONS
        for one in candidates
        if one.type != "session"
    }
    for kind, total in selection.totals.items():
        candidates = selection.parts.get(kind, [])
        entries = [
            _session_entry(one, bodies[one.number], titles, branch)
            if one.type == "session"
            else _build_entry(kind, one, bodies[one.number], doubts, branch)
            for one in candidates
        ]
        if kind != PLAN:
            entries = _order_by_flaws(entries, candidates, inputs.sessions, bodies)
        if kind == SESSIONS:
            telling = [entry for entry in entries if entry.title]
            total -= len(entries) - len(telling)  # noqa: PLW2901
            entries = [entry._replace(is_whole=True) for entry in telling[:_MAX_SESSIONS]]
        command = _list_command(kind, selection, project)
        if kind == PLAN:
            steps = [plan_steps(bodies[one.number].body) for one in candidates]
            begun = [
                (entry, some)
                for entry, some in zip(entries, steps, strict=True)
                if not some or not all(step.is_done for step in some)
            ]
            total -= len(entries) - len(begun)  # noqa: PLW2901
            if begun:
                plan = _plan_entries(*begun[0])
                entries = [*plan, *(entry for entry, _ in begun[1:])]
                total += len(plan) - 1  # noqa: PLW2901
                if total == len(plan):
                    command = cortex_command("show", begun[0][0].id)
        parts.append(BriefingPart(kind, tuple(entries), total, command))
    return join_alike(_with_own(parts, inputs.own))


def _with_own(parts: Iterable[BriefingPart], own: Iterable[BriefingPart]) -> list[BriefingPart]:
    """The parts in their order, what people's own notes say behind the records."""
    by_kind = {part.kind: part for part in parts}
    for one in own:
        if known := by_kind.get(one.kind):
            entries = (*known.entries, *one.entries)
            command = one.command if one.kind == OPEN else known.command
            one = BriefingPart(one.kind, entries, known.total + one.total, command)  # noqa: PLW2901
        by_kind[one.kind] = one
    return [by_kind[kind] for kind in PART_SPECS if kind in by_kind]


def _list_command(kind: str, selection: BriefingSelection, project: str) -> str:
    """The command that lists all of a part; empty where there is none."""
    if kind == OPEN:
        of_project = ["--project", project] if project else []
        return cortex_command("recall", "--scope", "open", *of_project)
    if kind == EVERYWHERE:
        return cortex_command("recall", "--scope", "area")
    knowledge_types = ",".join(filter(_TYPE_RE.fullmatch, selection.knowledge_types))
    types = knowledge_types if kind == KNOWLEDGE else _TYPES_OF_PART[kind]
    filters = [f"type:{types}", *([f"project:{project}"] if project else [])]
    return cortex_command("search", *filters) if types else ""


def _plan_entries(head: BriefingEntry, steps: list[PlanStep]) -> list[BriefingEntry]:
    """The current plan: its title and its first open steps."""
    left = [one for one in enumerate(steps) if not one[1].is_done]
    done = len(steps) - len(left)
    marks = (*head.marks, *([f"{done} of {len(steps)} done"] if steps else []))
    entry = head._replace(excerpt="" if steps else head.excerpt, marks=marks, sort_key=(0, 0))
    step_entry = BriefingEntry(head.id, head.type, "", is_subline=True)
    return [
        entry,
        *(
            step_entry._replace(title=f"[ ] {step.text}", sort_key=(0, number + 1))
            for number, step in left[:_MAX_STEPS]
        ),
    ]


def _build_entry(
    kind: str, row: NoteRow, held: NoteBody, doubts: dict[str, str], branch: str | None
) -> BriefingEntry:
    """The entry of a note, marked with its branch where that is not `branch`; None marks none."""
    marks = [row.type] if kind in (KNOWLEDGE, PINNED, EVERYWHERE) or row.type == "pattern" else []
    if row.type == "rejection":
        marks.append("rejected")
    if row.due:
        marks.append(f"due {row.due}")
    usual = ("", "active", *DONE_STATUSES) if kind == SESSIONS else ("", "active", "open")
    if row.status not in usual:
        marks.append(row.status)
    if row.pinned:
        marks.append("pinned")
    here = (branch, "", *branches.DEFAULT_BRANCHES)
    if branch is not None and row.branch not in here:
        marks.append(f"branch {row.branch}")
    if row.confidence is not None and row.confidence < 1:
        marks.append(f"{held.layer or 'confidence'} {row.confidence:g}")
    # A mark has 60 characters; ids are told apart by their ends.
    marks += [f"contradicts …{one[-40:]}" for one in held.contradicts[:2]]
    # When something was said last says how far it can be trusted; of an action its date does.
    said = last_said(row)
    is_dated = kind not in (OPEN, PLAN, EVERYWHERE) and starts_with_date(said)
    day = said[:10] if is_dated else ""
    most = PASSAGE_CHARACTERS if held.layer in RULE_LAYERS else UNLABELLED_CHARACTERS
    return BriefingEntry(
        row.id,
        row.type,
        row.title,
        body_excerpt(row.title, held.body, most),
        tuple(marks),
        day,
        doubts.get(row.id, ""),
        row.confidence,
        held.layer,
        is_contradicting=bool(held.contradicts),
    )


def _order_by_flaws(
    entries: list[BriefingEntry],
    rows: list[NoteRow],
    sessions: dict[str, NoteRow],
    bodies: dict[int, NoteBody],
) -> list[BriefingEntry]:
    """The entries; of those that rules found in a session, and nobody has pinned, the ones that
    stand alone worst come last, or not at all."""
    if not any(entry.layer in RULE_LAYERS for entry in entries):
        return entries
    from cortex.core.briefing import passage  # noqa: PLC0415  compiling its patterns takes 5 ms

    kept = []
    for entry, row in zip(entries, rows, strict=True):
        if entry.layer not in RULE_LAYERS:
            kept.append(entry)
            continue
        session, later = sessions.get(row.session), passage.NO_CHANGES
        if session and row.events:
            later = passage.changes_after(bodies[session.number].body, row.events[0])
        body = bodies[row.number].body
        flaws = passage.count_flaws(row.type, row.title, entry.excerpt, body, later)
        flaws = 0 if row.pinned else flaws
        if flaws <= passage.MAX_FLAWS:
            told = entry._replace(excerpt=passage.without_talk(entry.excerpt), is_weak=flaws > 0)
            kept.append(_passage_entry(told, session))
    return sorted(kept, key=lambda entry: entry.is_weak)


def _passage_entry(entry: BriefingEntry, session: NoteRow | None) -> BriefingEntry:
    """An entry that rules found in a session, with the title of that session if its words name
    nothing of it: what it is about was said before."""
    entry = entry._replace(is_whole=True)
    if session is None or is_untitled(session.title, session.session):
        return entry
    if is_headless(session.session):
        return entry
    subject = token_set(session.title)
    is_named = len(subject & token_set(f"{entry.title} {entry.excerpt}")) >= min(2, len(subject))
    return entry if is_named else entry._replace(marks=(f"in: {session.title}", *entry.marks))


def _session_entry(
    row: NoteRow, held: NoteBody, titles: set[str], branch: str | None
) -> BriefingEntry:
    """A session by its title and what came of it; untitled if it tells nothing or is headless."""
    entry = _build_entry(SESSIONS, row, held._replace(body=""), {}, branch)
    said = session_excerpt(held.body, titles)
    if is_headless(row.session):
        return entry._replace(title="", excerpt="")
    if is_untitled(row.title, row.session):
        return entry._replace(title=said, excerpt="")
    return entry._replace(excerpt=without_title(said, row.title))


def _dependency_stamps(
    vault: Vault, inputs: _BriefingInputs, checked_files: tuple[tuple[str, str], ...]
) -> dict[str, str]:
    """Every file and folder on which the briefing depends, with the index's stamp if it has one."""
    root = vault.root
    folders = {""}
    for path in (*inputs.folders, vault.layout().pending()):
        folder = path
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    folders |= _list_folders(root, _MAX_FOLDERS - len(folders))
    # git's index decides what is ignored, but it changes with every `git add`, which no note does.
    every = (*inputs.ignore_files, *inputs.git_files, *(path for path, _ in checked_files))
    outside = [path for path in every if os.path.basename(path) != "index"]
    names = (layout.SETTINGS_FILE, *sorted(folders)[:_MAX_FOLDERS], *outside)
    stamps = {os.path.join(root, name).rstrip("/"): "" for name in names}
    notes = inputs.note_stamps.items()
    stamps |= {f"{root}/{name}": stamp.rstrip(TEMPLATE_MARK) for name, stamp in notes}
    return stamps | {state_path(vault): inputs.index_stamp}


def _list_folders(root: str, most: int) -> set[str]:
    """The folders of the vault: a note that is added to an empty one changes only that folder."""
    found: set[str] = set()
    waiting = [""]
    while waiting and len(found) < most:
        folder = waiting.pop()
        try:
            # Two links (from its parent and its own dot): it holds no folder, and maybe thousands
            # of notes. A file system that does not count them says 1.
            if os.lstat(f"{root}/{folder}").st_nlink == 2:
                continue
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
