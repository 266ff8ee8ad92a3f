"""Events to records: one consumer under a lock, each event on its own, every step durable before the next."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import chain, zip_longest
from typing import NamedTuple

from cortex.core import emit, event as events, note as notes
from cortex.core.caller import Caller
from cortex.core.event import Event
from cortex.core.normalize import Change, Create, Fold, Known, amend, normalize as decide, read_event
from cortex.core.problem import Conflict, CortexError, Invalid, NotFound, Problem
from cortex.operations.heal import heal_by_the_way
from cortex.projections.refresh import Views, look
from cortex.vault import files, layout
from cortex.vault.find import Vault
from cortex.vault.lock import lock
from cortex.vault.moved import forget, moved

_MAX_FILE = events.MAX_BYTES + notes.MAX_FRONTMATTER_BYTES
_MOST_COPIED = 64_000_000  # bytes; what is larger was never captured by Cortex, and stays where somebody put it
REASON_LIMIT = 500


class Normalized(NamedTuple):
    """What a pass did: vault-relative paths of records, ids of events."""

    events: tuple[str, ...]
    created: tuple[str, ...]
    changed: tuple[str, ...]
    failed: tuple[Problem, ...]
    dry_run: bool
    problems: tuple[Problem, ...] = ()  # of the briefings, which were to be healed after it


class Retried(NamedTuple):
    """A failed event that is pending again."""

    id: str
    path: str


def normalize(vault: Vault, caller: Caller, *, dry_run: bool = False) -> Normalized:
    """Turn the events of the inbox into records.

    An event that cannot be used moves to inbox/failed with the reason; all others go on. Run twice, it does nothing.

    dry_run: say what would happen and change nothing

    Example: cortex normalize --dry-run
    """
    with lock(os.path.join(vault.state(), "normalize.lock"), "inbox"):
        waiting = files.notes_in(vault.root, layout.PENDING)  # in the order of arrival: an id begins with its time
        if waiting and not dry_run:
            forget(vault)  # a run that does not come to its end leaves briefings to heal
        done = _Pass(vault, _known(vault, caller), dry_run).run(waiting, caller) if waiting else Normalized((), (), (), (), dry_run)
    if dry_run:
        return done
    return done._replace(problems=tuple(heal_by_the_way(vault, caller))) if moved(vault) else done


def retry(vault: Vault, caller: Caller, event: str) -> Retried:
    """Move a failed event back into the inbox, without the reason that was put before it.

    event: the event's id

    Example: cortex retry 20261120t164512z-k3f7q2abcd
    """
    del caller
    name = event.removesuffix(".md")
    source = layout.failed(name)
    with lock(os.path.join(vault.state(), "normalize.lock"), "inbox"):
        if not files.exists(vault.root, source):
            raise NotFound(f"there is no failed event {name}", "cortex status lists what failed")
        held = files.read(vault.root, source)
        envelope = notes.read(held)
        if envelope.get("status") != "failed":
            raise Invalid(f"{source} does not begin with the reason of a failure", f"move it to {layout.PENDING} by hand")
        target = layout.pending(name)
        try:
            files.publish(vault.root, target, envelope.body)
        except FileExistsError:
            if files.read(vault.root, target) != envelope.body:
                raise Conflict(f"{target} waits already, with another text", "cortex normalize, then retry again") from None
        files.remove(vault.root, source)
    return Retried(name, target)


def _known(vault: Vault, caller: Caller) -> Known:
    """What exists, from a catalogue that has just been brought up to date."""
    return look(vault, caller.progress, _known_of)


def _known_of(now: Views) -> Known:
    known = Known()
    for row in now.catalogue.rows("tier < 2 AND (events != '' OR id != CAST(path AS TEXT)) ORDER BY path"):
        known.add(
            path=row.path, id_=row.id, type_=row.type, project=row.project, at=row.created,
            digest_=row.digest, from_events=row.events,
        )  # fmt: skip
    return known


class _Pass:
    """One run of the consumer over the inbox."""

    def __init__(self, vault: Vault, known: Known, dry_run: bool) -> None:
        self.root = vault.root
        self.known = known
        self.dry_run = dry_run
        self.done: list[str] = []
        self.created: list[str] = []
        self.changed: list[str] = []
        self.failed: list[Problem] = []

    def run(self, waiting: list[str], caller: Caller) -> Normalized:
        for count, name in enumerate(waiting, start=1):
            path = f"{layout.PENDING}/{name}"
            try:
                event = self._event(path)
                changes = decide(event, self.known, unfinished=not files.exists(self.root, events.path_of(event.id)))
                self._apply(changes, event)
            except OSError as error:
                # The disk or the permissions, not the event: it waits where it is.
                self.failed.append(Problem(path, error.strerror or str(error), "mend that, then cortex normalize"))
            except Exception as error:  # noqa: BLE001  the normalizer loop: one event never stops another
                self._fail(path, error)
            else:
                self.done.append(event.id)
            caller.progress("normalizing", count, len(waiting))
        unique = dict.fromkeys
        return Normalized(tuple(self.done), tuple(unique(self.created)), tuple(unique(self.changed)), tuple(self.failed), self.dry_run)

    def _event(self, path: str) -> Event:
        data = files.read(self.root, path, _MAX_FILE + 1)
        if len(data) > _MAX_FILE:
            raise Invalid(f"the file is larger than {_MAX_FILE:,} bytes", "keep it as a note of its own in the vault")
        return read_event(data, path)

    def _apply(self, changes: Iterable[Change], event: Event) -> None:
        """Write the records, then let the event go: a crash between leaves an event that is found to be done."""
        for change in changes:
            if self.dry_run:
                self._note(change)
            elif isinstance(change, Create):
                try:
                    files.publish(self.root, change.path, change.text.encode())
                except FileExistsError:
                    self._made_before(change, event)
                else:
                    self._note(change)
            else:
                before = files.read(self.root, change.path)
                after = amend(before, change)
                if after != before:
                    files.replace(self.root, change.path, after, before)
                    self._note(change)
                else:
                    files.sync(self.root, change.path.rpartition("/")[0])
            self.known.learn(change, event)
        if not self.dry_run:
            files.move(self.root, layout.pending(event.id), events.path_of(event.id))

    def _made_before(self, change: Create, event: Event) -> None:
        """The note is there though the catalogue did not know: a crash came before its event was let go, or the note
        could not be read when the catalogue was made."""
        held = files.read(self.root, change.path)
        if event.id in notes.parse(held, change.path).provenance()[0]:
            files.sync(self.root, change.path.rpartition("/")[0])
        elif change.type == "session":
            files.replace(self.root, change.path, amend(held, Fold(change.path, event)), held)
            self.changed.append(change.path)
        else:
            raise Invalid(f"{change.path} exists and is not from this event", f"rename it, then cortex retry {event.id}")

    def _note(self, change: Change) -> None:
        (self.created if isinstance(change, Create) else self.changed).append(change.path)

    def _fail(self, path: str, error: Exception) -> None:
        """Put the event aside, whole, behind an envelope that says why."""
        reason = error.message if isinstance(error, CortexError) else f"{type(error).__name__}: {error}"
        name = path.rpartition("/")[2].removesuffix(".md")
        hint = error.hint if isinstance(error, CortexError) else ""
        if f"cortex retry {name}" not in hint:  # what is advised for a note does not bring an event back
            hint = f"mend {layout.failed(name)} below its first lines, then cortex retry {name}"
        self.failed.append(Problem(layout.failed(name), reason, hint))
        if self.dry_run:
            return
        fields = {"id": name, "status": "failed", "reason": reason[:REASON_LIMIT], "hint": hint}
        try:
            self._put_aside(path, layout.failed(name), emit.frontmatter(fields).encode("utf-8", "backslashreplace"))
        except (OSError, CortexError) as trouble:  # a link or a pipe, or the disk: it stays where it is
            self.failed[-1] = Problem(path, f"{reason}; it could not be put aside: {trouble}", "remove it by hand")

    def _put_aside(self, path: str, target: str, envelope: bytes) -> None:
        if files.size(self.root, path) > _MOST_COPIED:
            raise Invalid(f"it is larger than {_MOST_COPIED:,} bytes", "move it out of the inbox")
        try:
            files.publish(self.root, target, chain([envelope], files.chunks(self.root, path)))
        except FileExistsError:
            held = notes.read(files.read(self.root, target, _MAX_FILE))
            start = len(notes.write(held)) - len(held.body)
            pairs = zip_longest(files.chunks(self.root, target, start), files.chunks(self.root, path))
            if any(one != other for one, other in pairs):
                raise Conflict(f"{target} holds another text", "move one of the two out of the inbox") from None
            files.sync(self.root, layout.FAILED)  # a crash came between this line and the next
        try:
            files.remove(self.root, path)
        except OSError:
            if files.exists(self.root, path):
                files.remove(self.root, target)
            raise
