"""Resolve what git could not merge, by the ids of the notes.

What to do is decided by `core/merge/conflicts.py`; here versions are read and files written.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import suppress

from cortex.core.merge.body import marked_conflicts
from cortex.core.merge.conflicts import TAKEN, plan_resolution
from cortex.core.merge.merge_plan import (
    AskPerson,
    MergeContext,
    MergeOutcome,
    MergeResolution,
    OpenConflict,
    UnmergedPath,
    WriteFile,
    sha256_hex,
)
from cortex.core.merge.note_versions import MergeSides, note_id, stem_of
from cortex.core.model.caller import Caller
from cortex.core.model.event import is_event_id
from cortex.core.model.layout import is_among_briefings, is_event_path
from cortex.core.model.problem import Problem
from cortex.core.notes import note as notes
from cortex.operations.share.text_conflicts import LABELS, OtherSide, other_side
from cortex.operations.upkeep.preserve_text import preserve_text
from cortex.vault import files
from cortex.vault.git import checkout, commit, git_cli, merging, objects, work_tree
from cortex.vault.git.changes import read_if_there
from cortex.vault.git.merge_versions import (
    BlobTriple,
    blobs_by_path,
    build_sides,
    merge_notes,
    same_text,
)
from cortex.vault.git.merging import MergeState
from cortex.vault.layout import layout_of
from cortex.vault.locate import Vault


def resolve_user_merge(
    vault: Vault, caller: Caller
) -> tuple[tuple[MergeResolution, ...], tuple[Problem, ...]]:
    """Resolve what can be of a merge, rebase, cherry-pick, revert, stash or am that a person began.

    Returns what was decided, and what waits for them; they conclude the operation.
    """
    root = vault.root
    unnamed = "squash" if merging.squashed_commit(root) else "stash"
    how, at = checkout.operation_in_progress(root) or unnamed, git_cli.head_commit(root)
    last = merging.load_state(root)
    saved = last if last and (last.how, last.theirs, last.ours) == (how, "", at) else None
    if not objects.list_unmerged_stages(root) and not (saved and how == unnamed):
        return (), ()
    known = merging.load_in_progress(root) or saved or MergeState(how, "", {}, at)
    decided, waiting = resolve_unmerged(vault, caller, known)
    if not waiting and merging.load_in_progress(root) is None:
        merging.clear_state(root)
    return tuple(dict.fromkeys(decided)), tuple(waiting)


def recover_interrupted_merge(root: str) -> list[MergeResolution]:
    """Restore the work tree after a crash in a merge or rebase of ours."""
    if not merging.is_unfinished(root):
        return []
    merging.wait_until_idle(root)
    with commit.repository_lock(root):
        mine = merging.load_state(root)
        if mine is None or not merging.is_unfinished(root):  # another cortex has done it meanwhile
            return []
        restored = work_tree.restore(root, mine.ours, mine.theirs)
        if not checkout.operation_in_progress(root):
            merging.clear_state(root)
    top, what = objects.toplevel(root), "was cut off by a crash, and is as git has it again"
    paths = (os.path.relpath(os.path.join(top, one), root) for one in restored)
    return [MergeResolution(path, what) for path in paths]


def keep_left_out(vault: Vault, caller: Caller, path: str, text: bytes, merged: bytes) -> bytes:
    """What was merged of the note `text` at `path` and another one. Where lines of it are left out,
    as of a topic that was saved later, and no commit has them, they become an event, which the
    result names. Inside `record_lock`."""
    note = notes.read(text, path)
    is_said = set(note.body.splitlines()) <= set(merged.splitlines())
    if is_said or same_text(text, objects.read_at_revision(vault.root, "HEAD", path)):
        return merged
    named, _ = preserve_text(vault, caller, note)
    return merge_notes(text, merged, notes.write(named))[0]


def resolve_unmerged(
    vault: Vault, caller: Caller, mine: MergeState
) -> tuple[list[MergeResolution], list[Problem]]:
    """One pass over what is unmerged now: what was decided, and what waits for a person."""
    root = vault.root
    stages = objects.list_unmerged_stages(root)
    if not stages and not mine.waiting:
        return [], []
    unmerged, foreign = _read_unmerged(root, stages)
    listed = git_cli.run(root, ["ls-files", "--cached", "-z"], timeout=60.0) if stages else b""
    tracked = frozenset(listed.split(b"\0"))
    other = other_side(root, mine)

    def merge_note(base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes, bool]:
        data, is_clean = merge_notes(base, ours, theirs, LABELS if other else None)
        # What was stashed or mailed need not be in a commit. A squashed one may be a stash.
        if mine.how in ("stash", "squash", "am"):
            data = keep_left_out(vault, caller, "", theirs, data)
        return data, is_clean

    context = MergeContext(
        merge_note=merge_note,
        open_conflicts=mine.waiting,
        in_work_tree={path: read_if_there(root, path) for path in mine.waiting},
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
        text = read_if_there(root, ask.path)
        question = (
            other.question(ask.path, text, sides) if other and not ask.removed_paths else None
        )
        hint = "git add keeps a file, git rm lets it go; then cortex sync"
        if text and marked_conflicts(text):
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
            current = read_if_there(root, one.path)
            text = one.data if one.data is not None else current
            named = other.with_names(one.path, text, sides) if text is not None else None
            actions[at] = one._replace(data=one.data if named == text else named)
    return outcome._replace(actions=tuple(actions))


def _question(ask: AskPerson) -> str:
    others = [path for path in ask.removed_paths if path != ask.path]
    return ask.reason + (f" ({', '.join(others)} goes when this is mended)" if others else "")


def _read_unmerged(
    root: str, stages: Sequence[objects.IndexEntry]
) -> tuple[list[UnmergedPath], list[str]]:
    """The unmerged paths of the vault, and those outside it."""
    prefix = objects.prefix(root)
    own: dict[str, list[objects.IndexEntry]] = {}
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
        ids = frozenset(map(note_id, versions)) - {""}
        text = read_if_there(root, path)
        known = versions | {written[path]} if path in written else versions
        unmerged.append(UnmergedPath(path, text, is_plain, ids, known))
    return unmerged, list(foreign)


def _is_plain(stage: objects.IndexEntry) -> bool:
    return stage.mode.startswith(b"100")


def _plain_stages(stages: Sequence[objects.IndexEntry], prefix: bytes) -> list[objects.IndexEntry]:
    """The stages of the vault's regular files."""
    return [stage for stage in stages if stage.path.startswith(prefix) and _is_plain(stage)]


