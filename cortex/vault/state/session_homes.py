"""Per-user state on agents' sessions, outside all vaults: the vault and project of each session, and
the sessions whose transcripts begin alike, as forks do. Standard library only: hooks load it."""

from __future__ import annotations

import os
from _collections_abc import Sequence

from cortex.core.redact.secrets import sanitize_text
from cortex.vault import private, user_folders
from cortex.vault.locate import Vault, is_vault
from cortex.vault.state.session_state import session_key

_FOLDER = "session-homes"  # below the user's state folder
_MAX_FILES = 4_000  # files, two for each session; of more the oldest are forgotten
_MAX_BYTES = 50_000  # bytes of a file; more is nothing that we wrote


def recall_home(host: str, session: str) -> list[str]:
    """The root of a session's vault, the folder in which it began, and the project of that; nothing
    if none was written down, or the vault is gone."""
    lines = _read(session_key(host, session)) if session else []
    return lines if len(lines) == 3 and is_vault(lines[0]) else []


def remember_home(host: str, session: str, vault: Vault, folder: str, project: str) -> None:
    """Write down the home of a session, which keeps it. Raises `OSError`, `CortexError`."""
    if session:
        _write(session_key(host, session), (vault.root, folder, project))


def earlier_transcripts(host: str, line_id: str, path: str) -> list[str]:
    """The transcripts with the same first line that were read before this one, which is written
    down behind them. Raises `OSError`, `CortexError`."""
    key = session_key(host, line_id, "line")
    known = _read(key)
    if path not in known:
        _write(key, [*known, path])
        return known
    return known[: known.index(path)]


def _read(key: str) -> list[str]:
    data = private.read(os.path.join(_folder(), key), _MAX_BYTES)
    return os.fsdecode(data).split("\n") if data else []


def _write(key: str, lines: Sequence[str]) -> None:
    if not all(line.isprintable() and sanitize_text(line) == line for line in lines):
        return  # a secret is in a path
    folder = _folder()
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    private.ensure_folder(folder)
    private.evict(folder, _MAX_FILES, keep=_MAX_FILES // 2)
    private.replace(os.path.join(folder, key), os.fsencode("\n".join(lines)))


def _folder() -> str:
    return os.path.join(user_folders.user_folder("state"), _FOLDER)
