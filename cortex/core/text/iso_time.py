"""Parse ISO 8601 times, the same way on every Python: clones that merge may run different ones."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_HOUR, _SIXTY = r"(?:[01]\d|2[0-3])", r"[0-5]\d"
_DATE = r"(?:\d{4}-\d\d-\d\d|\d{8}|\d{4}-W\d\d(?:-\d)?|\d{4}W\d{2,3})"
_SECONDS = rf"{_SIXTY}(?:[.,]\d+)?"
_TIME = rf"{_HOUR}(?::{_SIXTY}(?::{_SECONDS})?|{_SIXTY}(?:{_SECONDS})?)?"
_ZONE = rf"(?:Z|[+-]{_TIME})"
_ISO_TIME_RE = re.compile(rf"{_DATE}(?:[Tt ]{_TIME}{_ZONE}?)?", re.ASCII)

_DIGIT_REMOVAL = dict.fromkeys(range(48, 58))


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


def epoch_seconds(text: str) -> int:
    """Seconds since the epoch for a text that begins like `2026-11-20T16:45:12`, in UTC; else 0."""
    try:
        time = datetime.fromisoformat(text[:19])
    except ValueError:
        return 0
    return int(time.replace(tzinfo=UTC).timestamp()) if len(text) >= 19 else 0


def time_sort_key(text: str) -> tuple[bool, str, str]:
    """Sort key of times: unreadable ones first; UTC where no zone is named."""
    # The form that Cortex writes, tested quickly.
    if len(text) == 20 and text[4::3] == "--T::Z" and text.translate(_DIGIT_REMOVAL) == "--T::Z":
        return True, text[:19], text
    try:
        return True, parse_utc(text).replace(tzinfo=None).isoformat(), text
    except ValueError:
        return False, "", text
