"""Put a record away: into the archive, out of sight, or off the disk."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.problem import InvalidInputError
from cortex.core.notes.edit import set_inactive_status, with_updated
from cortex.core.notes.note import Note
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.shell_command import cortex_command, option_words
from cortex.core.text.strings import one_line
from cortex.index.catalogue import NoteRow
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession
from cortex.operations.records import change_record
from cortex.operations.records.change_record import RecordChange
from cortex.operations.share.heal import try_heal
from cortex.vault.locate import Vault


def archive(vault: Vault, caller: Caller, id: str, *, reason: str = "") -> RecordChange:
    """Put a record into the archive: out of the briefings, and behind the others in search.

    Every link to it still works. `cortex restore ID` brings it back with the status it had.

    id: the record: its id, the beginning of it, or a path
    reason: why, in a few words

    Example: cortex archive use-sqlite-k3f7q2 --reason "the project has ended"
    """
    row, problems = change_record.resolve_editable(vault, caller, id)
    why = one_line(sanitize_text(reason))
    back = cortex_command("restore", change_record.command_name(row.id, row.path))

    def edit(note: Note) -> Note:
        status = note.get("status").lower()
        if status == "superseded":
            raise InvalidInputError(
                f"{row.id} is superseded, and so set aside already", f"{back}, then archive it"
            )
        if status == "archived" and why in ("", note.get("archived_because")):
            return note
        at = note.get("archived_at") or caller.now
        return with_updated(
            set_inactive_status(
                note,
                "archived",
                {"archived_at": at, "archived_because": why or note.get("archived_because")},
            ),
            caller.now,
        )

    if not change_record.edit_note(vault, row.path, edit):
        return RecordChange(row.id, row.path, "unchanged", "", problems=tuple(problems))
    return RecordChange(
        row.id, row.path, "archived", back, problems=(*problems, *try_heal(vault, caller))
    )


def set_aside_command(status: str, name: str, by: str, reason: str = "") -> str:
    """The command that gives a record this status anew; empty when it is not one of those set aside."""
    if status == "superseded":
        return cortex_command(
            "supersede", name, *option_words("by", by), *option_words("reason", reason)
        )
    if status == "archived":
        return cortex_command("archive", name, *option_words("reason", reason))
    return cortex_command("delete", name) if status == "deleted" else ""


def find_replacement(now: IndexSession, row: NoteRow) -> tuple[str, NoteRow | None, str]:
    """What holds in the place of a superseded record: the name that it says, the note of that name, and the word by which
    `cortex supersede` takes it; the last is empty where that would refuse it."""
    links = LinkGraph(now.catalogue)
    said, number = next(
        (
            (target, number)
            for kind, target, number, _ in links.outgoing(row.number)
            if kind == "superseded_by"
        ),
        ("", None),
    )
    by = now.catalogue.rows_by_number([number]).get(number) if number else None
    takes = (
        by is not None
        and by.number != row.number
        and change_record.is_editable(by)
        and by.status not in ("superseded", "deleted")
    )
    return said, by, change_record.command_name(by.id, by.path) if by and takes else ""
