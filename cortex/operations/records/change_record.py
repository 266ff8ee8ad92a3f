"""The one way in which verbs change a record that exists: read, edit, replace what was read, heal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, Invalid, Problem
from cortex.core.notes import note as notes
from cortex.core.notes.note import Note
from cortex.index.catalogue import Row
from cortex.index.refresh import look
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.records.record_lock import record_lock
from cortex.operations.share.heal import heal_by_the_way
from cortex.vault import files
from cortex.vault.git.change_marker import forget
from cortex.vault.locate import Vault

_ATTEMPTS = 5
_GENERATED = ("inbox/", "events/", "briefings/")

Edit = Callable[[Note], Note]


class Changed(NamedTuple):
    """What became of a record that somebody asked to change."""

    id: str
    path: str
    outcome: str  # unchanged, or what was done
    undo: str  # the command that takes it back; empty when nothing changed
    hint: str = ""
    links: tuple[str, ...] = ()  # of what was deleted: the notes that link to it
    problems: tuple[Problem, ...] = ()  # of the inbox and the briefings


def named(vault: Vault, caller: Caller, name: str) -> tuple[Row, list[Problem]]:
    """The record that a name means, which may be edited; and what was wrong on the way there."""
    problems = freshen(vault, caller)
    return record(
        look(vault, caller.progress, lambda now: resolve_note.one(now.catalogue, name))
    ), problems


def record(row: Row) -> Row:
    """The row itself when it may be edited: a note with an id that is neither an event nor a briefing."""
    if row.path.startswith(_GENERATED):
        raise Invalid(
            f"{row.path} is never edited",
            "edit the record that came from it: cortex search shows which",
        )
    if row.id == row.path:
        raise Invalid(
            f"{row.path} is a note of your own, and Cortex does not write there",
            "edit it yourself, or give it an id: line",
        )
    return row


def is_record(row: Row) -> bool:
    """Whether `record` lets it be edited."""
    return not row.path.startswith(_GENERATED) and row.id != row.path


def word(id_: str, path: str) -> str:
    """The one word by which a command finds a record: its id; its path where a hand gave it an id that is no word."""
    return id_ if id_.split() == [id_] and not id_.startswith("-") else path


def apply(vault: Vault, path: str, edit: Edit) -> bool:
    """Edit one note; whether it changed. Who else edits through Cortex waits for us; what anybody else writes meanwhile is read
    again and edited, never overwritten."""
    with record_lock(vault):
        return _applied(vault, path, edit)


def remove(vault: Vault, path: str, expected: bytes) -> None:
    """Remove a file that holds `expected`. `Conflict` when somebody changed it meanwhile."""
    with record_lock(vault):
        removed(vault, path, expected)


def removed(vault: Vault, path: str, expected: bytes) -> None:
    """The same for who holds `record_lock` already."""
    if files.read(vault.root, path) != expected:
        raise Conflict(f"{path} was changed by somebody else just now", "run the command again")
    forget(vault)  # a run that ends here leaves briefings to heal
    files.remove(vault.root, path)


def apply_all(
    vault: Vault, caller: Caller, edits: Sequence[tuple[str, Edit]]
) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
    """Edit several notes, then heal once: the paths that changed, and what is wrong with the briefings."""
    changed = tuple(path for path, edit in edits if apply(vault, path, edit))
    return changed, tuple(heal_by_the_way(vault, caller)) if changed else ()


def _applied(vault: Vault, path: str, edit: Edit) -> bool:
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
