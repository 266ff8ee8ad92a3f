"""Find what git's merges have lost or mixed in notes where no driver of Cortex had a say.

Each new commit with two parents, each that git made of commits that are known here
(`copied_commits.py`), and each that a squashed merge has put into one, is compared with its sides
note by note (`damage.find_damage`). What a person decided in a merge is no damage: a note counts as
lost only if its text, or its path, is found in another note, or if git took it for renamed, so that
nobody was asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from cortex.core.merge.conflict_markers import marked_conflicts
from cortex.core.merge.damage import DamageKind, MergeDamage, find_damage, is_mixed_in
from cortex.core.merge.note_versions import Tree, note_id
from cortex.core.model.layout import is_among_briefings, is_event_path
from cortex.core.model.problem import CortexError
from cortex.core.notes import note as notes
from cortex.operations.share.copied_commits import copied_commits, squashed_or_reverted
from cortex.operations.share.resolve_conflicts import MergeCommit, merge_notes, read_merge_commit
from cortex.vault.git import git_cli, merging, objects
from cortex.vault.git.merging import MergeRevisions

# The newest merges of one pass; more come at once only with a long history of somebody else's.
_MAX_MERGES, _MAX_MERGES_AT_FIRST = 50, 20
_MAX_COPIES = 200  # commits of a rebase, say: each takes 25 ms
_UNSURE_KINDS = (DamageKind.LOST, DamageKind.MIXED)  # a person may have decided so
_SYNC_SUBJECT_PREFIX = "cortex: merge "  # of merges that sync made, and looked at
_TIMEOUT_SECONDS = 30.0  # for a look through the history


class DamagingCommit(NamedTuple):
    """A stray and the commit in which it is one."""

    damage: MergeDamage
    commit: str
    base: bytes  # the text of a lost note before that merge
    since: str  # the commit that both sides of that merge had; empty if none, or not looked for
    in_history: str  # the commit, or the one in HEAD's history that was made of it


def find_all_damage(
    root: str, last: str, head: str, known: dict[str, list[DamagingCommit]] | None = None
) -> list[DamagingCommit]:
    """The damage in merges and copied commits since `last`; if that is empty, in the newest.

    known: squashed merge -> the damage found in it before, so that each is looked at once
    """
    found = []
    known = {} if known is None else known
    new = [head, *([f"^{last}"] if last else [])]
    limit = f"--max-count={_MAX_MERGES if last else _MAX_MERGES_AT_FIRST}"
    words = ["log", "-z", "--merges", "--format=%H %P%n%s", limit, *new, "--"]
    listed = git_cli.run_unchecked(root, words, timeout=_TIMEOUT_SECONDS)
    for entry in filter(None, listed.stdout.decode("utf-8", "replace").split("\0")):
        parents, _, subject = entry.partition("\n")
        commit, *sides = parents.split()
        if len(sides) == 2 and not subject.startswith(_SYNC_SUBJECT_PREFIX):
            found += find_merge_damage(root, merging.revisions_between(root, *sides), commit)
        elif len(sides) > 2:
            found += _find_octopus_damage(root, sides, commit)
    if last:
        limit = f"--max-count={_MAX_COPIES}"
    for _, damages in _find_message_damage(root, known, limit, *new):
        found += damages
    copies = copied_commits(root, limit, *new)
    places = {one.merged.theirs: one.in_history for one in copies}
    moved = _find_message_damage(root, known, "--no-walk=unsorted", *places) if places else ()
    for original, damages in moved:
        if not git_cli.is_ancestor(root, original, head):  # else it is looked at by itself
            found += [each._replace(in_history=places[original]) for each in damages]
    for one in copies:
        damages = find_merge_damage(root, one.merged, one.copy, is_merge=False)
        if not one.is_sure:
            damages = _damage_of_copy(root, damages, one.merged.bases[0])
        found += [each._replace(in_history=one.in_history) for each in damages]
    return _in_order(root, found, *new)


def _find_message_damage(
    root: str, known: dict[str, list[DamagingCommit]], *since: str
) -> Iterator[tuple[str, list[DamagingCommit]]]:
    """The commits that their messages call squashed merges or reverts, each with its damage."""
    for commits, result, is_squashed in squashed_or_reverted(root, *since):
        found = find_merge_damage(root, commits, result, is_merge=False)
        if is_squashed:
            found += _find_squashed_damage(root, commits, result, known)
        yield result, found


def _find_squashed_damage(
    root: str, commits: MergeRevisions, result: str, known: dict[str, list[DamagingCommit]]
) -> list[DamagingCommit]:
    """The damage in the merges, squashed ones too, that `git merge --squash` has put into one
    commit, but what was put right, or decided otherwise, on one of the two branches."""
    if result not in known:
        known[result] = []
        inner = find_all_damage(root, commits.ours, commits.theirs, known)
        left = [one for one in inner if not _is_settled(root, one, commits)]
        known[result] = list({(one.damage, one.commit): one for one in left}.values())
    return [one._replace(in_history=result) for one in known[result]]


def _is_settled(root: str, wrong: DamagingCommit, commits: MergeRevisions) -> bool:
    """True if what a merge has lost or mixed was put right on the branch that was squashed, or on
    the one that took it; what somebody did there later they did on purpose."""
    stray, head = wrong.damage, commits.theirs
    now = objects.read_at_revision(root, head, stray.path)
    if stray.kind == DamageKind.MIXED:
        mixed = objects.read_at_revision(root, wrong.commit, stray.path) or b""
        return is_written_since(root, wrong, mixed, now or mixed, stray.path, head=head)
    if stray.kind not in (DamageKind.LOST, DamageKind.WRONG_EVENT):
        return False
    added = added_lines(wrong.base, stray.data)

    def had_it(texts: list[bytes]) -> bool:
        return any(added <= set(text.splitlines()) for text in texts)

    if not had_it([objects.read_at_revision(root, commits.ours, stray.path) or b""]):
        own = ["--full-history", commits.ours, *(f"^{base}" for base in commits.bases)]
        if had_it(texts_in_history(root, own, stray.path)):
            return True
    since = revisions_behind(root, wrong.in_history, head)
    if not git_cli.line(root, ["rev-list", "-1", "--no-merges", *since, "--", stray.path]):
        return False
    is_other = stray.kind == DamageKind.WRONG_EVENT or now is None or note_id(now) != stray.id
    return is_other or had_it(texts_in_history(root, since, stray.path))


def _in_order(root: str, found: list[DamagingCommit], *since: str) -> list[DamagingCommit]:
    """The damages in the order in which they were done. Left out is that git took lines out of a
    note that it had mixed into it, as when the commit that did so was reverted."""
    if len(found) > 1:
        listed = git_cli.run(root, ["rev-list", "--topo-order", *since, "--"]).split()
        number = {id_.decode("ascii"): at for at, id_ in enumerate(listed)}
        found = sorted(found, key=lambda one: -number.get(one.in_history, len(number)))
    mixed_in: dict[str, set[bytes]] = {}
    kept = []
    for one in found:
        if one.damage.kind == DamageKind.MIXED:
            mixed = objects.read_at_revision(root, one.commit, one.damage.path) or b""
            before = mixed_in.setdefault(one.damage.id or one.damage.path, set())
            taken = added_lines(mixed, one.damage.data)
            added = added_lines(one.damage.data, mixed)
            if taken and taken <= before and not added:
                continue
            before |= added
        kept.append(one)
    return kept


def mixtures_between(root: str, since: str, commit: str) -> list[DamagingCommit]:
    """What was mixed into notes up to `commit` and since `since`, or in the newest merges before it
    if that is empty; in order."""
    found = find_all_damage(root, since, commit)
    return [one for one in found if one.damage.kind == DamageKind.MIXED]


def _damage_of_copy(root: str, damages: list[DamagingCommit], parent: str) -> list[DamagingCommit]:
    """Of the damages of one of two commits of one second, each of which may be the copy of the
    other, those in which lines were added. Compared the other way round what was lost are lines
    that were taken out, or a text from before the original, whose parent is `parent`."""

    def is_addition(wrong: DamagingCommit) -> bool:
        stray = wrong.damage
        if stray.kind == DamageKind.MIXED:
            mixed = objects.read_at_revision(root, wrong.commit, stray.path) or b""
            return bool(added_lines(stray.data, mixed))
        if stray.kind != DamageKind.LOST:
            return True
        older = texts_in_history(root, ["--full-history", parent], stray.path)
        return stray.data not in older and bool(added_lines(wrong.base, stray.data))

    kept = [one for one in damages if is_addition(one)]
    # What was mixed was also lost.
    is_reversed = all(one.damage.kind != DamageKind.LOST for one in kept)
    return [one for one in kept if not (is_reversed and one.damage.kind == DamageKind.MIXED)]


def added_lines(before: bytes, after: bytes) -> set[bytes]:
    """The lines that one text has and another has not; of their bodies alone where these differ:
    `updated` is another one with each edit."""
    was, now = notes.read(before).body, notes.read(after).body
    texts = (before, after) if was == now else (was, now)
    return set(texts[1].splitlines()) - set(texts[0].splitlines())


def find_merge_damage(
    root: str, commits: MergeRevisions, result: str, *, is_merge: bool = True
) -> list[DamagingCommit]:
    """The strays of one merge that are git's doing, and not what a person decided."""
    try:
        merged = read_merge_commit(root, commits, result)
    except CortexError:  # a commit without parents, or one that a shallow clone does not have
        return []
    if merged is None or merged.is_ours:  # as `git merge -s ours` makes it
        return []
    found = find_damage(merged.sides, merged.result, merge_notes)
    if not is_merge:
        found = [
            one
            for one in found
            if not (_is_another_text(one, merged.result) or _is_taken_out(one, merged.result))
        ]
    gone = [stray for stray in found if stray.kind == DamageKind.LOST]
    pairs = [
        (one, other)
        for one in gone
        for other in found
        if other.kind == DamageKind.MIXED
        and is_mixed_in(one, other, merged.sides.base, _merged_text(other, merged))
    ]
    sure = {id(stray) for pair in pairs for stray in pair}
    sure |= {id(one) for one in gone if one.path in merged.result}
    if any(id(one) not in sure for one in gone):
        renamed = _renamed_paths(root, commits, is_merge=is_merge)
        renamed_ids = {
            note_id(data) for tree in merged.sides for path, data in tree.items() if path in renamed
        }
        sure |= {id(one) for one in gone if one.id and one.id in renamed_ids}
    texts = {note_id(data) or path: data for path, data in merged.sides.base.items()}
    since = commits.bases[0] if commits.bases else ""
    return [
        DamagingCommit(stray, result, texts.get(stray.id or stray.path, b""), since, result)
        for stray in found
        if stray.kind not in _UNSURE_KINDS or id(stray) in sure
    ]


