"""Make a damaged repository work again. Nothing is deleted and no file of the work tree is touched: what is broken
moves to `cortex-damaged` in the git folder, and what the notes, the reflogs and the remote still know is put together.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
import time
import zlib
from collections.abc import Iterable
from contextlib import suppress

from cortex.core.model.problem import CortexError
from cortex.core.text.shell_command import shell_quote
from cortex.vault import files
from cortex.vault.git import checkout, git_cli, git_locks
from cortex.vault.git.git_locks import Clock, GitLock
from cortex.vault.lock import lock
from cortex.vault.repair import diagnose
from cortex.vault.repair.diagnose import RepositoryPaths, run_in_repository
from cortex.vault.repair.salvage import rebuild_repository, restore_from_work_tree
from cortex.vault.state import store

_WAIT_SECONDS = 2.0  # seconds that we wait for a git to end
_MAX_LOG_BYTES = 1 << 28  # bytes of a reflog
_MAX_PACK_BYTES = 1 << 30  # bytes of a pack that is taken apart
_MAX_COMMITS_TRIED = 200  # commits that are tried for one branch
_STASH_SUBJECT_RE = re.compile(r"(?:WIP on|index on|untracked files on|On [^:]+:)")
_REQUIRED_FOLDERS = (
    "objects/info",
    "objects/pack",
    "refs/heads",
    "refs/tags",
    "info",
)  # git sees no repository without some of these
_WRONG_TYPE_ERRNOS = (
    errno.EEXIST,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.ELOOP,
)  # a file where a folder should be, and the like
_REFLOG_ENTRY_RE = re.compile(
    r"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [^\0]*\Z"
)  # of a reflog; a cut may leave zeros among them
_CACHE_FILES = (
    "objects/info/commit-graph",
    "objects/info/commit-graphs",
    "objects/pack/multi-pack-index",
)


def repair(root: str, at: Clock | None = None) -> list[str]:
    """Mend the repository around the vault, and say what was done; nothing when nothing was broken. Lock files that a crash
    has left are moved aside. In a repository that holds more than the vault only the index is mended beside them.
    `CortexError` when something else stands in the way."""
    taken = diagnose.interrupted_repair(root)
    if taken:
        os.rename(os.path.join(root, taken), os.path.join(root, ".git"))
    place = diagnose.locate_repository(root)
    if place is None:
        return []
    with lock(os.path.join(place.common_dir, "cortex.lock"), "repository"):
        done = [f"put {taken} back as .git; a repair had been ended half-way"] if taken else []
        return done + _repair_locked(place, at or git_locks.read_clock())


def _repair_locked(place: RepositoryPaths, at: Clock) -> list[str]:
    mend = _RepositoryRepair(place)
    if place.is_vault_only:
        mend.move_special_files()
    found = diagnose.find_damage(place)
    locks = git_locks.find_abandoned(place, at)
    if busy := _wait_for_git(place) if found or locks else git_locks.find_running_git(place):
        if found or locks:
            raise CortexError(
                f"{busy} is at work in this repository",
                "wait until it has ended, then cortex doctor --fix",
            )
        return []
    mend.move_locks(locks)
    if place.is_vault_only:
        return mend.run() if found else mend.done
    if (
        diagnose.index_fault(place)
        and not run_in_repository(place, ["ls-tree", "-r", "-t", "-z", "--name-only", "HEAD"]).code
    ):
        mend.rebuild_index()
        found = diagnose.find_damage(place)
    left = (f"{problem.where} {problem.message}" for problem in found)
    return [
        *mend.done,
        *(
            f"left as it is, since the repository holds more than the vault: {what}"
            for what in left
        ),
    ]


def _wait_for_git(place: RepositoryPaths) -> str:
    """Wait for a git that is at work here, which may be the watcher's and end soon; the one that does not."""
    deadline = time.monotonic() + _WAIT_SECONDS
    while (busy := git_locks.find_running_git(place)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return busy


class _RepositoryRepair:
    """One repair of one repository, step after step; each leaves things no worse than it found them."""

    def __init__(self, place: RepositoryPaths) -> None:
        self.place = place
        self.damaged_folder = os.path.join(place.git_dir, "cortex-damaged")
        self.done: list[str] = []
        self.has_lost_branch = False  # a branch has lost its commit

    def run(self) -> list[str]:
        if os.path.lexists(lock := os.path.join(self.place.git_dir, "index.lock")):
            raise CortexError(
                f"{lock} is in the way: git refuses to write",
                f"when no git is running: rm {shell_quote(lock)} && {diagnose.FIX_COMMAND}",
            )
        try:
            self._run_steps()
        except OSError as error:
            if error.errno not in _WRONG_TYPE_ERRNOS:
                raise CortexError(
                    f".git cannot be mended: {error.strerror}",
                    "make room, or allow writing there, then cortex doctor --fix",
                ) from error
            self.done.append(f".git is out of shape: {error.strerror}")
        if not self._passes_fsck():
            if self._is_usable():
                self.done.append(
                    "git works again, though git fsck still finds fault with something that nothing here needs"
                )
            elif os.path.lexists(self._common_path("worktrees")):
                self.done.append(
                    "git does not work yet; other worktrees need this .git, so it was not made anew"
                )
            else:
                self.done += rebuild_repository(self.place)
        return self.done

    def _run_steps(self) -> None:
        for step in (
            self.restore_config,
            self.restore_head,
            self.move_damaged_objects,
            self.restore_packs,
            self.move_broken_refs,
        ):
            step()
        if self.has_lost_branch or diagnose.head_fault(self.place) or not self._passes_fsck():
            self.restore_objects()
            self.reset_branches()
            self.clean_reflogs()
            if diagnose.index_fault(self.place) or not self._passes_fsck():
                self.rebuild_index()
            self.keep_unreachable()

    def move_special_files(self) -> None:
        """Move aside what would hold up or mislead every git: a pipe, a socket, a device, a link in the place of a ref."""
        while (path := checkout.find_fault(self.place.root)[0]).startswith(
            self.place.git_dir + os.sep
        ):
            self._move_aside(
                path, f"{os.path.relpath(path, self.place.git_dir)}, which was no file of git's"
            )

    def move_locks(self, locks: Iterable[GitLock]) -> None:
        """Move aside what a crash has left. Looked at once more just before: a git may have taken the lock in the meantime."""
        for left in locks:
            with suppress(FileNotFoundError):
                status = os.lstat(left.path)
                if (status.st_dev, status.st_ino, status.st_mtime_ns) == left.identity:
                    self._move_aside(
                        left.path,
                        f"{os.path.relpath(left.path, self.place.common_dir)}, a lock {left.crash_evidence}",
                    )

    def restore_config(self) -> None:
        path = os.path.join(self.place.common_dir, "config")
        if (
            not os.path.lexists(path)
            or not os.path.getsize(path)
            or git_cli.run_unchecked(
                self.place.common_dir, ["config", "--file", path, "--list"]
            ).code
        ):
            if os.path.lexists(path):
                self._move_aside(path, "the configuration, which could not be read")
            _write_durably(
                path,
                b"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tlogallrefupdates = true\n",
            )
            self.done.append(
                "wrote a plain .git/config; if there was a remote: git remote add origin URL"
            )

    def restore_head(self) -> None:
        for name in _REQUIRED_FOLDERS:
            os.makedirs(self._common_path(name), exist_ok=True)
        if diagnose.read_head_target(self.place.git_dir):
            return
        path = os.path.join(self.place.git_dir, "HEAD")
        if os.path.lexists(path):
            self._move_aside(path, "HEAD, which named nothing")
        branch = self._last_branch()
        _write_durably(path, f"ref: refs/heads/{branch}\n".encode())
        self.done.append(f"HEAD is on the branch {branch} again")

    def _last_branch(self) -> str:
        """The branch that was checked out last, as far as anything says."""
        moves = [
            line.rpartition(" to ")[2]
            for line in _read_lines(self._common_path("logs", "HEAD"))
            if "\tcheckout: moving from " in line
        ]
        logged = os.path.join("logs", "refs", "heads")
        heads = sorted(
            {
                os.path.relpath(path, self._common_path(base))
                for base in ("refs/heads", logged)
                for path in _list_files(self._common_path(base))
            }
        )
        for name in [*reversed(moves), *(heads if len(heads) == 1 else [])]:
            if name in heads:
                return name
        return "main" if "main" in heads or not heads else heads[0]

    def move_damaged_objects(self) -> None:
        """Set aside every loose object that is not what its name says."""
        gone = [
            path
            for path in diagnose.iter_loose_objects(self.place.common_dir)
            if not _is_intact_object(path)
        ]
        for path in gone:
            self._move_aside(path)
        if gone:
            self.done.append(
                f"moved {len(gone)} damaged object{'s' if len(gone) > 1 else ''} to .git/cortex-damaged"
            )
            for name in _CACHE_FILES:  # they may speak of what is gone, and git makes them again
                if os.path.lexists(self._common_path(name)):
                    self._move_aside(self._common_path(name))

    def restore_packs(self) -> None:
        folder = self._common_path("objects", "pack")
        for name in sorted(name for name in files.list_folder(folder) if name.endswith(".pack")):
            pack = os.path.join(folder, name)
            if not run_in_repository(
                self.place, ["verify-pack", pack.removesuffix(".pack") + ".idx"]
            ).code:
                continue
            if not run_in_repository(
                self.place, ["index-pack", "--no-rev-index", "-o", f"{pack}.cx-idx", pack]
            ).code:
                index = pack.removesuffix(".pack") + ".idx"
                if os.path.lexists(index):
                    self._move_aside(index)
                os.replace(f"{pack}.cx-idx", index)
                self.done.append(f"made the index of {name} anew")
                continue
            for ending in (".idx", ".rev", ".bitmap", ".mtimes", ".pack"):
                if os.path.lexists(path := pack.removesuffix(".pack") + ending):
                    self._move_aside(path)
            moved = os.path.join(self.damaged_folder, "objects", "pack", name)
            if os.path.getsize(moved) < _MAX_PACK_BYTES:
                with open(moved, "rb") as file:
                    run_in_repository(self.place, ["unpack-objects", "-r", "-q"], stdin=file.read())
            self.done.append(
                f"moved the damaged {name} to .git/cortex-damaged and took out of it what could be read"
            )

    def move_broken_refs(self) -> None:
        for ref in diagnose.list_broken_refs(self.place):
            self.has_lost_branch = True
            self._move_aside(self._common_path(ref), f"{ref}, which named no commit")

    def restore_objects(self) -> None:
        """Put missing objects back: from the notes as they lie there, then from the remote."""
        if restored := restore_from_work_tree(self.place):
            self.done.append(
                f"wrote {restored} missing object{'s' if restored > 1 else ''} again from the notes"
            )
        if self._passes_fsck():
            return
        for remote in (
            run_in_repository(self.place, ["remote"]).stdout.decode("utf-8", "replace").split("\n")
        ):
            if not remote:
                continue
            try:
                ran = git_cli.run_remote(
                    self.place.root,
                    [
                        "fetch",
                        "--refetch",
                        "--no-tags",
                        "--no-auto-gc",
                        git_cli.check_ref_name(remote),
                    ],
                )
            except CortexError as error:
                self.done.append(f"could not fetch from {remote}: {error.message}")
            else:
                self.done.append(
                    f"could not fetch from {remote}: {ran.reason}"
                    if ran.code
                    else f"fetched the history of {remote} again"
                )

    def reset_branches(self) -> None:
        """Set each branch that is gone or cannot be read whole to the newest commit that can."""
        target = diagnose.read_head_target(self.place.git_dir)
        names = {target, *self._git_lines("for-each-ref", "--format=%(refname)")}
        logs = self._common_path("logs")
        # Git deletes a branch's log with the branch: where there is a log alone, the branch was lost.
        names |= {
            os.path.relpath(path, logs)
            for path in _list_files(self._common_path("logs", "refs", "heads"))
        }
        for name in sorted(name for name in names if name.startswith("refs/")):
            now = next(iter(self._git_lines("rev-parse", "--verify", "--quiet", name)), "")
            if now and self._is_complete(now):
                continue
            best = (
                self._newest_complete(name)
                if name.startswith(("refs/heads/", "refs/stash"))
                else ""
            )
            if best:
                self._set_ref(name, best)
                self.done.append(f"{name} is at {best[:12]}, the newest commit of it that is whole")
            elif now or os.path.lexists(self._common_path(name)):
                self._set_ref(name, "")
                self.done.append(f"{name} is gone: none of its commits is whole")

    def _set_ref(self, ref: str, commit: str) -> None:
        """Point a ref somewhere; where it pointed stands in a file beside the damage."""
        before = next(iter(self._git_lines("rev-parse", "--verify", "--quiet", ref)), "")
        if before:
            os.makedirs(self.damaged_folder, exist_ok=True)
            with open(os.path.join(self.damaged_folder, "refs-before"), "ab") as file:
                file.write(os.fsencode(f"{before} {ref}\n"))
        if not commit and os.path.lexists(log := self._common_path("logs", ref)):
            self._move_aside(log)  # git would delete it with the branch
        words = (
            ["update-ref", "--no-deref", "-m", "cortex: repaired", ref, commit]
            if commit
            else ["update-ref", "--no-deref", "-d", ref]
        )
        ran = run_in_repository(self.place, words)
        if ran.code:
            raise git_cli.command_error("update-ref", ran, self.place.root, "git fsck --full")

    def _newest_complete(self, ref: str) -> str:
        """The newest whole commit of a branch: from its reflog or its remote's copy, or one that a cut has cut off."""
        logs = [
            self._common_path("logs", ref),
            *(
                [self._common_path("logs", "HEAD")]
                if ref == diagnose.read_head_target(self.place.git_dir)
                else []
            ),
        ]
        logged = [
            entry[2]
            for log in logs
            for line in reversed(_read_lines(log))
            if (entry := _REFLOG_ENTRY_RE.match(line))
        ]
        branch = ref.removeprefix("refs/heads/")
        remote = [line.split(" ")[0] for line in self._git_lines("for-each-ref", "--format=%(objectname) %(refname:lstrip=3)", "refs/remotes")
                  if line.partition(" ")[2] == branch]  # fmt: skip
        found = [
            commit
            for commit in (self._first_complete(logged), self._first_complete(remote))
            if commit
        ]
        best = self._later_commit(*found) if len(found) > 1 else next(iter(found), "")
        if ref == diagnose.read_head_target(self.place.git_dir):
            later = [
                commit
                for commit in self._dangling_commits()
                if not best or self._is_ancestor(best, commit)
            ]
            best = self._first_complete(sorted(later, key=self._commit_time, reverse=True)) or best
        return best

    def _later_commit(self, one: str, other: str) -> str:
        if self._is_ancestor(one, other):
            return other
        return one if self._is_ancestor(other, one) else max(one, other, key=self._commit_time)

    def _is_ancestor(self, older: str, newer: str) -> bool:
        return not run_in_repository(self.place, ["merge-base", "--is-ancestor", older, newer]).code

    def _dangling_commits(self) -> list[str]:
        """Commits that nothing names: what a cut left of the newest ones. A stash is none of the branch's, but the
        commit that it was made on may be."""
        listed = [
            line.split(" ")[2]
            for line in self._git_lines("fsck", "--no-progress", "--connectivity-only")
            if line.startswith("dangling commit ")
        ]
        found = []
        for commit in listed:
            stashed = _STASH_SUBJECT_RE.match(
                next(iter(self._git_lines("log", "-1", "--format=%s", commit)), "")
            )
            found += (
                self._git_lines("rev-parse", "--verify", "--quiet", f"{commit}^1")
                if stashed
                else [commit]
            )
        return found

    def _first_complete(self, commits: Iterable[str]) -> str:
        return next(
            (
                commit
                for commit in list(dict.fromkeys(commits))[:_MAX_COMMITS_TRIED]
                if self._is_complete(commit)
            ),
            "",
        )

    def _is_complete(self, commit: str, beyond: str = "") -> bool:
        """Whether everything that a commit leads to is there; `beyond` is a commit that is whole."""
        words = [
            "rev-list",
            "--objects",
            "--quiet",
            "--end-of-options",
            commit,
            *([f"^{beyond}"] if beyond else []),
        ]
        return bool(commit.strip("0")) and not run_in_repository(self.place, words).code

    def _commit_time(self, commit: str) -> int:
        return int(next(iter(self._git_lines("log", "-1", "--format=%ct", commit)), "0"))

    def keep_unreachable(self) -> None:
        """Put a copy of what nothing names any more beside the damage: git throws such objects away after weeks."""
        if not os.path.lexists(os.path.join(self.damaged_folder, "refs-before")):
            return
        listed = self._git_lines(
            "fsck", "--unreachable", "--no-reflogs", "--no-progress", "--connectivity-only"
        )
        ids = [line.split(" ")[2] for line in listed if line.startswith("unreachable ")]
        if ids:
            folder = os.path.join(self.damaged_folder, "objects", "pack")
            os.makedirs(folder, exist_ok=True)
            ran = run_in_repository(
                self.place,
                ["pack-objects", "-q", os.path.join(folder, "pack")],
                stdin="".join(f"{id_}\n" for id_ in ids).encode(),
            )
            if not ran.code:
                self.done.append(
                    f"kept {len(ids)} objects that no branch leads to any more in .git/cortex-damaged/objects"
                )

    def clean_reflogs(self) -> None:
        """Take the lines out of the reflogs that lead nowhere any more; the logs as they were stay beside the damage."""
        known: dict[str, bool] = {"0" * 40: True, "0" * 64: True}
        head = next(iter(self._git_lines("rev-parse", "--verify", "--quiet", "HEAD")), "")
        if head and self._is_complete(head):
            known |= dict.fromkeys(self._git_lines("rev-list", "HEAD"), True)
        for path in _list_files(self._common_path("logs")):
            lines = _read_lines(path)
            kept = [
                line
                for line in lines
                if (entry := _REFLOG_ENTRY_RE.match(line))
                and all(self._is_known_complete(id_, known) for id_ in entry.groups())
            ]
            if kept != lines:
                self._move_aside(path)
                _write_durably(
                    path, "".join(f"{line}\n" for line in kept).encode("utf-8", "surrogateescape")
                )

    def _is_known_complete(self, id_: str, known: dict[str, bool]) -> bool:
        if id_ not in known:
            known[id_] = self._is_complete(id_, beyond="HEAD" if len(known) > 2 else "")
        return known[id_]

    def rebuild_index(self) -> None:
        """Make the index from HEAD. What was staged is in the work tree, and shows as changed."""
        path = os.path.join(self.place.git_dir, "index")
        if os.path.lexists(path):
            self._move_aside(path)
        if run_in_repository(self.place, ["rev-parse", "--verify", "--quiet", "HEAD^{tree}"]).code:
            self.done.append(
                "moved the index to .git/cortex-damaged; there is no commit to make it from"
            )
            return
        ran = run_in_repository(self.place, ["read-tree", "HEAD"])
        if ran.code:
            raise git_cli.command_error("read-tree", ran, self.place.root, "git fsck --full")
        self.done.append("made the index anew from HEAD; every change shows as not staged")

    def _passes_fsck(self) -> bool:
        """Whether everything that anything names is there. What objects look like inside is no matter of a power cut,
        and old histories have faults of that kind that hurt nobody."""
        return (
            not run_in_repository(
                self.place, ["fsck", "--no-progress", "--no-dangling", "--connectivity-only"]
            ).code
            and self._status_works()
        )

    def _status_works(self) -> bool:
        return not run_in_repository(self.place, ["status", "--porcelain"]).code

    def _is_usable(self) -> bool:
        return (
            self._status_works()
            and not diagnose.head_fault(self.place)
            and not diagnose.index_fault(self.place)
        )

    def _git_lines(self, *words: str) -> list[str]:
        return (
            run_in_repository(self.place, list(words))
            .stdout.decode("utf-8", "surrogateescape")
            .splitlines()
        )

    def _common_path(self, *parts: str) -> str:
        return os.path.join(self.place.common_dir, *parts)

    def _move_aside(self, path: str, what: str = "") -> None:
        """Move a file of the git folder aside, under a name that nothing has yet."""
        inside = os.path.relpath(path, self.place.git_dir)
        target = os.path.join(
            self.damaged_folder,
            inside if not inside.startswith("..") else os.path.relpath(path, self.place.common_dir),
        )
        os.makedirs(os.path.dirname(target), exist_ok=True)
        number = 0
        free = target
        while os.path.lexists(free):
            number += 1
            free = f"{target}.{number}"
        os.rename(path, free)
        if what:
            self.done.append(f"moved {what}, to .git/cortex-damaged")


def _is_intact_object(path: str) -> bool:
    """Whether a loose object holds what its name says."""
    import hashlib  # noqa: PLC0415  loads OpenSSL, 4 ms

    id_ = "".join(path.rsplit(os.sep, 2)[1:])
    summed = hashlib.sha1(usedforsecurity=False) if len(id_) == 40 else hashlib.sha256()
    unpacked = zlib.decompressobj()
    try:
        with open(files.open_regular(path), "rb") as file:
            while chunk := file.read(1 << 20):
                summed.update(unpacked.decompress(chunk))
        summed.update(unpacked.flush())
    except (OSError, CortexError, zlib.error):
        return False
    return unpacked.eof and summed.hexdigest() == id_


def _write_durably(path: str, data: bytes) -> None:
    """Write a file of the git folder whole and durably."""
    fd, temp = tempfile.mkstemp(dir=os.path.dirname(path))
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        files.full_fsync(fd)
    os.chmod(temp, 0o644)
    os.replace(temp, path)
    store.sync_folder(os.path.dirname(path))


def _read_lines(path: str) -> list[str]:
    return os.fsdecode(files.read_bounded(path, _MAX_LOG_BYTES)).splitlines()


def _list_files(folder: str) -> list[str]:
    return sorted(
        os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names
    )
