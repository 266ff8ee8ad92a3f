"""Summaries of a session that ended on two clones: the later one replaces the other before lines
are merged.

A mark, as `core/model/session_note.py` writes it, holds the event of the summary, its number of
lines and their hash. A summary that a person has changed is merged by lines.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from cortex.core.text.strings import short_hash

_MARK_RE = re.compile(
    rb"<!-- summary ([0-9tz]{16}-[a-z2-7]{10}) (\d{1,6}) ([a-z2-7]{10}) -->[ \t]*"
)


class _SummaryLines(NamedTuple):
    """The summary of a body: its lines from `start` to the mark at `end`."""

    event: bytes
    start: int
    end: int


def keep_latest_summary(base: bytes, newer: bytes, older: bytes) -> tuple[bytes, bytes, bytes]:
    """The three bodies with the later of two untouched summaries in the place of the others."""
    bodies = (base, newer, older)
    lines = [body.split(b"\n") for body in bodies]
    found = [_find_summary(some) for some in lines]
    _, one, two = found
    if not one or not two or one.event == two.event:
        return bodies
    latest = max((1, 2), key=lambda side: (found[side] or one).event)
    stands = found[latest] or one
    text = lines[latest][stands.start : stands.end + 1]
    before, first, second = (
        b"\n".join([*some[: old.start], *text, *some[old.end + 1 :]])
        if old and old.event < stands.event
        else body
        for body, some, old in zip(bodies, lines, found, strict=True)
    )
    return before, first, second


def _find_summary(lines: list[bytes]) -> _SummaryLines | None:
    """The one summary of a body; None where a person has changed it, or there are several."""
    marks = [(n, mark) for n, line in enumerate(lines) if (mark := _MARK_RE.fullmatch(line))]
    if len(marks) != 1:
        return None
    ((end, mark),) = marks
    start = end - int(mark[2])
    text = b"\n".join(lines[max(start, 0) : end]).decode("utf-8", "replace")
    is_untouched = start >= 0 and short_hash(text, 10) == mark[3].decode()
    return _SummaryLines(mark[1], start, end) if is_untouched else None
