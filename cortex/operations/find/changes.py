"""The verb `changes`: which notes were added, changed or removed since a cursor."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.problem import Problem
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteChange
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault


class ChangeFeed(NamedTuple):
    """The changes since a cursor, and the cursor for the next call."""

    changes: tuple[NoteChange, ...]
    cursor: str  # the current one
    resync: bool  # the changes since the given cursor are not known: read all notes again
    problems: tuple[Problem, ...]


def changes(vault: Vault, caller: Caller, since: str = "") -> ChangeFeed:
    """List the notes added, changed or removed since a cursor.

    Each answer ends with a cursor for the next call, which stays valid across processes. Without one,
    the answer is only the current cursor. If the changes since a cursor are no longer known, as after
    cortex rebuild or cortex erase, the answer says so (resync): read all notes again.

    since: the cursor of an earlier answer

    Example: cortex changes --json
    Example: cortex changes 5f0c2a9e-17
    """
    found, problems = query_fresh(vault, caller, lambda index: index.catalogue.changes(since))
    made, cursor = found
    return ChangeFeed(tuple(made or ()), cursor, bool(since) and made is None, tuple(problems))
