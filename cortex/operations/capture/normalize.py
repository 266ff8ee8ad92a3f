"""Events to records: one consumer under a lock, each event on its own, every step durable before the next."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, Invalid, NotFound, Problem
from cortex.core.model.status import CURRENT
from cortex.core.normalize.changes import Known
from cortex.core.notes import note as notes
from cortex.index.refresh import Views, look
from cortex.operations.capture.collect_pending import send
from cortex.operations.capture.inbox import CREATED, DUPLICATE, UPDATED, Pass
from cortex.operations.records.record_lock import record_lock
from cortex.operations.share.heal import heal_by_the_way
from cortex.vault import files, layout
from cortex.vault.git.change_marker import forget, moved
from cortex.vault.locate import Vault

_PATIENCE = 10.0  # seconds for another pass


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
    problems = (
        () if dry_run else tuple(send(vault))
    )  # what hooks could not put here for want of room
    with record_lock(vault, _PATIENCE):
        waiting = files.notes_in(
            vault.root, layout.PENDING
        )  # in the order of arrival: an id begins with its time
        if waiting and not dry_run:
            forget(vault)  # a run that does not come to its end leaves briefings to heal
        done = Pass(vault, known(vault, caller) if waiting else Known(), dry_run=dry_run)
        done.run(waiting, caller)
    problems += tuple(heal_by_the_way(vault, caller)) if moved(vault) and not dry_run else ()
    return Normalized(
        tuple(done.done),
        done.paths(CREATED),
        done.paths(UPDATED, DUPLICATE),
        tuple(done.failed),
        dry_run,
        problems,
    )


def retry(vault: Vault, caller: Caller, event: str) -> Retried:
    """Move a failed event back into the inbox, without the reason that was put before it.

    event: the event's id

    Example: cortex retry 20261120t164512z-k3f7q2abcd
    """
    del caller
    name = event.removesuffix(".md")
    source = layout.failed(name)
    with record_lock(vault, _PATIENCE):
        if not files.exists(vault.root, source):
            raise NotFound(f"there is no failed event {name}", "cortex status lists what failed")
        held = files.read(vault.root, source)
        envelope = notes.read(held)
        if envelope.get("status") != "failed":
            raise Invalid(
                f"{source} does not begin with the reason of a failure",
                f"move it to {layout.PENDING} by hand",
            )
        target = layout.pending(name)
        try:
            files.publish(vault.root, target, envelope.body)
        except FileExistsError:
            if files.read(vault.root, target) != envelope.body:
                raise Conflict(
                    f"{target} waits already, with another text",
                    "cortex normalize, then retry again",
                ) from None
        files.remove(vault.root, source)
    return Retried(name, target)


def known(vault: Vault, caller: Caller) -> Known:
    """What exists, from a catalogue that has just been brought up to date."""
    return look(vault, caller.progress, _known_of, words=False)


def _known_of(now: Views) -> Known:
    found = Known()
    for row in now.catalogue.rows(
        "tier < 2 AND (events != '' OR id != CAST(path AS TEXT)) ORDER BY path"
    ):
        found.add(
            path=row.path, id_=row.id, type_=row.type, project=row.project, at=row.created,
            title=row.title, digest_=row.digest if row.tier == CURRENT else "", from_events=row.events,
        )  # fmt: skip
    said = "SELECT project, scope, topic, path FROM note WHERE topic != '' AND tier < 2 AND id != CAST(path AS TEXT) ORDER BY path DESC"
    found.topics = {
        (project, scope, topic): os.fsdecode(path)
        for project, scope, topic, path in now.catalogue.asked(said)
    }
    return found
