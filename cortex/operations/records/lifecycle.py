"""What has lost its importance leaves the way: a pass that archives, and a deletion that only comes when asked for."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError, Problem
from cortex.core.notes import edit
from cortex.core.notes.note import Note
from cortex.core.ranking import archive_rules as rules, importance
from cortex.core.ranking.importance import Signals
from cortex.core.text.iso_time import epoch_seconds
from cortex.index.catalogue import NoteMetadata
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.find.hits import build_hit
from cortex.operations.find.note_ranks import signals_of_notes
from cortex.operations.records import change_record
from cortex.operations.share.heal import try_heal
from cortex.vault.git import checkout
from cortex.vault.locate import Vault

MAX_RECORDS = 10_000  # records of one pass


class LifecycleHit(NamedTuple):
    """One record of a list, as search shows it, and why it stands there."""

    id: str
    path: str
    line: int
    title: str
    type: str
    status: str
    score: float
    snippet: str
    date: int  # seconds since the epoch
    project: str
    vault: str
    why: str


class LifecyclePass(NamedTuple):
    """What a pass archived, or would."""

    records: tuple[LifecycleHit, ...]
    remaining: int  # records that are due and that this pass left
    dry_run: bool
    hint: str  # why some remain
    problems: tuple[Problem, ...]


class DueRecord(NamedTuple):
    """A record that a rule is about to change."""

    note_row: NoteMetadata
    since: float  # the oldest go first
    score: float
    why: str


def lifecycle(
    vault: Vault, caller: Caller, *, dry_run: bool = False, number: int = 500
) -> LifecyclePass:
    """Archive the records that have lost their importance, oldest first.

    Archived is what somebody said with a confidence that has faded below 0.3, after 14 days without change or use; and
    what somebody said to be minor, once it is older than 90 days and its score is below 0.1. Never what is pinned, decided, central
    or younger than three days, never actions, meetings, plans and sessions, and nothing that merely says no
    confidence. An archived record stays where it is, its links still work, and cortex restore ID brings it back.

    dry_run: change nothing; list what would be archived
    number: how many records at the most

    Example: cortex lifecycle --dry-run
    Example: cortex lifecycle --number 50
    """
    check_can_run(vault, number, dry_run=dry_run)
    problems = ensure_fresh(vault, caller)
    moment = epoch_seconds(caller.now)

    def judged(now: IndexSession) -> tuple[list[DueRecord], int]:
        active = [one for one in now.catalogue.metadata_rows("tier = 0") if one.id != one.path]
        return _select_faded(active, signals_of_notes(vault, now, active), moment), len(active)

    due, active = query_index(vault, caller.progress, judged)
    chosen = due[: rules.max_archived(active, number)]
    hint = ""
    if len(chosen) < len(due):
        small = (
            "a small vault gives up a quarter of its records at a time"
            if len(chosen) < number
            else f"a pass takes {number}"
        )
        hint = f"{small}; run the command again"
    shown = [lifecycle_hit(vault, one) for one in chosen]
    if dry_run:
        return LifecyclePass(tuple(shown), len(due) - len(chosen), True, hint, tuple(problems))
    done = []
    for place, (one, record) in enumerate(zip(chosen, shown, strict=True)):
        caller.progress("archiving", place, len(chosen))
        try:
            if change_record.edit_note(
                vault, record.path, partial(_archive_unless_changed, one.note_row, caller.now)
            ):
                done.append(record._replace(status="archived"))
        except (CortexError, OSError) as error:  # one bad note never stops the others
            problems.append(problem_from_error(record.path, error))
    caller.progress("archiving", len(chosen), len(chosen))
    problems += try_heal(vault, caller) if done else []
    return LifecyclePass(tuple(done), len(due) - len(chosen), False, hint, tuple(problems))


def check_can_run(vault: Vault, number: int, *, dry_run: bool) -> None:
    if not 1 <= number <= MAX_RECORDS:
        raise InvalidInputError(
            f"--number {number} is not between 1 and {MAX_RECORDS:,}",
            "cortex lifecycle --number 500",
        )
    if not dry_run and (busy := checkout.operation_in_progress(vault.root)):
        raise ConflictError(
            f"git is in the middle of a {busy}", "end it first: git status says how"
        )


def _select_faded(
    active: list[NoteMetadata], known: dict[int, Signals], moment: int
) -> list[DueRecord]:
    """The records that a pass archives, those first that were touched longest ago."""
    due = []
    for one in active:
        held = known[one.number]
        if held.confidence is None and held.priority is None:
            continue  # by far the most; the rules say the same of it at greater length
        verdict = rules.judge(held, moment, one.status)
        if verdict.should_archive:
            due.append(
                DueRecord(
                    one,
                    importance.last_touched(held),
                    importance.total_score(held, moment),
                    verdict.reason,
                )
            )
    return sorted(due, key=lambda one: (one.since, one.note_row.path))


def _archive_unless_changed(seen: NoteMetadata, now: str, note: Note) -> Note:
    """The note in the archive; as it is when it is no longer what was judged."""
    if (
        note.get("updated") != seen.updated
        or note.get("status").lower() not in ("", "active")
        or note.fields.get("pinned") is True
    ):
        return note
    return edit.with_updated(
        edit.with_fields(note, {"status": "archived", "archived_at": now}), now
    )


def lifecycle_hit(vault: Vault, due: DueRecord) -> LifecycleHit:
    return LifecycleHit(*build_hit(vault, due.note_row, due.score), due.why)


def problem_from_error(path: str, error: CortexError | OSError) -> Problem:
    if isinstance(error, CortexError):
        return Problem(path, error.message, error.hint)
    return Problem(path, error.strerror or str(error), "check its permissions")
