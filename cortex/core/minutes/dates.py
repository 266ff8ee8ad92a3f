"""Dates in minutes, in seven languages: whole dates, and dates relative to the day of the meeting.

Everything is a function of the text and the meeting's date; no clock is read.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable, Iterator

from cortex.core.minutes.cues import fold, kind_by_word, lines_of, regex_of, words_of
from cortex.core.text.iso_time import parse_day
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

_NAME = r"[^\W\d_]{3,12}"
_YEAR = r"(?P<y>(?:19|20)\d\d)"
_OF = r"(?:\.?[ ]?(?:(?:of|de|del|di|do)[ ])?|[-/])"
_ORDINAL = r"(?:st|nd|rd|th|er|º|ª|°|\.)?"
_WHOLE_RE = lazy_re(
    rf"(?<![\d/.-]){_YEAR}(?P<s>[-/.])(?P<m>\d\d?)(?P=s)(?P<d>\d\d?)(?!\d)"
    rf"|(?<![\d/.-])(?P<d2>\d\d?)(?:\.[ ]?|-)(?P<m2>\d\d?)(?:\.[ ]?|-)(?P<y2>20\d\d|\d\d)(?![\d.])"
    rf"|(?<![\d/.-])(?P<d5>\d\d?)/(?P<m5>\d\d?)/(?P<y5>20\d\d|\d\d)(?![\d/])"
    rf"|(?<!\d)(?P<d3>\d\d?){_ORDINAL}[ ,]?{_OF}(?P<m3>{_NAME})\.?,?(?:[ ]|[-/])?(?:de[ ]|del[ ])?"
    r"(?P<y3>(?:19|20)\d\d)(?!\d)"
    rf"|\b(?P<m4>{_NAME})\.?[ -](?P<d4>\d\d?){_ORDINAL},?(?:[ ]|-)(?P<y4>(?:19|20)\d\d)(?!\d)"
    rf"|(?<!\d){_YEAR.replace('<y>', '<y6>')}[ ](?P<m6>{_NAME})\.?[ ](?P<d6>\d\d?)(?!\d)"
)
_YEARLESS_RE = lazy_re(
    rf"(?<![\d/.-])(?P<d>\d\d?){_ORDINAL}[ ]?{_OF}(?P<m>{_NAME})\b"
    rf"|\b(?P<m2>{_NAME})\.?[ -](?P<d2>\d\d?)(?:st|nd|rd|th)?(?![\d:/%.]|[ ]?(?:am|pm|h)\b)"
    r"|(?<![\d/.-])(?P<d3>\d\d?)\.[ ]?(?P<m3>\d\d?)(?:\.(?!\d)|(?![\d.]))"
    r"|(?<![\d/.-])(?P<d4>\d\d?)/(?P<m4>\d\d?)(?![\d/])"
)
_DUE_CUE_RE, _END_RE = regex_of("due cues"), regex_of("end of")
_IN_RE, _NEXT_RE = regex_of("within"), regex_of("next weekday")
_WORD_RE = lazy_re(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_BARE_END_RE = lazy_re(r"(?:[(\[][^()\[\]]{3,40}[)\]]|(?:[ ][–—-]|[,;|])[ ][^–—,;|()]{3,30})[ .]*$")
_END_OF_DAY_RE = lazy_re(r"(?i)^(?:eod|cob|end of day)[ ,]+(?:on[ ])?(?=\w)")
_ON_WEEKDAY_RE = lazy_re(r"(?i)\b(?:on|am|op)[ ]([^\W\d_]{5,11})[ .!]*$")
# Before a date that is no due date where it lies far ahead: `as on Nov 3`, which was last year.
_ON_DATE_RE = lazy_re(r"(?i)\b(?:on|at|am|el|le|il|op|em|the)[ ](?=\d|[^\W\d_]+[ ]\d)")
_ON_RE = lazy_re(r"(?i)^(?:on|at|am|el|le|il|op|em)[ ]")
_MAX_DAYS_ON, _MAX_DUE_WORDS = 60, 7
_MAX_TASK_CHARS = 1000  # of a task that are read for its due date


def _numbered(section: str) -> dict[str, int]:
    """The number of each name in lines such as `january february ...`, and of each beginning of
    three letters or more that is of one number alone."""
    names = [(name, at) for line in lines_of(section) for at, name in enumerate(fold(line).split())]
    numbers: dict[str, set[int]] = {}
    for name, number in names:
        for length in range(3, len(name)):
            numbers.setdefault(name[:length], set()).add(number)
    return {name: min(some) for name, some in numbers.items() if len(some) == 1} | dict(names)


_MONTH_BY_NAME = _numbered("months") | {"mrt": 2, "sept": 8}
WEEKDAY_BY_NAME = _numbered("weekdays")
_NUMBER_BY_WORD, _UNIT_BY_WORD = kind_by_word("numbers"), kind_by_word("units")
_DAYS_BY_WORD = kind_by_word("days")
_OF_DATES = words_of("of dates")
_DAY_BEGINNINGS = {word.partition("'")[0] for word in _DAYS_BY_WORD}
# Shortened, these would be words or names of people.
for _name in ("die", "mar", "mit", "qui", "sam", "son", "dom", "ter", "qua"):
    WEEKDAY_BY_NAME.pop(_name, None)


class FoundDate(NamedTuple):
    """A date in a text, as "YYYY-MM-DD", and where it begins and ends."""

    day: str
    start: int
    end: int


def iter_dates(text: str, *, day_first: bool = False) -> Iterator[FoundDate]:
    """The whole dates of a text. 11/12/2026 is ambiguous, and read only if `day_first`."""
    for match in _WHOLE_RE.finditer(text[:2000]):
        if day := _whole_day(match, day_first=day_first):
            yield FoundDate(day, *match.span())


def first_date(text: str, *, day_first: bool = False) -> str:
    """The first whole date in the text, or ""."""
    return next((date.day for date in iter_dates(text, day_first=day_first)), "")


def find_due(text: str, base: str, *, is_cell: bool = False) -> str:
    """The due date that a task's text names, or "": after a word such as `by`, a relative day, or a
    date that ends the text. A cell of a table of due dates `is_cell`: any date counts. Without a
    `base`, the meeting's date, only whole dates are found."""
    text = text[:_MAX_TASK_CHARS]
    if is_cell:
        return _find_day(_DATES + _RELATIVE_DAYS, text[:80], base) or _leading_day(text, base)
    for cue in _DUE_CUE_RE.finditer(text):
        if day := _leading_day(text[cue.end() : cue.end() + 80], base):
            return day
    if end := _BARE_END_RE.search(text):
        part = end[0].strip(" ()[],;|–—-.")
        if len(part) <= 24 and (day := _leading_day(part, base)):
            return day
    on_day = _ON_WEEKDAY_RE.search(text)
    if base and on_day and (weekday := WEEKDAY_BY_NAME.get(fold(on_day[1]))) is not None:
        return _next_weekday(weekday, base)
    for cue in _ON_DATE_RE.finditer(text) if base else ():
        day = _leading_day(text[cue.end() : cue.end() + 60], base)
        if base <= day <= _later(base, _MAX_DAYS_ON):
            return day
    return _find_day(_RELATIVE_DAYS, text, base)


