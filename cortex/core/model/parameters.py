"""Types of a verb's parameters that built-in types and `Literal[...]` do not express.

`interfaces/declare.py` converts the words of a command line, or the values of a JSON object, to
these types: `list[T]` and `tuple[T, ...]` take one word each as arguments and are split at commas
as options; an empty word stands for the default of any type but `str`; a union takes the first of
its members that fits.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple


class Between(NamedTuple):
    """Inclusive bounds of a number, as in `Annotated[int, Between(1, 300)]`."""

    least: float
    most: float


MOMENT, DAY, QUERY = "moment", "day", "query"

# Seconds since the epoch, given as a date or as a span before now (see `core/text/moments.py`).
Since = Annotated[int, MOMENT]
# `YYYY-MM-DD`.
Day = Annotated[str, DAY]
# Free text in which `-word` excludes a word. Elsewhere a word that begins with `-` is an option.
QueryText = Annotated[str, QUERY]
