"""Resolve what git could not merge, and repair what it merged wrongly.

What to do is decided by `core/merge/conflicts.py` and `core/merge/damage.py`; here versions are
read and files written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from cortex.core.merge.conflict_markers import marked_conflicts, side_of_nested
from cortex.core.merge.conflicts import TAKEN, plan_resolution
from cortex.core.merge.damage import plan_repair
from cortex.core.merge.merge_plan import (
    AskPerson,
    MergeContext,
    MergeOutcome,
    MergeResolution,
    MergeSides,
    OpenConflict,
    RemoveFile,
    UnmergedPath,
    WriteFile,
    sha256_hex,
)
from cortex.core.merge.merge_record import merge_record
from cortex.core.merge.note_versions import Tree, is_record_file_name, note_id
from cortex.core.model.layout import is_among_briefings, is_event_path
from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError, Problem
from cortex.operations.share.conflict_sides import LABELS, OtherSide, other_side
from cortex.vault import files
from cortex.vault.git import checkout, commit, displaced, git_cli, merging, objects
from cortex.vault.git.merge_file import merge_file
from cortex.vault.git.merging import MergeRevisions, MergeState


def resolve_user_merge(root: str) -> tuple[tuple[MergeResolution, ...], tuple[Problem, ...]]:
    """Resolve what can be of a merge, rebase, cherry-pick, revert, stash or am that a person began.

    Returns what was decided, and what waits for them; they conclude the operation.
    """
    unnamed = "squash" if merging.squashed_commit(root) else "stash"
    how, at = checkout.operation_in_progress(root) or unnamed, git_cli.head_commit(root)
    last = merging.load_state(root)
    saved = last if last and (last.how, last.theirs, last.ours) == (how, "", at) else None
    decided: list[MergeResolution] = []
    waiting: list[Problem] = []
    if objects.list_unmerged_stages(root) or (saved and how == unnamed):
        known = merging.load_in_progress(root) or saved or MergeState(how, "", {}, at)
        decided, waiting = resolve_unmerged(root, known)
        if how == unnamed and not waiting:
            # A file that a stash has as moved may be untracked: then its tree tells of a deletion.
            repaired, waiting = repair_index(root, how, [one.path for one in decided])
            decided += repaired
        if not waiting and merging.load_in_progress(root) is None:
            merging.clear_state(root)
    if how != "stash":
        repaired, problems = _take_out_staged_markers(root, how)
        decided, waiting = [*decided, *repaired], [*waiting, *problems]
    return tuple(dict.fromkeys(decided)), tuple(waiting)


def _take_out_staged_markers(root: str, how: str) -> tuple[list[MergeResolution], list[Problem]]:
    """Repair the notes for which git has staged its markers as merged text, and those that it mixed
    into them: it stops, but calls nothing unmerged, and the next commit would record the markers.
    What was staged since git stopped is a person's, or is resolved, and stays."""
    tree, commits = merging.tree_at_stop(root), merging.revisions_of(root, how)
    if not tree or commits is None:
        return [], []
    since = objects.paths_staged_since(root, tree)
    resolved, changed, written = repair_merge(root, commits, tree, marked_except=since)
    merging.mark_resolved(root, written)
    message = "git has staged its markers in it, and it was changed since"
    return resolved, [Problem(one.where, message, "mend it, then git add it") for one in changed]


def recover_interrupted_merge(root: str) -> tuple[list[MergeResolution], list[Problem]]:
    """Restore the work tree after a crash in a merge or rebase of ours, and check the merge."""
    if not merging.is_unfinished(root):
        return [], []
    merging.wait_until_idle(root)
    with commit.repository_lock(root):
        mine = merging.load_state(root)
        if mine is None or not merging.is_unfinished(root):  # another cortex has done it meanwhile
            return [], []
        restored = merging.restore_work_tree(root, mine)
        if checkout.operation_in_progress(root):
            return restored, []
        resolved, problems = verify_own_merge(root, mine)
    return [*restored, *resolved], problems