def _later(base: str, days: int) -> str:
    return (dt.date.fromisoformat(base) + dt.timedelta(days)).isoformat()


def is_date_only(text: str, base: str) -> bool:
    """True if a short text such as `Nov 16` or `bis Freitag` says nothing but a due date."""
    rest = _DUE_CUE_RE.sub("", text.strip(), count=1)
    words = [fold(word).strip(".,()") for word in rest.split()]
    if len(rest) > 32 or len(words) > 6 or not all(map(_is_of_date, words)):
        return False
    return bool(_leading_day(rest, base))


def _is_of_date(word: str) -> bool:
    """True of `4th`, `fri`, `month` and `of`, which may stand in a date."""
    known = (
        _MONTH_BY_NAME,
        WEEKDAY_BY_NAME,
        _NUMBER_BY_WORD,
        _UNIT_BY_WORD,
        _DAYS_BY_WORD,
        _OF_DATES,
    )
    return word[:1].isdigit() or any(word.replace("’", "'") in words for words in known)


def without_due(text: str) -> str:
    """The text without a due date and its cue at its end: `Call Ana` of `Call Ana by Friday`. Of
    `Pay by Friday`, of which one word would be left, the text."""
    words = text.rstrip(" .").split(" ")
    for count in range(min(_MAX_DUE_WORDS, len(words) - 1), 0, -1):
        last = " ".join(words[-count:]).strip("()[],;–—-")
        if is_date_only(_ON_RE.sub("", last, count=1), "2000-01-01"):
            rest = " ".join(words[:-count]).rstrip(" ,;:–—-")
            return rest if " " in rest else text
    return text


def _leading_day(text: str, base: str) -> str:
    """The date with which a text begins, after the name of its weekday if that is there."""
    text = _END_OF_DAY_RE.sub("", text.strip())
    word = _WORD_RE.match(text)
    weekday = WEEKDAY_BY_NAME.get(fold(word[0]).removesuffix("-feira")) if word else None
    rest = text
    if word and weekday is not None:
        rest = re.sub(r"^[.,]?[ ]?(?:the[ ]|den[ ]|el[ ]|le[ ])?", "", text[word.end() :])
    day = _find_day(_DATES, rest, base, leading=True)
    day = day or _find_day(_RELATIVE_DAYS, text, base, leading=True)
    return day or (_next_weekday(weekday, base) if base and weekday is not None else "")


