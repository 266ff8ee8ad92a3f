"""Which files commits deleted, renamed or edited since a time. One bounded call of git each; no
setting of the repository changes the answer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from cortex.vault.git import git_cli, objects

TIMEOUT_SECONDS = 2.0  # for one call; a history of 5,000 commits takes 0.1
_MAX_COMMITS = 400  # that touch what is asked for
# 100 files of one commit are compared with each other; equal ones are always found.
_RENAMES = ("-M", "-l100", "--diff-filter=DR")
_MAX_PATHS = 16  # with more, all of the history is cheaper to look through than so many paths


class FileChange(NamedTuple):
    """What a commit did to a file; paths are relative to the top of the work tree."""

    kind: str  # A, D, M, R or T
    path: str
    new_path: str  # of a renamed file
    old_blob: str  # ids of the contents; empty for none
    new_blob: str


class FileCommit(NamedTuple):
    """A commit and those of its changes that were asked for."""

    id: str
    at: str  # as `2026-11-20T16:45:12Z`
    parents: tuple[str, ...]
    changes: list[FileChange]


def list_deletions(top: str, paths: Sequence[str], since: str) -> list[FileCommit]:
    """The commits since a time, newest first, that deleted or renamed one of the paths, with all
    their deletions and renames. Raises `CortexError` when git fails or takes too long."""
    narrowed = paths if len(paths) <= _MAX_PATHS else ()
    return _log(top, *_RENAMES, "--full-diff", f"--since={since}", "HEAD", "--", *narrowed)


def list_edits(top: str, paths: Sequence[str], since: str) -> list[FileCommit]:
    """Whatever was done to the paths since a time, newest first."""
    return _log(top, "--no-renames", f"--since={since}", "HEAD", "--", *paths)


def list_unmerged(top: str, commits: Sequence[str]) -> list[FileCommit]:
    """Those of the commits, and of the commits before them, that no branch and not HEAD has."""
    known = ("--not", "HEAD", "--branches", "--remotes", "--")
    return _log(top, "--ignore-missing", "--no-renames", *commits, *known)


def list_staged_deletions(top: str) -> list[FileChange]:
    """What the index deletes or renames and no commit has yet."""
    output = _run(top, "diff-index", "--cached", *objects.RAW, *_RENAMES, "HEAD", "--")
    return list(map(_file_change, objects.list_raw(output)))


def paths_in_index(top: str, paths: Sequence[str]) -> frozenset[str]:
    """Those of the paths (folders end with `/`) that the index has; no sparse entries."""
    lines = _run(top, "ls-files", "-t", "-z", "--", *paths).split(b"\0")
    names = [os.fsdecode(line[2:]) for line in lines if line.startswith(b"H ")]
    return frozenset(
        path
        for path in paths
        if any(name == path or (path.endswith("/") and name.startswith(path)) for name in names)
    )


def _log(top: str, *words: str) -> list[FileCommit]:
    shape = ("--format=%x01%H %cd %P", "--date=format-local:%Y-%m-%dT%H:%M:%SZ")
    commits: list[FileCommit] = []
    output = _run(top, "log", *objects.RAW, f"-n{_MAX_COMMITS}", *shape, *words)
    for one in objects.parse_raw(output):
        if isinstance(one, bytes):
            id_, at, *parents = one[1:].decode("ascii", "replace").split()
            commits.append(FileCommit(id_, at, tuple(parents), []))
        else:
            commits[-1].changes.append(_file_change(one))
    return commits


def _file_change(one: objects.RawChange) -> FileChange:
    path, new_path = os.fsdecode(one.path), os.fsdecode(one.new_path)
    return FileChange(one.status, path, new_path, one.old_blob, one.new_blob)


def _run(top: str, *words: str) -> bytes:
    environment = {"TZ": "UTC0"}
    ran = git_cli.run_unchecked(top, [*words], timeout=TIMEOUT_SECONDS, extra=environment)
    if ran.code:
        raise git_cli.command_error("log", ran, top)
    return ran.stdout
