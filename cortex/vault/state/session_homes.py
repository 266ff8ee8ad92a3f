"""Where each session of an agent is at home, kept beside all vaults: a session writes into one vault.

A home is written down at a session's start or first capture. Standard library only: hooks load it.
"""

from __future__ import annotations

import os

from cortex.core.model.problem import CortexError
from cortex.core.text.value import NamedTuple
from cortex.vault import private, user_folders
from cortex.vault.locate import Vault, find_vault
from cortex.vault.state.session_state import session_key

_FOLDER = "session-homes"  # below the user's state folder
_MAX_SESSIONS = 2_000  # sessions; of more the oldest are forgotten
_MAX_BYTES = 10_000  # bytes of a file; more is nothing that we wrote


class SessionHome(NamedTuple):
    """The root of a session's vault, the folder in which it began, and the project of that."""

    vault: str
    folder: str
    project: str


def recall_home(host: str, session: str) -> tuple[Vault, SessionHome] | None:
    """The vault and home of a session; None if none was written down, or the vault is gone."""
    try:
        data = private.read(_path(host, session), _MAX_BYTES) if session else b""
        lines = os.fsdecode(data).split("\n")
        if len(lines) != len(SessionHome._fields):
            return None
        home = SessionHome(*lines)
        vault = find_vault("", home.vault, {})
    except CortexError:
        return None
    return (vault, home) if vault.root == home.vault else None


def remember_home(host: str, session: str, home: SessionHome) -> None:
    """Write down the home of a session, which keeps it. Raises `OSError`, `CortexError`."""
    if not session or any("\n" in text for text in home):
        return
    path = _path(host, session)
    folder = os.path.dirname(path)
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    private.ensure_folder(folder)
    private.evict(folder, _MAX_SESSIONS, keep=_MAX_SESSIONS // 2)
    private.replace(path, os.fsencode("\n".join(home)))


def _path(host: str, session: str) -> str:
    return os.path.join(user_folders.user_folder("state"), _FOLDER, session_key(host, session))
