"""The running watcher of a vault: its lock, its loop and its socket."""

from __future__ import annotations

import gc
from contextlib import suppress

from cortex import __version__
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError
from cortex.index.engines import engine
from cortex.index.refresh import look_by, query_index
from cortex.vault.locate import Vault
from cortex.watcher import pidlock, protocol, service_files
from cortex.watcher.loop import PrintLine, WatcherLoop
from cortex.watcher.protocol import CommandAnswerer, CommandRequest
from cortex.watcher.scan_memory import ScanMemory
from cortex.watcher.socket_server import SocketServer

_OBJECTS_BEFORE_COLLECTION = 1_000  # a command sets more, but this one lives on


def run_daemon(
    vault: Vault, caller: Caller, ask: CommandAnswerer, say: PrintLine, *, quiet: int, poll: bool
) -> str:
    """Watch until asked to end; return why it ended otherwise. Raises `ConflictError` if a watcher
    of the vault runs already."""
    lock = pidlock.acquire(vault, caller.now)
    try:
        say(f"watching {vault.root}; cortex watch --stop ends it")
        say(service_files.install_hint())
        with suppress(CortexError, OSError):  # the loop meets it again and reports it
            # Before there are threads: a large index is built by forked processes.
            query_index(vault, caller.progress, lambda _: None)
        memory = ScanMemory()
        engine.kept_indexes = 2  # of the project's vault and the person's own
        if not poll:
            look_by(memory.look)
        gc.set_threshold(_OBJECTS_BEFORE_COLLECTION)
        loop = WatcherLoop(vault, caller, say, memory, quiet=quiet, poll=poll)
        server = SocketServer(
            vault.state_folder(), lambda request: _answer_request(vault, loop, ask, request)
        )
        try:
            return loop.run(lambda: lock.is_valid() and server.is_valid())
        finally:
            server.close()
            look_by(None)
            memory.close()
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
    asked = CommandRequest.decode(rest)
    if asked is None or asked.root != vault.root:
        return None
    loop.answer_count += 1
    reply = answer(
        vault, asked.words, asked.cwd, terminal=asked.terminal, default=asked.default_root
    )
    if reply is None:
        return None
    return [protocol.DONE, reply.stdout, reply.stderr, reply.exit_code.to_bytes(4, "big")]
