"""The one watcher of a vault: the lock that it holds, which the kernel releases when its process ends,
and what it says of itself."""

from __future__ import annotations

import fcntl
import json
import os

from cortex.core.model.problem import ConflictError
from cortex.core.text.value import NamedTuple
from cortex.vault import files, private
from cortex.vault.locate import Vault

_WAIT_SECONDS = 0.5  # `--status` holds the lock for an instant


class RunningWatcher(NamedTuple):
    """The watcher that runs. `pid` is 0 while it has not written it yet."""

    pid: int
    since: str


class WatcherStatus(NamedTuple):
    """A watcher at one moment, as `cortex watch --status` shows it."""

    pid: int
    version: str
    since: str  # UTC
    how: str  # events or polling
    why: str  # it is polling
    last_pass: str  # UTC; empty before the first
    passes: int
    notes: int
    answered: int  # requests
    scans_skipped: int  # before an answer, since no event had come
    autocommit: str  # on, off, or why the gate is shut
    waiting: int  # changes to be committed
    held: tuple[str, ...]  # what is not committed until somebody mends it, and why
    problems: tuple[str, ...]  # of the last pass

    def encode(self) -> bytes:
        return json.dumps(self._asdict()).encode()

    @classmethod
    def decode(cls, data: bytes) -> WatcherStatus | None:
        """The status in `data`; None if another version wrote it in another form."""
        try:
            table = json.loads(data)
            tuples = {key: tuple(table[key]) for key in ("held", "problems")}
            return cls(**{**table, **tuples})
        except (ValueError, TypeError, KeyError):
            return None


class WatcherLock(NamedTuple):
    """The lock, held until `release` or the end of the process."""

    path: str
    fd: int

    def is_valid(self) -> bool:
        """False if the lock file was deleted or replaced: another watcher may start."""
        return private.is_same_file(self.path, self.fd)

    def release(self) -> None:
        os.close(self.fd)


def acquire(vault: Vault, now: str) -> WatcherLock:
    """Become the watcher of the vault; `ConflictError` names the one there is."""
    path = os.path.join(vault.state_folder(), private.WATCHER_LOCK)
    fd = private.open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        private.acquire_lock(fd, fcntl.LOCK_EX, "watcher", _WAIT_SECONDS)
    except ConflictError:
        other = _read_owner(fd)
        os.close(fd)
        since = f" since {other.since}" if other.since else ""
        message = f"a watcher of this vault runs already: process {other.pid}{since}"
        hint = "cortex watch --status asks it, --stop ends it"
        raise ConflictError(message, hint) from None
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n{now}\n".encode(), 0)
    return WatcherLock(path, fd)


def running_watcher(vault: Vault) -> RunningWatcher | None:
    """The watcher that runs, or None."""
    path = os.path.join(vault.state_folder(), private.WATCHER_LOCK)
    if not private.is_locked(path):
        return None
    with files.closing(private.open_private(path)) as fd:
        return _read_owner(fd)


def _read_owner(fd: int) -> RunningWatcher:
    pid, _, since = os.pread(fd, 100, 0).decode("ascii", "replace").partition("\n")
    return RunningWatcher(int(pid) if pid.isdecimal() else 0, since.strip())
