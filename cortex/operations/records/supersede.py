"""Supersede a record by another; both say so."""

from __future__ import annotations

from collections.abc import Mapping

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import HIDDEN_STATUSES
from cortex.core.model.parameters import NoteName
from cortex.core.model.problem import ConflictError, InvalidInputError, Problem
from cortex.core.model.relation import link_key
from cortex.core.notes.edit import set_inactive_status, with_relation, with_updated
from cortex.core.notes.note import Note, read_strict
from cortex.core.notes.relations import parse_link_target
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import one_line
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession
from cortex.operations.find.resolve_note import Named, command
from cortex.operations.records.change_record import (
    UNCHANGED,
    RecordChange,
    edit_notes_and_heal,
    find_editable,
    is_editable,
)
from cortex.operations.records.relate import MAX_SUPERSEDED, link_name_for, refuse_cycle
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.edit_note import NoteEdit
from cortex.vault import files
from cortex.vault.locate import Vault

SUPERSEDES = "supersedes"


def supersede(
    vault: Vault, caller: Caller, old: NoteName, *, by: NoteName = "", reason: str = ""
) -> RecordChange:
    """Mark a record as no longer true, and name its replacement.

    The old one drops out of default answers; its id and every link to it still work, and both
    records link to each other. Run again after a crash, the command finishes what is left.
    `cortex restore OLD` takes it back.

    old: the record that no longer holds: its id, the beginning of it, or a path
    by: the record that holds in its place; without it, or with the word none, none does
    reason: why, in a few words

    Example: cortex supersede use-sqlite-k3f7q2 --by use-files-p2r6wq --reason "too slow"
    """
    by = "" if by.lower() == "none" else by
    (old_row, new_row, link), problems = query_fresh(vault, caller, _resolve_pair, old, by)
    because = one_line(sanitize_text(reason))
    # The old one first: what it says is what holds. After a crash here `doctor` names this very
    # command.
    new_id = new_row.id if new_row else ""
    edits = [(old_row.path, superseded_edit(old_row, new_id, because, caller.now))]
    if new_row:
        replace = replacement_edit(caller.now, link)
        # Raises before anything is written.
        replace(read_strict(files.read(vault.root, new_row.path), new_row.path))
        edits.append((new_row.path, replace))
    changed, healed = edit_notes_and_heal(vault, caller, edits)
    outcome, undo = ("superseded", command("restore", old_row)) if changed else (UNCHANGED, "")
    hint = f"replaced by: {new_id}" if changed and new_id else ""
    change = RecordChange(old_row.id, old_row.path, outcome, undo, hint)
    return change._replace(problems=(*problems, *healed), file=vault.file(old_row.path))


def superseded_edit(row: Named, by: str, reason: str, now: str) -> NoteEdit:
    """The edit of the superseded record. Raises `ConflictError` when it names another
    replacement."""

    def edit(note: Note) -> Note:
        current = parse_link_target(note.get("superseded_by"))
        if note.get("status").lower() == "superseded":
            if by and current and link_key(current) != link_key(by):
                hint = f"{command('restore', row)}, then supersede it anew"
                raise ConflictError(f"{row.id} is superseded by {current} already", hint)
            if (not by or current) and reason in ("", note.get("superseded_because")):
                return note
        said = {
            "superseded_by": f"[[{by}]]" if by else note.get("superseded_by"),
            "superseded_at": note.get("superseded_at") or now,
            "superseded_because": reason or note.get("superseded_because"),
        }
        return with_updated(set_inactive_status(note, "superseded", said), now)

    return edit


def replacement_edit(now: str, *links: str) -> NoteEdit:
    """The edit of the replacement, which links to the superseded records by these names."""

    def edit(note: Note) -> Note:
        changed = note
        for link in links:
            changed = with_relation(changed, SUPERSEDES, link)
        return with_updated(changed, now) if changed is not note else note

    return edit


def find_supersede_problems(catalogue: Catalogue) -> list[Problem]:
    """Records that supersede each other in a circle, and records whose replacement does not name
    them, after a crash or an edit by hand."""
    links = LinkGraph(catalogue)
    said = catalogue.edges_of(NoteFilter(statuses=("superseded",)), ("superseded_by",))
    newer = {number: links.resolve(edges[-1].target, number) for number, edges in said.items()}
    rows = catalogue.rows_by_number({*newer, *filter(None, newer.values())})
    cycles = {old: _cycle_of(old, newer) for old in newer}
    problems = [_cycle_problem(cycle, rows) for cycle in cycles.values() if cycle]
    # What cannot be read may say so nevertheless; its own problem is named.
    ignored = catalogue.numbers(NoteFilter(has_problem=True))
    outgoing = links.outgoing_by_note([number for number in newer.values() if number])
    for old, new in newer.items():
        # Somebody's own note need not say so: nobody but they write there.
        if not new or new in ignored or cycles[old]:
            continue
        stated = {(kind, target) for kind, _, target, _ in outgoing.get(new, ())}
        if is_editable(rows[new]) and (SUPERSEDES, old) not in stated:
            message = f"is superseded by {rows[new].id}, which does not say so"
            hint = command("supersede", rows[old], "--by", rows[new])
            problems.append(Problem(rows[old].path, message, hint))
    return sorted(problems)


def _cycle_of(start: int, newer: Mapping[int, int | None]) -> list[int]:
    """The records of a circle, each superseded by the next, from this one on; empty in none."""
    way, seen = [start], {start}
    while (at := newer.get(way[-1])) and at not in seen and len(way) < MAX_SUPERSEDED:
        way.append(at)
        seen.add(at)
    return way if at == start else []


def _cycle_problem(cycle: list[int], rows: Mapping[int, NoteRow]) -> Problem:
    """Two clones superseded crosswise, or somebody wrote it. A person must say which one holds."""
    one, *others = (rows[number] for number in cycle)
    message = "is superseded by itself"
    if others:
        chain = ", and that by ".join((*(other.id for other in others), "this one"))
        end = "so that none of them holds; restore it if this one holds"
        message = f"is superseded by {chain}, {end}"
    return Problem(one.path, message, command("restore", one))


def _resolve_pair(index: IndexSession, old: str, by: str) -> tuple[NoteRow, NoteRow | None, str]:
    """Both records, and how the new one links to the old one."""
    old_row = find_editable(index, old)
    if not by:
        return old_row, None, ""
    new_row = find_editable(index, by)
    if new_row.number == old_row.number:
        hint = "name another record with --by"
        raise InvalidInputError(f"{old_row.id} cannot supersede itself", hint)
    links = LinkGraph(index.catalogue)
    refuse_cycle(links, index, new_row, old_row)
    if new_row.status in HIDDEN_STATUSES:
        hint = f"{command('restore', new_row)}, or name the record that holds now"
        raise ConflictError(f"{new_row.id} is {new_row.status} itself", hint)
    return old_row, new_row, link_name_for(links, new_row, old_row)
