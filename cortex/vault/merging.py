"""A merge or rebase that Cortex began: whose it is, what it waits for, what it had to set aside, and its end.

The notes about it lie in the git folder of the worktree, beside git's own: `cortex-sync` says what was begun,
`cortex-staged` what a person had staged, which a merge does not allow and which comes back as it was.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from cortex.core.conflicts import OpenConflict, Resolved
from cortex.core.problem import CortexError
from cortex.vault import checkout, commits, files, git, objects

_STATE = "cortex-sync"
_ASIDE = "cortex-staged"
_MOST = 16_000_000  # bytes of our own notes in the git folder
_LONG = 600.0  # seconds that a merge with its drivers and a person's hooks may take
# A folder that one side has emptied (inbox/pending, all of it normalized) is not renamed: what the other side adds
# to it stays there. And a rename is followed, whatever the person's git is told to do for their own eyes.
SAFE = ("-c", "merge.directoryRenames=false", "-c", "merge.renames=true", "-c", "diff.renames=true", "-c", "rerere.enabled=false")
_STILL = 0.5  # seconds without a change after which git is taken to have ended
_QUIET = {"GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true", "GIT_MERGE_AUTOEDIT": "no"}


class Commits(NamedTuple):
    """What is merged: two commits, and the commits or trees that they are compared with."""

    bases: tuple[str, ...]
    ours: str  # in a rebase what lies below
    theirs: str  # in a rebase the commit that is moved


class Begun(NamedTuple):
    """What Cortex began: a merge with, or a rebase onto, the commit `theirs`."""

    how: str  # merge or rebase; in what a person began also cherry-pick, revert, stash, am
    theirs: str
    waiting: Mapping[str, OpenConflict]
    ours: str = ""  # the commit that was checked out before


def begun(root: str) -> Begun | None:
    """The operation under way, when it is ours."""
    mine = remembered(root)
    if mine is None:
        return None
    where = {"merge": "MERGE_HEAD", "rebase": os.path.join("rebase-merge", "onto")}.get(mine.how, "")
    ours = bool(where) and _read(root, where).decode("ascii", "replace").strip() == mine.theirs
    return mine if ours or (mine.how == "rebase" and is_torn(root)) else None


def remembered(root: str) -> Begun | None:
    """The operation that was remembered last and not forgotten, whether it is still under way or not."""
    try:
        held = json.loads(_read(root, _STATE))
        waiting = {path: OpenConflict(one[0], one[1], tuple(one[2])) for path, one in held["waiting"].items()}
        return Begun(held["how"], held["theirs"], waiting, held.get("ours", ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def is_torn(root: str) -> bool:
    """Whether a rebase was killed while it wrote, or took away, its own notes, or between moving its branch and that: it
    can neither go on nor back."""
    if checkout.under_way(root) != "rebase":
        return False
    branch, before = (_read(root, os.path.join("rebase-merge", name)).strip().decode("utf-8", "replace") for name in ("head-name", "orig-head"))
    if not os.path.lexists(_path(root, os.path.join("rebase-merge", "git-rebase-todo"))):
        return True
    ran = (
        git.attempt(objects.top(root), ["rev-parse", "--verify", "--quiet", "--end-of-options", branch]) if branch.startswith("refs/heads/") else None
    )
    return ran is not None and not ran.code and ran.output.decode().strip() != before


def let_go(root: str) -> None:
    """End a torn rebase where it stands, on its branch; what it has not done the next one does."""
    name = _read(root, os.path.join("rebase-merge", "head-name")).decode("utf-8", "surrogateescape").strip()
    git.attempt(objects.top(root), ["rebase", "--quit"])
    if not checkout.branch_of(root) and name.startswith("refs/heads/"):
        git.attempt(objects.top(root), ["checkout", "--quiet", "--end-of-options", name.removeprefix("refs/heads/")])
    forget(root)


def quieten(root: str) -> None:
    """Wait until nothing moves in the git folder: when a sync is killed, the git that it started goes on by itself."""
    if not _read(root, _STATE):
        return
    deadline = time.monotonic() + commits.PATIENCE
    before, now = None, _stamps(root)
    while now != before and time.monotonic() < deadline:
        before = now
        time.sleep(_STILL)
        now = _stamps(root)


def _stamps(root: str) -> list[tuple[str, int]]:
    """When the files that a merge or rebase writes were written last; a lock changes with every look."""
    found = []
    folder = _path(root, "")
    for name in ("index", "index.lock", "HEAD", "MERGE_HEAD", "rebase-merge", os.path.join("logs", "HEAD")):
        path = os.path.join(folder, name)
        with suppress(OSError):
            names = [path, *(os.path.join(path, each) for each in os.listdir(path))] if os.path.isdir(path) else [path]
            found += [(each, os.lstat(each).st_mtime_ns if name != "index.lock" else time.monotonic_ns()) for each in names if os.path.lexists(each)]
    return sorted(found)


def remember(root: str, what: Begun) -> None:
    """Write down what is begun; durable before git begins, so that it can never look like a person's."""
    _write(root, _STATE, json.dumps(what._asdict(), ensure_ascii=True).encode())


