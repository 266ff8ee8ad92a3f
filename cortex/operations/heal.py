"""Briefings as the notes give them: regenerate, compare, write what differs."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.briefing import FOLDER
from cortex.core.caller import Caller
from cortex.core.problem import Conflict, CortexError, Problem
from cortex.projections import briefings
from cortex.projections.briefings import Difference
from cortex.projections.refresh import Views, look
from cortex.vault import checkout, files, git, moved
from cortex.vault.find import Vault
from cortex.vault.lock import lock


class Healed(NamedTuple):
    """Vault-relative paths of pages: what was done, or with `check` what would be."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    stale: tuple[str, ...]  # not as the notes give them, and left so
    newer: tuple[str, ...]  # made by a newer program, and left alone
    problems: tuple[Problem, ...] = ()  # notes that cannot be read: their lines stay as they were


def heal(vault: Vault, caller: Caller, *, check: bool = False) -> Healed:
    """Bring the briefings up to the notes: write only what differs.

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
    healed = _healed(vault, caller)
    _conclude_unmerged(vault)
    return healed


def settle(vault: Vault, caller: Caller) -> list[Problem]:
    """Heal on the way of another verb: not while git is in the middle of something, where a change to the work tree
    would stop it. What cannot be done is a problem, and is tried again at the next call."""
    if checkout.under_way(vault.root):
        return []
    try:
        healed = _healed(vault, caller)
    except (CortexError, OSError) as error:
        return [Problem(FOLDER, f"could not be healed: {error}", "cortex heal")]
    return [*healed.problems, *(Problem(path, "was changed by somebody else just now", "cortex heal") for path in healed.stale)]


def _healed(vault: Vault, caller: Caller) -> Healed:
    with lock(os.path.join(vault.state(), "heal.lock"), "briefings"):
        wrong, problems = _differences(vault, caller)
        done: dict[str, list[str]] = {"written": [], "removed": [], "stale": [], "newer": []}
        for one in wrong:
            outcome = "newer" if one.newer else "stale" if not _apply(vault, one) else "removed" if one.wanted is None else "written"
            done[outcome].append(one.path)
    if not done["stale"] and not problems:
        moved.remember(vault)
    return Healed(**{field: tuple(paths) for field, paths in done.items()}, problems=problems)


def _differences(vault: Vault, caller: Caller) -> tuple[list[Difference], tuple[Problem, ...]]:
    def wanted(now: Views) -> tuple[dict[str, bytes], list[str], list[str]]:
        there = list(now.snapshot.stamps)
        return briefings.pages(vault.root, now.catalogue, there), there, now.catalogue.unread()

    pages, there, unread = look(vault, caller.progress, wanted)
    problems = (Problem(path, "cannot be read, so its lines in the briefings stay as they were", "check its permissions") for path in unread)
    return briefings.differences(vault.root, pages, there), tuple(problems)


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


def _conclude_unmerged(vault: Vault) -> None:
    """Briefings that git could not merge are merged once they are written; everything else is left to its owner."""
    if not checkout.in_repository(vault.root):
        return
    listed = git.run(vault.root, ["ls-files", "--unmerged", "-z", "--", FOLDER])
    names = {line.partition(b"\t")[2] for line in listed.split(b"\0") if line}
    if names:
        git.run(vault.root, ["update-index", "--add", "--remove", "-z", "--stdin"], stdin=b"".join(name + b"\0" for name in names))
