"""Mend a repository's index and locks; `diagnose` names commands for the rest.

Nothing is deleted, no file of the work tree touched: what is broken moves to `.git/cortex-damaged`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from cortex.core.model.problem import CortexError
from cortex.core.text.strings import shell_quote
from cortex.vault.git import checkout, git_cli, git_locks
from cortex.vault.git.checkout import Repository
from cortex.vault.git.git_locks import FIX_COMMAND, Clock, GitLock
from cortex.vault.private import lock
from cortex.vault.repair import diagnose
from cortex.vault.repair.diagnose import run_in_repository

_WAIT_SECONDS = 2.0  # that a git has to end


def repair(root: str, at: Clock | None = None) -> list[str]:
    """Mend the repository around the vault and return what was done: lock files of a crash are
    moved aside, a damaged index is made anew; in a repository of the vault alone pipes and links
    in git's folder are moved aside, too. Raises `CortexError` when something stands in the way."""
    repository = checkout.find_repository(root)
    if repository is None:
        return []
    with lock(os.path.join(repository.common_dir, "cortex.lock"), "repository"):
        try:
            return _repair_locked(root, repository, at or git_locks.read_clock())
        except OSError as error:
            hint = f"make room, or allow writing there, then {FIX_COMMAND}"
            raise CortexError(f".git cannot be mended: {error.strerror}", hint) from error


def _repair_locked(root: str, repository: Repository, at: Clock) -> list[str]:
    """Repair while holding the repository's lock. Returns what was done, for a person."""
    work = _RepositoryRepair(root, repository)
    if diagnose.is_vault_only(root, repository):
        work.move_special_files()
    locks = git_locks.find_abandoned(repository, at)
    is_damaged = any(one.hint == FIX_COMMAND for one in diagnose.find_damage(root, repository))
    if not is_damaged and not locks:
        return work.done
    if busy := git_locks.wait_for_git(repository, _WAIT_SECONDS):
        hint = f"wait until it has ended, then {FIX_COMMAND}"
        raise CortexError(f"{busy} is at work in this repository", hint)
    work.move_locks(locks)
    if is_damaged:
        work.mend_index()
    return work.done


class _RepositoryRepair:
    """One repair of one repository; each step leaves things no worse than it found them."""

    def __init__(self, root: str, repository: Repository) -> None:
        self.root, self.repository = root, repository
        self.done: list[str] = []

    def move_special_files(self) -> None:
        """Move aside what blocks every git: pipes, sockets, devices, links in place of refs. But
        for HEAD: without one git sees no repository."""
        git_dir, head = self.repository.git_dir, diagnose.head_path(self.repository)
        while (path := checkout.find_fault(self.root)[0]).startswith(git_dir + os.sep):
            if path == head:
                break
            name = os.path.relpath(path, git_dir)
            self._move_aside(path, f"{name}, which was no file of git's")

    def move_locks(self, locks: Iterable[GitLock]) -> None:
        """Move aside what a crash has left, unless a git has taken the lock meanwhile."""
        for left in locks:
            with suppress(FileNotFoundError):
                status = os.lstat(left.path)
                if (status.st_dev, status.st_ino, status.st_mtime_ns) == left.identity:
                    name = os.path.relpath(left.path, self.repository.common_dir)
                    self._move_aside(left.path, f"{name}, a lock {left.crash_evidence}")

    def mend_index(self) -> None:
        """Make the index from HEAD. What was staged is in the work tree, and shows as changed."""
        if os.path.lexists(path := os.path.join(self.repository.git_dir, "index.lock")):
            hint = f"when no git is running: rm {shell_quote(path)} && {FIX_COMMAND}"
            raise CortexError(f"{path} is in the way: git refuses to write", hint)
        if not diagnose.index_fault(self.repository) or diagnose.head_fault(self.repository):
            return  # the history comes first; diagnose names the command
        self._move_aside(os.path.join(self.repository.git_dir, "index"))
        if run_in_repository(self.repository, ["rev-parse", "--verify", "--quiet", "HEAD"]).code:
            why = "there is no commit to make it from"
            self.done.append(f"moved the index to .git/cortex-damaged; {why}")
            return
        ran = run_in_repository(self.repository, ["read-tree", "HEAD"])
        if ran.code:
            raise git_cli.command_error("read-tree", ran, self.root, "git fsck --full")
        self.done.append("made the index anew from HEAD; every change shows as not staged")

    def _move_aside(self, path: str, what: str = "") -> None:
        """Move a file of the git folder aside, under a name that nothing has yet."""
        git_dir, common = self.repository.git_dir, self.repository.common_dir
        folder = git_dir if path.startswith(git_dir + os.sep) else common
        target = os.path.join(git_dir, "cortex-damaged", os.path.relpath(path, folder))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        number, free = 0, target
        while os.path.lexists(free):
            number += 1
            free = f"{target}.{number}"
        os.rename(path, free)
        if what:
            self.done.append(f"moved {what}, to .git/cortex-damaged")
