"""Put a record into the archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import HIDDEN_STATUSES
from cortex.core.model.parameters import NoteQuery
from cortex.core.model.problem import InvalidInputError
from cortex.core.notes.edit import set_inactive_status
from cortex.core.notes.note import Note
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.shell_command import option_words
from cortex.core.text.strings import one_line
from cortex.index.catalogue import NoteRow
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession
from cortex.operations.records.change_record import (
    Edited,
    Named,
    RecordChange,
    change_record,
    command,
    command_name,
    is_editable,
)
from cortex.vault.locate import Vault

if TYPE_CHECKING:
    from cortex.operations.records.archive_by_words import ForgetResult


def archive(
    vault: Vault,
    caller: Caller,
    id: NoteQuery,
    *,
    reason: str = "",
    words: bool = False,
    yes: bool = False,
) -> RecordChange | ForgetResult:
    """Archive a record, by its name or by words that describe it.

    It is out of the briefings then, and behind the others in search; every link to it still works.
    `cortex restore ID` brings it back with the status it had.

    With --words only a record that is clearly meant: the only one whose title holds all words, or
    whose title is much like them and no other's is half as much. Otherwise the candidates are
    listed, with exit code 1.

    id: the record: its id, the beginning of it, or a path; with --words words of its title or text
    reason: why, in a few words
    words: find the record by words
    yes: with --words, archive the best candidate though others may be meant

    Example: cortex archive --words "the old deploy script"
    Example: cortex archive use-sqlite-k3f7q2 --reason "the project has ended"
    """
    if not words:
        if yes:
            hint = "cortex archive --words WORDS --yes"
            raise InvalidInputError("--yes belongs to --words", hint)
        return archive_record(vault, caller, id, reason)
    # The search engine, for which archiving by name has no use.
    from cortex.operations.records.archive_by_words import archive_by_words  # noqa: PLC0415

    return archive_by_words(vault, caller, id, reason=reason, yes=yes)


def archive_record(vault: Vault, caller: Caller, name: str, reason: str = "") -> RecordChange:
    why = one_line(sanitize_text(reason))

    def edit(note: Note, row: NoteRow) -> Edited:
        status, undo = note.get("status").lower(), command("restore", row)
        if status == "superseded":
            hint = f"{undo}, then archive it"
            raise InvalidInputError(f"{row.id} is superseded, and so set aside already", hint)
        if status == "archived" and why in ("", note.get("archived_because")):
            return Edited(note)
        said = {
            "archived_at": note.get("archived_at") or caller.now,
            "archived_because": why or note.get("archived_because"),
        }
        return Edited(set_inactive_status(note, "archived", said), undo)

    return change_record(vault, caller, name, "archived", edit)


def set_aside_command(status: str, row: Named, by: str, reason: str) -> str:
    """The command that sets this status again; empty for a status that is not set aside."""
    because = option_words("reason", reason)
    if status == "superseded":
        return command("supersede", row, *option_words("by", by), *because)
    if status == "archived":
        return command("archive", row, *because)
    return command("delete", row) if status == "deleted" else ""


def find_replacement(now: IndexSession, row: NoteRow) -> tuple[str, NoteRow | None, str]:
    """What replaces a superseded record: the name that it gives, the note of that name, and the
    name for `cortex supersede --by`, empty where that would be refused."""
    edges = LinkGraph(now.catalogue).outgoing(row.number)
    ways = ((target, number) for kind, target, number, _ in edges if kind == "superseded_by")
    said, number = next(ways, ("", None))
    by = now.catalogue.rows_by_number([number]).get(number) if number else None
    if by is None or by.number == row.number or by.status in HIDDEN_STATUSES:
        return said, by, ""
    return said, by, command_name(by) if is_editable(by) else ""