def verify_own_merge(
    root: str, mine: MergeState, decided: Collection[str] = ()
) -> tuple[list[MergeResolution], list[Problem]]:
    """Repair what git lost or mixed in a merge of ours, if it was made, and forget its state. What
    a person `decided` about, as that a note goes, stays so."""
    resolved: list[MergeResolution] = []
    problems: list[Problem] = []
    if made := merging.made_commit(root, mine):
        sides = mine.ours, mine.theirs
        ours, theirs = sides[::-1] if mine.how == "rebase" else sides
        commits = merging.revisions_between(root, ours, theirs)
        resolved, problems, written = repair_merge(root, commits, made, decided=decided)
        for path in (one for one in written if commit.is_outside_own_folders(root, one)):
            displaced.mark_restored(root, path)
    merging.clear_state(root)
    return resolved, problems


class MergeCommit(NamedTuple):
    """A merge that git has made."""

    sides: MergeSides
    result: dict[str, bytes]  # of every path that differs anywhere: the text in the commit
    # It holds what the first side holds, also of what the second has added or changed; what the
    # first has deleted may be git's doing.
    is_ours: bool


def read_merge_commit(root: str, commits: MergeRevisions, result: str) -> MergeCommit | None:
    """What a commit made of two others, with the texts of all notes that differ anywhere; None if
    git merged each note by itself."""
    versions = _blobs_by_path(root, commits)
    sides = commits.ours, commits.theirs
    made = tuple(_changed_blobs(root, side, result) for side in sides)
    # What is one everywhere, and changed in the result: `git am` takes a note for a new name of one
    # that its patch changes, as it knows of no other.
    versions |= {
        path: (old, old, old)
        for path, (old, _) in made[0].items()
        if old and path not in versions and made[1].get(path, ("", ""))[0] == old
    }
    if not _needs_inspection(versions, made):
        return None
    paths = {
        path: made[0][path][1] if path in made[0] else ours
        for path, (_, ours, _) in versions.items()
    }
    paths |= {path: new for changed in made for path, (_, new) in changed.items()}
    text = objects.read_blobs(
        root, [blob for row in (*versions.values(), paths.values()) for blob in row if blob]
    )
    tree = {path: text[blob] for path, blob in paths.items() if blob in text}
    is_chosen = any(
        theirs not in (ours, base) and (ours or not base)
        for base, ours, theirs in versions.values()
    )
    return MergeCommit(_build_sides(versions, text), tree, is_chosen and not made[0])


def repair_index(
    root: str, how: str, decided: Collection[str] = ()
) -> tuple[list[MergeResolution], list[Problem]]:
    """Run `repair_merge` on the index of the merge under way, or of a stash that is being applied,
    and stage what it writes: git stages some conflicts of renames as if they were merged, markers
    included."""
    commits = merging.revisions_of(root, how)
    if commits is None:
        return [], []
    tree = git_cli.run(root, ["write-tree"]).decode("ascii").strip()
    if how == "stash" and not _is_applied(root, commits, tree):
        return [], []
    resolved, problems, written = repair_merge(root, commits, tree, decided=decided)
    merging.mark_resolved(root, written)
    return resolved, problems


def _is_applied(root: str, commits: MergeRevisions, tree: str) -> bool:
    """Whether a tree holds all that theirs changed and ours left alone: git does not say which
    stash it applies, and the last one may be another."""
    ours, theirs, made = (
        _changed_blobs(root, commits.bases[0], one) for one in (commits.ours, commits.theirs, tree)
    )
    return all(path in ours or made.get(path) == change for path, change in theirs.items())


def repair_merge(
    root: str,
    commits: MergeRevisions,
    result: str,
    *,
    marked_except: Collection[str] | None = None,
    decided: Collection[str] = (),
) -> tuple[list[MergeResolution], list[Problem], list[str]]:
    """Repair in the work tree what the merge `result`, a commit or a tree, lost or mixed of notes.

    Returns what was done, what was not, and the paths that were written. A file that was changed
    since the merge is left alone, and is a problem.

    marked_except: if given, repair only texts that hold git's markers, and none at these paths
    """
    merged = read_merge_commit(root, commits, result)
    if merged is None:
        return [], [], []
    outcome = plan_repair(
        merged.sides,
        merged.result,
        MergeContext(merge_note=merge_notes, is_taken=lambda path: files.exists(root, path)),
        marked_except,
        decided,
    )
    resolved, problems, written = list(outcome.resolved), [], []
    for action in outcome.actions:
        now = read_work_tree_file(root, action.path)
        if not same_text(now, merged.result.get(action.path)):
            resolved = [one for one in resolved if one.path != action.path]
            message = "was changed after a merge that mixed it with another note"
            problems.append(Problem(action.path, message, f"cortex history {action.path}"))
            continue
        written.append(action.path)
        if isinstance(action, RemoveFile):
            _remove_file(root, action.path)
        elif action.data is not None:
            _write_file(root, action.path, action.data)
    return resolved, problems, written


