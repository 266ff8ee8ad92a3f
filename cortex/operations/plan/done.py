"""Say that an action is done."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import DONE_STATUSES, SET_ASIDE_STATUSES
from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.core.notes.edit import with_updated
from cortex.core.notes.note import Note
from cortex.core.text.shell_command import cortex_command
from cortex.index.catalogue import NoteRow
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.records import change_record
from cortex.operations.records.change_record import RecordChange
from cortex.operations.records.update import UPDATABLE_STATUSES, with_status
from cortex.operations.share.heal import try_heal
from cortex.vault.locate import Vault


def done(vault: Vault, caller: Caller, id: str) -> RecordChange:
    """Say that an action is done.

    A task that is ticked in the note of a meeting counts as done without this. The other way round nothing is ticked: that
    note is somebody's text, and is left alone.

    id: the action: its id, the beginning of it, or a path

    Example: cortex done order-the-cables-k3f7q2
    """
    problems = ensure_fresh(vault, caller)
    row = query_index(vault, caller.progress, lambda now: _resolve_action(now, id))
    name = change_record.command_name(row.id, row.path)
    undo = ""

    def edit(note: Note) -> Note:
        nonlocal undo
        status = note.get("status").lower()
        if status in SET_ASIDE_STATUSES:
            commands = f"{cortex_command('restore', name)}, then {cortex_command('done', name)}"
            raise InvalidInputError(f"{row.id} is {status}", commands)
        if status in DONE_STATUSES:
            return note
        before = status if status in UPDATABLE_STATUSES else "open"
        undo = cortex_command("update", name, "--status", before)
        return with_updated(with_status(note, "done", caller.now), caller.now)

    if not change_record.edit_note(vault, row.path, edit):
        return RecordChange(row.id, row.path, "unchanged", "", problems=tuple(problems))
    problems += try_heal(vault, caller)
    return RecordChange(row.id, row.path, "done", undo, problems=tuple(problems))


def _resolve_action(now: IndexSession, name: str) -> NoteRow:
    try:
        row = change_record.check_editable(resolve_note.find_one(now.catalogue, name))
    except NotFoundError:
        parents = resolve_note.find_all(now.catalogue, name.rpartition(".")[0])
        plan = next((one for one in parents if one.type == "plan"), None)
        if plan is None:
            raise
        raise InvalidInputError(
            f"{name} is a step of the plan {plan.id}, and no note of its own",
            f"tick it in {plan.path}",
        ) from None
    if row.type != "action":
        command = change_record.command_name(row.id, row.path)
        raise InvalidInputError(
            f"{row.id} is a {row.type or 'note'} and no action",
            f"cortex actions lists these; {cortex_command('update', command, '--status', 'done')}",
        )
    return row
