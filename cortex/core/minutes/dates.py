"""Dates in minutes, in seven languages: whole dates, and dates relative to the day of the meeting.

Everything is a function of the text and the meeting's date; no clock is read.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

from cortex.core.minutes.task_parser import valid_date

# In the order en, de, fr, es, it, pt, nl; January to December, then Monday to Sunday. A name may be
# shortened to three letters or more where no other month or day begins so.
_MONTH_NAMES = (
    "january february march april may june july august september october november december",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
)
_WEEKDAY_NAMES = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miércoles jueves viernes sábado domingo",
    "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "segunda terça quarta quinta sexta sábado domingo",
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
)
_NUMBERS = (
    "one two three four five six", "ein zwei drei vier fünf sechs", "une deux trois quatre cinq six",
    "una dos tres cuatro cinco seis", "un due tre quattro cinque sei",
    "uma dois três quatro cinco seis", "een twee drie vier vijf zes",
)  # fmt: skip
_DAYS = {
    0: "today tonight eod cob immediately heute sofort aujourd'hui hoy oggi hoje vandaag",
    1: "tomorrow tmrw morgen demain mañana domani amanhã",
    2: "übermorgen overmorgen après-demain dopodomani",
}
_DAY_BY_WORD = {word: days for days, words in _DAYS.items() for word in words.split()}

_NAME = r"[^\W\d_]{3,12}"
_YEAR = r"(?P<y>(?:19|20)\d\d)"
_OF = r"(?:\.?[ ]?(?:(?:of|de|del|di|do)[ ])?|[-/])"
_ORDINAL = r"(?:st|nd|rd|th|er|º|ª|°|\.)?"
_WHOLE_RE = re.compile(
    rf"(?<![\d/.-]){_YEAR}(?P<s>[-/.])(?P<m>\d\d?)(?P=s)(?P<d>\d\d?)(?!\d)"
    rf"|(?<![\d/.-])(?P<d2>\d\d?)(?:\.[ ]?|-)(?P<m2>\d\d?)(?:\.[ ]?|-)(?P<y2>20\d\d|\d\d)(?![\d.])"
    rf"|(?<![\d/.-])(?P<d5>\d\d?)/(?P<m5>\d\d?)/(?P<y5>20\d\d|\d\d)(?![\d/])"
    rf"|(?<!\d)(?P<d3>\d\d?){_ORDINAL}[ ,]?{_OF}(?P<m3>{_NAME})\.?,?(?:[ ]|[-/])?(?:de[ ]|del[ ])?"
    r"(?P<y3>(?:19|20)\d\d)(?!\d)"
    rf"|\b(?P<m4>{_NAME})\.?[ -](?P<d4>\d\d?){_ORDINAL},?(?:[ ]|-)(?P<y4>(?:19|20)\d\d)(?!\d)"
    rf"|(?<!\d){_YEAR.replace('<y>', '<y6>')}[ ](?P<m6>{_NAME})\.?[ ](?P<d6>\d\d?)(?!\d)"
)
_YEARLESS_RE = re.compile(
    rf"(?<![\d/.-])(?P<d>\d\d?){_ORDINAL}[ ]?{_OF}(?P<m>{_NAME})\b"
    rf"|\b(?P<m2>{_NAME})\.?[ -](?P<d2>\d\d?)(?:st|nd|rd|th)?(?![\d:/%.]|[ ]?(?:am|pm|h)\b)"
    r"|(?<![\d/.-])(?P<d3>\d\d?)\.[ ]?(?P<m3>\d\d?)(?:\.(?!\d)|(?![\d.]))"
    r"|(?<![\d/.-])(?P<d4>\d\d?)/(?P<m4>\d\d?)(?![\d/])"
)
_PERIODS = {
    "month": "month months monat monats monaten mois mes meses mese mesi mês meses maand maanden",
    "week": "week weeks woche wochen semaine semaines semana semanas settimana settimane weken",
    "quarter": "quarter quartal quartals trimestre trimestri trimestres kwartaal",
    "year": "year jahr jahres année año anno ano jaar",
    "day": "day days tag tage tagen jour jours día días giorno giorni dia dias dag dagen",
}
_PERIOD_BY_WORD = {word: unit for unit, words in _PERIODS.items() for word in words.split()}
_END_RE = re.compile(
    r"(?i)\b(?:(?:the[ ])?end[ ](?:of[ ])?|ende[ ]|eind(?:e)?[ ](?:van[ ])?"
    r"|fin(?:ales)?[ ](?:de[ ]|d')?|la[ ]fin[ ](?:de[ ]|du[ ])?|fine[ ](?:di[ ])?|(?:o[ ])?fi(?:m|nal)[ ]"
    r"(?:de[ ]|do[ ]|da[ ])?)(?:the[ ]|this[ ]|des[ ]|der[ ]|du[ ]|la[ ]|el[ ]|del[ ]|de[ ]|ce[ ]|cette[ ]"
    r"|este[ ]|esta[ ]|dieses[ ]|dieser[ ]|da[ ]|do[ ]|il[ ])*(?P<what>[^\W\d_]{3,12})"
    r"|\b(?:(?P<eom>eom|monatsende|maandeinde)|(?P<eow>eow|wochenende|weekeinde))\b"
)
_IN_RE = re.compile(
    r"(?i)\b(?:in|within|dans|d'ici|en|fra|tra|entro|em|over|binnen|innerhalb von|innert)[ ]"
    r"(?P<n>\d{1,3}|[^\W\d_]{1,8})[ ](?P<unit>[^\W\d_]{3,9})\b"
)
_NEXT_RE = re.compile(
    r"(?i)\b(?:next|this|coming|nächste[rnm]?|kommende[rnm]?|diese[rnm]?|próxim[oa]|prossim[oa]|volgende"
    r"|komende|este|questo)[ ](?P<day>[^\W\d_]{3,11})\b"
    r"|\b(?P<day2>[^\W\d_]{3,11})[ ](?:prochain|prossimo|próximo|que viene|que vem|which comes)\b"
)
_WORD_RE = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
# What makes of the date after it a due date.
_CUE_RE = re.compile(
    r"(?i)\b(?:due(?:[ ](?:date|on|by))?|by|until|till?|before|no later than|deadline|eta|bis(?:[ ]spätestens)?"
    r"|spätestens(?:[ ]bis)?|vor|fällig(?:[ ](?:am|bis))?|frist|d['’]ici|avant|pour le|au plus tard|jusqu['’]au"
    r"|échéance|antes del?|para|hasta|a más tardar|plazo|entro|prima d(?:i|el)|per il|scadenza|até|prazo|voor"
    r"|uiterlijk|tegen)\b[ ]?:{0,2}[ ]{0,3}"
    r"(?:the[ ]|on[ ]|of[ ]|le[ ]|la[ ]|el[ ]|il[ ]|l['’]|o[ ]|ao?[ ]|à[ ]|au[ ]|de[ ]|dem[ ]|den[ ]|zum[ ]|zur[ ]|am[ ]"
    r"|next[ ]|this[ ]|nächsten[ ]|kommenden[ ]|próximo[ ]|prossimo[ ]|volgende[ ]|op[ ]|spätestens[ ])*"
)
_BARE_END_RE = re.compile(
    r"(?:[(\[][^()\[\]]{3,40}[)\]]|(?:[ ][–—-]|[,;|])[ ][^–—,;|()]{3,30})[ .]*$"
)
_MAX_TASK_CHARS = 1000  # of a task that are read for its due date


class FoundDate(NamedTuple):
    """A date in a text, as "YYYY-MM-DD", and where it begins and ends."""

    day: str
    start: int
    end: int


def iter_dates(text: str, *, day_first: bool = False) -> Iterator[FoundDate]:
    """The whole dates of a text. 11/12/2026 is ambiguous, and read only if `day_first`."""
    for match in _WHOLE_RE.finditer(text[:2000]):
        groups = {key[0]: value for key, value in match.groupdict().items() if value and key != "s"}
        month, number = groups["m"], int(groups["d"])
        in_numbers = int(month) if month.isdecimal() else _month(month)
        if match["d5"] and not day_first and number != in_numbers:
            if max(number, in_numbers) <= 12:
                continue
            number, in_numbers = max(number, in_numbers), min(number, in_numbers)
        year = groups["y"] if len(groups["y"]) == 4 else f"20{groups['y']}"
        if day := valid_date(f"{year}-{in_numbers:02}-{number:02}"):
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
        return _parse_expression(text.strip(), base, anywhere=True)
    for cue in _CUE_RE.finditer(text):
        if day := _parse_expression(text[cue.end() : cue.end() + 80], base):
            return day
    if end := _BARE_END_RE.search(text):
        part = end[0].strip(" ()[],;|–—-.")
        if (day := _parse_expression(part, base)) and len(part) <= 24:
            return day
    return _relative_anywhere(text, base) if base else ""


def is_date_only(text: str, base: str) -> bool:
    """True if a short text such as `Nov 16` or `bis Freitag` says nothing but a due date."""
    rest = _CUE_RE.sub("", text.strip(), count=1)
    return len(rest) <= 24 and len(rest.split()) <= 4 and bool(_parse_expression(rest, base))


def _parse_expression(text: str, base: str, *, anywhere: bool = False) -> str:
    """The date with which `text` begins (or that it holds anywhere)."""
    for found in iter_dates(text, day_first=True):
        if anywhere or found.start <= _weekday_length(text):
            return found.day
    if not base:
        return ""
    start = dt.date.fromisoformat(base)
    at, limit = 0, 80 if anywhere else _weekday_length(text)
    while (match := _YEARLESS_RE.search(text[:80], at)) and match.start() <= limit:
        if day := _with_year(match, start):
            return day
        at = match.start() + 1  # `Friday 3` may stand before `May`
    end = _END_RE.match(text) or (_END_RE.search(text) if anywhere else None)
    if end:
        return _end_of(end, start)
    within = _IN_RE.match(text)
    if within or anywhere:
        return _relative_anywhere(text, base) or _weekday_day(text, start)
    return _weekday_day(text, start) or _day_word(text, start)


def _weekday_length(text: str) -> int:
    """How long the name of a weekday before a date is: `Friday, Nov 3`."""
    word = _WORD_RE.match(text)
    if not word or _weekday(word[0]) is None:
        return 0
    rest = re.match(r"[.,]?[ ]?(?:the[ ]|den[ ]|el[ ]|le[ ])?", text[word.end() :])
    return word.end() + (rest.end() if rest else 0)


def _with_year(match: re.Match[str], start: dt.date) -> str:
    groups = {key[0]: value for key, value in match.groupdict().items() if value}
    month = int(groups["m"]) if groups["m"].isdecimal() else _month(groups["m"])
    for year in (start.year, start.year + 1):
        day = valid_date(f"{year}-{month:02}-{int(groups['d']):02}")
        if day >= start.isoformat():
            return day
    return ""


def _end_of(match: re.Match[str], start: dt.date) -> str:
    word = (match["what"] or "").casefold()
    unit = "month" if match["eom"] else "week" if match["eow"] else _PERIOD_BY_WORD.get(word, "")
    month, year = start.month, start.year
    if unit == "week":
        return (start + dt.timedelta((4 - start.weekday()) % 7)).isoformat()
    if unit == "quarter":
        month = (month + 2) // 3 * 3
    elif unit == "year":
        month = 12
    elif unit != "month":
        month = _month(word)
        year += month < start.month
        if not month:
            return ""
    return f"{year}-{month:02}-{calendar.monthrange(year, month)[1]:02}"


def _relative_anywhere(text: str, base: str) -> str:
    """The day of `tomorrow`, `next Monday` or `in two weeks`, wherever it stands."""
    start = dt.date.fromisoformat(base)
    for match in _NEXT_RE.finditer(text):
        if day := _weekday_day(match["day"] or match["day2"], start):
            return day
    for match in _IN_RE.finditer(text):
        unit = _PERIOD_BY_WORD.get(match["unit"].casefold(), "")
        number = int(match["n"]) if match["n"].isdecimal() else _NUMBER_BY_WORD.get(match["n"], 0)
        if unit in ("day", "week") and number:
            return (start + dt.timedelta(number * (7 if unit == "week" else 1))).isoformat()
        if unit == "month" and number:
            years, month = divmod(start.month - 1 + number, 12)
            year = start.year + years
            last = calendar.monthrange(year, month + 1)[1]
            return f"{year}-{month + 1:02}-{min(start.day, last):02}"
    if (end := _END_RE.search(text)) and (day := _end_of(end, start)):
        return day
    for word in _WORD_RE.finditer(text):
        if word[0].casefold() != "eod" and (day := _day_word(word[0], start)):
            return day
    return ""


def _day_word(text: str, start: dt.date) -> str:
    word = _WORD_RE.match(text)
    days = _DAY_BY_WORD.get(word[0].casefold().replace("’", "'")) if word else None
    return (start + dt.timedelta(days)).isoformat() if days is not None else ""


def _weekday_day(text: str, start: dt.date) -> str:
    """The first such weekday after the day of the meeting."""
    word = _WORD_RE.match(text)
    number = _weekday(word[0]) if word else None
    if number is None:
        return ""
    return (start + dt.timedelta((number - start.weekday() - 1) % 7 + 1)).isoformat()


def fold(text: str) -> str:
    """The text in lowercase and without accents."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in plain if not unicodedata.combining(char))


