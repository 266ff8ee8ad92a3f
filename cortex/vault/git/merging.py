"""A merge or rebase that Cortex began: whose it is, what it waits for, what it had to set aside, and its end.

The notes about it lie in the git folder of the worktree, beside git's own: `cortex-sync` says what was begun,
`cortex-staged` what a person had staged, which a merge does not allow and which comes back as it was.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from cortex.core.merge.merge_plan import MergeResolution, OpenConflict
from cortex.core.model.problem import CortexError
from cortex.vault import files
from cortex.vault.git import checkout, commit, git_cli, git_locks, objects, work_tree
from cortex.vault.state import store

_STATE_FILE = "cortex-sync"
_STAGED_FILE = "cortex-staged"
_MAX_BYTES = 16_000_000  # bytes of our own notes in the git folder
_TIMEOUT_SECONDS = 600.0  # seconds that a merge with its drivers and a person's hooks may take
# A folder that one side has emptied (inbox/pending, all of it normalized) is not renamed: what the other side adds
# to it stays there. And a rename is followed, whatever the person's git is told to do for their own eyes.
MERGE_CONFIG_FLAGS = (
    "-c",
    "merge.directoryRenames=false",
    "-c",
    "merge.renames=true",
    "-c",
    "diff.renames=true",
    "-c",
    "rerere.enabled=false",
)
_IDLE_SECONDS = 0.5  # seconds without a change after which git is taken to have ended
_NO_EDITOR_ENVIRONMENT = {
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_MERGE_AUTOEDIT": "no",
}


class MergeRevisions(NamedTuple):
    """What is merged: two commits, and the commits or trees that they are compared with."""

    bases: tuple[str, ...]
    ours: str  # in a rebase what lies below
    theirs: str  # in a rebase the commit that is moved


class MergeState(NamedTuple):
    """What Cortex began: a merge with, or a rebase onto, the commit `theirs`."""

    how: str  # merge or rebase; in what a person began also cherry-pick, revert, stash, am
    theirs: str
    waiting: Mapping[str, OpenConflict]
    ours: str = ""  # the commit that was checked out; empty before the first one
    branch: str = ""


def load_in_progress(root: str) -> MergeState | None:
    """The operation under way, when it is ours. Git syncs none of its notes about it: after a power cut they may be empty."""
    mine = load_state(root)
    begins, where = (
        {"merge": ("MERGE_HEAD", ""), "rebase": ("rebase-merge", "onto")}.get(mine.how, ("", ""))
        if mine
        else ("", "")
    )
    if mine is None or not begins or not os.path.lexists(_git_dir_path(root, begins)):
        return None
    said = (
        _read_git_file(root, os.path.join(begins, where) if where else begins)
        .decode("ascii", "replace")
        .strip("\0\n ")
    )
    return (
        mine
        if said in (mine.theirs, "") or (mine.how == "rebase" and is_interrupted(root))
        else None
    )


def load_state(root: str) -> MergeState | None:
    """The operation that was remembered last and not forgotten, whether it is still under way or not."""
    try:
        held = json.loads(_read_git_file(root, _STATE_FILE))
        waiting = {
            path: OpenConflict(one[0], one[1], tuple(one[2]))
            for path, one in held["waiting"].items()
        }
        return MergeState(
            held["how"], held["theirs"], waiting, held.get("ours", ""), held.get("branch", "")
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def is_interrupted(root: str) -> bool:
    """Whether git was killed, or lost power, in the middle of a merge or rebase of ours: it can neither go on nor back, or would go on
    without what it was just merging."""
    if not os.path.lexists(_git_dir_path(root, "rebase-merge")):
        mine = load_state(root)
        if mine and mine.waiting:  # a person may have chosen our side everywhere
            return False
        return checkout.operation_in_progress(root) == "merge" and (
            _has_merged_nothing(root)
            or not all(map(_file_has_text(root), ("MERGE_HEAD", "MERGE_MSG")))
        )
    # Git calls a commit done before it picks it, and only once it has stopped for a conflict does it write `stopped-sha`: continued
    # before that, the rebase ends without the commit.
    names = ("head-name", "orig-head", "onto", "stopped-sha")
    if not all(map(_file_has_text(root), (os.path.join("rebase-merge", name) for name in names))):
        return True
    if not os.path.lexists(_git_dir_path(root, os.path.join("rebase-merge", "git-rebase-todo"))):
        return True
    branch, before = (
        _read_git_file(root, os.path.join("rebase-merge", name)).decode("utf-8", "replace").strip()
        for name in names[:2]
    )
    ran = (
        git_cli.run_unchecked(
            objects.toplevel(root), ["rev-parse", "--verify", "--quiet", "--end-of-options", branch]
        )
        if branch.startswith("refs/heads/")
        else None
    )
    return ran is not None and not ran.code and ran.stdout.decode().strip() != before


def _file_has_text(root: str) -> Callable[[str], bool]:
    """Whether a file of the git folder holds anything but what a power cut leaves: nothing, or zeros."""
    return lambda name: bool(_read_git_file(root, name).strip(b"\0\n "))


def _has_merged_nothing(root: str) -> bool:
    """Whether nothing was merged yet though git says that a merge is under way: where it cannot write the index, it leaves MERGE_HEAD, and a
    commit would then record that nothing of the other side was wanted."""
    return not objects.list_unmerged_stages(root) and not objects.list_staged(root)


def quit_interrupted(root: str) -> None:
    """End a torn merge or rebase of ours where it stands, on its branch; what it has not done the next one does."""
    mine = load_state(root)
    name = (
        _read_git_file(root, os.path.join("rebase-merge", "head-name"))
        .decode("utf-8", "surrogateescape")
        .strip("\0\n ")
    )

    def run(*words: str) -> None:
        commit.retry_while_locked(
            root,
            lambda: git_cli.run_unchecked(objects.toplevel(root), words, timeout=_TIMEOUT_SECONDS),
        )

    if checkout.operation_in_progress(root) == "rebase":
        run("rebase", "--quit")
    if checkout.operation_in_progress(root) == "merge" or objects.list_unmerged_stages(root):
        run("reset", "--merge", "--quiet")
    branch = (
        name.removeprefix("refs/heads/")
        if name.startswith("refs/heads/")
        else mine.branch
        if mine
        else ""
    )
    if not checkout.branch_of(root) and branch:
        run("switch", "--quiet", git_cli.check_ref_name(branch))
    clear_state(root)


def wait_until_idle(root: str) -> None:
    """Wait until nothing moves in the git folder: when a sync is killed, the git that it started goes on by itself."""
    if not _read_git_file(root, _STATE_FILE):
        return
    deadline = time.monotonic() + commit.LOCK_WAIT_SECONDS
    left = {lock.path for lock in git_locks.find_abandoned_if_idle(root)}
    before, now = None, _git_dir_stamps(root, left)
    while now != before and time.monotonic() < deadline:
        before = now
        time.sleep(_IDLE_SECONDS)
        now = _git_dir_stamps(root, left)


def _git_dir_stamps(root: str, left: Collection[str]) -> list[tuple[str, int]]:
    """When the files that a merge or rebase writes were written last; a lock changes with every look, but for those that a crash has left."""
    found = []
    folder = _git_dir_path(root, "")
    for name in (
        "index",
        "index.lock",
        "HEAD",
        "MERGE_HEAD",
        "rebase-merge",
        os.path.join("logs", "HEAD"),
    ):
        path = os.path.join(folder, name)
        with suppress(OSError):
            names = (
                [path, *(os.path.join(path, each) for each in os.listdir(path))]
                if os.path.isdir(path)
                else [path]
            )
            alive = name == "index.lock" and path not in left
            found += [
                (each, time.monotonic_ns() if alive else os.lstat(each).st_mtime_ns)
                for each in names
                if os.path.lexists(each)
            ]
    return sorted(found)


def save_state(root: str, what: MergeState) -> None:
    """Write down what is begun; durable before git begins, so that it can never look like a person's."""
    before = None if what.branch else load_state(root)
    if before and before.theirs == what.theirs:
        what = what._replace(ours=before.ours, branch=before.branch)
    if what.theirs and what.waiting:
        os.sync()  # a person may take days over it: what git wrote, its own notes too, must be there then
    _write_git_file(root, _STATE_FILE, json.dumps(what._asdict(), ensure_ascii=True).encode())