def _read_sides(root: str, operation: str, stages: Sequence[objects.IndexEntry]) -> MergeSides:
    """The base, ours and theirs of each note that an operation under way merges. They are read from
    its commits if these are known: git may stage at a renamed path another path's version, or
    merged text."""
    prefix = objects.prefix(root)
    entries = _plain_stages(stages, prefix)
    paths = {os.fsdecode(stage.path[len(prefix) :]) for stage in entries}
    merged = merging.revisions_of(root, operation) if entries else None
    versions = blobs_by_path(root, merged, paths) if merged else {}
    # Not in the commits: such as a new file in a folder that git thinks was renamed.
    unknown_paths = paths - versions.keys()
    events = {stem_of(path) for path in paths if is_event_path(path) or path in unknown_paths}
    # The commits may be other than those that git merges: an older stash than the last one, a patch
    # in place of a stash, an unknown commit, or a pick relative to another parent.
    may_be_other = operation in ("stash", "squash", "cherry-pick", "revert")
    is_other = may_be_other and _is_other_merge(entries, versions)
    if is_other or (unknown_paths and (merged is None or operation == "stash")):
        texts = objects.read_blobs(root, [stage.blob for stage in entries])
        trees: tuple[dict[str, bytes], ...] = ({}, {}, {})
        for one in entries:
            path, data = os.fsdecode(one.path[len(prefix) :]), texts[one.blob]
            trees[one.number - 1][_own_path(root, path, data)] = data
        return MergeSides(*trees)
    wanted = {
        path: row
        for path, row in versions.items()
        if path in paths
        or (
            stem_of(path) in events
            if is_event_path(path)
            else path.endswith(".md") and not is_among_briefings(path)
        )
    }
    blobs = [blob for row in wanted.values() for blob in row if blob]
    sides = build_sides(wanted, objects.read_blobs(root, blobs))
    if operation != "stash":
        return sides
    # A stash leaves untracked files behind, such as the new name of a note that was moved.
    left = {
        path: text
        for path in objects.list_untracked(root)
        if path.endswith(".md") and not is_event_path(path) and (text := read_if_there(root, path))
    }
    return sides._replace(theirs={**left, **sides.theirs})


def _own_path(root: str, path: str, data: bytes) -> str:
    """Where a staged version belongs: at its path, but if git has taken a record for an event and
    staged it at the event's path, where Cortex writes such a record."""
    id_ = note_id(data)
    if not is_event_path(path) or id_ in ("", stem_of(path)) or is_event_id(id_):
        return path
    return layout_of(root).record(notes.read(data).get("type") or "note", id_)


def _is_other_merge(stages: Sequence[objects.IndexEntry], versions: dict[str, BlobTriple]) -> bool:
    """True if what git could not merge are no versions of these commits."""
    base, ours, theirs = ({one.blob for one in stages if one.number == n} for n in (1, 2, 3))
    # Of two renames of one note git stages the merged text for both names.
    return any(
        blobs and blobs.isdisjoint(row[at] for row in versions.values())
        for at, blobs in ((0, base), (2, theirs - ours))
    )


def _untracked_paths(
    root: str, unmerged: Sequence[UnmergedPath], stages: Sequence[objects.IndexEntry]
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
            current = read_if_there(root, action.path)
            before = mine.waiting.get(action.path)
            if action.data is None and before is not None:
                left[action.path] = before
            else:
                written = current if action.data is None else action.data
                hashes = sha256_hex(current), sha256_hex(written)
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
    before = files.read(root, path) if files.exists(root, path) else None
    if before != data:
        files.replace(root, path, data, before)


def _remove_file(root: str, path: str) -> None:
    with suppress(FileNotFoundError):  # its folder went with it
        if files.exists(root, path):
            files.remove(root, path)
