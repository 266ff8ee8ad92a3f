"""The watcher's socket: answers requests of the same user, each on a thread of its own, bounded in size, time and number."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from threading import BoundedSemaphore, Thread

from cortex.watcher import protocol

# Answers the fields of a request, or None when the asker should do without.
Respond = Callable[[list[bytes]], "list[bytes] | None"]

_AT_ONCE = 8  # connections; who comes when all are taken is sent away, and answers by itself
_REQUEST, _ANSWER = 5.0, 5.0  # seconds in which all of it has to come, or to be taken


class Door:
    """An open socket in a folder of the user's. Whatever comes through it, neither the loop nor another asker waits."""

    def __init__(self, folder: str, respond: Respond) -> None:
        self.folder = folder
        self._respond = respond
        self._places = BoundedSemaphore(_AT_ONCE)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._bind()
        except OSError:
            self._listener.close()
            raise
        Thread(target=self._receive, name="door", daemon=True).start()

    def close(self) -> None:
        """No more requests. Answers under way end with the process."""
        path = os.path.join(self.folder, protocol.SOCKET)
        with suppress(OSError):
            if os.lstat(path).st_ino == self._made:
                os.unlink(path)
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()

    def stands(self) -> bool:
        """Whether askers still find it."""
        try:
            return os.lstat(os.path.join(self.folder, protocol.SOCKET)).st_ino == self._made
        except OSError:
            return False

    def _bind(self) -> None:
        """Take the place of what a killed watcher has left there."""
        fresh = f"{protocol.SOCKET}.new"
        path = os.path.join(self.folder, fresh)
        with suppress(FileNotFoundError):
            os.unlink(path)
        before = os.umask(0o177)
        try:
            with protocol.address(self.folder, fresh) as name:
                self._listener.bind(name)
        finally:
            os.umask(before)
        self._listener.listen(_AT_ONCE)
        self._made = os.lstat(path).st_ino
        os.rename(path, os.path.join(self.folder, protocol.SOCKET))

    def _receive(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                if self._listener.fileno() < 0:
                    return
                time.sleep(0.1)  # no descriptors left, for now
                continue
            if not _is_ours(link) or not self._places.acquire(blocking=False):
                link.close()
                continue
            try:
                Thread(target=self._serve, args=(link,), name="answer", daemon=True).start()
            except RuntimeError:  # no more threads
                self._places.release()
                link.close()

    def _serve(self, link: socket.socket) -> None:
        try:
            with link:
                request = protocol.message(
                    protocol.receiver(link, time.monotonic() + _REQUEST), protocol.MOST_ASKED
                )
                if request is None:
                    return
                protocol.send(link, protocol.ALIVE, time.monotonic() + _ANSWER)
                fields = self._respond(request)
                data = protocol.packed(fields or [protocol.DECLINED])
                if len(data) > protocol.MOST_ANSWERED:
                    data = protocol.packed([protocol.DECLINED])
                protocol.send(link, data, time.monotonic() + _ANSWER)
        except OSError:
            pass  # the asker went away or was too slow: it answers by itself
        finally:
            self._places.release()


def _is_ours(link: socket.socket) -> bool:
    """Whether the other end is the same user. Where the system does not say, the folder's mode has kept others out."""
    option: int | None = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    size = struct.calcsize("3i")
    try:
        _, user, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, option, size))
    except OSError:
        return False
    return bool(user == os.geteuid())