def merge_notes(
    base: bytes,
    ours: bytes,
    theirs: bytes,
    labels: tuple[bytes, bytes] | None = None,
    keep: Callable[[bytes, bytes, bytes], None] | None = None,
) -> tuple[bytes, bool]:
    """The merged note, and whether its text is without new conflicts. Conflicts of fields are named
    in the note and stop nothing.

    keep: is told base, result and the version of a topic that the result leaves out
    """
    try:
        merged = merge_record(base, ours, theirs, merge_file, labels=labels)
    except InvalidInputError:
        return ours, False
    if keep and merged.lost_version is not None:
        keep(base, merged.data, merged.lost_version)
    before = marked_conflicts(ours) | marked_conflicts(theirs)
    return merged.data, merged.is_clean or not marked_conflicts(merged.data) - before


def resolve_unmerged(root: str, mine: MergeState) -> tuple[list[MergeResolution], list[Problem]]:
    """One pass over what is unmerged now: what was decided, and what waits for a person."""
    stages = objects.list_unmerged_stages(root)
    if not stages and not mine.waiting:
        return [], []
    unmerged, foreign = _read_unmerged(root, stages)
    listed = git_cli.run(root, ["ls-files", "--cached", "-z"], timeout=60.0) if stages else b""
    tracked = frozenset(listed.split(b"\0"))
    other = other_side(root, mine)
    # What was stashed or mailed need not be in a commit.
    is_in_no_commit = mine.how in ("stash", "squash", "am")  # squash: it may be a stash
    keep = partial(displaced.save, root, "") if is_in_no_commit else None
    context = MergeContext(
        merge_note=partial(merge_notes, labels=LABELS if other else None, keep=keep),
        open_conflicts=mine.waiting,
        in_work_tree={path: read_work_tree_file(root, path) for path in mine.waiting},
        is_taken=lambda path: os.fsencode(path) in tracked or files.exists(root, path),
        name_other=other.name_and_day if other else None,
        is_other_ours=bool(other and other.is_ours),
    )
    sides = _read_sides(root, mine.how, stages)
    outcome = plan_resolution(unmerged, sides, context)
    if other:
        outcome = _with_names(root, outcome, other, sides)
    left = _apply_outcome(root, mine, outcome, _untracked_paths(root, unmerged, stages))
    message = "git could not merge it, and it is not in the vault"
    problems = [Problem(path, message, "mend it, then git add it") for path in foreign]
    for ask in (one for one in outcome.actions if isinstance(one, AskPerson)):
        now = read_work_tree_file(root, ask.path)
        question = other.question(ask.path, now, sides) if other and not ask.removed_paths else None
        hint = "git add keeps a file, git rm lets it go; then cortex sync"
        if now and marked_conflicts(now):
            hint = "choose the lines to keep and delete the markers, then cortex sync"
        problems.append(question or Problem(ask.path, _question(ask), hint))
    taken = (one.path for one in outcome.resolved if one.what == TAKEN)
    decided = tuple(sorted({*mine.decided, *taken}))
    merging.save_state(root, mine._replace(waiting=left, decided=decided))
    return list(outcome.resolved), problems


def _with_names(
    root: str, outcome: MergeOutcome, other: OtherSide, sides: MergeSides
) -> MergeOutcome:
    """The outcome, with texts for a person whose markers name the sides."""
    actions = list(outcome.actions)
    for at, one in enumerate(actions):
        if isinstance(one, AskPerson):
            now = read_work_tree_file(root, one.path)
            text = one.data if one.data is not None else now
            named = other.with_names(one.path, text, sides) if text is not None else None
            actions[at] = one._replace(data=one.data if named == text else named)
    return outcome._replace(actions=tuple(actions))


def _question(ask: AskPerson) -> str:
    others = [path for path in ask.removed_paths if path != ask.path]
    return ask.reason + (f" ({', '.join(others)} goes when this is mended)" if others else "")


