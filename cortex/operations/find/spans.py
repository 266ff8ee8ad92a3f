"""Times and numbers as people give them to a verb."""

from __future__ import annotations

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.moments import MOMENT_EXAMPLES, parse_moment


def parse_since(text: str, now: str) -> int:
    """Seconds since the epoch of a date or a span. Raises `InvalidInputError` for any other
    text."""
    moment = parse_moment(text, now)
    if moment is None:
        raise InvalidInputError(
            f"{text!r} is neither a date nor a span", f"write {MOMENT_EXAMPLES}"
        )
    return moment


def check_number(number: int, most: int, example: str) -> None:
    """Raise `InvalidInputError` where somebody asks for no notes, or for more than a verb shows."""
    if not 1 <= number <= most:
        raise InvalidInputError(f"-n {number} is not between 1 and {most}", example)
