"""The one consumer of the inbox: each event on its own, every step durable before the next. Under the lock of whoever runs it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, zip_longest

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError, Problem
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

CREATED, UPDATED, DUPLICATE = (
    "created",
    "updated",
    "duplicate",
)  # what became of a record; a duplicate has grown in its provenance alone
_MAX_REASON_CHARS = 500
_MAX_FILE_BYTES = events.MAX_CONTENT_BYTES + notes.MAX_BYTES_WITHOUT_EVENTS
_MAX_FAILED_BYTES = 64_000_000  # bytes; what is larger was never captured by Cortex, and stays where somebody put it
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
        self.original_bytes: dict[
            str, bytes | None
        ] = {}  # what it was before this pass; None where there was none
        self.failed: list[Problem] = []

    def paths_with_outcome(self, *outcomes: str) -> tuple[str, ...]:
        """The records of which this has become, each once."""
        return tuple(dict.fromkeys(path for path, outcome in self.outcomes if outcome in outcomes))

    def run(self, waiting: list[str], caller: Caller) -> None:
        for count, name in enumerate(waiting, start=1):
            path = f"{layout.PENDING_FOLDER}/{name}"
            try:
                event = self._read_event(path)
                changes = decide(
                    event,
                    self.existing,
                    unfinished=not files.exists(self.root, events.event_path(event.id)),
                )
                self._apply(changes, event)
            except OSError as error:
                # The disk or the permissions, not the event: it waits where it is.
                self.failed.append(
                    Problem(path, error.strerror or str(error), "mend that, then cortex normalize")
                )
            except Exception as error:  # noqa: BLE001  the normalizer loop: one event never stops another
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
        """Write the records, then let the event go: a crash between leaves an event that is found to be done."""
        for change in changes:
            if self.dry_run:
                self.outcomes.append(
                    (change.path, CREATED if isinstance(change, CreateNote) else UPDATED)
                )
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
        """Change a note that is there. What somebody saves meanwhile is read again, never overwritten."""
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
                message = (
                    error.message
                    if change.path in error.message
                    else f"{change.path}: {error.message}"
                )
                raise InvalidInputError(
                    message, f"{error.hint}: {change.path}, then cortex retry {change.event.id}"
                ) from error
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
        """Whether a superseded record is to hold again: the event supersedes what holds in its place, or nothing does."""
        return (
            bool(event.supersedes)
            and has_current_replacement(notes.read(data), self._find_record, event.supersedes)
            is False
        )

    def _has_current_replacement(self, change: MarkSuperseded) -> bool:
        """Whether another record holds once this one does no more: that in its place may be superseded itself."""
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
        """Put an event that nobody captured where normalized events lie. A crash may have come after this line before."""
        data = events.compose(edit).encode("utf-8", "backslashreplace")
        try:
            files.create(self.root, events.event_path(edit.id), data)
        except FileExistsError:
            if _raw_content(files.read(self.root, events.event_path(edit.id))) != _raw_content(
                data
            ):
                raise ConflictError(
                    f"{edit.id} holds another text", f"cortex show {edit.id}"
                ) from None
            files.sync_folder(self.root, events.event_path(edit.id).rpartition("/")[0])

    def _records_of_event(self, id_: str) -> list[Record]:
        """What an event said that has been normalized; nothing when somebody has made it unreadable."""
        for path in (
            events.event_path(id_),
            layout.pending_path(id_),
        ):  # there, where a crash came before it was let go
            try:
                return records_from_event(self._read_event(path), self.settings.phrases)
            except (CortexError, OSError):
                continue
        return []

    def _reuse_existing_note(self, change: CreateNote, event: Event) -> None:
        """The note is there though the catalogue did not know: a crash came before its event was let go, or the note
        could not be read when the catalogue was made."""
        held = files.read(self.root, change.path)
        note = notes.read_strict(held, change.path)
        if event.id in note.provenance()[0]:
            files.sync_folder(self.root, change.path.rpartition("/")[0])
        elif change.record.type == "session":
            self._amend(AppendToSession(change.path, event))
        elif change.joins_existing and note.get("id") == change.record.id:
            again = (
                UpsertTopic(change.path, event, change.record)
                if change.record.topic
                else AddProvenance(change.path, event, pinned=change.record.pinned)
            )
            self._amend(again)
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
        reason = (
            error.message if isinstance(error, CortexError) else f"{type(error).__name__}: {error}"
        )
        name = path.rpartition("/")[2].removesuffix(".md")
        hint = error.hint if isinstance(error, CortexError) else ""
        if (
            f"cortex retry {name}" not in hint
        ):  # what is advised for a note does not bring an event back
            hint = (
                f"mend {layout.failed_path(name)} below its first lines, then cortex retry {name}"
            )
        self.failed.append(Problem(layout.failed_path(name), reason, hint))
        if self.dry_run:
            return
        fields = {
            "id": name,
            "status": "failed",
            "reason": reason[:_MAX_REASON_CHARS],
            "hint": hint,
        }
        try:
            self._move_to_failed(
                path,
                layout.failed_path(name),
                yaml_writer.frontmatter(fields).encode("utf-8", "backslashreplace"),
            )
        except (
            OSError,
            CortexError,
        ) as trouble:  # a link or a pipe, or the disk: it stays where it is
            self.failed[-1] = Problem(
                path, f"{reason}; it could not be put aside: {trouble}", "remove it by hand"
            )

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
            pairs = zip_longest(
                files.iter_chunks(self.root, target, start), files.iter_chunks(self.root, path)
            )
            if any(one != other for one, other in pairs):
                raise ConflictError(
                    f"{target} holds another text", "move one of the two out of the inbox"
                ) from None
            files.sync_folder(
                self.root, layout.FAILED_FOLDER
            )  # a crash came between this line and the next
        try:
            files.remove(self.root, path)
        except OSError:
            if files.exists(self.root, path):
                files.remove(self.root, target)
            raise


def _raw_content(data: bytes) -> bytes:
    return data.partition(f"\n{events.RAW_HEADING}\n".encode())[2]


def _check_readable(data: bytes, path: str) -> None:
    """Raise `InvalidInputError` when a note would be no note any more: whoever wrote it so would refuse it from then on."""
    note = notes.read(data, path)
    if note.problems or not note.opening_fence:
        why = note.problems[0].message if note.problems else "it would have no frontmatter"
        raise InvalidInputError(
            f"{path} could not be read any more: {why}", "take lines out of its frontmatter"
        )
