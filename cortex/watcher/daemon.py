"""The running watcher of a vault: its lock, its loop, and its socket, which answers requests of the same
user, each on its own thread, within limits."""

from __future__ import annotations

import gc
import os
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from threading import BoundedSemaphore, Thread

from cortex.core import __version__
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError
from cortex.index.refresh import query_index
from cortex.vault import private
from cortex.vault.locate import Vault
from cortex.watcher import protocol, running_watcher
from cortex.watcher.loop import PrintLine, WatcherLoop
from cortex.watcher.protocol import CommandAnswerer, CommandRequest
from cortex.watcher.scan_memory import remembered_scans

# Answers the fields of a request, or None if the asker has to answer itself.
Respond = Callable[[list[bytes]], "list[bytes] | None"]

_OBJECTS_BEFORE_COLLECTION = 1_000  # a command sets more, but this process lives on
_MAX_CONNECTIONS = 8  # further askers are refused, and answer themselves
_REQUEST_TIMEOUT_SECONDS = _ANSWER_TIMEOUT_SECONDS = 5.0  # for all of it to come, or to be taken


def run_daemon(
    vault: Vault, caller: Caller, ask: CommandAnswerer, say: PrintLine, *, quiet: int, poll: bool
) -> str:
    """Watch until asked to end; return why it ended otherwise. Raises `ConflictError` if a watcher
    of the vault runs already."""
    lock = running_watcher.acquire(vault, caller.now)
    try:
        say(f"watching {vault.root}; cortex watch --stop ends it")
        kind = "launchd" if sys.platform == "darwin" else "systemd"
        say(f"to have it started with your session: cortex watch --unit {kind}")
        with suppress(CortexError, OSError):  # the loop meets it again and reports it
            # Before there are threads: a large index is built by forked processes.
            query_index(vault, caller.progress, lambda _: None, words=True)
        gc.set_threshold(_OBJECTS_BEFORE_COLLECTION)
        with remembered_scans(is_used=not poll) as memory:
            loop = WatcherLoop(vault, caller, say, memory, quiet=quiet, poll=poll)
            server = SocketServer(
                vault.state_folder(), lambda request: _answer_request(vault, loop, ask, request)
            )
            try:
                return loop.run(lambda: lock.is_valid() and server.is_valid())
            finally:
                server.close()
    finally:
        lock.release()


def _answer_request(
    vault: Vault, loop: WatcherLoop, answer: CommandAnswerer, request: list[bytes]
) -> list[bytes] | None:
    version, kind, *rest = [*request, b"", b""][: max(len(request), 2)]
    if kind == protocol.STATE:
        return [protocol.DONE, loop.status().encode()]
    if kind == protocol.STOP:
        loop.end()
        return [protocol.DONE]
    if (kind, version) != (protocol.RUN, __version__.encode()):
        return None
    command = CommandRequest.decode(rest)
    if command is None or command.root != vault.root:
        return None
    loop.answer_count += 1
    reply = answer(vault, command)
    if reply is None:
        return None
    return [protocol.DONE, reply.stdout, reply.stderr, reply.exit_code.to_bytes(4, "big")]


class SocketServer:
    """An open socket in a private folder. No request blocks the loop or another request."""

    def __init__(self, folder: str, respond: Respond) -> None:
        self.folder = folder
        self._respond = respond
        self._slots = BoundedSemaphore(_MAX_CONNECTIONS)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._bind()
        except OSError:
            self._listener.close()
            raise
        Thread(target=self._accept_connections, name="door", daemon=True).start()

    def close(self) -> None:
        """No more requests. Answers under way end with the process."""
        if self.is_valid():
            with suppress(OSError):
                os.unlink(os.path.join(self.folder, protocol.SOCKET_NAME))
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()

    def is_valid(self) -> bool:
        """Whether askers still find it."""
        try:
            return os.lstat(os.path.join(self.folder, protocol.SOCKET_NAME)).st_ino == self._inode
        except OSError:
            return False

    def _bind(self) -> None:
        """Bind, and replace a socket that a killed watcher left."""
        fresh = f"{protocol.SOCKET_NAME}.new"
        path = os.path.join(self.folder, fresh)
        private.remove(path)
        before = os.umask(0o177)
        try:
            with protocol.socket_path(self.folder, fresh) as name:
                self._listener.bind(name)
        finally:
            os.umask(before)
        self._listener.listen(_MAX_CONNECTIONS)
        self._inode = os.lstat(path).st_ino
        private.rename(path, os.path.join(self.folder, protocol.SOCKET_NAME))

    def _accept_connections(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                if self._listener.fileno() < 0:
                    return
                time.sleep(0.1)  # no descriptors left, for now
                continue
            if not _is_same_user(link) or not self._slots.acquire(blocking=False):
                link.close()
                continue
            thread = Thread(target=self._serve_connection, args=(link,), name="answer", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no more threads
                self._slots.release()
                link.close()

    def _serve_connection(self, link: socket.socket) -> None:
        try:
            with link:
                deadline = time.monotonic() + _REQUEST_TIMEOUT_SECONDS
                request = protocol.read_message(link, protocol.MAX_REQUEST_BYTES, deadline)
                if request is None:
                    return
                protocol.send(link, protocol.ALIVE, time.monotonic() + _ANSWER_TIMEOUT_SECONDS)
                fields = self._respond(request)
                data = protocol.encode_message(fields or [protocol.DECLINED])
                if len(data) > protocol.MAX_ANSWER_BYTES:
                    data = protocol.encode_message([protocol.DECLINED])
                protocol.send(link, data, time.monotonic() + _ANSWER_TIMEOUT_SECONDS)
        except OSError:
            pass  # the asker went away or was too slow: it answers by itself
        finally:
            self._slots.release()


def _is_same_user(link: socket.socket) -> bool:
    """False if the other end is another user. Without SO_PEERCRED the folder's mode protects."""
    option: int | None = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    size = struct.calcsize("3i")
    try:
        _, user, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, option, size))
    except OSError:
        return False
    return bool(user == os.geteuid())