def _read_unmerged(
    root: str, stages: Sequence[objects.UnmergedStage]
) -> tuple[list[UnmergedPath], list[str]]:
    """The unmerged paths of the vault, and those outside it."""
    prefix = objects.prefix(root)
    own: dict[str, list[objects.UnmergedStage]] = {}
    foreign: dict[str, None] = {}
    for stage in stages:
        if stage.path.startswith(prefix):
            own.setdefault(os.fsdecode(stage.path[len(prefix) :]), []).append(stage)
        else:
            foreign[os.fsdecode(stage.path)] = None
    texts = objects.read_blobs(root, [stage.blob for stage in _plain_stages(stages, prefix)])
    written = merging.read_auto_merge(root, list(own))
    unmerged = []
    for path, of_path in sorted(own.items()):
        is_plain = all(_is_plain(stage) for stage in of_path)
        versions = frozenset(texts[stage.blob] for stage in of_path if stage.blob in texts)
        sides = {side_of_nested(one, number) for one in versions for number in (2, 3)}
        ids = frozenset(map(note_id, sides)) - {""}
        text = read_work_tree_file(root, path)
        known = versions | {written[path]} if path in written else versions
        unmerged.append(UnmergedPath(path, text, is_plain, ids, known))
    return unmerged, list(foreign)


def _is_plain(stage: objects.UnmergedStage) -> bool:
    return stage.mode.startswith(b"100")


def _plain_stages(
    stages: Sequence[objects.UnmergedStage], prefix: bytes
) -> list[objects.UnmergedStage]:
    """The stages of the vault's regular files."""
    return [stage for stage in stages if stage.path.startswith(prefix) and _is_plain(stage)]


def _read_sides(root: str, how: str, stages: Sequence[objects.UnmergedStage]) -> MergeSides:
    """The versions of the notes that an operation under way merges, from its commits if they are
    known: the stages of a renamed path may hold versions of other paths, or merged text."""
    prefix = objects.prefix(root)
    own = _plain_stages(stages, prefix)
    paths = {os.fsdecode(stage.path[len(prefix) :]) for stage in own}
    merged = merging.revisions_of(root, how) if own else None
    versions = _blobs_by_path(root, merged, paths) if merged else {}
    made_up = paths - versions.keys()  # as for a new file in a folder that git takes for renamed
    events = {_file_name(path) for path in paths if is_event_path(path) or path in made_up}
    # Unknown, or another stash than the last one, no stash at all, or a pick by another parent.
    may_be_other = how in ("stash", "squash", "cherry-pick", "revert")
    is_other = may_be_other and _is_other_merge(own, versions)
    if is_other or (made_up and (merged is None or how == "stash")):
        text = objects.read_blobs(root, [stage.blob for stage in own])
        base, ours, theirs = (
            {
                os.fsdecode(one.path[len(prefix) :]): side_of_nested(text[one.blob], number)
                for one in own
                if one.number == number
            }
            for number in (1, 2, 3)
        )
        moved = _find_moved_notes(root, MergeSides(base, ours, theirs))
        return MergeSides(base, moved | ours, theirs)
    wanted = {
        path: row
        for path, row in versions.items()
        if path in paths
        or (
            _file_name(path) in events
            if is_event_path(path)
            else path.endswith(".md") and not is_among_briefings(path)
        )
    }
    blobs = [blob for row in wanted.values() for blob in row if blob]
    sides = _build_sides(wanted, objects.read_blobs(root, blobs))
    if how != "stash":
        return sides
    sides = sides._replace(ours={**sides.ours, **_staged_before_stash(root, own, sides.ours)})
    # A stash leaves untracked files behind, such as the new name of a note that was moved.
    untracked = {
        path: read_work_tree_file(root, path)
        for path in objects.list_untracked(root)
        if path.endswith(".md") and not is_event_path(path)
    }
    left = {path: data for path, data in untracked.items() if data is not None}
    return sides._replace(theirs={**left, **sides.theirs})


def _staged_before_stash(
    root: str, stages: Sequence[objects.UnmergedStage], committed: Tree
) -> dict[str, bytes]:
    """The notes of which a person had staged another text than is committed when they put a stash
    back, and which the stash deletes: a stash is merged into the index."""
    prefix = objects.prefix(root)
    kept = {one.path for one in stages if one.number == 3}
    own = [one for one in stages if one.number == 2 and one.path not in kept]
    texts = objects.read_blobs(root, [one.blob for one in own])
    found = {os.fsdecode(one.path.removeprefix(prefix)): texts[one.blob] for one in own}
    return {
        path: text
        for path, text in found.items()
        if path in committed and note_id(text) == note_id(committed[path])
    }


