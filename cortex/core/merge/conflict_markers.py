"""Conflicts that git has marked in a text, and the two sides of a text that is such a conflict."""

from __future__ import annotations

import re
from collections import Counter

from cortex.core.merge.note_versions import note_id

_MARKER_LINE_RE = re.compile(rb"^(<{7,} .*|={7,}|>{7,} .*?)\r?$", re.MULTILINE)

# Git makes them longer, the deeper one conflict lies in another.
_NESTED_MARKER_RE = re.compile(rb"([<|>=])\1{6,}(?= |\s*\Z)")


def without_markers(data: bytes) -> bytes:
    """The text with the lines of both sides of its marked conflicts, and no markers."""
    lines = data.splitlines(keepends=True) if marked_conflicts(data) else [data]
    return b"".join(line for line in lines if not _MARKER_LINE_RE.fullmatch(line.rstrip(b"\n")))


def marked_conflicts(data: bytes) -> Counter[tuple[bytes, bytes]]:
    """The marked conflicts of a text, counted by their first and last lines."""
    conflicts: Counter[tuple[bytes, bytes]] = Counter()
    opening, parted = b"", False
    for match in _MARKER_LINE_RE.finditer(data) if b"<<<<<<<" in data else ():
        line = match[1]
        if line.startswith(b"<"):
            opening, parted = line, False
        elif line.startswith(b"="):
            parted = bool(opening)
        elif parted:
            conflicts[opening, line] += 1
            opening, parted = b"", False
    return conflicts


def side_of_nested(data: bytes, number: int) -> bytes:
    """The text of one side (stage 2: ours, 3: theirs) out of a version that git itself has merged:
    of two renames of one file git stores their conflict, markers included, as the version of a
    path. `data` where its conflicts do not hold two notes with different ids."""
    sides: tuple[list[bytes], list[bytes]] = ([], [])
    within: tuple[int, ...] = (0, 1)  # the sides that the present line belongs to
    size = 0  # of the markers of the present conflict
    for line in data.splitlines(keepends=True) if marked_conflicts(data) else ():
        found = _NESTED_MARKER_RE.match(line)
        marker = found[1] if found and (found[1] == b"<" or len(found[0]) == size) else b""
        if found and marker == b"<":
            within, size = (0,), len(found[0])
        elif within == (0,) and marker == b"|":
            within = ()
        elif within in ((0,), ()) and marker == b"=":
            within = (1,)
        elif within == (1,) and marker == b">":
            within = (0, 1)
        else:
            for side in within:
                sides[side].append(line)
    ours, theirs = (b"".join(lines) for lines in sides)
    ids = note_id(ours), note_id(theirs)
    if not all(ids) or ids[0] == ids[1]:
        return data
    return ours if number == 2 else theirs
