"""Count which notes somebody looked at, and when: a log in the user's state folder, never in the
vault.

Each call appends one line, so several processes may write at once. A log over `_MAX_LOG_BYTES` is
compacted: a new file, with the counts in its first line, replaces it in one step. Only ids of notes
are stored, no word of a query.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from contextlib import suppress

from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.value import NamedTuple
from cortex.vault import files, private
from cortex.vault.locate import Vault

LOG_FILE = "access.log"
AUTOMATIC_VERBS = ("brief", "remind")  # they show what nobody asked for by name
PREVIEW = "preview"  # what stands beside a list, or a search that goes on with every key
# Who shows what nobody asked for: a host's events, too.
AUTOMATIC_SOURCES = ("hook", PREVIEW)
_COUNTS = "="  # in the place of the time: a line of (id, count, last) triples
_MAX_LOG_BYTES = 1_000_000  # beyond the counts
_MAX_READ_BYTES = 16_000_000
_MAX_IDS = 100_000  # of more notes those that were used last are kept


class AccessCount(NamedTuple):
    """The use of a note."""

    count: int  # type: ignore[assignment]  # the usual name, over a tuple's method
    last_seconds: int  # since the epoch


def append(vault: Vault, caller: Caller, verb: str, ids: Iterable[str]) -> None:
    """Log that `verb` has shown these notes, but for those whose names hold a tab or a line end.
    Raises nothing; takes a tenth of a millisecond."""
    fields = [one for one in ids if 0 < len(one) <= 1_000 and {"\t", "\n"}.isdisjoint(one)]
    if not fields:
        return
    words = str(epoch_seconds(caller.now)), verb, caller.source, *fields
    with suppress(OSError, CortexError):
        path = os.path.join(vault.state_folder(), LOG_FILE)
        if _append_line(path, words) > _MAX_LOG_BYTES:
            _compact(path)


def read_counts(vault: Vault, since: int = 0) -> dict[str, AccessCount]:
    """How often each note was used, and when last; `since`: of those used since that second. What was
    shown unasked (sources `hook` and `preview`, verbs `brief` and `remind`) does not count. Raises
    nothing."""
    try:
        path = os.path.join(vault.state_folder(), LOG_FILE)
        return _count(_read_text(path), since)
    except (OSError, CortexError):
        return {}


def _append_line(path: str, words: Iterable[str]) -> int:
    """Append one line to the log of that name and return its size without its counts."""
    # A line begins with its line end and closes with a tab: one cut off by a full disk spoils no
    # other.
    data = ("\n" + "\t".join((*words, ""))).encode("utf-8", "backslashreplace")
    while True:
        with files.closing(private.open_private(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)) as fd:
            fcntl.flock(fd, fcntl.LOCK_SH)  # who compacts holds it until the new log has the name
            if private.is_same_file(path, fd):
                first, size, *_ = (*os.pread(fd, 32, 0).split(b"\t"), b"")
                counts = int(size) if first == _COUNTS.encode() and size.isdigit() else 0
                os.write(fd, data)
                return os.fstat(fd).st_size - counts


def _compact(path: str) -> None:
    """Replace the log by its counts."""
    with files.closing(private.open_private(path, os.O_RDWR | os.O_CREAT)) as fd:
        fcntl.flock(fd, fcntl.LOCK_EX)  # waits for those who are writing a line
        if not private.is_same_file(path, fd):
            return
        counts = _count(_read_text(path)).items()
        newest = sorted(counts, key=lambda pair: -pair[1].last_seconds)[:_MAX_IDS]
        body = "".join(f"{id_}\t{one.count}\t{one.last_seconds}\t" for id_, one in newest)
        data = body.encode("utf-8", "backslashreplace")
        private.replace(path, f"{_COUNTS}\t{len(data)}\t".encode() + data, synced=True)


def _read_text(path: str) -> str:
    return private.read(path, _MAX_READ_BYTES).decode("utf-8", "replace")


def _count(text: str, since: int = 0) -> dict[str, AccessCount]:
    """The uses since that second; what a compacted log has only counted, of notes used since then."""
    uses: dict[str, int] = {}
    last: dict[str, int] = {}
    for line in text.split("\n"):
        first, *fields = line.split("\t")
        if len(fields) < 4 or fields[-1]:  # empty, or cut off
            continue
        if first == _COUNTS:
            with suppress(ValueError):  # another number of columns: no line of ours
                counts, times = map(int, fields[2:-1:3]), map(int, fields[3:-1:3])
                for id_, count, when in zip(fields[1:-1:3], counts, times, strict=True):
                    uses[id_] = uses.get(id_, 0) + count
                    last[id_] = max(last.get(id_, 0), when)
        elif _is_number(first) and fields[1] not in AUTOMATIC_SOURCES:
            when, is_asked = int(first), fields[0] not in AUTOMATIC_VERBS
            for id_ in fields[2:-1] if is_asked and when >= since else ():
                uses[id_] = uses.get(id_, 0) + 1
                last[id_] = max(last.get(id_, 0), when)
    pairs = ((id_, AccessCount(count, last[id_])) for id_, count in uses.items())
    return {id_: one for id_, one in pairs if one.last_seconds >= since}


def _is_number(text: str) -> bool:
    return len(text) < 13 and text.isascii() and text.isdecimal()
