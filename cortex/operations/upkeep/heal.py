"""Briefings as the notes give them: regenerate, compare, write what differs."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.merge.note_versions import stem_of
from cortex.core.model.caller import Caller
from cortex.core.model.layout import BRIEFINGS_FOLDER, is_among_briefings
from cortex.core.model.note_form import NoteForm
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    Problem,
    problem_of,
)
from cortex.core.normalize.current_form import in_current_form
from cortex.core.notes import note as notes
from cortex.core.text.strings import shell_quote
from cortex.core.text.value import NamedTuple
from cortex.index import briefing_pages
from cortex.index.briefing_pages import PageDifference
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.upkeep.read_page_ticks import read_page_ticks
from cortex.operations.upkeep.record_lock import page_lock, record_lock, refuse_during_git_operation
from cortex.operations.upkeep.reread_minutes import reread_minutes
from cortex.operations.upkeep.restore_lost import restore_lost, try_restore_lost
from cortex.operations.upkeep.settle import ReplaceableRecords, find_replaceable, settle_sessions
from cortex.vault import files, settings, settings_text
from cortex.vault.git import checkout, git_cli, objects, page_branch
from cortex.vault.layout import SETTINGS_FILE
from cortex.vault.locate import Vault
from cortex.vault.state import change_marker, change_memory

_FORMAT_MEMORY = "reformat"
_FORMAT_PREVIEW = "cortex heal --format"


class ReformatResult(NamedTuple):
    """The records that get the form of new ones, and the settings if they ask for it."""

    paths: tuple[str, ...]
    applied: bool
    undo: str = ""  # the command that takes it back
    problems: tuple[Problem, ...] = ()


class HealResult(NamedTuple):
    """Vault-relative paths of pages: what was done, or with `check` what would be."""

    written: tuple[str, ...]
    removed: tuple[str, ...]  # with `prune_pages`, and shared ones that a feature branch has added
    stale: tuple[str, ...]  # not as the notes give them, and left so
    newer: tuple[str, ...]  # made by a newer program, and left alone
    problems: tuple[Problem, ...] = ()  # notes and pages that cannot be read
    brought_back: tuple[MergeResolution, ...] = ()  # notes that a merge elsewhere had lost
    reformat: ReformatResult | None = None  # of --format


def heal(
    vault: Vault,
    caller: Caller,
    *,
    check: bool = False,
    prune_pages: bool = False,
    format: bool = False,
    apply: bool = False,
    undo: bool = False,
) -> HealResult:
    """Bring the briefings up to date with the notes.

    Only what differs is written. What a merge elsewhere has lost is brought back first. A
    page is output: nothing in it is read back, so a page with conflict markers is simply written anew.

    The pages that all share are written on the default branch alone. Another branch writes a page
    of its own, and keeps the shared ones as they were where it began, so that branches merge
    without a conflict. No page is deleted: one that no note gives any more says so, and that of a
    branch that is gone shrinks to a line, until --prune-pages removes them.

    --format is what cortex upgrade does with records: it shows which have the form of an earlier
    version, with nested properties and some that go without saying. Nothing is written until --apply.

    check: change nothing; exit code 1 and the names when a page is stale
    prune_pages: remove the pages of branches that are gone, and those that no note gives any more
    format: show which records would get the form of new ones, and the settings format = 2
    apply: with --format, rewrite them
    undo: with --format, take that back, where nobody has changed them since

    Example: cortex heal
    Example: cortex heal --check
    Example: cortex heal --prune-pages
    """
    if format:
        done = _undo_reformat(vault) if undo else _reformat_records(vault, caller, apply=apply)
        problems = (*done.problems, *(try_heal(vault, caller) if apply or undo else ()))
        return HealResult((), (), (), (), problems, reformat=done)
    if apply or undo:
        raise InvalidInputError("--apply and --undo belong to --format", "cortex heal --format")
    if check and prune_pages:
        raise InvalidInputError("--check changes nothing", "cortex heal --prune-pages")
    if prune_pages:
        _check_prunable(vault)
    if check:
        wrong, problems, _ = _find_differences(vault, caller, check=True)
        stale = tuple(one.path for one in wrong if not one.is_newer)
        branch = page_branch.find_page_branch(vault.root, check=True)
        if stale and branch.is_default and not branch.name and branch.default:
            message = "no branch is checked out, so heal writes no page"
            hint = f"git switch {shell_quote(branch.default)} && cortex heal"
            problems = (*problems, Problem(".", message, hint))
        return HealResult((), (), stale, tuple(one.path for one in wrong if one.is_newer), problems)
    settings.check_writable(vault.root)
    stamp = change_marker.git_stamp(vault)
    back, left = restore_lost(vault, caller)
    healed = heal_pages(vault, caller, stamp, _unmerged_pages(vault), prune=prune_pages)
    return healed._replace(brought_back=tuple(back), problems=(*left, *healed.problems))


def try_heal(vault: Vault, caller: Caller) -> list[Problem]:
    """What ends a verb that has changed notes: bring back what a merge elsewhere has lost, then heal.
    Problems instead of errors, and the next call tries again."""
    stamp = change_marker.git_stamp(vault)
    return [*try_restore_lost(vault, caller), *try_heal_pages(vault, caller, stamp)]


def try_heal_pages(vault: Vault, caller: Caller, stamp: str) -> list[Problem]:
    """`heal_pages` as a part of another verb, after `restore_lost`; problems instead of errors.
    `stamp`: git's before that, so that what git does from there on is for the next call.

    During an operation of git a change to the work tree would stop it, so only unmerged pages are
    healed then.
    """
    try:
        settings.check_writable(vault.root)
        busy = checkout.operation_in_progress(vault.root)
        unmerged = _unmerged_pages(vault) if busy else []
        if busy and not unmerged:
            return []
        healed = heal_pages(vault, caller, stamp, unmerged)
    except (CortexError, OSError) as error:
        folder = vault.layout().path(BRIEFINGS_FOLDER)
        return [problem_of(folder, error, "cortex heal", "could not be healed: ")]
    named = {problem.where for problem in healed.problems}
    changed = (
        Problem(path, "was changed by somebody else just now", "cortex heal")
        for path in healed.stale
        if path not in named
    )
    return [*healed.problems, *changed]


def _check_prunable(vault: Vault) -> None:
    """Raise `InvalidInputError` but on the default branch, whose pages nobody else removes."""
    branch = page_branch.find_page_branch(vault.root)
    if not branch.is_default:
        here = f"this is {branch.name}" if branch.name else "no branch is checked out"
        hint = f"git switch {shell_quote(branch.default)} && cortex heal --prune-pages"
        message = f"pages are removed on the default branch, {branch.default}, and {here}"
        raise InvalidInputError(message, hint)


def heal_pages(
    vault: Vault, caller: Caller, stamp: str, unmerged: Sequence[str] = (), *, prune: bool = False
) -> HealResult:
    """Read edited minutes again and heal the pages; where distillations replace records, once more
    after that. Stages the `unmerged` ones."""
    _, problems = reread_minutes(vault, caller)
    problems += read_page_ticks(vault, caller)[1]
    healed, sessions = _heal_pages_once(vault, caller, stamp, unmerged, prune=prune)
    is_changed, unsettled = settle_sessions(vault, sessions) if sessions else (False, [])
    problems += unsettled
    if is_changed:
        again, _ = _heal_pages_once(vault, caller, stamp, unmerged, prune=prune)
        healed = again._replace(
            written=tuple(dict.fromkeys((*healed.written, *again.written))),
            removed=tuple(dict.fromkeys((*healed.removed, *again.removed))),
        )
    _stage_pages(vault, healed, unmerged)
    return healed._replace(problems=(*problems, *healed.problems))


def _heal_pages_once(
    vault: Vault, caller: Caller, stamp: str, unmerged: Sequence[str], *, prune: bool
) -> tuple[HealResult, list[ReplaceableRecords]]:
    with page_lock(vault):
        different, problems, sessions = _find_differences(
            vault, caller, unmerged=unmerged, prune=prune
        )
        paths = defaultdict[str, list[str]](list)
        for one in different:
            paths[_heal_page(vault, one)].append(one.path)
    if not paths["stale"] and not problems:
        change_marker.mark_briefings_built(vault, stamp)
    written, removed = tuple(paths["written"]), tuple(paths["removed"])
    stale, newer = tuple(paths["stale"]), tuple(paths["newer"])
    return HealResult(written, removed, stale, newer, problems), sessions


def _find_differences(
    vault: Vault,
    caller: Caller,
    *,
    check: bool = False,
    prune: bool = False,
    unmerged: Iterable[str] = (),
) -> tuple[list[PageDifference], tuple[Problem, ...], list[ReplaceableRecords]]:
    """The pages that differ, what could not be read, and the sessions to settle."""

    def compare(
        index: IndexSession,
    ) -> tuple[list[PageDifference], list[str], list[ReplaceableRecords]]:
        different = briefing_pages.find_differences(
            vault.root, index.catalogue, index.snapshot.stamps,
            check=check, prune=prune, unmerged=unmerged,
        )  # fmt: skip
        return different, index.catalogue.unreadable_paths(), find_replaceable(index)

    different, unread, sessions = query_index(vault, caller.progress, compare)
    message = "cannot be read, so its lines in the briefings stay as they were"
    problems = [
        Problem(path, message, "check its permissions")
        for path in unread
        if not is_among_briefings(path)
    ]
    return different, (*problems, *(one.problem for one in different if one.problem)), sessions


def _heal_page(vault: Vault, one: PageDifference) -> str:
    """Write or remove a page. Returns its field of `HealResult`: stale if it changed meanwhile."""
    if one.is_newer or one.problem:
        return "newer" if one.is_newer else "stale"
    try:
        if one.expected is None:
            files.remove(vault.root, one.path)
        else:
            files.replace(vault.root, one.path, one.expected, one.current)
    except (ConflictError, FileNotFoundError):
        return "stale"
    return "removed" if one.expected is None else "written"


def _unmerged_pages(vault: Vault) -> list[str]:
    """The pages that git could not merge. What else lies among them is its owner's to merge."""
    if not checkout.is_in_repository(vault.root):
        return []
    folder = vault.layout().path(BRIEFINGS_FOLDER)
    listed = git_cli.run(vault.root, ["ls-files", "--unmerged", "-z", "--", folder])
    names = {os.fsdecode(line.partition(b"\t")[2]) for line in listed.split(b"\0") if line}
    return sorted(name for name in names if briefing_pages.is_page(vault.root, name))


