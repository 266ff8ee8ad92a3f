"""Parse untrusted TOML: refuse at once what takes minutes to parse or overflows the stack."""

from __future__ import annotations

import re
from typing import Any

MAX_DOTS = 50  # in one key; `tomllib` takes quadratic time, 10 s for a key of 40 kB
MAX_DEPTH = 100  # levels of lists and tables
# Strings and comments are skipped. Every branch is possessive or atomic: no text is read twice.
# Groups are atomic, since Python before 3.11.5 gets possessive ones wrong (gh-106052).
_TOKEN_RE = re.compile(
    r'"""(?>(?:[^"\\]++|\\.|"(?!""))*)"{3,5}+'
    r"|'''(?>(?:[^']++|'(?!''))*)'{3,5}+"
    r'|"(?!"")(?>(?:[^"\\\n]++|\\.)*)"'
    r"|'(?!'')[^'\n]*+'"
    r"|\#[^\n]*+"
    r"|(?P<mark>[\[\]{}.,=\n\"'])",
    re.DOTALL,
)


def parse(text: str) -> dict[str, Any]:
    """The tables of a text. Raises only `ValueError`, which names the reason."""
    import tomllib  # noqa: PLC0415  6 ms, and most commands read none

    _check_cost(text)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _check_cost(text: str) -> None:
    """Raise `ValueError` for what takes too long to read."""
    dots, depth, reason = 0, 0, ""
    for part in _TOKEN_RE.finditer(text):
        mark = part["mark"]
        if mark == ".":
            dots += 1
        elif mark in ('"', "'"):
            reason = "a quote has no end"
        elif mark:
            dots = 0
            depth += (mark in "[{") - (mark in "]}")
        if dots > MAX_DOTS:
            reason = f"a key has more than {MAX_DOTS} dots"
        if depth > MAX_DEPTH:
            reason = f"is nested more than {MAX_DEPTH} deep"
        if reason:
            line = text.count("\n", 0, part.start()) + 1
            raise ValueError(f"line {line}: {reason}")
