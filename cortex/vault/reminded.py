"""Which records each session was reminded of: a line of ids for each time, in the user's state folder, so that nothing is said
twice. Ids alone, no word of a prompt."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from contextlib import suppress

from cortex.core.problem import CortexError
from cortex.vault.find import Vault

FOLDER = "reminded"
BEGUN = "."  # stands before the ids of a session whose beginning is known: it was given a briefing, if there was one
_MOST_SESSIONS = 64  # files; the one that was written longest ago goes first
_MOST_BYTES = 64_000  # of one session: about a thousand ids, then it begins anew
_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def reminded(vault: Vault, session: str) -> frozenset[str]:
    """What a session was reminded of since it began or was compacted, and `BEGUN`. Never raises."""
    try:
        fd = os.open(_path(vault, session), os.O_RDONLY | _FLAGS)
    except (OSError, CortexError):
        return frozenset()
    try:
        return frozenset(os.read(fd, 2 * _MOST_BYTES).decode("utf-8", "replace").split())
    except OSError:
        return frozenset()
    finally:
        os.close(fd)


def remember(vault: Vault, session: str, ids: Iterable[str]) -> None:
    """Note what a session is reminded of now. Never raises: at worst something is said twice."""
    line = " ".join(id_ for id_ in ids if not any(map(str.isspace, id_)))
    if not line:
        return
    with suppress(OSError, CortexError):
        path = _path(vault, session)
        with suppress(FileExistsError):
            os.mkdir(os.path.dirname(path), 0o700)
        new = not os.path.lexists(path)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _FLAGS, 0o600)
        try:
            if os.fstat(fd).st_size > _MOST_BYTES:
                os.ftruncate(fd, 0)
            os.write(fd, f"{line}\n".encode("utf-8", "backslashreplace"))
        finally:
            os.close(fd)
        if new:
            _forget_oldest(os.path.dirname(path))


def forget(vault: Vault, session: str) -> None:
    """Begin anew: the session's context is empty, or was compacted or cleared, and what it was told is gone from it."""
    with suppress(OSError, CortexError):
        os.unlink(_path(vault, session))
    remember(vault, session, [BEGUN])


def _path(vault: Vault, session: str) -> str:
    # Two sums of a name that comes from outside; sessions are few, and at worst two share what they were told.
    name = session.encode("utf-8", "backslashreplace")
    return os.path.join(vault.state(), FOLDER, f"{zlib.crc32(name):08x}{zlib.adler32(name):08x}")


def _forget_oldest(folder: str) -> None:
    held = [entry.path for entry in os.scandir(folder)]
    if len(held) > _MOST_SESSIONS:
        for path in sorted(held, key=lambda path: os.lstat(path).st_mtime_ns)[: len(held) - _MOST_SESSIONS]:
            with suppress(FileNotFoundError):
                os.unlink(path)
