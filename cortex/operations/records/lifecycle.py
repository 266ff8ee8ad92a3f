"""Archive records that have lost their importance, and hide what has been archived for long."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Annotated

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import PRUNED
from cortex.core.model.parameters import Between
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.notes import note as notes
from cortex.core.notes.edit import set_inactive_status, with_fields, with_updated
from cortex.core.notes.note import Note
from cortex.core.ranking import importance
from cortex.core.ranking.importance import DAY_SECONDS, Signals
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import SET_ASIDE
from cortex.index.refresh import IndexSession
from cortex.operations.find.hits import Hit, build_hit
from cortex.operations.find.note_ranks import DueRecord, find_faded, signals_of_notes, timestamp_of
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.edit_note import NoteEdit, edit_note
from cortex.operations.upkeep.heal import try_heal
from cortex.operations.upkeep.record_lock import refuse_during_git_operation
from cortex.vault import files, settings
from cortex.vault.git import checkout
from cortex.vault.locate import Vault

RecordCount = Annotated[int, Between(1, 10_000)]  # records of one pass
_MAX_BY_ITSELF = 50  # records that a pass takes that nobody asked for


class LifecycleHit(NamedTuple):
    """A record, and why it is to be changed."""

    hit: Hit
    why: str


class LifecyclePass(NamedTuple):
    """What a pass archived, or would."""

    hits: tuple[LifecycleHit, ...]
    total: int  # records that were due
    dry_run: bool
    hint: str  # why some remain
    problems: tuple[Problem, ...]


class PruneResult(NamedTuple):
    """What was pruned, or with `done` false would be."""

    hits: tuple[LifecycleHit, ...]
    total: int  # records that are due
    done: bool
    confirm: bool  # nothing was pruned, and --yes would
    hint: str
    problems: tuple[Problem, ...]


def lifecycle(
    vault: Vault, caller: Caller, *, dry_run: bool = False, number: RecordCount = 500
) -> LifecyclePass:
    """Archive the records that have lost their importance.

    The oldest first. Archived is what somebody said with a confidence that has faded below 0.3, after
    14 days without change or use; and what somebody said to be minor, once it is older than 90 days and
    its score is below 0.1. Never what is pinned, decided, central, used within 14 days or younger than
    three days, never actions, meetings, plans and sessions, and nothing that merely says no confidence.
    An archived record stays where it is, its links still work, and cortex restore ID brings it back. With
    [lifecycle] auto = true in the vault's cortex.toml, cortex sync and the watcher archive 50 at a time
    by themselves.

    dry_run: change nothing; list what would be archived
    number: how many records at the most

    Example: cortex lifecycle --dry-run
    Example: cortex lifecycle --number 50
    """
    if not dry_run:
        refuse_during_git_operation(vault)
    (due, active), problems = query_fresh(vault, caller, find_faded, vault, caller.now)
    chosen = due[: importance.max_archived(active, number)]
    hint = ""
    if len(chosen) < len(due):
        is_small = len(chosen) < number
        why = "a small vault gives up a quarter of its records at a time" if is_small else ""
        hint = f"{why or f'a pass takes {number}'}; run the command again"

    def archived(note: Note) -> Note:
        return with_fields(note, {"status": "archived", "archived_at": caller.now})

    words = ("archiving", "archived")
    hits, failed = _change_each(vault, caller, words, chosen, None if dry_run else archived)
    # What was changed meanwhile is no longer due.
    total = len(due) - len(chosen) + len(hits)
    return LifecyclePass(hits, total, dry_run, hint, (*problems, *failed))


def archive_by_itself(vault: Vault, caller: Caller) -> list[Problem]:
    """Archive what has faded, a few records at a time, where the vault's settings ask for it:
    `[lifecycle] auto = true`."""
    if not settings.load(vault.root).archives_faded or checkout.operation_in_progress(vault.root):
        return []
    return list(lifecycle(vault, caller, number=_MAX_BY_ITSELF).problems)


def prune(
    vault: Vault,
    caller: Caller,
    *,
    dry_run: bool = False,
    yes: bool = False,
    number: RecordCount = 500,
) -> PruneResult:
    """Hide what has been archived for 90 days, if you say --yes.

    Without it they are only listed. A pruned record keeps its file, with the status `pruned`: it
    stands on no page and in no answer but to `status:pruned` or its id. cortex restore ID puts it
    back into the archive. What somebody has looked at within 14 days is not pruned.

    dry_run: list what would be pruned, with exit code 0
    yes: prune
    number: how many records at the most

    Example: cortex prune
    Example: cortex prune --yes
    """
    yes = yes and not dry_run
    if yes:
        refuse_during_git_operation(vault)
    due, problems = _find_prunable(vault, caller)
    chosen = due[:number]
    pruned = partial(set_inactive_status, status=PRUNED, details={"pruned_at": caller.now})
    words = ("pruning", PRUNED)
    hits, failed = _change_each(vault, caller, words, chosen, pruned if yes else None)
    total = len(due) - len(chosen) + len(hits)
    hint = "cortex restore ID brings one back"
    hint = hint if yes else f"cortex prune --yes hides them; {hint}"
    confirm = bool(hits) and not yes and not dry_run
    return PruneResult(hits, total, yes, confirm, hint if hits else "", (*problems, *failed))


def _find_prunable(vault: Vault, caller: Caller) -> tuple[list[DueRecord], list[Problem]]:
    """The records that have been archived long enough, the longest archived first, and the vault's
    problems."""
    moment = epoch_seconds(caller.now)

    def load(index: IndexSession) -> tuple[list[NoteRow], dict[int, Signals]]:
        wanted = SET_ASIDE._replace(statuses=("archived",), has_id=True)
        rows = [row for row in index.catalogue.find(wanted) if not row.pinned]
        signals = signals_of_notes(vault, index, rows)
        left = [row for row in rows if not importance.is_recently_used(signals[row.number], moment)]
        return left, signals

    (archived, signals), problems = query_fresh(vault, caller, load)
    due = []
    for row in caller.each(archived, "looking into the archive"):
        try:
            note = notes.read(files.read(vault.root, row.path), row.path)
            written = os.stat(vault.file(row.path)).st_mtime
        except (CortexError, OSError):
            continue  # gone meanwhile, or not to be read
        # Who archived it by hand said no time. Then it counts from when the file was last written:
        # what it says of itself may be years old.
        since = timestamp_of(note.get("archived_at")) or written
        days = importance.age_seconds(since, moment) / DAY_SECONDS
        if days >= importance.PRUNE_AFTER_DAYS:
            links = signals[row.number].incoming
            verb = "note still links" if links == 1 else "notes still link"
            why = f"archived for {int(days)} days{f'; {links} {verb} to it' if links else ''}"
            score = importance.total_score(signals[row.number], moment)
            due.append(DueRecord(row, since, score, why))
    due.sort(key=lambda one: (one.since, one.row.path))
    return due, problems


def _change_each(
    vault: Vault,
    caller: Caller,
    words: tuple[str, str],
    chosen: Sequence[DueRecord],
    change: NoteEdit | None,
) -> tuple[tuple[LifecycleHit, ...], list[Problem]]:
    """Give records a status one by one, then heal: those that changed, and problems. An error stops
    no other record. `words`: what is said meanwhile, and the status. Without a `change` all are
    shown as they are."""
    (what, status), hits, problems = words, [], []
    for one in caller.each(chosen, what):
        shown = LifecycleHit(build_hit(vault, one.row, one.score), one.why)
        try:
            if change is None:
                hits.append(shown)
            elif edit_note(vault, one.row.path, _unless_changed(one.row, change, caller.now)):
                hits.append(shown._replace(hit=shown.hit._replace(status=status)))
        except (CortexError, OSError) as error:
            problems.append(problem_of(one.row.path, error))
    return tuple(hits), [*problems, *(try_heal(vault, caller) if change and hits else [])]


def _unless_changed(seen: NoteRow, change: NoteEdit, now: str) -> NoteEdit:
    """The edit that leaves a note alone if it has changed since it was judged."""

    def edit(note: Note) -> Note:
        status = note.get("status").lower() or "active"
        is_same = (note.updated, status) == (seen.updated, seen.status or "active")
        if not is_same or note.fields.get("pinned") is True:
            return note
        return with_updated(change(note), now)

    return edit
