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

FOLDER = "waiting"
BEHIND, RECENT, UNSENT = (
    ".behind",
    ".recent",
    ".md",
)  # what a name says of a session, or that it is an event
_KEY = 24  # signs of a session's key
_HEX = frozenset("0123456789abcdef")
_MOST = 40_000  # bytes of a mark
_ATTEMPTS = 5  # at a folder that others take away when it is empty


class Waiting(NamedTuple):
    """What waits. A file that is none of ours is passed over."""

    behind: tuple[str, ...] = ()  # keys of sessions of which more is to be captured
    recent: tuple[
        str, ...
    ] = ()  # keys of sessions whose transcript may have grown since a hook read it
    unsent: tuple[str, ...] = ()  # ids of events for which the vault had no room


def waiting(vault: Vault) -> Waiting:
    """All that waits: one look at a folder. `CortexError` when the state folder is not ours."""
    names = files.listed(folder_of(vault.state()))
    keys = {
        suffix: tuple(
            name[:_KEY] for name in names if name[_KEY:] == suffix and _HEX.issuperset(name[:_KEY])
        )
        for suffix in (BEHIND, RECENT)
    }
    return Waiting(
        keys[BEHIND],
        keys[RECENT],
        tuple(
            id_
            for name in names
            if name.endswith(UNSENT) and is_event_id(id_ := name.removesuffix(UNSENT))
        ),
    )


def folder_of(state: str) -> str:
    """Where it all lies."""
    return os.path.join(state, FOLDER)


def path_of(state: str, key: str, what: str) -> str:
    """The mark of a session."""
    return os.path.join(folder_of(state), key + what)


def mark(state: str, key: str, what: str, text: str = "") -> None:
    """Leave a mark of a session, with a text when there is something to say. Raises `OSError`, `Invalid`."""
    for attempt in range(_ATTEMPTS):
        try:
            fd = store.open_private(
                path_of(state, key, what), (os.O_WRONLY if text else os.O_RDONLY) | os.O_CREAT
            )
        except FileNotFoundError:
            if attempt == _ATTEMPTS - 1:
                raise
            store.make_folder(folder_of(state))
        else:
            try:
                if text:
                    os.write(fd, text.encode("utf-8", "backslashreplace"))
            finally:
                os.close(fd)
            return


def unmark(state: str, key: str, what: str) -> None:
    """Take a mark away; whether it was there does not matter."""
    with suppress(OSError):
        os.unlink(path_of(state, key, what))


def told(state: str, key: str, what: str) -> bytes:
    """What a mark says."""
    return store.read(path_of(state, key, what), _MOST)


def put_aside(vault: Vault, id_: str, data: bytes, most: int) -> bool:
    """Keep an event here for which the vault has no room; False when too many wait already. Raises `OSError`, `CortexError`."""
    folder = store.make_folder(folder_of(vault.state()))
    if len(waiting(vault).unsent) >= most:
        return False
    with suppress(FileExistsError):
        files.publish(folder, id_ + UNSENT, data)
    return True


def is_aside(vault: Vault, id_: str) -> bool:
    """Whether an event lies here."""
    return os.path.lexists(os.path.join(folder_of(vault.state()), id_ + UNSENT))
