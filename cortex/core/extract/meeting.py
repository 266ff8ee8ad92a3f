"""Minutes of a meeting in markdown, read into title, date, attendees, actions and decisions.

What is read is what people mark: a heading over a list, a checkbox, a label at the start of a line. Prose is left
alone, and so is whatever stands in a code block.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

LIMIT = 256 * 1024  # characters


class Action(NamedTuple):
    """A task somebody took on. `due` is "YYYY-MM-DD" or "", `line` counts from 1."""

    text: str
    owner: str
    due: str
    done: bool
    line: int


class Decision(NamedTuple):
    """What was agreed, and why if the minutes say so. `line` counts from 1."""

    text: str
    reason: str
    line: int


class Meeting(NamedTuple):
    """What minutes say. `date` is "YYYY-MM-DD" or ""."""

    title: str
    date: str
    attendees: tuple[str, ...]
    actions: tuple[Action, ...]
    decisions: tuple[Decision, ...]


ACTION, DECISION, ATTENDEES, OTHER = "action", "decision", "attendees", "other"
_SECTIONS = {
    ACTION: "action items|action item|actions|action|action points|next actions|todo|todos|to do|to-do|to dos|to-dos|next steps|follow-ups|follow ups"
    "|followups|follow-up|follow up|tasks|aufgaben|nächste schritte|maßnahmen|tâches|à faire|prochaines étapes|acciones|tareas|próximos pasos",
    DECISION: "decisions|decision|decisions made|key decisions|decided|resolved|resolutions|agreements|agreed|entscheidungen|beschlüsse|acuerdos",
    ATTENDEES: "attendees|participants|present|attending|teilnehmer|teilnehmende|anwesend|présents|participantes|asistentes",
    OTHER: "agenda|discussion|notes|summary|topics|minutes|background|open questions|date|time|location|place|where|when|title|tags|datum",
}
_SECTION = {word: kind for kind, words in _SECTIONS.items() for word in words.split("|")}
_DATE_KEYS = ("date", "datum", "when")

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
_NOTHING = frozenset(("none", "n/a", "na", "nothing", "no", "nil", "tbd", "keine", "aucune", "aucun", "ninguna"))

_DATES = (
    r"(?<!\d)(?P<y>\d{4})[-/](?P<m>\d{2})[-/](?P<d>\d{2})(?!\d)",
    r"(?<!\d)(?P<d>\d{1,2})\.[ ]?(?P<m>\d{1,2})\.[ ]?(?P<y>\d{4})(?!\d)",
    r"(?i)(?<!\d)(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?[ ](?:of[ ])?(?P<m>[a-z]{3,9})\.?,?[ ](?P<y>\d{4})(?!\d)",
    r"(?i)\b(?P<m>[a-z]{3,9})\.?[ ](?P<d>\d{1,2})(?:st|nd|rd|th)?,?[ ](?P<y>\d{4})(?!\d)",
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_BULLET = re.compile(r"(?m)^([ \t]{0,12})[•·▪◦‣–][ \t]")
# `Actions:` or `**Actions**` alone on a line: markdown would take it for more of the item above it.
_BARE_HEADING = re.compile(
    r"(?m)^(?=(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__)[ ]?:?[ \t]{0,9}\r?$|[^\W_][\w'-]{0,30}(?:[ ][\w'&/()-]{1,30}){0,2}[ ]?:[ \t]{0,9}\r?$)"
)
_FRONT_KEY = re.compile(r"(?m)^(?=[^\W\d_])")
_CHECKBOX = re.compile(r"\[([ xX-])\](?:[ \t]+|$)")
_LABEL = re.compile(
    r"(?i)[*_]{0,3}(?:(?P<action>action(?: item)?|to-?do|(?-i:AI)|aufgabe|acción)|decision|decided|agreed|entscheidung|beschluss|décision|decisión)"
    r"[*_]{0,3}[ ]?(?:\((?P<owner>[^()\n]{1,40})\))?[ ]?:[*_]{0,3}(?:[ \t]+|$)"
)
_FIELD = re.compile(r"[*_]{0,3}([^\W\d_][^:*_\n]{0,30})[*_]{0,3}::?[*_]{0,3}(?:[ \t]+|$)")
_OPENING = re.compile(r"(?i)(?:meeting(?: notes| minutes)?|minutes)[ ]?:[ ]{0,9}")
_BECAUSE = re.compile(
    r"(?i)(?:[,;]?[ ]|[ ][(–—-][ ]?)(?:because(?: of)?|weil|parce que|porque|since(?! (?:\d|then\b|last\b)))[ ]"
    r"|(?:^|[ (])[*_]{0,3}(?:reason|rationale|grund|raison|motivo)[*_]{0,3}[ ]?:[*_]{0,3}[ ]"
)

_ISO = r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)"
_DUE = re.compile(  # U+1F4C5, a calendar, is the due mark of the Obsidian Tasks plugin
    rf"(?i)[\[(]due::?[ ]{{0,3}}{_ISO}[ ]?[\])]|\U0001f4c5\ufe0f?[ ]{{0,3}}{_ISO}"
    rf"|\b(?:due|by|until|deadline|bis)(?:[ ](?:date|on|by))?(?:[ ]?:[ ]{{0,3}}|[ ]{{1,3}}){_ISO}"
)
_OWNER = re.compile(r"(?i)(?:[-–—|][ ])?[\[(]?\b(?:owner|assignee)[ ]?::?[ ]{0,3}@?([^\W\d_@][\w'’. -]{1,40})(?:[, ]{0,3}[\])]|$)")
_MENTION = re.compile(r"`[^`]{0,200}`|(?<![\w@/.])@([^\W\d_][\w'’-]{0,40}(?:\.\w[\w'’-]{0,40})?)(?![\w/@])")
_LEAD = re.compile(r"[*_]{0,3}([^:*_()\n]{1,60}?)[*_]{0,3}(?:[ ]?:[*_]{0,3}[ ]|[ ][-–—][ ]|[ ]to[ ](?=[^\WA-Z\d_]))")
_PARENTHESIS = re.compile(r"\(([^()]{1,80})\)[ .]{0,3}$")
_AND = re.compile(r"[ ]{0,3}(?:[,;&+/]|\b(?:and|und|et|y)\b)[ ]{0,3}")
_WORD = re.compile(r"[^\W\d_][\w'’.-]{0,40}")
_HOLLOW = re.compile(r"\([ ,;]{0,4}\)|\[[ ]{0,3}\]")

_PARSER = MarkdownIt("commonmark").disable(["reference"])
_PARSER.core.ruler.enableOnly(["normalize", "block"])

Lines = list[tuple[str, int]]
Names = frozenset[str]


class _Item(NamedTuple):
    """A list item: its own lines with their numbers, and the items nested in it."""

    lines: Lines
    nested: list[_Item]

    def text(self) -> str:
        return " ".join(line for line, _ in self.lines)


class _Block(NamedTuple):
    """A heading (level 1 to 6; a bare one is 6), a paragraph (level 0), or a list (no lines)."""

    level: int
    lines: Lines
    items: list[_Item]


def read_meeting(text: str) -> Meeting:
    """What the minutes in `text` say; at most the first 256 KB (262,144 characters) are read.

    Items nested under an action or a decision belong to it. Nesting deeper than 20 is not read.
    """
    text = text[:LIMIT].removeprefix("\ufeff")
    front = text.find("\n---", 3, 8192) + 1 if text.startswith("---") else 0
    text = _FRONT_KEY.sub("###### ", text[:front]) + _BARE_HEADING.sub("###### ", _BULLET.sub(r"\1- ", text[front:]))
    blocks = list(_blocks(SyntaxTreeNode(_PARSER.parse(text))))
    firsts = (block.lines or [item.lines[0] for item in block.items if item.lines] for block in blocks)
    fields = [_field(line) for lines in firsts for line, _ in lines]
    title = _title(fields, blocks)
    date = next((day for key, value in fields if key in _DATE_KEYS and (day := _day(value))), "")
    attendees = _attendees(fields, blocks)
    names = frozenset(part for name in attendees for part in (name.casefold(), *name.casefold().split()))
    found = list(_found(blocks, names))
    actions = tuple(each for each in found if isinstance(each, Action))
    decisions = tuple(each for each in found if isinstance(each, Decision))
    return Meeting(title, date or _day(title), attendees, actions, decisions)


def _blocks(node: SyntaxTreeNode) -> Iterator[_Block]:
    for child in node.children:
        if child.type in ("heading", "paragraph"):
            lines = [(line.strip(), number) for number, line in enumerate(child.children[0].content.split("\n"), (child.map or (0, 0))[0] + 1)]
            # A rule drawn under several lines makes no heading of them, though markdown says so.
            plain = child.type == "paragraph" or (child.markup == "-" and len(lines) > 1)
            yield _Block(0 if plain else int(child.tag[1]), lines, [])
        elif child.type in ("bullet_list", "ordered_list"):
            yield _Block(0, [], [_item(each) for each in child.children])
        elif child.type == "blockquote":
            yield from _blocks(child)


def _item(node: SyntaxTreeNode) -> _Item:
    item = _Item([], [])
    for block in _blocks(node):
        item.lines.extend(block.lines)
        item.nested.extend(block.items)
    return item


def _field(line: str) -> tuple[str, str]:
    """The key in lowercase and the value of a line such as `Date: 2026-11-20`, or two empty strings."""
    match = _FIELD.match(line)
    return (match[1].strip().lower(), line[match.end() :].strip("\"'")) if match else ("", "")


def _title(fields: list[tuple[str, str]], blocks: list[_Block]) -> str:
    heads: list[str] = []
    plain: list[str] = []
    for block in blocks:
        line = block.lines[0][0] if block.lines else block.items[0].text()
        if _OPENING.match(line) or not (_section(line) or _field(line)[0] in _SECTION):
            (heads if 0 < block.level < 6 else plain).append(line)
    if plain and _OPENING.match(plain[0]):
        heads = plain
    title = next(iter([*(value for key, value in fields if key == "title" and value), *heads, *plain]), "")
    title = _tidy(_OPENING.sub("", _CHECKBOX.sub("", title, count=1), count=1))
    return title if len(title) <= 100 else title[:101].rpartition(" ")[0] or title[:100]


def _day(text: str) -> str:
    """The first date in the text as "YYYY-MM-DD", or "". 11/12/2026 is two days in two countries: not read."""
    for pattern in _DATES:
        for match in re.finditer(pattern, text[:500]):
            month = match["m"].lower()
            number = _MONTHS.index(month[:3]) + 1 if month[:3] in _MONTHS else int(month) if month.isdecimal() else 0
            if day := _valid(f"{match['y']}-{number:02}-{int(match['d']):02}"):
                return day
    return ""


def _valid(iso: str) -> str:
    try:
        return iso if dt.date.fromisoformat(iso).isoformat() == iso else ""
    except ValueError:
        return ""


def _attendees(fields: list[tuple[str, str]], blocks: list[_Block]) -> tuple[str, ...]:
    """From `Attendees: ...`, or from the paragraph or list below such a heading."""
    texts = [value for key, value in fields if value and _SECTION.get(key) == ATTENDEES][:1]
    for block, after in pairwise(blocks):
        if not texts and not after.level and block.lines and _section(block.lines[-1][0]) == ATTENDEES:
            texts = [item.text() for item in after.items] or [line for line, _ in after.lines]
    names = [re.sub(r"\([^()]{0,80}\)", "", name) for text in texts for name in _AND.split(text)]
    names = [_CHECKBOX.sub("", name).strip(" .@*_[]`\"'") for name in names]
    return tuple(dict.fromkeys(name for name in names if 0 < len(name) <= 60))


def _section(line: str) -> str:
    """What a heading announces: one of the four kinds, or "" for anything else."""
    words = line.casefold().strip(" *_:#")
    return _SECTION.get(re.sub(r"^[\W\d_]{1,9}|[ ]?\(\d{1,4}\)$", "", words), "")


def _found(blocks: list[_Block], names: Names) -> Iterator[Action | Decision]:
    sections: list[tuple[int, str]] = [(0, "")]
    owner = ""
    for block in blocks:
        for item in block.items:
            yield from _of_item(item, sections[-1][1], owner, names)
        if block.level:
            owner = _person(block.lines[-1][0].rstrip(":*_ "), names, strict=True)
        if block.level and not (owner and (block.level == 6 or block.level > sections[-1][0])):
            while sections[-1][0] >= block.level:
                sections.pop()
            sections.append((block.level, _section(block.lines[-1][0]) or sections[-1][1]))
        yield from _of_lines(block.lines, names)


def _of_lines(lines: Lines, names: Names) -> Iterator[Action | Decision]:
    """Lines that begin with a label, each with the lines after it that go on in lowercase."""
    at = 0
    while at < len(lines):
        text, line = lines[at]
        at += 1
        if label := _LABEL.match(text):
            parts = [text[label.end() :]]
            while at < len(lines) and lines[at][0][:1].islower() and not _LABEL.match(lines[at][0]):
                parts.append(lines[at][0])
                at += 1
            yield from _of_item(_Item([(label[0] + " ".join(parts), line)], []), "", "", names)


def _of_item(item: _Item, section: str, owner: str, names: Names) -> Iterator[Action | Decision]:
    end = next((at for at, (line, _) in enumerate(item.lines) if at and _LABEL.match(line)), len(item.lines))
    text = " ".join(line for line, _ in item.lines[:end])
    box = _CHECKBOX.match(text)
    done = bool(box and box[1] != " ")
    text = text[box.end() :] if box else text
    below = [part for each in item.nested for part in _texts(each)]
    label = _LABEL.match(text)
    nested = item.nested
    bare = bool(names) or not text.rstrip("*_ ").endswith(":")  # a heading for items is `Anna`, or `Anna:`
    if nested and not box and (kind := _section(text)):
        section = kind
    elif nested and section == ACTION and (group := _person(text.rstrip(":*_ "), names, bare)):
        owner = group
    else:
        if label:
            text = text[label.end() :]
            owner = _person(label["owner"] or "", names) or owner
        kind = (ACTION if label["action"] else DECISION) if label else ACTION if box else section
        if kind == ACTION and item.lines:
            yield from _action([text, *below], done, item.lines[0][1], owner, names)
            nested = []
        elif kind == DECISION and item.lines:
            yield from _decision(text, below, item.lines[0][1])
            nested = []
    for each in nested:
        yield from _of_item(each, section, owner, names)
    yield from _of_lines(item.lines[end:], names)


def _texts(item: _Item) -> Iterator[str]:
    yield _CHECKBOX.sub("", item.text(), count=1)
    for each in item.nested:
        yield from _texts(each)


def _action(texts: list[str], done: bool, line: int, owner: str, names: Names) -> Iterator[Action]:
    text, due = _take_due(texts[0])
    text, said = _take_owner(text, names)
    text, said, due = _take_parenthesis(text, said, due, names)
    parts = []
    for each in (text, *texts[1:]):
        part, due = (each, due) if due else _take_due(each)
        part, said = (part, said) if said else _take_mention(part)
        parts.append(_tidy(part))
    text = "; ".join(part for part in parts if part)
    if text and text.casefold() not in _NOTHING:
        yield Action(text, said or owner, due, done, line)


def _decision(text: str, below: list[str], line: int) -> Iterator[Decision]:
    reasons = []
    because = _BECAUSE.search(text)
    if because and because.start():
        text, reasons = text[: because.start()], [text[because.end() :]]
    for each in below:
        because = _BECAUSE.match(each)
        reasons.append(each[because.end() :] if because else each)
    text = _tidy(text)
    if text and text.casefold() not in _NOTHING:
        yield Decision(text, "; ".join(reason for each in reasons if (reason := _tidy(each))), line)


def _take_due(text: str) -> tuple[str, str]:
    for match in _DUE.finditer(text):
        if day := _valid(match[match.lastindex or 0]):
            return f"{text[: match.start()]} {text[match.end() :]}", day
    return text, ""


def _take_owner(text: str, names: Names) -> tuple[str, str]:
    """An owner field, or the name at the start: `Anna: ...`, `Anna - ...`, `Anna to ...`, `@anna ...`."""
    text = text.strip()
    owner = ""
    if field := _OWNER.search(text):
        owner = _tidy(field[1])
        text = f"{text[: field.start()]} {text[field.end() :]}".strip()
    if (lead := _LEAD.match(text)) and (person := _person(lead[1], names)) and owner in ("", person):
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
        days = [part for part in parts if _valid(part)]
        people = ", ".join(part for part in parts if part not in days)
        if not match or len(days) > 1 - bool(due) or (people and (owner or not _person(people, names))):
            break
        text, owner, due = text[: -len(match[0])], owner or _person(people, names), due or "".join(days)
    return text, owner, due


def _person(candidate: str, names: Names, strict: bool = False) -> str:
    """The names in `candidate` joined by ", ", or "" if it holds anything but names.

    A name is an attendee, a mention, or (unless `strict`) a capitalised word that is no common label or verb.
    """
    people = []
    for part in _AND.split(candidate.strip()):
        name = part.strip(" *_[]`")
        mention, name = name.startswith("@"), name.removeprefix("@")
        looks = name[:1].isupper() and not name.isupper() and name.casefold() not in _NOT_NAMES
        if name.casefold() not in names and not (_WORD.fullmatch(name) and (mention or (looks and not strict))):
            return ""
        people.append(name)
    return ", ".join(people)


def _tidy(text: str) -> str:
    """The text without what taken marks leave behind: hollow brackets, doubled spaces, loose punctuation."""
    text = " ".join(_HOLLOW.sub(" ", text).split()).replace(" ,", ",").strip(" ,;:|–—-")
    for mark in ("**", "__"):
        if text.startswith(mark) and text.endswith(mark) and text.count(mark) == 2:
            text = text[2:-2].strip()
    if text.endswith(")") and text.count("(") < text.count(")"):
        text = text[:-1]
    return text if text.endswith("..") else text.removesuffix(".").rstrip()
