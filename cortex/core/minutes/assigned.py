"""To whom a task is given, and until when, where it says so at its end: `book a room (Ana, Friday)`."""

from __future__ import annotations

from cortex.core.minutes import cues
from cortex.core.minutes.blocks import ARROW_RE, parse_field
from cortex.core.minutes.dates import find_due, is_date_only
from cortex.core.minutes.sentences import FULL_NAME_RE, Speech
from cortex.core.minutes.task_parser import NAME_SEPARATOR_RE, NameSet, parse_people
from cortex.core.text.lazy_re import lazy_re

# At the end, or before more in brackets or an arrow: `(Ana) -> page 2`.
_BRACKETS_RE = lazy_re(r"[ ]?[(\[]([^()\[\]]{1,60})[)\]](?=[ .]*$|[ ]?(?:[(→⇒]|[-=]>))")
_GIVEN_RE = lazy_re(r"[ ]?(?:[-=]?[→⇒]|[-=]>)[ ]{0,3}([^→⇒>]{2,60})$")
_TOLD_RE = lazy_re(r"(?::|[ ][–—-])[ ]([^:–—>→()\[\]]{2,60}?)[ .]*$")
_PARTS_RE = lazy_re(
    r"[ ]?(?:[;/(]|,(?!(?:[ ](?:19|20)\d\d\b)))[ ]?|[ ](?=(?:bis|by|until|avant|antes|hasta)[ ])"
)
_DOES_IT_RE, _IN_CHARGE_RE = cues.regex_of("does it"), cues.regex_of("in charge")
LINK_RE = lazy_re(r"\[([^\[\]]{1,80})\]\([^()]{0,300}\)")
_TRAILING_OWNER_RE = lazy_re(r"(?:[ ](?:[–—|←-]|[-=]>)|[ ]?[→:])[ ]?([^–—:→\n]{1,60}?)[ .]*$")
_TRAILING_INITIALS_RE = lazy_re(r"[\w)],[ ](\w{2,20})[ .]*$")
EVERYONE = ("all", "everyone", "everybody", "alle", "tous", "todos", "tutti", "allen")
_MAX_TRAILING, _MAX_TRAILING_CHARS = 4, 100  # parts behind a task, such as a name and a day
_MIN_TASK_CHARS = 4


def _who_and_when(text: str, names: NameSet, date: str, *, strict: bool) -> tuple[str, str]:
    """The people and the day that `Ana, Ben; by Friday` consists of; empty if it says more."""
    people, days = [], []
    base = date or "2000-01-01"
    for part in _PARTS_RE.split(text.strip(" ()[]")):
        key, value = parse_field(part)
        said = value if {"owner", "due"}.intersection(cues.column_kinds(key)) else part.strip()
        if is_date_only(said, base):
            days.append(find_due(said, date, is_cell=True))
        elif who := parse_people(_DOES_IT_RE.sub("", said), names, strict):
            people.append(who)
        else:
            return "", ""
    return (", ".join(people), days[0] if days else "") if len(days) < 2 else ("", "")


def take_brackets(text: str, names: NameSet, date: str) -> tuple[str, str, str]:
    """The text without brackets with a day, or a day beside people; these, and the day."""
    for found in reversed([*_BRACKETS_RE.finditer(text)]):
        people, day = _who_and_when(found[1], names, date, strict=False)
        if day and not people and find_due(text[: found.start()], date):
            break
        if not day:
            people, _ = _who_and_when(found[1], names, date, strict=True)
        if found.start() and (day or people):
            return text[: found.start()] + text[found.end() :], people, day
    return text, "", ""


def given_task(text: str, speech: Speech, date: str) -> tuple[str, str, str] | None:
    """Task, people and day of `**Ana** → call Ben (Fri)` and `call Ben → Ana, Fri`; else None."""
    lead = speech.leading_people(text)
    after = text[lead.end :].lstrip("*_: ") if lead else ""
    if lead and (arrow := ARROW_RE.match(after)):
        return after[arrow.end() :], lead.names, ""
    if charge := _IN_CHARGE_RE.match(text):
        said = charge["owner"].strip(" .")
        people, day = _who_and_when(said, speech.names, date, strict=not charge["label"])
        full = charge["label"] and all(map(FULL_NAME_RE.fullmatch, NAME_SEPARATOR_RE.split(said)))
        people = people or (said if full else "")
        if people:
            return charge["task"], people, day
    plain = LINK_RE.sub(r"\1", text) if "](" in text else text
    at = max(0, len(plain) - _MAX_TRAILING_CHARS)
    found = _GIVEN_RE.search(plain, at) or _TOLD_RE.search(plain, at)
    people, day = _who_and_when(found[1], speech.names, date, strict=True) if found else ("", "")
    if not found or not people or found.start() < _MIN_TASK_CHARS:
        return None
    is_mention = found[1].startswith("@") and speech.language != "en"
    is_arrow = plain[found.start() :].lstrip()[:1] not in ":–—-" or ">" in found[0][:3]
    is_task = is_arrow or is_mention or speech.is_task(plain[: found.start()], has_due=False)
    return (plain[: found.start()], people, day) if is_task else None


def trailing_owner(text: str, names: NameSet, date: str) -> tuple[str, str]:
    """The people who end a task: `book the room – Ana`, `book it: Ana, Friday`."""
    initials = _TRAILING_INITIALS_RE.search(text)
    before = text[: initials.start() + 1] if initials else ""
    is_owner = bool(initials and parse_people(initials[1], names, strict=True))
    if initials and is_owner and not parse_people(before.split()[-1], names, strict=True):
        return before, initials[1]
    base = date or "2000-01-01"
    rest = text
    for _ in range(_MAX_TRAILING):
        match = _TRAILING_OWNER_RE.search(rest, max(0, len(rest) - _MAX_TRAILING_CHARS))
        if not match or not match.start():
            break
        people, _, day = match[1].partition(",")
        people = people if is_date_only(day, base) else match[1]
        named = parse_people(people, names, strict=bool(names))
        if named or people.casefold() in EVERYONE:
            named = named or people
            return rest[: match.start()] + text[len(rest) :], named
        if not is_date_only(match[1], base):
            break
        rest = rest[: match.start()]
    return text, ""
