"""Parse the text of one task in minutes: what is to be done, by whom, until when."""

from __future__ import annotations

import re

from cortex.core.minutes.cues import IMPERATIVES, words_of
from cortex.core.minutes.task_signs import ISO_DAY, take_signs
from cortex.core.text.iso_time import parse_day
from cortex.core.text.lazy_re import lazy_re

NameSet = frozenset[str]

NOT_NAMES, NO_TASK_WORDS = words_of("not names") | IMPERATIVES, words_of("no tasks")
CHECKBOX_RE = lazy_re(r"\[([ xX-])\](?:[ \t]+|$)")
_DUE_RE = lazy_re(
    r"(?i)\b(?:due|by|until|deadline|bis)(?:[ ](?:date|on|by))?(?:[ ]?:[ ]{0,3}|[ ]{1,3})"
    rf"({ISO_DAY})"
)
_OWNER_RE = lazy_re(
    r"(?i)(?:[-–—|][ ])?[\[(]?\b(?:owner|assignee|responsible|verantwortlich|zuständig|responsable"
    r"|responsabile|responsável|verantwoordelijk)[ ]?::?[ ]{0,3}@?([^\W\d_@][\w'’. -]{1,40})"
    r"(?:[, ]{0,3}[\])]|(?=,)|$)"
)
_MENTION_RE = lazy_re(
    r"`[^`]{0,200}`|(?<![\w@/.])@([^\W\d_][\w'’-]{0,40}(?:\.\w[\w'’-]{0,40})?)(?![\w/@])"
)
_LEADING_NAME_RE = lazy_re(
    r"[*_]{0,3}([^:*_()\n]{1,60}?)[*_]{0,3}(?:[ ]?:[*_]{0,3}[ ]|[ ][-–—][ ]"
    r"|[ ]to[ ](?=[^\WA-Z\d_]))"
)
_BOLD_NAME_RE = lazy_re(r"[*_]{2,3}([^:*_()\n]{1,60})[*_]{2,3}[ ]{1,3}(?P<verb>[^\W\d_]+)")
_PREPOSITION_RE = lazy_re(r"(?i)\b(?:to|with|from|for|by|mit|von|für|con|para|avec|pour|à)[ ]$")
_WITH_RE = lazy_re(r"(?i)\b(?:with|mit|con|avec)[ ]$")  # before whom a task is not given to
_PARENTHESIS_RE = lazy_re(r"\(([^()]{1,80})\)[ .]{0,3}$")
NAME_SEPARATOR_RE = lazy_re(r"[ ]{0,3}(?:[,;&+/]|(?<![\w-])(?:and|und|et|y|e|en)(?![\w-]))[ ]{0,3}")
_NAME_RE = lazy_re(r"(?:(?:Frau|Herrn?|Mrs?\.?|Ms\.?|Mme|Sra?\.?)[ ])?[^\W\d_][\w'’.-]{0,40}")
_EMPTY_BRACKETS_RE = lazy_re(r"\([ ,;]{0,4}\)|\[[ ]{0,3}\]")


def parse_task(texts: list[str], names: NameSet) -> tuple[str, str, str]:
    """Text, owner and due date of a task, from its own text and those of nested items. The text is
    empty if they say nothing. `names` are the attendees, in lowercase."""
    unmarked = [take_signs(text) for text in texts]
    text, due = _take_due(unmarked[0][0])
    text, owner = _take_owner(text, names)
    text, owner, due = _take_parenthesis(text, owner, due, names)
    parts = []
    for each in (text, *(below for below, _ in unmarked[1:])):
        part, due = (each, due) if due else _take_due(each)
        part, owner = (part, owner) if owner else _take_mention(part)
        parts.append(tidy_task_text(part))
    text = "; ".join(part for part in parts if part)
    due = due or next((day for _, day in unmarked if day), "")
    return ("" if text.casefold() in NO_TASK_WORDS else text), owner, due


def parse_own_task(text: str) -> tuple[str, str, str]:
    """Text, owner (a field or a mention alone) and due date of a task in a person's own note."""
    text, due = take_signs(text)
    text, due = (text, due) if due else _take_due(text)
    text, owner = _take_owner_field(text)
    owner = owner or next((one[1] for one in _MENTION_RE.finditer(text) if one[1]), "")
    return tidy_task_text(text), owner, due


