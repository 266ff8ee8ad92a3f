"""Git's lock files: which there are, whether a process can still hold one, and which of them a crash has left.

Git creates `X.lock` before it changes X and refuses to write while that file exists, so a git that is killed or loses
power stops every later one. Nothing is changed here: `repair` moves aside what `abandoned` returns.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import NamedTuple

from cortex.core.model.problem import Conflict, Problem
from cortex.core.text.shell_command import quoted
from cortex.vault.files import listed
from cortex.vault.repair import diagnose
from cortex.vault.repair.diagnose import Place

# Seconds that a lock must be older than the boot. The kernel tells the boot time in whole seconds, and some file systems
# tell a file's time in steps of two. A larger margin would miss a lock written just before a fast restart.
MARGIN = 2.0
DAY = 86_400.0  # seconds; no git holds a lock for so long, but for a person's editor, which is a process that can be seen
_OLD = 600.0  # seconds after which a lock that nobody is seen to hold is named
_OURS = ("cortex.lock", "cortex-drivers.lock")  # held by the kernel; the files mean nothing
_NOT_LOCK = "packed-refs.new"  # git creates it exclusively as well, under packed-refs.lock
_FLAT = (
    "",
    "info",
    "objects",
    "objects/info",
    "objects/info/commit-graphs",
    "objects/pack",
    "reftable",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
)
_DEEP = ("refs", "logs")


class Clock(NamedTuple):
    """Seconds since the epoch: now, and when the machine was started (0 where the system does not say)."""

    now: float
    booted: float


class Lock(NamedTuple):
    """A lock file of git, as it lies there."""

    path: str
    age: float  # seconds; below zero when it is dated in the future
    crash: str  # what shows that its process is gone; empty when nothing does
    unseen: str  # why a process that holds it might not be seen; empty when it would be
    identity: tuple[int, int, int]  # device, inode, mtime in ns

    @property
    def abandoned(self) -> bool:
        """Whether nobody can hold it. No process outlives a boot, so that needs no look at other users' processes."""
        return bool(self.crash) and (not self.unseen or self.crash == _BOOT)


_BOOT = "from before the machine was started"
_AGED = "older than a day"


def clock() -> Clock:
    """The system's clock and boot time. The boot time is that of the host in a container, and moves with the clock when that
    is set: a lock of a living process can look older than the boot then, so processes are looked at as well."""
    booted = 0.0
    with suppress(OSError, ValueError), open("/proc/stat", encoding="ascii") as file:
        booted = next((float(line.split()[1]) for line in file if line.startswith("btime ")), 0.0)
    return Clock(time.time(), booted)


def files(place: Place) -> list[str]:
    """The paths of git's lock files in this repository, its other worktrees included. No link is followed."""
    worktrees = os.path.join(place.common, "worktrees")
    found = set()
    for folder in {
        place.git,
        place.common,
        *(os.path.join(worktrees, name) for name in listed(worktrees)),
    }:
        inside = [os.path.join(folder, name) if name else folder for name in _FLAT]
        for name in _DEEP:
            if not os.path.islink(top := os.path.join(folder, name)):
                inside += [parent for parent, _, _ in os.walk(top)]
        for parent in inside:
            if parent == folder or not os.path.islink(parent):
                found |= {
                    os.path.join(parent, name)
                    for name in listed(parent)
                    if name.endswith(".lock") or name == _NOT_LOCK
                }
        found -= {os.path.join(folder, name) for name in _OURS}
    return sorted(found)


def abandoned(place: Place, at: Clock) -> list[Lock]:
    """The lock files that a crash has left and that nobody can hold: older than the boot or than a day, open in no process.
    Whether a git is at work here (`git_at_work`) is a question of its own: it may hold a lock that it has closed."""
    return _not_open([lock for lock in _locks(place, at) if lock.abandoned])


