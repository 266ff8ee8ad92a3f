"""The summaries of a session that ended on two clones: the later one stands on both before their
lines are merged.

As in `core/model/session_note.py`, whose marks these are: each tells which event gave the summary,
how many lines it has, and how these read. What a person has changed since is theirs, and merged by
lines.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_MARK_PREFIX = b"<!-- summary "
_MARK_PATTERN = rb"<!-- summary ([0-9tz]{16}-[a-z2-7]{10}) (\d{1,6}) ([a-z2-7]{10}) -->[ \t]*"  # compiled only where there is one


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
    marks = [
        (number, mark)
        for number, line in enumerate(lines)
        if line.startswith(_MARK_PREFIX) and (mark := re.fullmatch(_MARK_PATTERN, line))
    ]
    if len(marks) != 1:
        return None
    from cortex.core.text.strings import short_hash  # noqa: PLC0415  hashing costs 4 ms, and few merges are of such sessions

    ((end, mark),) = marks
    start = end - int(mark[2])
    text = b"\n".join(lines[max(start, 0) : end]).decode("utf-8", "replace")
    return (
        _SummaryLines(mark[1], start, end)
        if start >= 0 and short_hash(text, 10) == mark[3].decode()
        else None
    )
