"""Choose the files that the watcher commits: only those that nobody is writing."""

from __future__ import annotations

import os
from collections.abc import Iterable

from cortex.vault.git.changes import UncommittedChange

SETTLED_SECONDS = 2.0  # seconds that a file has to lie untouched


def classify_changes(
    root: str, changed: Iterable[UncommittedChange], now: float
) -> tuple[list[UncommittedChange], list[UncommittedChange]]:
    """The changes that are ready to be committed, and those of files that somebody is still
    writing, as they lie there at `now` (seconds since the epoch)."""
    ready: list[UncommittedChange] = []
    recent: list[UncommittedChange] = []
    for change in changed:
        is_gone = change.kind == "D"
        path = os.path.join(root, os.path.dirname(change.path) if is_gone else change.path)
        try:
            # Some editors save by deleting and rewriting: then the folder has changed.
            is_recent = _is_recent(os.lstat(path), now)
        except OSError:
            is_recent = not is_gone  # gone since git looked
        (recent if is_recent else ready).append(change)
    return ready, recent


def _is_recent(status: os.stat_result, now: float) -> bool:
    """Written moments ago. A time in the future counts as old."""
    return abs(now - max(status.st_mtime, status.st_ctime)) < SETTLED_SECONDS
