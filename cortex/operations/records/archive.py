"""Put a record away: into the archive, out of sight, or off the disk."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, Invalid
from cortex.core.notes import note as notes
from cortex.core.notes.edit import set_aside, touched
from cortex.core.notes.note import Note
from cortex.core.redact.secrets import clean
from cortex.core.text.shell_command import line, option
from cortex.core.text.strings import one_line
from cortex.index.catalogue import Row
from cortex.index.links import Links
from cortex.index.refresh import Views, look
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.records import change_record
from cortex.operations.records.change_record import Changed
from cortex.operations.records.preserve_text import keep_removed, removed, said_last
from cortex.operations.share.heal import heal_by_the_way
from cortex.vault import files
from cortex.vault.git import checkout, objects
from cortex.vault.locate import Vault

_MOST_LINKS = 20  # notes that are named when what they link to goes


def archive(vault: Vault, caller: Caller, id: str, *, reason: str = "") -> Changed:
    """Put a record into the archive: out of the briefings, and behind the others in search.

    Every link to it still works. `cortex restore ID` brings it back with the status it had.

    id: the record: its id, the beginning of it, or a path
    reason: why, in a few words

    Example: cortex archive use-sqlite-k3f7q2 --reason "the project has ended"
    """
    row, problems = change_record.named(vault, caller, id)
    why = one_line(clean(reason))
    back = line("restore", change_record.word(row.id, row.path))

    def edit(note: Note) -> Note:
        status = note.get("status").lower()
        if status == "superseded":
            raise Invalid(
                f"{row.id} is superseded, and so set aside already", f"{back}, then archive it"
            )
        if status == "archived" and why in ("", note.get("archived_because")):
            return note
        at = note.get("archived_at") or caller.now
        return touched(
            set_aside(
                note,
                "archived",
                {"archived_at": at, "archived_because": why or note.get("archived_because")},
            ),
            caller.now,
        )

    if not change_record.apply(vault, row.path, edit):
        return Changed(row.id, row.path, "unchanged", "", problems=tuple(problems))
    return Changed(
        row.id, row.path, "archived", back, problems=(*problems, *heal_by_the_way(vault, caller))
    )


def delete(
    vault: Vault, caller: Caller, id: str, *, hard: bool = False, yes: bool = False
) -> Changed:
    """Delete a record. Its file stays, with the status `deleted`; it drops out of all answers that do not ask for it.

    `cortex restore ID` brings it back, `cortex show ID` still shows it. Notes that link to it are named. With --hard
    the file itself goes, if --yes is given too. The events that it came from stay in any case.

    id: the record: its id, the beginning of it, or a path
    hard: remove the file
    yes: remove it without asking back

    Example: cortex delete use-sqlite-k3f7q2
    Example: cortex delete use-sqlite-k3f7q2 --hard --yes
    """
    problems = freshen(vault, caller)
    row, links, kept = look(vault, caller.progress, lambda now: _linked(now, id))
    if hard:
        return _removed(vault, caller, row, links, kept, sure=yes)._replace(
            problems=(*problems, *heal_by_the_way(vault, caller))
        )

    def edit(note: Note) -> Note:
        if note.get("status").lower() == "deleted":
            return note
        return touched(set_aside(note, "deleted", {"deleted_at": caller.now}), caller.now)

    if not change_record.apply(vault, row.path, edit):
        return Changed(row.id, row.path, "unchanged", "", links=links, problems=tuple(problems))
    back = line("restore", change_record.word(row.id, row.path))
    return Changed(
        row.id,
        row.path,
        "deleted",
        back,
        links=links,
        problems=(*problems, *heal_by_the_way(vault, caller)),
    )


def aside_again(status: str, name: str, by: str, reason: str = "") -> str:
    """The command that gives a record this status anew; empty when it is not one of those set aside."""
    if status == "superseded":
        return line("supersede", name, *option("by", by), *option("reason", reason))
    if status == "archived":
        return line("archive", name, *option("reason", reason))
    return line("delete", name) if status == "deleted" else ""


def in_its_place(now: Views, row: Row) -> tuple[str, Row | None, str]:
    """What holds in the place of a superseded record: the name that it says, the note of that name, and the word by which
    `cortex supersede` takes it; the last is empty where that would refuse it."""
    links = Links(now.catalogue)
    said, number = next(
        (
            (target, number)
            for kind, target, number, _ in links.out(row.number)
            if kind == "superseded_by"
        ),
        ("", None),
    )
    by = now.catalogue.numbered([number]).get(number) if number else None
    takes = (
        by is not None
        and by.number != row.number
        and change_record.is_record(by)
        and by.status not in ("superseded", "deleted")
    )
    return said, by, change_record.word(by.id, by.path) if by and takes else ""


def _linked(now: Views, name: str) -> tuple[Row, tuple[str, ...], str]:
    """The record, the paths of current notes that link to it, and the latest event that keeps what it said when it was removed before."""
    row = change_record.record(resolve_note.one(now.catalogue, name))
    sources = now.catalogue.numbered(
        number for _, number, _ in Links(now.catalogue).back(row.number) if number != row.number
    )
    return (
        row,
        tuple(sorted(one.path for one in sources.values() if one.tier == 0))[:_MOST_LINKS],
        (removed(now.catalogue, row.id) or ("", ""))[1],
    )


def _removed(
    vault: Vault, caller: Caller, row: Row, links: tuple[str, ...], kept: str, *, sure: bool
) -> Changed:
    if busy := checkout.under_way(vault.root):
        raise Conflict(f"git is in the middle of a {busy}", "end it first: git status says how")
    data = files.read(vault.root, row.path)
    in_git = objects.committed(vault.root, [row.path]).get(row.path)
    note = notes.read(data, row.path)
    comes_back = in_git == data or (
        (in_git is None or note.get("topic") != "") and said_last(vault, note)
    )
    if kept > max(note.provenance()[0], default=""):  # restore would take that one for the latest
        comes_back = False
    session = note.get("type") == "session"  # what its events say together is its text
    keeps = not (comes_back or session or note.problems)
    came = len(note.provenance()[0])
    said = [f"its {came} event{'' if came == 1 else 's'}"] if came else []
    sources = " and ".join((["git's last commit of it"] if in_git is not None else []) + said)
    back = line("restore", change_record.word(row.id, row.path))
    if in_git == data and not keeps:
        where = "git's last commit has exactly these bytes"
    elif keeps and sources:
        where = f"git does not have these bytes; {back} makes it again from {sources}, with this text, which is kept as an event"
    elif sources and (comes_back or session):
        where = f"git does not have these bytes; {back} makes it again from {sources}, and no later edit"
    else:
        back, where = "", "git does not have these bytes, and no event holds its text"
    if not sure:
        raise Invalid(
            f"--hard removes {row.path}: {where}",
            line("delete", change_record.word(row.id, row.path), "--hard", "--yes"),
        )
    if keeps:
        event = keep_removed(vault, caller, note)
        where = (
            where
            if back
            else f"nothing makes it again as it was; what it said stays in an event: {line('show', event)}"
        )
    change_record.remove(vault, row.path, data)
    return Changed(row.id, row.path, "removed", back, where, links)