def _is_other_merge(
    stages: Sequence[objects.UnmergedStage], versions: dict[str, _BlobTriple]
) -> bool:
    """True if what git could not merge are no versions of these commits."""
    base, ours, theirs = ({one.blob for one in stages if one.number == n} for n in (1, 2, 3))
    # Of two renames of one note git stages the merged text for both names.
    return any(
        blobs and blobs.isdisjoint(row[at] for row in versions.values())
        for at, blobs in ((0, base), (2, theirs - ours))
    )


def _find_moved_notes(root: str, sides: MergeSides) -> dict[str, bytes]:
    """Notes of base or theirs that HEAD has elsewhere, by that path: a patch does not say so."""
    ids = {
        id_
        for tree in (sides.base, sides.theirs)
        for path, data in tree.items()
        if not is_event_path(path) and (id_ := note_id(data))
    }
    ids -= {note_id(data) for data in sides.ours.values()}
    if not ids:
        return {}
    patterns = [word for id_ in sorted(ids) for word in ("-e", f"id: {id_}")]
    words = ["grep", "-l", "-z", "-F", *patterns, "HEAD", "--", "."]
    listed = git_cli.run_unchecked(root, words, timeout=60.0).stdout.split(b"\0")
    moved = {}
    for path in (os.fsdecode(name).partition(":")[2] for name in listed if name.endswith(b".md")):
        data = None if is_event_path(path) else objects.read_at_revision(root, "HEAD", path)
        if data is not None and note_id(data) in ids:
            moved[path] = data
    return moved


_BlobTriple = tuple[str | None, str | None, str | None]  # blobs of one path: base, ours, theirs


def _build_sides(versions: dict[str, _BlobTriple], text: dict[str, bytes]) -> MergeSides:
    """The three trees with the texts of these blobs."""
    trees: list[dict[str, bytes]] = [{}, {}, {}]
    for path, row in versions.items():
        for tree, blob in zip(trees, row, strict=True):
            if blob in text:
                tree[path] = text[blob]
    return MergeSides(*trees)


def _blobs_by_path(
    root: str, merged: MergeRevisions, unmerged: Collection[str] = ()
) -> dict[str, _BlobTriple]:
    """The blobs of every path below the vault that differs between base and one of the sides.

    Of several bases, as after criss-cross merges, the one that a side left alone counts. A path
    that both sides have as one of the bases is left out, unless it is `unmerged`: git merges the
    bases first, and may see a change in them that neither side made.
    """
    changes = [
        (_changed_blobs(root, base, merged.ours), _changed_blobs(root, base, merged.theirs))
        for base in merged.bases
    ]
    found: dict[str, _BlobTriple] = {}
    for path in {path for pair in changes for changed in pair for path in changed}:
        rows: list[_BlobTriple] = []
        for ours, theirs in changes:
            if path in ours or path in theirs:
                was = (ours.get(path) or theirs[path])[0]
                _, our = ours.get(path, (was, was))
                _, their = theirs.get(path, (was, was))
                rows.append((was, our, their))
            elif path not in unmerged:
                break  # this base, ours and theirs are one here
        else:
            found[path] = _choose_row(root, merged, path, rows)
    return found


def _choose_row(
    root: str, merged: MergeRevisions, path: str, rows: Sequence[_BlobTriple]
) -> _BlobTriple:
    """Of the rows of several bases the one that a side left alone. Where each side is as one of the
    bases has it, the side that has changed it since is right, as it went back on purpose."""
    of_ours, of_theirs = (
        next((row for row in rows if row[0] == row[side]), None) for side in (1, 2)
    )
    if of_ours and of_theirs and of_ours != of_theirs:
        words = ["rev-list", "-1", "--no-merges"]
        is_ours_changed, is_theirs_changed = (
            bool(git_cli.line(root, [*words, side, "--not", *merged.bases, "--", path]))
            for side in (merged.ours, merged.theirs)
        )
        if is_ours_changed != is_theirs_changed:
            return of_theirs if is_ours_changed else of_ours
    return next((row for row in rows if row in (of_ours, of_theirs)), rows[0])


