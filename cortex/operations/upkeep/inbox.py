"""Normalize the events of the inbox, each on its own, every step durable before the next.

The caller holds the record lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, zip_longest

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event, session_note_id
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    Problem,
    reason_of,
)
from cortex.core.model.record import Record, compose_record
from cortex.core.model.relation import link_key
from cortex.core.normalize import handlers
from cortex.core.normalize.changes import (
    AddProvenance,
    AppendToSession,
    CreateNote,
    ExistingRecords,
    MarkSuperseded,
    NoteChange,
    UpsertTopic,
)
from cortex.core.normalize.session_note import START_TYPE, note_path
from cortex.core.normalize.session_overview import MAX_LINKS, compose_overview, with_overview
from cortex.core.normalize.topic_upsert import has_current_replacement, upsert_record
from cortex.core.notes import note as notes
from cortex.core.notes.edit import with_session_link
from cortex.core.notes.relations import is_replaced_by_distillation
from cortex.core.text import yaml_writer
from cortex.core.text.days import clock
from cortex.operations.upkeep.preserve_text import find_event, write_normalized_event
from cortex.vault import files, settings
from cortex.vault.git.changes import read_if_there
from cortex.vault.locate import Vault

# What became of a record; a duplicate has grown in its provenance alone.
CREATED, UPDATED, DUPLICATE = "created", "updated", "duplicate"
_MAX_REASON_CHARS = 500
_MAX_FILE_BYTES = events.MAX_CONTENT_BYTES + notes.MAX_BYTES_WITHOUT_EVENTS
# What is larger was never captured by Cortex, and stays where somebody put it.
_MAX_FAILED_BYTES = 64_000_000
_MAX_ATTEMPTS = 5  # at a note that somebody else saves just now
_MAX_WAITING_CHARS = 16_000_000  # of events whose sessions are to be written
# Of a session's earlier events, those that are read again for its overview.
_FIRST_EVENTS, _LAST_EVENTS = 50, 350


class InboxNormalizer:
    """One run of the consumer over the inbox."""

    def __init__(self, vault: Vault, known: ExistingRecords, *, dry_run: bool = False) -> None:
        self.vault, self.root = vault, vault.root
        self.existing = known
        self.settings = settings.load(self.root)
        known.phrases = self.settings.phrases
        known.read_text = lambda path: notes.read(read_if_there(self.root, path) or b"").text
        known.layout = self.layout = vault.layout()
        known.form = self.form = self.settings.form
        self.dry_run = dry_run
        self.normalized_ids: list[str] = []  # ids of events
        self.turns: list[Event] = []  # of sessions, and their ends, without their texts
        self.outcomes: list[tuple[str, str]] = []  # path of a record, what became of it
        # What a record was before this pass; None where there was none.
        self.original_bytes: dict[str, bytes | None] = {}
        self.failed: list[Problem] = []
        # Path of a session's note -> its turns that wait to be written, with what creates it.
        self._turns: dict[str, list[tuple[CreateNote | AppendToSession, Event]]] = {}
        self._waiting_chars = 0
        # Session -> paths of its records that are to link to its note.
        self._unlinked: dict[str, list[str]] = {}

    def paths_with_outcome(self, *outcomes: str) -> tuple[str, ...]:
        """The records of which this has become, each once."""
        return tuple(dict.fromkeys(path for path, outcome in self.outcomes if outcome in outcomes))

    def run(self, waiting: list[str], caller: Caller) -> None:
        for count, name in enumerate(waiting, start=1):
            path = f"{self.layout.pending()}/{name}"
            try:
                event = self._read_event(path)
                unfinished = not files.exists(self.root, self.layout.event(event.id))
                self._apply(
                    handlers.changes_for_event(event, self.existing, unfinished=unfinished), event
                )
            except Exception as error:  # noqa: BLE001  one event never stops another
                self._add_failure(path, error)
            else:
                self.normalized_ids.append(event.id)
                if event.session and event.type in handlers.SESSION_TEXT_TYPES:
                    self.turns.append(event._replace(text=""))
            if self._waiting_chars > _MAX_WAITING_CHARS or count == len(waiting):
                self._write_sessions()
            caller.progress("normalizing", count, len(waiting))

    def _read_event(self, path: str) -> Event:
        data = files.read(self.root, path, _MAX_FILE_BYTES + 1)
        if len(data) > _MAX_FILE_BYTES:
            hint = "keep it as a note of its own in the vault"
            raise InvalidInputError(f"the file is larger than {_MAX_FILE_BYTES:,} bytes", hint)
        return self._as_known_here(handlers.parse_event(data, path))

    def _as_known_here(self, event: Event) -> Event:
        """The event with the name that its project has now, and what the clocks showed."""
        shown = clock(event.at, self.settings.zone)
        return event._replace(project=self.settings.resolve_project(event.project), clock=shown)

    def _apply(self, changes: Iterable[NoteChange], event: Event) -> None:
        """Write the records, then move the event; after a crash in between it is applied again.
        What belongs to a session is written with all that the pass has for it."""
        is_waiting = False
        for change in changes:
            if self.dry_run:
                outcome = CREATED if isinstance(change, CreateNote) else UPDATED
                self.outcomes.append((change.path, outcome))
            elif isinstance(change, AppendToSession) or (
                isinstance(change, CreateNote) and change.record.type == "session"
            ):
                self._turns.setdefault(change.path, []).append((change, event))
                self._waiting_chars += len(event.text)
                is_waiting = True
            elif isinstance(change, MarkSuperseded) and not self._has_current_replacement(change):
                continue
            elif isinstance(change, CreateNote):
                record = self._with_session_note(change.record, change.path)
                data = compose_record(record, self.form).encode()
                _check_readable(data, change.path)
                try:
                    files.create(self.root, change.path, data)
                except FileExistsError:
                    self._reuse_existing_note(change, event)
                else:
                    self._add_outcome(change.path, CREATED, None)
            elif isinstance(change, UpsertTopic):
                record = self._with_session_note(change.record, change.path)
                self._amend(change._replace(record=record))
            else:
                self._amend(change)
            self.existing.register_change(change, event)
        if not self.dry_run and not is_waiting:
            self._move_event(event)

    def _with_session_note(self, record: Record, path: str) -> Record:
        """The record with the name of its session's note. Where this pass may still create that, and
        only then names it, the record gets the link afterwards."""
        note = self.existing.path_by_id.get(session_note_id(record.session), "")
        turns = self._turns.get(note)
        if record.session and (not note or (turns and isinstance(turns[0][0], CreateNote))):
            self._unlinked.setdefault(record.session, []).append(path)
            return record
        return record._replace(session_note=self.existing.session_note(record.session))

    def _move_event(self, event: Event) -> None:
        files.move(self.root, self.layout.pending(event.id), self.layout.event(event.id))

    def _write_sessions(self) -> None:
        """Write the notes of sessions, each once, then move their events."""
        turns_by_path, self._turns, self._waiting_chars = self._turns, {}, 0
        for path, turns in turns_by_path.items():
            try:
                self._write_session(path, turns)
                for _, event in turns:
                    self._move_event(event)
            except Exception as error:  # noqa: BLE001  one session never stops another
                ids = [event.id for _, event in turns]
                self.normalized_ids = [id_ for id_ in self.normalized_ids if id_ not in ids]
                for where in (
                    [path] if isinstance(error, OSError) else map(self.layout.pending, ids)
                ):
                    self._add_failure(where, error)

    def _write_session(
        self, path: str, turns: list[tuple[CreateNote | AppendToSession, Event]]
    ) -> None:
        """Add turns to the note of their session, which the first of them may create."""
        create, added = turns[0][0], [event for _, event in turns]
        if isinstance(create, CreateNote):
            note = self._session_with(notes.read_strict(create.text.encode(), path), added)
            new_path = self.layout.path(note_path(added[0], note.get("title")))
            try:
                files.create(self.root, new_path, notes.write(note))
            except FileExistsError:
                path = new_path  # unknown to the catalogue, as after a crash
            else:
                self.existing.path_by_id[create.record.id] = new_path
                self._add_outcome(new_path, CREATED, None)
                self._link_records(create.record.session)
                return
        self._edit(path, added[-1], lambda before: self._session_after(before, path, added))

    def _link_records(self, session: str) -> None:
        """Add a link to the session's new note to each record of the session, whenever it was made."""
        made, earlier = self._unlinked.pop(session, ()), self.existing.paths_by_session
        for path in dict.fromkeys((*made, *earlier.get(session, ()))):
            if (before := read_if_there(self.root, path)) is None:
                continue
            note = notes.read(before, path)
            link = f"[[{self.existing.session_note(session)}|{session}]]"
            after = notes.write(with_session_link(note, link))
            if after != before:
                files.replace(self.root, path, after, before)

    def _session_after(
        self, before: bytes, path: str, added: list[Event]
    ) -> tuple[bytes, str, None]:
        note = notes.read_strict(before, path)
        is_known = all(event.id in note.provenance()[0] for event in added)
        after = before if is_known else notes.write(self._session_with(note, added))
        return after, UPDATED, None

    def _session_with(self, note: notes.Note, added: list[Event]) -> notes.Note:
        """The note with more turns, and the overview of all of them."""
        return self.with_overview_of_events(handlers.append_turns(note, added, self.form), added)

    def with_overview_of_events(self, note: notes.Note, added: Sequence[Event] = ()) -> notes.Note:
        """The note of a session with the overview of its events; all but `added` are read."""
        known = {event.id: event for event in added}
        earlier = [id_ for id_ in note.provenance()[0] if id_ not in known]
        if len(earlier) > _FIRST_EVENTS + _LAST_EVENTS:
            earlier = earlier[:_FIRST_EVENTS] + earlier[-_LAST_EVENTS:]
        for id_ in earlier:
            if earlier_event := self._find_event(id_):
                known[id_] = earlier_event
        ordered = [known[id_] for id_ in sorted(known)]
        made: dict[str, tuple[str, str]] = {}
        for event in sorted(ordered, key=lambda one: one.type != events.DISTILLED):
            if len(made) >= MAX_LINKS:  # reading all that a long session said takes a second
                break
            if event.type == START_TYPE:
                continue
            records = handlers.records_from_event(event, self.settings.phrases)
            standing = (one for one in records if one.type != "plan" and self._stands(one))
            made |= {one.id: (one.title, one.type) for one in standing}
        return with_overview(
            note, compose_overview(ordered, [(id_, *said) for id_, said in made.items()])
        )

    def _stands(self, record: Record) -> bool:
        """Whether a record of an event is there, and no distillation has replaced it."""
        if (is_kept := self.existing.holds_by_id.get(record.id)) is not None:
            return is_kept
        known = self.existing.path_by_id.get(record.id)
        path = known or self.layout.record(record.type, record.id)
        if (data := read_if_there(self.root, path)) is None:
            return known is not None  # about to be written
        return not is_replaced_by_distillation(notes.read(data, path))

    def events_of_session(self, name: str) -> list[Event]:
        """The events of a session that can be read, oldest first."""
        path = self.existing.path_by_id.get(session_note_id(name))
        data = read_if_there(self.root, path) if path else None
        ids = notes.read(data).provenance()[0] if data else ()
        return [event for event in map(self._find_event, sorted(ids)) if event]

    def _find_event(self, id_: str) -> Event | None:
        event = find_event(self.vault, id_)[1]
        return self._as_known_here(event) if event else None

    def _edit(
        self, path: str, event: Event, change: Callable[[bytes], tuple[bytes, str, Event | None]]
    ) -> None:
        """Replace a note by what `change` makes of it: its bytes, the outcome, and an event of a
        person's edit to preserve. Where somebody saves it meanwhile, read it again."""
        for _ in range(_MAX_ATTEMPTS):
            before = files.read(self.root, path)
            try:
                after, outcome, edit = change(before)
                _check_readable(after, path)
            except InvalidInputError as error:  # of the note, not of the event
                message = error.message if path in error.message else f"{path}: {error.message}"
                hint = f"{error.hint}: {path}, then cortex retry {event.id}"
                raise InvalidInputError(message, hint) from error
            if after == before:
                files.sync_folder(self.root, path.rpartition("/")[0])
                return
            if edit:
                self._preserve_edit(edit)
            try:
                files.replace(self.root, path, after, before)
            except ConflictError:
                continue
            self._add_outcome(path, outcome, before)
            return
        hint = f"cortex retry {event.id}"
        raise ConflictError(f"{path} changes faster than it can be edited", hint)

    def _amend(self, change: AddProvenance | UpsertTopic | MarkSuperseded) -> None:
        self._edit(change.path, change.event, lambda before: self._amended(before, change))

    def _amended(
        self, before: bytes, change: AddProvenance | UpsertTopic | MarkSuperseded
    ) -> tuple[bytes, str, Event | None]:
        """The note after a change, what became of it, and a person's edit to preserve."""
        if not isinstance(change, UpsertTopic):
            outcome = DUPLICATE if isinstance(change, AddProvenance) else UPDATED
            return handlers.amend_note(before, change, self.form), outcome, None
        # A superseded record becomes current: its replacement is superseded, or gone.
        old = change.event.supersedes
        instead = bool(old) and (
            has_current_replacement(notes.read(before), self._find_record, old) is False
        )
        after, edit, changed = upsert_record(
            before, change, self._records_of_event, instead=instead, form=self.form
        )
        return after, UPDATED if changed else DUPLICATE, edit

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
        data, there = write_normalized_event(self.vault, edit)
        if _raw_content(there) != _raw_content(data):
            raise ConflictError(f"{edit.id} holds another text", f"cortex show {edit.id}")

    def _records_of_event(self, id_: str) -> list[Record]:
        """The records of a normalized event; none if it cannot be read."""
        event = self._find_event(id_)
        return handlers.records_from_event(event, self.settings.phrases) if event else []

    def _reuse_existing_note(self, change: CreateNote, event: Event) -> None:
        """Go on with a note that the catalogue did not know, as after a crash."""
        data = files.read(self.root, change.path)
        note = notes.read_strict(data, change.path)
        if event.id in note.provenance()[0]:
            files.sync_folder(self.root, change.path.rpartition("/")[0])
        elif change.joins_existing and note.get("id") == change.record.id:
            record = change.record
            if record.topic:
                self._amend(UpsertTopic(change.path, event, record))
            else:
                self._amend(AddProvenance(change.path, event, pinned=record.pinned))
        else:
            hint = f"rename it, then cortex retry {event.id}"
            raise InvalidInputError(f"{change.path} exists and is not from this event", hint)

    def _add_outcome(self, path: str, outcome: str, before: bytes | None) -> None:
        self.outcomes.append((path, outcome))
        self.original_bytes.setdefault(path, before)

    def _add_failure(self, path: str, error: Exception) -> None:
        """Put the event aside, whole, behind an envelope that says why. Where the disk or the
        permissions are to blame, not the event, it waits where it is."""
        if isinstance(error, OSError):
            hint = "mend that, then cortex normalize"
            self.failed.append(Problem(path, reason_of(error), hint))
            return
        reason, hint = f"{type(error).__name__}: {error}", ""
        if isinstance(error, CortexError):
            reason, hint = error.message, error.hint
        name = path.rpartition("/")[2].removesuffix(".md")
        target = self.layout.failed(name)
        # What is advised for a note does not bring an event back.
        if f"cortex retry {name}" not in hint:
            hint = f"mend {target} below its first lines, then cortex retry {name}"
        self.failed.append(Problem(target, reason, hint))
        if self.dry_run:
            return
        why = reason[:_MAX_REASON_CHARS]
        fields = {"id": name, "status": "failed", "reason": why, "hint": hint}
        envelope = yaml_writer.frontmatter(fields).encode("utf-8", "backslashreplace")
        try:
            self._move_to_failed(path, target, envelope)
        except (OSError, CortexError) as trouble:  # a link, a pipe, the disk: it stays where it is
            message = f"{reason}; it could not be put aside: {trouble}"
            self.failed[-1] = Problem(path, message, "remove it by hand")

    def _move_to_failed(self, path: str, target: str, envelope: bytes) -> None:
        if files.size(self.root, path) > _MAX_FAILED_BYTES:
            hint = "move it out of the inbox"
            raise InvalidInputError(f"it is larger than {_MAX_FAILED_BYTES:,} bytes", hint)
        try:
            files.create(self.root, target, chain([envelope], files.iter_chunks(self.root, path)))
        except FileExistsError:
            failed_note = notes.read(files.read(self.root, target, _MAX_FILE_BYTES))
            start = len(notes.write(failed_note)) - len(failed_note.body)
            there = files.iter_chunks(self.root, target, start)
            pairs = zip_longest(there, files.iter_chunks(self.root, path))
            if any(one != other for one, other in pairs):
                hint = "move one of the two out of the inbox"
                raise ConflictError(f"{target} holds another text", hint) from None
            # A crash may have come between this line and the next.
            files.sync_folder(self.root, self.layout.failed())
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
        hint = "take lines out of its frontmatter"
        raise InvalidInputError(f"{path} could not be read any more: {why}", hint)