def _find_day(
    finders: tuple[DayFinder, ...], text: str, base: str, *, leading: bool = False
) -> str:
    """The day of the first finder that finds one in the text, or where it begins."""
    for regex, day_of in finders:
        if not base and day_of is not _whole_day:
            continue
        # To look at each word of a text takes longer than all else.
        if day_of is _named_day and not any(map(fold(text).__contains__, _DAY_BEGINNINGS)):
            continue
        match = regex.match(text) if leading else regex.search(text)
        while match:
            if day := day_of(match, base):
                return day
            # `Friday 3` may stand before `May`.
            match = None if leading else regex.search(text, match.start() + 1)
    return ""


def _parts(match: re.Match[str]) -> dict[str, str]:
    """The day, month and year of a match: groups are named by these letters and a number."""
    return {key[0]: value for key, value in match.groupdict().items() if value and key != "s"}


def _whole_day(match: re.Match[str], base: str = "", *, day_first: bool = True) -> str:
    """The date; of `12/01/2026` for a task, the reading that does not lie before `base`."""
    parts = _parts(match)
    month, number = month_number(parts["m"]), int(parts["d"])
    if match["d5"] and not day_first and number != month:
        if max(number, month) <= 12:
            return ""
        number, month = max(number, month), min(number, month)
    year = parts["y"] if len(parts["y"]) == 4 else f"20{parts['y']}"
    day = parse_day(f"{year}-{month:02}-{number:02}") or ""
    if match["d5"] and base > day:
        other = parse_day(f"{year}-{number:02}-{month:02}") or ""
        return other if other >= base else day
    return day


def _yearless_day(match: re.Match[str], base: str) -> str:
    parts = _parts(match)
    year = int(base[:4])
    month_and_day = f"{month_number(parts['m']):02}-{int(parts['d']):02}"
    days = (parse_day(f"{each}-{month_and_day}") for each in (year, year + 1))
    return next((day for day in days if day and day >= base), "")


def _end_of_unit(match: re.Match[str], base: str) -> str:
    start = dt.date.fromisoformat(base)
    word = fold(match[match.lastgroup or 0])
    unit = _UNIT_BY_WORD.get(word, "")
    if unit == "week":
        return _later(base, (4 - start.weekday()) % 7)
    months = {"month": start.month, "quarter": (start.month + 2) // 3 * 3, "year": 12}
    month = months.get(unit) or month_number(word)
    return _day_of_month(start.year + (month < start.month), month, 31) if month else ""


def _later_day(match: re.Match[str], base: str) -> str:
    start = dt.date.fromisoformat(base)
    unit = _UNIT_BY_WORD.get(fold(match["unit"]))
    number = int(_NUMBER_BY_WORD.get(fold(match["n"]), match["n"] if match["n"].isdecimal() else 0))
    if not number or unit not in ("day", "week", "month"):
        return ""
    if unit == "month":
        years, month = divmod(start.month - 1 + number, 12)
        return _day_of_month(start.year + years, month + 1, start.day)
    return _later(base, number * (7 if unit == "week" else 1))


def _day_of_month(year: int, month: int, day: int) -> str:
    """The day of the month, or its last."""
    return f"{year}-{month:02}-{min(day, calendar.monthrange(year, month)[1]):02}"


def _named_day(match: re.Match[str], base: str) -> str:
    """The day of `tomorrow`."""
    days = _DAYS_BY_WORD.get(fold(match[0]).replace("’", "'"))
    return _later(base, int(days)) if days else ""


def _coming_weekday(match: re.Match[str], base: str) -> str:
    """The day of `next Monday`."""
    weekday = WEEKDAY_BY_NAME.get(fold(match["day"] or match["day2"]))
    return _next_weekday(weekday, base) if weekday is not None else ""


def _next_weekday(weekday: int, base: str) -> str:
    """The first such weekday after the day of the meeting."""
    return _later(base, (weekday - dt.date.fromisoformat(base).weekday() - 1) % 7 + 1)


def month_number(name: str) -> int:
    """1 to 12, or 0."""
    return int(name) if name.isdecimal() else _MONTH_BY_NAME.get(fold(name), -1) + 1


DayFinder = tuple[re.Pattern[str], Callable[[re.Match[str], str], str]]
_DATES: tuple[DayFinder, ...] = ((_WHOLE_RE, _whole_day), (_YEARLESS_RE, _yearless_day))
_RELATIVE_DAYS: tuple[DayFinder, ...] = (
    (_NEXT_RE, _coming_weekday), (_IN_RE, _later_day), (_END_RE, _end_of_unit), (_WORD_RE, _named_day),
)  # fmt: skip
