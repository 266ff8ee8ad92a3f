"""Times and numbers as people give them to a verb."""

from __future__ import annotations

from cortex.core.model.problem import InvalidInputError
from cortex.core.ranking import query as queries
from cortex.core.ranking.query import Query


def parse_since(text: str, now: str) -> int:
    """The moment that `7d`, `2w`, `3m` or a date means, in seconds since the epoch."""
    try:
        parsed = queries.parse(f"after:{text.strip()}", now)
    except InvalidInputError:
        parsed = Query((), ())
    if parsed.after is None or parsed.terms or parsed.filters:
        raise InvalidInputError(
            f"{text!r} is neither a date nor a span",
            "write 2026-11-20, 2026-11, or a span such as 7d, 2w, 3m",
        )
    return parsed.after


def check_number(number: int, most: int, example: str) -> None:
    """Raise `InvalidInputError` where somebody asks for no notes, or for more than a verb shows."""
    if not 1 <= number <= most:
        raise InvalidInputError(f"-n {number} is not between 1 and {most}", example)
