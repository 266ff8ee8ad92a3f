"""Pins: what a person says must not fade. And actions that are done."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.problem import Invalid, NotFound
from cortex.core.model.status import ASIDE
from cortex.core.notes.edit import touched, with_fields
from cortex.core.notes.note import Note
from cortex.core.text.shell_command import line
from cortex.index.catalogue import Row
from cortex.index.refresh import Views, look
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.plan.actions import DONE
from cortex.operations.records import change_record
from cortex.operations.records.change_record import Changed
from cortex.operations.records.update import STATUSES, with_status
from cortex.operations.share.heal import heal_by_the_way
from cortex.vault.locate import Vault


def pin(vault: Vault, caller: Caller, id: str) -> Changed:
    """Pin a record: it never decays and is never archived by itself.

    id: the record: its id, the beginning of it, or a path

    Example: cortex pin use-sqlite-k3f7q2
    """
    return _pinned(vault, caller, id, pinned=True)


def unpin(vault: Vault, caller: Caller, id: str) -> Changed:
    """Take the pin out of a record.

    id: the record: its id, the beginning of it, or a path

    Example: cortex unpin use-sqlite-k3f7q2
    """
    return _pinned(vault, caller, id, pinned=False)


def done(vault: Vault, caller: Caller, id: str) -> Changed:
    """Say that an action is done.

    A task that is ticked in the note of a meeting counts as done without this. The other way round nothing is ticked: that
    note is somebody's text, and is left alone.

    id: the action: its id, the beginning of it, or a path

    Example: cortex done order-the-cables-k3f7q2
    """
    problems = freshen(vault, caller)
    row = look(vault, caller.progress, lambda now: _action(now, id))
    undo: list[str] = []

    def edit(note: Note) -> Note:
        status = note.get("status").lower()
        if status in ASIDE:
            raise Invalid(
                f"{row.id} is {status}",
                f"{line('restore', change_record.word(row.id, row.path))}, then {line('done', change_record.word(row.id, row.path))}",
            )
        if status in DONE:
            return note
        undo[:] = [
            line(
                "update",
                change_record.word(row.id, row.path),
                "--status",
                status if status in STATUSES else "open",
            )
        ]
        return touched(with_status(note, "done", caller.now), caller.now)

    if not change_record.apply(vault, row.path, edit):
        return Changed(row.id, row.path, "unchanged", "", problems=tuple(problems))
    return Changed(
        row.id, row.path, "done", undo[0], problems=(*problems, *heal_by_the_way(vault, caller))
    )


def _pinned(vault: Vault, caller: Caller, name: str, *, pinned: bool) -> Changed:
    row, problems = change_record.named(vault, caller, name)

    def edit(note: Note) -> Note:
        if (note.fields.get("pinned") is True) == pinned:
            return note
        return touched(with_fields(note, {"pinned": pinned or ""}), caller.now)

    if not change_record.apply(vault, row.path, edit):
        return Changed(row.id, row.path, "unchanged", "", problems=tuple(problems))
    outcome, back = ("pinned", "unpin") if pinned else ("unpinned", "pin")
    return Changed(
        row.id,
        row.path,
        outcome,
        line(back, change_record.word(row.id, row.path)),
        problems=(*problems, *heal_by_the_way(vault, caller)),
    )


def _action(now: Views, name: str) -> Row:
    try:
        row = change_record.record(resolve_note.one(now.catalogue, name))
    except NotFound:
        plan = next(
            (
                one
                for one in resolve_note.matches(now.catalogue, name.rpartition(".")[0])
                if one.type == "plan"
            ),
            None,
        )
        if plan is None:
            raise
        raise Invalid(
            f"{name} is a step of the plan {plan.id}, and no note of its own",
            f"tick it in {plan.path}",
        ) from None
    if row.type != "action":
        raise Invalid(
            f"{row.id} is a {row.type or 'note'} and no action",
            f"cortex actions lists these; {line('update', change_record.word(row.id, row.path), '--status', 'done')}",
        )
    return row
