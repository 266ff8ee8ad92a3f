"""Which notes somebody looked at, and when: a log in the user's state folder, never in the vault.

One call is one line, written at once behind whatever is there, so that several processes may mark at the same time. A
large log is folded into a summary: first it gets a name of its own, and the summary that counts it names it, so that a
run which ends in between neither counts twice nor forgets. Only the ids of notes are kept, no word of a query.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError
from cortex.vault import files
from cortex.vault.locate import Vault
from cortex.vault.lock import lock
from cortex.vault.state import store

LOG_FILE, SUMMARY_FILE, LOCK_FILE = "access.log", "access.sum", "access.lock"
AUTOMATIC_VERBS = (
    "brief",
    "remind",
)  # verbs that show what nobody asked for by name, whatever the interface
_SEGMENT_PREFIX = "access.part-"  # a log that is being folded
_MAX_LOG_BYTES = 1_000_000  # bytes of the log, then it is folded
_MAX_READ_BYTES = 16_000_000  # bytes of one file; more is nothing that we wrote
_MAX_ID_CHARS = 1_000  # characters
_MAX_IDS = 100_000  # in the summary; of more notes those that were used last
_ESCAPES = (("%", "%25"), ("\t", "%09"), ("\n", "%0A"), ("\r", "%0D"))


class AccessCount(NamedTuple):
    """The use of a note."""

    count: int  # type: ignore[assignment]  # the name that everybody looks for, over a tuple's method
    last_seconds: int  # seconds since the epoch


def append(vault: Vault, caller: Caller, verb: str, ids: Iterable[str]) -> None:
    """Note that `verb` has shown these notes. Never raises, and takes a tenth of a millisecond."""
    fields = [_escape(one) for one in ids if 0 < len(one) <= _MAX_ID_CHARS]
    if not fields:
        return
    # A line begins with its line end and closes with a tab: one that was cut off by a full disk spoils no other.
    line = "\t".join(
        (f"\n{epoch_seconds(caller.now)}", _escape(verb), _escape(caller.source), *fields, "")
    )
    # A state folder that is missing room, read-only or not ours takes no mark: who reads a note must get the note.
    with suppress(OSError, CortexError):
        folder = vault.state_folder()
        if (
            _append_line(os.path.join(folder, LOG_FILE), line.encode("utf-8", "backslashreplace"))
            > _MAX_LOG_BYTES
        ):
            with lock(os.path.join(folder, LOCK_FILE), "access log", wait=0.0):
                _fold_log(folder)


def read_counts(vault: Vault) -> dict[str, AccessCount]:
    """How often each note was used, and when last. What was put before a session unasked (source `hook`, verbs `brief` and `remind`) is
    in the log and does not count as use. Whatever cannot be read is left out; never raises."""
    try:
        folder = vault.state_folder()
        with lock(os.path.join(folder, LOCK_FILE), "access log", shared=True, wait=2.0):
            return _count_accesses(folder)
    except (OSError, CortexError):
        with suppress(OSError, CortexError):
            return _count_accesses(
                vault.state_folder()
            )  # without the lock: it cannot be made there, and then nobody folds either
        return {}


def epoch_seconds(now: str) -> int:
    """`2026-11-20T16:45:12Z` as seconds since the epoch; 0 when it is no such time. Without `datetime`, which takes 1 ms."""
    try:
        year, month, day, hour, minute, second = (
            int(now[at:end]) for at, end in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19))
        )
    except ValueError:
        return 0
    # Days since 1970 of a year that begins in March, as calendars are counted.
    year, month = (year, month - 3) if month > 2 else (year - 1, month + 9)
    days = (
        365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 719_469
    )
    return ((days * 24 + hour) * 60 + minute) * 60 + second


def _append_line(path: str, data: bytes) -> int:
    """Write behind the end, in one go; answers the size of the file then. A log that is renamed meanwhile, to be folded,
    is left alone and the new one taken: its bytes may have been read already."""
    while True:
        fd = store.open_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            fcntl.flock(fd, fcntl.LOCK_SH)  # who folds holds it for the time of a rename
            held = os.fstat(fd)
            if _is_current_file(path, held):
                return held.st_size + os.write(fd, data)
        finally:
            os.close(fd)


def _is_current_file(path: str, held: os.stat_result) -> bool:
    """Whether the open file is what the name stands for."""
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        return False
    return (there.st_ino, there.st_dev) == (held.st_ino, held.st_dev)


def _fold_log(folder: str) -> None:
    """Take the log into the summary. Under the lock."""
    path = os.path.join(folder, LOG_FILE)
    fd = store.open_private(path, os.O_WRONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)  # waits for those who are writing a line
        held = os.fstat(fd)
        if held.st_size > _MAX_LOG_BYTES and _is_current_file(
            path, held
        ):  # else somebody else has folded it
            os.rename(path, os.path.join(folder, f"{_SEGMENT_PREFIX}{os.urandom(8).hex()}"))
    finally:
        os.close(fd)
    segments = _list_segments(folder)
    counted = _count_accesses(folder, live=False)
    if len(counted) > _MAX_IDS:
        counted = dict(sorted(counted.items(), key=lambda pair: -pair[1].last_seconds)[:_MAX_IDS])
    columns = (
        segments,
        map(_escape, counted),
        (str(one.count) for one in counted.values()),
        (str(one.last_seconds) for one in counted.values()),
    )
    data = "\n".join("\t".join(column) for column in columns).encode("utf-8", "backslashreplace")
    store.replace(
        os.path.join(folder, SUMMARY_FILE), data, synced=True
    )  # the logs that it counts are deleted next
    for name in segments:
        os.unlink(os.path.join(folder, name))


def _list_segments(folder: str) -> list[str]:
    return [name for name in files.list_folder(folder) if name.startswith(_SEGMENT_PREFIX)]


def _count_accesses(folder: str, *, live: bool = True) -> dict[str, AccessCount]:
    """What summary and logs say together; the log that is still written to only when `live`."""
    folded, uses, last = _parse_summary(_read_text(os.path.join(folder, SUMMARY_FILE)))
    names = [name for name in _list_segments(folder) if name not in folded]
    for name in [*names, LOG_FILE] if live else names:
        _count_lines(_read_text(os.path.join(folder, name)), uses, last)
    # Both maps run in C, which ten thousand notes are grateful for.
    return dict(
        zip(
            uses,
            map(AccessCount._make, zip(uses.values(), map(last.__getitem__, uses), strict=True)),
            strict=True,
        )
    )


def _read_text(path: str) -> str:
    """The text of a file of ours, of a huge one the end; empty when there is none."""
    return store.read(path, _MAX_READ_BYTES, end=True).decode("utf-8", "replace")


def _parse_summary(text: str) -> tuple[frozenset[str], dict[str, int], dict[str, int]]:
    """The logs that a summary counts, and its counts and times: four lines, since columns are read faster than rows."""
    rows = [line.split("\t") for line in text.split("\n")]
    with suppress(
        ValueError
    ):  # another number of lines or columns, or no numbers: nothing that we wrote
        segments, ids, uses, last = rows
        ids = [_unescape(id_) for id_ in ids] if "%" in text else ids
        return (
            frozenset(segments),
            dict(zip(ids, map(int, uses), strict=True)),
            dict(zip(ids, map(int, last), strict=True)),
        )
    return frozenset(), {}, {}


def _count_lines(text: str, uses: dict[str, int], last: dict[str, int]) -> None:
    """Count the whole lines of a log."""
    get, latest = uses.get, last.get
    for line in text.split("\n"):
        fields = line.split("\t")
        if (
            len(fields) < 5
            or fields[-1]
            or not _is_number(fields[0])
            or fields[2] == "hook"
            or fields[1] in AUTOMATIC_VERBS
        ):
            continue
        when = int(fields[0])
        for id_ in fields[3:-1] if "%" not in line else map(_unescape, fields[3:-1]):
            uses[id_] = get(id_, 0) + 1
            if latest(id_, -1) < when:
                last[id_] = when


def _is_number(text: str) -> bool:
    return len(text) < 13 and text.isascii() and text.isdecimal()


def _escape(text: str) -> str:
    if text.isprintable() and "%" not in text:
        return text
    for sign, written in _ESCAPES:
        text = text.replace(sign, written)
    return text


def _unescape(text: str) -> str:
    for sign, written in reversed(_ESCAPES):
        text = text.replace(written, sign)
    return text