def clear_state(root: str) -> None:
    """It is over: make what git has written durable, then forget it."""
    mine = load_state(root)
    if mine and mine.theirs:
        work_tree.sync_merged_files(root, mine.ours, mine.theirs)
    _delete_git_file(root, _STATE_FILE)


def is_unfinished(root: str) -> bool:
    """Whether a merge or rebase of ours was never finished: it runs at this moment, or it was ended by a crash. One that waits for a
    person does not count: all that git wrote in it is durable."""
    mine = load_state(root)
    return mine is not None and bool(mine.theirs) and not mine.waiting


def restore_work_tree(root: str, mine: MergeState) -> list[MergeResolution]:
    """Put back what a crash in a merge or rebase of ours has taken of the work tree; before anything is committed, which would record it
    as deleted."""
    found = work_tree.restore(root, mine.ours, mine.theirs)
    paths = (os.path.relpath(os.path.join(objects.toplevel(root), path), root) for path in found)
    return [
        MergeResolution(path, "was cut off by a crash, and is as git has it again")
        for path in paths
    ]


def unstage(root: str, entries: Sequence[objects.StagedChange]) -> None:
    """Take what a person staged out of the index, written down first. Their files are not touched."""
    if entries:
        _write_git_file(
            root,
            _STAGED_FILE,
            objects.format_index_info({one.path: one.index_entry for one in entries}),
        )
        commit.set_index_entries(root, {one.path: one.head_entry for one in entries})


