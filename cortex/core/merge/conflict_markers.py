"""Conflicts that git has marked in a text."""

from __future__ import annotations

import re
from collections import Counter

_MARKER_LINE_RE = re.compile(rb"^(<{7,} .*|={7,}|>{7,} .*?)\r?$", re.MULTILINE)


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
