"""When it is time to look: some quiet after the last hint, but not too long after the first."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress

QUIET, LONGEST = 0.4, 2.0  # seconds


class Trigger:
    """Hints come from other threads, wakings from signals too: so no locks, and nothing is kept but two times."""

    def __init__(self) -> None:
        self._first = self._last = 0.0
        self._wake, self._waker = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._waker, False)

    def hint(self) -> None:
        """Something may have changed."""
        self._last = time.monotonic()
        if not self._first:
            self._first = self._last
            self.wake()

    def due(self) -> float | None:
        """When to look (monotonic seconds); None when nothing was hinted at."""
        first = self._first
        return min(self._last + QUIET, first + LONGEST) if first else None

    def take(self) -> None:
        """What was hinted at so far is about to be looked at."""
        self._first = 0.0

    def wake(self) -> None:
        """End the wait."""
        with suppress(OSError):  # the pipe is full: it wakes anyway
            os.write(self._waker, b"!")

    def wait(self, longest: float) -> None:
        """Sleep until woken, at most so many seconds."""
        select.select([self._wake], [], [], longest)
        with suppress(BlockingIOError):
            os.read(self._wake, 4096)
