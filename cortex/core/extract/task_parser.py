"""The words of one task in minutes: what is to be done, by whom, until when. Without the mark of a list and a parser."""

from __future__ import annotations

import datetime as dt
import re

Names = frozenset[str]

# Capitalised words that open an item and are no names: labels before a colon, verbs before "to".
_LABELS_AND_VERBS = """
    add agree agreed api apply april ask attach august back backend bring bug build change check come commit context continue convert copy
    date deadline december decision deploy design docs done draft due edit escalate everything example expand explain export extend february
    fix forward friday from frontend get give go have help how idea import info introduce invite issue january july june listen look map
    march may merge migrate milestone monday move need new next note november october offer open option optional outcome phase plan point
    port prepare present priority problem promote propose publish push question reach reason refactor refer release remember reminder rename
    reply report request research respond return review risk route saturday say see send september share ship show speak start status step
    stop submit subscribe suggest summary sunday switch sync talk task tell test tests thursday tip to today tomorrow topic transfer try
    tuesday update upgrade upload urgent use version wait want wednesday what when where why write
"""
_NOT_NAMES = frozenset(_LABELS_AND_VERBS.split())
NOTHING = frozenset(
    ("none", "n/a", "na", "nothing", "no", "nil", "tbd", "keine", "aucune", "aucun", "ninguna")
)

CHECKBOX = re.compile(r"\[([ xX-])\](?:[ \t]+|$)")
LABEL = re.compile(
    r"(?i)[*_]{0,3}(?:(?P<action>action(?: item)?|to-?do|(?-i:AI)|aufgabe|acción)|decision|decided|agreed|entscheidung|beschluss|décision|decisión)"
    r"[*_]{0,3}[ ]?(?:\((?P<owner>[^()\n]{1,40})\))?[ ]?:[*_]{0,3}(?:[ \t]+|$)"
)

_ISO = r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)"
_DUE = re.compile(  # U+1F4C5, a calendar, is the due mark of the Obsidian Tasks plugin
    rf"(?i)[\[(]due::?[ ]{{0,3}}{_ISO}[ ]?[\])]|\U0001f4c5\ufe0f?[ ]{{0,3}}{_ISO}"
    rf"|\b(?:due|by|until|deadline|bis)(?:[ ](?:date|on|by))?(?:[ ]?:[ ]{{0,3}}|[ ]{{1,3}}){_ISO}"
)
# As the Obsidian Tasks plugin writes them into a task: when it was done, dropped, planned, begun and made, and its priority.
_CLOSED = re.compile(rf"[\u2705\u274c]\ufe0f?[ ]{{0,3}}{_ISO}")
_SIGNS = re.compile(
    rf"[\u23f3\u231b\u2795\U0001f6eb\U0001f4c5]\ufe0f?[ ]{{0,3}}{_ISO}|[\u23eb\u23ec\U0001f53a\U0001f53c\U0001f53d]\ufe0f?"
)
_OWNER = re.compile(
    r"(?i)(?:[-–—|][ ])?[\[(]?\b(?:owner|assignee)[ ]?::?[ ]{0,3}@?([^\W\d_@][\w'’. -]{1,40})(?:[, ]{0,3}[\])]|$)"
)
_MENTION = re.compile(
    r"`[^`]{0,200}`|(?<![\w@/.])@([^\W\d_][\w'’-]{0,40}(?:\.\w[\w'’-]{0,40})?)(?![\w/@])"
)
_LEAD = re.compile(
    r"[*_]{0,3}([^:*_()\n]{1,60}?)[*_]{0,3}(?:[ ]?:[*_]{0,3}[ ]|[ ][-–—][ ]|[ ]to[ ](?=[^\WA-Z\d_]))"
)
_PARENTHESIS = re.compile(r"\(([^()]{1,80})\)[ .]{0,3}$")
AND = re.compile(r"[ ]{0,3}(?:[,;&+/]|\b(?:and|und|et|y)\b)[ ]{0,3}")
_WORD = re.compile(r"[^\W\d_][\w'’.-]{0,40}")
_HOLLOW = re.compile(r"\([ ,;]{0,4}\)|\[[ ]{0,3}\]")


def task_of(texts: list[str], names: Names) -> tuple[str, str, str]:
    """What is to be done, its owner and its due date, from a task's own text and those nested in it; the first is empty
    when they say nothing. `names` are the attendees, in lower case. Signs of the Tasks plugin are no words of it."""
    return _task_of([without_signs(text) for text in texts], names)


def _task_of(texts: list[str], names: Names) -> tuple[str, str, str]:
    text, due = _take_due(texts[0])
    text, said = _take_owner(text, names)
    text, said, due = _take_parenthesis(text, said, due, names)
    parts = []
    for each in (text, *texts[1:]):
        part, due = (each, due) if due else _take_due(each)
        part, said = (part, said) if said else _take_mention(part)
        parts.append(tidy(part))
    text = "; ".join(part for part in parts if part)
    return ("" if text.casefold() in NOTHING else text), said, due


