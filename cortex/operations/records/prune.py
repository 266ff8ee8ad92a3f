"""Hide records that have been archived for long."""

from __future__ import annotations

import os
from functools import partial
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import PRUNED, TIER_SET_ASIDE
from cortex.core.model.problem import CortexError, Problem
from cortex.core.notes import note as notes
from cortex.core.notes.edit import set_inactive_status
from cortex.core.ranking import archive_rules as rules, importance
from cortex.core.ranking.importance import DAY_SECONDS, Signals
from cortex.core.text.iso_time import epoch_seconds
from cortex.index.catalogue import NoteRow
from cortex.index.filters import NoteFilter
from cortex.index.refresh import IndexSession
from cortex.operations.find.note_ranks import signals_of_notes, timestamp_of
from cortex.operations.records import lifecycle
from cortex.operations.records.change_record import edit_note
from cortex.operations.records.faded import DueRecord
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.heal import try_heal
from cortex.operations.upkeep.record_lock import refuse_during_git_operation
from cortex.vault import files
from cortex.vault.locate import Vault


class PruneResult(NamedTuple):
    """What was pruned, or with `done` false would be."""

    hits: tuple[lifecycle.LifecycleHit, ...]
    total: int  # records that are due
    done: bool
    confirm: bool  # nothing was pruned, and --yes would
    hint: str
    problems: tuple[Problem, ...]


def prune(
    vault: Vault,
    caller: Caller,
    *,
    dry_run: bool = False,
    yes: bool = False,
    number: lifecycle.RecordCount = 500,
) -> PruneResult:
    """Hide what has been archived for 90 days, if you say --yes.

    Without it they are only listed. A pruned record keeps its file, with the status `pruned`: it
    stands on no page and in no answer but to `status:pruned` or its id. cortex restore ID puts it
    back into the archive.

    dry_run: list what would be pruned, with exit code 0
    yes: prune
    number: how many records at the most

    Example: cortex prune
    Example: cortex prune --yes
    """
    yes = yes and not dry_run
    if yes:
        refuse_during_git_operation(vault)
    moment = epoch_seconds(caller.now)

    def load(index: IndexSession) -> tuple[list[NoteRow], dict[int, Signals]]:
        wanted = NoteFilter(tiers=(TIER_SET_ASIDE,), statuses=("archived",), has_id=True)
        rows = [row for row in index.catalogue.find(wanted) if not row.pinned]
        return rows, signals_of_notes(vault, index, rows)

    (archived, signals), problems = query_fresh(vault, caller, load)
    due = _select_prunable(vault, caller, archived, signals, moment)
    chosen, total = due[:number], len(due)

    def hide(one: DueRecord) -> bool:
        said = {"pruned_at": caller.now}
        edit = partial(set_inactive_status, status=PRUNED, details=said)
        return edit_note(vault, one.row.path, lifecycle.unless_changed(one.row, edit, caller.now))

    if yes:
        hits, failed = lifecycle.change_each(vault, caller, "pruning", chosen, hide)
        hits = [one._replace(hit=one.hit._replace(status=PRUNED)) for one in hits]
        problems += [*failed, *(try_heal(vault, caller) if hits else [])]
        total -= len(chosen) - len(hits)
    else:
        hits = [lifecycle.lifecycle_hit(vault, one) for one in chosen]
    hint = "cortex restore ID brings one back"
    hint = hint if yes else f"cortex prune --yes hides them; {hint}"
    return PruneResult(
        hits=tuple(hits),
        total=total,
        done=yes,
        confirm=bool(hits) and not yes and not dry_run,
        hint=hint if hits else "",
        problems=tuple(problems),
    )


def _select_prunable(
    vault: Vault, caller: Caller, archived: list[NoteRow], signals: dict[int, Signals], moment: int
) -> list[DueRecord]:
    """The records that have been archived long enough, the longest archived first."""
    due = []
    for place, row in enumerate(archived):
        caller.progress("looking into the archive", place, len(archived))
        try:
            note = notes.read(files.read(vault.root, row.path), row.path)
            written = os.stat(os.path.join(vault.root, row.path)).st_mtime
        except (CortexError, OSError):
            continue  # gone meanwhile, or not to be read
        # Who archived it by hand said no time. Then it counts from when the file was last written:
        # what it says of itself may be years old.
        since = timestamp_of(note.get("archived_at")) or written
        days = importance.age_seconds(since, moment) / DAY_SECONDS
        if days >= rules.PRUNE_AFTER_DAYS:
            links = signals[row.number].incoming
            verb = "note still links" if links == 1 else "notes still link"
            why = f"archived for {int(days)} days{f'; {links} {verb} to it' if links else ''}"
            score = importance.total_score(signals[row.number], moment)
            due.append(DueRecord(row, since, score, why))
    caller.progress("looking into the archive", len(archived), len(archived))
    return sorted(due, key=lambda one: (one.since, one.row.path))
