"""When it is time to look: some quiet after the last hint, but not too long after the first."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress

QUIET_SECONDS, MAX_DELAY_SECONDS = 0.4, 2.0  # seconds


class Debouncer:
    """Hints come from other threads, wakings from signals too: so no locks, and nothing is kept but two times."""

    def __init__(self) -> None:
        self._first_notice = self._last_notice = 0.0
        self._pipe_read_fd, self._pipe_write_fd = os.pipe()
        os.set_blocking(self._pipe_read_fd, False)
        os.set_blocking(self._pipe_write_fd, False)

    def notify(self) -> None:
        """Something may have changed."""
        self._last_notice = time.monotonic()
        if not self._first_notice:
            self._first_notice = self._last_notice
            self.wake()

    def due_at(self) -> float | None:
        """When to look (monotonic seconds); None when nothing was hinted at."""
        first = self._first_notice
        return min(self._last_notice + QUIET_SECONDS, first + MAX_DELAY_SECONDS) if first else None

    def clear(self) -> None:
        """What was hinted at so far is about to be looked at."""
        self._first_notice = 0.0

    def wake(self) -> None:
        """End the wait."""
        with suppress(OSError):  # the pipe is full: it wakes anyway
            os.write(self._pipe_write_fd, b"!")

    def wait(self, longest: float) -> None:
        """Sleep until woken, at most so many seconds."""
        select.select([self._pipe_read_fd], [], [], longest)
        with suppress(BlockingIOError):
            os.read(self._pipe_read_fd, 4096)
