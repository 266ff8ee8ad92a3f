"""Take the pin out of a record."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import NoteName
from cortex.operations.records.change_record import RecordChange
from cortex.operations.records.pin import set_pinned
from cortex.vault.locate import Vault


def unpin(vault: Vault, caller: Caller, id: NoteName) -> RecordChange:
    """Take the pin out of a record.

    id: the record: its id, the beginning of it, or a path

    Example: cortex unpin use-sqlite-k3f7q2
    """
    return set_pinned(vault, caller, id, pinned=False)
