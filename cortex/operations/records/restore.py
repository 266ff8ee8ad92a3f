"""Bring records back: what was set aside, with the status it had; what is gone, from git or from its events."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import Conflict, CortexError, Invalid, NotFound, Problem
from cortex.core.model.status import ASIDE
from cortex.core.normalize.changes import Create, Fold, Grow, Known, Upsert
from cortex.core.normalize.handlers import amend, normalize, read_event
from cortex.core.normalize.topic_upsert import EDIT, record_of, upserted
from cortex.core.notes import note as notes
from cortex.core.notes.edit import back_a_step, touched
from cortex.core.notes.note import Note
from cortex.core.text.shell_command import line
from cortex.core.text.strings import one_line
from cortex.index.catalogue import Row
from cortex.index.refresh import Views, look
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.find.history import history
from cortex.operations.records import change_record
from cortex.operations.records.archive import aside_again, in_its_place
from cortex.operations.records.change_record import Changed
from cortex.operations.records.preserve_text import removed, with_removed
from cortex.operations.records.supersede import letting_go
from cortex.operations.share.heal import heal_by_the_way
from cortex.vault import files, settings
from cortex.vault.git import objects
from cortex.vault.git.change_marker import forget
from cortex.vault.locate import Vault

REFUSED = "refused"
_MOST = 1000  # commits and events of one note that are looked at
_MOST_READ = 2 * events.MAX_BYTES


class Restored(NamedTuple):
    """What came back, in the order in which it was asked for."""

    records: tuple[Changed, ...]
    problems: tuple[Problem, ...]


class _Back(NamedTuple):
    """A record that is there, and what holds in its place."""

    row: Row
    said: str  # the name of that one, as the record has it
    by: Row | None
    word: str  # by which `supersede` takes it; empty when it does not


def restore(vault: Vault, caller: Caller, ids: str) -> Restored:
    """Bring back what was archived, deleted, superseded or pruned.

    A record that is there gets the status that it had; one that was superseded, and the one in its place, no longer say so. What was
    archived before it was superseded or deleted is archived then; once more makes it current.
    A record whose file is gone comes back as git's last commit had it, with what its later events say; without a commit as
    its events say. Of several, those that cannot be restored stop no other.

    ids: the records: ids, or the beginnings of ids, with blanks between

    Example: cortex restore use-sqlite-k3f7q2
    Example: cortex restore use-sqlite-k3f7q2 use-files-p2r6wq
    """
    names = ids.split()
    if not names:
        raise Invalid(
            "there is nothing to restore",
            "cortex restore ID; cortex search --all finds what was set aside",
        )
    problems = freshen(vault, caller)
    there = look(vault, caller.progress, lambda now: _all_found(now, ids.strip(), names))
    records = []
    for name, held in there.items():
        try:
            records.append(_restored(vault, caller, name, held))
        except (CortexError, OSError) as error:
            if len(there) == 1:
                raise
            hint = error.hint if isinstance(error, CortexError) else "check its permissions"
            records.append(
                Changed(
                    held.row.id if held else name,
                    held.row.path if held else "",
                    REFUSED,
                    "",
                    f"{error}; {hint}",
                )
            )
    if any(one.outcome == "restored" for one in records):
        problems += heal_by_the_way(vault, caller)
    return Restored(tuple(records), tuple(problems))


def _all_found(now: Views, whole: str, names: list[str]) -> dict[str, _Back | None]:
    """The records that are named; one, where an id with blanks in it is."""
    if len(names) > 1 and next(now.catalogue.rows("id = ? OR path = ?", (whole, whole)), None):
        names = [whole]
    return {name: _found(now, name) for name in names}


def _found(now: Views, name: str) -> _Back | None:
    """The record in the vault; None when it is gone."""
    matches = resolve_note.matches(now.catalogue, name)
    rows = [row for row in matches if not row.path.startswith(("inbox/", "events/"))]
    if not rows:
        for row in matches:
            change_record.record(row)  # which says that events are never edited
        return None
    row = change_record.record(resolve_note.one(now.catalogue, name) if len(rows) > 1 else rows[0])
    return _Back(row, *in_its_place(now, row))


def _restored(vault: Vault, caller: Caller, name: str, held: _Back | None) -> Changed:
    if held is None:
        return _from_git(vault, caller, name) or _from_events(vault, caller, name)
    row, word, hint = held.row, held.word, ""
    undo: list[str] = []
    left: list[str] = []

    def edit(note: Note) -> Note:
        status = note.get("status").lower()
        if status not in ASIDE:
            return note
        undo[:] = [
            aside_again(
                status,
                change_record.word(row.id, row.path),
                word,
                one_line(note.get(f"{status}_because")),
            )
        ]
        back = back_a_step(note)
        left[:] = [back.get("status")]
        return touched(back, caller.now)

    before = notes.parse(files.read(vault.root, row.path), row.path)
    if row.status in ASIDE and held.said and "superseded_by" not in back_a_step(before).fields:
        # The other one first: should we end here, this record still says where to go on.
        if held.by is None:
            hint = f"there is no {held.said} any more, which held in its place"
        elif not change_record.is_record(held.by):
            hint = (
                f"{held.by.path} held in its place, and stays as it is: Cortex does not write there"
            )
        else:
            stem = row.path.removesuffix(".md")
            meant = {one.casefold() for one in (row.id, stem, f"/{stem}", stem.rpartition("/")[2])}
            change_record.apply(
                vault,
                held.by.path,
                letting_go(lambda one: one.removesuffix(".md").casefold() in meant, caller.now),
            )
    if not change_record.apply(vault, row.path, edit):
        return Changed(row.id, row.path, "unchanged", "", f"its status is {row.status or 'active'}")
    if left[0] in ASIDE:
        still = f"it is {left[0]}, as it was before: {line('restore', change_record.word(row.id, row.path))} once more makes it current"
        hint = f"{hint}; {still}" if hint else still
    return Changed(row.id, row.path, "restored", undo[0], hint)


def _from_git(vault: Vault, caller: Caller, name: str) -> Changed | None:
    """The record as the last commit that had it has it; None when none had."""
    try:
        known = history(vault, caller, name, number=_MOST)
    except NotFound as error:
        near = look(vault, caller.progress, lambda now: resolve_note.closest(now.catalogue, name))
        raise NotFound(
            error.message, f"did you mean {', '.join(near)}?" if near else error.hint
        ) from error
    last = next((version for version in known.versions if version.blob), None)
    if last is None:
        return None
    data = objects.blobs(vault.root, [last.blob]).get(last.blob)
    if data is None:
        raise NotFound(f"git no longer has what {last.commit[:10]} held", "git fetch, or git fsck")
    named, _ = notes.read(data, last.path).provenance()
    later = 0
    for text in sorted(known.texts):
        if (
            text.event not in named
            and (grown := _grown(vault, known.id, text.path, last.path, data)[1]) != data
        ):
            data, later = grown, later + 1
    data, kept = _with_kept(vault, caller, known.id, last.path, data)
    later += kept
    more = f", and {later} later event{'' if later == 1 else 's'}" if later else ""
    return _put(
        vault, known.id or last.path, last.path, data, f"as git had it in {last.commit[:10]}{more}"
    )


def _from_events(vault: Vault, caller: Caller, name: str) -> Changed:
    """The record made again from the events that made it."""
    known = history(vault, caller, name, number=_MOST)
    path, data = "", b""
    for text in sorted(known.texts):
        path, data = _grown(vault, known.id, text.path, path, data)
    if not path:
        raise NotFound(
            f"no event makes {known.id} again",
            f"{line('history', known.id)} shows what is kept of it",
        )
    data, _ = _with_kept(vault, caller, known.id, path, data)
    return _put(vault, known.id, path, data, "as its events say; no commit had it")


def _with_kept(vault: Vault, caller: Caller, id_: str, path: str, data: bytes) -> tuple[bytes, int]:
    """The record with what was kept of it when its file was removed, if nothing later was said; and how many events that are."""
    held = look(vault, caller.progress, lambda now: removed(now.catalogue, id_))
    note = notes.read(data, path)
    named, _ = note.provenance()
    if not id_ or not held or note.problems or held[1] in named or held[1] < max(named, default=""):
        return data, 0
    event = _event(vault, held[0])
    return (
        (notes.write(with_removed(note, event)), 1) if event and event.source == EDIT else (data, 0)
    )


def _grown(vault: Vault, id_: str, event_path: str, path: str, data: bytes) -> tuple[str, bytes]:
    """The record's place and bytes after one more of its events."""
    event = _event(vault, event_path)
    known = Known()
    known.phrases = settings.load(vault.root).phrases
    if event is None:
        return path, data
    if path:
        known.paths[id_] = path
    for change in normalize(event, known, unfinished=True):
        if isinstance(change, Create):
            if change.id == id_ and not path:
                return change.path, change.text.encode()
        elif change.path == path and isinstance(change, Upsert):
            # What the earlier event said is in that event: nothing has to be kept, so it is said to be said.
            return path, upserted(data, change, lambda _: [record_of(notes.read(data))]).data
        elif change.path == path and isinstance(change, (Grow, Fold)):
            return path, amend(data, change)
    return path, data


def _event(vault: Vault, path: str) -> Event | None:
    try:
        return read_event(files.read(vault.root, path, _MOST_READ), path)
    except (CortexError, OSError):
        return None  # somebody has made it unreadable; the others may do


def _put(vault: Vault, id_: str, path: str, data: bytes, how: str) -> Changed:
    forget(vault)  # a run that ends here leaves briefings to heal
    try:
        files.publish(vault.root, path, data)
    except FileExistsError:
        raise Conflict(
            f"{path} is taken by another note", f"move that one, then {line('restore', id_)}"
        ) from None
    status = notes.read(data, path).get("status").lower()
    hint = (
        f"{how}; it is {status}: {line('restore', id_)} makes it current"
        if status in ASIDE
        else how
    )
    return Changed(id_, path, "restored", line("delete", id_, "--hard", "--yes"), hint)
