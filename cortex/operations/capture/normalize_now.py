"""One event normalized as soon as it is captured: the same rules, the same lock, the same consumer, nothing else looked at."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.briefing.pages import FOLDER
from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import Conflict, CortexError, NotFound, Problem
from cortex.core.normalize.handlers import records_of
from cortex.core.notes.note import read
from cortex.core.text.strings import digest
from cortex.index.changed_pages import pages_of
from cortex.index.refresh import look
from cortex.operations.capture.capture import Captured
from cortex.operations.capture.inbox import CREATED, DUPLICATE, UPDATED, Pass
from cortex.operations.capture.normalize import known
from cortex.operations.capture.quick_lookup import glimpse
from cortex.operations.records.record_lock import record_lock
from cortex.operations.share.heal import heal_by_the_way
from cortex.vault import files, layout
from cortex.vault.git import checkout
from cortex.vault.git.change_marker import forget, moved, remember, stamps
from cortex.vault.locate import Vault
from cortex.vault.lock import lock

_WAIT = 60.0  # seconds for others that save at the same time


class Done(NamedTuple):
    """What became of an event: the records it made or changed, each with the outcome, the one that was meant first."""

    records: tuple[tuple[str, str], ...]  # path; created, updated or duplicate
    problems: tuple[Problem, ...]  # of the briefings


def at_once(vault: Vault, caller: Caller, captured: Captured, event: Event) -> Done:
    """Normalize an event of the inbox. An error says where the event waits: it is kept in any case."""
    try:
        with record_lock(vault, _WAIT):
            if not files.exists(vault.root, layout.pending(captured.id)):
                return _done_before(vault, caller, event)
            done, healed = _normalized(vault, caller, event)
    except (CortexError, OSError) as error:
        message = error.message if isinstance(error, CortexError) else error.strerror or str(error)
        raise CortexError(
            f"kept as event {captured.id}, which is no record yet: {message}",
            "cortex normalize makes it one",
        ) from error
    if done.failed:
        told = done.failed[0]
        raise CortexError(
            f"kept as event {captured.id}, which is no record yet: {told.message}", told.hint
        )
    problems = [] if healed else heal_by_the_way(vault, caller)
    return (
        Done(tuple(done.outcomes), tuple(problems))
        if done.outcomes
        else _done_before(vault, caller, event)
    )


def _normalized(vault: Vault, caller: Caller, event: Event) -> tuple[Pass, bool]:
    """The event normalized, and whether the briefings are as they should be, as far as one can tell."""
    fresh, seen = not moved(vault), stamps(vault)
    forget(vault)  # a run that does not come to its end leaves briefings to heal
    done = Pass(vault, glimpse(vault, event) or known(vault, caller))
    done.run([f"{event.id}.md"], caller)
    healed = _touch_up(vault, done)
    if healed and fresh:
        remember(vault, seen)
    return done, healed


def _touch_up(vault: Vault, done: Pass) -> bool:
    """Put the lines of what changed into the briefings; False when they have to be healed as a whole."""
    if checkout.under_way(vault.root):
        return False
    try:
        with lock(os.path.join(vault.locks(), "heal.lock"), "briefings", wait=_WAIT):
            pages = pages_of(vault.root, done.before)
            for path, held, wanted in pages or ():
                files.replace(vault.root, path, wanted, held)
    except (Conflict, NotFound, OSError):
        return False
    return pages is not None


def _done_before(vault: Vault, caller: Caller, event: Event) -> Done:
    """What another process made of the event: the records that name it."""
    where = "tier < 2 AND instr(char(10) || events || char(10), char(10) || ? || char(10)) ORDER BY path"
    found = look(
        vault,
        caller.progress,
        lambda now: [
            row.path
            for row in now.catalogue.rows(where, (event.id,))
            if not row.path.startswith(f"{FOLDER}/")
        ],
    )
    if not found:
        place = (
            layout.failed(event.id)
            if files.exists(vault.root, layout.failed(event.id))
            else events.path_of(event.id)
        )
        raise CortexError(
            f"kept as event {event.id}, but no record names it: {place}", f"cortex retry {event.id}"
        )
    return Done(tuple((path, _outcome(vault, path, event)) for path in found), ())


def _outcome(vault: Vault, path: str, event: Event) -> str:
    note = read(files.read(vault.root, path), path)
    named = [id_ for id_ in note.provenance()[0] if events.is_event_id(id_)]
    if named[:1] == [event.id]:
        return CREATED
    first = (
        max(named) == event.id and note.get("updated") == event.at
    )  # to say so, as far as the record tells
    return (
        UPDATED
        if first or digest(note.text) not in {digest(record.body) for record in records_of(event)}
        else DUPLICATE
    )
