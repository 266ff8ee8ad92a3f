"""Bring records back: what was set aside, with the status it had; what is gone, from git or from its events."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.note_status import SET_ASIDE_STATUSES
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    NotFoundError,
    Problem,
)
from cortex.core.normalize.changes import (
    AddProvenance,
    AppendToSession,
    CreateNote,
    ExistingRecords,
    UpsertTopic,
)
from cortex.core.normalize.handlers import amend_note, changes_for_event, parse_event
from cortex.core.normalize.topic_upsert import EDIT_SOURCE, record_from_note, upsert_record
from cortex.core.notes import note as notes
from cortex.core.notes.edit import restore_previous_status, with_updated
from cortex.core.notes.note import Note
from cortex.core.text.shell_command import cortex_command
from cortex.core.text.strings import one_line
from cortex.index.catalogue import NoteRow
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.find.history import history
from cortex.operations.records import change_record
from cortex.operations.records.archive import find_replacement, set_aside_command
from cortex.operations.records.change_record import RecordChange
from cortex.operations.records.preserve_text import find_removal_event, with_text_of_removal
from cortex.operations.records.supersede import no_longer_replacing_edit
from cortex.operations.share.heal import try_heal
from cortex.vault import files, settings
from cortex.vault.git import objects
from cortex.vault.git.change_marker import mark_briefings_stale
from cortex.vault.locate import Vault

REFUSED = "refused"
_MAX_VERSIONS = 1000  # commits and events of one note that are looked at
_MAX_EVENT_BYTES = 2 * events.MAX_CONTENT_BYTES


class RestoreResult(NamedTuple):
    """What came back, in the order in which it was asked for."""

    records: tuple[RecordChange, ...]
    problems: tuple[Problem, ...]


class _RestoreTarget(NamedTuple):
    """A record that is there, and what holds in its place."""

    row: NoteRow
    replacement_name: str  # the name of that one, as the record has it
    replacement: NoteRow | None
    replacement_command_name: str  # by which `supersede` takes it; empty when it does not


def restore(vault: Vault, caller: Caller, ids: str) -> RestoreResult:
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
        raise InvalidInputError(
            "there is nothing to restore",
            "cortex restore ID; cortex search --all finds what was set aside",
        )
    problems = ensure_fresh(vault, caller)
    there = query_index(vault, caller.progress, lambda now: _find_targets(now, ids.strip(), names))
    records = []
    for name, held in there.items():
        try:
            records.append(_restore_one(vault, caller, name, held))
        except (CortexError, OSError) as error:
            if len(there) == 1:
                raise
            hint = error.hint if isinstance(error, CortexError) else "check its permissions"
            records.append(
                RecordChange(
                    held.row.id if held else name,
                    held.row.path if held else "",
                    REFUSED,
                    "",
                    f"{error}; {hint}",
                )
            )
    if any(one.outcome == "restored" for one in records):
        problems += try_heal(vault, caller)
    return RestoreResult(tuple(records), tuple(problems))


def _find_targets(
    now: IndexSession, whole: str, names: list[str]
) -> dict[str, _RestoreTarget | None]:
    """The records that are named; one, where an id with blanks in it is."""
    if len(names) > 1 and next(now.catalogue.rows("id = ? OR path = ?", (whole, whole)), None):
        names = [whole]
    return {name: _find_target(now, name) for name in names}


def _find_target(now: IndexSession, name: str) -> _RestoreTarget | None:
    """The record in the vault; None when it is gone."""
    matches = resolve_note.find_all(now.catalogue, name)
    rows = [row for row in matches if not row.path.startswith(("inbox/", "events/"))]
    if not rows:
        for row in matches:
            change_record.check_editable(row)  # which says that events are never edited
        return None
    row = change_record.check_editable(
        resolve_note.find_one(now.catalogue, name) if len(rows) > 1 else rows[0]
    )
    return _RestoreTarget(row, *find_replacement(now, row))


def _restore_one(
    vault: Vault, caller: Caller, name: str, held: _RestoreTarget | None
) -> RecordChange:
    if held is None:
        return _restore_from_git(vault, caller, name) or _restore_from_events(vault, caller, name)
    row, word, hint = held.row, held.replacement_command_name, ""
    undo: list[str] = []
    left: list[str] = []

    def edit(note: Note) -> Note:
        status = note.get("status").lower()
        if status not in SET_ASIDE_STATUSES:
            return note
        undo[:] = [
            set_aside_command(
                status,
                change_record.command_name(row.id, row.path),
                word,
                one_line(note.get(f"{status}_because")),
            )
        ]
        back = restore_previous_status(note)
        left[:] = [back.get("status")]
        return with_updated(back, caller.now)

    before = notes.read_strict(files.read(vault.root, row.path), row.path)
    if (
        row.status in SET_ASIDE_STATUSES
        and held.replacement_name
        and "superseded_by" not in restore_previous_status(before).fields
    ):
        # The other one first: should we end here, this record still says where to go on.
        if held.replacement is None:
            hint = f"there is no {held.replacement_name} any more, which held in its place"
        elif not change_record.is_editable(held.replacement):
            hint = f"{held.replacement.path} held in its place, and stays as it is: Cortex does not write there"
        else:
            stem = row.path.removesuffix(".md")
            meant = {one.casefold() for one in (row.id, stem, f"/{stem}", stem.rpartition("/")[2])}
            change_record.edit_note(
                vault,
                held.replacement.path,
                no_longer_replacing_edit(
                    lambda one: one.removesuffix(".md").casefold() in meant, caller.now
                ),
            )
    if not change_record.edit_note(vault, row.path, edit):
        return RecordChange(
            row.id, row.path, "unchanged", "", f"its status is {row.status or 'active'}"
        )
    if left[0] in SET_ASIDE_STATUSES:
        still = f"it is {left[0]}, as it was before: {cortex_command('restore', change_record.command_name(row.id, row.path))} once more makes it current"
        hint = f"{hint}; {still}" if hint else still
    return RecordChange(row.id, row.path, "restored", undo[0], hint)


def _restore_from_git(vault: Vault, caller: Caller, name: str) -> RecordChange | None:
    """The record as the last commit that had it has it; None when none had."""
    try:
        known = history(vault, caller, name, number=_MAX_VERSIONS)
    except NotFoundError as error:
        near = query_index(
            vault, caller.progress, lambda now: resolve_note.closest_ids(now.catalogue, name)
        )
        raise NotFoundError(
            error.message, f"did you mean {', '.join(near)}?" if near else error.hint
        ) from error
    last = next((version for version in known.versions if version.blob), None)
    if last is None:
        return None
    data = objects.read_blobs(vault.root, [last.blob]).get(last.blob)
    if data is None:
        raise NotFoundError(
            f"git no longer has what {last.commit[:10]} held", "git fetch, or git fsck"
        )
    named, _ = notes.read(data, last.path).provenance()
    later = 0
    for text in sorted(known.texts):
        if (
            text.event not in named
            and (grown := _replay_event(vault, known.id, text.path, last.path, data)[1]) != data
        ):
            data, later = grown, later + 1
    data, kept = _with_removal_text(vault, caller, known.id, last.path, data)
    later += kept
    more = f", and {later} later event{'' if later == 1 else 's'}" if later else ""
    return _publish_restored(
        vault, known.id or last.path, last.path, data, f"as git had it in {last.commit[:10]}{more}"
    )


def _restore_from_events(vault: Vault, caller: Caller, name: str) -> RecordChange:
    """The record made again from the events that made it."""
    known = history(vault, caller, name, number=_MAX_VERSIONS)
    path, data = "", b""
    for text in sorted(known.texts):
        path, data = _replay_event(vault, known.id, text.path, path, data)
    if not path:
        raise NotFoundError(
            f"no event makes {known.id} again",
            f"{cortex_command('history', known.id)} shows what is kept of it",
        )
    data, _ = _with_removal_text(vault, caller, known.id, path, data)
    return _publish_restored(vault, known.id, path, data, "as its events say; no commit had it")


def _with_removal_text(
    vault: Vault, caller: Caller, id_: str, path: str, data: bytes
) -> tuple[bytes, int]:
    """The record with what was kept of it when its file was removed, if nothing later was said; and how many events that are."""
    held = query_index(vault, caller.progress, lambda now: find_removal_event(now.catalogue, id_))
    note = notes.read(data, path)
    named, _ = note.provenance()
    if not id_ or not held or note.problems or held[1] in named or held[1] < max(named, default=""):
        return data, 0
    event = _load_event(vault, held[0])
    return (
        (notes.write(with_text_of_removal(note, event)), 1)
        if event and event.source == EDIT_SOURCE
        else (data, 0)
    )


def _replay_event(
    vault: Vault, id_: str, event_path: str, path: str, data: bytes
) -> tuple[str, bytes]:
    """The record's place and bytes after one more of its events."""
    event = _load_event(vault, event_path)
    known = ExistingRecords()
    known.phrases = settings.load(vault.root).phrases
    if event is None:
        return path, data
    if path:
        known.path_by_id[id_] = path
    for change in changes_for_event(event, known, unfinished=True):
        if isinstance(change, CreateNote):
            if change.record.id == id_ and not path:
                return change.path, change.text.encode()
        elif change.path == path and isinstance(change, UpsertTopic):
            # What the earlier event said is in that event: nothing has to be kept, so it is said to be said.
            return path, upsert_record(
                data, change, lambda _: [record_from_note(notes.read(data))]
            ).data
        elif change.path == path and isinstance(change, (AddProvenance, AppendToSession)):
            return path, amend_note(data, change)
    return path, data


def _load_event(vault: Vault, path: str) -> Event | None:
    try:
        return parse_event(files.read(vault.root, path, _MAX_EVENT_BYTES), path)
    except (CortexError, OSError):
        return None  # somebody has made it unreadable; the others may do


def _publish_restored(vault: Vault, id_: str, path: str, data: bytes, how: str) -> RecordChange:
    mark_briefings_stale(vault)  # a run that ends here leaves briefings to heal
    try:
        files.create(vault.root, path, data)
    except FileExistsError:
        raise ConflictError(
            f"{path} is taken by another note",
            f"move that one, then {cortex_command('restore', id_)}",
        ) from None
    status = notes.read(data, path).get("status").lower()
    hint = (
        f"{how}; it is {status}: {cortex_command('restore', id_)} makes it current"
        if status in SET_ASIDE_STATUSES
        else how
    )
    return RecordChange(
        id_, path, "restored", cortex_command("delete", id_, "--hard", "--yes"), hint
    )
