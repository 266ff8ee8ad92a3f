"""Pin a record, so that it never decays, or take the pin out."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import NoteName
from cortex.core.notes.edit import with_fields
from cortex.core.notes.note import Note
from cortex.index.catalogue import NoteRow
from cortex.operations.records.change_record import Edited, RecordChange, change_record, command
from cortex.vault.locate import Vault


def pin(vault: Vault, caller: Caller, id: NoteName, *, remove: bool = False) -> RecordChange:
    """Pin a record: it never decays nor is archived by itself.

    id: the record: its id, the beginning of it, or a path
    remove: take the pin out again

    Example: cortex pin use-sqlite-k3f7q2
    Example: cortex pin use-sqlite-k3f7q2 --remove
    """
    outcome, undo = ("unpinned", ()) if remove else ("pinned", ("--remove",))

    def edit(note: Note, row: NoteRow) -> Edited:
        if (note.fields.get("pinned") is True) != remove:
            return Edited(note)
        pinned = with_fields(note, {"pinned": "" if remove else True})
        return Edited(pinned, command("pin", row, *undo))

    return change_record(vault, caller, id, outcome, edit)
