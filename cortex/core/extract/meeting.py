"""Minutes of a meeting in markdown, read into title, date, attendees, actions and decisions.

Only marked text is read: a heading over a list, a checkbox, a label at the start of a line; no
prose and no code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from cortex.core.extract.task_parser import (
    CHECKBOX_RE,
    LABEL_RE,
    NAME_SEPARATOR_RE,
    NO_TASK_WORDS,
    NameSet,
    parse_people,
    parse_task,
    tidy_task_text,
    valid_date,
)

MAX_CHARS = 256 * 1024  # characters


class ActionItem(NamedTuple):
    """A task somebody took on. `due` is "YYYY-MM-DD" or "", `line` counts from 1."""

    text: str
    owner: str
    due: str
    done: bool
    line: int


class DecisionItem(NamedTuple):
    """What was agreed, and why if the minutes say so. `line` counts from 1."""

    text: str
    reason: str
    line: int


class MeetingMinutes(NamedTuple):
    """What minutes say. `date` is "YYYY-MM-DD" or ""."""

    title: str
    date: str
    attendees: tuple[str, ...]
    actions: tuple[ActionItem, ...]
    decisions: tuple[DecisionItem, ...]


ACTION, DECISION, ATTENDEES, OTHER = "action", "decision", "attendees", "other"
_HEADING_WORDS = {
    ACTION: "action items|action item|actions|action|action points|next actions|todo|todos|to do"
    "|to-do|to dos|to-dos|next steps|follow-ups|follow ups"
    "|followups|follow-up|follow up|tasks|aufgaben|nächste schritte|maßnahmen|tâches|à faire"
    "|prochaines étapes|acciones|tareas|próximos pasos",
    DECISION: "decisions|decision|decisions made|key decisions|decided|resolved|resolutions"
    "|agreements|agreed|entscheidungen|beschlüsse|acuerdos",
    ATTENDEES: "attendees|participants|present|attending|teilnehmer|teilnehmende|anwesend"
    "|présents|participantes|asistentes",
    OTHER: "agenda|discussion|notes|summary|topics|minutes|background|open questions|date|time"
    "|location|place|where|when|title|tags|datum",
}
_KIND_BY_HEADING = {
    word: kind for kind, words in _HEADING_WORDS.items() for word in words.split("|")
}
_DATE_KEYS = ("date", "datum", "when")

_DATE_PATTERNS = (
    r"(?<!\d)(?P<y>\d{4})[-/](?P<m>\d{2})[-/](?P<d>\d{2})(?!\d)",
    r"(?<!\d)(?P<d>\d{1,2})\.[ ]?(?P<m>\d{1,2})\.[ ]?(?P<y>\d{4})(?!\d)",
    (
        r"(?i)(?<!\d)(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?[ ](?:of[ ])?(?P<m>[a-z]{3,9})\.?,?[ ]"
        r"(?P<y>\d{4})(?!\d)"
    ),
    r"(?i)\b(?P<m>[a-z]{3,9})\.?[ ](?P<d>\d{1,2})(?:st|nd|rd|th)?,?[ ](?P<y>\d{4})(?!\d)",
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

_BULLET_RE = re.compile(r"(?m)^([ \t]{0,12})[•·▪◦‣–][ \t]")
# `Actions:` or `**Actions**` alone on a line: markdown would take it for more of the item above it.
_BARE_HEADING_RE = re.compile(
    r"(?m)^(?=(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__)[ ]?:?[ \t]{0,9}\r?$"
    r"|[^\W_][\w'-]{0,30}(?:[ ][\w'&/()-]{1,30}){0,2}[ ]?:[ \t]{0,9}\r?$)"
)
_FRONTMATTER_KEY_RE = re.compile(r"(?m)^(?=[^\W\d_])")
_FIELD_RE = re.compile(r"[*_]{0,3}([^\W\d_][^:*_\n]{0,30})[*_]{0,3}::?[*_]{0,3}(?:[ \t]+|$)")
_TITLE_PREFIX_RE = re.compile(r"(?i)(?:meeting(?: notes| minutes)?|minutes)[ ]?:[ ]{0,9}")
_REASON_RE = re.compile(
    r"(?i)(?:[,;]?[ ]|[ ][(–—-][ ]?)(?:because(?: of)?|weil|parce que|porque|since(?! (?:\d"
    r"|then\b|last\b)))[ ]"
    r"|(?:^|[ (])[*_]{0,3}(?:reason|rationale|grund|raison|motivo)[*_]{0,3}[ ]?:[*_]{0,3}[ ]"
)

_PARSER = MarkdownIt("commonmark").disable(["reference"])
_PARSER.core.ruler.enableOnly(["normalize", "block"])

NumberedLines = list[tuple[str, int]]


class _MinutesItem(NamedTuple):
    """A list item: its own lines with their numbers, and the items nested in it."""

    lines: NumberedLines
    nested: list[_MinutesItem]

    def text(self) -> str:
        return " ".join(line for line, _ in self.lines)


class _Block(NamedTuple):
    """A heading (level 1 to 6; a bare one is 6), a paragraph (level 0), or a list (no lines)."""

    level: int
    lines: NumberedLines
    items: list[_MinutesItem]


def parse_meeting(text: str) -> MeetingMinutes:
    """What the minutes in `text` say; at most the first 256 KB (262,144 characters) are read.

    Items nested under an action or a decision belong to it. Nesting deeper than 20 is not read.
    """
    text = text[:MAX_CHARS].removeprefix("\ufeff")
    front = text.find("\n---", 3, 8192) + 1 if text.startswith("---") else 0
    body = _BARE_HEADING_RE.sub("###### ", _BULLET_RE.sub(r"\1- ", text[front:]))
    text = _FRONTMATTER_KEY_RE.sub("###### ", text[:front]) + body
    blocks = list(_iter_blocks(SyntaxTreeNode(_PARSER.parse(text))))
    firsts = (
        block.lines or [item.lines[0] for item in block.items if item.lines] for block in blocks
    )
    fields = [_parse_field(line) for lines in firsts for line, _ in lines]
    title = _find_title(fields, blocks)
    dates = (_first_date(value) for key, value in fields if key in _DATE_KEYS)
    date = next(filter(None, dates), "")
    attendees = _find_attendees(fields, blocks)
    folded = [name.casefold() for name in attendees]
    names = frozenset(part for name in folded for part in (name, *name.split()))
    outcomes = list(_find_outcomes(blocks, names))
    actions = tuple(each for each in outcomes if isinstance(each, ActionItem))
    decisions = tuple(each for each in outcomes if isinstance(each, DecisionItem))
    return MeetingMinutes(title, date or _first_date(title), attendees, actions, decisions)


def _iter_blocks(node: SyntaxTreeNode) -> Iterator[_Block]:
    for child in node.children:
        if child.type in ("heading", "paragraph"):
            first = (child.map or (0, 0))[0] + 1
            texts = child.children[0].content.split("\n")
            lines = [(line.strip(), number) for number, line in enumerate(texts, first)]
            # A rule drawn under several lines makes no heading of them, though markdown says so.
            plain = child.type == "paragraph" or (child.markup == "-" and len(lines) > 1)
            yield _Block(0 if plain else int(child.tag[1]), lines, [])
        elif child.type in ("bullet_list", "ordered_list"):
            yield _Block(0, [], [_parse_list_item(each) for each in child.children])
        elif child.type == "blockquote":
            yield from _iter_blocks(child)


def _parse_list_item(node: SyntaxTreeNode) -> _MinutesItem:
    item = _MinutesItem([], [])
    for block in _iter_blocks(node):
        item.lines.extend(block.lines)
        item.nested.extend(block.items)
    return item


def _parse_field(line: str) -> tuple[str, str]:
    """The lowercase key and the value of a line such as `Date: 2026-11-20`, or two empty
    strings."""
    match = _FIELD_RE.match(line)
    return (match[1].strip().lower(), line[match.end() :].strip("\"'")) if match else ("", "")


def _find_title(fields: list[tuple[str, str]], blocks: list[_Block]) -> str:
    heads: list[str] = []
    plain: list[str] = []
    for block in blocks:
        line = block.lines[0][0] if block.lines else block.items[0].text()
        is_other = _section_kind(line) or _parse_field(line)[0] in _KIND_BY_HEADING
        if _TITLE_PREFIX_RE.match(line) or not is_other:
            (heads if 0 < block.level < 6 else plain).append(line)
    if plain and _TITLE_PREFIX_RE.match(plain[0]):
        heads = plain
    named = [value for key, value in fields if key == "title" and value]
    title = next(iter([*named, *heads, *plain]), "")
    title = tidy_task_text(_TITLE_PREFIX_RE.sub("", CHECKBOX_RE.sub("", title, count=1), count=1))
    return title if len(title) <= 100 else title[:101].rpartition(" ")[0] or title[:100]


def _first_date(text: str) -> str:
    """The first date in the text as "YYYY-MM-DD", or "". 11/12/2026 is ambiguous: not read."""
    for pattern in _DATE_PATTERNS:
        for match in re.finditer(pattern, text[:500]):
            month = match["m"].lower()
            number = int(month) if month.isdecimal() else 0
            if month[:3] in _MONTHS:
                number = _MONTHS.index(month[:3]) + 1
            if day := valid_date(f"{match['y']}-{number:02}-{int(match['d']):02}"):
                return day
    return ""


def _find_attendees(fields: list[tuple[str, str]], blocks: list[_Block]) -> tuple[str, ...]:
    """From `Attendees: ...`, or from the paragraph or list below such a heading."""
    texts = [value for key, value in fields if value and _KIND_BY_HEADING.get(key) == ATTENDEES][:1]
    for block, after in pairwise(blocks):
        is_head = block.lines and _section_kind(block.lines[-1][0]) == ATTENDEES
        if is_head and not texts and not after.level:
            texts = [item.text() for item in after.items] or [line for line, _ in after.lines]
    parts = [part for text in texts for part in NAME_SEPARATOR_RE.split(text)]
    names = [re.sub(r"\([^()]{0,80}\)", "", part) for part in parts]
    names = [CHECKBOX_RE.sub("", name).strip(" .@*_[]`\"'") for name in names]
    return tuple(dict.fromkeys(name for name in names if 0 < len(name) <= 60))


def _section_kind(line: str) -> str:
    """What a heading announces: one of the four kinds, or "" for anything else."""
    words = line.casefold().strip(" *_:#")
    return _KIND_BY_HEADING.get(re.sub(r"^[\W\d_]{1,9}|[ ]?\(\d{1,4}\)$", "", words), "")


def _find_outcomes(blocks: list[_Block], names: NameSet) -> Iterator[ActionItem | DecisionItem]:
    sections: list[tuple[int, str]] = [(0, "")]
    owner = ""
    for block in blocks:
        for item in block.items:
            yield from _outcomes_of_item(item, sections[-1][1], owner, names)
        if block.level:
            owner = parse_people(block.lines[-1][0].rstrip(":*_ "), names, strict=True)
        if block.level and not (owner and (block.level == 6 or block.level > sections[-1][0])):
            while sections[-1][0] >= block.level:
                sections.pop()
            sections.append((block.level, _section_kind(block.lines[-1][0]) or sections[-1][1]))
        yield from _outcomes_of_lines(block.lines, names)


def _outcomes_of_lines(lines: NumberedLines, names: NameSet) -> Iterator[ActionItem | DecisionItem]:
    """Lines that begin with a label, each with the lines after it that go on in lowercase."""
    at = 0
    while at < len(lines):
        text, line = lines[at]
        at += 1
        if LABEL_RE.match(text):
            while at < len(lines) and lines[at][0][:1].islower():
                if LABEL_RE.match(lines[at][0]):
                    break
                text = f"{text} {lines[at][0]}"
                at += 1
            yield from _outcomes_of_item(_MinutesItem([(text, line)], []), "", "", names)


def _outcomes_of_item(
    item: _MinutesItem, section: str, owner: str, names: NameSet
) -> Iterator[ActionItem | DecisionItem]:
    labelled = (at for at, (line, _) in enumerate(item.lines) if at and LABEL_RE.match(line))
    end = next(labelled, len(item.lines))
    text = " ".join(line for line, _ in item.lines[:end])
    box = CHECKBOX_RE.match(text)
    done = bool(box and box[1] != " ")
    text = text[box.end() :] if box else text
    below = [part for each in item.nested for part in _iter_item_texts(each)]
    label = LABEL_RE.match(text)
    nested = item.nested
    # A heading for items is `Anna`, or `Anna:`.
    bare = bool(names) or not text.rstrip("*_ ").endswith(":")
    if nested and not box and (kind := _section_kind(text)):
        section = kind
    elif nested and section == ACTION and (group := parse_people(text.rstrip(":*_ "), names, bare)):
        owner = group
    else:
        if label:
            text = text[label.end() :]
            owner = parse_people(label["owner"] or "", names) or owner
        kind = (ACTION if label["action"] else DECISION) if label else ACTION if box else section
        if kind == ACTION and item.lines:
            what, said, due = parse_task([text, *below], names)
            if what:
                yield ActionItem(what, said or owner, due, done, item.lines[0][1])
            nested = []
        elif kind == DECISION and item.lines:
            yield from _parse_decision(text, below, item.lines[0][1])
            nested = []
    for each in nested:
        yield from _outcomes_of_item(each, section, owner, names)
    yield from _outcomes_of_lines(item.lines[end:], names)


def _iter_item_texts(item: _MinutesItem) -> Iterator[str]:
    yield CHECKBOX_RE.sub("", item.text(), count=1)
    for each in item.nested:
        yield from _iter_item_texts(each)


def _parse_decision(text: str, below: list[str], line: int) -> Iterator[DecisionItem]:
    reasons = []
    because = _REASON_RE.search(text)
    if because and because.start():
        text, reasons = text[: because.start()], [text[because.end() :]]
    for each in below:
        because = _REASON_RE.match(each)
        reasons.append(each[because.end() :] if because else each)
    text = tidy_task_text(text)
    if text and text.casefold() not in NO_TASK_WORDS:
        yield DecisionItem(text, "; ".join(filter(None, map(tidy_task_text, reasons))), line)
