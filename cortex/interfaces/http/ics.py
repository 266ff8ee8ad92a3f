"""Open actions as a calendar (RFC 5545), for the programs that people keep their days in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any

from cortex.core.text.iso_time import parse_day
from cortex.operations.exchange.export_views import calendar_lines


def calendar_of(actions: Iterable[Mapping[str, Any]]) -> str:
    """The actions that have a day, each as an event of that day; `actions` is as the verb answers them."""
    name = "X-WR-CALNAME", "Cortex actions"
    return b"".join(calendar_lines("actions", map(_event, actions), name)).decode()


def _event(one: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    try:
        first = date.fromisoformat(parse_day(one["due"][:10]) or "")
        last = first + timedelta(days=1)
    except (ValueError, OverflowError):  # soon, or the last day that there is
        return ()
    owner = f" ({one['owner']})" if one["owner"] else ""
    stamp = one["date"].replace("-", "").replace(":", "")
    return (
        ("BEGIN", "VEVENT"), ("UID", f"{one['id']}@cortex"),
        ("DTSTAMP", stamp if len(stamp) == 16 else "19700101T000000Z"),
        ("DTSTART;VALUE=DATE", f"{first:%Y%m%d}"), ("DTEND;VALUE=DATE", f"{last:%Y%m%d}"),
        ("SUMMARY", one["title"] + owner), ("DESCRIPTION", one["path"]), ("TRANSP", "TRANSPARENT"),
        ("END", "VEVENT"),
    )  # fmt: skip
