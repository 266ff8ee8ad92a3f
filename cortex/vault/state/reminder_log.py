"""Which records each session was reminded of, so that nothing is said twice: ids alone, a line for
each time, in the user's state folder."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from contextlib import suppress

from cortex.core.model.problem import CortexError
from cortex.vault import private
from cortex.vault.locate import Vault

LOG_FOLDER = "reminded"
# Before the ids of a session whose beginning is known: it was given a briefing, if there was one.
SESSION_BEGUN = "."
_MAX_SESSIONS = 64  # files; the one that was written longest ago goes first
_MAX_BYTES = 64_000  # of one session: about a thousand ids, then it begins anew


def read_ids(vault: Vault, session: str) -> frozenset[str]:
    """What a session was reminded of since it began or was compacted, and `SESSION_BEGUN`."""
    try:
        path = _log_path(vault, session)
    except (OSError, CortexError):
        return frozenset()
    return frozenset(private.read(path, 2 * _MAX_BYTES).decode("utf-8", "replace").split())


def append(vault: Vault, session: str, ids: Iterable[str]) -> None:
    """Note what a session is reminded of now. Never raises: at worst something is said twice."""
    line = " ".join(id_ for id_ in ids if not any(map(str.isspace, id_)))
    if not line:
        return
    with suppress(OSError, CortexError):
        path = _log_path(vault, session)
        folder = private.ensure_folder(os.path.dirname(path))
        is_new = not os.path.lexists(path)
        private.append(path, f"{line}\n".encode("utf-8", "backslashreplace"), _MAX_BYTES)
        if is_new:
            private.evict(folder, _MAX_SESSIONS)


def reset_reminders(vault: Vault, session: str) -> None:
    """Begin anew: the session's context is empty, or was compacted or cleared."""
    with suppress(OSError, CortexError):
        os.unlink(_log_path(vault, session))
    append(vault, session, [SESSION_BEGUN])


def _log_path(vault: Vault, session: str) -> str:
    # Two checksums, since the session's name may be no file name; at worst two sessions share a log.
    name = session.encode("utf-8", "backslashreplace")
    file_name = f"{zlib.crc32(name):08x}{zlib.adler32(name):08x}"
    return os.path.join(vault.state_folder(), LOG_FOLDER, file_name)
