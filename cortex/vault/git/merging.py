"""A merge or rebase that Cortex began: whose it is, what it waits for, what it set aside, its end.

The notes about it lie in the git folder of the worktree, beside git's own: `cortex-sync` says what
was begun, `cortex-staged` what a person had staged: a merge forbids it, so it is put back later.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from cortex.core.merge.merge_plan import MergeResolution, OpenConflict
from cortex.core.model.problem import CortexError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.vault import files, private
from cortex.vault.git import checkout, commit, git_cli, git_locks, objects, work_tree

_STATE_FILE = "cortex-sync"
_STAGED_FILE = "cortex-staged"
_MAX_BYTES = 16_000_000  # bytes of our own notes in the git folder
_TIMEOUT_SECONDS = 600.0  # seconds that a merge with its drivers and a person's hooks may take
# A folder that one side has emptied (inbox/pending, all of it normalized) is not renamed: what the
# other side adds to it stays there. Renames of files are followed, whatever the user configured.
MERGE_CONFIG_FLAGS = (
    "-c", "merge.directoryRenames=false",
    "-c", "merge.renames=true",
    "-c", "diff.renames=true",
    "-c", "rerere.enabled=false",
)  # fmt: skip
_SQUASHED_RE = lazy_re(r"(?m)^commit ([0-9a-f]{40,64})$")
_NO_EDITOR = {"GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true", "GIT_MERGE_AUTOEDIT": "no"}


class MergeRevisions(NamedTuple):
    """What is merged: two commits, and the commits or trees that they are compared with."""

    bases: tuple[str, ...]
    ours: str  # in a rebase what lies below
    theirs: str  # in a rebase the commit that is moved


_INTENDED = b"intended"  # in place of the entry of a path that `git add -N` has named


class MergeState(NamedTuple):
    """What Cortex began: a merge with, or a rebase onto, the commit `theirs`."""

    how: str  # merge or rebase; in what a person began also cherry-pick, revert, stash, am
    theirs: str
    waiting: Mapping[str, OpenConflict]
    ours: str = ""  # the commit that was checked out; empty before the first one
    branch: str = ""
    decided: tuple[str, ...] = ()  # paths about which a person has decided


def load_in_progress(root: str) -> MergeState | None:
    """The operation under way, if it is ours. Git's files may be empty after a power cut."""
    mine = load_state(root)
    if mine is None or mine.how not in ("merge", "rebase"):
        return None
    is_merge = mine.how == "merge"
    if not os.path.lexists(git_dir_path(root, "MERGE_HEAD" if is_merge else "rebase-merge")):
        return None
    theirs = _read_git_text(root, "MERGE_HEAD" if is_merge else "rebase-merge/onto")
    is_ours = theirs in (mine.theirs, "") or (not is_merge and is_interrupted(root))
    return mine if is_ours else None


def load_state(root: str) -> MergeState | None:
    """The operation that was saved last, whether it is still under way or not."""
    try:
        stored = json.loads(_read_git_file(root, _STATE_FILE))
        waiting = {
            path: OpenConflict(one[0], one[1], tuple(one[2]))
            for path, one in stored["waiting"].items()
        }
        ours, branch = stored.get("ours", ""), stored.get("branch", "")
        decided = tuple(stored.get("decided", ()))
        return MergeState(stored["how"], stored["theirs"], waiting, ours, branch, decided)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def is_interrupted(root: str) -> bool:
    """True if git was killed, or lost power, in the middle of a merge or rebase of ours: it can
    neither go on nor back, or would go on without what it was just merging."""
    if not os.path.lexists(git_dir_path(root, "rebase-merge")):
        mine = load_state(root)
        if mine and mine.waiting:  # a person may have chosen our side everywhere
            return False
        return checkout.operation_in_progress(root) == "merge" and (
            _has_merged_nothing(root)
            or not all(_read_git_text(root, name) for name in ("MERGE_HEAD", "MERGE_MSG"))
        )
    # Git marks a commit as done before it picks it, and writes `stopped-sha` only when it stops for
    # a conflict: continued before that, the rebase ends without the commit.
    names = ("head-name", "orig-head", "onto", "stopped-sha")
    branch, before, *others = (_read_git_text(root, f"rebase-merge/{name}") for name in names)
    todo = git_dir_path(root, "rebase-merge/git-rebase-todo")
    if not all((branch, before, *others)) or not os.path.lexists(todo):
        return True
    if not branch.startswith("refs/heads/"):
        return False
    words = ["rev-parse", "--verify", "--quiet", "--end-of-options", branch]
    return git_cli.line(objects.toplevel(root), words) not in (before, "")


def _has_merged_nothing(root: str) -> bool:
    """True if nothing was merged yet: where git cannot write the index it leaves MERGE_HEAD, and a
    commit would then drop the other side."""
    return not objects.list_unmerged_stages(root) and not objects.list_staged(root)


