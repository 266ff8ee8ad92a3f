"""Watchdog's events as hints that something may have changed. What has, the scan tells.

Only folders without a leading dot are watched, each below the root on its own, so that `.git` costs neither watches
nor events. Nothing is kept for an event: it moves a clock.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from cortex.vault.layout import SETTINGS
from cortex.watcher import event_support

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver, ObservedWatch

_HEEDED: list[type[FileSystemEvent]] = [
    FileCreatedEvent, FileModifiedEvent, FileMovedEvent, FileDeletedEvent, DirCreatedEvent, DirMovedEvent, DirDeletedEvent,
]  # fmt: skip
_RULES = (".gitignore", ".gitattributes", SETTINGS)
_MOST_FAULTS = 3  # of watchdog itself, after which its events are not relied on any more


class Blind(Exception):
    """No events can be had here; the message says why."""


class Hints:
    """The watches on one vault. `notice` is called from other threads, and often."""

    def __init__(self, root: str, notice: Callable[[], None], fault: Callable[[str], None]) -> None:
        self.root = root
        self._fault = fault  # told of a thread that ended with an error
        self._notice = notice
        self._handler = _Handler(self)
        self._observer: BaseObserver | None = None
        self._watched: dict[
            str, tuple[ObservedWatch, int]
        ] = {}  # top folder -> its watch and inode; "" is the root
        self._faults = 0
        self._stale = False
        warnings.filterwarnings(
            "ignore", category=RuntimeWarning, module=r"watchdog\."
        )  # "callback already exists"
        log = logging.getLogger("watchdog")
        log.handlers, log.propagate = [_Log(notice)], False
        threading.excepthook = self._broken

    def start(self) -> None:
        """Begin to watch; raises `Blind` where that does not work."""
        if kind := event_support.blind(self.root):
            raise Blind(f"a file system of the kind {kind} does not tell what others change")
        try:
            self._observer = Observer()
            self._observer.start()
        except OSError as error:
            raise Blind(
                event_support.reason(error.errno or 0) or f"watching failed: {error.strerror}"
            ) from error
        self.follow()

    def follow(self) -> None:
        """Watch the folders there are now, and those no more that went away. Raises `Blind` when watches run out."""
        if self._stale:
            self.stop()
            self._stale = False
            if self._faults > _MOST_FAULTS:
                raise Blind("watchdog failed repeatedly")
            self.start()
            return
        observer = self._observer
        if observer is None:
            return
        alive = {emitter.watch for emitter in observer.emitters if emitter.is_alive()}
        there = self._folders()
        for name, (watch, inode) in list(self._watched.items()):
            if there.get(name) != inode or watch not in alive:
                del self._watched[name]
                observer.unschedule(watch)
        for name, inode in there.items():
            if name not in self._watched:
                self._watch(observer, name, inode)
        if why := event_support.exhausted(self.root):
            raise Blind(why)

    def stop(self) -> None:
        """No more hints."""
        observer, self._observer = self._observer, None
        self._watched.clear()
        if observer is not None:
            observer.stop()
            observer.join(5)

    def heed(self, event: FileSystemEvent) -> None:
        """Take the hint if it is about a note, a folder or a rule, and not hidden."""
        for raw in (event.src_path, event.dest_path):
            path = os.path.relpath(os.fsdecode(raw), self.root) if raw else ""
            if path and _matters(path, is_folder=event.is_directory):
                self._notice()
                return

    def renew(self) -> None:
        """Forget all watches at the next `follow`: they are on a folder that is no longer the vault."""
        self._stale = True

    def _folders(self) -> dict[str, int]:
        """The folders to watch with their inodes."""
        found = {"": os.stat(self.root).st_ino}
        with os.scandir(self.root) as entries:
            found.update(
                {
                    one.name: one.inode()
                    for one in entries
                    if one.name[0] != "." and one.is_dir(follow_symlinks=False)
                }
            )
        return found

    def _watch(self, observer: BaseObserver, name: str, inode: int) -> None:
        path = os.path.join(self.root, name) if name else self.root
        try:
            watch = observer.schedule(
                self._handler, path, recursive=bool(name), event_filter=_HEEDED
            )
        except OSError as error:
            if why := event_support.reason(error.errno or 0):
                raise Blind(why) from error
            return  # it went away meanwhile, or may not be read: the scan says so
        self._watched[name] = (watch, inode)

    def _broken(self, ended: threading.ExceptHookArgs) -> None:
        """A thread has ended with an error: watchdog's are begun anew, and who asked one of ours answers by himself."""
        self._fault(f"{ended.exc_type.__name__}: {ended.exc_value}")
        if type(ended.thread).__module__.startswith("watchdog"):
            self._faults += 1
            self._stale = True
            self._notice()


class _Handler(FileSystemEventHandler):
    def __init__(self, hints: Hints) -> None:
        self._hints = hints

    def dispatch(self, event: FileSystemEvent) -> None:
        self._hints.heed(event)


class _Log(logging.Handler):
    """Watchdog has no event for events that were lost: it only warns."""

    def __init__(self, notice: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self._notice = notice

    def emit(self, record: logging.LogRecord) -> None:
        del record
        self._notice()


def _matters(path: str, *, is_folder: bool) -> bool:
    """Whether a change of this vault-relative path can change what the scan sees."""
    *folders, name = path.split("/")
    if any(folder[0] == "." for folder in folders if folder):
        return False
    if name in _RULES:
        return True
    return name[:1] != "." and (is_folder or name[-3:].lower() == ".md")
