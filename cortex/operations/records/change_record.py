"""The one way in which verbs change a record that exists: read, edit, replace what was read, heal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, InvalidInputError, Problem
from cortex.core.notes import note as notes
from cortex.core.notes.note import Note
from cortex.index.catalogue import NoteRow
from cortex.index.refresh import query_index
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.records.record_lock import record_lock
from cortex.operations.share.heal import try_heal
from cortex.vault import files
from cortex.vault.git.change_marker import mark_briefings_stale
from cortex.vault.locate import Vault

_MAX_ATTEMPTS = 5
_GENERATED_FOLDERS = ("inbox/", "events/", "briefings/")

NoteEdit = Callable[[Note], Note]


class RecordChange(NamedTuple):
    """What became of a record that somebody asked to change."""

    id: str
    path: str
    outcome: str  # unchanged, or what was done
    undo: str  # the command that takes it back; empty when nothing changed
    hint: str = ""
    links: tuple[str, ...] = ()  # of what was deleted: the notes that link to it
    problems: tuple[Problem, ...] = ()  # of the inbox and the briefings


def resolve_editable(vault: Vault, caller: Caller, name: str) -> tuple[NoteRow, list[Problem]]:
    """The record that a name means, which may be edited; and what was wrong on the way there."""
    problems = ensure_fresh(vault, caller)
    return check_editable(
        query_index(vault, caller.progress, lambda now: resolve_note.find_one(now.catalogue, name))
    ), problems


def check_editable(row: NoteRow) -> NoteRow:
    """The row itself when it may be edited: a note with an id that is neither an event nor a briefing."""
    if row.path.startswith(_GENERATED_FOLDERS):
        raise InvalidInputError(
            f"{row.path} is never edited",
            "edit the record that came from it: cortex search shows which",
        )
    if row.id == row.path:
        raise InvalidInputError(
            f"{row.path} is a note of your own, and Cortex does not write there",
            "edit it yourself, or give it an id: line",
        )
    return row


def is_editable(row: NoteRow) -> bool:
    """Whether `record` lets it be edited."""
    return not row.path.startswith(_GENERATED_FOLDERS) and row.id != row.path


def command_name(id_: str, path: str) -> str:
    """The one word by which a command finds a record: its id; its path where a hand gave it an id that is no word."""
    return id_ if id_.split() == [id_] and not id_.startswith("-") else path


def edit_note(vault: Vault, path: str, edit: NoteEdit) -> bool:
    """Edit one note; whether it changed. Who else edits through Cortex waits for us; what anybody else writes meanwhile is read
    again and edited, never overwritten."""
    with record_lock(vault):
        return _edit_with_retry(vault, path, edit)


def remove_unchanged(vault: Vault, path: str, expected: bytes) -> None:
    """Remove a file that holds `expected`. `ConflictError` when somebody changed it meanwhile."""
    with record_lock(vault):
        _remove_locked(vault, path, expected)


def _remove_locked(vault: Vault, path: str, expected: bytes) -> None:
    """The same for who holds `record_lock` already."""
    if files.read(vault.root, path) != expected:
        raise ConflictError(
            f"{path} was changed by somebody else just now", "run the command again"
        )
    mark_briefings_stale(vault)  # a run that ends here leaves briefings to heal
    files.remove(vault.root, path)


def edit_notes_and_heal(
    vault: Vault, caller: Caller, edits: Sequence[tuple[str, NoteEdit]]
) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
    """Edit several notes, then heal once: the paths that changed, and what is wrong with the briefings."""
    changed = tuple(path for path, edit in edits if edit_note(vault, path, edit))
    return changed, tuple(try_heal(vault, caller)) if changed else ()


def _edit_with_retry(vault: Vault, path: str, edit: NoteEdit) -> bool:
    for _ in range(_MAX_ATTEMPTS):
        before = files.read(vault.root, path)
        after = notes.write(edit(notes.read_strict(before, path)))
        if after == before:
            return False
        mark_briefings_stale(vault)  # a run that ends here leaves briefings to heal
        try:
            files.replace(vault.root, path, after, before)
        except ConflictError:
            continue
        return True
    raise ConflictError(f"{path} changes faster than it can be edited", "run the command again")
