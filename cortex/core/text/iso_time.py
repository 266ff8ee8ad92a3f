"""Parse times, dates and spans, the same way on every Python: clones that merge may run different
ones. Verbs, and `after:` and `before:` in a query, have one grammar."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from cortex.core.text.days import UTC as UTC_ZONE, Zone, clock, first_moment
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import format_time

MOMENT_EXAMPLES = "2026-11-20, 2026-11, yesterday, or a span such as 90min, 12h, 7d, 2w, 3m"

_HOUR, _SIXTY = r"(?:[01]\d|2[0-3])", r"[0-5]\d"
_DATE = r"(?:\d{4}-\d\d-\d\d|\d{8}|\d{4}-W\d\d(?:-\d)?|\d{4}W\d{2,3})"
_SECONDS = rf"{_SIXTY}(?:[.,]\d+)?"
_TIME = rf"{_HOUR}(?::{_SIXTY}(?::{_SECONDS})?|{_SIXTY}(?:{_SECONDS})?)?"
_ZONE = rf"(?:Z|[+-]{_TIME})"
_ISO_TIME_RE = lazy_re(rf"{_DATE}(?:[Tt ]{_TIME}{_ZONE}?)?", re.ASCII)

_SPAN_RE = lazy_re(r"([0-9]{1,5})(min|[hdwmy])(?: ago)?")
_DATE_RE = lazy_re(r"([1-9][0-9]{3})(?:-([0-9]{2}))?(?:-([0-9]{2}))?")  # before 1000: a slip
_DAY = 86400  # seconds
_DAYS_AGO = {"today": 0, "yesterday": 1, "tomorrow": -1}
_SECONDS_PER_UNIT = {
    "min": 60, "h": 3600, "d": _DAY, "w": 7 * _DAY, "m": 30 * _DAY, "y": 365 * _DAY,
}  # fmt: skip


def parse_utc(text: str) -> datetime:
    """The time that a text names, in UTC, which is also the default zone. Raises `ValueError` for
    all that Pythons read differently: hour 24 (3.14 and later read it); a fraction of an hour, a
    point without digits, a zone of 16:60 (earlier ones do)."""
    if not _ISO_TIME_RE.fullmatch(text):
        raise ValueError(f"not a time: {text[:40]!r}")
    time = datetime.fromisoformat(text)
    try:
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except OverflowError as error:  # before the year 1 or after 9999
        raise ValueError(str(error)) from error


def read_time(text: str) -> tuple[int, str] | None:
    """Seconds since the epoch for a time, with its ISO form if it is none in UTC; None for other texts."""
    try:
        seconds = int(parse_utc(text := text.strip()).timestamp())
    except ValueError:
        return None
    is_day = len(text) <= 10 and "T" not in text
    form = datetime.fromisoformat(text).replace(microsecond=0).isoformat()
    return seconds, "" if text[-1] in "Zz" else form[:10] if is_day else form


def epoch_seconds(text: str) -> int:
    """Seconds since the epoch for a text that begins like `2026-11-20T16:45:12`, in UTC; else 0."""
    try:
        time = datetime.fromisoformat(text[:19])
    except ValueError:
        return 0
    return int(time.replace(tzinfo=UTC).timestamp()) if len(text) >= 19 else 0


def parse_moment(text: str, now: str, zone: Zone = UTC_ZONE) -> int | None:
    """Seconds since the epoch for a year, month, day, ISO timestamp or span before `now` (ISO).

    A span may end in ` ago`. A year, month or day means its beginning in the zone; `m` is a month of
    30 days. Returns None for any other text.
    """
    text = text.strip()
    try:
        if span := _SPAN_RE.fullmatch(text.lower()):
            seconds = int(span[1]) * _SECONDS_PER_UNIT[span[2]]
            return int(datetime.fromisoformat(now).timestamp()) - seconds
        if (days := _DAYS_AGO.get(text.lower())) is not None:
            today = int(parse_utc(clock(now, zone)[:10]).timestamp())
            return first_moment(today - days * _DAY, zone)
        if date := _DATE_RE.fullmatch(text):
            moment = datetime(int(date[1]), int(date[2] or 1), int(date[3] or 1), tzinfo=UTC)
        elif "T" in text.upper():
            moment = parse_utc(text)
            if datetime.fromisoformat(text).tzinfo:
                return int(moment.timestamp())
        else:
            return None
        return first_moment(int(moment.timestamp()), zone)
    except (ValueError, OverflowError):
        return None


def parse_period(text: str, now: str, zone: Zone) -> tuple[int, int] | None:
    """Where a year, month or day begins and where it ends; None for any other text."""
    begin, date = parse_moment(text, now, zone), _DATE_RE.fullmatch(text.strip())
    if begin is None or not (date or text.strip().lower() in _DAYS_AGO):
        return None
    kept, days = (4, 366) if date and not date[2] else (7, 31) if date and not date[3] else (10, 1)
    inside = parse_utc(clock(format_time(begin), zone)[:10]).timestamp() + days * _DAY
    end = parse_moment(format_time(inside)[:kept], now, zone)
    return None if end is None else (begin, end)


def parse_day(text: str) -> str | None:
    """`YYYY-MM-DD` of a day that the calendar has, else None."""
    date = _DATE_RE.fullmatch(text.strip())
    if date is None or date[3] is None:
        return None
    try:
        return datetime(int(date[1]), int(date[2]), int(date[3]), tzinfo=UTC).date().isoformat()
    except ValueError:
        return None
