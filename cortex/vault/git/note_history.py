"""What git knows of one note: every commit over all its names, both sides of every merge."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain

from cortex.core.model.problem import NotFoundError
from cortex.core.notes import note as notes
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.vault.git import git_cli, objects

MAX_VERSION_BYTES = 4 * 1024 * 1024  # of a version that is read
_TIMEOUT_SECONDS = 120.0  # seconds for a walk over a whole history
_MAX_CANDIDATES = 500  # notes of one commit whose ids are compared
_MAX_NAMES = 50  # names of one note over its life that are followed
_ID_RE = lazy_re(r"[a-z0-9][a-z0-9._-]{3,120}")


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
    # (status, path, blob after the commit or empty), against the first parent.
    changes: list[tuple[str, str, str]]


def read_newest(root: str, commits: Sequence[NoteCommit]) -> bytes:
    """The note as the last of these commits that had it has it."""
    last = [blob for commit in commits for _, _, blob in commit.changes if blob][:1]
    return next(iter(_read_blobs(root, last).values()), b"")


def find_paths_by_id(root: str, prefix: str) -> list[str]:
    """The paths that notes named after an id have had in git, newest first."""
    if not _ID_RE.fullmatch(prefix):
        return []
    # The one pattern that is none of a person's: an id has no character that means anything in it.
    words = ["log", "--all", "--format=", "--name-only", "--no-renames", "--diff-filter=A"]
    words += ["--relative", "-z", "--end-of-options", "--", f":(glob)**/{prefix}*.md"]
    if prefix.startswith("session-"):  # is_named_after
        words.append(f":(glob)**/sessions/**/*{prefix[-7:]}.md")
    environment = {"GIT_LITERAL_PATHSPECS": "0"}
    ran = git_cli.run_unchecked(root, words, timeout=_TIMEOUT_SECONDS, extra=environment)
    names = (name.lstrip(b"\n") for name in ran.stdout.split(b"\0") if name.strip())
    return list(dict.fromkeys(map(os.fsdecode, names)))


def follow_renames(
    root: str, id_: str, start: list[str]
) -> tuple[str, list[str], list[NoteCommit]]:
    """The note's id, all its names, and the commits that touched any of them, newest first."""
    names = list(start)
    commits = list_commits(root, names)
    if commits and not id_:  # a note that is gone still says in git what its id was
        id_ = notes.read(read_newest(root, commits)).get("id")
    if not commits and id_ and (found := find_paths_by_id(root, id_)):
        names += found  # renamed, and the new name is not committed yet
        commits = list_commits(root, names)
    seen: set[str] = set()
    while len(names) < _MAX_NAMES:
        # Where a name comes or goes, a rename may have given or taken it.
        turns = [
            commit.id
            for commit in commits
            if commit.id not in seen and any(status in "AD" for status, _, _ in commit.changes)
        ]
        seen.update(turns)
        new = _find_renames(root, turns, names, id_) if turns else []
        if not (new := [name for name in new if name not in names]):
            break
        names += new
        commits = list_commits(root, names)
    return id_, names, commits


def _find_renames(root: str, commits: Sequence[str], names: Sequence[str], id_: str) -> list[str]:
    """The names that the note had before or after these commits. By its id where it has one, since
    that is what a note is; by what git takes for a rename where it has none."""
    how = "--no-renames" if id_ else "--find-renames"
    words = ["diff-tree", "--stdin", "--root", "-r", how, *objects.RAW, "--relative"]
    lines = "".join(f"{commit}\n" for commit in commits).encode()
    output = git_cli.run(root, words, timeout=_TIMEOUT_SECONDS, stdin=lines)
    found: list[str] = []
    gone: dict[str, str] = {}
    come: dict[str, str] = {}
    for one in chain(objects.parse_raw(output), [b"end"]):
        if isinstance(one, bytes):  # the next commit begins
            if id_ and not gone.keys().isdisjoint(names):
                found += _paths_with_id(root, come, id_)
            if id_ and not come.keys().isdisjoint(names):
                found += _paths_with_id(root, gone, id_)
            gone, come = {}, {}
            continue
        path, new_path = os.fsdecode(one.path), os.fsdecode(one.new_path)
        if one.status == "R":
            found += (path, new_path) if path in names or new_path in names else ()
        elif one.status == "D":
            gone[path] = one.old_blob
        elif one.status == "A":
            come[path] = one.new_blob
    return list(dict.fromkeys(found))


