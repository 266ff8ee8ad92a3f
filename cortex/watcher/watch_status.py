"""The status of a watcher, as `cortex watch --status` shows it."""

from __future__ import annotations

import json
from typing import NamedTuple


class WatcherStatus(NamedTuple):
    """A watcher at one moment."""

    pid: int
    version: str
    since: str  # UTC
    how: str  # events or polling
    why: str  # it is polling
    last_pass: str  # UTC; empty before the first
    passes: int
    notes: int
    answered: int  # requests
    scans_skipped: int  # before an answer, since no event had come
    autocommit: str  # on, off, or why the gate is shut
    waiting: int  # changes to be committed
    held: tuple[str, ...]  # what is not committed until somebody mends it, and why
    problems: tuple[str, ...]  # of the last pass

    def encode(self) -> bytes:
        return json.dumps(self._asdict()).encode()


def decode(data: bytes) -> WatcherStatus | None:
    """The status in `data`; None if another version wrote it in another form."""
    try:
        table = json.loads(data)
        tuples = {key: tuple(table[key]) for key in ("held", "problems")}
        return WatcherStatus(**{**table, **tuples})
    except (ValueError, TypeError, KeyError):
        return None
