"""Briefings in the cache folder, valid until anything changes that they were made from.

To know that takes one stat for each file and folder that counted. Standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from zlib import crc32

from cortex.core import __version__
from cortex.core.briefing.injected import DEFAULT_BUDGET_TOKENS
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError
from cortex.core.text.value import NamedTuple
from cortex.vault import private
from cortex.vault.git import checkout
from cortex.vault.locate import Vault

CACHE_FOLDER = "briefs"
_FORMAT_LINE = f"cortex brief 2 {__version__}"
_MAX_ENTRIES = 256  # in one vault; branches come and go, and searches leave their marks
_MAX_BYTES = 4 * 1024 * 1024
# A file that changed this short before a look may change again within the same tick of its file
# system's clock, and keep its stamp. Linux ticks every 4 to 10 ms; file systems that count in whole
# seconds show it by their stamps.
_TICK_NS, COARSE_TICK_NS = 50_000_000, 2_000_000_000


class BriefingKey(NamedTuple):
    """Which briefing it is: for whom, how long, in which working folder (a path) and zone (a name)."""

    project: str
    branch: str
    budget: int
    folder: str
    zone: str
    all_branches: bool = False
    injected: bool = False  # cut to what hosts take


def briefing_key(caller: Caller, project: str, branch: str) -> BriefingKey:
    """The key of a session in the caller's folder; `project` and `branch` as `checkout` gives them."""
    git = checkout.find_repository(caller.cwd)
    folder = git[0] if git else os.path.realpath(caller.cwd)
    return BriefingKey(project, branch, DEFAULT_BUDGET_TOKENS, folder, caller.zone.name)


def requested_key(
    caller: Caller, project: str, branch: str, budget: int, all_branches: bool
) -> BriefingKey:
    """The key of the briefing that a caller asks for, by default of its project and branch."""
    here = checkout.project_of(caller.cwd)
    project = project.strip().lower() or here
    # The branch of a working directory says nothing about another project.
    branch = branch.strip() or (checkout.branch_of(caller.cwd) if project == here else "")
    key = briefing_key(caller, project, branch)
    return key._replace(budget=budget, all_branches=all_branches)


class CachedBriefing(NamedTuple):
    """The text of a briefing with its frame, and the ids of the notes in it."""

    text: str
    ids: tuple[str, ...]


def read_cached_briefing(vault: Vault, key: BriefingKey) -> CachedBriefing | None:
    """The briefing of this key, or None if anything it was made from has changed."""
    entry = _load_entry(vault, key)
    if entry is None:
        return None
    briefing, used = entry
    for path, was in zip(used[::2], used[1::2], strict=True):
        if file_stamp(path) != was.decode("ascii", "replace"):
            return None
    return briefing


def read_last_briefing(vault: Vault, key: BriefingKey) -> CachedBriefing | None:
    """The last briefing of this key, valid or not: what a running session was given."""
    entry = _load_entry(vault, key)
    return entry[0] if entry else None


def _load_entry(vault: Vault, key: BriefingKey) -> tuple[CachedBriefing, list[bytes]] | None:
    """The briefing, and in turn paths and stamps of its sources; None for another format or key."""
    try:
        head, _, body = private.read(_entry_path(vault, key), _MAX_BYTES).partition(b"\n")
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
    """Cache a briefing; True if it was cached.

    `used`: absolute path of each file or folder it was made from -> the stamp of what was read,
    empty if that is not known. A file without a known stamp that changed less than a clock tick
    before `looked_ns`, when it was read, may be another one now: then nothing is cached.
    """
    pairs: list[bytes] = []
    for path, stamp in used.items():
        trusted = _trusted_stamp(path, stamp, looked_ns)
        if trusted is None:
            return False
        pairs += (os.fsencode(path), trusted.encode())
    fields = (_key_bytes(key), briefing.text.encode(), "\n".join(briefing.ids).encode())
    if any(b"\0" in field for field in (*fields[1:], *pairs)):
        return False
    body = b"\0".join((*fields, *pairs))
    try:
        path = _entry_path(vault, key)
        private.evict(private.ensure_folder(os.path.dirname(path)), _MAX_ENTRIES - 1)
        private.replace(path, f"{_FORMAT_LINE} {crc32(body)}\n".encode() + body)
    except (OSError, CortexError):
        return False  # no room: it is made anew the next time
    return True


def _trusted_stamp(path: str, stamp: str, looked_ns: int) -> str | None:
    """The stamp of a file, empty if there is none; None if it may be newer than `looked_ns`."""
    if stamp:
        return stamp
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return ""
    return None if is_racy(status.st_ctime_ns, looked_ns) else stamp_of(status)


def is_racy(changed_ns: int, now_ns: int) -> bool:
    """Whether a file may change once more and keep its stamp."""
    return now_ns - changed_ns < (_TICK_NS if changed_ns % 1_000_000_000 else COARSE_TICK_NS)


def file_stamp(path: str | bytes) -> str:
    """The stamp of a file or folder as it is now; empty when there is none."""
    try:
        return stamp_of(os.lstat(path))
    except (OSError, ValueError):
        return ""


def stamp_of(status: os.stat_result) -> str:
    """The stamp of a file: mtime, ctime (ns), size and inode."""
    return f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_size}.{status.st_ino}"


def _key_bytes(key: BriefingKey) -> bytes:
    return "\n".join(map(str, key)).encode("utf-8", "surrogateescape").replace(b"\0", b"\n")


def _entry_path(vault: Vault, key: BriefingKey) -> str:
    key_bytes = _key_bytes(key)  # the file holds them too, so a collision only costs a rebuild
    name = f"{crc32(key_bytes):08x}{crc32(key_bytes[::-1]):08x}"
    return os.path.join(vault.cache_folder(), CACHE_FOLDER, name)