def readings(texts: list[str]) -> tuple[str, ...]:
    """What a task may say where nobody knows the attendees: nothing but plain names taken for people, and with whatever
    stands before its colon, or in brackets at its end, taken for them. Each with and without the signs of the Tasks plugin that
    may have stood there from the beginning."""
    open_ = [_CLOSED.sub(" ", text) for text in texts]
    return (*_readings(open_), *_readings([_SIGNS.sub(" ", text) for text in open_]))


def without_signs(text: str) -> str:
    """The text of a task without what the Tasks plugin of Obsidian adds, but for its due date where no other is said."""
    text = _CLOSED.sub(" ", text)
    due = next(iter(_DUE.finditer(text)), None)
    kept = due.span() if due else (0, 0)
    return _SIGNS.sub(lambda sign: sign[0] if sign.span() == kept else " ", text)


def plain(text: str) -> str:
    """The text of a task without label, date and signs."""
    label = LABEL.match(text)
    return tidy(_take_due(without_signs(text[label.end() if label else 0 :]))[0])


def _readings(texts: list[str]) -> tuple[str, str]:
    lead, last = _LEAD.match(texts[0].strip()), _PARENTHESIS.search(texts[0][-90:])
    names = (
        part.strip(" *_[]`@").casefold()
        for found in (lead, last)
        if found
        for part in AND.split(found[1])
    )
    return _task_of(texts, frozenset())[0], _task_of(texts, frozenset(names))[0]


def valid(iso: str) -> str:
    """The date itself when there is such a day, else empty."""
    try:
        return iso if dt.date.fromisoformat(iso).isoformat() == iso else ""
    except ValueError:
        return ""


def _take_due(text: str) -> tuple[str, str]:
    for match in _DUE.finditer(text):
        if day := valid(match[match.lastindex or 0]):
            return f"{text[: match.start()]} {text[match.end() :]}", day
    return text, ""


def _take_owner(text: str, names: Names) -> tuple[str, str]:
    """An owner field, or the name at the start: `Anna: ...`, `Anna - ...`, `Anna to ...`, `@anna ...`."""
    text = text.strip()
    owner = ""
    if field := _OWNER.search(text):
        owner = tidy(field[1])
        text = f"{text[: field.start()]} {text[field.end() :]}".strip()
    if (
        (lead := _LEAD.match(text))
        and (person := people_in(lead[1], names))
        and owner in ("", person)
    ):
        return text[lead.end() :], person
    if not owner and (mention := _MENTION.match(text)) and mention[1]:
        return text[mention.end() :], mention[1]
    return text, owner


def _take_mention(text: str) -> tuple[str, str]:
    """The mention that ends the text, or the first one within it, which then stays as a word."""
    found = [match for match in _MENTION.finditer(text) if match[1]]
    if not found:
        return text, ""
    last = found[-1]
    if not text[last.end() :].strip(" .,;"):
        return text[: last.start()], last[1]
    return text[: found[0].start()] + text[found[0].start() + 1 :], found[0][1]


def _take_parenthesis(text: str, owner: str, due: str, names: Names) -> tuple[str, str, str]:
    """The last parentheses, where they hold nothing but a name, a date or both."""
    for _ in range(2):
        text = text.rstrip()
        match = _PARENTHESIS.search(text[-90:])
        parts = re.split(r"[ ]{0,3}[,;][ ]{0,3}", match[1].strip(" ,;")) if match else []
        days = [part for part in parts if valid(part)]
        people = ", ".join(part for part in parts if part not in days)
        if (
            not match
            or len(days) > 1 - bool(due)
            or (people and (owner or not people_in(people, names)))
        ):
            break
        text, owner, due = (
            text[: -len(match[0])],
            owner or people_in(people, names),
            due or "".join(days),
        )
    return text, owner, due


def people_in(candidate: str, names: Names, strict: bool = False) -> str:
    """The names in `candidate` joined by ", ", or "" if it holds anything but names.

    A name is an attendee, a mention, or (unless `strict`) a capitalised word that is no common label or verb.
    """
    people = []
    for part in AND.split(candidate.strip()):
        name = part.strip(" *_[]`")
        mention, name = name.startswith("@"), name.removeprefix("@")
        looks = name[:1].isupper() and not name.isupper() and name.casefold() not in _NOT_NAMES
        if name.casefold() not in names and not (
            _WORD.fullmatch(name) and (mention or (looks and not strict))
        ):
            return ""
        people.append(name)
    return ", ".join(people)


def tidy(text: str) -> str:
    """The text without what taken marks leave behind: hollow brackets, doubled spaces, loose punctuation."""
    text = " ".join(_HOLLOW.sub(" ", text).split()).replace(" ,", ",").strip(" ,;:|–—-")
    for mark in ("**", "__"):
        if text.startswith(mark) and text.endswith(mark) and text.count(mark) == 2:
            text = text[2:-2].strip()
    if text.endswith(")") and text.count("(") < text.count(")"):
        text = text[:-1]
    return text if text.endswith("..") else text.removesuffix(".").rstrip()
