"""One holder at a time, across processes. The kernel frees a lock when its process ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from cortex.core.model.problem import ConflictError
from cortex.vault import files


@contextmanager
def lock(path: str, what: str, *, shared: bool = False, wait: float = 10.0) -> Iterator[None]:
    """Hold the lock file at `path`; `what` says in one word what it guards. Waits up to `wait`
    seconds, then raises `ConflictError`; `InvalidInputError` for what is no file. The file stays:
    deleting it would let two holders in."""
    with files.closing(files.open_regular(path, os.O_RDWR | os.O_CREAT)) as fd:
        if os.fstat(fd).st_uid == os.geteuid():
            files.share_with_group(fd, os.stat(os.path.dirname(path)))
        _acquire(fd, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, what, wait)
        yield


def _named(what: str) -> str:
    return "a model" if what == "model" else f"the {what} of this vault"


def _acquire(fd: int, mode: int, what: str, wait: float) -> None:
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(fd, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise ConflictError(
                    f"another cortex is busy with {_named(what)}",
                    "wait until it has finished, then run the command again",
                ) from None
            time.sleep(0.01)
        else:
            return
