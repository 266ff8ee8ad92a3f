"""Parse dates and spans: one grammar for every verb and for `after:` and `before:` in a query."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from cortex.core.text.iso_time import parse_utc

MOMENT_EXAMPLES = "2026-11-20, 2026-11, yesterday, or a span such as 90min, 12h, 7d, 2w, 3m"

_SPAN_RE = re.compile(r"([0-9]{1,5})(min|[hdwmy])(?: ago)?")
# A year before 1000 is a slip of the keyboard.
_DATE_RE = re.compile(r"([1-9][0-9]{3})(?:-([0-9]{2}))?(?:-([0-9]{2}))?")
_DAY = 86400  # seconds
_DAYS_AGO = {"today": 0, "yesterday": 1}
_SECONDS_PER_UNIT = {
    "min": 60, "h": 3600, "d": _DAY, "w": 7 * _DAY, "m": 30 * _DAY, "y": 365 * _DAY,
}  # fmt: skip


def parse_moment(text: str, now: str) -> int | None:
    """Seconds since the epoch for a year, month, day, ISO timestamp or span before `now` (ISO).

    A span may end in ` ago`. A year, month or day means its beginning; `m` is a month of 30 days.
    Returns None for any other text.
    """
    text = text.strip()
    try:
        if (days := _DAYS_AGO.get(text.lower())) is not None:
            return int(parse_utc(now[:10]).timestamp()) - days * _DAY
        if span := _SPAN_RE.fullmatch(text.lower()):
            seconds = int(span[1]) * _SECONDS_PER_UNIT[span[2]]
            return int(datetime.fromisoformat(now).timestamp()) - seconds
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
