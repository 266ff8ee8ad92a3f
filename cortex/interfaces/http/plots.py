"""Small pictures as SVG, drawn of what the verb `calendar` answers. The page puts them into itself and colours their
classes; without it they are black on nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from cortex.core.text.strings import shorten

_WIDTH, _HEIGHT, _BOTTOM = 640, 120, 100  # units of the picture; where its axis lies
_BAR_HEIGHT, _MAX_BARS, _MAX_TITLE_CHARS = 22, 8, 48
_MIN_WEEKS = 12  # the first bar of a vault is no wall
_Answer = Mapping[str, Any]


def captures_a_week(answer: _Answer) -> str:
    """A bar for each week."""
    weeks = _weeks(answer)
    counts = [week["captures"] for week in weeks]
    most, step = max(counts, default=0) or 1, _WIDTH / max(1, len(weeks))
    bars = [
        f'<rect class="bar" x="{at * step + 1:.1f}" y="{_BOTTOM - 90 * count / most:.1f}" width="{max(1.0, step - 2):.1f}"'
        f' height="{90 * count / most:.1f}"><title>{week["date"]}: {count:,}</title></rect>'
        for at, (week, count) in enumerate(zip(weeks, counts, strict=True))
    ]
    return _picture(f"Captures a week, at most {most:,}", [*bars, *_axis(weeks)], _HEIGHT)


def open_actions(answer: _Answer) -> str:
    """How many actions were open at the end of each week, as a line."""
    weeks = _weeks(answer)
    counts = [week["open"] for week in weeks]
    most, step = max(counts, default=0) or 1, _WIDTH / max(1, len(weeks) - 1)
    points = " ".join(
        f"{at * step:.1f},{_BOTTOM - 90 * count / most:.1f}" for at, count in enumerate(counts)
    )
    line = f'<polyline class="line" fill="none" stroke="currentColor" stroke-width="2" points="{points}"/>'
    now = counts[-1] if counts else 0
    return _picture(f"Open actions over time, {now:,} now", [line, *_axis(weeks)], _HEIGHT)


def used_notes(answer: _Answer) -> str:
    """What agents and people used most, a bar for each note."""
    used = answer["used"][:_MAX_BARS]
    most = max((one["uses"] for one in used), default=0) or 1
    rows = []
    for at, one in enumerate(used):
        y = at * _BAR_HEIGHT
        title = shorten(one["title"], _MAX_TITLE_CHARS)
        rows.append(
            f'<rect class="bar" x="330" y="{y + 4}" width="{260 * one["uses"] / most:.1f}" height="14"/>'
        )
        rows.append(
            f'<text x="322" y="{y + 15}" text-anchor="end" font-size="12">{escape(title)}</text>'
        )
        rows.append(
            f'<text x="{335 + 260 * one["uses"] / most:.1f}" y="{y + 15}" font-size="12">{one["uses"]:,}</text>'
        )
    return _picture("What was used most", rows, max(1, len(used)) * _BAR_HEIGHT)


PLOTS: dict[str, Callable[[_Answer], str]] = {
    "captures": captures_a_week, "open-actions": open_actions, "used": used_notes,
}  # fmt: skip


def _weeks(answer: _Answer) -> list[_Answer]:
    """The weeks; where they are few, with empty ones before them."""
    weeks = list(answer["weeks"])
    while weeks and len(weeks) < _MIN_WEEKS:
        monday = date.fromisoformat(weeks[0]["date"]) - timedelta(days=7)
        weeks.insert(0, {"date": monday.isoformat(), "captures": 0, "open": 0})
    return weeks


def _axis(weeks: Sequence[Mapping[str, Any]]) -> list[str]:
    """The line below, with the first and the last day."""
    ends = (weeks[0]["date"], weeks[-1]["date"]) if weeks else ("", "")
    return [
        f'<line class="axis" x1="0" y1="{_BOTTOM}" x2="{_WIDTH}" y2="{_BOTTOM}" stroke="currentColor" stroke-width="0.5"/>',
        f'<text x="0" y="{_HEIGHT - 4}" font-size="12">{ends[0]}</text>',
        f'<text x="{_WIDTH}" y="{_HEIGHT - 4}" text-anchor="end" font-size="12">{ends[1]}</text>',
    ]


def _picture(title: str, parts: Sequence[str], height: int) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" aria-label={quoteattr(title)}>'
    return f"{head}<title>{escape(title)}</title>{''.join(parts)}</svg>"
