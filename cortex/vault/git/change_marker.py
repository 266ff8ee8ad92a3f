"""Whether briefings may be stale: git has been at work since they were healed, or records were about to be written.

Git is told by the stamps of its index and its HEAD, which any operation that changes the work tree touches."""

from __future__ import annotations

import os
from contextlib import suppress

from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import store

_MARKER_FILE = "git-seen"  # in the state folder
_NO_REPOSITORY = "no repository"
_MAX_BYTES = 10_000  # bytes of it


def briefings_are_stale(vault: Vault) -> bool:
    """Whether index or HEAD are others than those that `mark_briefings_built` was told last; also after `forget`."""
    now = git_stamp(vault)
    return (
        store.read(os.path.join(vault.state_folder(), _MARKER_FILE), _MAX_BYTES)
        != (now or _NO_REPOSITORY).encode()
    )


def mark_briefings_built(vault: Vault, seen: str) -> None:
    """The briefings are made from what was there when `stamps` were these."""
    store.replace(
        os.path.join(vault.state_folder(), _MARKER_FILE), (seen or _NO_REPOSITORY).encode()
    )


def mark_briefings_stale(vault: Vault) -> None:
    """Whatever is there now is not what the briefings were made from."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(vault.state_folder(), _MARKER_FILE))


def git_stamp(vault: Vault) -> str:
    """The stamps of index and HEAD as they are now; empty outside a repository."""
    around = checkout.find_repository(vault.root)
    found = []
    for name in ("index", "HEAD", "logs/HEAD") if around else ():
        with suppress(OSError):  # a repository without a commit has no index yet
            status = os.lstat(os.path.join(around[1] if around else "", name))
            found.append(f"{name} {status.st_mtime_ns} {status.st_size} {status.st_ino}")
    return "\n".join(found)