def quit_interrupted(root: str) -> None:
    """End a torn merge or rebase of ours where it stands; the next one does the rest."""
    mine = load_state(root)
    name = _read_git_text(root, "rebase-merge/head-name")

    def run(*words: str) -> None:
        git_locks.run_when_unlocked(objects.toplevel(root), words, timeout=_TIMEOUT_SECONDS)

    if checkout.operation_in_progress(root) == "rebase":
        run("rebase", "--quit")
    if checkout.operation_in_progress(root) == "merge" or objects.list_unmerged_stages(root):
        run("reset", "--merge", "--quiet")
    branch = mine.branch if mine else ""
    if name.startswith("refs/heads/"):
        branch = name.removeprefix("refs/heads/")
    if not checkout.branch_of(root) and branch:
        run("switch", "--quiet", git_cli.check_ref_name(branch))
    clear_state(root)


def wait_until_idle(root: str) -> None:
    """Wait until no git is at work here: that of a killed sync goes on by itself."""
    repository = checkout.find_repository(root)
    if repository and _read_git_file(root, _STATE_FILE):
        git_locks.wait_for_git(repository, git_locks.LOCK_WAIT_SECONDS)


def save_state(root: str, what: MergeState) -> None:
    """Write down what is begun, durably, so that it never looks like a person's."""
    before = None if what.branch else load_state(root)
    if before and before.theirs == what.theirs:
        what = what._replace(ours=before.ours, branch=before.branch)
    if what.theirs and what.waiting:
        os.sync()  # a person may take days over it: what git wrote must be durable
    _write_git_file(root, _STATE_FILE, json.dumps(what._asdict(), ensure_ascii=True).encode())


def clear_state(root: str) -> None:
    """It is over: make what git has written durable, then forget it."""
    mine = load_state(root)
    if mine and mine.theirs:
        work_tree.sync_merged_files(root, mine.ours, mine.theirs)
    _delete_git_file(root, _STATE_FILE)


def is_unfinished(root: str) -> bool:
    """True if a merge or rebase of ours runs now, or was ended by a crash; not when it waits for a
    person: all that git wrote in it is durable then."""
    mine = load_state(root)
    return mine is not None and bool(mine.theirs) and not mine.waiting


def unstage(root: str, entries: Sequence[objects.StagedChange]) -> None:
    """Take what a person staged out of the index, recorded first; their files stay."""
    if entries:
        staged = {one.path for one in objects.list_staged(root, intended=False)}
        kept = {one.path: one.index_entry if one.path in staged else _INTENDED for one in entries}
        _write_git_file(root, _STAGED_FILE, objects.format_index_info(kept))
        commit.set_index_entries(root, {one.path: one.head_entry for one in entries})


def restage(root: str) -> bool:
    """Stage again what was set aside, but not over newer entries; True if there was any."""
    lines = _read_git_file(root, _STAGED_FILE)
    if not lines:
        return False
    parts = (line.partition(b"\t") for line in lines.split(b"\0"))
    entries = {path: entry for entry, _, path in parts if path}
    for one in objects.list_staged(root):
        entries.pop(one.path, None)
    intended = [path for path, entry in entries.items() if entry == _INTENDED]
    commit.set_index_entries(root, {one: entries[one] for one in entries.keys() - set(intended)})
    if intended:
        words = ["add", "--intent-to-add", *commit.PATHS_FROM_STDIN]
        git_locks.run_when_unlocked(objects.toplevel(root), words, stdin=b"\0".join(intended))
    _delete_git_file(root, _STAGED_FILE)
    return True


def start(root: str, state: MergeState, arguments: Sequence[str]) -> git_cli.GitResult:
    """Start a merge or rebase. The code of the result is not 0 if git did not finish; a merge that
    failed before it merged anything is closed again."""
    ours, branch = git_cli.head_commit(root), checkout.branch_of(root)
    save_state(root, state._replace(ours=ours, branch=branch))

    top = objects.toplevel(root)
    command = [*MERGE_CONFIG_FLAGS, state.how, *arguments]

    def attempt() -> git_cli.GitResult:
        result = git_cli.run_unchecked(
            top, command, timeout=_TIMEOUT_SECONDS, hooks=True, extra=_NO_EDITOR
        )
        is_open = result.code and state.how == checkout.operation_in_progress(root) == "merge"
        if is_open and _has_merged_nothing(root):
            git_cli.run_unchecked(top, ["merge", "--quit"])
        return result

    return git_locks.retry_while_locked(root, attempt)


def conclude(root: str, how: str) -> git_cli.GitResult:
    """Commit the merge, or go on with the rebase, now that nothing is unmerged."""
    words = ["commit", "--quiet", "--no-edit"] if how == "merge" else ["rebase", "--continue"]
    return git_locks.run_when_unlocked(
        objects.toplevel(root),
        [*MERGE_CONFIG_FLAGS, *words],
        timeout=_TIMEOUT_SECONDS,
        hooks=True,
        extra=_NO_EDITOR,
    )


