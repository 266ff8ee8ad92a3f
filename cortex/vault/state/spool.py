"""What hooks leave to whoever comes next, as the names of files in one folder of the user's state: while that is not there,
nothing waits. Making and taking away a file needs no lock. Standard library only: hooks are on this path."""

from __future__ import annotations

import os
from contextlib import suppress

from cortex.core.model.event import is_event_id
from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.locate import Vault
from cortex.vault.state import store

SPOOL_FOLDER = "waiting"
UNREAD_SUFFIX, RECENT_SUFFIX, UNSENT_SUFFIX = (
    ".behind",
    ".recent",
    ".md",
)  # what a name says of a session, or that it is an event
_KEY_CHARS = 24  # signs of a session's key
_HEX_DIGITS = frozenset("0123456789abcdef")
_MAX_MARK_BYTES = 40_000  # bytes of a mark
_MAX_ATTEMPTS = 5  # at a folder that others take away when it is empty


class SpoolEntries(NamedTuple):
    """What waits. A file that is none of ours is passed over."""

    unread_sessions: tuple[str, ...] = ()  # keys of sessions of which more is to be captured
    recent_sessions: tuple[
        str, ...
    ] = ()  # keys of sessions whose transcript may have grown since a hook read it
    unsent_events: tuple[str, ...] = ()  # ids of events for which the vault had no room


def list_entries(vault: Vault) -> SpoolEntries:
    """All that waits: one look at a folder. `CortexError` when the state folder is not ours."""
    names = files.list_folder(spool_folder(vault.state_folder()))
    keys = {
        suffix: tuple(
            name[:_KEY_CHARS]
            for name in names
            if name[_KEY_CHARS:] == suffix and _HEX_DIGITS.issuperset(name[:_KEY_CHARS])
        )
        for suffix in (UNREAD_SUFFIX, RECENT_SUFFIX)
    }
    return SpoolEntries(
        keys[UNREAD_SUFFIX],
        keys[RECENT_SUFFIX],
        tuple(
            id_
            for name in names
            if name.endswith(UNSENT_SUFFIX) and is_event_id(id_ := name.removesuffix(UNSENT_SUFFIX))
        ),
    )


def spool_folder(state: str) -> str:
    """Where it all lies."""
    return os.path.join(state, SPOOL_FOLDER)


def mark_path(state: str, key: str, what: str) -> str:
    """The mark of a session."""
    return os.path.join(spool_folder(state), key + what)


def add_mark(state: str, key: str, what: str, text: str = "") -> None:
    """Leave a mark of a session, with a text when there is something to say. Raises `OSError`, `InvalidInputError`."""
    for attempt in range(_MAX_ATTEMPTS):
        try:
            fd = store.open_private(
                mark_path(state, key, what), (os.O_WRONLY if text else os.O_RDONLY) | os.O_CREAT
            )
        except FileNotFoundError:
            if attempt == _MAX_ATTEMPTS - 1:
                raise
            store.ensure_folder(spool_folder(state))
        else:
            try:
                if text:
                    os.write(fd, text.encode("utf-8", "backslashreplace"))
            finally:
                os.close(fd)
            return


def remove_mark(state: str, key: str, what: str) -> None:
    """Take a mark away; whether it was there does not matter."""
    with suppress(OSError):
        os.unlink(mark_path(state, key, what))


def read_mark(state: str, key: str, what: str) -> bytes:
    """What a mark says."""
    return store.read(mark_path(state, key, what), _MAX_MARK_BYTES)


def add_event(vault: Vault, id_: str, data: bytes, most: int) -> bool:
    """Keep an event here for which the vault has no room; False when too many wait already. Raises `OSError`, `CortexError`."""
    folder = store.ensure_folder(spool_folder(vault.state_folder()))
    if len(list_entries(vault).unsent_events) >= most:
        return False
    with suppress(FileExistsError):
        files.create(folder, id_ + UNSENT_SUFFIX, data)
    return True


def has_event(vault: Vault, id_: str) -> bool:
    """Whether an event lies here."""
    return os.path.lexists(os.path.join(spool_folder(vault.state_folder()), id_ + UNSENT_SUFFIX))
