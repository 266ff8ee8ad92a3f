"""Pins: what a person says must not fade. And actions that are done."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.notes.edit import with_fields, with_updated
from cortex.core.notes.note import Note
from cortex.core.text.shell_command import cortex_command
from cortex.operations.records import change_record
from cortex.operations.records.change_record import RecordChange
from cortex.operations.share.heal import try_heal
from cortex.vault.locate import Vault


def pin(vault: Vault, caller: Caller, id: str) -> RecordChange:
    """Pin a record: it never decays and is never archived by itself.

    id: the record: its id, the beginning of it, or a path

    Example: cortex pin use-sqlite-k3f7q2
    """
    return set_pinned(vault, caller, id, pinned=True)


def set_pinned(vault: Vault, caller: Caller, name: str, *, pinned: bool) -> RecordChange:
    row, problems = change_record.resolve_editable(vault, caller, name)

    def edit(note: Note) -> Note:
        if (note.fields.get("pinned") is True) == pinned:
            return note
        return with_updated(with_fields(note, {"pinned": pinned or ""}), caller.now)

    if not change_record.edit_note(vault, row.path, edit):
        return RecordChange(row.id, row.path, "unchanged", "", problems=tuple(problems))
    outcome, back = ("pinned", "unpin") if pinned else ("unpinned", "pin")
    return RecordChange(
        row.id,
        row.path,
        outcome,
        cortex_command(back, change_record.command_name(row.id, row.path)),
        problems=(*problems, *try_heal(vault, caller)),
    )