def _needs_inspection(
    versions: dict[str, _BlobTriple], made: tuple[dict[str, tuple[str | None, str | None]], ...]
) -> bool:
    """Whether git's merge has to be checked note by note.

    So it is if a path that one side changed has another result, if one that both changed is gone or
    merged, if both sides moved a note, if each deleted one, which may be two copies of one note, or
    if one added a note whose name does not hold its id.
    """
    deleted_by: set[str] = set()
    for path, (base, ours, theirs) in versions.items():
        if not path.endswith(".md") or is_among_briefings(path):
            continue
        result = made[0][path][1] if path in made[0] else ours
        wanted = ours if theirs in (ours, base) else theirs
        if base not in (ours, theirs) and ours != theirs:
            # An edit that is gone with a deletion is git's doing where it saw a rename.
            if result not in (ours, theirs) or result is None:
                return True
        elif result != wanted or (base and ours is None and theirs is None):
            return True
        if base is None and not is_event_path(path) and not is_record_file_name(_file_name(path)):
            return True
        if base and None in (ours, theirs) and not is_event_path(path):
            deleted_by.add("theirs" if ours else "ours")
    return len(deleted_by) > 1


def _changed_blobs(root: str, one: str, other: str) -> dict[str, tuple[str | None, str | None]]:
    """Files that differ between commits: vault path -> both blobs, None for no regular file."""
    prefix = objects.prefix(root)
    below = [os.fsdecode(prefix)] if prefix else []
    return {
        os.fsdecode(change.path.removeprefix(prefix)): (
            change.old_blob if change.old_mode.startswith(b"100") else None,
            change.new_blob if change.new_mode.startswith(b"100") else None,
        )
        for change in objects.changes_between(root, one, other, *below)
    }


def _untracked_paths(
    root: str, unmerged: Sequence[UnmergedPath], stages: Sequence[objects.UnmergedStage]
) -> set[str]:
    """The paths that both sides deleted, and where a file lies all the same: git wrote none there,
    so it is somebody's, and may be in no commit."""
    prefix = objects.prefix(root)
    kept = {stage.path for stage in stages if stage.number != 1}
    return {
        one.path
        for one in unmerged
        if prefix + os.fsencode(one.path) not in kept
        and one.work_tree_text is not None
        and not any(same_text(one.work_tree_text, text) for text in one.staged_texts)
    }


def _apply_outcome(
    root: str, mine: MergeState, outcome: MergeOutcome, untracked: Collection[str]
) -> dict[str, OpenConflict]:
    """Write and remove files, stage them, and return what waits for a person. That is saved before
    it is written, so that a crash in between can be told from the person's own work. `untracked`
    files go from the index alone."""
    done: list[str] = []
    left: dict[str, OpenConflict] = {}
    for action in outcome.actions:
        if isinstance(action, AskPerson):
            now = read_work_tree_file(root, action.path)
            before = mine.waiting.get(action.path)
            if action.data is None and before is not None:
                left[action.path] = before
            else:
                written = now if action.data is None else action.data
                hashes = sha256_hex(now), sha256_hex(written)
                left[action.path] = OpenConflict(*hashes, action.removed_paths)
        elif isinstance(action, WriteFile):
            _write_file(root, action.path, action.data)
            done.append(action.path)
        elif action.path in untracked:
            merging.mark_resolved(root, [action.path], untracked=True)
        else:
            _remove_file(root, action.path)
            done.append(action.path)
    merging.save_state(root, mine._replace(waiting=left))
    for action in outcome.actions:
        if isinstance(action, AskPerson) and action.data is not None:
            _write_file(root, action.path, action.data)
    merging.mark_resolved(root, done)
    return left


def _write_file(root: str, path: str, data: bytes) -> None:
    """Have these bytes at `path`, whatever git left there."""
    if files.exists(root, path):
        before = files.read(root, path)
        if before != data:
            files.replace(root, path, data, before)
    else:
        try:
            files.create(root, path, data)
        except FileExistsError:
            message = f"{path} was made by somebody else just now"
            raise ConflictError(message, "cortex sync") from None


def _remove_file(root: str, path: str) -> None:
    with suppress(FileNotFoundError):  # its folder went with it
        if files.exists(root, path):
            files.remove(root, path)


def read_work_tree_file(root: str, path: str) -> bytes | None:
    """The text of a file; None when there is none, or nothing that can be read as a file."""
    try:
        return files.read(root, path)
    except (CortexError, OSError):
        return None


def same_text(one: bytes | None, other: bytes | None) -> bool:
    """Whether two texts are equal but for line ends, which git may change on checkout."""
    if one is None or other is None:
        return one is other
    return one.replace(b"\r\n", b"\n") == other.replace(b"\r\n", b"\n")


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]