def forget(root: str) -> None:
    """It is over."""
    _unlink(root, _STATE)


def set_aside(root: str, entries: Sequence[objects.Staged]) -> None:
    """Take what a person staged out of the index, written down first. Their files are not touched."""
    if entries:
        _write(root, _ASIDE, objects.index_info({one.path: one.entry for one in entries}))
        commits.stage(root, {one.path: one.head for one in entries})


def put_back(root: str) -> bool:
    """Stage again what was set aside, exactly; True when there was something. What a person has staged since stays."""
    lines = _read(root, _ASIDE)
    if not lines:
        return False
    entries = {}
    for line in lines.split(b"\0"):
        entry, _, path = line.partition(b"\t")
        if path:
            entries[path] = entry
    since = {one.path for one in objects.staged(root)}
    commits.stage(root, {path: entry for path, entry in entries.items() if path not in since})
    _unlink(root, _ASIDE)
    return True


def start(root: str, what: Begun, arguments: Sequence[str]) -> git.Ran:
    """Begin a merge or rebase; the code is not zero when git stopped."""
    remember(root, what)
    return commits.patiently(lambda: git.attempt(objects.top(root), [*SAFE, what.how, *arguments], timeout=_LONG, hooks=True, extra=_QUIET))


def conclude(root: str, how: str) -> git.Ran:
    """Commit the merge, or go on with the rebase, now that nothing is unmerged."""
    words = ["commit", "--quiet", "--no-edit"] if how == "merge" else ["rebase", "--continue"]
    return commits.patiently(lambda: git.attempt(objects.top(root), [*SAFE, *words], timeout=_LONG, hooks=True, extra=_QUIET))


def told(ran: git.Ran) -> list[Resolved]:
    """What the record driver said of values that lost, among all that git said."""
    lines = (line.partition(": ") for line in ran.complaint.splitlines() if "; cortex history " in line)
    return [Resolved(path, what) for path, _, what in lines]


def abort(root: str, how: str) -> None:
    """Take back what was begun, when it is still under way."""
    if checkout.under_way(root) == how:
        git.attempt(objects.top(root), [how, "--abort"], timeout=_LONG)
    forget(root)


def resolve(root: str, paths: Iterable[str]) -> None:
    """Tell git that these vault-relative paths are as they should be: there or gone."""
    if lines := objects.nul(paths):
        ran = commits.patiently(lambda: git.attempt(root, ["update-index", "--add", "--remove", "-z", "--stdin"], timeout=120.0, stdin=lines))
        if ran.code:
            raise CortexError(f"git update-index: {ran.reason}", "git status shows the state of the repository")


def commits_of(root: str, how: str) -> Commits | None:
    """The commits that an operation under way merges; None where git does not say, as in `git am`. `how` is what
    `checkout.under_way` answers, or `stash` for the application of the last stash."""
    names = {
        "merge": ("HEAD", "MERGE_HEAD"),
        "rebase": ("REBASE_HEAD^", "REBASE_HEAD"),
        "cherry-pick": ("CHERRY_PICK_HEAD^", "CHERRY_PICK_HEAD"),
        "revert": ("REVERT_HEAD", "REVERT_HEAD^"),
        "stash": ("refs/stash^", "refs/stash"),
    }.get(how)
    if names is None:
        return None
    found = [git.attempt(root, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]) for name in (*names, "HEAD")]
    before, theirs, ours = (ran.output.decode("ascii", "replace").strip() for ran in found)
    if not theirs or not ours:
        return None
    if how == "merge":
        return between(root, ours, theirs)
    return Commits((before or _empty_tree(root),), ours, theirs)  # the first commit of all has none before it


def between(root: str, ours: str, theirs: str) -> Commits:
    """Two commits and what they have in common: every best common ancestor, or the empty tree."""
    bases = git.attempt(root, ["merge-base", "--all", ours, theirs]).output.decode("ascii", "replace").split()
    return Commits(tuple(bases) or (_empty_tree(root),), ours, theirs)


def _empty_tree(root: str) -> str:
    return git.run(root, ["hash-object", "-t", "tree", "--stdin"]).decode().strip()


def _path(root: str, name: str) -> str:
    place = checkout.git_folder(root)
    if place is None:
        raise CortexError("the vault is in no git repository", "git init")
    return os.path.join(place[1], name)


def _read(root: str, name: str) -> bytes:
    try:
        fd = os.open(_path(root, name), os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(fd, "rb") as file:
        return file.read(_MOST) or b""


def _write(root: str, name: str, data: bytes) -> None:
    """Put a file into the git folder, whole and durable."""
    path = _path(root, name)
    fd = os.open(f"{path}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        files.flush(fd)
    os.replace(f"{path}.new", path)
    _sync_folder(os.path.dirname(path))


def _unlink(root: str, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(_path(root, name))
        _sync_folder(os.path.dirname(_path(root, name)))


def _sync_folder(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        files.flush(fd)
    finally:
        os.close(fd)
