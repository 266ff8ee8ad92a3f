"""Colours, counts and problems, as every answer shows them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence

from cortex.core.model.problem import Problem
from cortex.interfaces.escape_terminal import escape

BOLD, DIM, YELLOW, OFF = "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[0m"


def problem_lines(problems: Sequence[Problem], most: int | None = None) -> Iterable[str]:
    """Each problem with its next command; of more than `most` the first."""
    shown = problems if most is None else problems[:most]
    for problem in shown:
        yield f"{YELLOW}{escape(problem.where)}{OFF}: {escape(problem.message)}"
        if problem.hint:
            yield f"  {DIM}{escape(problem.hint)}{OFF}"
    if len(problems) > len(shown):
        yield f"{YELLOW}{len(problems) - len(shown)} more problems{OFF}: cortex doctor"


def format_day(seconds: int) -> str:
    try:
        moment = time.gmtime(seconds)
    except (OverflowError, ValueError, OSError):
        return "no date"
    return (
        f"{moment.tm_year:04}-{moment.tm_mon:02}-{moment.tm_mday:02}"  # `%Y` of the year 1 is `1`
    )


def format_count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