def _shortened(tables: tuple[str, ...]) -> dict[str, int]:
    """The number of each name and of each unambiguous beginning of three letters or more."""
    numbers: dict[str, set[int]] = {}
    full: dict[str, int] = {}
    for table in tables:
        for number, name in enumerate(fold(table).split()):
            full[name] = number
            for length in range(3, len(name)):
                numbers.setdefault(name[:length], set()).add(number)
    return {name: min(some) for name, some in numbers.items() if len(some) == 1} | full


_MONTH_BY_NAME = _shortened(_MONTH_NAMES) | {"mrt": 2, "sept": 8}
# Shortened, these would be words or names of people.
_NO_WEEKDAYS = frozenset(("die", "mar", "mit", "qui", "sam", "son", "dom", "ter", "qua"))
_WEEKDAY_BY_NAME = {
    name: day for name, day in _shortened(_WEEKDAY_NAMES).items() if name not in _NO_WEEKDAYS
}
_NUMBER_BY_WORD = {
    word: number for table in _NUMBERS for number, word in enumerate(table.split(), 1)
} | {"a": 1, "eine": 1, "einer": 1, "einem": 1, "duas": 2}


def _month(name: str) -> int:
    """1 to 12, or 0."""
    return _MONTH_BY_NAME.get(fold(name), -1) + 1


def _weekday(name: str) -> int | None:
    """0 for Monday. A shortened name of less than three letters is none."""
    return _WEEKDAY_BY_NAME.get(fold(name).removesuffix("-feira"))
