"""Turn events into records, under the record lock."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.model.problem import Problem
from cortex.core.model.record import content_digest
from cortex.core.normalize.changes import ExistingRecords
from cortex.core.normalize.handlers import records_from_event
from cortex.core.normalize.session_note import session_note_id
from cortex.index.catalogue.filters import KNOWLEDGE, NoteFilter
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.upkeep.drain_spool import publish_unsent_events
from cortex.operations.upkeep.heal import repair_after_git, try_heal
from cortex.operations.upkeep.inbox import CREATED, DUPLICATE, UPDATED, InboxNormalizer
from cortex.operations.upkeep.record_lock import record_lock
from cortex.operations.upkeep.reread_minutes import reread_minutes
from cortex.vault import files, settings, user_settings
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import briefings_are_stale, mark_briefings_stale

INBOX_LOCK_TIMEOUT_SECONDS = 10.0  # seconds for another pass
_GUARD_VARIABLE = "CORTEX_HOOK"  # set in hooks, and in what they and models start


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

    An event that cannot be used moves to inbox/failed with the reason; the others go on.

    dry_run: say what would happen and change nothing

    Example: cortex normalize --dry-run
    """
    # What hooks could not put into the inbox for want of room.
    problems = () if dry_run else tuple(publish_unsent_events(vault))
    if not dry_run:  # a record that git mixed takes no event
        problems += tuple(repair_after_git(vault, caller))
    with record_lock(vault, INBOX_LOCK_TIMEOUT_SECONDS):
        # In the order of arrival: an id begins with its time.
        pending = files.list_notes(vault.root, vault.layout().pending())
        if pending and not dry_run:
            mark_briefings_stale(vault)  # for a run that does not come to its end
        existing = load_existing_records(vault, caller) if pending else ExistingRecords()
        done = InboxNormalizer(vault, existing, dry_run=dry_run)
        done.run(pending, caller)
    if done.normalized_ids and not dry_run:
        _start_due(vault)
    if not dry_run:
        if not briefings_are_stale(vault):  # else healing reads edited minutes again
            problems += tuple(reread_minutes(vault, caller)[1])
        if briefings_are_stale(vault):  # what could not be read again is told by both
            problems = tuple(dict.fromkeys((*problems, *try_heal(vault, caller))))
    ids, failed = tuple(done.normalized_ids), tuple(done.failed)
    created = done.paths_with_outcome(CREATED)
    changed = done.paths_with_outcome(UPDATED, DUPLICATE)
    return NormalizeResult(ids, created, changed, failed, dry_run, problems)


def _start_due(vault: Vault) -> None:
    """Start a process that distills what is due, if the user has named a model; never in a hook."""
    if os.environ.get(_GUARD_VARIABLE) or not os.path.lexists(user_settings.settings_file()):
        return
    distill, _ = user_settings.load_distill()
    if distill.command and distill.auto:
        start_detached(vault, "distill", "--due")


def start_detached(vault: Vault, verb: str, *words: str) -> None:
    """Start a command on a vault that goes on by itself, in silence."""
    words = (sys.executable, "-m", "cortex", verb, *words, "--json", "--vault", vault.root)
    # The shell ends at once, so that nobody has to wait for its child.
    subprocess.run(
        ["/bin/sh", "-c", '"$@" </dev/null >/dev/null 2>&1 &', "sh", *words],
        start_new_session=True,
        env={**os.environ, _GUARD_VARIABLE: verb},
        check=False,
    )


def load_existing_records(
    vault: Vault, caller: Caller, event: Event | None = None
) -> ExistingRecords:
    """What exists, from a refreshed index; with `event`, only what this one can touch."""
    filters = _filters_of_event(vault, event) if event else [KNOWLEDGE]
    return query_index(
        vault, caller.progress, lambda index: _read_existing_records(index, filters), words=False
    )


def _filters_of_event(vault: Vault, event: Event) -> list[NoteFilter]:
    """What an event can touch: records with the ids, topics or texts of its own, its session."""
    # What it supersedes leads to other records; minutes make records of their own.
    if event.supersedes or event.type == "meeting":
        return [KNOWLEDGE]
    records = records_from_event(event, settings.load(vault.root).phrases)
    return [
        KNOWLEDGE._replace(
            ids={
                session_note_id(event.session or event.id),
                *(id_ for one in records for id_ in (one.id, *one.supersedes)),
            }
        ),
        KNOWLEDGE._replace(topics={one.topic for one in records if one.topic}),
        KNOWLEDGE._replace(digests={content_digest(one.title, one.body) for one in records}),
    ]


def _read_existing_records(index: IndexSession, filters: list[NoteFilter]) -> ExistingRecords:
    existing = ExistingRecords()
    for row in (row for one in filters for row in index.catalogue.find(one, "path")):
        has_id = row.id != row.path
        if has_id or row.events:
            existing.add(
                path=row.path,
                id_=row.id,
                type_=row.type,
                project=row.project,
                at=row.created,
                title=row.title,
                digest_=row.digest if row.tier == TIER_CURRENT else "",
                from_events=row.events,
            )
        if has_id and row.topic:
            existing.path_by_topic.setdefault((row.project, row.scope, row.topic), row.path)
    return existing
