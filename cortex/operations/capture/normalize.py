"""Events to records: one consumer under a lock, each event on its own, every step durable before the next."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.model.problem import Problem
from cortex.core.normalize.changes import ExistingRecords
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.drain_spool import publish_unsent_events
from cortex.operations.capture.inbox import CREATED, DUPLICATE, UPDATED, InboxNormalizer
from cortex.operations.records.record_lock import record_lock
from cortex.operations.share.heal import try_heal
from cortex.vault import files, layout
from cortex.vault.git.change_marker import briefings_are_stale, mark_briefings_stale
from cortex.vault.locate import Vault

INBOX_LOCK_TIMEOUT_SECONDS = 10.0  # seconds for another pass


class NormalizeResult(NamedTuple):
    """What a pass did: vault-relative paths of records, ids of events."""

    events: tuple[str, ...]
    created: tuple[str, ...]
    changed: tuple[str, ...]
    failed: tuple[Problem, ...]
    dry_run: bool
    problems: tuple[Problem, ...] = ()  # of the briefings, which were to be healed after it


def normalize(vault: Vault, caller: Caller, *, dry_run: bool = False) -> NormalizeResult:
    """Turn the events of the inbox into records.

    An event that cannot be used moves to inbox/failed with the reason; all others go on. Run twice, it does nothing.

    dry_run: say what would happen and change nothing

    Example: cortex normalize --dry-run
    """
    problems = (
        () if dry_run else tuple(publish_unsent_events(vault))
    )  # what hooks could not put here for want of room
    with record_lock(vault, INBOX_LOCK_TIMEOUT_SECONDS):
        waiting = files.list_notes(
            vault.root, layout.PENDING_FOLDER
        )  # in the order of arrival: an id begins with its time
        if waiting and not dry_run:
            mark_briefings_stale(
                vault
            )  # a run that does not come to its end leaves briefings to heal
        done = InboxNormalizer(
            vault,
            load_existing_records(vault, caller) if waiting else ExistingRecords(),
            dry_run=dry_run,
        )
        done.run(waiting, caller)
    problems += tuple(try_heal(vault, caller)) if briefings_are_stale(vault) and not dry_run else ()
    return NormalizeResult(
        tuple(done.normalized_ids),
        done.paths_with_outcome(CREATED),
        done.paths_with_outcome(UPDATED, DUPLICATE),
        tuple(done.failed),
        dry_run,
        problems,
    )


def load_existing_records(vault: Vault, caller: Caller) -> ExistingRecords:
    """What exists, from a catalogue that has just been brought up to date."""
    return query_index(vault, caller.progress, _read_existing_records, words=False)


def _read_existing_records(now: IndexSession) -> ExistingRecords:
    found = ExistingRecords()
    for row in now.catalogue.rows(
        "tier < 2 AND (events != '' OR id != CAST(path AS TEXT)) ORDER BY path"
    ):
        found.add(
            path=row.path, id_=row.id, type_=row.type, project=row.project, at=row.created,
            title=row.title, digest_=row.digest if row.tier == TIER_CURRENT else "", from_events=row.events,
        )  # fmt: skip
    said = "SELECT project, scope, topic, path FROM note WHERE topic != '' AND tier < 2 AND id != CAST(path AS TEXT) ORDER BY path DESC"
    found.path_by_topic = {
        (project, scope, topic): os.fsdecode(path)
        for project, scope, topic, path in now.catalogue.select(said)
    }
    return found
