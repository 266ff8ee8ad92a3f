"""Where git's merge or rebase stopped: read the versions, decide by `core/settle.py`, carry it out, go on."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from cortex.core import note as notes
from cortex.core.caller import Caller
from cortex.core.merge import merge_record
from cortex.core.problem import Conflict, CortexError, Invalid, Problem
from cortex.core.settle import Left, Outcome, Place, Put, Settled, Wait, World, conflicts, digest, settle
from cortex.operations.heal import heal
from cortex.vault import checkout, commits, files, git, merging, objects
from cortex.vault.find import Vault
from cortex.vault.merging import Begun
from cortex.vault.text_merge import merge_file

_MOST_STEPS = 10_000  # commits of one rebase


class Step(NamedTuple):
    """How far settling came."""

    done: bool  # the merge or rebase is concluded
    settled: tuple[Settled, ...]
    waiting: tuple[Problem, ...]  # what only a person can decide
    trouble: str = ""
    hint: str = ""


def carry_on(vault: Vault, caller: Caller, mine: Begun) -> Step:
    """Settle what git could not, conclude the merge, or go on with the rebase until it ends or waits for a person."""
    settled: list[Settled] = []
    for _ in range(_MOST_STEPS):
        decided, waiting = _settle(vault.root, mine)
        settled += decided
        if waiting:
            return Step(done=False, settled=_once(settled), waiting=tuple(waiting))
        if mine.how == "merge":
            changed: tuple[str, ...] = ()
            with suppress(CortexError):  # it is tried again before the next commit, and told then
                healed = heal(vault, caller)
                changed = (*healed.written, *healed.removed)
            merging.resolve(vault.root, [path for path in changed if path not in objects.ignored(vault.root, changed)])
        ran = merging.conclude(vault.root, mine.how)
        settled += merging.told(ran)
        if checkout.under_way(vault.root) != mine.how:
            return Step(done=True, settled=_once(settled), waiting=())
        if ran.code and not objects.stages(vault.root):
            if mine.how == "rebase" and commits.keep_amid(vault.root).id:
                continue  # what was written meanwhile stood in git's way
            error = commits.declined(vault.root, ran, mine.how)
            return Step(done=False, settled=_once(settled), waiting=(), trouble=error.message, hint=error.hint)
        mine = mine._replace(waiting={})
        merging.remember(vault.root, mine)
    raise CortexError(f"the rebase has more than {_MOST_STEPS:,} steps", "git rebase --abort, then git pull --no-rebase")


def twins(root: str, base: str, ours: str, theirs: str) -> tuple[Settled, ...]:
    """Make one note of two that both sides made of one by moving and rewriting it: git saw no move, and merged in
    peace. What both sides wrote on the same lines stays two notes, which `cortex doctor` names."""
    gone = set(_changed(root, base, ours, "D")) & set(_changed(root, base, theirs, "D"))
    old = {path: blob for path, blob in _changed(root, base, ours, "D").items() if path in gone and path.startswith(("records/", "sessions/"))}
    if not old:
        return ()
    mine, others = _notes_added(root, base, ours), _notes_added(root, base, theirs)
    text = objects.blobs(root, old.values())
    places = []
    for path, blob in old.items():
        id_ = notes.read(text.get(blob, b"")).get("id")
        if id_ in mine and id_ in others and mine[id_][0] != others[id_][0]:
            places += [
                Place(path, text[blob], None, None, None),
                Place(mine[id_][0], None, mine[id_][1], None, None),
                Place(others[id_][0], None, None, others[id_][1], None),
            ]
    outcome = settle(places, World(merge_notes))
    for action in outcome.actions:
        if isinstance(action, Put):
            _write(root, action.path, action.data)
        elif not isinstance(action, Wait):
            _remove(root, action.path)
    return outcome.settled


def settle_for_a_person(root: str) -> tuple[Settled, ...]:
    """Settle what can be of a merge, rebase or the like that a person began, and leave its end to them."""
    if not objects.stages(root):
        return ()
    ours = merging.begun(root)
    try:
        decided, _ = _settle(root, ours or Begun("rebase" if checkout.under_way(root) == "rebase" else "merge", "", {}))
    finally:
        if ours is None:
            merging.forget(root)
    return _once(decided)


def merge_notes(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
    """The merged note, and whether nothing in its text is left to a person. A field that both sides changed and that
    may not change is named in the note, and stops nothing."""
    try:
        merged = merge_record(base, ours, theirs, merge_file)
    except Invalid:
        return ours, False
    return merged.data, merged.clean or not conflicts(merged.data) - conflicts(ours) - conflicts(theirs)


def _once(settled: Iterable[Settled]) -> tuple[Settled, ...]:
    return tuple(dict.fromkeys(settled))


def _settle(root: str, mine: Begun) -> tuple[list[Settled], list[Problem]]:
    """One pass over what is unmerged now: what was decided, and what waits for a person."""
    stages = objects.stages(root)
    if not stages and not mine.waiting:
        return [], []
    places, foreign = _places(root, mine, stages)
    held = {path: _held(root, path) for path in mine.waiting}
    tracked = frozenset(git.run(root, ["ls-files", "--cached", "-z"], timeout=60.0).split(b"\0")) if stages else frozenset()
    world = World(
        merge=merge_notes,
        added=_added(root, mine, places),
        waiting=mine.waiting,
        held=held,
        taken=lambda path: os.fsencode(path) in tracked or files.exists(root, path),
    )
    outcome = settle(places, world)
    left = _carry_out(root, mine, outcome)
    problems = [Problem(path, "git could not merge it, and it is not in the vault", "mend it, then git add it") for path in foreign]
    waits = [action for action in outcome.actions if isinstance(action, Wait)]
    problems += [Problem(wait.path, _why(wait), "choose the lines to keep and delete the markers, then cortex sync") for wait in waits]
    merging.remember(root, mine._replace(waiting=left))
    return list(outcome.settled), problems


def _why(wait: Wait) -> str:
    others = [path for path in wait.drops if path != wait.path]
    return wait.why + (f" ({', '.join(others)} goes when this is mended)" if others else "")


def _places(root: str, mine: Begun, stages: Sequence[objects.Stage]) -> tuple[list[Place], list[str]]:
    """The unmerged places of the vault, and the unmerged paths outside it."""
    prefix = objects.prefix(root)
    by_path: dict[bytes, dict[int, objects.Stage]] = {}
    for stage in stages:
        by_path.setdefault(stage.path, {})[stage.number] = stage
    own = {path: found for path, found in by_path.items() if path.startswith(prefix)}
    text = objects.blobs(root, [stage.blob for found in own.values() for stage in found.values() if stage.mode.startswith(b"100")])
    whole = _before_merging(root, mine, own)
    places = []
    for path, found in own.items():
        versions = {number: whole.get((path, number), text.get(stage.blob)) for number, stage in found.items()}
        plain = all(stage.mode.startswith(b"100") for stage in found.values())
        name = os.fsdecode(path[len(prefix) :])
        places.append(Place(name, versions.get(1), versions.get(2), versions.get(3), _held(root, name), plain))
    return sorted(places), [os.fsdecode(path) for path in by_path if path not in own]


def _before_merging(root: str, mine: Begun, places: Mapping[bytes, Mapping[int, objects.Stage]]) -> dict[tuple[bytes, int], bytes]:
    """What each side itself has where git found two new names for one note: there its stages hold a merged text already."""
    found: dict[tuple[bytes, int], bytes] = {}
    _, ours, theirs = merging.sides(root, mine.how)
    for number, revision in ((2, ours), (3, theirs)):
        wanted = [os.fsdecode(path) for path, stages in places.items() if set(stages) == {number}]
        if wanted:
            listed = objects.files_of(root, revision, wanted)
            text = objects.blobs(root, listed.values())
            found |= {(path, number): text[blob] for path, blob in listed.items() if blob in text}
    return found


def _added(root: str, mine: Begun, places: Sequence[Place]) -> dict[str, tuple[str, bytes]]:
    """The notes that a side added, by id, when one of its deletions is in question: it may have been a move that git
    did not recognise."""
    base, ours, theirs = merging.sides(root, mine.how)
    asked = [revision for revision, version in ((ours, 2), (theirs, 3)) if any(place[1] is not None and place[version] is None for place in places)]
    found: dict[str, tuple[str, bytes]] = {}
    for revision in asked:
        found |= _notes_added(root, base, revision)
    return found


def _notes_added(root: str, base: str, revision: str) -> dict[str, tuple[str, bytes]]:
    """The notes, events aside, that are new since `base` and still there: id -> path and text."""
    new = {path: blob for path, blob in _changed(root, base, revision, "A").items() if not path.startswith(("inbox/", "events/", "briefings/"))}
    text = objects.blobs(root, new.values())
    found = {}
    for path, blob in new.items():
        if (id_ := notes.read(text.get(blob, b"")).get("id")) and files.exists(root, path):
            found[id_] = (path, text[blob])
    return found


def _changed(root: str, base: str, revision: str, kind: str) -> dict[str, str]:
    """The vault's notes that were added (A) or deleted (D) between two commits, with their blobs."""
    prefix = objects.prefix(root)
    raw = git.run(
        root, ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", f"--diff-filter={kind}", base, revision, "--"], timeout=60.0
    )
    fields = raw.split(b"\0")
    return {
        os.fsdecode(path[len(prefix) :]): meta.split(b" ")[3 if kind == "A" else 2].decode()
        for meta, path in zip(fields[::2], fields[1::2], strict=False)
        if path.endswith(b".md") and path.startswith(prefix)
    }


