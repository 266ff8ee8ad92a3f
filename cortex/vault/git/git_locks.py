"""Git's lock files: which there are, whether a process can hold one, which of them a crash left.

Git creates `X.lock` before it changes X and refuses to write while that file exists, so a git that
is killed or loses power stops every later one. Nothing is changed here: `repair` moves them aside.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from cortex.core.model.problem import ConflictError, Problem
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import shell_quote
from cortex.core.text.value import NamedTuple
from cortex.vault.files import list_folder
from cortex.vault.git import checkout, git_cli
from cortex.vault.git.checkout import Repository

FIX_COMMAND = "cortex doctor --fix"
LOCK_WAIT_SECONDS = 30.0  # for another git, or another cortex, to finish
_LOCKED_RE = lazy_re(
    r"index\.lock|HEAD\.lock|could not lock|cannot lock ref(?!.*reference broken)|"
    r"Unable to create|Unable to write index|is at .{1,100} but expected"
)
# By which a lock must be older than the boot: the kernel tells the boot time in whole seconds, some
# file systems tell times in steps of two.
BOOT_MARGIN_SECONDS = 2.0
# No git holds a lock for so long, except while an editor is open, which is a process that is seen.
DAY_SECONDS = 86_400.0
_OLD_SECONDS = 20.0  # seconds after which a lock that nobody is seen to hold is named
_OWN_LOCKS = ("cortex.lock", "cortex-drivers.lock")  # held by the kernel; the files mean nothing
_PACKED_REFS_TEMP = "packed-refs.new"  # git creates it exclusively as well, under packed-refs.lock
_LOCK_FOLDERS = (
    "", "info", "objects", "objects/info", "objects/info/commit-graphs", "objects/pack", "reftable",
    "rebase-merge", "rebase-apply", "sequencer",
)  # fmt: skip
_LOCK_TREES = ("refs", "logs")


class Clock(NamedTuple):
    """Seconds since the epoch: now, and when the machine was started (0 when unknown)."""

    now: float
    booted: float


class GitLock(NamedTuple):
    """A lock file of git, as it lies there."""

    path: str
    age_seconds: float
    crash_evidence: str  # what shows that its process is gone; empty when nothing does
    visibility_doubt: str  # why a process that holds it might not be seen; empty when it would be
    identity: tuple[int, int, int]  # device, inode, mtime in ns

    @property
    def is_abandoned(self) -> bool:
        """True if nobody can hold it: it is older than the boot, or all processes are visible."""
        return bool(self.crash_evidence) and (
            not self.visibility_doubt or self.crash_evidence == _BEFORE_BOOT
        )


_BEFORE_BOOT = "from before the machine was started"
_OLDER_THAN_A_DAY = "older than a day"


def read_clock() -> Clock:
    """The system's clock and boot time. In a container it is the host's, and it moves when the
    clock is set: a living process's lock can look older, so processes are looked at as well."""
    booted = 0.0
    with suppress(OSError, ValueError), open("/proc/stat", encoding="ascii") as file:
        booted = next((float(line.split()[1]) for line in file if line.startswith("btime ")), 0.0)
    return Clock(time.time(), booted)


def list_lock_files(repository: Repository) -> list[str]:
    """The paths of git's lock files in this repository and its worktrees. Follows no link."""
    found: set[str] = set()
    for folder in {repository.git_dir, repository.common_dir, *_worktree_folders(repository)}:
        inside = [os.path.join(folder, name) if name else folder for name in _LOCK_FOLDERS]
        for name in _LOCK_TREES:
            if not os.path.islink(top := os.path.join(folder, name)):
                inside += [parent for parent, _, _ in os.walk(top)]
        found |= {
            os.path.join(parent, name)
            for parent in inside
            if parent == folder or not os.path.islink(parent)
            for name in list_folder(parent)
            if name.endswith(".lock") or name == _PACKED_REFS_TEMP
        }
        found -= {os.path.join(folder, name) for name in _OWN_LOCKS}
    return sorted(found)


