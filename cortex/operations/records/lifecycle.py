"""What has lost its importance leaves the way: a pass that archives, and a deletion that only comes when asked for."""

from __future__ import annotations

import os
from functools import partial
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, CortexError, Invalid, Problem
from cortex.core.notes import edit, note as notes
from cortex.core.notes.note import Note
from cortex.core.ranking import importance, lifecycle as rules
from cortex.core.ranking.importance import DAY, Signals
from cortex.core.text.shell_command import quoted
from cortex.index.catalogue import Standing
from cortex.index.refresh import Views, look
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.find.hits import hit
from cortex.operations.find.note_ranks import moment_of, signals_of
from cortex.operations.records import change_record
from cortex.operations.share.heal import heal_by_the_way
from cortex.vault import files
from cortex.vault.git import checkout, git, objects
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

MOST = 10_000  # records of one pass


class Judged(NamedTuple):
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


class Passed(NamedTuple):
    """What a pass archived, or would."""

    records: tuple[Judged, ...]
    remaining: int  # records that are due and that this pass left
    dry_run: bool
    hint: str  # why some remain
    problems: tuple[Problem, ...]


class Pruned(NamedTuple):
    """What was deleted, or with `done` false would be."""

    records: tuple[Judged, ...]
    done: bool
    confirm: bool  # nothing was deleted, and --yes would
    kept: tuple[Problem, ...]  # due, and not deleted; each with its reason
    remaining: int  # records that are due and that this pass left
    hint: str
    problems: tuple[Problem, ...]


class _Due(NamedTuple):
    """A record that a rule is about to change."""

    standing: Standing
    since: float  # the oldest go first
    score: float
    why: str


def lifecycle(vault: Vault, caller: Caller, *, dry_run: bool = False, number: int = 500) -> Passed:
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
    _check(vault, number, dry_run=dry_run)
    problems = freshen(vault, caller)
    moment = access_log.seconds(caller.now)

    def judged(now: Views) -> tuple[list[_Due], int]:
        active = [one for one in now.catalogue.standings("tier = 0") if one.id != one.path]
        return _faded(active, signals_of(vault, now, active), moment), len(active)

    due, active = look(vault, caller.progress, judged)
    chosen = due[: rules.most_archived(active, number)]
    hint = ""
    if len(chosen) < len(due):
        small = (
            "a small vault gives up a quarter of its records at a time"
            if len(chosen) < number
            else f"a pass takes {number}"
        )
        hint = f"{small}; run the command again"
    shown = [_judged(vault, one) for one in chosen]
    if dry_run:
        return Passed(tuple(shown), len(due) - len(chosen), True, hint, tuple(problems))
    done = []
    for place, (one, record) in enumerate(zip(chosen, shown, strict=True)):
        caller.progress("archiving", place, len(chosen))
        try:
            if change_record.apply(
                vault, record.path, partial(_archived, one.standing, caller.now)
            ):
                done.append(record._replace(status="archived"))
        except (CortexError, OSError) as error:  # one bad note never stops the others
            problems.append(_problem(record.path, error))
    caller.progress("archiving", len(chosen), len(chosen))
    problems += heal_by_the_way(vault, caller) if done else []
    return Passed(tuple(done), len(due) - len(chosen), False, hint, tuple(problems))


