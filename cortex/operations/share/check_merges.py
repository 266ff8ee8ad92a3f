"""Merges that git made without Cortex: what they lost or mixed is put right by the next command.

Where a clone has no merge drivers (a phone, a hosting site, a clone in which nobody ran Cortex yet), git merges the texts of
two notes that it takes for one. The result is a commit like any other. Here each new commit with two parents, and each
that somebody has picked, rebased or applied from one that is known here, is compared with what its sides say of each note
(`conflicts.strays`). What a person decided in a merge stands: a note is brought back only where its text, or its path, is
found in another note, or where git took it for renamed, so that nobody was asked. Not seen: what `git stash pop` mixes
where there are no drivers, since no commit tells of it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import NamedTuple

from cortex.core.merge.conflicts import (
    BROKEN,
    EVENT,
    GONE,
    MIXED,
    TWICE,
    Resolved,
    Stray,
    is_event_path,
    is_mixed_in,
    note_id,
    strays,
)
from cortex.core.merge.lines import merge_lines
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem
from cortex.core.notes import note as notes
from cortex.core.text.strings import short_hash
from cortex.index.refresh import look
from cortex.operations.share.duplicates import join
from cortex.operations.share.misnamed_events import give_back
from cortex.operations.share.resolve_conflicts import MergeCommit, merge_notes, merged_by
from cortex.vault import files
from cortex.vault.git import checkout, git, merging, objects
from cortex.vault.git.merging import Commits
from cortex.vault.locate import Vault
from cortex.vault.state import store

_CHECKED = "merges-checked"  # in the state folder: the commit up to which everything was looked at
_MOST, _MOST_AT_FIRST = (
    50,
    20,
)  # merges in one pass, the newest; more come at once only with a long history of somebody else's
_OURS = "cortex: merge "  # how the subject of a merge begins that sync made, and looked at
_SECONDS = 30.0  # for a look through the history


class Wrong(NamedTuple):
    """A stray and the commit in which it is one."""

    stray: Stray
    commit: str


def check_merges(vault: Vault, caller: Caller) -> tuple[list[Resolved], list[Problem]]:
    """Put right what merges since the last call have lost or mixed, in the work tree. What somebody has changed since stays.
    Nothing while git is in the middle of something."""
    root = vault.root
    place = checkout.git_folder(root)
    if place is None or checkout.under_way(root):
        return [], []
    log = os.path.join(place[1], "logs", "HEAD")
    stamp = _stamp(log)
    last, last_stamp = _read(vault)
    if stamp and stamp == last_stamp:
        return [], []
    head = git.head(root)
    if not head:  # before the first commit
        return [], []
    resolved: list[Resolved] = []
    problems: list[Problem] = []
    for wrong in _all_wrong(root, last, head) if last != head else ():
        try:
            done, problem = _put_right(vault, caller, wrong)
        except (CortexError, OSError) as error:
            return resolved, [
                *problems,
                Problem(
                    wrong.stray.path,
                    f"was mixed up by a merge and is not put right yet: {error}",
                    "cortex heal",
                ),
            ]
        resolved += [done] if done else []
        problems += [problem] if problem else []
    _write(vault, head, stamp)
    return resolved, problems


def _all_wrong(root: str, last: str, head: str) -> list[Wrong]:
    """What is wrong in the merges and copied commits since HEAD was `last`; of a clone that was never looked at, in the newest."""
    found = []
    since = (
        (f"--max-count={_MOST}", head, f"^{last}")
        if last
        else (f"--max-count={_MOST_AT_FIRST}", head)
    )
    listed = git.attempt(
        root, ["rev-list", "--merges", "--parents", "--format=%s", *since, "--"], timeout=_SECONDS
    )
    lines = listed.output.decode("utf-8", "replace").splitlines()
    for parents, subject in zip(lines[::2], lines[1::2], strict=False):
        commit, *sides = parents.removeprefix("commit ").split()
        if len(sides) == 2 and not subject.startswith(_OURS):
            found += _wrong(root, merging.between(root, *sides), commit)
    for commits, result in _copied(root, *since):
        found += _wrong(root, commits, result)
    return found


def _wrong(root: str, commits: Commits, result: str) -> list[Wrong]:
    """The strays of one merge that are git's doing, and not what a person decided."""
    try:
        merged = merged_by(root, commits, result)
    except CortexError:  # a commit without parents, or one that a shallow clone does not have
        return []
    if merged is None or merged.is_ours:  # as `git merge -s ours` makes it
        return []
    found = strays(merged.sides, merged.result, merge_notes)
    gone = [stray for stray in found if stray.kind == GONE]
    pairs = [
        (one, other)
        for one in gone
        for other in found
        if other.kind == MIXED
        and is_mixed_in(one, other, merged.sides.base, _result_of(other, merged))
    ]
    sure = {id(stray) for pair in pairs for stray in pair} | {
        id(one) for one in gone if one.path in merged.result
    }
    if any(id(one) not in sure for one in gone):
        renamed = _renamed(root, commits)
        sure |= {
            id(one)
            for one in gone
            if renamed
            & {
                path
                for path, data in merged.sides.base.items()
                if one.id and note_id(data) == one.id
            }
        }
    return [
        Wrong(stray, result)
        for stray in found
        if stray.kind in (EVENT, TWICE, BROKEN) or id(stray) in sure
    ]