def _carry_out(root: str, mine: Begun, outcome: Outcome) -> dict[str, Left]:
    """Write, remove, tell git; answer what waits. What is left to a person is remembered before it is written, so that
    a crash between can be told from their work."""
    resolved: list[str] = []
    left: dict[str, Left] = {}
    for action in outcome.actions:
        if isinstance(action, Wait):
            found = _held(root, action.path)
            before = mine.waiting.get(action.path)
            if action.data is None and before is not None:
                left[action.path] = before
            else:
                left[action.path] = Left(digest(found), digest(found if action.data is None else action.data), action.drops)
        elif isinstance(action, Put):
            _write(root, action.path, action.data)
            resolved.append(action.path)
        else:
            _remove(root, action.path)
            resolved.append(action.path)
    merging.remember(root, mine._replace(waiting=left))
    for action in outcome.actions:
        if isinstance(action, Wait) and action.data is not None:
            _write(root, action.path, action.data)
    merging.resolve(root, resolved)
    return left


def _write(root: str, path: str, data: bytes) -> None:
    """Have these bytes at `path`, whatever git left there."""
    if files.exists(root, path):
        before = files.read(root, path)
        if before != data:
            files.replace(root, path, data, before)
    else:
        try:
            files.publish(root, path, data)
        except FileExistsError:
            raise Conflict(f"{path} was made by somebody else just now", "cortex sync") from None


def _remove(root: str, path: str) -> None:
    with suppress(FileNotFoundError):  # its folder went with it
        if files.exists(root, path):
            files.remove(root, path)


def _held(root: str, path: str) -> bytes | None:
    """What stands in the work tree; None when nothing does, or nothing that can be read as a file."""
    try:
        return files.read(root, path)
    except (CortexError, OSError):
        return None
