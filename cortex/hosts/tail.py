"""Read the new complete lines of a growing file, in bounded memory, from the last position.

A position whose previous byte is no line end is inside a line that was too long; the rest of that
line is skipped. Standard library only: hooks read transcripts with it.
"""

from __future__ import annotations

import os
import stat
from _collections_abc import Iterator
from binascii import crc32

from cortex.core.text.light import contextmanager, suppress
from cortex.core.text.value import NamedTuple
from cortex.vault import files

GONE, SHRANK, REPLACED, UNREADABLE = "gone", "shrank", "replaced", "unreadable"
_READ_ERRORS = (OSError, ValueError)  # a NUL or a lone surrogate in the path is a `ValueError`
# Bytes at the beginning, and before the position, by which a file is known again.
_HEAD_BYTES, _FOOT_BYTES = 1024, 256


class FilePosition(NamedTuple):
    """How far a file was read. `head` tells the file from another one that has its name later."""

    offset: int = 0
    checksum: str = ""


FILE_START = FilePosition()


class NewLines(NamedTuple):
    """Complete lines without their ends, the next position, and how many bytes are left."""

    lines: list[bytes]
    position: FilePosition
    bytes_left: int = 0  # 0 when the file was read to its end, a last line without end aside
    fault: str = ""  # gone, shrank, replaced or unreadable
    skipped_lines: int = 0  # lines that were longer than one look
    line_ends: tuple[int, ...] = ()  # where each line ends in the file, its end included


def read_new_lines(path: str, position: FilePosition = FILE_START, most: int = 1 << 20) -> NewLines:
    """The complete lines after `position`, at most `most` bytes of them. A file that shrank or was
    replaced is read from its beginning; one that is gone or no regular file leaves the position
    as it was. Raises nothing, never blocks."""
    try:
        with _open_regular_file(path) as (fd, size):
            fault = _find_fault(fd, size, position)
            return _read_lines(fd, FILE_START if fault else position, size, max(most, 1), fault)
    except (FileNotFoundError, NotADirectoryError):
        return NewLines([], position, fault=GONE)
    except _READ_ERRORS:
        return NewLines([], position, fault=UNREADABLE)


def read_partial_line(path: str, position: FilePosition, most: int = 1 << 20) -> bytes:
    """The text behind the last complete line, which may still be written to. Empty if it is longer
    than `most`, or if the position is inside a line."""
    with suppress(*_READ_ERRORS), _open_regular_file(path) as (fd, _):
        if position.offset and os.pread(fd, 1, position.offset - 1) != b"\n":
            return b""
        rest = os.pread(fd, most + 1, position.offset)
        return b"" if len(rest) > most or b"\n" in rest else rest
    return b""


def position_at(path: str, offset: int) -> FilePosition:
    """The position of an offset at which a line ends; the start of the file if unreadable."""
    if offset > 0:
        with suppress(*_READ_ERRORS), _open_regular_file(path) as (fd, _):
            return FilePosition(offset, _checksum_at(fd, offset))
    return FILE_START


def read_last_lines(path: str, most: int = 1 << 16) -> list[bytes]:
    """The complete lines among the last `most` bytes, for a first glance."""
    with suppress(*_READ_ERRORS), _open_regular_file(path) as (fd, size):
        start = max(0, size - most)
        lines = os.pread(fd, most, start).split(b"\n")
        return [line for line in (lines[1:] if start else lines) if line.strip()]
    return []


@contextmanager
def _open_regular_file(path: str) -> Iterator[tuple[int, int]]:
    """The descriptor and size of a regular file; raises `_READ_ERRORS` for anything else."""
    with files.closing(
        os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    ) as fd:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(path)
        yield fd, status.st_size


def _find_fault(fd: int, size: int, position: FilePosition) -> str:
    """Why the position is not one in this file, by its bytes: inodes may change."""
    if not position.offset:
        return ""
    if size < position.offset:
        return SHRANK
    return "" if position.checksum == _checksum_at(fd, position.offset) else REPLACED


def _checksum_at(fd: int, offset: int) -> str:
    """A check of the first bytes and of the last ones before the position."""
    head = os.pread(fd, min(offset, _HEAD_BYTES), 0)
    foot = os.pread(fd, min(offset, _FOOT_BYTES), offset - min(offset, _FOOT_BYTES))
    return f"{crc32(head):08x}{crc32(foot):08x}"


def _read_lines(fd: int, position: FilePosition, size: int, most: int, fault: str) -> NewLines:
    offset = position.offset
    inside = offset > 0 and os.pread(fd, 1, offset - 1) != b"\n"
    data = _read_bytes(fd, offset, most)
    at_end = offset + len(data) >= size
    start, end, skipped = 0, data.rfind(b"\n") + 1, 0
    if inside:
        start = data.find(b"\n") + 1 or len(data)
    if not end and (inside or len(data) == most):
        # Not one line ends here: it is too long, or its rest is.
        end, skipped = len(data), 0 if inside else 1
        start = end
    lines, ends = _split_lines(data, start, end, offset)
    offset += end
    after = FilePosition(offset, _checksum_at(fd, offset) if offset else "")
    return NewLines(lines, after, 0 if at_end else size - offset, fault, skipped, ends)


def _split_lines(
    data: bytes, start: int, end: int, offset: int
) -> tuple[list[bytes], tuple[int, ...]]:
    """The lines of `data[start:end]` that are not blank, and their ends; `data` is at `offset`."""
    lines, ends, at = [], [], start
    for line in data[start:end].split(b"\n")[:-1] if end > start else ():
        at += len(line) + 1
        for one in split_objects(line) if line.strip() else ():
            lines.append(one)
            ends.append(offset + at)
    return lines, tuple(ends)


def split_objects(line: bytes) -> list[bytes]:
    """The JSON objects of a line with several, as two writers at once leave it; else the line."""
    if b'}{"' not in line:
        return [line]
    import json  # noqa: PLC0415  for such lines alone

    decoder, text, at = json.JSONDecoder(), line.decode("utf-8", "surrogateescape"), 0
    parts: list[str] = []
    with suppress(ValueError, RecursionError):
        while at < len(text):
            _, end = decoder.raw_decode(text, at)
            parts.append(text[at:end])
            at = end + len(text[end:]) - len(text[end:].lstrip())
    if at < len(text):  # what follows is no object
        parts.append(text[at:])
    return [part.encode("utf-8", "surrogateescape") for part in parts]


def _read_bytes(fd: int, offset: int, most: int) -> bytes:
    """Up to `most` bytes; a read may give fewer than there are."""
    parts: list[bytes] = []
    while most > 0 and (part := os.pread(fd, most, offset)):
        parts.append(part)
        offset += len(part)
        most -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