def problems(root: str, at: Clock | None = None) -> list[Problem]:
    """The lock files around the vault that stop git and that no process is seen to hold, each with the command that ends that."""
    place = diagnose.place_of(root)
    at = at or clock()
    old = (
        _not_open([lock for lock in _locks(place, at) if lock.abandoned or abs(lock.age) > _OLD])
        if place
        else []
    )
    if place is None or not old:
        return []
    busy = git_at_work(place)
    found = []
    for lock in old:
        where = os.path.relpath(lock.path, place.root)
        if lock.abandoned:
            hint = f"when {busy} has ended: {diagnose.FIX}" if busy else diagnose.FIX
            found.append(
                Problem(
                    where,
                    f"was left by a git that is gone ({lock.crash}): git refuses to write until it is moved away",
                    hint,
                )
            )
        elif not busy:
            doubt = f" (not sure: {lock.unseen})" if lock.unseen else ""
            age = f"is {_duration(lock.age)} old" if lock.age > 0 else "is dated in the future"
            found.append(
                Problem(
                    where,
                    f"{age} and no git is seen at work here{doubt}: git refuses to write until it is gone",
                    _remove(lock.path),
                )
            )
    return found


def left(root: str, at: Clock | None = None) -> list[Lock]:
    """The lock files around the vault that a crash has left; none while a git is at work here."""
    place = diagnose.place_of(root)
    found = abandoned(place, at or clock()) if place else []
    return [] if place and found and git_at_work(place) else found


def check_not_left(root: str, at: Clock | None = None) -> None:
    """Raise `Conflict` when a lock file that a crash has left stops git here: waiting for its end would be in vain."""
    if locks := left(root, at):
        were = f" and {len(locks) - 1} more were" if len(locks) > 1 else " was"
        raise Conflict(
            f"{locks[0].path}{were} left by a git that is gone ({locks[0].crash}): git refuses to write",
            diagnose.FIX,
        )


def in_the_way(root: str) -> str:
    """What to do about another git that does not end, as a hint."""
    place = diagnose.place_of(root)
    paths = files(place) if place else []
    busy = git_at_work(place) if place else ""
    wait = f"wait until {busy or 'it'} has ended, then run the command again"
    return (
        f"{wait}; when no git is at work here: {' && '.join(map(_remove, paths))}"
        if paths and not busy
        else wait
    )


def git_at_work(place: Place) -> str:
    """A process named git that has its working directory in this repository, as `git (process 123)`; empty when none is
    seen. Processes of other users may not be seen."""
    worktrees = os.path.join(place.common, "worktrees")
    pointers = [
        diagnose.read_line(os.path.join(worktrees, name, "gitdir")) for name in listed(worktrees)
    ]
    folders = {
        place.top,
        place.git,
        place.common,
        *(os.path.dirname(pointer) for pointer in pointers if os.path.isabs(pointer)),
    }
    for number in filter(str.isdigit, listed("/proc")):
        with suppress(OSError):
            name = diagnose.read_line(f"/proc/{number}/comm")
            at = os.readlink(f"/proc/{number}/cwd") if name.startswith("git") else ""
            if any(at == folder or at.startswith(folder + os.sep) for folder in folders):
                return f"{name} (process {number})"
    return ""


def _locks(place: Place, at: Clock) -> list[Lock]:
    found = []
    for path in files(place):
        with suppress(OSError):
            status = os.lstat(path)
            crash = (
                _BOOT
                if status.st_mtime < at.booted - MARGIN
                else _AGED
                if at.now - status.st_mtime > DAY
                else ""
            )
            identity = status.st_dev, status.st_ino, status.st_mtime_ns
            found.append(
                Lock(path, at.now - status.st_mtime, crash, _unseen(status.st_uid), identity)
            )
    return found


def _not_open(locks: list[Lock]) -> list[Lock]:
    """Those of the locks that no process has open, as far as this user may see."""
    names = {os.path.basename(lock.path) for lock in locks}
    held = set()
    for number in filter(str.isdigit, listed("/proc")) if locks else ():
        for fd in listed(f"/proc/{number}/fd"):
            with suppress(OSError):
                path = f"/proc/{number}/fd/{fd}"
                if (
                    os.path.basename(os.readlink(path)) in names
                ):  # a stat of any other file may wait for a dead network drive
                    status = os.stat(path)
                    held.add((status.st_dev, status.st_ino))
    return [lock for lock in locks if lock.identity[:2] not in held]


def _unseen(owner: int) -> str:
    """Why a process that holds a lock of this user might not be seen."""
    if not os.path.isdir("/proc/self/fd"):
        return "this system does not show which files a process has open"
    return (
        ""
        if os.geteuid() in (0, owner)
        else f"it belongs to the user {owner}, whose processes cannot be looked into"
    )


def _remove(path: str) -> str:
    return f"rm {quoted(path)}"


def _duration(seconds: float) -> str:
    for unit, size in (("days", DAY), ("hours", 3600.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 60:.0f} minutes"
