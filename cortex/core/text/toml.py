"""TOML from a stranger: refused at once where reading it would take minutes, or would end in anything but an error of its own."""

from __future__ import annotations

import re
from typing import Any

MOST_DOTS = 50  # in one key; Python's reader takes quadratic time for them, 10 s for a key of 40 kB
DEEPEST = 100  # levels of lists and tables
# What stands in quotes or behind a # counts for nothing. Every branch is possessive or atomic: no text is read twice. Groups
# are atomic, since Python before 3.11.5 does not find what a possessive group with alternatives matches (gh-106052).
_PARTS = re.compile(
    r'"""(?>(?:[^"\\]++|\\.|"(?!""))*)"{3,5}+'
    r"|'''(?>(?:[^']++|'(?!''))*)'{3,5}+"
    r'|"(?!"")(?>(?:[^"\\\n]++|\\.)*)"'
    r"|'(?!'')[^'\n]*+'"
    r"|\#[^\n]*+"
    r"|(?P<mark>[\[\]{}.,=\n\"'])",
    re.DOTALL,
)


def parsed(text: str) -> dict[str, Any]:
    """The tables of a text. Raises nothing but `ValueError`, which says why it cannot be read."""
    import tomllib  # noqa: PLC0415  6 ms, and most commands read none

    _refuse(text)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _refuse(text: str) -> None:
    """Raise `ValueError` for what takes too long to read."""
    dots = depth = 0
    for part in _PARTS.finditer(text):
        mark = part["mark"]
        if mark == ".":
            dots += 1
        elif mark in ('"', "'"):
            raise ValueError(f"line {_line(text, part.start())}: a quote has no end")
        elif mark:
            dots = 0
            depth += (mark in "[{") - (mark in "]}")
        if dots > MOST_DOTS or depth > DEEPEST:
            what = (
                f"a key has more than {MOST_DOTS} dots"
                if dots > MOST_DOTS
                else f"is nested more than {DEEPEST} deep"
            )
            raise ValueError(f"line {_line(text, part.start())}: {what}")


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
