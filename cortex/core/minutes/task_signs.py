"""The signs in a task's line, of Obsidian Tasks and of Dataview: the table of them; and lines that are
ticked, opened again and repeated as these programs do it."""

from __future__ import annotations

import datetime as dt
import re
from calendar import monthrange
from collections.abc import Mapping

from cortex.core.minutes.dates import WEEKDAY_BY_NAME, month_number
from cortex.core.text.iso_time import parse_day
from cortex.core.text.lazy_re import lazy_re

ISO_DAY = r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)"
_DAY = rf"(?:\[\[[^\[\]\n]{{0,80}}?{ISO_DAY}[^\[\]\n]{{0,80}}\]\]|{ISO_DAY}(?:[T ]\d\d:\d\d)?)"
# Only before other signs: among words these are pictures.
_IDS = r"[\w-]+(?:[ ]{0,3},[ ]{0,3}[\w-]+){0,20}(?=\s{0,9}(?:[^\w\s.,;:!?'-]|$))"
# The name in Dataview: the signs in Tasks, and what follows one.
_SIGNS = {
    "due": ("📅📆🗓", _DAY), "start": ("🛫", _DAY), "scheduled": ("⏳⌛", _DAY), "created": ("➕", _DAY),
    "completion": ("✅", _DAY), "cancelled": ("❌", _DAY), "reminder": ("⏰", _DAY),
    "repeat": ("🔁", r"(?i:every)(?:[ ,!]{1,3}[a-zA-Z0-9]+(?![a-zA-Z0-9]|[ ]?::))*"), "priority": ("🔺⏫🔼🔽⏬", ""), "id": ("🆔", _IDS),
    "dependsOn": ("⛔", _IDS), "onCompletion": ("🏁", r"(?:keep|delete)\b"),
}  # fmt: skip
_NAMES = {name.lower(): name for name in _SIGNS}
_DAYS = [name for name, (_, value) in _SIGNS.items() if value == _DAY]
_IN_TASKS = "|".join(
    f"[{signs}]\ufe0f?(?P<{name}>{value and '[ ]{0,3}'}{value})"
    for name, (signs, value) in _SIGNS.items()
)
_BARE = "|".join(
    rf"(?i:{name})[ ]?::[ ]{{0,3}}(?P<bare_{name}>{value or '(?:high|low)(?:est)?|medium'})"
    for name, (_, value) in _SIGNS.items()
)
_SIGN_RE = lazy_re(
    rf"[ \t]{{0,9}}(?:(?P<tasks>{_IN_TASKS}|(?P<task>(?<!\S)#task(?![\w/-])))"
    rf"|[\[(][ ]{{0,3}}(?i:(?P<key>{'|'.join(_SIGNS)}))[ ]?::(?P<field>(?:\[\[[^\[\]\n]{{0,200}}\]\]|[^\[\]()\n]){{0,200}})[\])],?"
    rf"|\b(?:{_BARE})"
    r"|(?P<block>(?<!\S)\^[a-zA-Z0-9-]+(?=\s*$)))"
)
_ISO_DAY_RE = lazy_re(ISO_DAY)
_BOX_RE = lazy_re(r"([ \t>*+\-0-9.)]*\[)[^\n](?=\](?:\s|$))")
_MOVED = ("due", "scheduled", "start")  # to the next time: all by as many days as the first of them
_CLOSED = ("completion", "cancelled")
_OF_ONE_TIME = (*_CLOSED, "id", "dependsOn", "block")
# Words of a rule: the last or second last, an ordinal, another word or number.
_WORD_RE = lazy_re(r"(?:(\d)(?:st|nd|rd) )?(last\b)|(\d{1,2})(?:st|nd|rd|th)\b|([a-z]+|\d+|,)|\S")
_JOINING_WORDS = ("on", "the", "and", "or", "of", ",", "day")
_DAYS_OF_UNIT = {"day": 1, "week": 7, "month": 31, "year": 366}
_MAX_INTERVAL, _MAX_PERIODS = 99, 9  # of leap years eight may pass


def _read(found: re.Match[str]) -> tuple[str, str]:
    """The name of a sign and its value; a day that the calendar does not have is empty."""
    kind = next(name for name, value in reversed(found.groupdict().items()) if value is not None)
    name = _NAMES.get((found["key"] or kind.removeprefix("bare_")).lower(), kind)
    day = _ISO_DAY_RE.search(found[kind]) if name in _DAYS else None
    return name, (day and parse_day(day[0])) or "" if name in _DAYS else found[kind].strip()


def signs_of(text: str) -> dict[str, str]:
    """The signs of a task by name, of several the first."""
    return dict(map(_read, reversed([*_SIGN_RE.finditer(text)])))


def take_signs(text: str) -> tuple[str, str]:
    """The text without its signs, and the day when it is due. A due that is no day stays."""
    due = signs_of(text).get("due", "")
    return _SIGN_RE.sub(lambda one: one[0] if _read(one) == ("due", "") else " ", text), due


