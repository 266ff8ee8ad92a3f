"""Which notes have changed since a moment that a cursor names."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.problem import Problem
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteChange
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault


class ChangeFeed(NamedTuple):
    """What has changed since a cursor."""

    changes: tuple[NoteChange, ...]
    cursor: str  # of now, for the next time
    resync: bool  # nothing is known since the cursor that was given: read the whole
    problems: tuple[Problem, ...]


def changes(vault: Vault, caller: Caller, since: str = "") -> ChangeFeed:
    """List the notes that came, changed or went since a cursor.

    Each answer has a cursor, which the next call takes; it outlives every process. Without one,
    the answer is the cursor of now. Where what changed is not known any more, as after cortex
    rebuild, the answer says so (resync), and the whole is to be read again.

    since: the cursor of an earlier answer

    Example: cortex changes --json
    Example: cortex changes 5f0c2a9e-17
    """
    found, problems = query_fresh(vault, caller, lambda index: index.catalogue.changes(since))
    made, cursor = found
    return ChangeFeed(tuple(made or ()), cursor, bool(since) and made is None, tuple(problems))
