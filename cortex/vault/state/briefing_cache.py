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

CACHE_FOLDER = "briefs"
_FORMAT_LINE = f"cortex brief 2 {__version__}"
_MAX_ENTRIES = 64  # in one vault; branches come and go
_MAX_BYTES = 4 * 1024 * 1024
# As in `index/file_scan.py`: what changed this short before somebody looked may change once more and keep its stamp.
_TICK_NS, _COARSE_TICK_NS = 50_000_000, 2_000_000_000


class BriefingKey(NamedTuple):
    """Which briefing it is: for whom, how long, and in which working folder (a path)."""

    project: str
    branch: str
    budget: int
    folder: str
    all_branches: bool = False
    injected: bool = False  # cut to what hosts take


class CachedBriefing(NamedTuple):
    """The text of a briefing with its frame, and the ids of the notes in it."""

    text: str
    ids: tuple[str, ...]


def read_cached_briefing(vault: Vault, key: BriefingKey) -> CachedBriefing | None:
    """The briefing of this key, if everything it was made from is as it was; else None, whatever lies there."""
    held = _load_entry(vault, key)
    if held is None:
        return None
    briefing, used = held
    for path, was in zip(used[::2], used[1::2], strict=True):
        if file_stamp(path) != was.decode("ascii", "replace"):
            return None
    return briefing


def read_last_briefing(vault: Vault, key: BriefingKey) -> CachedBriefing | None:
    """The briefing that was given last, whether it still holds or not: what a session that has begun was told."""
    held = _load_entry(vault, key)
    return held[0] if held else None


def _load_entry(vault: Vault, key: BriefingKey) -> tuple[CachedBriefing, list[bytes]] | None:
    """What the file holds: the briefing, and the paths and stamps of what it was made from in turn. None for anything that is not ours."""
    try:
        head, _, body = store.read(_entry_path(vault, key), _MAX_BYTES).partition(b"\n")
        if head.decode("ascii", "replace") != f"{_FORMAT_LINE} {crc32(body)}":
            return None
        name, text, ids, *used = body.split(b"\0")
        if name != _key_bytes(key) or not used or len(used) % 2:
            return None
        return CachedBriefing(text.decode(), tuple(ids.decode().split("\n")) if ids else ()), used
    except (CortexError, ValueError):
        return None


def write(
    vault: Vault,
    key: BriefingKey,
    briefing: CachedBriefing,
    used: Mapping[str, str],
    looked_ns: int,
) -> bool:
    """Keep a briefing that was made from the files and folders `used`: absolute path -> the stamp of which it is known that it is the one of
    what was read, else empty. One without that changed after a tick of the file system's clock before `looked_ns`, the moment of the look,
    may have been another one then: the briefing is not kept, and the next one is made anew. Answers whether it was kept."""
    pairs: list[bytes] = []
    for path, held in used.items():
        trusted = _trusted_stamp(path, held, looked_ns)
        if trusted is None:
            return False
        pairs += (os.fsencode(path), trusted.encode())
    fields = (_key_bytes(key), briefing.text.encode(), "\n".join(briefing.ids).encode())
    if any(b"\0" in field for field in (*fields[1:], *pairs)):
        return False
    body = b"\0".join((*fields, *pairs))
    try:
        path = _entry_path(vault, key)
        store.evict(store.ensure_folder(os.path.dirname(path)), _MAX_ENTRIES - 1)
        store.replace(path, f"{_FORMAT_LINE} {crc32(body)}\n".encode() + body)
    except (OSError, CortexError):
        return False  # no room: it is made anew the next time
    return True


def _trusted_stamp(path: str, held: str, looked_ns: int) -> str | None:
    """The stamp of a file, empty when there is none; None when the file may be another one than it was at the look."""
    if held:
        return held
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return ""
    tick = _TICK_NS if status.st_ctime_ns % 1_000_000_000 else _COARSE_TICK_NS
    return _format_stamp(status) if status.st_ctime_ns <= looked_ns - tick else None


def file_stamp(path: str | bytes) -> str:
    """The stamp of a file or folder as it is now; empty when there is none."""
    try:
        return _format_stamp(os.lstat(path))
    except (OSError, ValueError):
        return ""


def _format_stamp(status: os.stat_result) -> str:
    return f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_size}.{status.st_ino}"


def _key_bytes(key: BriefingKey) -> bytes:
    return "\n".join(map(str, key)).encode("utf-8", "surrogateescape").replace(b"\0", b"\n")


def _entry_path(vault: Vault, key: BriefingKey) -> str:
    name = _key_bytes(
        key
    )  # it stands in the file too, so names that meet cost a second making and no more
    return os.path.join(
        vault.cache_folder(), CACHE_FOLDER, f"{crc32(name):08x}{crc32(name[::-1]):08x}"
    )
