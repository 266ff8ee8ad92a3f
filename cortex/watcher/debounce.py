"""Decide when to act: some quiet after the last notice, but not too long after the first."""

from __future__ import annotations

import os
import select
import time
from contextlib import suppress


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
