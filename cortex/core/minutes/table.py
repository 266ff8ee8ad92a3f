"""The columns of a table in minutes."""

from __future__ import annotations

from cortex.core.minutes.cues import COLUMN_WORDS
from cortex.core.minutes.dates import fold


def table_columns(header: list[str]) -> dict[str, int]:
    """The kind of column -> its number, for the columns that the header names."""
    words = [fold(cell).strip(" *_:?#") for cell in header]
    columns: dict[str, int] = {}
    for kind, names in COLUMN_WORDS.items():
        for at, word in enumerate(words):
            if word in names and kind not in columns:
                columns[kind] = at
    return columns
