"""The one consumer of the inbox: each event on its own, every step durable before the next. Under the lock of whoever runs it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, zip_longest

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import Conflict, CortexError, Invalid, Problem
from cortex.core.model.record import Record
from cortex.core.model.relation import key_of
from cortex.core.normalize.changes import Change, Create, Fold, Grow, Known, Retire, Upsert
from cortex.core.normalize.handlers import amend, normalize as decide, read_event, records_of
from cortex.core.normalize.topic_upsert import replaced, upserted
from cortex.core.notes import note as notes, yaml_writer
from cortex.vault import files, layout, settings
from cortex.vault.locate import Vault

CREATED, UPDATED, DUPLICATE = (
    "created",
    "updated",
    "duplicate",
)  # what became of a record; a duplicate has grown in its provenance alone
REASON_LIMIT = 500
_MAX_FILE = events.MAX_BYTES + notes.MAX_OWN_BYTES
_MOST_COPIED = 64_000_000  # bytes; what is larger was never captured by Cortex, and stays where somebody put it
_ATTEMPTS = 5  # at a note that somebody else saves just now


class Pass:
    """One run of the consumer over the inbox."""

    def __init__(self, vault: Vault, known: Known, *, dry_run: bool = False) -> None:
        self.root = vault.root
        self.known = known
        self.settings = settings.load(self.root)
        known.phrases = self.settings.phrases
        self.dry_run = dry_run
        self.done: list[str] = []  # ids of events
        self.outcomes: list[tuple[str, str]] = []  # path of a record, what became of it
        self.before: dict[
            str, bytes | None
        ] = {}  # what it was before this pass; None where there was none
        self.failed: list[Problem] = []

    def paths(self, *outcomes: str) -> tuple[str, ...]:
        """The records of which this has become, each once."""
        return tuple(dict.fromkeys(path for path, outcome in self.outcomes if outcome in outcomes))

    def run(self, waiting: list[str], caller: Caller) -> None:
        for count, name in enumerate(waiting, start=1):
            path = f"{layout.PENDING}/{name}"
            try:
                event = self._event(path)
                changes = decide(
                    event,
                    self.known,
                    unfinished=not files.exists(self.root, events.path_of(event.id)),
                )
                self._apply(changes, event)
            except OSError as error:
                # The disk or the permissions, not the event: it waits where it is.
                self.failed.append(
                    Problem(path, error.strerror or str(error), "mend that, then cortex normalize")
                )
            except Exception as error:  # noqa: BLE001  the normalizer loop: one event never stops another
                self._fail(path, error)
            else:
                self.done.append(event.id)
            caller.progress("normalizing", count, len(waiting))

    def _event(self, path: str) -> Event:
        data = files.read(self.root, path, _MAX_FILE + 1)
        if len(data) > _MAX_FILE:
            raise Invalid(
                f"the file is larger than {_MAX_FILE:,} bytes",
                "keep it as a note of its own in the vault",
            )
        event = read_event(data, path)
        return event._replace(project=self.settings.project(event.project))

    def _apply(self, changes: Iterable[Change], event: Event) -> None:
        """Write the records, then let the event go: a crash between leaves an event that is found to be done."""
        for change in changes:
            if self.dry_run:
                self.outcomes.append(
                    (change.path, CREATED if isinstance(change, Create) else UPDATED)
                )
            elif isinstance(change, Retire) and not self._may_go(change):
                continue
            elif isinstance(change, Create):
                data = change.text.encode()
                _readable(data, change.path)
                try:
                    files.publish(self.root, change.path, data)
                except FileExistsError:
                    self._made_before(change, event)
                else:
                    self._note(change.path, CREATED, None)
            else:
                self._amend(change)
            self.known.learn(change, event)
        if not self.dry_run:
            files.move(self.root, layout.pending(event.id), events.path_of(event.id))

    def _amend(self, change: Grow | Fold | Upsert | Retire) -> None:
        """Change a note that is there. What somebody saves meanwhile is read again, never overwritten."""
        for _ in range(_ATTEMPTS):
            before = files.read(self.root, change.path)
            outcome = DUPLICATE if isinstance(change, Grow) else UPDATED
            edit = None
            try:
                if isinstance(change, Upsert):
                    after, edit, changed = upserted(
                        before, change, self._said, instead=self._instead(before, change.event)
                    )
                    outcome = UPDATED if changed else DUPLICATE
                else:
                    after = amend(before, change)
                _readable(after, change.path)
            except Invalid as error:  # of the note, not of the event
                message = (
                    error.message
                    if change.path in error.message
                    else f"{change.path}: {error.message}"
                )
                raise Invalid(
                    message, f"{error.hint}: {change.path}, then cortex retry {change.event.id}"
                ) from error
            if after == before:
                files.sync(self.root, change.path.rpartition("/")[0])
                return
            if edit:
                self._keep(edit)
            try:
                files.replace(self.root, change.path, after, before)
            except Conflict:
                continue
            self._note(change.path, outcome, before)
            return
        raise Conflict(
            f"{change.path} changes faster than it can be edited", f"cortex retry {change.event.id}"
        )

    def _instead(self, data: bytes, event: Event) -> bool:
        """Whether a superseded record is to hold again: the event supersedes what holds in its place, or nothing does."""
        return (
            bool(event.supersedes)
            and replaced(notes.read(data), self._find, event.supersedes) is False
        )

    def _may_go(self, change: Retire) -> bool:
        """Whether another record holds once this one does no more: that in its place may be superseded itself."""
        holds = self._find(key_of(change.by))
        return (
            holds is None
            or holds.get("status").lower() != "superseded"
            or replaced(holds, self._find, change.event.supersedes) is True
        )

    def _find(self, id_: str) -> notes.Note | None:
        """The record with an id; None when there is none that can be read."""
        path = self.known.paths.get(id_)
        try:
            return notes.parse(files.read(self.root, path), path) if path else None
        except (CortexError, OSError):
            return None

    def _keep(self, edit: Event) -> None:
        """Put an event that nobody captured where normalized events lie. A crash may have come after this line before."""
        data = events.compose(edit).encode("utf-8", "backslashreplace")
        try:
            files.publish(self.root, events.path_of(edit.id), data)
        except FileExistsError:
            if _raw(files.read(self.root, events.path_of(edit.id))) != _raw(data):
                raise Conflict(f"{edit.id} holds another text", f"cortex show {edit.id}") from None
            files.sync(self.root, events.path_of(edit.id).rpartition("/")[0])

    def _said(self, id_: str) -> list[Record]:
        """What an event said that has been normalized; nothing when somebody has made it unreadable."""
        for path in (
            events.path_of(id_),
            layout.pending(id_),
        ):  # there, where a crash came before it was let go
            try:
                return records_of(self._event(path), self.settings.phrases)
            except (CortexError, OSError):
                continue
        return []

    def _made_before(self, change: Create, event: Event) -> None:
        """The note is there though the catalogue did not know: a crash came before its event was let go, or the note
        could not be read when the catalogue was made."""
        held = files.read(self.root, change.path)
        note = notes.parse(held, change.path)
        if event.id in note.provenance()[0]:
            files.sync(self.root, change.path.rpartition("/")[0])
        elif change.type == "session":
            self._amend(Fold(change.path, event))
        elif change.record and note.get("id") == change.id:
            again = (
                Upsert(change.path, event, change.record)
                if change.record.topic
                else Grow(change.path, event, pinned=change.record.pinned)
            )
            self._amend(again)
        else:
            raise Invalid(
                f"{change.path} exists and is not from this event",
                f"rename it, then cortex retry {event.id}",
            )

    def _note(self, path: str, outcome: str, before: bytes | None) -> None:
        self.outcomes.append((path, outcome))
        self.before.setdefault(path, before)

    def _fail(self, path: str, error: Exception) -> None:
        """Put the event aside, whole, behind an envelope that says why."""
        reason = (
            error.message if isinstance(error, CortexError) else f"{type(error).__name__}: {error}"
        )
        name = path.rpartition("/")[2].removesuffix(".md")
        hint = error.hint if isinstance(error, CortexError) else ""
        if (
            f"cortex retry {name}" not in hint
        ):  # what is advised for a note does not bring an event back
            hint = f"mend {layout.failed(name)} below its first lines, then cortex retry {name}"
        self.failed.append(Problem(layout.failed(name), reason, hint))
        if self.dry_run:
            return
        fields = {"id": name, "status": "failed", "reason": reason[:REASON_LIMIT], "hint": hint}
        try:
            self._put_aside(
                path,
                layout.failed(name),
                yaml_writer.frontmatter(fields).encode("utf-8", "backslashreplace"),
            )
        except (
            OSError,
            CortexError,
        ) as trouble:  # a link or a pipe, or the disk: it stays where it is
            self.failed[-1] = Problem(
                path, f"{reason}; it could not be put aside: {trouble}", "remove it by hand"
            )

    def _put_aside(self, path: str, target: str, envelope: bytes) -> None:
        if files.size(self.root, path) > _MOST_COPIED:
            raise Invalid(f"it is larger than {_MOST_COPIED:,} bytes", "move it out of the inbox")
        try:
            files.publish(self.root, target, chain([envelope], files.chunks(self.root, path)))
        except FileExistsError:
            held = notes.read(files.read(self.root, target, _MAX_FILE))
            start = len(notes.write(held)) - len(held.body)
            pairs = zip_longest(
                files.chunks(self.root, target, start), files.chunks(self.root, path)
            )
            if any(one != other for one, other in pairs):
                raise Conflict(
                    f"{target} holds another text", "move one of the two out of the inbox"
                ) from None
            files.sync(self.root, layout.FAILED)  # a crash came between this line and the next
        try:
            files.remove(self.root, path)
        except OSError:
            if files.exists(self.root, path):
                files.remove(self.root, target)
            raise


def _raw(data: bytes) -> bytes:
    return data.partition(f"\n{events.RAW_HEADING}\n".encode())[2]


def _readable(data: bytes, path: str) -> None:
    """Raise `Invalid` when a note would be no note any more: whoever wrote it so would refuse it from then on."""
    note = notes.read(data, path)
    if note.problems or not note.opening:
        why = note.problems[0].message if note.problems else "it would have no frontmatter"
        raise Invalid(
            f"{path} could not be read any more: {why}", "take lines out of its frontmatter"
        )