def restage(root: str) -> bool:
    """Stage again what was set aside, exactly; True when there was something. What a person has staged since stays."""
    lines = _read_git_file(root, _STAGED_FILE)
    if not lines:
        return False
    entries = {}
    for line in lines.split(b"\0"):
        entry, _, path = line.partition(b"\t")
        if path:
            entries[path] = entry
    since = {one.path for one in objects.list_staged(root)}
    commit.set_index_entries(
        root, {path: entry for path, entry in entries.items() if path not in since}
    )
    _delete_git_file(root, _STAGED_FILE)
    return True


def start(root: str, what: MergeState, arguments: Sequence[str]) -> git_cli.GitResult:
    """Begin a merge or rebase; the code is not zero when git stopped."""
    save_state(root, what._replace(ours=git_cli.head_commit(root), branch=checkout.branch_of(root)))

    def attempt() -> git_cli.GitResult:
        ran = git_cli.run_unchecked(
            objects.toplevel(root),
            [*MERGE_CONFIG_FLAGS, what.how, *arguments],
            timeout=_TIMEOUT_SECONDS,
            hooks=True,
            extra=_NO_EDITOR_ENVIRONMENT,
        )
        if (
            ran.code
            and what.how == "merge"
            and checkout.operation_in_progress(root) == "merge"
            and _has_merged_nothing(root)
        ):
            git_cli.run_unchecked(objects.toplevel(root), ["merge", "--quit"])
        return ran

    return commit.retry_while_locked(root, attempt)


