"""Tick the minutes from which an action came, like the action's record."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem, reason_of
from cortex.core.notes import note as notes
from cortex.core.notes.note import Note
from cortex.core.notes.relations import parse_link_target, relations_of
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE
from cortex.index.refresh import query_index
from cortex.operations.records.change_record import RecordChange, edit_note
from cortex.operations.upkeep.heal import try_heal
from cortex.vault import files
from cortex.vault.locate import Vault


def tick_minutes(vault: Vault, caller: Caller, change: RecordChange, *, done: bool) -> RecordChange:
    """The change, once the minutes from which the action came are ticked like it: that line
    alone. What cannot be ticked is a problem of the change."""
    try:
        child = notes.read_strict(files.read(vault.root, change.path), change.path)
        sources = (text for kind, text in relations_of(child.fields) if kind == "derived_from")
        targets = set(map(parse_link_target, sources))
        if child.get("type") != "action" or not targets:
            return change
        wanted = KNOWLEDGE._replace(ids=targets, types=("meeting",))
        meetings: list[NoteRow] = query_index(
            vault, caller.progress, lambda index: index.catalogue.find(wanted, "path")
        )
        # markdown-it-py takes 40 ms to import; only an action of a meeting is worth them.
        from cortex.core.minutes.records import with_tick  # noqa: PLC0415

        def edit(meeting: Note) -> Note:
            return with_tick(meeting, change.id, child, done=done)

        ticked = [edit_note(vault, row.path, edit) for row in meetings]
    except (CortexError, OSError) as error:
        message = f"the box in the minutes stays as it was: {reason_of(error)}"
        problem = Problem(change.path, message, "tick it there yourself")
        return change._replace(problems=(*change.problems, problem))
    if not any(ticked):
        return change
    return change._replace(problems=(*change.problems, *try_heal(vault, caller)))
