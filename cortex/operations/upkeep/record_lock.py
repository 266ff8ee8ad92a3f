"""When records and pages may be changed: one process at a time; records not in the middle of an
operation of git."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from cortex.core.model.problem import ConflictError
from cortex.vault import settings
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.private import lock

WAIT_SECONDS = 60.0  # seconds for a pass over the inbox, which changes records too


def record_lock(vault: Vault, wait: float = WAIT_SECONDS) -> AbstractContextManager[None]:
    """A context manager; raises `ConflictError` if the lock is not free after `wait` seconds, and
    at once `InvalidInputError` if the settings forbid changes."""
    settings.check_writable(vault.root)
    return lock(os.path.join(checkout.locks_folder(vault), "normalize.lock"), "inbox", wait=wait)


def page_lock(vault: Vault, wait: float = 10.0) -> AbstractContextManager[None]:
    """The same for briefings; raises `ConflictError` alone."""
    return lock(os.path.join(checkout.locks_folder(vault), "heal.lock"), "briefings", wait=wait)


def refuse_during_git_operation(vault: Vault) -> None:
    """Raise `ConflictError` while git is in the middle of a merge, a rebase or the like."""
    if busy := checkout.operation_in_progress(vault.root):
        hint = "end it first: git status says how"
        raise ConflictError(f"git is in the middle of a {busy}", hint)
