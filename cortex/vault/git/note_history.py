"""What git knows of one note: every commit over all its names, both sides of every merge."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from cortex.core.model.problem import NotFoundError
from cortex.core.notes import note as notes
from cortex.vault.git import git_cli

MAX_VERSION_BYTES = 4 * 1024 * 1024  # of a version that is read
_TIMEOUT_SECONDS = 120.0  # seconds for a walk over a whole history
_MAX_CANDIDATES = 500  # notes of one commit whose ids are compared
_MAX_NAMES = 50  # names of one note over its life that are followed
_ID_RE = re.compile(r"[a-z0-9][a-z0-9._-]{3,120}")


class ParentVersion(NamedTuple):
    """What one side of a merge held that the merge did not take as it was."""

    commit: str
    blob: str  # empty when the note was not there


class NoteVersion(NamedTuple):
    """One commit that touched the note."""

    commit: str
    date: str  # UTC
    author: str
    subject: str
    path: str  # vault-relative, after the commit; before it when the commit deleted the note
    change: str  # added, changed, renamed, deleted, merged
    blob: str  # empty when deleted
    sides: tuple[ParentVersion, ...]  # of a merge: the parents whose version is not the outcome


class NoteCommit(NamedTuple):
    id: str
    parents: tuple[str, ...]  # the next older commits that touched the note
    date: str
    author: str
    subject: str
    changes: tuple[
        tuple[str, str, str], ...
    ]  # (status, path, blob after the commit or empty), against the first parent


def read_newest(root: str, commits: Sequence[NoteCommit]) -> bytes:
    """The note as the last of these commits that had it has it."""
    last = [blob for commit in commits for _, _, blob in commit.changes if blob][:1]
    return next(iter(_read_blobs(root, last).values()), b"")


def find_paths_by_id(root: str, prefix: str) -> list[str]:
    """The paths that notes named after an id have had in git, newest first."""
    if not _ID_RE.fullmatch(prefix):
        return []
    # The one pattern that is none of a person's: an id has no character that means anything in it.
    pattern = f":(glob)**/{prefix}*.md"
    arguments = [
        "log",
        "--all",
        "--format=",
        "--name-only",
        "--no-renames",
        "--diff-filter=A",
        "--relative",
        "-z",
        "--end-of-options",
        "--",
        pattern,
    ]
    listed = git_cli.run_unchecked(
        root, arguments, timeout=_TIMEOUT_SECONDS, extra={"GIT_LITERAL_PATHSPECS": "0"}
    ).stdout
    return list(
        dict.fromkeys(
            os.fsdecode(name.lstrip(b"\n")) for name in listed.split(b"\0") if name.strip()
        )
    )


def follow_renames(
    root: str, id_: str, start: list[str]
) -> tuple[str, list[str], list[NoteCommit]]:
    """The note's id, all its names, and the commits that touched any of them, newest first."""
    names = list(start)
    commits = list_commits(root, names)
    if commits and not id_:  # a note that is gone still says in git what its id was
        id_ = notes.read(read_newest(root, commits)).get("id")
    if (
        not commits and id_ and (found := find_paths_by_id(root, id_))
    ):  # renamed, and the new name is not committed yet
        names += found
        commits = list_commits(root, names)
    asked: set[str] = set()
    while len(names) < _MAX_NAMES:
        # Where a name comes or goes, a rename may have given or taken it.
        turns = [
            commit.id
            for commit in commits
            if commit.id not in asked
            and any(status in ("A", "D") for status, _, _ in commit.changes)
        ]
        asked.update(turns)
        new = (
            [name for name in _find_renames(root, turns, names, id_) if name not in names]
            if turns
            else []
        )
        if not new:
            break
        names += new
        commits = list_commits(root, names)
    return id_, names, commits


def _find_renames(root: str, commits: Sequence[str], names: Sequence[str], id_: str) -> list[str]:
    """The names that the note had before or after these commits. By its id where it has one, since that is what a
    note is; by what git takes for a rename where it has none."""
    how = "--no-renames" if id_ else "--find-renames"
    arguments = [
        "diff-tree",
        "--stdin",
        "--root",
        "-r",
        how,
        "--raw",
        "-z",
        "--no-abbrev",
        "--no-ext-diff",
        "--no-textconv",
        "--relative",
    ]
    output = git_cli.run(
        root,
        arguments,
        timeout=_TIMEOUT_SECONDS,
        stdin="".join(f"{commit}\n" for commit in commits).encode(),
    )
    fields = iter(output.split(b"\0"))
    found: list[str] = []
    gone: dict[str, str] = {}
    come: dict[str, str] = {}
    for field in chain(fields, [b"end"]):
        if not field.startswith(b":"):  # the next commit begins
            if id_ and not gone.keys().isdisjoint(names):
                found += _paths_with_id(root, come, id_)
            if id_ and not come.keys().isdisjoint(names):
                found += _paths_with_id(root, gone, id_)
            gone, come = {}, {}
            continue
        _, _, before, after, status = field.decode("ascii", "replace").split(" ")
        path = os.fsdecode(next(fields))
        if status.startswith("R"):
            pair = (path, os.fsdecode(next(fields)))
            found += pair if pair[0] in names or pair[1] in names else ()
        elif status == "D":
            gone[path] = before
        elif status == "A":
            come[path] = after
    return list(dict.fromkeys(found))


