"""Minutes of a meeting in markdown, read into title, date, attendees, decisions, actions and
questions.

What is marked is read (headings over lists, check boxes, labels, tables), and sentences that
decide or promise something; never code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cortex.core.markdown.bound import minutes_part
from cortex.core.minutes import people
from cortex.core.minutes.blocks import Block, parse_blocks, parse_field
from cortex.core.minutes.cues import (
    ABSENT,
    ATTENDEES,
    DATE_KEY_RE,
    STOP_WORDS,
    TITLE_KEYS,
    fold,
    regex_of,
    section_kind,
    table_columns,
)
from cortex.core.minutes.dates import first_date, iter_dates
from cortex.core.minutes.outcomes import ActionItem, DecisionItem, OutcomeReader, QuestionItem
from cortex.core.minutes.sentences import FULL_NAME_RE
from cortex.core.minutes.task_parser import CHECKBOX_RE, tidy_task_text

__all__ = ["ActionItem", "DecisionItem", "MeetingMinutes", "QuestionItem", "parse_meeting"]

_TITLE_PREFIX_RE = re.compile(r"(?i)(?:meeting(?: notes| minutes)?|minutes)[ ]?:[ ]{0,9}")
_URL_RE = re.compile(r"\]\([^()\s]*\)|https?://\S+|`[^`\n]*`")
_OTHER_DATE_RE = regex_of("other date")
_COMPACT_DATE_RE = re.compile(r"(?<!\d)(20\d\d)([01]\d)([0-3]\d)(?!\d)")
_TIMESTAMP_RE = re.compile(r"[T ]\d\d:\d\d:\d\d")
_FRONT_RE = re.compile(
    r"(?:(?:---|\+\+\+)\r?\n(?:.*\n){0,60}?(?:---|\+\+\+|\.\.\.)|(?i:title):.*\n(?:[\w-]+:.*\n)+)"
)
_INLINE_FIELD_RE = re.compile(r"(?<=[.])[ ](?=[A-ZÀ-Þ]\w+(?:[ ]\w+){0,2}:[ ])")
_FIRST_LINES = 14
_MAX_TITLE_CHARS = 100


class MeetingMinutes(NamedTuple):
    """What minutes say. `date` is "YYYY-MM-DD" or ""."""

    title: str
    date: str
    attendees: tuple[str, ...]
    actions: tuple[ActionItem, ...]
    decisions: tuple[DecisionItem, ...]
    questions: tuple[QuestionItem, ...] = ()


def parse_meeting(text: str) -> MeetingMinutes:
    """What the minutes in `text` say, as far as `minutes_part` goes."""
    text = minutes_part(text)
    blocks = parse_blocks(text)
    language = _language(text)
    fields = [field for block in blocks for field in _block_fields(block)]
    title = _find_title(fields, blocks)
    front = _FRONT_RE.match(text)
    of_page = front[0] if front else ""
    date = _find_date(fields, title, blocks, of_page, day_first=language != "en")
    attendees = _find_attendees(fields, blocks)
    names = people.roster_names(attendees, text)
    reader = OutcomeReader(names, date, language)
    outcomes = reader.read(blocks)
    return MeetingMinutes(
        title,
        date,
        tuple(name for name, _ in attendees),
        tuple(each for each in outcomes if isinstance(each, ActionItem)),
        tuple(each for each in outcomes if isinstance(each, DecisionItem)),
        tuple(each for each in outcomes if isinstance(each, QuestionItem)),
    )


def _language(text: str) -> str:
    """The language whose small words are most frequent; English if there are none."""
    words = re.findall(r"[^\W\d_]+", text[:20_000].casefold())
    counts = {language: sum(map(stop.__contains__, words)) for language, stop in STOP_WORDS.items()}
    return max(counts, key=lambda language: (counts[language], language == "en"))


def _lines_of(block: Block) -> list[str]:
    """The lines of a heading or paragraph, or the first of each item."""
    lines = [line for line, _ in block.lines]
    return lines + [item.lines[0][0] for item in block.items if item.lines]


def _block_fields(block: Block) -> Iterator[tuple[str, str]]:
    """The fields (`Date: 2026-11-20`) of a block: lines, items (nested too), rows of two cells."""
    fields: list[tuple[str, list[str]]] = []
    lines = [part for line, _ in block.lines for part in _INLINE_FIELD_RE.split(line)]
    for line in lines:
        key, value = parse_field(line.strip())
        if key or not fields or block.level:
            fields.append((key, [value]))
        elif section_kind(fields[-1][0]) == ATTENDEES:  # names may go on in the next lines
            fields[-1][1].append(line.strip())
    yield from ((key, " ".join(values)) for key, values in fields)
    for item in block.items:
        key, value = parse_field(item.lines[0][0] if item.lines else "")
        if section_kind(key) == ATTENDEES:
            key, value = parse_field(item.text())
        below = ", ".join(each.text() for each in item.nested)
        yield key or item.text().casefold(), value or below
    if len(block.rows) == 2:  # `| Date | Place |` above what they are
        (heads, _), (cells, _) = block.rows
        is_of_tasks = not {"action", "owner"}.isdisjoint(table_columns(heads))
        for key, value in () if is_of_tasks else zip(heads, cells, strict=False):
            if DATE_KEY_RE.match(fold(key)):
                yield key.strip(" *_:").casefold(), value
    for cells, _ in block.rows:
        if len(cells) >= 2 and not table_columns(cells[1:2]):
            yield cells[0].strip(" *_:").casefold(), cells[1].strip(" *_")


def _find_title(fields: list[tuple[str, str]], blocks: list[Block]) -> str:
    heads: list[str] = []
    plain: list[str] = []
    for block in blocks:
        if block.rows:
            continue
        line = block.lines[0][0] if block.lines else block.items[0].text()
        key = parse_field(line)[0]
        is_other = section_kind(line) or (key and (section_kind(key) or DATE_KEY_RE.match(key)))
        if _TITLE_PREFIX_RE.match(line) or not is_other:
            (heads if 0 < block.level < 6 else plain).append(line)
    if plain and _TITLE_PREFIX_RE.match(plain[0]):
        heads = plain
    named = [value for key, value in fields if fold(key) in TITLE_KEYS and value]
    title = next(iter([*named, *heads, *plain]), "")
    title = tidy_task_text(_TITLE_PREFIX_RE.sub("", CHECKBOX_RE.sub("", title, count=1), count=1))
    if len(title) <= _MAX_TITLE_CHARS:
        return title
    return title[: _MAX_TITLE_CHARS + 1].rpartition(" ")[0] or title[:_MAX_TITLE_CHARS]


def _find_date(
    fields: list[tuple[str, str]], title: str, blocks: list[Block], of_page: str, *, day_first: bool
) -> str:
    """The labelled date, else that of the title, of the first heading, or of the first lines. What
    the metadata `of_page` says may be when it was published: it comes behind a title's date, and
    what says the second too."""
    labelled = [value for key, value in fields[:60] if DATE_KEY_RE.match(fold(key))]
    stamps = [value for value in labelled if value in of_page or _TIMESTAMP_RE.search(value)]
    heads = (block.lines[0][0] for block in blocks if block.level == 1 and block.lines)
    plain = (value for value in labelled if value not in stamps)
    for line in (*plain, title, *heads, *stamps):
        spaced = _COMPACT_DATE_RE.sub(r"\1-\2-\3", _URL_RE.sub(" ", line))
        if day := first_date(spaced, day_first=day_first):
            return day
    lines = [line for block in blocks for line in _lines_of(block) if line.strip()]
    for line in lines[:_FIRST_LINES]:
        for found in iter_dates(_URL_RE.sub(" ", line), day_first=day_first):
            if not _OTHER_DATE_RE.search(line[: found.start]) and len(line) < 160:
                return found.day
    return ""


def _find_attendees(
    fields: list[tuple[str, str]], blocks: list[Block]
) -> list[tuple[str, tuple[str, ...]]]:
    """Attendees with their other names: from `Attendees: ...`, and from what stands below such a
    heading, but for a part of it about those who are absent."""
    entries: list[str] = []
    for key, value in fields:
        if value and section_kind(key) == ATTENDEES:
            head, _, tail = value.rpartition(": ")
            entries += people.split_names((value if "," in head else tail).strip("[]"))
    level, is_people, count = 0, False, len(entries)
    for block in blocks:
        line = block.lines[-1][0] if block.lines else ""
        kind = section_kind(line) if block.level or len(block.lines) == 1 else ""
        block_level = block.level or (6 if kind else 0)
        if block_level:
            below = is_people and block_level > level and kind != ABSENT
            is_people = kind == ATTENDEES or below
            level = level if below else block_level
            count = len(entries)
        elif _is_roster(block) or (is_people and not (block.lines and len(entries) > count)):
            entries += _entries_of_block(block)
    if not entries:
        entries = _names_in_first_lines(blocks)
    found = dict(people.parse_attendee(entry) for entry in entries)
    return [(name, aliases) for name, aliases in found.items() if name]


def _is_roster(block: Block) -> bool:
    return bool(block.rows) and {"name", "here"} <= table_columns(block.rows[0][0]).keys()


def _entries_of_block(block: Block) -> list[str]:
    if block.rows:
        header = block.rows[0][0]
        if section_kind(header[0]) == ABSENT:
            return []
        columns = table_columns(header)
        return people.names_in_table([cells for cells, _ in block.rows[1:]], columns)
    if block.items:
        return people.names_in_list([item.text() for item in block.items])
    entries = people.names_in_list([line for line, _ in block.lines])
    return entries if all(people.parse_attendee(entry)[0] for entry in entries) else []


def _names_in_first_lines(blocks: Sequence[Block]) -> list[str]:
    """The names below a title, `(ana, Bob, Chidi + Roos from design)`, or in the first list."""
    lines = [line for block in blocks for line, _ in block.lines][:5]
    for line in lines:
        if re.fullmatch(r"\([^()]{5,200}\)", line.strip()):
            entries = people.split_names(line.strip(" ()"))
            if len(entries) > 1 and all(people.parse_attendee(entry)[0] for entry in entries):
                return entries
    for block in blocks:
        if len(block.items) > 2:  # the first list: `Ana Bell (chair)`
            texts = [item.text() for item in block.items]
            names = [people.parse_attendee(text)[0] for text in texts]
            is_people = all(FULL_NAME_RE.fullmatch(name) for name in names)
            return texts if is_people else []
    return []
