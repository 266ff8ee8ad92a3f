"""Overviews and summaries of a session that went on or ended on two clones: the later one replaces
the other before lines are merged.

A mark, as `core/model/session_overview.py` and `session_note.py` write it, holds the event of the
text above it, its number of lines and their hash. A text that a person has changed is merged by
lines.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from cortex.core.text.strings import short_hash

_EVENT = rb"([0-9tz]{16}-[a-z2-7]{10}) (\d{1,6}) ([a-z2-7]{10})"
_MARKS = (
    re.compile(rb"<!-- overview " + _EVENT + rb" [a-z2-7]{10} -->[ \t]*"),
    re.compile(rb"<!-- summary " + _EVENT + rb" -->[ \t]*"),
)


class _MarkedLines(NamedTuple):
    """An overview or a summary: its lines from `start` to the mark at `end`."""

    event: bytes
    start: int
    end: int


def keep_latest_texts(base: bytes, newer: bytes, older: bytes) -> tuple[bytes, bytes, bytes]:
    """The three bodies with the later of two untouched overviews, and of two summaries, in the
    place of the others."""
    bodies = (base, newer, older)
    for mark in _MARKS:
        bodies = _keep_latest(bodies, mark)
    return bodies


def _keep_latest(
    bodies: tuple[bytes, bytes, bytes], mark: re.Pattern[bytes]
) -> tuple[bytes, bytes, bytes]:
    lines = [body.split(b"\n") for body in bodies]
    found = [_find_marked(some, mark) for some in lines]
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


def _find_marked(lines: list[bytes], pattern: re.Pattern[bytes]) -> _MarkedLines | None:
    """The one text with such a mark; None where a person has changed it, or there are several."""
    marks = [(n, mark) for n, line in enumerate(lines) if (mark := pattern.fullmatch(line))]
    if len(marks) != 1:
        return None
    ((end, mark),) = marks
    start = end - int(mark[2])
    text = b"\n".join(lines[max(start, 0) : end]).decode("utf-8", "replace")
    is_untouched = start >= 0 and short_hash(text, 10) == mark[3].decode()
    return _MarkedLines(mark[1], start, end) if is_untouched else None
