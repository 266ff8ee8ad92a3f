"""The live streams: what changes in the vault, to every page that is open, and the events of a run, as server-sent events.

The id of an event is the cursor of the change feed, which is valid across processes: a browser that comes back,
also to a server that was started anew, gives the last one that it has seen, and misses nothing.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from starlette.responses import Response, StreamingResponse

from cortex.core.model.problem import CortexError
from cortex.core.runs.run_note import is_closed
from cortex.vault.locate import Vault
from cortex.vault.runs import run_state

POLL_SECONDS, HEARTBEAT_SECONDS = 0.4, 15.0
_PAUSE_SECONDS, _LOOK_SECONDS = 0.05, 3.0  # between looks at runs: least of all, most of each
_LISTENERS = WeakSet[socket.socket]()  # of runs
_Feed = Callable[[Any], Awaitable[dict[str, Any]]]  # what a verb answers: to a cursor, to values


class LiveStream:
    """Looks at the vault while somebody listens, once for all of them; each then asks from its own cursor on, so
    that one that reads slowly, or not at all, holds up nobody and loses nothing."""

    def __init__(self, feed: _Feed) -> None:
        self._feed = feed
        self._clients = 0
        self._changed = asyncio.Event()
        self._watching: asyncio.Task[None] | None = None

    async def events(self, cursor: str) -> AsyncIterator[bytes]:
        """The events since the one with this id, by default from now on; without an end."""
        self._clients += 1
        try:
            yield b"retry: 500\n\n"
            is_first = True
            while True:
                changed = self._changed
                answer = await self._feed(cursor)
                if is_first or answer["changes"] or answer["resync"]:
                    yield _event(answer)
                cursor, is_first = answer["cursor"], False
                if self._watching is None or self._watching.done():
                    self._watching = asyncio.get_running_loop().create_task(self._watch(cursor))
                while True:
                    try:
                        await asyncio.wait_for(changed.wait(), HEARTBEAT_SECONDS)
                        break
                    except TimeoutError:
                        yield b": here\n\n"
        finally:
            self._clients -= 1

    async def _watch(self, cursor: str) -> None:
        """Wake the listeners at every change, as long as there are any."""
        while self._clients:
            await asyncio.sleep(POLL_SECONDS)
            now = (await self._feed(cursor))["cursor"]
            if now != cursor:
                cursor = now
                self._changed.set()
                self._changed = asyncio.Event()


def _event(answer: dict[str, Any]) -> bytes:
    kind = "resync" if answer["resync"] else "change"
    data = json.dumps({"changes": answer["changes"], "cursor": answer["cursor"]})
    return f"event: {kind}\nid: {answer['cursor']}\ndata: {data}\n\n".encode()


def answer_run(vault: Vault, look: _Feed, first: dict[str, Any]) -> Response:
    """The events of a run from those of `first` on, as `look` answers them; 204 behind its end: a browser asks no more."""
    if not first["events"] and _is_over(first):
        return Response(status_code=204)
    return StreamingResponse(_run_messages(vault, look), media_type="text/event-stream")


async def _run_messages(vault: Vault, look: _Feed) -> AsyncIterator[bytes]:
    """A message for each event as soon as it is on the disk, its id the event's number; the terminal one is the last."""
    given: dict[str, object] = {}
    with suppress(CortexError, OSError), run_state.pokes(vault) as pokes:
        while True:
            answer = await look(given)
            for event in answer["events"]:
                given = {"from": event["seq"] + 1}
                yield f"id: {event['seq']}\ndata: {json.dumps(event)}\n\n".encode()
            if _is_over(answer):
                return
            yield b": here\n\n"
            await _poked(pokes)


def _is_over(answer: dict[str, Any]) -> bool:
    run = answer["runs"][0]
    return is_closed(run["status"], run["path"])


async def _poked(pokes: socket.socket | None) -> None:
    """Wait until there may be an event more; a poke may be lost."""
    with suppress(TimeoutError, BlockingIOError):
        if pokes:
            _LISTENERS.add(pokes)
            await asyncio.wait_for(asyncio.get_running_loop().sock_recv(pokes, 64), _LOOK_SECONDS)
        await asyncio.sleep(_PAUSE_SECONDS * len(_LISTENERS) if pokes else POLL_SECONDS)
        while pokes:
            pokes.recv(64)