def find_abandoned(
    repository: Repository | None, at: Clock | None = None, *, idle_only: bool = False
) -> list[GitLock]:
    """The lock files that a crash has left and that nobody can hold: older than the boot or than a
    day, open in no process. `idle_only`: none while a git is at work, which may own closed ones."""
    if repository is None:
        return []
    locks = [lock for lock in _inspect_locks(repository, at or read_clock()) if lock.is_abandoned]
    holders = _find_holders(locks)
    locks = [lock for lock in locks if lock.identity[:2] not in holders]
    return [] if locks and idle_only and find_running_git(repository) else locks


def problems(root: str, at: Clock | None = None) -> list[Problem]:
    """The old lock files that stop git, who has them open, and the next command."""
    repository = checkout.find_repository(root)
    locks = _inspect_locks(repository, at or read_clock()) if repository else []
    old = [lock for lock in locks if lock.is_abandoned or lock.age_seconds > _OLD_SECONDS]
    if repository is None or not old:
        return []
    holders = _find_holders(old)
    busy = find_running_git(repository)
    found = []
    for lock in old:
        if process := holders.get(lock.identity[:2]):
            message = f"process {process} has it open: git refuses to write until that has ended"
            hint = f"ps -fp {process} shows what it is"
        elif lock.is_abandoned:
            why = f"was left by a git that is gone ({lock.crash_evidence})"
            message = f"{why}: git refuses to write until it is moved away"
            hint = f"when {busy} has ended: {FIX_COMMAND}" if busy else FIX_COMMAND
        elif not busy:
            doubt = f" (not sure: {lock.visibility_doubt})" if lock.visibility_doubt else ""
            why = f"is {_format_duration(lock.age_seconds)} old and no git is seen at work here"
            message = f"{why}{doubt}: git refuses to write until it is gone"
            hint = _rm_command(lock.path)
        else:
            continue
        found.append(Problem(os.path.relpath(lock.path, root), message, hint))
    return found


def check_none_abandoned(root: str, at: Clock | None = None) -> None:
    """Raise `ConflictError` if a lock that a crash has left stops git."""
    if locks := find_abandoned(checkout.find_repository(root), at, idle_only=True):
        were = f" and {len(locks) - 1} more were" if len(locks) > 1 else " was"
        why = f"left by a git that is gone ({locks[0].crash_evidence})"
        raise ConflictError(f"{locks[0].path}{were} {why}: git refuses to write", FIX_COMMAND)


def wait_hint(root: str) -> str:
    """What to do about another git that does not end, as a hint."""
    repository = checkout.find_repository(root)
    paths = list_lock_files(repository) if repository else []
    busy = find_running_git(repository) if repository else ""
    wait = f"wait until {busy or 'it'} has ended, then run the command again"
    remove = " && ".join(map(_rm_command, paths))
    return f"{wait}; when no git is at work here: {remove}" if paths and not busy else wait


def run_when_unlocked(
    directory: str,
    words: Sequence[str],
    *,
    stdin: bytes = b"",
    timeout: float = 120.0,
    hooks: bool = False,
    extra: Mapping[str, str] | None = None,
) -> git_cli.GitResult:
    """`git_cli.run_unchecked`, repeated by `retry_while_locked`."""
    named = partial(git_cli.run_unchecked, stdin=stdin, timeout=timeout, hooks=hooks, extra=extra)
    return retry_while_locked(directory, lambda: named(directory, words))


