"""Which day a moment is: the one rule, for every zone.

A moment in UTC (`2026-11-20T16:45:12Z`) has the day that the clocks of a zone show. What was written
with an offset, without a zone, or as a day alone has the day that was written, for every reader.
"""

from __future__ import annotations

from _collections_abc import Callable

from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.light import suppress
from cortex.core.text.strings import format_time, parse_time
from cortex.core.text.value import NamedTuple

_DAY = 86_400  # seconds
_WRITTEN_RE = lazy_re(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)?(?:[+-]\d\d(?::?\d\d)?)?"
)


class Zone(NamedTuple):
    """A zone of the world, with its summer time."""

    name: str  # as IANA has it; empty where it is not known
    offset: Callable[[int], int]  # seconds by which its clocks are ahead of UTC at a moment


UTC = Zone("UTC", lambda _moment: 0)


def clock(text: str, zone: Zone) -> str:
    """What the clocks of a zone show at a moment in UTC, as `2026-11-20T17:45:12`; of a time that is
    written otherwise what its own clock showed; any other text as it is."""
    if len(text) > 19 and text[-1] == "Z" and text[4:17:3] == "--T::":
        with suppress(ValueError):
            if (moment := parse_time(text)) is not None:
                return format_time(moment + zone.offset(moment))[:19]
    return "T".join(found.groups()) if (found := _WRITTEN_RE.fullmatch(text)) else text


def day_begin(moment: int, zone: Zone) -> int:
    """When the day of a moment began."""
    shown = moment + zone.offset(moment)
    return first_moment(shown - shown % _DAY, zone)


def first_moment(shown: int, zone: Zone) -> int:
    """The first moment at which the clocks of a zone show this or more; both count seconds since the
    epoch. So a day begins at its midnight, or later where summer time leaves that out."""
    before, after = shown - _DAY, shown + _DAY  # no zone is a day away
    while after - before > 1:
        middle = (before + after) // 2
        if middle + zone.offset(middle) < shown:
            before = middle
        else:
            after = middle
    return after
