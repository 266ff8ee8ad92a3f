"""Types of a verb's parameters that built-in types and `Literal[...]` do not express.

`interfaces/declare.py` converts the words of a command line, or the values of a JSON object, to
these types: `list[T]` and `tuple[T, ...]` take one word each as arguments and are split at commas
as options; an empty word is refused for any type but `str`; of a union the first that fits counts.
"""

from __future__ import annotations

from typing import Annotated, Literal

from cortex.core.text.value import NamedTuple


class Between(NamedTuple):
    """Inclusive bounds of a number, as in `Annotated[int, Between(1, 300)]`."""

    least: float
    most: float


class OneOf(NamedTuple):
    """Words that a text may be, as in `Annotated[str, OneOf(("a", "b"))]`. The verb itself checks them, to take other
    spellings and to suggest the nearest; the JSON Schema names them."""

    words: tuple[str, ...]


class Touches(NamedTuple):
    """What a parameter reaches beside the vault, as in `Annotated[str, PROGRAM]`. It is for whoever sits at
    the command line or calls from Python: no tool and no route of a server has it."""

    what: str


PROGRAM = Touches("a program that is run")
OUTSIDE_PATH = Touches("a path outside the vault")
# Of this machine, an agent's host or the person's decisions.
PERSON_SETTING = Touches("a setting of the person")

MOMENT, DAY, QUERY, TIME, NOTE = "moment", "day", "query", "time", "note name"

# Seconds since the epoch, given as a date or as a span before now (see `core/text/iso_time.py`).
Since = Annotated[int, MOMENT]
# Of answers: `YYYY-MM-DD`.
Day = Annotated[str, DAY]
# Of answers: ISO 8601 in UTC, `2026-11-20T16:45:12Z`; empty where no time is known.
Time = Annotated[str, TIME] | Literal[""]
# Free text in which `-word` excludes a word. Elsewhere a word that begins with `-` is an option.
QueryText = Annotated[str, QUERY]
# What names a note: id, beginning or end of one, path, file name, title or alias.
NoteName = Annotated[str, NOTE]
# The same, or words that describe it.
NoteQuery = Annotated[str, NOTE, QUERY]
