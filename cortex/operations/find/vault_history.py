"""What changed in the vault: its last commits, the notes that each touched, and what undoes that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal, TypeAlias

from cortex.core.model.caller import Caller
from cortex.core.model.layout import is_among_briefings, is_event_path
from cortex.core.model.note_status import TIER_CURRENT, TIER_TRAIL
from cortex.core.model.parameters import Time
from cortex.core.notes import note as notes
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import query_index
from cortex.operations.find.resolve_note import command
from cortex.vault.git import changes, git_cli, note_history, objects
from cortex.vault.git.note_history import NoteCommit
from cortex.vault.locate import Vault

_WEEK_SECONDS = 7 * 24 * 3600
_MAX_NOTES = 100  # of one commit
_MAX_READ = 1000  # notes that are gone or elsewhere now, and are read in git
Change: TypeAlias = Literal["added", "changed", "removed", "renamed"]


class ChangedNote(NamedTuple):
    """A note that a commit touched."""

    id: str
    title: str
    type: str
    path: str  # relative to the vault: after the commit, or before it when that removed the note
    change: Change
    undo: str  # the command that undoes it; empty where none of Cortex's does
    before: str = ""  # its path, of one that was renamed
    file: str = ""  # absolute path, where the note is now; empty when it is gone


class VaultCommit(NamedTuple):
    """A commit of the vault, or what is not committed yet."""

    commit: str  # empty for what is not committed
    at: Time
    author: str
    subject: str
    notes: tuple[ChangedNote, ...]
    more: int  # notes that were left out
    events: int
    briefings: int
    others: int  # files that are no notes


def recent_commits(
    vault: Vault, caller: Caller, since: int | None, number: int
) -> tuple[tuple[VaultCommit, ...], int]:
    """The newest commits that touched the vault, before them what is not committed, and how many were
    left out. Merges are not among them: what they joined is."""
    begin = epoch_seconds(caller.now) - _WEEK_SECONDS if since is None else since
    found = note_history.list_recent_commits(vault.root, begin)
    waiting = [(one.kind, one.path, "") for one in changes.list_status(vault.root, (".",))]
    head = ("HEAD",) if git_cli.has_commit(vault.root) else ()
    mine = [NoteCommit("", head, "", "you", "not committed yet", waiting)] if waiting else []
    shown = [*mine, *found[:number]]
    told = query_index(vault, caller.progress, lambda index: _tell(vault, index.catalogue, shown))
    return told, len(found) - len(found[:number])


def _tell(
    vault: Vault, catalogue: Catalogue, commits: Sequence[NoteCommit]
) -> tuple[VaultCommit, ...]:
    kinds = [Counter(_kind_of(path) for _, path, _ in commit.changes) for commit in commits]
    touched = [
        (commit, status, path, blob or (f"{commit.parents[0]}:./{path}" if commit.parents else ""))
        for commit in commits
        for status, path, blob in [one for one in commit.changes if _kind_of(one[1]) == "note"][
            :_MAX_NOTES
        ]
    ]
    rows = {path: catalogue.row_at(path) for _, status, path, _ in touched if status != "D"}
    gone = [text for _, _, path, text in touched if not rows.get(path)][:_MAX_READ]
    old = {name: notes.read(data) for name, data in objects.read_blobs(vault.root, gone).items()}
    ids = {note.get("id") for note in old.values()} - {""}
    by_id = {row.id: row for row in catalogue.find(NoteFilter(ids=ids), "path")}
    told: dict[str, list[ChangedNote]] = {commit.id: [] for commit in commits}
    for commit, status, path, text in touched:
        note = old.get(text) or notes.read(b"")
        row = (rows[path] if status != "D" else None) or by_id.get(note.get("id"))
        name = note.title or path.rpartition("/")[2].removesuffix(".md")
        about = note.get("id") or path, name, note.get("type")
        about = (row.id, row.title, row.type) if row else about
        change: Change = "added" if status == "A" else "removed" if status == "D" else "changed"
        undo = _undo(row, about[0], change, commit.parents)
        file = vault.file(row.path) if row else ""
        told[commit.id].append(ChangedNote(*about, path, change, undo, file=file))
    return tuple(
        VaultCommit(
            *(commit.id, commit.date, commit.author, commit.subject),
            tuple(_join_moves(told[commit.id])),
            max(0, count["note"] - _MAX_NOTES),
            *(count["event"], count["briefing"], count["other"]),
        )
        for commit, count in zip(commits, kinds, strict=True)
    )


def _join_moves(touched: Sequence[ChangedNote]) -> list[ChangedNote]:
    """The notes; one that is gone here and came there, by its id, was renamed."""
    gone = {one.id: one.path for one in touched if one.change == "removed"}
    moved = gone.keys() & {one.id for one in touched if one.change == "added"}
    return [
        one._replace(change="renamed", before=gone[one.id], undo="") if one.id in moved else one
        for one in touched
        if one.change != "removed" or one.id not in moved
    ]


def _undo(row: NoteRow | None, id_: str, change: str, parents: Sequence[str]) -> str:
    """The command that undoes a change: none for a person's own note, in which Cortex does not write,
    nor for a session, which is made of its events."""
    if change == "removed":
        return "" if row or id_.endswith(".md") else command("restore", id_)
    if row is None or row.id == row.path or row.tier == TIER_TRAIL:
        return ""
    if change == "added":
        return command("archive", row) if row.tier == TIER_CURRENT else ""
    is_text = row.type != "session" and parents
    return command("restore", row, "--at", parents[0][:12]) if is_text else ""


def _kind_of(path: str) -> str:
    if is_event_path(path):
        return "event"
    is_note = path.endswith(".md") and "/." not in f"/{path}"
    return "briefing" if is_among_briefings(path) else "note" if is_note else "other"
