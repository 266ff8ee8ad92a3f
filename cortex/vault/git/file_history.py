"""What a repository's history tells of files since a time: gone, renamed, with which content. One call of git each,
bounded in time; no setting of the repository changes the answer."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from cortex.core.text.value import NamedTuple

_TIMEOUT_SECONDS = 2.0  # for one call; a history of 5,000 commits takes 0.1
_MAX_INDEX_BYTES = 64 << 20  # bytes of git's index
_MAX_COMMITS = 400  # that touch what is asked for
_RENAME_LIMIT = (
    "100"  # files of one commit that are compared with each other; equal ones are always found
)
_MAX_PATHS = 16  # with more, all of the history is cheaper to look through than so many paths
_CONFIG_FLAGS = (
    "-c",
    "log.follow=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "log.mailmap=false",
    "-c",
    "diff.orderFile=/dev/null",
)
_RAW_FORMAT_FLAGS = (
    "-z",
    "--raw",
    "--no-abbrev",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=none",
)


class FileChange(NamedTuple):
    """What a commit did to a file; paths are relative to the top of the work tree."""

    kind: str  # A, D, M, R or T
    path: str
    new_path: str  # the new path of a renamed file
    old_blob: str  # ids of the contents; zeros for none
    new_blob: str


class FileCommit(NamedTuple):
    """A commit and those of its changes that were asked for."""

    id: str
    at: str  # as `2026-11-20T16:45:12Z`
    parents: tuple[str, ...]
    changes: list[FileChange]


def list_deletions(top: str, paths: Sequence[str], since: str) -> list[FileCommit]:
    """The commits since a time, newest first, that deleted or renamed one of the paths; other files that they deleted or
    renamed are told as well. `CortexError` when git cannot say or takes too long."""
    narrowed = paths if len(paths) <= _MAX_PATHS else ()
    return _run_log(
        top,
        [
            "-M",
            f"-l{_RENAME_LIMIT}",
            "--diff-filter=DR",
            "--full-diff",
            f"--since={since}",
            "HEAD",
            "--",
            *narrowed,
        ],
    )


def list_edits(top: str, paths: Sequence[str], since: str) -> list[FileCommit]:
    """Whatever was done to the paths since a time, newest first."""
    return _run_log(top, ["--no-renames", f"--since={since}", "HEAD", "--", *paths])


def list_unmerged(top: str, commits: Sequence[str]) -> list[FileCommit]:
    """Those of the commits, and of the commits before them, that neither `HEAD` nor any branch has."""
    return _run_log(
        top,
        [
            "--ignore-missing",
            "--no-renames",
            *commits,
            "--not",
            "HEAD",
            "--branches",
            "--remotes",
            "--",
        ],
    )


def read_blobs(top: str, blobs: Sequence[str], most: int) -> dict[str, str]:
    """The text of blobs by id, or by another name of theirs such as `HEAD:path`; what is longer than `most` bytes or is no blob is left out."""
    wanted = list(dict.fromkeys(blob for blob in blobs if blob.strip("0") and "\n" not in blob))
    if not wanted:
        return {}
    from cortex.vault.git import git_cli  # noqa: PLC0415  `subprocess` costs 5 ms, and mostly there is nothing to ask

    output = git_cli.run(
        top,
        ["cat-file", "--batch"],
        timeout=_TIMEOUT_SECONDS,
        stdin="".join(f"{blob}\n" for blob in wanted).encode(),
    )
    held: dict[str, str] = {}
    at = 0
    for name in wanted:  # git answers in the order in which it was asked
        end = output.find(b"\n", at)
        line, at = output[at:end], end + 1
        fields = line.split(b" ")
        if end < 0 or line.endswith(b" missing") or len(fields) != 3:
            continue
        size = int(fields[2])
        if fields[1] == b"blob" and size <= most:
            held[name] = output[at : at + size].decode("utf-8", "replace")
        at += size + 1
    return held


def list_staged_deletions(top: str) -> list[FileChange]:
    """What the index deletes or renames and no commit has yet."""
    words = [
        *_CONFIG_FLAGS,
        "diff-index",
        "--cached",
        *_RAW_FORMAT_FLAGS,
        "-M",
        f"-l{_RENAME_LIMIT}",
        "--diff-filter=DR",
        "HEAD",
        "--",
    ]
    return [one for one in _iter_raw_output(top, words) if isinstance(one, FileChange)]


def paths_in_index(index: str, paths: Sequence[str]) -> frozenset[str]:
    """Those of the paths, files or folders ended with `/`, that the index has. Said by its bytes, where each path stands behind
    its length; sparse check-outs mark theirs."""
    from cortex.vault import files  # noqa: PLC0415  as above

    held = files.read_bounded(index, _MAX_INDEX_BYTES)
    held = held if len(held) < _MAX_INDEX_BYTES else b""
    found: set[str] = set()
    for path in paths:
        wanted = os.fsencode(path) if path.endswith("/") else os.fsencode(path) + b"\0"
        at = held.find(wanted)
        while at > 1:
            flags = int.from_bytes(held[at - 2 : at], "big")
            end = held.find(b"\0", at)  # of a folder any file will do
            if flags == min(
                end - at, 0xFFF
            ):  # no flag of a stage, of a sparse check-out or of one to be added later
                found.add(path)
                break
            at = held.find(wanted, at + 1)
    return frozenset(found)


def _run_log(top: str, arguments: Sequence[str]) -> list[FileCommit]:
    words = [
        *_CONFIG_FLAGS,
        "log",
        *_RAW_FORMAT_FLAGS,
        "-n",
        str(_MAX_COMMITS),
        "--format=%x01%H %cd %P",
        "--date=format-local:%Y-%m-%dT%H:%M:%SZ",
        *arguments,
    ]
    found: list[FileCommit] = []
    for one in _iter_raw_output(top, words):
        if isinstance(one, FileCommit):
            found.append(one)
        else:
            found[-1].changes.append(one)
    return found


def _iter_raw_output(top: str, words: Sequence[str]) -> Iterator[FileCommit | FileChange]:
    """What git says in `_RAW_FORMAT_FLAGS`: each commit, and each change behind its commit."""
    from cortex.vault.git import git_cli  # noqa: PLC0415  as above

    ran = git_cli.run_unchecked(top, words, timeout=_TIMEOUT_SECONDS, extra={"TZ": "UTC0"})
    if ran.code:
        raise git_cli.command_error("log", ran, top)
    fields = iter(ran.stdout.split(b"\0"))
    for field in fields:
        if field.startswith(b"\x01"):
            commit, at, *parents = field[1:].decode("ascii", "replace").split()
            yield FileCommit(commit, at, tuple(parents), [])
        elif (meta := field.lstrip(b"\n")).startswith(b":"):
            _, _, before, after, kind = meta.decode("ascii", "replace").split(" ")
            path = os.fsdecode(next(fields, b""))
            to = os.fsdecode(next(fields, b"")) if kind[0] in "RC" else ""
            yield FileChange(kind[0], path, to, before, after)
