"""Briefings as the notes give them: regenerate, compare, write what differs."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.briefing.pages import FOLDER
from cortex.core.merge.conflicts import Resolved
from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, CortexError, Problem
from cortex.index import briefing_pages
from cortex.index.briefing_pages import Difference
from cortex.index.refresh import Views, look
from cortex.operations.share.bring_back import bring_back
from cortex.vault import files
from cortex.vault.git import change_marker, checkout, git, objects
from cortex.vault.locate import Vault
from cortex.vault.lock import lock


class Healed(NamedTuple):
    """Vault-relative paths of pages: what was done, or with `check` what would be."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    stale: tuple[str, ...]  # not as the notes give them, and left so
    newer: tuple[str, ...]  # made by a newer program, and left alone
    problems: tuple[
        Problem, ...
    ] = ()  # notes that cannot be read, whose lines stay as they were, and such pages
    brought_back: tuple[Resolved, ...] = ()  # notes that a merge by git had displaced


def heal(vault: Vault, caller: Caller, *, check: bool = False) -> Healed:
    """Bring the briefings up to the notes: write only what differs. Notes that a merge by git has displaced are brought back first.

    Merging by git keeps briefings right in most cases, and this in all others. A page is output: nothing in it is ever
    read back, so a page with conflict markers is simply written anew.

    check: change nothing; exit code 1 and the names when a page is stale

    Example: cortex heal
    Example: cortex heal --check
    """
    if check:
        wrong, problems = _differences(vault, caller)
        stale = tuple(one.path for one in wrong if not one.newer)
        return Healed((), (), stale, tuple(one.path for one in wrong if one.newer), problems)
    back, left = bring_back(vault, caller)
    healed = _concluded(vault, _healed(vault, caller), _unmerged_pages(vault))
    return healed._replace(brought_back=tuple(back), problems=(*left, *healed.problems))


def heal_by_the_way(vault: Vault, caller: Caller) -> list[Problem]:
    """Heal on the way of another verb: not while git is in the middle of something, where a change to the work tree
    would stop it, unless it is a page that git waits for. What cannot be done is a problem, and is tried again at the
    next call."""
    try:
        busy = checkout.under_way(vault.root)
        back = bring_back_by_the_way(vault, caller)
        unmerged = _unmerged_pages(vault) if busy else []
        if busy and not unmerged:
            return []
        healed = _concluded(vault, _healed(vault, caller), unmerged)
    except (CortexError, OSError) as error:
        return [
            Problem(
                FOLDER,
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


def bring_back_by_the_way(vault: Vault, caller: Caller) -> list[Problem]:
    """Bring back what a merge by git has displaced, on the way of another verb. Raises nothing: what cannot be done is a
    problem, and is tried again at the next call."""
    try:
        back, left = bring_back(vault, caller)
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


def _healed(vault: Vault, caller: Caller) -> Healed:
    with lock(os.path.join(vault.locks(), "heal.lock"), "briefings"):
        seen = change_marker.stamps(
            vault
        )  # before looking: what git does from here on is for the next heal
        wrong, problems = _differences(vault, caller)
        done: dict[str, list[str]] = {"written": [], "removed": [], "stale": [], "newer": []}
        for one in wrong:
            outcome = (
                "newer"
                if one.newer
                else "stale"
                if one.fault or not _apply(vault, one)
                else "removed"
                if one.wanted is None
                else "written"
            )
            done[outcome].append(one.path)
    if not done["stale"] and not problems:
        change_marker.remember(vault, seen)
    written, removed, stale, newer = (
        tuple(done[field]) for field in ("written", "removed", "stale", "newer")
    )
    return Healed(written, removed, stale, newer, problems)


def _differences(vault: Vault, caller: Caller) -> tuple[list[Difference], tuple[Problem, ...]]:
    def wanted(now: Views) -> tuple[dict[str, bytes], list[str], list[str]]:
        there = list(now.snapshot.stamps)
        unread = [path for path in now.catalogue.unread() if not path.startswith(f"{FOLDER}/")]
        return briefing_pages.pages(vault.root, now.catalogue, there), there, unread

    pages, there, unread = look(vault, caller.progress, wanted, words=False)
    problems = [
        Problem(
            path,
            "cannot be read, so its lines in the briefings stay as they were",
            "check its permissions",
        )
        for path in unread
    ]
    wrong = briefing_pages.differences(vault.root, pages, there)
    return wrong, (*problems, *(one.fault for one in wrong if one.fault))


def _apply(vault: Vault, one: Difference) -> bool:
    """Write or remove a page; False when somebody changed it meanwhile."""
    try:
        if one.wanted is None:
            files.remove(vault.root, one.path)
        elif one.held is None:
            files.publish(vault.root, one.path, one.wanted)
        else:
            files.replace(vault.root, one.path, one.wanted, one.held)
    except (Conflict, FileExistsError, FileNotFoundError):
        return False
    return True


def _unmerged_pages(vault: Vault) -> list[str]:
    """The pages that git could not merge. What else lies among them is its owner's to merge."""
    if not checkout.in_repository(vault.root):
        return []
    listed = git.run(vault.root, ["ls-files", "--unmerged", "-z", "--", FOLDER])
    names = {os.fsdecode(line.partition(b"\t")[2]) for line in listed.split(b"\0") if line}
    return sorted(name for name in names if briefing_pages.is_page(vault.root, name))


def _concluded(vault: Vault, healed: Healed, unmerged: list[str]) -> Healed:
    """Tell git that the unmerged pages are merged, now that they are written. In the middle of a merge the other pages that
    were written go with them: left changed, they would keep git from going on, and from going back."""
    if unmerged or (checkout.under_way(vault.root) and (healed.written or healed.removed)):
        left = {*healed.stale, *healed.newer}
        names = [path for path in unmerged if path not in left]
        if checkout.under_way(vault.root):
            changed = [*healed.written, *healed.removed]
            names += [path for path in changed if path not in objects.ignored(vault.root, changed)]
        if names:
            git.run(
                vault.root,
                ["update-index", "--add", "--remove", "-z", "--stdin"],
                stdin=objects.nul(dict.fromkeys(names)),
            )
    return healed
