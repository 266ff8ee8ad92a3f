"""Delete records that have been archived for long and that git has."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_SET_ASIDE
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.notes import note as notes
from cortex.core.ranking import archive_rules as rules, importance
from cortex.core.ranking.importance import DAY_SECONDS, Signals
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.shell_command import shell_quote
from cortex.index.catalogue import NoteRow
from cortex.index.filters import NoteFilter
from cortex.index.refresh import IndexSession
from cortex.operations.find.ensure_fresh import query_fresh
from cortex.operations.find.note_ranks import signals_of_notes, timestamp_of
from cortex.operations.records import lifecycle
from cortex.operations.records.change_record import refuse_during_git_operation, remove_unchanged
from cortex.operations.records.faded import DueRecord
from cortex.operations.share.heal import try_heal
from cortex.vault import files
from cortex.vault.git import checkout, git_cli, objects
from cortex.vault.locate import Vault


class PruneResult(NamedTuple):
    """What was deleted, or with `done` false would be."""

    hits: tuple[lifecycle.LifecycleHit, ...]
    total: int  # records that could be deleted
    done: bool
    confirm: bool  # nothing was deleted, and --yes would
    kept: tuple[Problem, ...]  # due, and not deleted; each with its reason
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
    """Delete what has been archived for 90 days, if you say --yes.

    Without it they are only listed. A file is deleted only when git's last commit has exactly its
    bytes, so that cortex restore ID brings it back; what git does not have stays, and is named.
    Events are never deleted.

    dry_run: list what would be deleted, with exit code 0
    yes: delete
    number: how many records at the most

    Example: cortex prune
    Example: cortex prune --yes
    """
    yes = yes and not dry_run
    if yes:
        refuse_during_git_operation(vault)
    moment = epoch_seconds(caller.now)

    def load(now: IndexSession) -> tuple[list[NoteRow], dict[int, Signals]]:
        wanted = NoteFilter(tiers=(TIER_SET_ASIDE,), statuses=("archived",), has_id=True)
        rows = [row for row in now.catalogue.find(wanted) if not row.pinned]
        return rows, signals_of_notes(vault, now, rows)

    (archived, signals), problems = query_fresh(vault, caller, load)
    due = _select_prunable(vault, caller, archived, signals, moment)
    safe, kept = _split_by_commit(vault, due)
    chosen = [one for one, _ in safe[:number]]
    data_by_path = {one.row.path: data for one, data in safe}

    def remove(one: DueRecord) -> bool:
        remove_unchanged(vault, one.row.path, data_by_path[one.row.path])
        return True

    failed: list[Problem] = []
    if yes:
        hits, failed = lifecycle.change_each(vault, caller, "pruning", chosen, remove)
        problems += try_heal(vault, caller) if hits else []
    else:
        hits = [lifecycle.lifecycle_hit(vault, one) for one in chosen]
    hint = "cortex restore ID brings one back from git"
    hint = hint if yes else f"cortex prune --yes deletes them; {hint}"
    return PruneResult(
        hits=tuple(hits),
        total=len(safe) - len(failed),
        done=yes,
        confirm=bool(hits) and not yes and not dry_run,
        kept=(*kept, *failed),
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
            continue  # gone meanwhile, or not to be read: then it is not to be deleted either
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


def _split_by_commit(
    vault: Vault, due: list[DueRecord]
) -> tuple[list[tuple[DueRecord, bytes]], list[Problem]]:
    """Records whose bytes are in git's last commit, with these; problems for the others."""
    if not due:
        return [], []
    nothing = "so nothing that is deleted could come back"
    if not checkout.is_in_repository(vault.root):
        message = f"no git repository is around this vault, {nothing}"
        return [], [Problem(".", message, f"git init {shell_quote(vault.root)}")]
    if not git_cli.has_commit(vault.root):
        message = f"git has no commit yet, {nothing}"
        return [], [Problem(".", message, "cortex sync commits the notes")]
    committed = objects.read_committed(vault.root, [one.row.path for one in due])
    safe, kept = [], []
    for one in due:
        path = one.row.path
        data = committed.get(path)
        try:
            if data is not None and files.read(vault.root, path) == data:
                safe.append((one, data))
                continue
        except (CortexError, OSError) as error:
            kept.append(problem_of(path, error))
            continue
        how = "is not in" if data is None else "differs from"
        message = f"{how} git's last commit, so it is not deleted"
        kept.append(Problem(path, message, "commit it: cortex sync"))
    return safe, kept
