"""The lock under which Cortex changes records: of all its processes, one at a time."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from cortex.vault.locate import Vault
from cortex.vault.lock import lock

WAIT_SECONDS = 60.0  # seconds for a pass over the inbox, which changes records too


def record_lock(vault: Vault, wait: float = WAIT_SECONDS) -> AbstractContextManager[None]:
    """While it is held, nobody else changes a record or the inbox through Cortex. `ConflictError`
    after `wait` seconds."""
    return lock(os.path.join(vault.locks_folder(), "normalize.lock"), "inbox", wait=wait)