def _find_octopus_damage(root: str, sides: list[str], commit: str) -> list[DamagingCommit]:
    """The notes of which a merge of more than two commits has written a field twice; git follows no
    renames in it."""
    prefix = objects.prefix(root)
    changes = objects.changes_between(root, sides[0], commit, os.fsdecode(prefix) or ".")
    paths = [os.fsdecode(one.path.removeprefix(prefix)) for one in changes if one.status == "M"]
    made = objects.read_committed(root, [path for path in paths if path.endswith(".md")], commit)
    found = []
    for path, text in made.items():
        if is_event_path(path) or is_among_briefings(path) or not notes.read(text).problems:
            continue
        merged = objects.read_at_revision(root, sides[0], path) or b""
        for side in sides[1:]:
            base = merging.revisions_between(root, sides[0], side).bases[0]
            before, theirs = (objects.read_at_revision(root, at, path) for at in (base, side))
            merged = merged if theirs is None else merge_notes(before or b"", merged, theirs)[0]
        if not notes.read(merged).problems:
            damage = MergeDamage(DamageKind.UNREADABLE, note_id(text), path, merged)
            found.append(DamagingCommit(damage, commit, b"", "", commit))
    return found


def _is_another_text(damage: MergeDamage, result: Tree) -> bool:
    """True if an event has another whole text than both sides. In a commit that is taken for a copy
    of another, since author, second and subject are the same, that may be what a sync chose."""
    data = result.get(damage.path, b"")
    is_event = damage.kind == DamageKind.WRONG_EVENT and note_id(data) == damage.id
    return is_event and not marked_conflicts(data)


