"""A progress bar on standard error, of what takes over a second; none if that is no terminal."""

from __future__ import annotations

import sys
import time

from cortex.core.model.caller import ProgressCallback, no_progress

_WIDTH = 30


def bar() -> ProgressCallback:
    """A fresh bar, or silence when standard error is no terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return no_progress
    started = time.monotonic()
    shown = 0.0

    def draw(what: str, done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        finished = done >= total
        if now - started < 1.0 or (now - shown < 0.1 and not finished):
            return
        shown = now
        filled = _WIDTH * done // total if total else _WIDTH
        line = f"\r{what} [{'#' * filled}{'.' * (_WIDTH - filled)}] {done:,}/{total:,}"
        sys.stderr.write(line if not finished else "\r" + " " * len(line) + "\r")
        sys.stderr.flush()

    return draw
