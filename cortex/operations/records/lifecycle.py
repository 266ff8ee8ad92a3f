"""Archive records that have lost their importance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import Between
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.notes.edit import with_fields, with_updated
from cortex.core.notes.note import Note
from cortex.core.ranking import archive_rules as rules
from cortex.index.catalogue import NoteRow
from cortex.operations.find.hits import Hit, build_hit
from cortex.operations.records.change_record import NoteEdit, edit_note
from cortex.operations.records.faded import DueRecord, find_faded
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.heal import try_heal
from cortex.operations.upkeep.record_lock import refuse_during_git_operation
from cortex.vault import settings
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


def lifecycle(
    vault: Vault, caller: Caller, *, dry_run: bool = False, number: RecordCount = 500
) -> LifecyclePass:
    """Archive the records that have lost their importance.

    The oldest first. Archived is what somebody said with a confidence that has faded below 0.3, after
    14 days without change or use; and what somebody said to be minor, once it is older than 90 days and
    its score is below 0.1. Never what is pinned, decided, central or younger than three days, never
    actions, meetings, plans and sessions, and nothing that merely says no confidence. An archived
    record stays where it is, its links still work, and cortex restore ID brings it back. With
    [lifecycle] auto = true in the vault's cortex.toml, cortex sync and the watcher archive 50 at a time
    by themselves.

    dry_run: change nothing; list what would be archived
    number: how many records at the most

    Example: cortex lifecycle --dry-run
    Example: cortex lifecycle --number 50
    """
    if not dry_run:
        refuse_during_git_operation(vault)
    (due, active), problems = query_fresh(
        vault, caller, lambda index: find_faded(vault, index, caller.now)
    )
    chosen = due[: rules.max_archived(active, number)]
    hint = ""
    if len(chosen) < len(due):
        is_small = len(chosen) < number
        why = "a small vault gives up a quarter of its records at a time" if is_small else ""
        hint = f"{why or f'a pass takes {number}'}; run the command again"
    if dry_run:
        shown = tuple(lifecycle_hit(vault, one) for one in chosen)
        return LifecyclePass(shown, len(due), True, hint, tuple(problems))

    def archive(one: DueRecord) -> bool:
        fields = {"status": "archived", "archived_at": caller.now}
        edit = unless_changed(one.row, lambda note: with_fields(note, fields), caller.now)
        return edit_note(vault, one.row.path, edit)

    done, failed = change_each(vault, caller, "archiving", chosen, archive)
    done = [one._replace(hit=one.hit._replace(status="archived")) for one in done]
    problems += [*failed, *(try_heal(vault, caller) if done else [])]
    # What was changed meanwhile is no longer due.
    total = len(due) - len(chosen) + len(done)
    return LifecyclePass(tuple(done), total, False, hint, tuple(problems))


def archive_by_itself(vault: Vault, caller: Caller) -> list[Problem]:
    """Archive what has faded, a few records at a time, where the vault's settings ask for it:
    `[lifecycle] auto = true`."""
    if not settings.load(vault.root).archives_faded or checkout.operation_in_progress(vault.root):
        return []
    return list(lifecycle(vault, caller, number=_MAX_BY_ITSELF).problems)


def change_each(
    vault: Vault,
    caller: Caller,
    what: str,
    chosen: Sequence[DueRecord],
    change: Callable[[DueRecord], bool],
) -> tuple[list[LifecycleHit], list[Problem]]:
    """Change records one by one: those that changed, and problems. An error stops no other
    record."""
    done, problems = [], []
    for place, one in enumerate(chosen):
        caller.progress(what, place, len(chosen))
        shown = lifecycle_hit(vault, one)
        try:
            if change(one):
                done.append(shown)
        except (CortexError, OSError) as error:
            problems.append(problem_of(one.row.path, error))
    caller.progress(what, len(chosen), len(chosen))
    return done, problems


def unless_changed(seen: NoteRow, change: NoteEdit, now: str) -> NoteEdit:
    """The edit that leaves a note alone if it has changed since it was judged."""

    def edit(note: Note) -> Note:
        status = note.get("status").lower() or "active"
        is_same = (note.updated, status) == (seen.updated, seen.status or "active")
        if not is_same or note.fields.get("pinned") is True:
            return note
        return with_updated(change(note), now)

    return edit


def lifecycle_hit(vault: Vault, due: DueRecord) -> LifecycleHit:
    return LifecycleHit(build_hit(vault, due.row, due.score), due.why)
