"""What `git stash pop` may have merged without Cortex.

Of a stash that was put back without a conflict no commit tells. HEAD's reflog tells that one was
made (`reset: moving to HEAD`, or `--autostash`; not where the configuration asks for that), and its commit stays among the loose objects for weeks after git has
forgotten it. What git made of it is merged once more, as git does it without drivers.
"""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from cortex.vault.git import checkout, git_cli
from cortex.vault.git.merging import MergeRevisions

_REFLOG_LINE_RE = re.compile(
    rb"^[0-9a-f]{40,64} ([0-9a-f]{40,64}) .*> (\d+) [-+]\d{4}\t(.*)$", re.MULTILINE
)
_STASHED_RE = re.compile(rb"reset: moving to HEAD$|[^:]* --autostash\b")
_PLAIN_MERGE = "git merge-file --marker-size=%L %A %O %B"
_PLAIN_FLAGS = (
    "-c", f"merge.cortex-record.driver={_PLAIN_MERGE}",
    "-c", f"merge.cortex-briefing.driver={_PLAIN_MERGE}",
    "-c", "merge.directoryRenames=conflict",
)  # fmt: skip
_IDENTITY = {
    f"GIT_{who}_{what}": "cortex" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}
_MAX_REFLOG_BYTES = 1 << 20
_MAX_OBJECTS = 5000  # loose objects that are looked at
_MAX_STASHES, _MAX_HEADS = 5, 10
_MARGIN_SECONDS = 60  # between git's making of a stash and the line of the reflog
_TIMEOUT_SECONDS = 30.0


class PossiblePop(NamedTuple):
    """A stash, the commit that it may have been put back on, and a commit of what git made."""

    commits: MergeRevisions
    result: str


def list_possible_pops(root: str, offset: int) -> Iterator[PossiblePop]:
    """The stashes that were made since HEAD's reflog had `offset` bytes, with each later HEAD; none
    where git is older than 2.38."""
    repository = checkout.find_repository(root)
    if repository is None:
        return
    heads, since = _heads_after_stash(os.path.join(repository.git_dir, "logs", "HEAD"), offset)
    stashes = _list_stashes(root, since)[:_MAX_STASHES] if heads else []
    for stash, before in stashes:
        stashed = _note_changes(root, before, stash)
        # Only a note that one side deleted is taken for another one.
        for head in [one for one in heads if one != before][:_MAX_HEADS] if stashed else ():
            since_then = _note_changes(root, before, head)
            if not ({"M", "D"} <= stashed | since_then and since_then):
                continue
            if made := _merge(root, before, head, stash):
                yield PossiblePop(MergeRevisions((before,), head, stash), made)


def _heads_after_stash(log: str, offset: int) -> tuple[list[str], int]:
    """The commits that HEAD named since the first stash behind `offset` bytes of its reflog, each
    once, and the second of that stash."""
    try:
        with open(log, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(offset if offset <= size else 0, size - _MAX_REFLOG_BYTES))
            lines = _REFLOG_LINE_RE.findall(file.read())
    except OSError:
        return [], 0
    at = next((at for at, (_, _, what) in enumerate(lines) if _STASHED_RE.match(what)), len(lines))
    heads = dict.fromkeys(commit.decode() for commit, _, _ in lines[at:])
    return list(heads), int(lines[at][1]) if heads else 0


def _list_stashes(root: str, since: int) -> list[tuple[str, str]]:
    """The stashes among the loose objects that were made since this second, each with the commit
    below it, newest first."""
    folder = git_cli.line(root, ["rev-parse", "--git-path", "objects"])
    ids = _newest_objects(os.path.join(root, folder))
    listed = git_cli.run(
        root,
        ["cat-file", "--batch-check=%(objectname) %(objecttype)"],
        stdin="".join(f"{one}\n" for one in ids).encode(),
    )
    lines = (line.split() for line in listed.decode("ascii", "replace").splitlines())
    commits = [name for name, kind in lines if kind == "commit"]
    words = ["log", "--no-walk=unsorted", "--stdin", "-z", "--format=%ct %H %P%x09%s"]
    stdin = "".join(f"{one}\n" for one in commits).encode()
    log = git_cli.run(root, words, stdin=stdin) if commits else b""
    found = []
    for line in filter(None, log.decode("utf-8", "replace").split("\0")):
        names, _, subject = line.partition("\t")
        seconds, stash, *parents = names.split(" ")  # no seconds where the date is malformed
        is_recent = seconds.isdigit() and int(seconds) >= since - _MARGIN_SECONDS
        if is_recent and len(parents) in (2, 3) and subject.startswith(("WIP on ", "On ")):
            found.append((stash, parents[0]))
    return found


def _newest_objects(folder: str) -> list[str]:
    """The ids of the loose objects that were written last, newest first. Their times are not
    compared with git's: the file system may have another clock."""
    written = (
        (entry.stat(follow_symlinks=False).st_mtime_ns, fan.name + entry.name)
        for fan in os.scandir(folder)
        if len(fan.name) == 2
        for entry in os.scandir(fan.path)
    )
    return [name for _, name in heapq.nlargest(_MAX_OBJECTS, written)]


def _note_changes(root: str, one: str, other: str) -> set[str]:
    """How notes of the vault differ between two commits: the letters A, M and D of git."""
    words = ["diff-tree", "-r", "--no-renames", "--name-status", "-z", "--relative", one, other]
    fields = git_cli.run_unchecked(root, words, timeout=_TIMEOUT_SECONDS).stdout.split(b"\0")
    return {
        letter.decode("ascii")
        for letter, path in zip(fields[::2], fields[1::2], strict=False)
        if path.endswith(b".md")
    }


def _merge(root: str, before: str, head: str, stash: str) -> str:
    """A commit, named by nothing, of what git makes of a stash on `head`; empty if it cannot."""
    tree = git_cli.run(root, ["rev-parse", f"{head}^{{tree}}"]).decode("ascii").strip()
    ours = _write_commit(root, tree, before)  # so that `before` is what both have in common
    words = [*_PLAIN_FLAGS, "merge-tree", "--write-tree", "--no-messages", ours, stash]
    merged = git_cli.run_unchecked(root, words)
    made = merged.stdout.decode("ascii", "replace").split("\n")[0]
    return "" if merged.code or not made else _write_commit(root, made, head)


def _write_commit(root: str, tree: str, parent: str) -> str:
    words = ["commit-tree", "-p", parent, "-m", "stash", tree]
    ran = git_cli.run_unchecked(root, words, extra=_IDENTITY)
    if ran.code:
        raise git_cli.command_error("commit-tree", ran, root)
    return ran.stdout.decode("ascii").strip()