def _renamed(root: str, commits: Commits) -> set[str]:
    """The paths that git takes for renamed on one of the sides. Of a note there nobody was asked whether it should go."""
    found: set[str] = set()
    for side in (commits.ours, commits.theirs):
        words = [
            "diff-tree",
            "-r",
            "-M",
            "--diff-filter=R",
            "--name-status",
            "-z",
            "--relative",
            commits.bases[0],
            side,
        ]
        names = git.attempt(root, words, timeout=_SECONDS).output.split(
            b"\0"
        )  # status, old name, new name, and so on
        found |= {os.fsdecode(name) for name in names[1::3]}
    return found


def _result_of(stray: Stray, merged: MergeCommit) -> bytes:
    """The text that a merge gave to a note that it mixed with another."""
    if stray.id:
        return next((data for data in merged.result.values() if note_id(data) == stray.id), b"")
    return merged.result.get(stray.path, b"")


def _put_right(
    vault: Vault, caller: Caller, wrong: Wrong
) -> tuple[Resolved | None, Problem | None]:
    """Put right what is still wrong in the work tree."""
    stray = wrong.stray
    there = look(
        vault,
        caller.progress,
        lambda now: [row.path for row in now.catalogue.rows("id = ? ORDER BY path", (stray.id,))],
        words=False,
    )
    there = [
        path
        for path in there
        if is_event_path(path) == (stray.kind == EVENT) and files.exists(vault.root, path)
    ]
    if stray.kind == TWICE:
        return (join(vault, caller, *there) if len(there) > 1 else None), None
    if stray.kind in (MIXED, BROKEN):
        return _unmixed(vault.root, wrong)
    if stray.kind == EVENT:
        there = [path for path in there if path.endswith(f"/{stray.id}.md")]
    return (None if there else _back(vault.root, wrong)), None


def _unmixed(root: str, wrong: Wrong) -> tuple[Resolved | None, Problem | None]:
    """Give a note its own text back, with what was changed in it since the merge."""
    stray = wrong.stray
    now = (
        files.read(root, stray.path).replace(b"\r\n", b"\n")
        if files.exists(root, stray.path)
        else None
    )
    if now is None or now == stray.data:
        return None, None
    mixed = objects.text_at(root, wrong.commit, stray.path)
    if mixed is None or note_id(mixed) != stray.id:
        return None, Problem(
            stray.path,
            "was mixed with another note by a merge, and moved since",
            f"cortex history {stray.id}",
        )
    mixed = mixed.replace(b"\r\n", b"\n")
    own = stray.data if now == mixed else _without(mixed, now, stray.data)
    files.replace(root, stray.path, own, files.read(root, stray.path))
    what = (
        "mixed it with another note; its own text is back"
        if stray.kind == MIXED
        else "merged its fields line by line; they are merged one by one"
    )
    return Resolved(stray.path, f"git had {what}"), None


