"""Turn events into records, under the record lock."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import Problem
from cortex.core.normalize.changes import ExistingRecords
from cortex.core.text.value import NamedTuple
from cortex.operations.upkeep.detached import GUARD_VARIABLE, start_detached
from cortex.operations.upkeep.drain_spool import publish_unsent_events
from cortex.operations.upkeep.existing_records import load_existing_records
from cortex.operations.upkeep.heal import try_heal_pages
from cortex.operations.upkeep.inbox import CREATED, DUPLICATE, UPDATED, InboxNormalizer
from cortex.operations.upkeep.record_lock import record_lock
from cortex.operations.upkeep.reread_minutes import reread_minutes
from cortex.operations.upkeep.restore_lost import try_restore_lost
from cortex.vault import files, user_settings
from cortex.vault.locate import Vault
from cortex.vault.state import unjudged
from cortex.vault.state.change_marker import git_stamp, is_built_at, mark_briefings_stale

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

    An event that cannot be used moves to inbox/failed with the reason; the others go on.

    dry_run: say what would happen and change nothing

    Example: cortex normalize --dry-run
    """
    if dry_run:
        return normalize_inbox(vault, caller, dry_run=True)
    # What hooks could not put into the inbox for want of room.
    problems = publish_unsent_events(vault)
    stamp = git_stamp(vault)
    problems += try_restore_lost(vault, caller)  # a record that git mixed takes no event
    done = normalize_inbox(vault, caller)
    if not is_built_at(vault, stamp):
        problems += try_heal_pages(vault, caller, stamp)
    else:
        changed, unread = reread_minutes(vault, caller)
        problems += try_heal_pages(vault, caller, stamp) if changed else unread
    return done._replace(problems=tuple(problems))


def normalize_inbox(
    vault: Vault, caller: Caller, *, dry_run: bool = False, only: Sequence[Event] = ()
) -> NormalizeResult:
    """Turn the events of the inbox, or only these of them, into records, and judge the sessions that
    have ended. The briefings are left to `heal`, and marked as stale where there was any event.
    Raises `CortexError` while another pass goes on."""
    with record_lock(vault, INBOX_LOCK_TIMEOUT_SECONDS):
        # In the order of arrival: an id begins with its time.
        pending = files.list_notes(vault.root, vault.layout().pending())
        if only:
            wanted = {f"{event.id}.md" for event in only}
            pending = [name for name in pending if name in wanted]
        if pending and not dry_run:
            mark_briefings_stale(vault)
        is_due = (
            not dry_run
            and not only
            and bool(unjudged.list_due(unjudged.WAITING.read(vault), caller))
        )
        existing = (
            load_existing_records(vault, caller, only) if pending or is_due else ExistingRecords()
        )
        done = InboxNormalizer(vault, existing, dry_run=dry_run)
        done.run(pending, caller)
        if not dry_run and (done.turns or is_due):
            # 10 ms of patterns; a save has no turn of a session.
            from cortex.operations.upkeep import judge  # noqa: PLC0415

            judge.judge_ended(vault, caller, done)
    if done.normalized_ids and not dry_run:
        _start_due(vault)
    ids, failed = tuple(done.normalized_ids), tuple(done.failed)
    created = done.paths_with_outcome(CREATED)
    changed = done.paths_with_outcome(UPDATED, DUPLICATE)
    return NormalizeResult(ids, created, changed, failed, dry_run)


def _start_due(vault: Vault) -> None:
    """Start a process that distills what is due, if the user has named a model; never in a hook."""
    if os.environ.get(GUARD_VARIABLE) or not os.path.lexists(user_settings.settings_file()):
        return
    distill, _ = user_settings.load_distill()
    if distill.command and distill.auto and distill.by == user_settings.COMMAND:
        start_detached(vault, "distill", "--due")