def _is_taken_out(damage: MergeDamage, result: Tree) -> bool:
    """True if an event is nowhere in a commit that is taken for a copy of another. Git mixes and
    moves what it picks, and drops no new file: somebody has amended the copy, or it is none."""
    return (
        damage.kind == DamageKind.WRONG_EVENT
        and damage.path not in result
        and damage.id not in map(note_id, result.values())
    )


def _renamed_paths(root: str, commits: MergeRevisions, *, is_merge: bool) -> set[str]:
    """Old paths, and of a merge the new ones, of what git takes for renamed on one of the sides:
    nobody was asked about these notes."""
    found: set[str] = set()
    for base, side in product(commits.bases, (commits.ours, commits.theirs)):
        flags = ["-r", "-M", "--diff-filter=R", "--name-status", "-z", "--relative"]
        words = ["diff-tree", *flags, base, side]
        listed = git_cli.run_unchecked(root, words, timeout=_TIMEOUT_SECONDS).stdout
        # Status, old name, new name, and so on.
        fields = listed.split(b"\0")
        found |= {os.fsdecode(name) for name in fields[1::3]}
        if is_merge:  # two commits that are no copies of each other may look like such
            found |= {os.fsdecode(name) for name in fields[2::3]}
    return found


def _merged_text(stray: MergeDamage, merged: MergeCommit) -> bytes:
    """The text that a merge gave to a note that it mixed with another."""
    if stray.id:
        return next((data for data in merged.result.values() if note_id(data) == stray.id), b"")
    return merged.result.get(stray.path, b"")