def _take_due(text: str) -> tuple[str, str]:
    for match in _DUE_RE.finditer(text):
        if day := parse_day(match[1]):
            return f"{text[: match.start()]} {text[match.end() :]}", day
    return text, ""


def _take_owner_field(text: str) -> tuple[str, str]:
    field = _OWNER_RE.search(text)
    if not field:
        return text.strip(), ""
    return f"{text[: field.start()]} {text[field.end() :]}".strip(), tidy_task_text(field[1])


def _take_owner(text: str, names: NameSet) -> tuple[str, str]:
    """The rest of a task's text and its owner, empty if nobody is named: by an owner field, or by
    the name at the start: `Anna: …`, `Anna - …`, `Anna to …`, `@anna …`,
    `**Anna** fix …`."""
    text, owner = _take_owner_field(text)
    lead = _LEADING_NAME_RE.match(text)
    person = parse_people(lead[1], names) if lead else ""
    if lead and person and owner in ("", person):
        return text[lead.end() :], person
    bold = _BOLD_NAME_RE.match(text)
    person = parse_people(bold[1], names, strict=bool(names)) if bold and not owner else ""
    if bold and person and bold["verb"] in IMPERATIVES:
        return text[bold.start("verb") :], person
    if not owner and (mention := _MENTION_RE.match(text)) and mention[1]:
        return text[mention.end() :], mention[1]
    return text, owner


def _take_mention(text: str) -> tuple[str, str]:
    """The text and its owner by `@mention`: a last one is cut off, else the first loses only its `@`. The
    owner is empty without a mention."""
    found = [match for match in _MENTION_RE.finditer(text) if match[1]]
    if not found or _WITH_RE.search(text[: found[0].start()]):
        return text, ""
    first, last = found[0], found[-1]
    if not text[last.end() :].strip(" .,;") and not _PREPOSITION_RE.search(text[: last.start()]):
        return text[: last.start()], last[1]
    return text[: first.start()] + text[first.start() + 1 :], first[1]


def _take_parenthesis(text: str, owner: str, due: str, names: NameSet) -> tuple[str, str, str]:
    """Text, owner and due date, with those from last parentheses that hold only names, a date or both."""
    for _ in range(2):
        text = text.rstrip()
        match = _PARENTHESIS_RE.search(text[-90:])
        parts = re.split(r"[ ]{0,3}[,;][ ]{0,3}", match[1].strip(" ,;")) if match else []
        days = [part for part in parts if parse_day(part)]
        people = ", ".join(part for part in parts if part not in days)
        no_person = people and (owner or "`" in people or not parse_people(people, names))
        if not match or no_person or len(days) > 1 - bool(due):
            break
        text, due = text[: -len(match[0])], due or "".join(days)
        owner = owner or parse_people(people, names)
    return text, owner, due


def parse_people(candidate: str, names: NameSet, strict: bool = False) -> str:
    """The names in `candidate` joined by ", ", or "" if it holds anything but names.

    A name is an attendee, a mention, or (unless `strict`) a capitalised word that is no common
    label or verb.
    """
    people = []
    for part in NAME_SEPARATOR_RE.split(candidate.strip()):
        name = part.strip(" *_[]`")
        mention, name = name.startswith("@"), name.removeprefix("@")
        is_capitalized = name[:1].isupper() and not name.isupper()
        looks = is_capitalized and not strict and name.casefold() not in NOT_NAMES
        is_name = _NAME_RE.fullmatch(name) and (mention or looks)
        if not is_name and name not in names and (name.casefold() not in names):
            return ""
        people.append(name)
    return ", ".join(people)


def tidy_task_text(text: str) -> str:
    """The text without what removed marks leave: empty brackets, double spaces, punctuation."""
    text = " ".join(_EMPTY_BRACKETS_RE.sub(" ", text).split()).replace(" ,", ",")
    text = re.sub(r"^\(?\d{1,2}\)[ ]+", "", text.strip(" ,;:|–—-").rstrip("( "))
    for mark in ("**", "__"):
        if text.startswith(mark) and text.endswith(mark) and text.count(mark) == 2:
            text = text[2:-2].strip()
    if text.endswith(")") and text.count("(") < text.count(")"):
        text = text[:-1]
    return text if text.endswith("..") else text.removesuffix(".").rstrip()
