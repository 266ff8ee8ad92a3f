"""The spool: work that a hook could not finish and leaves to the next command, as files in one
folder of the user's state.

The folder exists only while there are entries. Creating and deleting a file is atomic, so no lock
is needed. Standard library only: hooks are on this path.
"""

from __future__ import annotations

import os

from cortex.core.model.event import is_event_id
from cortex.core.text.light import suppress
from cortex.core.text.value import NamedTuple
from cortex.vault import files, private
from cortex.vault.locate import Vault

SPOOL_FOLDER = "waiting"
UNREAD_SUFFIX, RECENT_SUFFIX, UNSENT_SUFFIX = ".behind", ".recent", ".md"  # of the names of files
_KEY_CHARS = 24  # of a session's key
_HEX_DIGITS = frozenset("0123456789abcdef")
_MAX_ATTEMPTS = 5  # at a folder that others remove when it is empty


class SpoolEntries(NamedTuple):
    """Entries of the spool. Files with other names are left out."""

    unread_sessions: tuple[str, ...] = ()  # keys of sessions of which more is to be captured
    # Keys of sessions whose transcript may have grown since a hook read it.
    recent_sessions: tuple[str, ...] = ()
    unsent_events: tuple[str, ...] = ()  # ids of events for which the vault had no room


def list_entries(vault: Vault) -> SpoolEntries:
    """Read the spool. Raises `CortexError` if the state folder is not ours."""
    names = files.list_folder(spool_folder(vault))

    def keys(suffix: str) -> tuple[str, ...]:
        marks = (name[:_KEY_CHARS] for name in names if name[_KEY_CHARS:] == suffix)
        return tuple(key for key in marks if _HEX_DIGITS.issuperset(key))

    unsent = (name.removesuffix(UNSENT_SUFFIX) for name in names if name.endswith(UNSENT_SUFFIX))
    events = tuple(filter(is_event_id, unsent))
    return SpoolEntries(keys(UNREAD_SUFFIX), keys(RECENT_SUFFIX), events)


def spool_folder(vault: Vault) -> str:
    """The folder of all entries."""
    return os.path.join(vault.state_folder(), SPOOL_FOLDER)


def mark_path(vault: Vault, key: str, suffix: str) -> str:
    """The mark of a session."""
    return os.path.join(spool_folder(vault), key + suffix)


def add_mark(vault: Vault, key: str, suffix: str, text: str = "") -> None:
    """Leave a mark of a session. Raises `OSError`, `InvalidInputError`."""
    path = mark_path(vault, key, suffix)
    for attempt in range(_MAX_ATTEMPTS):
        try:
            if text:
                private.replace(path, text.encode("utf-8", "backslashreplace"))
            else:
                os.close(private.open_private(path, os.O_RDONLY | os.O_CREAT))
        except FileNotFoundError:
            if attempt == _MAX_ATTEMPTS - 1:
                raise
            private.ensure_folder(os.path.dirname(path))
        else:
            return


def remove_mark(vault: Vault, key: str, suffix: str) -> None:
    """Remove a mark, if it is there."""
    private.remove(mark_path(vault, key, suffix))


def add_event(vault: Vault, id_: str, data: bytes, most: int) -> bool:
    """Keep an event; False when `most` wait already. Raises `OSError`."""
    folder = private.ensure_folder(spool_folder(vault))
    if len(list_entries(vault).unsent_events) >= most:
        return False
    with suppress(FileExistsError):
        files.create(folder, id_ + UNSENT_SUFFIX, data)
    return True


def has_event(vault: Vault, id_: str) -> bool:
    """True if an event lies here."""
    return os.path.lexists(os.path.join(spool_folder(vault), id_ + UNSENT_SUFFIX))
