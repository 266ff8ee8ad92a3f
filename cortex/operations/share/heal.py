"""Briefings as the notes give them: regenerate, compare, write what differs."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.briefing.pages import BRIEFINGS_FOLDER
from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, CortexError, Problem
from cortex.index import briefing_pages
from cortex.index.briefing_pages import PageDifference
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.share.restore_displaced import restore_displaced
from cortex.vault import files
from cortex.vault.git import change_marker, checkout, git_cli, objects
from cortex.vault.locate import Vault
from cortex.vault.lock import lock


class HealResult(NamedTuple):
    """Vault-relative paths of pages: what was done, or with `check` what would be."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    stale: tuple[str, ...]  # not as the notes give them, and left so
    newer: tuple[str, ...]  # made by a newer program, and left alone
    problems: tuple[
        Problem, ...
    ] = ()  # notes that cannot be read, whose lines stay as they were, and such pages
    brought_back: tuple[MergeResolution, ...] = ()  # notes that a merge by git had displaced


def heal(vault: Vault, caller: Caller, *, check: bool = False) -> HealResult:
    """Bring the briefings up to the notes: write only what differs. Notes that a merge by git has displaced are brought back first.

    Merging by git keeps briefings right in most cases, and this in all others. A page is output: nothing in it is ever
    read back, so a page with conflict markers is simply written anew.

    check: change nothing; exit code 1 and the names when a page is stale

    Example: cortex heal
    Example: cortex heal --check
    """
    if check:
        wrong, problems = _find_differences(vault, caller)
        stale = tuple(one.path for one in wrong if not one.is_newer)
        return HealResult((), (), stale, tuple(one.path for one in wrong if one.is_newer), problems)
    back, left = restore_displaced(vault, caller)
    healed = _stage_pages(vault, _heal_pages(vault, caller), _unmerged_pages(vault))
    return healed._replace(brought_back=tuple(back), problems=(*left, *healed.problems))


def try_heal(vault: Vault, caller: Caller) -> list[Problem]:
    """Heal on the way of another verb: not while git is in the middle of something, where a change to the work tree
    would stop it, unless it is a page that git waits for. What cannot be done is a problem, and is tried again at the
    next call."""
    try:
        busy = checkout.operation_in_progress(vault.root)
        back = try_restore_displaced(vault, caller)
        unmerged = _unmerged_pages(vault) if busy else []
        if busy and not unmerged:
            return []
        healed = _stage_pages(vault, _heal_pages(vault, caller), unmerged)
    except (CortexError, OSError) as error:
        return [
            Problem(
                BRIEFINGS_FOLDER,
                f"could not be healed: {error}",
                error.hint if isinstance(error, CortexError) else "cortex heal",
            )
        ]
    told = {problem.where for problem in healed.problems}
    changed = (
        Problem(path, "was changed by somebody else just now", "cortex heal")
        for path in healed.stale
        if path not in told
    )
    return [*back, *healed.problems, *changed]


def try_restore_displaced(vault: Vault, caller: Caller) -> list[Problem]:
    """Bring back what a merge by git has displaced, on the way of another verb. Raises nothing: what cannot be done is a
    problem, and is tried again at the next call."""
    try:
        back, left = restore_displaced(vault, caller)
    except (CortexError, OSError) as error:
        return [
            Problem(
                ".git",
                f"a note that git has displaced was not brought back: {error}",
                "cortex heal",
            )
        ]
    return [
        *(
            Problem(one.path, one.what, "cortex sync shares it, or git add and commit it")
            for one in back
        ),
        *left,
    ]


def _heal_pages(vault: Vault, caller: Caller) -> HealResult:
    with lock(os.path.join(vault.locks_folder(), "heal.lock"), "briefings"):
        seen = change_marker.git_stamp(
            vault
        )  # before looking: what git does from here on is for the next heal
        wrong, problems = _find_differences(vault, caller)
        done: dict[str, list[str]] = {"written": [], "removed": [], "stale": [], "newer": []}
        for one in wrong:
            outcome = (
                "newer"
                if one.is_newer
                else "stale"
                if one.problem or not _apply_difference(vault, one)
                else "removed"
                if one.expected is None
                else "written"
            )
            done[outcome].append(one.path)
    if not done["stale"] and not problems:
        change_marker.mark_briefings_built(vault, seen)
    written, removed, stale, newer = (
        tuple(done[field]) for field in ("written", "removed", "stale", "newer")
    )
    return HealResult(written, removed, stale, newer, problems)


def _find_differences(
    vault: Vault, caller: Caller
) -> tuple[list[PageDifference], tuple[Problem, ...]]:
    def wanted(now: IndexSession) -> tuple[dict[str, bytes], list[str], list[str]]:
        there = list(now.snapshot.stamps)
        unread = [
            path
            for path in now.catalogue.unreadable_paths()
            if not path.startswith(f"{BRIEFINGS_FOLDER}/")
        ]
        return briefing_pages.render_pages(vault.root, now.catalogue, there), there, unread

    pages, there, unread = query_index(vault, caller.progress, wanted, words=False)
    problems = [
        Problem(
            path,
            "cannot be read, so its lines in the briefings stay as they were",
            "check its permissions",
        )
        for path in unread
    ]
    wrong = briefing_pages.compare_pages(vault.root, pages, there)
    return wrong, (*problems, *(one.problem for one in wrong if one.problem))


def _apply_difference(vault: Vault, one: PageDifference) -> bool:
    """Write or remove a page; False when somebody changed it meanwhile."""
    try:
        if one.expected is None:
            files.remove(vault.root, one.path)
        elif one.current is None:
            files.create(vault.root, one.path, one.expected)
        else:
            files.replace(vault.root, one.path, one.expected, one.current)
    except (ConflictError, FileExistsError, FileNotFoundError):
        return False
    return True


def _unmerged_pages(vault: Vault) -> list[str]:
    """The pages that git could not merge. What else lies among them is its owner's to merge."""
    if not checkout.is_in_repository(vault.root):
        return []
    listed = git_cli.run(vault.root, ["ls-files", "--unmerged", "-z", "--", BRIEFINGS_FOLDER])
    names = {os.fsdecode(line.partition(b"\t")[2]) for line in listed.split(b"\0") if line}
    return sorted(name for name in names if briefing_pages.is_page(vault.root, name))


def _stage_pages(vault: Vault, healed: HealResult, unmerged: list[str]) -> HealResult:
    """Tell git that the unmerged pages are merged, now that they are written. In the middle of a merge the other pages that
    were written go with them: left changed, they would keep git from going on, and from going back."""
    if unmerged or (
        checkout.operation_in_progress(vault.root) and (healed.written or healed.removed)
    ):
        left = {*healed.stale, *healed.newer}
        names = [path for path in unmerged if path not in left]
        if checkout.operation_in_progress(vault.root):
            changed = [*healed.written, *healed.removed]
            names += [
                path for path in changed if path not in objects.filter_ignored(vault.root, changed)
            ]
        if names:
            git_cli.run(
                vault.root,
                ["update-index", "--add", "--remove", "-z", "--stdin"],
                stdin=objects.join_nul(dict.fromkeys(names)),
            )
    return healed
