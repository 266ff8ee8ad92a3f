"""The live stream: what changes in the vault, to every page that is open, as server-sent events.

The id of an event is the cursor of the change feed, which is valid across processes: a browser that comes back,
also to a server that was started anew, gives the last one that it has seen, and misses nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

POLL_SECONDS, HEARTBEAT_SECONDS = 0.4, 15.0
_Feed = Callable[
    [str], Awaitable[dict[str, Any]]
]  # the changes since a cursor, as the verb answers


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
