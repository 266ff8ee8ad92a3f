"""The one way in which verbs change a record that exists: read, edit, replace what was read, heal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cortex.core import note as notes
from cortex.core.caller import Caller
from cortex.core.note import Note
from cortex.core.problem import Conflict, Invalid, Problem
from cortex.operations.heal import heal_by_the_way
from cortex.projections.catalogue import Row
from cortex.vault import files
from cortex.vault.find import Vault
from cortex.vault.moved import forget

_ATTEMPTS = 5
_GENERATED = ("inbox/", "events/", "briefings/")

Edit = Callable[[Note], Note]


def record(row: Row) -> Row:
    """The row itself when it may be edited: a note with an id that is neither an event nor a briefing."""
    if row.path.startswith(_GENERATED):
        raise Invalid(f"{row.path} is never edited", "edit the record that came from it: cortex search shows which")
    if row.id == row.path:
        raise Invalid(f"{row.path} is a note of your own, and Cortex does not write there", "edit it yourself, or give it an id: line")
    return row


def apply(vault: Vault, path: str, edit: Edit) -> bool:
    """Edit one note; whether it changed. What somebody else writes meanwhile is read again and edited, never overwritten."""
    for _ in range(_ATTEMPTS):
        before = files.read(vault.root, path)
        after = notes.write(edit(notes.parse(before, path)))
        if after == before:
            return False
        forget(vault)  # a run that ends here leaves briefings to heal
        try:
            files.replace(vault.root, path, after, before)
        except Conflict:
            continue
        return True
    raise Conflict(f"{path} changes faster than it can be edited", "run the command again")


def apply_all(vault: Vault, caller: Caller, edits: Sequence[tuple[str, Edit]]) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
    """Edit several notes, then heal once: the paths that changed, and what is wrong with the briefings."""
    changed = tuple(path for path, edit in edits if apply(vault, path, edit))
    return changed, tuple(heal_by_the_way(vault, caller)) if changed else ()
