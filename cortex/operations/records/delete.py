"""Delete a record: set its status, or remove its file."""

from __future__ import annotations

import os

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import NoteName
from cortex.core.model.problem import InvalidInputError
from cortex.core.notes import note as notes
from cortex.core.notes.edit import set_inactive_status
from cortex.core.notes.note import Note
from cortex.index.catalogue import NoteRow
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession
from cortex.operations.find.history import made_by
from cortex.operations.find.resolve_note import command
from cortex.operations.records.change_record import (
    Edited,
    RecordChange,
    edit_record,
    find_editable,
    heal_after,
    remove_unchanged,
)
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.preserve_text import (
    find_removal_event,
    is_text_in_latest_event,
    preserve_removed_record,
)
from cortex.operations.upkeep.record_lock import refuse_during_git_operation
from cortex.vault import files
from cortex.vault.git import objects
from cortex.vault.locate import Vault

_MAX_LINKS_NAMED = 20  # notes that are named when what they link to goes


def delete(
    vault: Vault, caller: Caller, id: NoteName, *, hard: bool = False, yes: bool = False
) -> RecordChange:
    """Delete a record; its file stays, with the status `deleted`.

    It drops out of most answers. `cortex restore ID` brings it back, `cortex show ID` still shows it.
    Notes that link to it are named. With --hard the file itself goes, if --yes is given too. The
    events that it came from stay in any case.

    id: the record: its id, the beginning of it, or a path
    hard: remove the file
    yes: remove it without asking back

    Example: cortex delete use-sqlite-k3f7q2
    Example: cortex delete use-sqlite-k3f7q2 --hard --yes
    """
    (row, links, kept), problems = query_fresh(
        vault, caller, lambda index: _with_backlinks(index, id)
    )

    def edit(note: Note, row: NoteRow) -> Edited:
        if note.get("status").lower() == "deleted":
            return Edited(note)
        gone = set_inactive_status(note, "deleted", {"deleted_at": caller.now})
        return Edited(gone, command("restore", row))

    if hard:
        change = _delete(vault, caller, row, kept, sure=yes)
    else:
        change = edit_record(vault, caller, row, "deleted", edit)
    problems += heal_after(vault, caller, change)
    return change._replace(links=links, problems=tuple(problems))


def _with_backlinks(index: IndexSession, name: str) -> tuple[NoteRow, tuple[str, ...], str]:
    """The record, paths of current notes that link to it, the last event that kept its text."""
    row = find_editable(index, name)
    numbers = {number for _, number, _ in LinkGraph(index.catalogue).incoming(row.number)}
    sources = index.catalogue.rows_by_number(numbers - {row.number}).values()
    links = sorted(one.path for one in sources if one.tier == 0)[:_MAX_LINKS_NAMED]
    return row, tuple(links), (find_removal_event(index.catalogue, row.id) or ("", ""))[1]


def _delete(vault: Vault, caller: Caller, row: NoteRow, kept: str, *, sure: bool) -> RecordChange:
    """Remove the file; keep its text as an event if nothing else would bring it back."""
    refuse_during_git_operation(vault)
    data = files.read(vault.root, row.path)
    in_git = objects.read_committed(vault.root, [row.path]).get(row.path)
    note = notes.read(data, row.path)
    named = note.provenance()[0]
    is_session = note.get("type") == "session"  # what its events say together is its text
    has_topic = note.get("topic") != ""
    is_made_of_events = is_session or has_topic or any(made_by(one, row.id) for one in named)
    comes_back = (
        in_git == data
        or (
            is_made_of_events
            and (in_git is None or note.get("topic") != "")
            and is_text_in_latest_event(vault, note)
        )
    ) and kept <= max(named, default="")  # else restore would take that one for the latest
    keeps = not (comes_back or is_session or note.problems)
    sources = ["git's last commit of it"] if in_git is not None else []
    if named and (sources or is_made_of_events):
        sources.append(f"its {len(named)} event{'' if len(named) == 1 else 's'}")
    undo = command("restore", row)
    again = f"git does not have these bytes; {undo} makes it again from {' and '.join(sources)}"
    if in_git == data and not keeps:
        where = "git's last commit has exactly these bytes"
    elif keeps and sources:
        where = f"{again}, with this text, which is kept as an event"
    elif sources and (comes_back or is_session):
        where = f"{again}, and no later edit"
    else:
        undo, where = "", "git does not have these bytes, and nothing makes the record again"
    if not sure:
        hint = command("delete", row, "--hard", "--yes")
        raise InvalidInputError(f"--hard removes {row.path}: {where}", hint)
    if keeps:
        event = preserve_removed_record(vault, caller, note)
        if not undo:
            where = f"nothing makes the record again; what it said stays in an event: {command('show', event)}"
    remove_unchanged(vault, row.path, data)
    file = os.path.join(vault.root, row.path)
    return RecordChange(row.id, row.path, "removed", undo, where, file=file)
