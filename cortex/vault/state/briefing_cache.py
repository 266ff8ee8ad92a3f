"""Briefings as they were given last, kept in the cache folder until anything changes that they were made from.

A session that starts must not wait: to know that nothing has changed takes a stat for each file and folder that counted,
and no scan of the vault, no catalogue and no parser. Standard library alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from zlib import crc32

from cortex import __version__
from cortex.core.model.problem import CortexError
from cortex.core.text.value import NamedTuple
from cortex.vault.locate import Vault
from cortex.vault.state import store

FOLDER = "briefs"
_FORM = f"cortex brief 1 {__version__}"
_MOST_KEPT = 64  # in one vault; branches come and go
_MOST_BYTES = 4 * 1024 * 1024
# As in `index/file_scan.py`: what changed this short before somebody looked may change once more and keep its stamp.
_TICK_NS, _COARSE_TICK_NS = 50_000_000, 2_000_000_000


class Key(NamedTuple):
    """Which briefing it is: for whom, how long, and in which working folder (a path)."""

    project: str
    branch: str
    budget: int
    folder: str
    all_branches: bool = False
    injected: bool = False  # cut to what hosts take


class Kept(NamedTuple):
    """A briefing that still holds: its text with the frame, the ids of the notes in it, and the rest of the verb's answer as JSON."""

    text: str
    ids: tuple[str, ...]
    rest: str = "{}"


def kept(vault: Vault, key: Key) -> Kept | None:
    """The briefing of this key, if everything it was made from is as it was; else None, whatever lies there."""
    held = _held(vault, key)
    if held is None:
        return None
    briefing, used = held
    for path, was in zip(used[::2], used[1::2], strict=True):
        if stamp(path) != was.decode("ascii", "replace"):
            return None
    return briefing


def last(vault: Vault, key: Key) -> Kept | None:
    """The briefing that was given last, whether it still holds or not: what a session that has begun was told."""
    held = _held(vault, key)
    return held[0] if held else None


def _held(vault: Vault, key: Key) -> tuple[Kept, list[bytes]] | None:
    """What the file holds: the briefing, and the paths and stamps of what it was made from in turn. None for anything that is not ours."""
    try:
        head, _, body = store.read(_path(vault, key), _MOST_BYTES).partition(b"\n")
        if head.decode("ascii", "replace") != f"{_FORM} {crc32(body)}":
            return None
        name, text, ids, rest, *used = body.split(b"\0")
        if name != _name(key) or not used or len(used) % 2:
            return None
        return Kept(
            text.decode(), tuple(ids.decode().split("\n")) if ids else (), rest.decode()
        ), used
    except (CortexError, ValueError):
        return None


def keep(vault: Vault, key: Key, briefing: Kept, used: Mapping[str, str], looked_ns: int) -> bool:
    """Keep a briefing that was made from the files and folders `used`: absolute path -> the stamp of which it is known that it is the one of
    what was read, else empty. One without that changed after a tick of the file system's clock before `looked_ns`, the moment of the look,
    may have been another one then: the briefing is not kept, and the next one is made anew. Answers whether it was kept."""
    pairs: list[bytes] = []
    for path, held in used.items():
        trusted = _trusted(path, held, looked_ns)
        if trusted is None:
            return False
        pairs += (os.fsencode(path), trusted.encode())
    fields = (
        _name(key),
        briefing.text.encode(),
        "\n".join(briefing.ids).encode(),
        briefing.rest.encode(),
    )
    if any(b"\0" in field for field in (*fields[1:], *pairs)):
        return False
    body = b"\0".join((*fields, *pairs))
    try:
        path = _path(vault, key)
        store.evict(store.make_folder(os.path.dirname(path)), _MOST_KEPT - 1)
        store.replace(path, f"{_FORM} {crc32(body)}\n".encode() + body)
    except (OSError, CortexError):
        return False  # no room: it is made anew the next time
    return True


def _trusted(path: str, held: str, looked_ns: int) -> str | None:
    """The stamp of a file, empty when there is none; None when the file may be another one than it was at the look."""
    if held:
        return held
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return ""
    tick = _TICK_NS if status.st_ctime_ns % 1_000_000_000 else _COARSE_TICK_NS
    return _stamp(status) if status.st_ctime_ns <= looked_ns - tick else None


def stamp(path: str | bytes) -> str:
    """The stamp of a file or folder as it is now; empty when there is none."""
    try:
        return _stamp(os.lstat(path))
    except (OSError, ValueError):
        return ""


def _stamp(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_size}.{status.st_ino}"


def _name(key: Key) -> bytes:
    return "\n".join(map(str, key)).encode("utf-8", "surrogateescape").replace(b"\0", b"\n")


def _path(vault: Vault, key: Key) -> str:
    name = _name(
        key
    )  # it stands in the file too, so names that meet cost a second making and no more
    return os.path.join(vault.cache(), FOLDER, f"{crc32(name):08x}{crc32(name[::-1]):08x}")
