"""Notify a client when a resource that it subscribed to may have changed. Without subscriptions nothing
runs."""

from __future__ import annotations

import threading
from collections.abc import Callable

_POLL_SECONDS = 1.0  # between two looks at the vault


class Subscriptions:
    """The addresses that one client wants to know of."""

    def __init__(self, stamp: Callable[[], object], tell: Callable[[str], None]) -> None:
        self._stamp = stamp  # differs when any resource may have changed
        self._tell = tell
        self._addresses: set[str] = set()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def add(self, address: str) -> None:
        self._addresses.add(address)
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, args=(self._stamp(),))
            self._thread.start()

    def remove(self, address: str) -> None:
        self._addresses.discard(address)

    def look(self) -> None:
        """Look now: the client has changed something itself, perhaps."""
        self._wake.set()

    def close(self) -> None:
        self._is_closed = True
        self._wake.set()
        if self._thread:
            self._thread.join()

    def _watch(self, last: object) -> None:
        while not self._is_closed:
            self._wake.wait(_POLL_SECONDS if self._addresses else None)
            self._wake.clear()
            if self._addresses and (stamp := self._stamp()) != last:
                last = stamp
                for address in sorted(self._addresses):
                    self._tell(address)