def _paths_with_id(root: str, blobs: dict[str, str], id_: str) -> list[str]:
    """The paths of those blobs that are notes with this id."""
    wanted = {path: blob for path, blob in blobs.items() if path.endswith(".md")}
    if len(wanted) > _MAX_CANDIDATES:
        wanted = {path: blob for path, blob in wanted.items() if path.endswith(f"{id_}.md")}
    held = _read_blobs(root, list(wanted.values())[:_MAX_CANDIDATES])
    return [
        path for path, blob in wanted.items() if notes.read(held.get(blob, b"")).get("id") == id_
    ]


def _read_blobs(root: str, ids: Sequence[str]) -> dict[str, bytes]:
    """The bytes of blobs; those too large to be notes are left out before they are read."""
    sized = git_cli.run(
        root,
        ["cat-file", "--batch-check=%(objectname) %(objectsize)"],
        stdin="".join(f"{id_}\n" for id_ in ids).encode(),
    )
    small = [
        line.split()[0]
        for line in sized.splitlines()
        if line.split()[1].isdigit() and int(line.split()[1]) <= MAX_VERSION_BYTES
    ]
    output = git_cli.run(
        root,
        ["cat-file", "--batch"],
        stdin=b"".join(id_ + b"\n" for id_ in small),
        timeout=_TIMEOUT_SECONDS,
    )
    found: dict[str, bytes] = {}
    start = 0
    while (end := output.find(b"\n", start)) >= 0:
        id_, _, size = output[start:end].split(b" ")
        start = end + 1 + int(size) + 1
        found[id_.decode()] = output[end + 1 : start - 1]
    return found


def list_commits(root: str, names: Sequence[str]) -> list[NoteCommit]:
    """The commits that touched these paths, newest first. Merges stay where both sides did; parents are the next
    older commits of this list."""
    arguments = [
        "log", "--full-history", "--simplify-merges", "--parents", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--no-textconv",
        "--date-order", "--diff-merges=first-parent", "--relative", "--ignore-submodules=all", "-z", "--date=format-local:%Y-%m-%dT%H:%M:%SZ",
        "--format=%H%x00%P%x00%ad%x00%an%x00%s", "--end-of-options", "HEAD", "--", *names,
    ]  # fmt: skip
    ran = git_cli.run_unchecked(root, arguments, timeout=_TIMEOUT_SECONDS, extra={"TZ": "UTC"})
    fields = iter(ran.stdout.split(b"\0"))
    commits: list[NoteCommit] = []
    changes: list[tuple[str, str, str]] = []
    for field in fields:
        token = field.lstrip(b"\n")
        if token.startswith(b":"):
            blob, status = token.decode("ascii", "replace").split(" ")[3:5]
            changes.append((status, os.fsdecode(next(fields, b"")), "" if status == "D" else blob))
            commits[-1] = commits[-1]._replace(changes=tuple(changes))
        elif token:
            parents, date, author, subject = (
                next(fields, b"").decode("utf-8", "replace") for _ in range(4)
            )
            changes = []
            commits.append(
                NoteCommit(
                    token.decode("ascii", "replace"),
                    tuple(parents.split()),
                    date,
                    author,
                    subject,
                    (),
                )
            )
    return commits


def iter_versions(commits: Sequence[NoteCommit]) -> Iterator[NoteVersion]:
    """What each commit made of the note, oldest first."""
    states: dict[str, dict[str, str]] = {}  # commit -> path -> blob
    for commit in reversed(commits):
        before = states.get(commit.parents[0], {}) if commit.parents else {}
        after = dict(before)
        for status, path, blob in commit.changes:
            if status == "D":
                after.pop(path, None)
            else:
                after[path] = blob
        states[commit.id] = after
        path = next((path for _, path, blob in commit.changes if blob), "") or next(
            iter(after or before), ""
        )
        blob = after.get(path, "")
        sides: tuple[ParentVersion, ...] = ()
        if len(commit.parents) > 1:
            change = "merged"
            held = [
                ParentVersion(parent, next(iter(states.get(parent, {}).values()), ""))
                for parent in commit.parents
            ]
            sides = tuple(side for side in held if side.blob != blob)
        elif before.keys() == after.keys():
            change = "changed"
        else:
            change = "renamed" if before and after else "added" if after else "deleted"
        yield NoteVersion(
            commit.id, commit.date, commit.author, commit.subject, path, change, blob, sides
        )


def read_at_commit(root: str, commit: str, names: Sequence[str], id_: str) -> str:
    """The note's text in a commit, under whichever of its names it had there."""
    listed = git_cli.run(root, ["ls-tree", "-z", "--end-of-options", commit, *names]).split(b"\0")
    entries = [
        (os.fsdecode(path), head.split(b" "))
        for head, _, path in (entry.partition(b"\t") for entry in listed if entry)
    ]
    blobs = {
        path: head[2].decode() for path, head in entries if head[0] in (b"100644", b"100755")
    }  # no link, no folder
    held = _read_blobs(root, list(blobs.values()))
    found = [held[blob] for blob in blobs.values() if blob in held]
    if not found:
        raise NotFoundError(
            f"the note was not there at {commit[:12]}, or is larger than {MAX_VERSION_BYTES:,} bytes",
            "cortex history NOTE shows its commits",
        )
    data = next((data for data in found if id_ and notes.read(data).get("id") == id_), found[0])
    return data.decode(
        "utf-8", "surrogateescape"
    )  # a byte order mark and what is no text stay, for who pipes it into a file
