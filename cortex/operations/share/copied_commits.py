"""Find the commits that git has made of other ones: picked, applied, rebased, squashed, reverted.

Each is a merge of three commits, though it has one parent.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from cortex.vault.git import git_cli, merging
from cortex.vault.git.merging import MergeRevisions

_TIMEOUT_SECONDS = 30.0  # for a look through the history
_MESSAGE_LINES = ("^Squashed commit of the following:", "^This reverts commit ")
_REVERTED_RE = re.compile(
    r"(?m)^This reverts commit ([0-9a-f]{40,64})(?:, reversing\nchanges made to ([0-9a-f]{40,64}))?\."
)


def squashed_or_reverted(root: str, *since: str) -> Iterator[tuple[MergeRevisions, str, bool]]:
    """The new commits that `git merge --squash` or `git revert` has made of commits that are known
    here, as their messages say: what was merged, the commit, and whether it is a squashed merge. A
    copy of one of these, made on another commit, is none."""
    flags = ["--no-merges", "--min-parents=1", *(f"--grep={line}" for line in _MESSAGE_LINES)]
    words = ["log", "-z", *flags, "--format=%H %P%n%B", *since, "--"]
    listed = git_cli.run_unchecked(root, words, timeout=_TIMEOUT_SECONDS).stdout
    for entry in filter(None, listed.decode("utf-8", "replace").split("\0")):
        commit, parent = entry.partition("\n")[0].split()
        for reverted, other in _REVERTED_RE.findall(entry):
            before = git_cli.find_commit(root, other or f"{reverted}^")
            if before and git_cli.find_commit(root, reverted):
                yield MergeRevisions((reverted,), parent, before), commit, False
        named, last = merging.find_squashed(root, entry)
        if last and named == _list_commits(root, f"{parent}..{last}"):
            yield merging.revisions_between(root, parent, last), commit, True


def _list_commits(root: str, revisions: str) -> set[str]:
    return set(git_cli.run(root, ["rev-list", revisions, "--"]).decode("ascii").split())


class CopiedCommit(NamedTuple):
    """A commit that git has made of another one."""

    merged: MergeRevisions
    copy: str
    in_history: str  # the copy, or where that was left behind the copy of it that was not
    is_sure: bool  # False: both are of one second, and it may be the other way round


def copied_commits(root: str, limit: str, head: str, *seen: str) -> list[CopiedCommit]:
    """The new commits behind `head` that were picked, rebased or applied from commits that are
    known here. `limit` and `seen` are words for `git log`: how many commits at most, and which ones
    are not new.

    Copies of unchecked copies, such as a pick that was then rebased, are among them, and copies in
    the history whose first commit is new here, as after a mail; amended commits are not.
    """
    new = _list_plain_commits(root, limit, head, *seen)
    if not new:
        return []
    oldest = f"--max-age={min(int(one.author_time) for one in new)}"
    known: defaultdict[tuple[str, str], list[_PlainCommit]] = defaultdict(list)
    reachable = _list_plain_commits(root, "--all", "--reflog", oldest)
    for one in sorted(reachable, key=lambda one: int(one.commit_time)):
        known[one.author_time, one.author_and_subject].append(one)
    in_history: set[str] = set()
    unseen: set[str] = set()
    found = []
    todo = [(copy, "") for copy in new]  # and the copy of it that led there
    for copy, later in todo:  # grows
        same = [
            one
            for one in known[copy.author_time, copy.author_and_subject]
            if one.id not in (copy.id, later)
            and one.parent != copy.parent
            and (int(one.commit_time) <= int(copy.commit_time) or _is_original(one, copy))
        ]
        if not same:
            continue
        if len(same) > 1:
            in_history = in_history or {one.id for one in _list_plain_commits(root, head, oldest)}
            unseen = unseen or {
                one.id for one in _list_plain_commits(root, "--all", "--reflog", *seen)
            }
            same.sort(key=lambda one: one.id in in_history)  # what a rebase left behind comes first
            todo += [
                (one, copy.id)
                for one in same
                if not later
                and one.id in unseen - in_history
                and one.commit_time != one.author_time  # it is a copy, too
            ]
        found.append(_copy_of(same[0], copy, later or copy.id))
    pairs = [
        (one, copy)
        for one in new
        for copy in known[one.author_time, one.author_and_subject]
        if _is_original(one, copy) and copy not in new and copy.parent != one.parent
    ]
    if pairs and not in_history:
        in_history = {one.id for one in _list_plain_commits(root, head, oldest)}
    found += [_copy_of(one, copy, copy.id) for one, copy in pairs if copy.id in in_history]
    return found


def _is_original(one: _PlainCommit, copy: _PlainCommit) -> bool:
    """True if their times show that the second is a copy, whatever the clocks of two machines say."""
    return one.commit_time == one.author_time and copy.commit_time != copy.author_time


def _copy_of(one: _PlainCommit, copy: _PlainCommit, in_history: str) -> CopiedCommit:
    merged = MergeRevisions((one.parent,), copy.parent, one.id)
    return CopiedCommit(merged, copy.id, in_history, one.commit_time != copy.commit_time)


class _PlainCommit(NamedTuple):
    """A commit with one parent."""

    id: str
    parent: str
    author_time: str  # seconds since the epoch; a copy keeps them
    commit_time: str  # the same of the commit itself
    author_and_subject: str  # author and subject; a copy keeps them


def _list_plain_commits(root: str, *revisions: str) -> list[_PlainCommit]:
    """The commits with one parent that change the vault, the newest first; but what has no date."""
    flags = ["--no-merges", "--min-parents=1", "--full-history", "--format=%H %P %at %ct %ae %s"]
    words = ["log", "-z", *flags, *revisions, "--", "."]
    listed = git_cli.run_unchecked(root, words, timeout=_TIMEOUT_SECONDS).stdout
    lines = filter(None, listed.decode("utf-8", "replace").split("\0"))
    found = (_PlainCommit(*line.split(" ", 4)) for line in lines)
    return [one for one in found if one.author_time.isdigit() and one.commit_time.isdigit()]