def _stage_pages(vault: Vault, healed: HealResult, unmerged: Sequence[str]) -> None:
    """Stage the unmerged pages, now that they are written. During a merge the other written pages
    are staged too: changed ones would keep git from continuing and from aborting."""
    paths = [path for path in unmerged if path not in {*healed.stale, *healed.newer}]
    changed = [*healed.written, *healed.removed]
    if changed and checkout.operation_in_progress(vault.root):
        ignored = objects.filter_ignored(vault.root, changed)
        paths += [path for path in changed if path not in ignored]
    if paths:
        arguments = ["update-index", "--add", "--remove", "-z", "--stdin"]
        git_cli.run(vault.root, arguments, stdin=objects.join_nul(dict.fromkeys(paths)))


def _reformat_records(vault: Vault, caller: Caller, *, apply: bool) -> ReformatResult:
    """List the records in the form of an older version of Cortex; with `apply` rewrite them."""
    if apply:
        refuse_during_git_operation(vault)
        settings.check_writable(vault.root)
    rows = query_index(
        vault, caller.progress, lambda index: index.catalogue.find(KNOWLEDGE, "path")
    )
    sessions = {row.session: stem_of(row.path) for row in rows if row.type == "session"}
    form, change = _flat_form(vault, rows)
    layout = vault.layout()
    changes, problems = [change] if change else [], []
    with record_lock(vault):
        for row in rows:
            if not (layout.is_in(row.path, "records", "sessions") and row.id != row.path):
                continue
            try:
                before = files.read(vault.root, row.path)
                note = notes.read_strict(before, row.path)
                session_note = sessions.get(row.session, "") if row.session else ""
                after = notes.write(in_current_form(note, session_note, form))
            except (CortexError, OSError) as error:
                problems.append(problem_of(row.path, error))
                continue
            if after != before:
                changes.append((row.path, before, after))
        if apply and changes:
            retry_command = f"{_FORMAT_PREVIEW} --apply"
            problems += change_memory.write_changes(
                vault, _FORMAT_MEMORY, changes, caller.progress, retry_command
            )
    undo_command = f"{_FORMAT_PREVIEW} --undo" if apply and changes else ""
    return ReformatResult(tuple(path for path, *_ in changes), apply, undo_command, tuple(problems))


def _flat_form(
    vault: Vault, rows: Sequence[NoteRow]
) -> tuple[NoteForm, tuple[str, bytes, bytes] | None]:
    """The form that records get, and the change of the settings that asks for it: first, so that an
    older program refuses from then on. The project of most records is the one that none names."""
    known = settings.load(vault.root)
    if known.form.is_flat:
        return known.form, None
    projects = Counter(row.project for row in rows if row.project and row.events)
    project = max(projects, key=lambda name: (projects[name], name), default="")
    text = settings.read_text(vault.root)
    after = settings_text.in_flat_format(text, known.project or project)
    form = NoteForm(True, known.project or project, known.briefings_branch)
    return form, (SETTINGS_FILE, text.encode(), after.encode())


def _undo_reformat(vault: Vault) -> ReformatResult:
    """Take back what `_reformat_records` has done, where nobody has changed the records since."""
    refuse_during_git_operation(vault)
    with record_lock(vault):
        done, problems = change_memory.take_back(vault, _FORMAT_MEMORY, _FORMAT_PREVIEW)
    return ReformatResult(tuple(path for path, _ in done), True, "", tuple(problems))