def _without(mixed: bytes, now: bytes, own: bytes) -> bytes:
    """What a note says now, without what a merge has mixed into it. Never a conflict: what is taken out belongs to another note."""
    heads, bodies = zip(*(_parts(text) for text in (mixed, now, own)), strict=True)
    head, _ = merge_notes(*heads)
    return head + b"".join(merge_lines(*(body.splitlines(keepends=True) for body in bodies)))


def _parts(data: bytes) -> tuple[bytes, bytes]:
    """A note's frontmatter with its fences, and what is behind it."""
    body = notes.read(data).body
    return data[: len(data) - len(body)], body


def _back(root: str, wrong: Wrong) -> Resolved | None:
    """Write a note or event that a merge has lost, unless somebody has done so since and deleted it again."""
    stray, path = wrong.stray, wrong.stray.path
    if git.attempt(root, ["rev-list", "-1", f"{wrong.commit}..HEAD", "--", path]).output:
        return None
    if files.exists(root, path) and note_id(files.read(root, path)) == stray.id:
        return None
    if files.exists(root, path) and stray.kind == EVENT:
        give_back(root, path, stray.data)
    else:
        path = free_path(root, path, stray.data)
        files.publish(root, path, stray.data)
    return Resolved(
        path,
        f"git had taken it for another {'event' if stray.kind == EVENT else 'note'}; it is back",
    )


def free_path(root: str, path: str, data: bytes) -> str:
    """The path, or one beside it, named by a hash of the text, when it is taken."""
    if not files.exists(root, path):
        return path
    return f"{path.removesuffix('.md')}-{short_hash(data.decode('utf-8', 'replace'), 10)}.md"


def _copied(root: str, *since: str) -> list[tuple[Commits, str]]:
    """The new commits that somebody has picked, rebased or applied from others, here or elsewhere, as long as these are known:
    what was merged, and the commit. A commit that was only amended is none."""
    new = _listed(root, *since)
    if not new:
        return []
    oldest = f"--max-age={min(int(one.written) for one in new)}"
    known: defaultdict[tuple[str, str], list[_PlainCommit]] = defaultdict(list)
    for one in sorted(_listed(root, "--all", "--reflog", oldest), key=lambda one: int(one.made)):
        known[one.written, one.what].append(one)
    merged: set[str] = set()
    found = []
    for copy in new:
        same = [
            one
            for one in known[copy.written, copy.what]
            if one.id != copy.id and one.parent != copy.parent and int(one.made) <= int(copy.made)
        ]
        if (
            len(same) > 1
        ):  # made in the same second with the same words: one that a rebase has left behind comes first
            merged = merged or {one.id for one in _listed(root, "HEAD", oldest)}
            same.sort(key=lambda one: one.id in merged)
        if same:
            found.append((Commits((same[0].parent,), copy.parent, same[0].id), copy.id))
    return found


class _PlainCommit(NamedTuple):
    """A commit with one parent."""

    id: str
    parent: str
    written: str  # seconds since the epoch; a copy keeps them
    made: str  # the same of the commit itself
    what: str  # author and subject; a copy keeps them


def _listed(root: str, *revisions: str) -> list[_PlainCommit]:
    """The commits with one parent, the newest first."""
    words = [
        "log",
        "--no-merges",
        "--min-parents=1",
        "--format=%H %P %at %ct %ae %s",
        *revisions,
        "--",
    ]
    listed = git.attempt(root, words, timeout=_SECONDS)
    return [
        _PlainCommit(*line.split(" ", 4))
        for line in listed.output.decode("utf-8", "replace").splitlines()
    ]


def _stamp(path: str) -> str:
    """Changes with the file; empty when there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return ""
    return f"{status.st_mtime_ns}-{status.st_size}"


def _read(vault: Vault) -> tuple[str, str]:
    """The commit that was looked at last, and the stamp of the reflog then; two empty texts when nothing was."""
    commit, _, stamp = (
        store.read(os.path.join(vault.state(), _CHECKED), 200)
        .decode("ascii", "replace")
        .strip()
        .partition(" ")
    )
    return commit, stamp


def _write(vault: Vault, commit: str, stamp: str) -> None:
    store.replace(os.path.join(vault.state(), _CHECKED), f"{commit} {stamp}\n".encode())
