"""How much of a text is read for what it says: links, tags, tasks, outcomes of minutes, records; and
which of it is code in fences.

Counted in characters, lines and marks, so that every clone reads the same part; the time that it
takes is a fifth of a second at most. What stands behind it is plain text, which is searched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from cortex.core.text.lazy_re import lazy_re

MAX_LINES, MAX_MARKS = 20_000, 100_000
# A line of minutes is read for who promises what until when: that takes ten times as long.
MAX_MINUTES_CHARS, MAX_MINUTES_LINES = 64_000, 2_500
MAX_RECORDS = 200  # of one event; of a meeting beside its own

_MARKS = "[]<>#%`\\|*+=~_@:!-"
_MARK_RE = lazy_re(f"[{re.escape(_MARKS)}]")
_FENCE_RE = lazy_re(r"(?m)^[ \t>]{0,40}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,9})?(`{3,}|~{3,})([^\n]*)")


@lru_cache(maxsize=2)  # to count takes 5 ms for a megabyte, and of a new note it is asked ten times
def structured_part(text: str, max_lines: int = MAX_LINES) -> str:
    """The beginning of a text, cut after a whole line, with at most `max_lines` lines and
    `MAX_MARKS` markup characters."""
    if text.count("\n") >= max_lines:
        lines = text.split("\n", max_lines)[:max_lines]
        text = text[: len("\n".join(lines)) + 1]
    if len(text) <= MAX_MARKS or sum(map(text.count, _MARKS)) <= MAX_MARKS:
        return text
    excess = next(islice(_MARK_RE.finditer(text), MAX_MARKS, None))
    return text[: text.rfind("\n", 0, excess.start()) + 1]


def minutes_part(text: str) -> str:
    """The structured part of minutes, of which characters count as well."""
    return structured_part(text[:MAX_MINUTES_CHARS], MAX_MINUTES_LINES)


def fence_spans(text: str) -> Iterator[tuple[int, int]]:
    """From where to where code stands in fences, these included; an open one reaches to the end."""
    fence, start = "", 0
    for found in _FENCE_RE.finditer(text) if "```" in text or "~~~" in text else ():
        mark, rest = found.groups()
        if not fence:
            if mark[0] == "`" and "`" in rest:
                continue  # a code span of three ticks
            fence, start = mark, found.start()
        elif mark.startswith(fence) and not rest.strip():
            yield start, found.end()
            fence = ""
    if fence:
        yield start, len(text)


def without_fences(text: str) -> str:
    """The text without the lines of code in fences."""
    parts, at = [], 0
    for start, end in fence_spans(text):
        parts.append(text[at:start])
        at = end + 1
    return "".join((*parts, text[at:]))