def is_written_since(
    root: str, wrong: DamagingCommit, mixed: bytes, now: bytes, path: str, *, head: str = "HEAD"
) -> bool:
    """True if somebody wrote what git had mixed into a note into it again, after it was put right."""
    if not git_cli.is_ancestor(root, wrong.in_history, head):
        return False  # of a stash: what it mixed is committed since, if at all
    added = added_lines(wrong.damage.data, mixed)
    words = ["log", *objects.RAW, "--no-renames", "--format=", "--no-merges"]
    words += [*revisions_behind(root, wrong.in_history, head), "--", path, wrong.damage.path]
    changes = objects.list_raw(git_cli.run(root, words, timeout=_TIMEOUT_SECONDS))
    edits = [(one.old_blob, one.new_blob) for one in changes if one.status == "M"]
    texts = objects.read_blobs(root, [blob for edit in edits for blob in edit])
    pairs = [(texts.get(old, mixed), texts.get(new, mixed)) for old, new in edits]
    pairs.append((objects.read_at_revision(root, head, path) or mixed, now))
    return bool(added) and any(
        added.isdisjoint(old.splitlines()) and added & set(new.splitlines()) for old, new in pairs
    )


def revisions_behind(root: str, commit: str, head: str = "HEAD") -> list[str]:
    """Words for `git log`: what was committed by those who had `commit` before them; what a stash
    made is in no history, and all that the head has since then counts."""
    is_in_history = git_cli.is_ancestor(root, commit, head)
    return ["--full-history", *(["--ancestry-path"] if is_in_history else []), f"{commit}..{head}"]


def texts_in_history(root: str, revisions: list[str], *paths: str) -> list[bytes]:
    """The texts that notes at these paths had in these commits."""
    words = ["log", *objects.RAW, "--format=", "-m", *revisions, "--", *paths]
    listed = git_cli.run(root, words, timeout=_TIMEOUT_SECONDS)
    return list(
        objects.read_blobs(root, [one.new_blob for one in objects.list_raw(listed)]).values()
    )