def parse_driver_messages(ran: git_cli.GitResult) -> list[MergeResolution]:
    """What the record driver said of values that lost, among all that git said."""
    lines = (line for line in ran.stderr.splitlines() if "; cortex history " in line)
    return [MergeResolution(path, what) for path, _, what in (one.partition(": ") for one in lines)]


def is_changed(root: str) -> bool:
    """Whether a tracked file differs from the index: `git rebase --abort` would undo that."""
    top = objects.toplevel(root)
    git_cli.run_unchecked(top, ["update-index", "-q", "--refresh"])
    return bool(git_cli.run_unchecked(top, ["diff-files", "--quiet"]).code)


def abort(root: str, how: str) -> None:
    """Take back what was begun, when it is still under way."""
    if checkout.operation_in_progress(root) == how:
        git_cli.run_unchecked(objects.toplevel(root), [how, "--abort"], timeout=_TIMEOUT_SECONDS)
    if checkout.operation_in_progress(root) != how:
        clear_state(root)


def mark_resolved(root: str, paths: Iterable[str], *, untracked: bool = False) -> None:
    """Tell git that these vault-relative paths are as they should be: there or gone; `untracked`
    ones go from the index, whatever lies there."""
    if lines := objects.join_nul(paths):
        removal = "--force-remove" if untracked else "--remove"
        words = ["update-index", "--add", removal, "-z", "--stdin"]
        ran = git_locks.run_when_unlocked(root, words, stdin=lines)
        if ran.code:
            raise git_cli.command_error("update-index", ran, root)


def revisions_of(root: str, how: str) -> MergeRevisions | None:
    """The commits that an operation under way merges; None where git does not say, as in `git am`.
    `how` is what `checkout.operation_in_progress` answers, or `stash` if the last was applied, or
    `squash` while a squashed merge waits for its commit."""
    if how == "squash":
        return revisions_between(root, git_cli.head_commit(root), squashed_commit(root))
    names = {
        "merge": ("HEAD", "MERGE_HEAD"),
        "rebase": ("REBASE_HEAD^", "REBASE_HEAD"),
        "cherry-pick": ("CHERRY_PICK_HEAD^", "CHERRY_PICK_HEAD"),
        "revert": ("REVERT_HEAD", "REVERT_HEAD^"),
        "stash": ("refs/stash^", "refs/stash"),
    }.get(how)
    if names is None:
        return None
    before, theirs, ours = (git_cli.find_commit(root, name) for name in (*names, "HEAD"))
    if not theirs or not ours:
        return None
    if how == "merge":
        return revisions_between(root, ours, theirs)
    # The first commit of all has none before it.
    return MergeRevisions((before or objects.empty_tree(root),), ours, theirs)


def squashed_commit(root: str) -> str:
    """The commit that `git merge --squash` has merged last; empty if that is committed, or undone."""
    named = _SQUASHED_RE.findall(_read_git_text(root, "SQUASH_MSG"))
    return git_cli.find_commit(root, named[0]) if named else ""  # another clone may have made it


def waiting_squash_message(root: str) -> str:
    """Git's message for a squashed merge that waits for its commit; empty if there is none."""
    is_waiting = squashed_commit(root) and objects.list_staged(root)
    return _read_git_text(root, "SQUASH_MSG") if is_waiting else ""


def read_auto_merge(root: str, paths: Sequence[str]) -> dict[str, bytes]:
    """What git (not before 2.32) wrote at paths of the vault when it stopped at conflicts."""
    words = ["rev-parse", "--verify", "--quiet", "--end-of-options", "AUTO_MERGE^{tree}"]
    tree = git_cli.line(root, words) if paths else ""
    return objects.read_committed(root, paths, tree) if tree else {}


def revisions_between(root: str, ours: str, theirs: str) -> MergeRevisions:
    """Two commits and what they have in common: every best common ancestor, or the empty tree."""
    ran = git_cli.run_unchecked(root, ["merge-base", "--all", ours, theirs])
    bases = tuple(ran.stdout.decode("ascii", "replace").split())
    return MergeRevisions(bases or (objects.empty_tree(root),), ours, theirs)


def git_dir_path(root: str, name: str = "") -> str:
    """The path of a file of the git folder of the vault's work tree, or of that folder."""
    repository = checkout.find_repository(root)
    if repository is None:
        raise CortexError("the vault is in no git repository", "git init")
    return os.path.join(repository.git_dir, name)


def _read_git_text(root: str, name: str) -> str:
    """The text of a file of the git folder; empty for what a power cut leaves (nothing, zeros)."""
    return os.fsdecode(_read_git_file(root, name).strip(b"\0\n "))


def _read_git_file(root: str, name: str) -> bytes:
    return files.read_bounded(git_dir_path(root, name), _MAX_BYTES)


def _write_git_file(root: str, name: str, data: bytes) -> None:
    """Put a file into the git folder, whole and durable."""
    private.replace(git_dir_path(root, name), data, durable=True)


def _delete_git_file(root: str, name: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(git_dir_path(root, name))
        private.sync_folder(os.path.dirname(git_dir_path(root, name)))
