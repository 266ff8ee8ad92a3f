"""Delete what has been archived for long, if a person says so and git has it."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem
from cortex.core.notes import note as notes
from cortex.core.ranking import archive_rules as rules, importance
from cortex.core.ranking.importance import DAY_SECONDS, Signals
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.shell_command import shell_quote
from cortex.index.catalogue import NoteMetadata
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.find.note_ranks import signals_of_notes, timestamp_of
from cortex.operations.records import change_record
from cortex.operations.records.lifecycle import (
    DueRecord,
    LifecycleHit,
    check_can_run,
    lifecycle_hit,
    problem_from_error,
)
from cortex.operations.share.heal import try_heal
from cortex.vault import files
from cortex.vault.git import checkout, git_cli, objects
from cortex.vault.locate import Vault


class PruneResult(NamedTuple):
    """What was deleted, or with `done` false would be."""

    records: tuple[LifecycleHit, ...]
    done: bool
    confirm: bool  # nothing was deleted, and --yes would
    kept: tuple[Problem, ...]  # due, and not deleted; each with its reason
    remaining: int  # records that are due and that this pass left
    hint: str
    problems: tuple[Problem, ...]


def prune(
    vault: Vault, caller: Caller, *, dry_run: bool = False, yes: bool = False, number: int = 500
) -> PruneResult:
    """Delete the records that have been archived for 90 days, if you say --yes.

    Without it they are only listed. A file is deleted only when git's last commit has exactly its bytes, so
    that cortex restore ID brings it back; what git does not have stays, and is named. Events are never deleted.

    dry_run: list what would be deleted, with exit code 0
    yes: delete
    number: how many records at the most

    Example: cortex prune
    Example: cortex prune --yes
    """
    yes = yes and not dry_run
    check_can_run(vault, number, dry_run=not yes)
    problems = ensure_fresh(vault, caller)
    moment = epoch_seconds(caller.now)

    def archived(now: IndexSession) -> tuple[list[NoteMetadata], dict[int, Signals]]:
        held = [
            one
            for one in now.catalogue.metadata_rows("tier = 1 AND status = 'archived'")
            if one.id != one.path and not one.pinned
        ]
        return held, signals_of_notes(vault, now, held)

    held, known = query_index(vault, caller.progress, archived)
    due = _select_prunable(vault, caller, held, known, moment)
    safe, kept = _split_by_commit(vault, due)
    chosen, remaining = safe[:number], max(len(safe) - number, 0)
    records = [lifecycle_hit(vault, one) for one, _ in chosen]
    if not yes:
        hint = (
            "cortex prune --yes deletes them; cortex restore ID brings one back from git"
            if records
            else ""
        )
        return PruneResult(
            tuple(records),
            False,
            bool(records) and not dry_run,
            tuple(kept),
            remaining,
            hint,
            tuple(problems),
        )
    done = []
    for place, (record, (_, data)) in enumerate(zip(records, chosen, strict=True)):
        caller.progress("pruning", place, len(chosen))
        try:
            change_record.remove_unchanged(vault, record.path, data)
            done.append(record)
        except (CortexError, OSError) as error:
            kept.append(problem_from_error(record.path, error))
    caller.progress("pruning", len(chosen), len(chosen))
    problems += try_heal(vault, caller) if done else []
    return PruneResult(
        tuple(done),
        True,
        False,
        tuple(kept),
        remaining,
        "cortex restore ID brings one back from git" if done else "",
        tuple(problems),
    )


def _select_prunable(
    vault: Vault, caller: Caller, held: list[NoteMetadata], known: dict[int, Signals], moment: int
) -> list[DueRecord]:
    """The records that have been archived long enough, those first that were archived first."""
    due = []
    for place, one in enumerate(held):
        caller.progress("looking into the archive", place, len(held))
        try:
            note = notes.read(files.read(vault.root, one.path), one.path)
            written = os.stat(os.path.join(vault.root, one.path)).st_mtime
        except (CortexError, OSError):
            continue  # gone meanwhile, or not to be read: then it is not to be deleted either
        # Who archived it by hand said no time. Then it counts from when the file was last written: what it says of itself may be years old.
        since = timestamp_of(note.get("archived_at")) or written
        days = importance.age_seconds(since, moment) / DAY_SECONDS
        if days >= rules.PRUNE_AFTER_DAYS:
            linked = known[one.number].incoming
            more = (
                f"; {linked} note{'' if linked == 1 else 's'} still link{'s' if linked == 1 else ''} to it"
                if linked
                else ""
            )
            due.append(
                DueRecord(
                    one,
                    since,
                    importance.total_score(known[one.number], moment),
                    f"archived for {int(days)} days{more}",
                )
            )
    caller.progress("looking into the archive", len(held), len(held))
    return sorted(due, key=lambda one: (one.since, one.note_row.path))


def _split_by_commit(
    vault: Vault, due: list[DueRecord]
) -> tuple[list[tuple[DueRecord, bytes]], list[Problem]]:
    """Those whose bytes are in git's last commit, with these bytes; and why the others stay."""
    if not due:
        return [], []
    if not checkout.is_in_repository(vault.root):
        return [], [
            Problem(
                ".",
                "no git repository is around this vault, so nothing that is deleted could come back",
                f"git init {shell_quote(vault.root)}",
            )
        ]
    if not git_cli.has_commit(vault.root):
        return [], [
            Problem(
                ".",
                "git has no commit yet, so nothing that is deleted could come back",
                "cortex sync commits the notes",
            )
        ]
    committed = objects.read_committed(vault.root, [one.note_row.path for one in due])
    safe, kept = [], []
    for one in due:
        path = one.note_row.path
        data = committed.get(path)
        try:
            if data is not None and files.read(vault.root, path) == data:
                safe.append((one, data))
                continue
        except (CortexError, OSError) as error:
            kept.append(problem_from_error(path, error))
            continue
        message = (
            "is not in git's last commit" if data is None else "differs from git's last commit"
        )
        kept.append(Problem(path, f"{message}, so it is not deleted", "commit it: cortex sync"))
    return safe, kept
