"""Open actions as a calendar (RFC 5545), for the programs that people keep their days in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import Any

from cortex.core.markdown.snippet import links_as_read
from cortex.core.text.lazy_re import lazy_re
from cortex.operations.exchange.export_views import fold_line

_DAY_RE = lazy_re(r"\d{4}-\d{2}-\d{2}")
_CONTROL_RE = lazy_re(r"[\x00-\x08\x0b-\x1f\x7f]")


def calendar_of(actions: Iterable[Mapping[str, Any]]) -> str:
    """The actions that have a day, each as an event of that day; `actions` is as the verb answers them."""
    lines = [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Cortex//actions//EN",
        "X-WR-CALNAME:Cortex actions",
    ]
    for one in actions:
        if found := _DAY_RE.match(one["due"]):
            lines += _event(one, found[0])
    return b"".join(map(fold_line, (*lines, "END:VCALENDAR"))).decode()


def _event(one: Mapping[str, Any], day: str) -> Iterator[str]:
    try:
        first = date.fromisoformat(day)
        last = first + timedelta(days=1)
    except (ValueError, OverflowError):  # 2026-02-30, or the last day that there is
        return
    owner = f" ({one['owner']})" if one["owner"] else ""
    stamp = one["date"].replace("-", "").replace(":", "")
    yield "BEGIN:VEVENT"
    yield f"UID:{_text(one['id'])}@cortex"
    yield f"DTSTAMP:{stamp if len(stamp) == 16 else '19700101T000000Z'}"
    yield f"DTSTART;VALUE=DATE:{first:%Y%m%d}"
    yield f"DTEND;VALUE=DATE:{last:%Y%m%d}"
    yield f"SUMMARY:{_text(links_as_read(one['title']) + owner)}"
    yield f"DESCRIPTION:{_text(one['path'])}"
    yield "TRANSP:TRANSPARENT"
    yield "END:VEVENT"


def _text(value: str) -> str:
    """A text as a value: what ends it is escaped (RFC 5545, 3.3.11)."""
    value = _CONTROL_RE.sub("", value).encode("utf-8", "replace").decode()
    for mark in "\\;,":
        value = value.replace(mark, f"\\{mark}")
    return value.replace("\n", "\\n")