def prune(
    vault: Vault, caller: Caller, *, dry_run: bool = False, yes: bool = False, number: int = 500
) -> Pruned:
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
    _check(vault, number, dry_run=not yes)
    problems = freshen(vault, caller)
    moment = access_log.seconds(caller.now)

    def archived(now: Views) -> tuple[list[Standing], dict[int, Signals]]:
        held = [
            one
            for one in now.catalogue.standings("tier = 1 AND status = 'archived'")
            if one.id != one.path and not one.pinned
        ]
        return held, signals_of(vault, now, held)

    held, known = look(vault, caller.progress, archived)
    due = _forgotten(vault, caller, held, known, moment)
    safe, kept = _safe(vault, due)
    chosen, remaining = safe[:number], max(len(safe) - number, 0)
    records = [_judged(vault, one) for one, _ in chosen]
    if not yes:
        hint = (
            "cortex prune --yes deletes them; cortex restore ID brings one back from git"
            if records
            else ""
        )
        return Pruned(
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
            change_record.remove(vault, record.path, data)
            done.append(record)
        except (CortexError, OSError) as error:
            kept.append(_problem(record.path, error))
    caller.progress("pruning", len(chosen), len(chosen))
    problems += heal_by_the_way(vault, caller) if done else []
    return Pruned(
        tuple(done),
        True,
        False,
        tuple(kept),
        remaining,
        "cortex restore ID brings one back from git" if done else "",
        tuple(problems),
    )


def _check(vault: Vault, number: int, *, dry_run: bool) -> None:
    if not 1 <= number <= MOST:
        raise Invalid(
            f"--number {number} is not between 1 and {MOST:,}", "cortex lifecycle --number 500"
        )
    if not dry_run and (busy := checkout.under_way(vault.root)):
        raise Conflict(f"git is in the middle of a {busy}", "end it first: git status says how")


def _faded(active: list[Standing], known: dict[int, Signals], moment: int) -> list[_Due]:
    """The records that a pass archives, those first that were touched longest ago."""
    due = []
    for one in active:
        held = known[one.number]
        if held.confidence is None and held.priority is None:
            continue  # by far the most; the rules say the same of it at greater length
        verdict = rules.verdict(held, moment, one.status)
        if verdict.archive:
            due.append(
                _Due(
                    one, importance.touched(held), importance.importance(held, moment), verdict.why
                )
            )
    return sorted(due, key=lambda one: (one.since, one.standing.path))


def _archived(seen: Standing, now: str, note: Note) -> Note:
    """The note in the archive; as it is when it is no longer what was judged."""
    if (
        note.get("updated") != seen.updated
        or note.get("status").lower() not in ("", "active")
        or note.fields.get("pinned") is True
    ):
        return note
    return edit.touched(edit.with_fields(note, {"status": "archived", "archived_at": now}), now)


def _forgotten(
    vault: Vault, caller: Caller, held: list[Standing], known: dict[int, Signals], moment: int
) -> list[_Due]:
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
        since = moment_of(note.get("archived_at")) or written
        days = importance.age(since, moment) / DAY
        if days >= rules.PRUNED:
            linked = known[one.number].incoming
            more = (
                f"; {linked} note{'' if linked == 1 else 's'} still link{'s' if linked == 1 else ''} to it"
                if linked
                else ""
            )
            due.append(
                _Due(
                    one,
                    since,
                    importance.importance(known[one.number], moment),
                    f"archived for {int(days)} days{more}",
                )
            )
    caller.progress("looking into the archive", len(held), len(held))
    return sorted(due, key=lambda one: (one.since, one.standing.path))


def _safe(vault: Vault, due: list[_Due]) -> tuple[list[tuple[_Due, bytes]], list[Problem]]:
    """Those whose bytes are in git's last commit, with these bytes; and why the others stay."""
    if not due:
        return [], []
    if not checkout.in_repository(vault.root):
        return [], [
            Problem(
                ".",
                "no git repository is around this vault, so nothing that is deleted could come back",
                f"git init {quoted(vault.root)}",
            )
        ]
    if not git.has_commit(vault.root):
        return [], [
            Problem(
                ".",
                "git has no commit yet, so nothing that is deleted could come back",
                "cortex sync commits the notes",
            )
        ]
    committed = objects.committed(vault.root, [one.standing.path for one in due])
    safe, kept = [], []
    for one in due:
        path = one.standing.path
        data = committed.get(path)
        try:
            if data is not None and files.read(vault.root, path) == data:
                safe.append((one, data))
                continue
        except (CortexError, OSError) as error:
            kept.append(_problem(path, error))
            continue
        message = (
            "is not in git's last commit" if data is None else "differs from git's last commit"
        )
        kept.append(Problem(path, f"{message}, so it is not deleted", "commit it: cortex sync"))
    return safe, kept


def _judged(vault: Vault, due: _Due) -> Judged:
    return Judged(*hit(vault, due.standing, due.score), due.why)


def _problem(path: str, error: CortexError | OSError) -> Problem:
    if isinstance(error, CortexError):
        return Problem(path, error.message, error.hint)
    return Problem(path, error.strerror or str(error), "check its permissions")
