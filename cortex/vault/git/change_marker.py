"""Whether briefings may be stale: git has been at work since they were healed, or records were about to be written.

Git is told by the stamps of its index and its HEAD, which any operation that changes the work tree touches."""

from __future__ import annotations

import os
from contextlib import suppress

from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import store

_SEEN = "git-seen"  # in the state folder
_NONE = "no repository"
_MOST = 10_000  # bytes of it


def moved(vault: Vault) -> bool:
    """Whether index or HEAD are others than those that `remember` was told last; also after `forget`."""
    now = stamps(vault)
    return store.read(os.path.join(vault.state(), _SEEN), _MOST) != (now or _NONE).encode()


def remember(vault: Vault, seen: str) -> None:
    """The briefings are made from what was there when `stamps` were these."""
    store.replace(os.path.join(vault.state(), _SEEN), (seen or _NONE).encode())


def forget(vault: Vault) -> None:
    """Whatever is there now is not what the briefings were made from."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(vault.state(), _SEEN))


def stamps(vault: Vault) -> str:
    """The stamps of index and HEAD as they are now; empty outside a repository."""
    around = checkout.git_folder(vault.root)
    found = []
    for name in ("index", "HEAD", "logs/HEAD") if around else ():
        with suppress(OSError):  # a repository without a commit has no index yet
            status = os.lstat(os.path.join(around[1] if around else "", name))
            found.append(f"{name} {status.st_mtime_ns} {status.st_size} {status.st_ino}")
    return "\n".join(found)
