"""Remember which git state the briefings were built from, to know later whether they are stale.

The state is the stamps of index, HEAD and its reflog (or the list of the tables that hold them):
what changes the work tree touches one.
"""

from __future__ import annotations

import os
from contextlib import suppress

from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state.json_store import JsonStore

_NO_REPOSITORY = "no repository"
_MARKER = JsonStore("git-seen", str, "", 10_000)


def briefings_are_stale(vault: Vault) -> bool:
    """True if git has run since `mark_briefings_built`, or nothing is marked."""
    return not is_built_at(vault, git_stamp(vault))


def is_built_at(vault: Vault, stamp: str) -> bool:
    """Whether the briefings were built while `git_stamp` returned this."""
    return _MARKER.read(vault) == (stamp or _NO_REPOSITORY)


def mark_briefings_built(vault: Vault, seen: str) -> None:
    """Record that the briefings were built while `git_stamp` returned `seen`."""
    _MARKER.write(vault, seen or _NO_REPOSITORY)


def mark_briefings_stale(vault: Vault) -> None:
    """Delete the marker."""
    _MARKER.remove(vault)


def git_stamp(vault: Vault) -> str:
    """The stamps of index, HEAD and its reflog as they are now; empty outside a repository."""
    repository = checkout.find_repository(vault.root)
    found = []
    for name in ("index", "HEAD", "logs/HEAD", "reftable/tables.list") if repository else ():
        with suppress(OSError):  # a repository without a commit has no index yet
            status = os.lstat(os.path.join(repository.git_dir if repository else "", name))
            found.append(f"{name} {status.st_mtime_ns} {status.st_size} {status.st_ino}")
    return "\n".join(found)
