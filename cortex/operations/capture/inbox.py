"""Normalize the events of the inbox, each on its own, every step durable before the next.

The caller holds the record lock.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, zip_longest

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    Problem,
    reason_of,
)
from cortex.core.model.record import Record
from cortex.core.model.relation import link_key
from cortex.core.normalize.changes import (
    AddProvenance,
    AppendToSession,
    CreateNote,
    ExistingRecords,
    MarkSuperseded,
    NoteChange,
    UpsertTopic,
)
from cortex.core.normalize.handlers import (
    amend_note,
    changes_for_event as decide,
    parse_event,
    records_from_event,
)
from cortex.core.normalize.topic_upsert import has_current_replacement, upsert_record
from cortex.core.notes import note as notes, yaml_writer
from cortex.vault import files, layout, settings
from cortex.vault.locate import Vault

# What became of a record; a duplicate has grown in its provenance alone.
CREATED, UPDATED, DUPLICATE = "created", "updated", "duplicate"
_MAX_REASON_CHARS = 500
_MAX_FILE_BYTES = events.MAX_CONTENT_BYTES + notes.MAX_BYTES_WITHOUT_EVENTS
# What is larger was never captured by Cortex, and stays where somebody put it.
_MAX_FAILED_BYTES = 64_000_000
_MAX_ATTEMPTS = 5  # at a note that somebody else saves just now


class InboxNormalizer:
    """One run of the consumer over the inbox."""

    def __init__(self, vault: Vault, known: ExistingRecords, *, dry_run: bool = False) -> None:
        self.root = vault.root
        self.existing = known
        self.settings = settings.load(self.root)
        known.phrases = self.settings.phrases
        self.dry_run = dry_run
        self.normalized_ids: list[str] = []  # ids of events
        self.outcomes: list[tuple[str, str]] = []  # path of a record, what became of it
        # What a record was before this pass; None where there was none.
        self.original_bytes: dict[str, bytes | None] = {}
        self.failed: list[Problem] = []

    def paths_with_outcome(self, *outcomes: str) -> tuple[str, ...]:
        """The records of which this has become, each once."""
        return tuple(dict.fromkeys(path for path, outcome in self.outcomes if outcome in outcomes))

    def run(self, waiting: list[str], caller: Caller) -> None:
        for count, name in enumerate(waiting, start=1):
            path = f"{layout.PENDING_FOLDER}/{name}"
            try:
                event = self._read_event(path)
                unfinished = not files.exists(self.root, events.event_path(event.id))
                self._apply(decide(event, self.existing, unfinished=unfinished), event)
            except OSError as error:
                # The disk or the permissions, not the event: it waits where it is.
                hint = "mend that, then cortex normalize"
                self.failed.append(Problem(path, reason_of(error), hint))
            except Exception as error:  # noqa: BLE001  one event never stops another
                self._add_failure(path, error)
            else:
                self.normalized_ids.append(event.id)
            caller.progress("normalizing", count, len(waiting))

    def _read_event(self, path: str) -> Event:
        data = files.read(self.root, path, _MAX_FILE_BYTES + 1)
        if len(data) > _MAX_FILE_BYTES:
            raise InvalidInputError(
                f"the file is larger than {_MAX_FILE_BYTES:,} bytes",
                "keep it as a note of its own in the vault",
            )
        event = parse_event(data, path)
        return event._replace(project=self.settings.resolve_project(event.project))

    def _apply(self, changes: Iterable[NoteChange], event: Event) -> None:
        """Write the records, then move the event; after a crash in between it is applied again."""
        for change in changes:
            if self.dry_run:
                outcome = CREATED if isinstance(change, CreateNote) else UPDATED
                self.outcomes.append((change.path, outcome))
            elif isinstance(change, MarkSuperseded) and not self._has_current_replacement(change):
                continue
            elif isinstance(change, CreateNote):
                data = change.text.encode()
                _check_readable(data, change.path)
                try:
                    files.create(self.root, change.path, data)
                except FileExistsError:
                    self._reuse_existing_note(change, event)
                else:
                    self._add_outcome(change.path, CREATED, None)
            else:
                self._amend(change)
            self.existing.register_change(change, event)
        if not self.dry_run:
            files.move(self.root, layout.pending_path(event.id), events.event_path(event.id))

    def _amend(
        self, change: AddProvenance | AppendToSession | UpsertTopic | MarkSuperseded
    ) -> None:
        """Change a note. Where somebody saves it meanwhile, read it again."""
        for _ in range(_MAX_ATTEMPTS):
            before = files.read(self.root, change.path)
            outcome = DUPLICATE if isinstance(change, AddProvenance) else UPDATED
            edit = None
            try:
                if isinstance(change, UpsertTopic):
                    after, edit, changed = upsert_record(
                        before,
                        change,
                        self._records_of_event,
                        instead=self._is_reinstated(before, change.event),
                    )
                    outcome = UPDATED if changed else DUPLICATE
                else:
                    after = amend_note(before, change)
                _check_readable(after, change.path)
            except InvalidInputError as error:  # of the note, not of the event
                message = error.message
                if change.path not in message:
                    message = f"{change.path}: {message}"
                hint = f"{error.hint}: {change.path}, then cortex retry {change.event.id}"
                raise InvalidInputError(message, hint) from error
            if after == before:
                files.sync_folder(self.root, change.path.rpartition("/")[0])
                return
            if edit:
                self._preserve_edit(edit)
            try:
                files.replace(self.root, change.path, after, before)
            except ConflictError:
                continue
            self._add_outcome(change.path, outcome, before)
            return
        raise ConflictError(
            f"{change.path} changes faster than it can be edited", f"cortex retry {change.event.id}"
        )

    def _is_reinstated(self, data: bytes, event: Event) -> bool:
        """True if a superseded record becomes current: its replacement is superseded, or gone."""
        return (
            bool(event.supersedes)
            and has_current_replacement(notes.read(data), self._find_record, event.supersedes)
            is False
        )

    def _has_current_replacement(self, change: MarkSuperseded) -> bool:
        """Whether a current record is in its place (the replacement may be superseded itself)."""
        holds = self._find_record(link_key(change.superseded_by))
        return (
            holds is None
            or holds.get("status").lower() != "superseded"
            or has_current_replacement(holds, self._find_record, change.event.supersedes) is True
        )

    def _find_record(self, id_: str) -> notes.Note | None:
        """The record with an id; None when there is none that can be read."""
        path = self.existing.path_by_id.get(id_)
        try:
            return notes.read_strict(files.read(self.root, path), path) if path else None
        except (CortexError, OSError):
            return None

    def _preserve_edit(self, edit: Event) -> None:
        """Write an event that nobody captured to the normalized ones, unless it is there."""
        data = events.compose(edit).encode("utf-8", "backslashreplace")
        path = events.event_path(edit.id)
        try:
            files.create(self.root, path, data)
        except FileExistsError:
            there = files.read(self.root, path)
            if _raw_content(there) != _raw_content(data):
                message = f"{edit.id} holds another text"
                raise ConflictError(message, f"cortex show {edit.id}") from None
            files.sync_folder(self.root, path.rpartition("/")[0])

    def _records_of_event(self, id_: str) -> list[Record]:
        """The records of a normalized event; none if it cannot be read."""
        # In the inbox where a crash came before it was let go.
        for path in (events.event_path(id_), layout.pending_path(id_)):
            try:
                return records_from_event(self._read_event(path), self.settings.phrases)
            except (CortexError, OSError):
                continue
        return []

    def _reuse_existing_note(self, change: CreateNote, event: Event) -> None:
        """Go on with a note that the catalogue did not know, as after a crash."""
        held = files.read(self.root, change.path)
        note = notes.read_strict(held, change.path)
        if event.id in note.provenance()[0]:
            files.sync_folder(self.root, change.path.rpartition("/")[0])
        elif change.record.type == "session":
            self._amend(AppendToSession(change.path, event))
        elif change.joins_existing and note.get("id") == change.record.id:
            record = change.record
            if record.topic:
                self._amend(UpsertTopic(change.path, event, record))
            else:
                self._amend(AddProvenance(change.path, event, pinned=record.pinned))
        else:
            raise InvalidInputError(
                f"{change.path} exists and is not from this event",
                f"rename it, then cortex retry {event.id}",
            )

    def _add_outcome(self, path: str, outcome: str, before: bytes | None) -> None:
        self.outcomes.append((path, outcome))
        self.original_bytes.setdefault(path, before)

    def _add_failure(self, path: str, error: Exception) -> None:
        """Put the event aside, whole, behind an envelope that says why."""
        reason, hint = f"{type(error).__name__}: {error}", ""
        if isinstance(error, CortexError):
            reason, hint = error.message, error.hint
        name = path.rpartition("/")[2].removesuffix(".md")
        target = layout.failed_path(name)
        # What is advised for a note does not bring an event back.
        if f"cortex retry {name}" not in hint:
            hint = f"mend {target} below its first lines, then cortex retry {name}"
        self.failed.append(Problem(target, reason, hint))
        if self.dry_run:
            return
        fields = {
            "id": name,
            "status": "failed",
            "reason": reason[:_MAX_REASON_CHARS],
            "hint": hint,
        }
        envelope = yaml_writer.frontmatter(fields).encode("utf-8", "backslashreplace")
        try:
            self._move_to_failed(path, target, envelope)
        except (OSError, CortexError) as trouble:  # a link, a pipe, the disk: it stays where it is
            message = f"{reason}; it could not be put aside: {trouble}"
            self.failed[-1] = Problem(path, message, "remove it by hand")

    def _move_to_failed(self, path: str, target: str, envelope: bytes) -> None:
        if files.size(self.root, path) > _MAX_FAILED_BYTES:
            raise InvalidInputError(
                f"it is larger than {_MAX_FAILED_BYTES:,} bytes", "move it out of the inbox"
            )
        try:
            files.create(self.root, target, chain([envelope], files.iter_chunks(self.root, path)))
        except FileExistsError:
            held = notes.read(files.read(self.root, target, _MAX_FILE_BYTES))
            start = len(notes.write(held)) - len(held.body)
            there = files.iter_chunks(self.root, target, start)
            pairs = zip_longest(there, files.iter_chunks(self.root, path))
            if any(one != other for one, other in pairs):
                hint = "move one of the two out of the inbox"
                raise ConflictError(f"{target} holds another text", hint) from None
            # A crash may have come between this line and the next.
            files.sync_folder(self.root, layout.FAILED_FOLDER)
        try:
            files.remove(self.root, path)
        except OSError:
            if files.exists(self.root, path):
                files.remove(self.root, target)
            raise


def _raw_content(data: bytes) -> bytes:
    return data.partition(f"\n{events.RAW_HEADING}\n".encode())[2]


def _check_readable(data: bytes, path: str) -> None:
    """Raise `InvalidInputError` for a note that could not be read again."""
    note = notes.read(data, path)
    if note.problems or not note.opening_fence:
        why = note.problems[0].message if note.problems else "it would have no frontmatter"
        raise InvalidInputError(
            f"{path} could not be read any more: {why}", "take lines out of its frontmatter"
        )
