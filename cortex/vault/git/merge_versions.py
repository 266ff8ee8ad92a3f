"""What a merge merges: the versions of each path in its base and on both sides, and of one note."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from cortex.core.merge.body import marked_conflicts
from cortex.core.merge.merge_record import merge_record
from cortex.core.merge.note_versions import MergeSides
from cortex.core.model.problem import InvalidInputError
from cortex.core.notes.frontmatter import is_readable
from cortex.vault.git import git_cli, objects
from cortex.vault.git.merging import MergeRevisions

BlobTriple = tuple[str | None, str | None, str | None]  # blobs of one path: base, ours, theirs


def build_sides(versions: dict[str, BlobTriple], text: dict[str, bytes]) -> MergeSides:
    """The three trees with the texts of these blobs."""
    trees: list[dict[str, bytes]] = [{}, {}, {}]
    for path, row in versions.items():
        for tree, blob in zip(trees, row, strict=True):
            if blob in text:
                tree[path] = text[blob]
    return MergeSides(*trees)


def blobs_by_path(
    root: str, merged: MergeRevisions, unmerged: Collection[str] = ()
) -> dict[str, BlobTriple]:
    """The blobs (base, ours, theirs) of each vault path that a side has changed since the base.

    If there are several bases, as after criss-cross merges, the one counts in which the path is as
    on one side. A path that is the same in some base and on both sides is left out, unless it is
    `unmerged`: git merges the bases first, and may see a change in them that neither side made.
    """
    changes = [
        (changed_blobs(root, base, merged.ours), changed_blobs(root, base, merged.theirs))
        for base in merged.bases
    ]
    blobs: dict[str, BlobTriple] = {}
    for path in {path for pair in changes for changed in pair for path in changed}:
        rows: list[BlobTriple] = []
        for ours, theirs in changes:
            if path in ours or path in theirs:
                base_blob = (ours.get(path) or theirs[path])[0]
                _, our_blob = ours.get(path, (base_blob, base_blob))
                _, their_blob = theirs.get(path, (base_blob, base_blob))
                rows.append((base_blob, our_blob, their_blob))
            elif path not in unmerged:
                break  # the same in this base and on both sides
        else:
            blobs[path] = _choose_row(root, merged, path, rows)
    return blobs


def _choose_row(
    root: str, merged: MergeRevisions, path: str, rows: Sequence[BlobTriple]
) -> BlobTriple:
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


def changed_blobs(root: str, one: str, other: str) -> dict[str, tuple[str | None, str | None]]:
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


def merge_notes(
    base: bytes,
    ours: bytes,
    theirs: bytes,
    labels: tuple[bytes, bytes] | None = None,
) -> tuple[bytes, bool]:
    """The merged note, and whether its text is without new conflicts. Conflicts of fields are named
    in the note and stop nothing."""
    try:
        merged = merge_record(base, ours, theirs, labels=labels, is_yaml=is_readable)
    except InvalidInputError:
        return ours, False
    if merged.are_two_notes:
        return ours, False
    before = marked_conflicts(ours) | marked_conflicts(theirs)
    return merged.data, merged.is_clean or not marked_conflicts(merged.data) - before


def same_text(one: bytes | None, other: bytes | None) -> bool:
    """Whether two texts are equal but for line ends, which git may change on checkout."""
    if one is None or other is None:
        return one is other
    return one.replace(b"\r\n", b"\n") == other.replace(b"\r\n", b"\n")