def conclude(root: str, how: str) -> git_cli.GitResult:
    """Commit the merge, or go on with the rebase, now that nothing is unmerged."""
    words = ["commit", "--quiet", "--no-edit"] if how == "merge" else ["rebase", "--continue"]
    return commit.retry_while_locked(
        root,
        lambda: git_cli.run_unchecked(
            objects.toplevel(root),
            [*MERGE_CONFIG_FLAGS, *words],
            timeout=_TIMEOUT_SECONDS,
            hooks=True,
            extra=_NO_EDITOR_ENVIRONMENT,
        ),
    )


def parse_driver_messages(ran: git_cli.GitResult) -> list[MergeResolution]:
    """What the record driver said of values that lost, among all that git said."""
    lines = (
        line.partition(": ") for line in ran.stderr.splitlines() if "; cortex history " in line
    )
    return [MergeResolution(path, what) for path, _, what in lines]


def abort(root: str, how: str) -> None:
    """Take back what was begun, when it is still under way."""
    if checkout.operation_in_progress(root) == how:
        git_cli.run_unchecked(objects.toplevel(root), [how, "--abort"], timeout=_TIMEOUT_SECONDS)
    clear_state(root)


def mark_resolved(root: str, paths: Iterable[str]) -> None:
    """Tell git that these vault-relative paths are as they should be: there or gone."""
    if lines := objects.join_nul(paths):
        ran = commit.retry_while_locked(
            root,
            lambda: git_cli.run_unchecked(
                root,
                ["update-index", "--add", "--remove", "-z", "--stdin"],
                timeout=120.0,
                stdin=lines,
            ),
        )
        if ran.code:
            raise git_cli.command_error("update-index", ran, root)


def revisions_of(root: str, how: str) -> MergeRevisions | None:
    """The commits that an operation under way merges; None where git does not say, as in `git am`. `how` is what
    `checkout.operation_in_progress` answers, or `stash` for the application of the last stash."""
    names = {
        "merge": ("HEAD", "MERGE_HEAD"),
        "rebase": ("REBASE_HEAD^", "REBASE_HEAD"),
        "cherry-pick": ("CHERRY_PICK_HEAD^", "CHERRY_PICK_HEAD"),
        "revert": ("REVERT_HEAD", "REVERT_HEAD^"),
        "stash": ("refs/stash^", "refs/stash"),
    }.get(how)
    if names is None:
        return None
    found = [
        git_cli.run_unchecked(
            root, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
        )
        for name in (*names, "HEAD")
    ]
    before, theirs, ours = (ran.stdout.decode("ascii", "replace").strip() for ran in found)
    if not theirs or not ours:
        return None
    if how == "merge":
        return revisions_between(root, ours, theirs)
    return MergeRevisions(
        (before or _empty_tree(root),), ours, theirs
    )  # the first commit of all has none before it


def revisions_between(root: str, ours: str, theirs: str) -> MergeRevisions:
    """Two commits and what they have in common: every best common ancestor, or the empty tree."""
    bases = (
        git_cli.run_unchecked(root, ["merge-base", "--all", ours, theirs])
        .stdout.decode("ascii", "replace")
        .split()
    )
    return MergeRevisions(tuple(bases) or (_empty_tree(root),), ours, theirs)


def _empty_tree(root: str) -> str:
    return git_cli.run(root, ["hash-object", "-t", "tree", "--stdin"]).decode().strip()


def _git_dir_path(root: str, name: str) -> str:
    place = checkout.find_repository(root)
    if place is None:
        raise CortexError("the vault is in no git repository", "git init")
    return os.path.join(place[1], name)


def _read_git_file(root: str, name: str) -> bytes:
    return files.read_bounded(_git_dir_path(root, name), _MAX_BYTES)


def _write_git_file(root: str, name: str, data: bytes) -> None:
    """Put a file into the git folder, whole and durable."""
    store.replace(_git_dir_path(root, name), data, durable=True)


def _delete_git_file(root: str, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(_git_dir_path(root, name))
        store.sync_folder(os.path.dirname(_git_dir_path(root, name)))
