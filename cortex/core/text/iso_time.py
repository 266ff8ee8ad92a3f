"""Times in the forms of ISO 8601, read the same by every Python: of two clones that merge, each may run another one."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_HOUR, _MINUTES_OR_SECONDS = r"(?:[01]\d|2[0-3])", r"[0-5]\d"
_DATE = r"(?:\d{4}-\d\d-\d\d|\d{8}|\d{4}-W\d\d(?:-\d)?|\d{4}W\d{2,3})"
_TIME = rf"{_HOUR}(?::{_MINUTES_OR_SECONDS}(?::{_MINUTES_OR_SECONDS}(?:[.,]\d+)?)?|{_MINUTES_OR_SECONDS}(?:{_MINUTES_OR_SECONDS}(?:[.,]\d+)?)?)?"
_ZONE = rf"(?:Z|[+-]{_HOUR}(?::{_MINUTES_OR_SECONDS}(?::{_MINUTES_OR_SECONDS}(?:[.,]\d+)?)?|{_MINUTES_OR_SECONDS}(?:{_MINUTES_OR_SECONDS}(?:[.,]\d+)?)?)?)"
_ISO_TIME_RE = re.compile(rf"{_DATE}(?:[Tt ]{_TIME}{_ZONE}?)?", re.ASCII)

_DIGIT_REMOVAL = dict.fromkeys(range(48, 58))


def parse_utc(text: str) -> datetime:
    """The time that a text names, in UTC; without a zone it is taken for UTC. Read is what all Pythons read alike. `ValueError` for
    anything else: hour 24, which 3.14 and later take; a fraction of an hour, a point with no digits behind or a zone of 16:60,
    which only earlier ones do."""
    if not _ISO_TIME_RE.fullmatch(text):
        raise ValueError(f"not a time: {text[:40]!r}")
    time = datetime.fromisoformat(text)
    try:
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except OverflowError as error:  # before the year 1 or after 9999
        raise ValueError(str(error)) from error


def epoch_seconds(text: str) -> int:
    """A time that begins like `2026-11-20T16:45:12`, taken for UTC, as seconds since the epoch; 0 when it is no such time."""
    try:
        time = datetime.fromisoformat(text[:19])
    except ValueError:
        return 0
    return int(time.replace(tzinfo=UTC).timestamp()) if len(text) >= 19 else 0


def time_sort_key(text: str) -> tuple[bool, str, str]:
    """What times are ordered by: one that can be read comes after one that cannot; without a zone it is UTC."""
    # As Cortex writes it: nearly every time, and quick to tell.
    if len(text) == 20 and text[4::3] == "--T::Z" and text.translate(_DIGIT_REMOVAL) == "--T::Z":
        return True, text[:19], text
    try:
        return True, parse_utc(text).replace(tzinfo=None).isoformat(), text
    except ValueError:
        return False, "", text
