"""Pin a record, so that it never decays."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import NoteName
from cortex.core.notes.edit import with_fields
from cortex.core.notes.note import Note
from cortex.index.catalogue import NoteRow
from cortex.operations.records.change_record import Edited, RecordChange, change_record, command
from cortex.vault.locate import Vault


def pin(vault: Vault, caller: Caller, id: NoteName) -> RecordChange:
    """Pin a record: it never decays and is never archived by itself.

    id: the record: its id, the beginning of it, or a path

    Example: cortex pin use-sqlite-k3f7q2
    """
    return set_pinned(vault, caller, id, pinned=True)


def set_pinned(vault: Vault, caller: Caller, name: str, *, pinned: bool) -> RecordChange:
    outcome, undo = ("pinned", "unpin") if pinned else ("unpinned", "pin")

    def edit(note: Note, row: NoteRow) -> Edited:
        if (note.fields.get("pinned") is True) == pinned:
            return Edited(note)
        return Edited(with_fields(note, {"pinned": pinned or ""}), command(undo, row))

    return change_record(vault, caller, name, outcome, edit)
