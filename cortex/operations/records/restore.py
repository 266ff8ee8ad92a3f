"""Bring back what was put away: records to their earlier status, missing ones from git or their events,
failed events into the inbox."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from cortex.core.model.caller import Caller
from cortex.core.model.event import is_event_id
from cortex.core.model.layout import is_event_path
from cortex.core.model.note_status import HIDDEN_STATUSES, SET_ASIDE_STATUSES, decode_text
from cortex.core.model.parameters import NoteName
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    NotFoundError,
    Problem,
    problem_of,
)
from cortex.core.model.record import Record
from cortex.core.normalize.changes import (
    AddProvenance,
    AppendToSession,
    CreateNote,
    ExistingRecords,
    UpsertTopic,
)
from cortex.core.normalize.handlers import amend_note, changes_for_event
from cortex.core.normalize.topic_upsert import EDIT_SOURCE, record_from_note, upsert_record
from cortex.core.notes import note as notes
from cortex.core.notes.edit import (
    normalized_body,
    restore_previous_status,
    with_body,
    with_fields,
    with_provenance,
    with_updated,
    without_supersedes,
)
from cortex.core.notes.erasure import hash_of_id
from cortex.core.notes.note import Note
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import format_count, one_line, option_words
from cortex.core.text.value import NamedTuple
from cortex.core.text.yaml_writer import YamlValue
from cortex.index.catalogue import NoteRow
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.history import history
from cortex.operations.find.resolve_note import (
    closest_ids,
    command,
    command_name,
    find_all,
    find_one,
)
from cortex.operations.records.change_record import (
    Edited,
    RecordChange,
    check_editable,
    edit_record,
    is_editable,
)
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.edit_note import edit_note
from cortex.operations.upkeep.heal import try_heal
from cortex.operations.upkeep.inbox import InboxNormalizer
from cortex.operations.upkeep.normalize import INBOX_LOCK_TIMEOUT_SECONDS
from cortex.operations.upkeep.preserve_text import (
    find_removal_event,
    load_event,
    preserve_text,
    with_text_of_removal,
)
from cortex.operations.upkeep.record_lock import record_lock
from cortex.vault import erased, files, settings
from cortex.vault.git import git_cli, objects
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import mark_briefings_stale

REFUSED = "refused"
# Of a version of then: what an id is made of, what another note says as well, what Cortex counts by.
_FIELDS_THAT_STAY = (
    "id", "project", "scope", "topic", "created", "updated", "provenance", "supersedes", "superseded_by",
    "superseded_at", "superseded_because", "merge_conflicts", "line_digest",
)  # fmt: skip
_MAX_VERSIONS = 1000  # commits and events of one note that are looked at


class RestoreResult(NamedTuple):
    """The outcome for each record, in the order of the arguments."""

    hits: tuple[RecordChange, ...]
    total: int
    problems: tuple[Problem, ...]


class _RestoreTarget(NamedTuple):
    """A record in the vault, and what replaces it."""

    row: NoteRow
    replacement_name: str  # the name of that one, as the record has it
    replacement: NoteRow | None
    replacement_command_name: str  # by which `supersede` takes it; empty when it does not


def restore(vault: Vault, caller: Caller, ids: list[NoteName], *, at: str = "") -> RestoreResult:
    """Bring back what was archived, deleted, superseded or pruned.

    A record that is there gets the status that it had; one that was superseded, and the one in its
    place, no longer say so. What was archived before it was superseded, pruned or deleted is
    archived then; once more makes it current. A record whose file is gone comes back as git's last
    commit had it, with what its later events say; without a commit as its events say. Of several,
    those that cannot be restored stop no other.

    With --at the record gets the text and fields that it had in a commit, or the text of one of its events, as a new
    version; its project, scope and topic, what replaces what, and where it came from stay.

    ids: the records: ids, or the beginnings of ids
    at: the commit, such as HEAD, or the event; cortex history ID shows those of a record

    Example: cortex restore use-sqlite-k3f7q2
    Example: cortex restore use-sqlite-k3f7q2 use-files-p2r6wq
    Example: cortex restore use-sqlite-k3f7q2 --at HEAD~3
    """
    there, problems = query_fresh(
        vault, caller, lambda index: {name: _find_target(index, name) for name in ids}
    )
    changes = []
    for name, target in there.items():
        try:
            then = (vault, caller, name, target)
            changes.append(_restore_version(*then, at) if at else _restore(*then))
        except (CortexError, OSError) as error:
            if len(there) == 1:
                raise
            id_, path = (target.row.id, target.row.path) if target else (name, "")
            failed = problem_of(path, error)
            hint, file = f"{failed.message}; {failed.hint}", path and vault.file(path)
            changes.append(RecordChange(id_, path, REFUSED, hint=hint, file=file))
    if any(one.outcome == "restored" for one in changes):
        problems += try_heal(vault, caller)
    return RestoreResult(tuple(changes), len(changes), tuple(problems))


def take_back_supersession(vault: Vault, caller: Caller, name: str) -> list[RecordChange]:
    """Restore a record that another one replaced, in both notes, until nothing holds in its place: what
    was done, in order; empty for any other record. Heals nothing."""
    taken: list[RecordChange] = []
    while True:
        target, _ = query_fresh(vault, caller, _find_target, name)
        if not (target and target.replacement_name and target.row.status in SET_ASIDE_STATUSES):
            return taken
        taken.append(_restore(vault, caller, name, target))


class RetryResult(NamedTuple):
    """A failed event that is pending again."""

    id: str
    path: str  # relative to the vault
    file: str  # absolute path


def retry(vault: Vault, caller: Caller, event: str) -> RetryResult:
    """Move a failed event back into the inbox.

    The reason that was put before it is taken out.

    event: the event's id

    Example: cortex retry 20261120t164512z-k3f7q2abcd
    """
    del caller
    name = event.removesuffix(".md")
    source = vault.layout().failed(name)
    with record_lock(vault, INBOX_LOCK_TIMEOUT_SECONDS):
        if not files.exists(vault.root, source):
            hint = "cortex status lists what failed"
            raise NotFoundError(f"there is no failed event {name}", hint)
        data = files.read(vault.root, source)
        envelope = notes.read(data)
        if envelope.get("status") != "failed":
            hint = f"move it to {vault.layout().pending()} by hand"
            raise InvalidInputError(f"{source} does not begin with the reason of a failure", hint)
        target = vault.layout().pending(name)
        try:
            files.create(vault.root, target, envelope.body)
        except FileExistsError:
            if files.read(vault.root, target) != envelope.body:
                hint = "cortex normalize, then retry again"
                raise ConflictError(f"{target} waits already, with another text", hint) from None
        files.remove(vault.root, source)
    return RetryResult(name, target, vault.file(target))


def _find_target(index: IndexSession, name: str) -> _RestoreTarget | None:
    """The record in the vault; None when it is gone."""
    # A person's own note that is only called so is not what was deleted.
    matches = [
        row for row in find_all(index.catalogue, name) if row.id != row.path or row.path == name
    ]
    rows = [row for row in matches if not is_event_path(row.path)]
    if not rows:
        for row in matches:
            check_editable(row)  # which says that events are never edited
        return None
    row = check_editable(find_one(index.catalogue, name) if len(rows) > 1 else rows[0])
    edges = LinkGraph(index.catalogue).outgoing(row.number)
    ways = ((to, number) for kind, to, number, _ in edges if kind == "superseded_by")
    said, number = next(ways, ("", None))
    by = index.catalogue.rows_by_number([number]).get(number) if number else None
    if by is None or by.number == row.number or by.status in HIDDEN_STATUSES:
        return _RestoreTarget(row, said, by, "")
    return _RestoreTarget(row, said, by, command_name(by) if is_editable(by) else "")


def _set_aside_command(status: str, target: _RestoreTarget, reason: str) -> str:
    """The command that sets this status again; empty for a status that is not set aside."""
    because, row = option_words("reason", reason), target.row
    if status == "superseded":
        by = option_words("by", target.replacement_command_name)
        return command("supersede", row, *by, *because)
    if status == "archived":
        return command("archive", row, *because)
    return command("delete", row) if status == "deleted" else ""


def _restore(
    vault: Vault, caller: Caller, name: str, target: _RestoreTarget | None
) -> RecordChange:
    if target is None:
        return _restore_gone(vault, caller, name)
    row, hint = target.row, ""

    def edit(note: Note, row: NoteRow) -> Edited:
        status = note.get("status").lower()
        if status not in SET_ASIDE_STATUSES:
            return Edited(note, hint=f"its status is {row.status or 'active'}")
        because = one_line(note.get(f"{status}_because"))
        undo = _set_aside_command(status, target, because)
        restored = restore_previous_status(note)
        still = f"it is {restored.get('status')}, as it was before: {command('restore', row)} once more makes it current"
        is_aside = restored.get("status") in SET_ASIDE_STATUSES
        return Edited(restored, undo, "; ".join(filter(None, (hint, still if is_aside else ""))))

    before = notes.read_strict(files.read(vault.root, row.path), row.path)
    if (
        row.status in SET_ASIDE_STATUSES
        and target.replacement_name
        and "superseded_by" not in restore_previous_status(before).fields
    ):
        # The other one first: should we end here, this record still says where to go on.
        if target.replacement is None:
            hint = f"there is no {target.replacement_name} any more, which held in its place"
        elif not is_editable(target.replacement):
            hint = f"{target.replacement.path} held in its place, and stays as it is: Cortex does not write there"
        else:
            stem = row.path.removesuffix(".md")
            names = (row.id, stem, f"/{stem}", stem.rpartition("/")[2])

            def without(note: Note) -> Note:
                changed = without_supersedes(note, *names)
                return note if changed is note else with_updated(changed, caller.now)

            edit_note(vault, target.replacement.path, without)
    return edit_record(vault, caller, row, "restored", edit)


def _restore_version(
    vault: Vault, caller: Caller, name: str, target: _RestoreTarget | None, at: str
) -> RecordChange:
    """Give a record the text and fields that it had in a commit."""
    listed = erased.read_list(vault.root)
    then = history(vault, caller, name, at=at)
    data = then.text.encode("utf-8", "surrogateescape")
    if hash_of_id(then.id) in listed.records or erased.blob_id(data, len(then.at)) in listed.blobs:
        raise NotFoundError(f"what {name} said there was erased", "")
    is_text, how = is_event_id(then.at), f"as git had it in {then.at[:10]}"
    if target is None:
        if is_text:
            hint = f"{command('restore', then)} brings the record back, with its last text"
            raise NotFoundError(f"{then.id or then.path} is gone", hint)
        return _publish_restored(vault, then.id or then.path, then.path, data, how)
    old = notes.read(b"") if is_text else notes.read_strict(data, then.path)

    def edit(note: Note, row: NoteRow) -> Edited:
        is_same = is_text and normalized_body(note) == then.text.strip("\n")
        restored = with_body(note, then.text) if is_text else _as_it_was(note, old)
        if is_same or restored is note:
            return Edited(note, hint="it says the same now")
        head = objects.read_at_revision(vault.root, "HEAD", row.path)
        if not is_text and files.read(vault.root, row.path) == head:
            at = git_cli.head_commit(vault.root)[:12]
            return Edited(restored, command("restore", row, "--at", at), how)
        kept, event = preserve_text(vault, caller, note)
        restored = with_provenance(restored, kept.provenance()[0])
        why = "" if is_text else f"{how}; the text before was in no commit, and is an event now"
        return Edited(restored, command("restore", row, "--at", event), why)

    return edit_record(vault, caller, target.row, "restored", edit)


def _as_it_was(note: Note, old: Note) -> Note:
    """The note with text and fields of an older version, but for what other notes and events say, too;
    itself if nothing differs."""
    kept = {*_FIELDS_THAT_STAY}
    if "superseded" in (note.get("status").lower(), old.get("status").lower()):
        kept |= {key for key in (*note.fields, *old.fields) if key.startswith("status")}
    keys = [key for key in dict.fromkeys((*old.fields, *note.fields)) if key not in kept]
    pairs = {
        key: old.fields.get(key, "") for key in keys if old.fields.get(key) != note.fields.get(key)
    }
    body = sanitize_text(decode_text(old.body)).encode()
    restored = with_fields(note, cast("Mapping[str, YamlValue]", pairs))
    return restored if body == note.body else restored._replace(body=body)


def _restore_gone(vault: Vault, caller: Caller, name: str) -> RecordChange:
    """Restore a missing record from the last commit that has it, if any, and its later events."""
    if hash_of_id(name) in erased.read_list(vault.root).records:
        raise NotFoundError(f"{name} was erased", "git's history may hold it: cortex history")
    try:
        known = history(vault, caller, name, number=_MAX_VERSIONS)
    except NotFoundError as error:
        near = query_index(vault, caller.progress, lambda index: closest_ids(index.catalogue, name))
        hint = f"{error.hint}; {near}" if near else error.hint
        raise NotFoundError(error.message, hint) from error
    path, data = "", b""
    last = next((version for version in known.versions if version.blob), None)
    if last is not None:
        blob = objects.read_blobs(vault.root, [last.blob]).get(last.blob)
        if blob is None:
            hint = "git fetch, or git fsck"
            raise NotFoundError(f"git no longer has what {last.commit[:10]} held", hint)
        path, data = last.path, blob
    named, _ = notes.read(data, path).provenance()
    later = 0
    for text in sorted(known.texts):
        before = data
        if text.event not in named:
            path, data = _replay(vault, known.id, text.path, path, data)
        later += data != before
    if not path:
        hint = f"{command('history', known.id)} shows what is kept of it"
        raise NotFoundError(f"no event makes {known.id} again", hint)
    note = notes.read(data, path)
    if later and note.get("type") == "session":
        normalizer = InboxNormalizer(vault, ExistingRecords())
        data = notes.write(normalizer.with_overview_of_events(note))
    before, data = data, _with_removal_text(vault, caller, known.id, path, data)
    if last is None:
        how = "as its events say; no commit had it"
    else:
        later += data != before
        more = f", and {format_count(later, 'later event')}" if later else ""
        how = f"as git had it in {last.commit[:10]}{more}"
    return _publish_restored(vault, known.id or path, path, data, how)


def _with_removal_text(vault: Vault, caller: Caller, id_: str, path: str, data: bytes) -> bytes:
    """The record with the text that an event kept when its file was removed, unless a later event
    made it."""
    removal = query_index(vault, caller.progress, find_removal_event, id_)
    note = notes.read(data, path)
    last = max(note.provenance()[0], default="")
    if not id_ or not removal or note.problems or removal[1] <= last:
        return data
    event = load_event(vault, removal[0])
    is_kept_text = event is not None and event.source == EDIT_SOURCE
    return notes.write(with_text_of_removal(note, event)) if event and is_kept_text else data


def _replay(vault: Vault, id_: str, event_path: str, path: str, data: bytes) -> tuple[str, bytes]:
    """Path and bytes of the record after one more of its events; unchanged if it cannot be read."""
    event = load_event(vault, event_path)
    if event is None:
        return path, data
    known = ExistingRecords()
    known.phrases, known.form = (said := settings.load(vault.root)).phrases, said.form
    if path:
        known.path_by_id[id_] = path
    for change in changes_for_event(event, known, unfinished=True):
        if isinstance(change, CreateNote):
            if change.record.id == id_ and not path:
                return change.path, change.text.encode()
        elif change.path == path and isinstance(change, UpsertTopic):
            # What the earlier event said is in that event: nothing has to be kept, so it is said to
            # be said.
            def of_event(_: str) -> list[Record]:
                return [record_from_note(notes.read(data), known.form)]

            return path, upsert_record(data, change, of_event, form=known.form).data
        elif change.path == path and isinstance(change, (AddProvenance, AppendToSession)):
            return path, amend_note(data, change, known.form)
    return path, data


def _publish_restored(vault: Vault, id_: str, path: str, data: bytes, how: str) -> RecordChange:
    settings.check_writable(vault.root)
    mark_briefings_stale(vault)  # a run that ends here leaves briefings to heal
    again = RecordChange(id_, path, "restored", hint=how, file=vault.file(path))
    try:
        files.create(vault.root, path, data)
    except FileExistsError:
        hint = f"move that one, then {command('restore', again)}"
        raise ConflictError(f"{path} is taken by another note", hint) from None
    status = notes.read(data, path).get("status").lower()
    if status in SET_ASIDE_STATUSES:
        how = f"{how}; it is {status}: {command('restore', again)} makes it current"
    return again._replace(undo=command("delete", again, "--hard", "--yes"), hint=how)
