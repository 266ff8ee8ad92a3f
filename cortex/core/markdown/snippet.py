"""The line of a note that shows best why a search found it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from cortex.core.model.note_status import MATCH_END, MATCH_START

MAX_CHARS = 300  # characters: enough to tell whether the note is worth opening
_FRONTMATTER_RE = re.compile(r"---[ \t]*\r?\n(?:[^\n]*\n){0,1000}?---[ \t]*(?:\r?\n|$)")
_CONTROL_CHARS_RE = re.compile("[\x00-\x1f\ue000\ue001]")


class Snippet(NamedTuple):
    """A line of the file: its number, its text with matches between `MATCH_START` and
    `MATCH_END`."""

    line: int
    text: str


def match_pattern(stems: Sequence[str], phrases: Sequence[str] = ()) -> re.Pattern[str] | None:
    """A pattern for words that begin with a stem, and for phrases; None without either."""
    words = sorted({re.escape(stem) for stem in stems if stem}, key=len, reverse=True)
    whole = [r"\W+".join(map(re.escape, phrase.split())) for phrase in phrases if phrase.split()]
    parts = [*whole, rf"(?<![^\W_])(?:{'|'.join(words)})\w*" if words else ""]
    source = "|".join(part for part in parts if part)
    return re.compile(source, re.IGNORECASE) if source else None


def best_line(text: str, pattern: re.Pattern[str] | None) -> Snippet:
    """The first line with the most different matches; the first line of prose if none has any."""
    head = _FRONTMATTER_RE.match(text)
    start = head.end() if head else 0
    first = text.count("\n", 0, start) + 1
    best, most = None, 0
    opening = None
    for number, line in enumerate(text[start:].split("\n"), start=first):
        if opening is None and any(c.isalnum() for c in line) and not line.startswith("#"):
            opening = (number, line)
        if (
            pattern
            and (found := {match[0].lower() for match in pattern.finditer(line)})
            and len(found) > most
        ):
            best, most = (number, line), len(found)
    number, line = best or opening or (first, "")
    return _build_snippet(number, line, pattern)


def _build_snippet(number: int, line: str, pattern: re.Pattern[str] | None) -> Snippet:
    line = _CONTROL_CHARS_RE.sub(" ", line).strip()
    match = pattern.search(line) if pattern else None
    if len(line) > MAX_CHARS:
        start = max(0, match.start() - MAX_CHARS // 3) if match else 0
        if start:
            start = line.rfind(" ", 0, start) + 1
        piece = line[start : start + MAX_CHARS]
        ending = "…" if start + MAX_CHARS < len(line) else ""
        line = ("…" if start else "") + piece.rstrip() + ending
    if pattern:
        line = pattern.sub(lambda found: f"{MATCH_START}{found[0]}{MATCH_END}", line)
    return Snippet(number, line)
