"""Say that an action is done."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import DONE_STATUSES, SET_ASIDE_STATUSES
from cortex.core.model.parameters import NoteName
from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.core.notes.note import Note
from cortex.index.catalogue import NoteRow
from cortex.index.refresh import IndexSession
from cortex.operations.find import resolve_note
from cortex.operations.records.change_record import (
    Edited,
    RecordChange,
    change_record,
    command,
    find_editable,
)
from cortex.operations.records.tick_minutes import tick_minutes
from cortex.operations.records.update import UPDATABLE_STATUSES, with_status
from cortex.vault.locate import Vault


def done(vault: Vault, caller: Caller, id: NoteName) -> RecordChange:
    """Say that an action is done.

    A task that is ticked in the note of a meeting counts as done without this; and this ticks the
    task there. `cortex update ID --status open` takes both back.

    id: the action: its id, the beginning of it, or a path

    Example: cortex done order-the-cables-k3f7q2
    """

    def edit(note: Note, row: NoteRow) -> Edited:
        status = note.get("status").lower()
        if status in SET_ASIDE_STATUSES:
            hint = f"{command('restore', row)}, then {command('done', row)}"
            raise InvalidInputError(f"{row.id} is {status}", hint)
        if status in DONE_STATUSES:
            return Edited(note)
        former = status if status in UPDATABLE_STATUSES else "open"
        undo = command("update", row, "--status", former)
        return Edited(with_status(note, "done", caller.now), undo)

    change = change_record(vault, caller, id, "done", edit, find=_find_action)
    return tick_minutes(vault, caller, change, done=True)


def _find_action(index: IndexSession, name: str) -> NoteRow:
    try:
        row = find_editable(index, name)
    except NotFoundError:
        found = resolve_note.find_all(index.catalogue, name.rpartition(".")[0])
        plan = next((one for one in found if one.type == "plan"), None)
        if plan is None:
            raise
        message = f"{name} is a step of the plan {plan.id}, and no note of its own"
        raise InvalidInputError(message, f"tick it in {plan.path}") from None
    if row.type != "action":
        hint = f"cortex actions lists these; {command('update', row, '--status', 'done')}"
        raise InvalidInputError(f"{row.id} is a {row.type or 'note'} and no action", hint)
    return row