def _paths_with_id(root: str, blobs: dict[str, str], id_: str) -> list[str]:
    """The paths of those blobs that are notes with this id."""
    wanted = {path: blob for path, blob in blobs.items() if path.endswith(".md")}
    if len(wanted) > _MAX_CANDIDATES:
        wanted = {path: blob for path, blob in wanted.items() if path.endswith(f"{id_}.md")}
    texts = _read_blobs(root, list(wanted.values())[:_MAX_CANDIDATES])
    ids = {blob: notes.read(text).get("id") for blob, text in texts.items()}
    return [path for path, blob in wanted.items() if ids.get(blob) == id_]


def _read_blobs(root: str, ids: Sequence[str]) -> dict[str, bytes]:
    """The bytes of blobs; those too large to be notes are left out."""
    return objects.read_blobs(root, ids, MAX_VERSION_BYTES)


def list_commits(root: str, names: Sequence[str]) -> list[NoteCommit]:
    """The commits that touched these paths, newest first, with the merges where both sides did;
    parents are the next older commits of this list."""
    flags = (
        "--full-history", "--simplify-merges", "--parents", "--date-order",
        "--diff-merges=first-parent",
    )  # fmt: skip
    return _read_log(root, flags, names)


def list_recent_commits(root: str, since: int) -> list[NoteCommit]:
    """The commits since a second that changed files of the vault, without merges, newest first."""
    return _read_log(root, ("--no-merges", f"--since=@{max(since, 0)} +0000"), ["."])


def _read_log(root: str, flags: Sequence[str], paths: Sequence[str]) -> list[NoteCommit]:
    words = [
        "log", *objects.RAW, "--no-renames", "--relative", *flags,
        "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%x01%H%x01%P%x01%ad%x01%an%x01%s",
        "--end-of-options", "HEAD", "--", *paths,
    ]  # fmt: skip
    ran = git_cli.run_unchecked(root, words, timeout=_TIMEOUT_SECONDS, extra={"TZ": "UTC"})
    commits = list[NoteCommit]()
    for one in objects.parse_raw(ran.stdout):
        if isinstance(one, bytes):
            _, id_, parents, date, author, subject = one.decode("utf-8", "replace").split("\x01", 5)
            commits.append(NoteCommit(id_, tuple(parents.split()), date, author, subject, []))
        else:
            commits[-1].changes.append((one.status, os.fsdecode(one.path), one.new_blob))
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
        changed = (path for _, path, blob in commit.changes if blob)
        path = next(changed, "") or next(iter(after or before), "")
        blob = after.get(path, "")
        sides: tuple[ParentVersion, ...] = ()
        if len(commit.parents) > 1:
            change = "merged"
            blobs = (next(iter(states.get(one, {}).values()), "") for one in commit.parents)
            pairs = zip(commit.parents, blobs, strict=True)
            sides = tuple(ParentVersion(*pair) for pair in pairs if pair[1] != blob)
        elif before.keys() == after.keys():
            change = "changed"
        else:
            change = "renamed" if before and after else "added" if after else "deleted"
        about = commit.id, commit.date, commit.author, commit.subject
        yield NoteVersion(*about, path, change, blob, sides)


def read_at_commit(root: str, commit: str, names: Sequence[str], id_: str) -> str:
    """The note's text in a commit, under whichever of its names it had there."""
    listed = git_cli.run(root, ["ls-tree", "-z", "--end-of-options", commit, *names]).split(b"\0")
    heads = [entry.partition(b"\t")[0].split(b" ") for entry in listed if entry]
    blobs = [head[2].decode() for head in heads if head[0].startswith(b"100")]  # no link, no folder
    texts = _read_blobs(root, blobs)
    found = [texts[blob] for blob in blobs if blob in texts]
    if not found:
        why = f"was not there at {commit[:12]}, or is larger than {MAX_VERSION_BYTES:,} bytes"
        raise NotFoundError(f"the note {why}", "cortex history NOTE shows its commits")
    data = next((data for data in found if id_ and notes.read(data).get("id") == id_), found[0])
    # A byte order mark and what is no text stay, for who pipes it into a file.
    return data.decode("utf-8", "surrogateescape")
