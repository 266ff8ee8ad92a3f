"""Build a briefing: select notes, read them, verify their claims, have `brief_parts` make lines of
them, compose, cache."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

from cortex.core.briefing.compose import (
    EVERYWHERE,
    OPEN,
    PINNED,
    PLAN,
    RUNS,
    SESSIONS,
    BriefingEntry,
    BriefingHead,
    BriefingPart,
    compose_briefing,
    compose_within_characters,
)
from cortex.core.briefing.excerpt import sanitize_line
from cortex.core.briefing.injected import ALWAYS_CUT_TOKENS, MAX_INJECTED_CHARS, BriefResult
from cortex.core.model.caller import Caller
from cortex.core.model.problem import Problem
from cortex.core.notes.note import Note, read
from cortex.core.text.agent_escape import escape_for_agent
from cortex.core.text.days import Zone, clock
from cortex.core.text.strings import format_count
from cortex.index.catalogue.filters import CURRENT
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.project_context import project_names
from cortex.operations.find.show import read_note
from cortex.operations.find.verify_claims import (
    ClaimCheck,
    ClaimingNote,
    find_dated_contradictions,
)
from cortex.operations.sessions.brief_parts import BriefingInputs, build_parts
from cortex.operations.sessions.brief_select import (
    BriefingRequest,
    BriefingSelection,
    PersonalNotes,
    dependency_stamps,
    load_own_parts,
    load_personal_notes,
    select_candidates,
)
from cortex.operations.upkeep.bring_up_to_date import bring_up_to_date
from cortex.vault import files, settings
from cortex.vault.git import branches, checkout
from cortex.vault.git.branches import RepositoryRefs
from cortex.vault.locate import Vault
from cortex.vault.runs import run_files
from cortex.vault.state import briefing_cache
from cortex.vault.state.briefing_cache import BriefingKey, CachedBriefing

_MAX_OTHER_PROJECTS = 5  # other projects that are named where there is nothing
_SPARE_NOTES = 5  # of a part, in the place of those that say what another one says
# Their claims are not verified: they tell what was, what is to come, and what is so elsewhere.
_UNVERIFIED_PARTS = (SESSIONS, PLAN, OPEN, EVERYWHERE)


def build_brief(
    vault: Vault, caller: Caller, key: BriefingKey, *, with_edited_files: bool = False
) -> BriefResult:
    """Build the briefing of this key from the vault as it is now, and cache its text.

    `with_edited_files` names in each line the files edited since, by one more call of git.
    """
    # Raises for a budget that is too small, before anything is read.
    compose_briefing((), BriefingHead("", "", ""), key.budget)
    problems = bring_up_to_date(vault, caller)
    project = settings.load(vault.root).resolve_project(key.project)
    names = project_names(vault, project)
    # The wall clock: it is compared with stamps of the file system.
    started_ns = time.time_ns()
    # `words=False`: the catalogue is enough, and updating the full-text index takes 40 ms.

    def collect(index: IndexSession) -> BriefingInputs:
        return _collect_inputs(index, vault, key, project, names)

    inputs = query_index(vault, caller.progress, collect)
    personal = load_personal_notes(vault, caller, BriefingRequest(names, key.branch, key.budget))
    inputs = inputs._replace(selection=_with_personal(inputs.selection, personal))
    bodies = _read_notes(vault, personal.vault, inputs)
    verified = _verify_claims(caller, key, inputs.selection, bodies, with_edited_files)
    inputs = inputs._replace(selection=_in_zone(inputs.selection, caller.zone))
    # Otherwise all that is told holds here, wherever it came from.
    branch = key.branch if key.all_branches else None
    parts = build_parts(inputs, bodies, verified, project, branch)
    if failed := run_files.list_failed(vault, caller.now):
        text = f"{format_count(len(failed), 'run')} failed: {', '.join(name for _, name in failed)}"
        parts.append(BriefingPart(RUNS, (BriefingEntry(failed[0][0], "run", text),), 1, ""))
    head = _briefing_head(inputs.selection, project, key.branch)
    fitted = (
        compose_within_characters(parts, head, key.budget, MAX_INJECTED_CHARS)
        if key.injected or key.budget <= ALWAYS_CUT_TOKENS
        else compose_briefing(parts, head, key.budget)
    )
    if not problems and _is_steady(vault, verified):
        cached = CachedBriefing(fitted.text, fitted.shown_ids)
        stamps = inputs.stamps | personal.stamps | {path: "" for path, _ in verified.file_stamps}
        briefing_cache.write(vault, key, cached, stamps, started_ns)
    branch_problems = _branch_problems(caller.cwd, key, inputs.selection)
    doubts = ((id_, why) for id_, why in verified.contradictions.items() if id_ in fitted.shown_ids)
    branch_name = escape_for_agent(key.branch)
    return BriefResult(
        fitted.text,
        project,
        branch_name,
        fitted.tokens,
        key.budget,
        sections=fitted.sections,
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


def _briefing_head(selection: BriefingSelection, project: str, branch: str) -> BriefingHead:
    return BriefingHead(project, branch, selection.newest[:10], selection.left_out)


def _collect_inputs(
    index: IndexSession, vault: Vault, key: BriefingKey, project: str, names: list[str]
) -> BriefingInputs:
    """Select under the index lock; cut to the budget as if every line were a title alone."""
    place = checkout.find_repository(key.folder)
    git_files = RepositoryRefs(*place).head_files(key.branch) if place else []

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
    paths = index.catalogue.briefing_dependencies(names)
    paths += [one.path for candidates in selection.parts.values() for one in candidates]
    others: list[str] = []
    if not set(selection.totals) - {EVERYWHERE}:
        # Those with the most records first.
        counted = index.catalogue.count_by("project", CURRENT)
        projects = [name for name in counted if name and name not in names]
        others = [sanitize_line(name) for name in projects[: _MAX_OTHER_PROJECTS + 1]]
    cut = {kind: some[: room.get(kind, 0) + _SPARE_NOTES] for kind, some in selection.parts.items()}
    # Also the own notes of no project, in the project that the vault lies in.
    is_home = key.project == checkout.project_of(vault.root)
    home = [*dict.fromkeys([*names, ""] if is_home else filter(None, names))]
    own, own_paths = load_own_parts(index.catalogue, home, alone=not selection.totals)
    paths += own_paths
    return BriefingInputs(
        selection._replace(parts=cut),
        dependency_stamps(index, vault, paths) | dict.fromkeys(git_files, ""),
        tuple(others),
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


def _read_notes(vault: Vault, own: Vault | None, inputs: BriefingInputs) -> dict[int, Note]:
    """The selected notes by number; empty ones for those that were deleted just now."""
    rows = [one for candidates in inputs.selection.parts.values() for one in candidates]
    return {
        one.number: read_note(own if own and one.number < 0 else vault, one.path) or read(b"")
        for one in rows
    }


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


def _in_zone(selection: BriefingSelection, zone: Zone) -> BriefingSelection:
    """The selection with the days of a zone."""
    shown = {
        kind: [
            row._replace(created=clock(row.created, zone), updated=clock(row.updated, zone))
            for row in rows
        ]
        for kind, rows in selection.parts.items()
    }
    return selection._replace(parts=shown, newest=clock(selection.newest, zone)[:10])


def _verify_claims(
    caller: Caller,
    key: BriefingKey,
    selection: BriefingSelection,
    bodies: dict[int, Note],
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
    if not claiming or key.project != checkout.project_of(caller.cwd):
        return ClaimCheck({})
    # A note that says nothing beyond its title claims something all the same.
    notes = [
        ClaimingNote(one.id, one.title, bodies[one.number].text_below_title, one.created, one.type)
        for one in claiming
    ]
    zone, changed = caller.zone, with_edited_files
    found = find_dated_contradictions(key.folder, notes, zone, changed=changed)
    safe = {id_: sanitize_line(why) for id_, why in found.contradictions.items()}
    return found._replace(contradictions=safe)