def retry_while_locked(
    root: str, attempt: Callable[[], git_cli.GitResult], *, wait: float | None = None
) -> git_cli.GitResult:
    """Run `attempt` until no other git holds a lock. Raises `ConflictError` after `wait` seconds,
    by default `LOCK_WAIT_SECONDS`, and at once when a crash has left the lock. Deletes no lock: its
    owner may be alive."""
    deadline = time.monotonic() + (LOCK_WAIT_SECONDS if wait is None else wait)
    pause = 0.02
    # 128 without a message: a commit could not read an index that another git just replaced.
    while (ran := attempt()).code and (
        _LOCKED_RE.search(ran.stderr) or (ran.code == 128 and not ran.stderr.strip())
    ):
        if git_cli.system_error(ran, root):
            break
        check_none_abandoned(root)
        if time.monotonic() + pause > deadline:
            message = f"another git is busy in this repository: {ran.reason}"
            raise ConflictError(message, wait_hint(root))
        time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311  so that two do not wait in step
        pause = min(2 * pause, 0.6)
    # Git may not say that a lock is what stops it.
    if ran.code == 128 and not git_cli.system_error(ran, root):
        check_none_abandoned(root)
    return ran


def find_running_git(repository: Repository) -> str:
    """A process named git that works in this repository, as `git (process 123)`; empty when none is
    seen. Processes of other users may not be seen."""
    folders = {*repository, *linked_trees(repository)}
    for process in _processes():
        with suppress(OSError):
            name = checkout.read_first_line(f"{process}/comm")
            at = os.readlink(f"{process}/cwd") if name.startswith("git") else ""
            if any(at == folder or at.startswith(folder + os.sep) for folder in folders):
                return f"{name} (process {process.rpartition('/')[2]})"
    return ""


def wait_for_git(repository: Repository, seconds: float) -> str:
    """Wait until no git is seen at work here; the one that does not end, as `find_running_git` says."""
    deadline = time.monotonic() + seconds
    while (busy := find_running_git(repository)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return busy


def linked_trees(repository: Repository) -> list[str]:
    """The linked work trees."""
    folders = _worktree_folders(repository)
    pointers = (checkout.read_first_line(os.path.join(one, "gitdir")) for one in folders)
    return [os.path.dirname(pointer) for pointer in pointers if os.path.isabs(pointer)]


def _worktree_folders(repository: Repository) -> list[str]:
    """The git folders of the linked worktrees."""
    folder = os.path.join(repository.common_dir, "worktrees")
    return [os.path.join(folder, name) for name in list_folder(folder)]


def _processes() -> list[str]:
    """The folders of all processes; none where there is no /proc."""
    return [f"/proc/{name}" for name in list_folder("/proc") if name.isdigit()]


def _inspect_locks(repository: Repository, at: Clock) -> list[GitLock]:
    found = []
    for path in list_lock_files(repository):
        with suppress(OSError):
            status = os.lstat(path)
            age = at.now - status.st_mtime
            crash = _OLDER_THAN_A_DAY if age > DAY_SECONDS else ""
            if status.st_mtime < at.booted - BOOT_MARGIN_SECONDS:
                crash = _BEFORE_BOOT
            identity = status.st_dev, status.st_ino, status.st_mtime_ns
            found.append(GitLock(path, age, crash, _visibility_doubt(status.st_uid), identity))
    return found


def _find_holders(locks: list[GitLock]) -> dict[tuple[int, int], str]:
    """Device and inode of the locks that are open -> a process id, as far as this user may see."""
    names = {os.path.basename(lock.path) for lock in locks}
    holders: dict[tuple[int, int], str] = {}
    for process in _processes() if locks else ():
        for fd in list_folder(f"{process}/fd"):
            with suppress(OSError):
                # A stat of any other file may wait for a dead network drive.
                if os.path.basename(os.readlink(path := f"{process}/fd/{fd}")) in names:
                    status = os.stat(path)
                    holders[status.st_dev, status.st_ino] = process.rpartition("/")[2]
    return holders


def _visibility_doubt(owner: int) -> str:
    """Why a process that holds a lock of this user might not be seen."""
    if not os.path.isdir("/proc/self/fd"):
        return "this system does not show which files a process has open"
    if os.geteuid() in (0, owner):
        return ""
    return f"it belongs to the user {owner}, whose processes cannot be looked into"


def _rm_command(path: str) -> str:
    return f"rm {shell_quote(path)}"


def _format_duration(seconds: float) -> str:
    for unit, size in (("days", DAY_SECONDS), ("hours", 3600.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"
