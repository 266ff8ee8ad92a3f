"""Change a record: resolve its name, edit it under the record lock, heal the briefings."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cortex.core.model.caller import Caller
from cortex.core.model.layout import is_event_path
from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.model.problem import ConflictError, InvalidInputError, Problem
from cortex.core.notes import note as notes
from cortex.core.notes.edit import with_updated
from cortex.core.notes.note import Note
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE
from cortex.index.refresh import IndexSession
from cortex.operations.find import resolve_note
from cortex.operations.find.hits import Hit
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.edit_note import NoteEdit, edit_note
from cortex.operations.upkeep.heal import try_heal
from cortex.operations.upkeep.record_lock import record_lock
from cortex.vault import files
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import mark_briefings_stale

UNCHANGED = "unchanged"

RecordEdit = Callable[[Note, NoteRow], "Edited"]


class Edited(NamedTuple):
    """The result of an edit; the unchanged note when there is nothing to change."""

    note: Note
    undo: str = ""  # the command that takes the edit back
    hint: str = ""


class RecordChange(NamedTuple):
    """The outcome of changing a record."""

    id: str
    path: str
    outcome: str  # unchanged, or what was done
    undo: str = ""  # the command that takes it back; empty when nothing changed
    hint: str = ""
    links: tuple[str, ...] = ()  # of what was deleted: the notes that link to it
    problems: tuple[Problem, ...] = ()  # of the inbox and the briefings
    file: str = ""  # absolute path
    hits: tuple[Hit, ...] = ()  # of words that may mean several: these, best first
    total: int = 0


def change_record(
    vault: Vault,
    caller: Caller,
    name: str,
    outcome: str,
    edit: RecordEdit,
    *,
    find: Callable[[IndexSession, str], NoteRow] | None = None,
) -> RecordChange:
    """Edit the record that `name` means (by `find`, else `find_editable`), then heal if it
    changed."""
    row, problems = query_fresh(vault, caller, find or find_editable, name)
    change = edit_record(vault, caller, row, outcome, edit)
    healed = try_heal(vault, caller) if change.outcome != UNCHANGED else []
    return change._replace(problems=(*problems, *healed))


def edit_record(
    vault: Vault, caller: Caller, row: NoteRow, outcome: str, edit: RecordEdit
) -> RecordChange:
    """Edit the record of a row and set `updated`; heals nothing."""
    last = Edited(notes.read(b""))

    def apply(note: Note) -> Note:
        nonlocal last
        last = edit(note, row)
        return note if last.note is note else with_updated(last.note, caller.now)

    file = vault.file(row.path)
    if not edit_note(vault, row.path, apply):
        return RecordChange(row.id, row.path, UNCHANGED, hint=last.hint, file=file)
    return RecordChange(row.id, row.path, outcome, last.undo, last.hint, file=file)


def edit_notes_and_heal(
    vault: Vault, caller: Caller, edits: Sequence[tuple[str, NoteEdit]]
) -> tuple[tuple[str, ...], tuple[Problem, ...]]:
    """Edit several notes, then heal once. Returns the changed paths, and problems of healing."""
    made = caller.each(edits, "changing")
    changed = tuple(path for path, edit in made if edit_note(vault, path, edit))
    return changed, tuple(try_heal(vault, caller)) if changed else ()


def remove_unchanged(vault: Vault, path: str, expected: bytes) -> None:
    """Remove a file with the bytes `expected`. Raises `ConflictError` when it was changed."""
    with record_lock(vault):
        if files.read(vault.root, path) != expected:
            hint = "run the command again"
            raise ConflictError(f"{path} was changed by somebody else just now", hint)
        mark_briefings_stale(vault)  # a run that ends here leaves briefings to heal
        files.remove(vault.root, path)


def find_editable(index: IndexSession, name: str) -> NoteRow:
    """The record that a name means; by the id of an event that made one record, that one.
    `InvalidInputError` when it may not be edited, and by an event that made several."""
    row = resolve_note.find_one(index.catalogue, name)
    if is_event_path(row.path):
        made = index.catalogue.find(KNOWLEDGE._replace(event=row.id, not_types=("session",)))
        if len(made) > 1:
            hint = f"give one of the records that it made: {', '.join(one.id for one in made)}"
            raise InvalidInputError(f"{row.path} is never edited", hint)
        row = made[0] if made and name != row.path else row
    return check_editable(row)


def check_editable(row: NoteRow) -> NoteRow:
    """Return the row if its note may be edited: it has an id and is neither an event nor a
    briefing. Raises `InvalidInputError`."""
    if _is_generated(row):
        hint = "edit the record that came from it: cortex search shows which"
        raise InvalidInputError(f"{row.path} is never edited", hint)
    if is_persons_own(row):
        message = f"{row.path} is a note of your own, and Cortex does not write there"
        hint = "edit it yourself, or give it an id: line in YAML (TOML and JSON are only read)"
        raise InvalidInputError(message, hint)
    return row


def is_editable(row: NoteRow) -> bool:
    """Whether `check_editable` lets it be edited."""
    return not _is_generated(row) and row.id != row.path


def is_persons_own(row: NoteRow) -> bool:
    """Whether it is a note of a person's own, in which Cortex does not write."""
    return not _is_generated(row) and row.id == row.path


def _is_generated(row: NoteRow) -> bool:
    return is_event_path(row.path) or row.tier == TIER_TRAIL
