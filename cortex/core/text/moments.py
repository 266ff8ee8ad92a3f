"""Dates and spans as people write them: one grammar for every verb and for `after:` and `before:` in a query."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from cortex.core.text.iso_time import parse_utc

MOMENT_EXAMPLES = "2026-11-20, 2026-11, or a span such as 90min, 12h, 7d, 2w, 3m"

_SPAN_RE = re.compile(r"([0-9]{1,5})(min|[hdwmy])(?: ago)?")
# A year before 1000 is a slip of the keyboard.
_DATE_RE = re.compile(r"([1-9][0-9]{3})(?:-([0-9]{2}))?(?:-([0-9]{2}))?")
_SECONDS_PER_UNIT = {"min": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "m": 30 * 86400, "y": 365 * 86400}  # fmt: skip


def parse_moment(text: str, now: str) -> int | None:
    """Seconds since the epoch (UTC) for a span before `now` (ISO, with zone), a year, month, day or ISO timestamp.

    A span may end in ` ago`. A year, month or day means its beginning; `m` is a month of 30 days. Returns None for
    any other text.
    """
    text = text.strip()
    try:
        if span := _SPAN_RE.fullmatch(text.lower()):
            return (
                int(datetime.fromisoformat(now).timestamp())
                - int(span[1]) * _SECONDS_PER_UNIT[span[2]]
            )
        if date := _DATE_RE.fullmatch(text):
            moment = datetime(int(date[1]), int(date[2] or 1), int(date[3] or 1), tzinfo=UTC)
        elif "T" in text.upper():
            moment = parse_utc(text)
        else:
            return None
        return int(moment.timestamp())
    except (ValueError, OverflowError):
        return None


def parse_day(text: str) -> str | None:
    """`YYYY-MM-DD` of a day that the calendar has, else None."""
    date = _DATE_RE.fullmatch(text.strip())
    if date is None or date[3] is None:
        return None
    try:
        return datetime(int(date[1]), int(date[2]), int(date[3]), tzinfo=UTC).date().isoformat()
    except ValueError:
        return None
