"""Put failed events back into the inbox and normalize them."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, InvalidInputError, NotFoundError
from cortex.core.notes import note as notes
from cortex.operations.upkeep.normalize import INBOX_LOCK_TIMEOUT_SECONDS
from cortex.operations.upkeep.record_lock import record_lock
from cortex.vault import files
from cortex.vault.locate import Vault


class RetryResult(NamedTuple):
    """A failed event that is pending again."""

    id: str
    path: str  # relative to the vault
    file: str  # absolute path


def retry(vault: Vault, caller: Caller, event: str) -> RetryResult:
    """Move a failed event back into the inbox.

    The reason that was put before it is taken out.

    event: the event's id

    Example: cortex retry 20261120t164512z-k3f7q2abcd
    """
    del caller
    name = event.removesuffix(".md")
    source = vault.layout().failed(name)
    with record_lock(vault, INBOX_LOCK_TIMEOUT_SECONDS):
        if not files.exists(vault.root, source):
            hint = "cortex status lists what failed"
            raise NotFoundError(f"there is no failed event {name}", hint)
        data = files.read(vault.root, source)
        envelope = notes.read(data)
        if envelope.get("status") != "failed":
            hint = f"move it to {vault.layout().pending()} by hand"
            raise InvalidInputError(f"{source} does not begin with the reason of a failure", hint)
        target = vault.layout().pending(name)
        try:
            files.create(vault.root, target, envelope.body)
        except FileExistsError:
            if files.read(vault.root, target) != envelope.body:
                hint = "cortex normalize, then retry again"
                raise ConflictError(f"{target} waits already, with another text", hint) from None
        files.remove(vault.root, source)
    return RetryResult(name, target, f"{vault.root}/{target}")