def opened(line: str) -> str:
    """A task with an empty box, and without the day when it was closed."""
    return _marked(_SIGN_RE.sub(lambda one: "" if _read(one)[0] in _CLOSED else one[0], line), " ")


def _marked(line: str, mark: str) -> str:
    box = _BOX_RE.match(line)
    return f"{box[1]}{mark}{line[box.end() :]}" if box else line


def ticked(line: str, today: str) -> str:
    """A task with a cross in its box; if it has signs, with the day as they are written, in place
    of one when it was closed. Without a day they stay."""
    found = [*_SIGN_RE.finditer(line)]
    if not today or all(one["block"] for one in found):
        return _marked(line, "x")
    done = f" ✅ {today}" if any(one["tasks"] for one in found) else f"  [completion:: {today}]"
    line = opened(line)
    end = next((one.start() for one in _SIGN_RE.finditer(line) if one["block"]), len(line.rstrip()))
    return _marked(f"{line[:end]}{done}{line[end:]}", "x")


def lost_of(line: str, today: str, *, undo: bool) -> str:
    """What to say of a line that is ticked, or opened, if the opposite does not bring it back."""
    back = ticked(opened(line), today) if undo else opened(ticked(line, today))
    return "" if back == line else f"only your editor brings back {line.strip()}"


def with_boxes(body: bytes, marks: Mapping[int, bool], today: str) -> bytes:
    """The text with the boxes on these lines, which count from 0, ticked or opened."""
    lines = body.splitlines(keepends=True)
    for at in marks.keys() & range(len(lines)):
        line = lines[at].decode("utf-8", "surrogateescape")
        line = ticked(line, today) if marks[at] else opened(line)
        lines[at] = line.encode("utf-8", "surrogateescape")
    return b"".join(lines)


def next_line(line: str, today: str) -> str:
    """The next time of a task that recurs: its days are moved together, and what belongs to one time
    is left out. Empty for a rule that is not understood."""
    line = opened(line)
    signs = signs_of(line)
    rule = signs.get("repeat", "").lower()
    bare = rule.removesuffix("when done")
    begin = next((signs[name] for name in _MOVED if signs.get(name)), today)
    upcoming = next_day(bare, begin if bare == rule else today)
    if not upcoming:
        return ""
    later = dt.date.fromisoformat(upcoming) - dt.date.fromisoformat(begin)

    def change(found: re.Match[str]) -> str:
        name, value = _read(found)
        if name in _OF_ONE_TIME:
            return ""
        day = dt.date.fromisoformat(value) + later if value and name in _MOVED else today
        is_changed = value and name in (*_MOVED, "created")
        return found[0].replace(value, f"{day}") if is_changed else found[0]

    return _SIGN_RE.sub(change, line)


def next_day(rule: str, begin: str) -> str:
    """The first day after the one from which a rule counts that it names; empty for a rule that is not
    understood."""
    every, *words = _WORD_RE.findall(rule.lower()) or [()]
    interval, unit, months, ordinals = 1, "", set[int](), list[int]()
    named = set[int | tuple[int, int]]()  # days of a month, from its end below 0; or which weekdays
    for at, (from_last, last, ordinal, word) in enumerate(words):
        name = word.removesuffix("s")
        if at == 0 and (word.isdecimal() or word == "other"):
            interval = int(word) if word.isdecimal() else 2
        elif not unit and name in _DAYS_OF_UNIT:
            unit = name
        elif last or ordinal:
            ordinals.append(int(ordinal) if ordinal else -int(from_last or 1))
        elif (weekday := WEEKDAY_BY_NAME.get(name)) is not None:
            named.update((one, weekday) for one in ordinals or [0])
            ordinals.clear()
        elif name == "weekday":
            named.update((0, day) for day in range(5))
        elif name and (month := month_number(name)):
            months.add(month)
        elif name not in _JOINING_WORDS:
            return ""
    unit = unit or ("year" if months else "week" if named else "")
    if every[3:] != ("every",) or not unit or not 0 < interval <= _MAX_INTERVAL:
        return ""
    first, named = dt.date.fromisoformat(begin), {*named, *ordinals}
    latest = first.toordinal() + _DAYS_OF_UNIT[unit] * (interval + 1) * _MAX_PERIODS
    for number in range(first.toordinal() + 1, min(latest, dt.date.max.toordinal()) + 1):
        day = dt.date.fromordinal(number)
        days, years, weekday = (day - first).days, day.year - first.year, day.weekday()
        periods = {"day": days, "week": (days + first.weekday()) // 7, "year": years}
        periods["month"] = 12 * years + day.month - first.month
        of_month = day.month in months if months else unit != "year" or day.month == first.month
        if periods[unit] % interval or not of_month:
            continue
        left = monthrange(day.year, day.month)[1] - day.day
        nth = ((which, weekday) for which in (0, (day.day + 6) // 7, -1 - left // 7))
        is_same = day.day == first.day or (left == 0 and day.day < first.day)
        like_first = {"day": True, "week": weekday == first.weekday()}.get(unit, is_same)
        if not named.isdisjoint({day.day, -1 - left, *nth}) if named else like_first:
            return day.isoformat()
    return ""
