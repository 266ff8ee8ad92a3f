"""File events of watchdog, used only as hints that a scan is due, and when to act on them: after some quiet,
but not too long after the first.

Only folders without a leading dot are watched, each below the root on its own, so that `.git` costs
neither watches nor events.
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from watchdog import events
from watchdog.events import FileSystemEvent
from watchdog.observers import Observer

from cortex.vault.layout import SETTINGS_FILE
from cortex.watcher import event_support

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver, ObservedWatch

_WATCHED_EVENTS: list[type[FileSystemEvent]] = [
    events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent,
    events.FileDeletedEvent, events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent,
]  # fmt: skip
_RULE_FILES = (".gitignore", ".gitattributes", SETTINGS_FILE)


class QuietPeriod:
    """Two monotonic times and no locks: notices come from other threads and from signals."""

    def __init__(self, quiet: float, longest: float) -> None:
        self.quiet = quiet
        self.longest = longest
        self._first = self._last = 0.0

    def notify(self) -> None:
        """Something may have changed."""
        self._last = time.monotonic()
        self._first = self._first or self._last

    def due_at(self) -> float | None:
        """When to act; None when nothing was noticed."""
        first = self._first
        return min(self._last + self.quiet, first + self.longest) if first else None

    @property
    def latest(self) -> float:
        """When to act at the latest."""
        return self._first + self.longest

    def clear(self) -> None:
        """What was noticed so far is about to be looked at."""
        self._first = 0.0


class Debouncer(QuietPeriod):
    """A quiet period whose first notice ends a sleep."""

    def __init__(self) -> None:
        super().__init__(quiet=0.4, longest=2.0)
        self._pipe_read_fd, self._pipe_write_fd = os.pipe()
        os.set_blocking(self._pipe_read_fd, False)
        os.set_blocking(self._pipe_write_fd, False)

    def notify(self) -> None:
        """Something may have changed."""
        is_first = not self._first
        super().notify()
        if is_first:
            self.wake()

    def wake(self) -> None:
        """End the wait."""
        with suppress(OSError):  # the pipe is full: it wakes anyway
            os.write(self._pipe_write_fd, b"!")

    def wait(self, longest: float) -> None:
        """Sleep until woken, at most so many seconds."""
        select.select([self._pipe_read_fd], [], [], longest)
        with suppress(BlockingIOError):
            os.read(self._pipe_read_fd, 4096)


class EventsUnavailable(Exception):
    """There are no file events here; the message says why."""


class FileWatcher(events.FileSystemEventHandler):
    """The watches on one vault. `notice` is called often, from other threads."""

    def __init__(self, root: str, notice: Callable[[], None], fault: Callable[[str], None]) -> None:
        self.root = root
        self._on_fault = fault  # told of a thread that ended with an error
        self._on_change = notice
        self._observer: BaseObserver | None = None
        # Top folder -> its watch and inode; "" is the root.
        self._watches: dict[str, tuple[ObservedWatch, int]] = {}
        self._stale = self._has_failed = False
        # "callback already exists"
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.")
        log = logging.getLogger("watchdog")
        log.handlers, log.propagate = [_LostEventHandler(notice)], False
        threading.excepthook = self._on_thread_error

    def start(self) -> None:
        """Begin to watch; raises `EventsUnavailable` where that does not work."""
        if kind := event_support.remote_file_system(self.root):
            why = f"a file system of the kind {kind} does not tell what others change"
            raise EventsUnavailable(why)
        try:
            self._observer = Observer()
            self._observer.start()
        except OSError as error:
            why = event_support.describe_limit(error.errno or 0)
            raise EventsUnavailable(why or f"watching failed: {error.strerror}") from error
        self.update_watches()

    def update_watches(self) -> None:
        """Watch the folders there are now, and those no more that went away. Raises
        `EventsUnavailable` when watches run out."""
        if self._has_failed:
            raise EventsUnavailable("watchdog failed")
        if self._stale:
            self.stop()
            self._stale = False
            self.start()
            return
        observer = self._observer
        if observer is None:
            return
        alive = {emitter.watch for emitter in observer.emitters if emitter.is_alive()}
        there = self._list_folders()
        for name, (watch, inode) in list(self._watches.items()):
            if there.get(name) != inode or watch not in alive:
                del self._watches[name]
                observer.unschedule(watch)
        for name, inode in there.items():
            if name not in self._watches:
                self._add_watch(observer, name, inode)
        if why := event_support.exhausted_limit(self.root):
            raise EventsUnavailable(why)

    def stop(self) -> None:
        """No more hints."""
        observer, self._observer = self._observer, None
        self._watches.clear()
        if observer is not None:
            observer.stop()
            observer.join(5)

    def dispatch(self, event: FileSystemEvent) -> None:
        """Take the hint if it is about a note, a folder or a rule, and not hidden."""
        for raw in (event.src_path, event.dest_path):
            path = os.path.relpath(os.fsdecode(raw), self.root) if raw else ""
            if path and _is_relevant(path, is_folder=event.is_directory):
                self._on_change()
                return

    def discard_watches(self) -> None:
        """Renew all watches at the next `update_watches`: the vault was replaced."""
        self._stale = True

    def _list_folders(self) -> dict[str, int]:
        """The folders to watch with their inodes."""
        inodes = {"": os.stat(self.root).st_ino}
        with os.scandir(self.root) as entries:
            for one in entries:
                if one.name[0] != "." and one.is_dir(follow_symlinks=False):
                    inodes[one.name] = one.inode()
        return inodes

    def _add_watch(self, observer: BaseObserver, name: str, inode: int) -> None:
        path = os.path.join(self.root, name) if name else self.root
        try:
            watch = observer.schedule(
                self, path, recursive=bool(name), event_filter=_WATCHED_EVENTS
            )
        except OSError as error:
            if why := event_support.describe_limit(error.errno or 0):
                raise EventsUnavailable(why) from error
            return  # deleted meanwhile, or unreadable: the scan reports it
        self._watches[name] = (watch, inode)

    def _on_thread_error(self, ended: threading.ExceptHookArgs) -> None:
        """A thread failed: no event of watchdog's is relied on from then on; for one of ours, the asker
        answers itself."""
        self._on_fault(f"{ended.exc_type.__name__}: {ended.exc_value}")
        if type(ended.thread).__module__.startswith("watchdog"):
            self._has_failed = True
            self._on_change()


class _LostEventHandler(logging.Handler):
    """Watchdog reports lost events only as a warning in its log."""

    def __init__(self, notice: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._on_change = notice

    def emit(self, record: logging.LogRecord) -> None:
        del record
        self._on_change()


def _is_relevant(path: str, *, is_folder: bool) -> bool:
    """Whether a change of this vault-relative path can change what the scan sees."""
    *folders, name = path.split("/")
    if folders[-2:] == ["runs", "active"] or any(folder[:1] == "." for folder in folders):
        return False
    if name in _RULE_FILES:
        return True
    return name[:1] != "." and (is_folder or name[-3:].lower() == ".md")
