"""Remembers the last scan of a vault for as long as the kernel reports no change in its folders.

Inotify queues an event before the call that made the change returns. Each scan watches a folder
before it lists it, and each answer reads the queue first: while it is empty, the vault is as scanned.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import sys
import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cortex.index.engines import engine
from cortex.index.file_scan import RULES_FILE, Snapshot
from cortex.index.refresh import use_scan_cache
from cortex.watcher import event_support

if TYPE_CHECKING:
    from cortex.index.refresh import NoteScan

_MAX_AGE_SECONDS = 35.0  # the loop scans every 30, for writes through memory maps make no event
_MOUNTS_FILE = "/proc/self/mountinfo"
_READ_BYTES = 1 << 16
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name
# What inotify calls a change of a file's content or properties, and all that is watched: those,
# files that come, go and are renamed, and the same of the folder itself.
_CHANGED, _WATCHED = 0x2 | 0x4 | 0x8, 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
_IS_FOLDER, _FORGOTTEN = 0x40000000, 0x8000


class ScanMemory:
    """The last scans of the vaults that a watcher answers for. Several threads may ask at once."""

    def __init__(self) -> None:
        self.skipped_count = 0  # scans that were not needed
        self._lock = threading.Lock()
        self._vaults: dict[str, _WatchedFolders | None] = {}

    def recall_or_scan(self, root: str, key: Hashable, scan: NoteScan) -> Snapshot | None:
        """The last scan of the vault at `root` if it was made with the same `key` and nothing can
        have changed since; else the result of `scan`."""
        with self._lock:
            if root not in self._vaults:
                self._vaults[root] = _watch_folders(root)
            if (watched := self._vaults[root]) is None:
                return scan(None)
            if known := watched.recall(key):
                self.skipped_count += 1
                return known
            return watched.scan(key, scan)

    def forget(self) -> None:
        """Forget every scan: the next request scans again."""
        with self._lock:
            for watched in filter(None, self._vaults.values()):
                watched.known = None

    def close(self) -> None:
        """Watch nothing any more."""
        with self._lock:
            while self._vaults:
                if watched := self._vaults.popitem()[1]:
                    watched.close()


@contextmanager
def remembered_scans(*, is_used: bool = True) -> Iterator[ScanMemory]:
    """Keep open indexes and the last scans in this process, which answers many requests. The scans
    are used only if `is_used`."""
    engine.kept_indexes = 2  # of the project's vault and the person's own
    memory = ScanMemory()
    use_scan_cache(memory.recall_or_scan if is_used else None)
    try:
        yield memory
    finally:
        use_scan_cache(None)
        memory.close()


class _WatchedFolders:
    """The folders of one vault, watched by a queue of our own that is read when somebody asks."""

    def __init__(self, root: str, fd: int, library: ctypes.CDLL) -> None:
        self.root, self._fd, self._library = root, fd, library
        self.known: Snapshot | None = None
        self._key: Hashable = None
        self._scanned_at = 0.0
        self._watches: set[int] = set()
        self._entered: set[int] = set()
        self._device = -1
        self._is_complete = False
        # Marked by the kernel when anything was mounted, or no longer is.
        self._mounts = open(_MOUNTS_FILE, "rb")  # noqa: SIM115
        self._mount_poll = select.poll()
        self._mount_poll.register(self._mounts, select.POLLPRI)

    def recall(self, key: Hashable) -> Snapshot | None:
        """The last scan, if nothing can have changed since it began."""
        is_changed = self._drain() | bool(self._mount_poll.poll(0))
        is_old = time.monotonic() - self._scanned_at > _MAX_AGE_SECONDS
        if is_changed or is_old or (key, device_and_inode(self.root)) != self._key:
            self.known = None
        return self.known

    def scan(self, key: Hashable, scan: NoteScan) -> Snapshot | None:
        """Scan, and remember the scan if every change of what it saw makes an event."""
        self.known, self._key = None, (key, device_and_inode(self.root))
        self._scanned_at = time.monotonic()
        if not event_support.is_local(self.root):
            return scan(None)
        self._entered, self._device, self._is_complete = set(), -1, True
        seen = scan(self._enter)
        if seen is None or not self._is_complete:
            return seen
        for gone in self._watches - self._entered:
            self._library.inotify_rm_watch(self._fd, gone)
        self._watches = self._entered
        # A note of several names can change by one that lies outside.
        if not (seen.racy or seen.has_hard_links):
            self.known = seen
        return seen

    def close(self) -> None:
        os.close(self._fd)
        self._mounts.close()

    def _enter(self, fd: int) -> None:
        """Watch a folder that is about to be listed."""
        device = os.fstat(fd).st_dev
        self._device = device if self._device < 0 else self._device
        path = b"/proc/self/fd/%d" % fd  # this folder, whatever its path means by now
        watch = self._library.inotify_add_watch(self._fd, path, _WATCHED)
        if watch < 0 or device != self._device:
            self._is_complete = False  # watches ran out, or another file system begins
        self._entered.add(watch)
        self._watches.add(watch)

    def _drain(self) -> bool:
        """Read all events there are. Returns whether one may change what a scan sees."""
        is_changed = False
        while True:
            try:
                data = os.read(self._fd, _READ_BYTES)
            except BlockingIOError:
                return is_changed
            is_changed = is_changed or any(_is_relevant(*one) for one in _events(data))


def _watch_folders(root: str) -> _WatchedFolders | None:
    """None where there is no inotify, or no more of it."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        library = ctypes.CDLL(None, use_errno=True)
        fd = library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        return _WatchedFolders(root, fd, library) if fd >= 0 else None
    except (OSError, AttributeError):
        return None


def _events(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Mask and name of each event."""
    at = 0
    while at < len(data):
        _, mask, _, length = _EVENT.unpack_from(data, at)
        at += _EVENT.size + length
        yield mask, data[at - length : at].rstrip(b"\0")


def _is_relevant(mask: int, name: bytes) -> bool:
    """Whether a scan may see what an event tells of. An overflow of the queue has no name."""
    if mask & _FORGOTTEN:
        return False  # a watch that ended; what ended it has an event of its own
    if name[:1] == b".":
        return name == RULES_FILE.encode()
    is_note = name[-3:].lower() == b".md"
    return not name or is_note or bool(mask & (_IS_FOLDER | _WATCHED & ~_CHANGED))


def device_and_inode(root: str) -> tuple[int, int] | None:
    """What a folder is, whatever else is put in its place; None when it is not there."""
    try:
        status = os.stat(root)
    except OSError:
        return None
    return status.st_dev, status.st_ino
