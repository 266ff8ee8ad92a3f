"""Minutes of a meeting in markdown, read into title, date, attendees, decisions, actions and
questions; its attendees as the minutes name them, and the names they answer to.

What is marked is read (headings over lists, check boxes, labels, tables), and sentences that
decide or promise something; never code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from cortex.core.markdown.bound import minutes_part
from cortex.core.minutes.blocks import Block, parse_blocks, parse_field
from cortex.core.minutes.cues import (
    ABSENT,
    ATTENDEES,
    CONTEXT,
    DATE_KEY_RE,
    NOBODY_RE,
    QUESTION,
    STOP_WORDS,
    TITLE_KEYS,
    fold,
    regex_of,
    section_kind,
    table_columns,
    words_of,
)
from cortex.core.minutes.dates import first_date, iter_dates
from cortex.core.minutes.outcomes import ActionItem, DecisionItem, NotedItem, OutcomeReader
from cortex.core.minutes.sentences import FULL_NAME_RE
from cortex.core.minutes.task_parser import (
    CHECKBOX_RE,
    NAME_SEPARATOR_RE,
    NOT_NAMES,
    NameSet,
    tidy_task_text,
)
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

_TITLE_PREFIX_RE = lazy_re(r"(?i)(?:meeting(?: notes| minutes)?|minutes)[ ]?:[ ]{0,9}")
_URL_RE = lazy_re(r"\]\([^()\s]*\)|https?://\S+|`[^`\n]*`")
_OTHER_DATE_RE = regex_of("other date")
_COMPACT_DATE_RE = lazy_re(r"(?<!\d)(20\d\d)([01]\d)([0-3]\d)(?!\d)")
_TIMESTAMP_RE = lazy_re(r"[T ]\d\d:\d\d:\d\d")
_FRONT_RE = lazy_re(
    r"(?:(?:---|\+\+\+)\r?\n(?:.*\n){0,60}?(?:---|\+\+\+|\.\.\.)|(?i:title):.*\n(?:[\w-]+:.*\n)+)"
)
_INLINE_FIELD_RE = lazy_re(r"(?<=[.])[ ](?=[A-ZÀ-Þ]\w+(?:[ ]\w+){0,2}:[ ])")
_LINK_RE = lazy_re(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]|!?\[([^\[\]]*)\]\([^()]*\)")
_LEADING_INITIALS_RE = lazy_re(r"^[(\[]([A-Z]{1,4})[)\]][ \t]+(.+)$")  # `[AB] Ana Bell`
_HANDLE_RE = lazy_re(r"@([A-Za-z0-9][\w.-]{0,38})")
_PARENTHESIS_RE = lazy_re(r"\(([^()]{0,80})\)|<[^<>]{0,80}>")
_SUFFIX_RE = lazy_re(r"(?s)[ ](?:[–—-]+|from|aus|chez|bei)[ ].*|[ ]?\|.*")
_ROLES, _KEEPERS = words_of("roles"), words_of("keepers")
_MAX_NAMES_LINE = 60  # of a list of names
_ME = ("me", "ich", "moi", "yo", "io", "eu", "ik")
_WORD_RE = lazy_re(r"@?[^\W_][\w'’.·-]{0,38}")
_NO_NAME_RE, _NO_CELL_RE = regex_of("no name"), regex_of("no cells")
_PRESENT_RE, _DOES_RE = regex_of("present in prose"), regex_of("does")
_PARTICLE_WORDS = "van von de den der del da di la le el dos das du ten zu al bin ter mac"
_PARTICLES = frozenset(_PARTICLE_WORDS.split())
_FIRST_LINES = 14
_MAX_TITLE_CHARS = 100


class MeetingMinutes(NamedTuple):
    """What minutes say. `date` is "YYYY-MM-DD" or ""."""

    title: str
    date: str
    attendees: tuple[str, ...]
    actions: tuple[ActionItem, ...]
    decisions: tuple[DecisionItem, ...]
    questions: tuple[NotedItem, ...] = ()
    context: tuple[NotedItem, ...] = ()


def parse_meeting(
    text: str, *, date: str = "", otherwise: str = "", people: Iterable[str] = ()
) -> MeetingMinutes:
    """What the minutes in `text` say, as far as `minutes_part` goes. They were on the day `date`, where
    that is known; on the day `otherwise` and among `people`, if they do not say when and who."""
    text = minutes_part(text)
    blocks = parse_blocks(text)
    language = _language(text)
    fields = [field for block in blocks for field in _block_fields(block)]
    title = _find_title(fields, blocks)
    front = _FRONT_RE.match(text)
    of_page = front[0] if front else ""
    date = date or _find_date(fields, title, blocks, of_page, day_first=language != "en")
    date = date or otherwise
    attendees = _find_attendees(fields, blocks) or [(name, ()) for name in people]
    absent = _find_attendees(fields, blocks, ABSENT)
    acting = (one[one.lastindex or 0] for one in _DOES_RE.finditer(text))
    named = [(one, ()) for one in acting if one.partition(" ")[0].casefold() not in NOT_NAMES]
    names = _roster_names([*attendees, *absent, *named], text)
    reader = OutcomeReader(names, date, language)
    outcomes = reader.read(blocks)
    noted = [each for each in outcomes if isinstance(each, NotedItem)]
    return MeetingMinutes(
        title,
        date,
        tuple(name for name, _ in attendees),
        tuple(each for each in outcomes if isinstance(each, ActionItem)),
        tuple(each for each in outcomes if isinstance(each, DecisionItem)),
        tuple(each for each in noted if each.kind == QUESTION),
        tuple(each for each in noted if each.kind == CONTEXT),
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
    lines = [part for line in lines for part in re.split(r"(?<=[a-z)][.!])[ ]+(?=[A-Z])", line)]
    for line in lines:
        key, value = parse_field(_PRESENT_RE.sub("present: ", line.strip().removesuffix("<br>")))
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
    heads = (head for head in heads if not _OTHER_DATE_RE.search(head))
    plain = (value for value in labelled if value not in stamps)
    for line in (*plain, title, *heads, *stamps):
        spaced = _COMPACT_DATE_RE.sub(r"\1-\2-\3", _URL_RE.sub(" ", line.strip("\"'` ")))
        if day := first_date(spaced, day_first=day_first):
            return day
    lines = [line for block in blocks for line in _lines_of(block) if line.strip()]
    for line in lines[:_FIRST_LINES]:
        for found in iter_dates(_URL_RE.sub(" ", line), day_first=day_first):
            if (len(line) < 160 or found.end < 80) and not _OTHER_DATE_RE.search(
                line[: found.start]
            ):
                return found.day
    return ""


def _find_attendees(
    fields: list[tuple[str, str]], blocks: list[Block], wanted: str = ATTENDEES
) -> list[tuple[str, tuple[str, ...]]]:
    """Attendees, or who is `wanted` else, with their other names: from `Attendees: ...`, and from
    what stands below such a heading, but for a part of it about those who are absent."""
    entries: list[str] = []
    for key, value in fields:
        if value and section_kind(key) == wanted:
            head, _, tail = value.rpartition(": ")
            entries += _split_names((value if "," in head else tail).strip("[]"))
    level, is_people, count = 0, False, len(entries)
    for block in blocks:
        line = block.lines[-1][0] if block.lines else ""
        kind = section_kind(line) if block.level or len(block.lines) == 1 else ""
        block_level = block.level or (6 if kind else 0)
        if block_level:
            below = is_people and block_level > level and kind != ABSENT
            is_people = kind == wanted or below
            level = level if below else block_level
            count = len(entries)
        elif is_people and len(entries) > count and _tells_more(line, entries[count:]):
            is_people = False
        elif is_people or (wanted == ATTENDEES and _is_roster(block)):
            entries += _entries_of_block(block)
    if not entries and wanted == ATTENDEES:
        entries = _names_in_first_lines(blocks)
    found = dict(_parse_attendee(entry) for entry in entries)
    known = {fold(word) for name, more in found.items() for word in (name, *name.split(), *more)}
    keepers = (_split_names(value) for key, value in fields if key in _KEEPERS)
    for entry in (one for some in keepers for one in some if wanted == ATTENDEES):
        name, aliases = _parse_attendee(entry)
        if known.isdisjoint(map(fold, (name, *name.split()[:1]))):
            found[name] = aliases
    return [(name, aliases) for name, aliases in found.items() if name]


def _tells_more(line: str, entries: Iterable[str]) -> bool:
    """True of a paragraph behind a list of names that is long, or tells what one of them does."""
    return len(line) > _MAX_NAMES_LINE or line.split(" ", maxsplit=1)[0] in {
        one.split(" ")[0] for one in entries
    }


def _is_roster(block: Block) -> bool:
    return bool(block.rows) and {"name", "here"} <= table_columns(block.rows[0][0]).keys()


def _entries_of_block(block: Block) -> list[str]:
    if block.rows:
        header = block.rows[0][0]
        if section_kind(header[0]) == ABSENT:
            return []
        columns = table_columns(header)
        return _names_in_table([cells for cells, _ in block.rows[1:]], columns)
    if block.items:
        return _names_in_list([item.text() for item in block.items])
    entries = _names_in_list([line for line, _ in block.lines])
    entries = [entry for entry in entries if entry.strip().casefold() not in _ROLES]
    return entries if all(_parse_attendee(entry)[0] for entry in entries) else []


def _names_in_first_lines(blocks: Sequence[Block]) -> list[str]:
    """The names below a title, `(ana, Bob, Chidi + Roos from design)`, or in the first list."""
    lines = [line for block in blocks for line, _ in block.lines][:5]
    for line in lines:
        if re.fullmatch(r"\([^()]{5,200}\)", line.strip()):
            entries = _split_names(line.strip(" ()"))
            if len(entries) > 1 and all(_parse_attendee(entry)[0] for entry in entries):
                return entries
    for block in blocks:
        if len(block.items) > 2:  # the first list: `Ana Bell (chair)`
            texts = [item.text() for item in block.items]
            names = [_parse_attendee(text)[0] for text in texts]
            is_people = all(FULL_NAME_RE.fullmatch(name) for name in names)
            return texts if is_people else []
    return []


def _parse_attendee(text: str) -> tuple[str, tuple[str, ...]]:
    """The name (empty for none) in an entry of a list of attendees, and its handle and initials."""
    text = _LINK_RE.sub(lambda link: link[1] or link[2], CHECKBOX_RE.sub("", text))
    text = _LEADING_INITIALS_RE.sub(r"\2 (\1)", text)
    handles = _HANDLE_RE.findall(text)
    inside = [part for part in _PARENTHESIS_RE.findall(text) if part]
    plain = _PARENTHESIS_RE.sub(" ", text)
    named = _HANDLE_RE.sub(" ", plain)
    plain = named if len(named.strip(" *_-–—`.:")) > 1 else plain
    plain = _SUFFIX_RE.sub("", " ".join(plain.split()).strip(" *_`\"'[]:;,-–—"))
    head, colon, tail = plain.partition(":")
    away = any(len(part) > 3 and _NO_CELL_RE.match(fold(part)) for part in (tail.strip(), *inside))
    if away or re.match(r"[*_ ]*\d", tail):
        return "", ()  # `Ana: absent`, `Beginn: 19:30`
    is_role = colon and head.strip().casefold() in _ROLES
    name = (tail if is_role else head).strip(" *_`\"'[]:;@()")
    name = re.sub(r"(?<!\s[A-Z])\.$", "", name).rstrip()  # but for `Ana B.`
    if name.casefold() in _ME and inside:
        name = inside[0].strip()
    if not _is_name(name) or name.casefold() in _ROLES:
        return "", ()
    short = [part for part in inside if re.fullmatch(r"[A-Z][A-Za-z]{1,3}", part)]
    return name, tuple(dict.fromkeys((*handles, *short)))


def _is_name(text: str) -> bool:
    words = text.split()
    if not 0 < len(words) <= 5 or not 1 < len(text) <= 60 or _NO_NAME_RE.search(text):
        return False
    if section_kind(words[0]) == ABSENT or words[0].isdigit():  # `Apologies from Ana`
        return False
    if NOBODY_RE.match(text) or not all(_WORD_RE.fullmatch(word) for word in words):
        return False
    lower = [word for word in words if word[0].islower() and word not in _PARTICLES]
    return not lower or len(words) <= 2


def _split_names(text: str) -> list[str]:
    """The entries of a line such as `Anna (remote), Bob and Chris`, but for commas in brackets."""
    if re.fullmatch(r"(?:@[\w.-]+[ ]*)+", text.strip()):
        return _HANDLE_RE.findall(text)
    brackets: list[str] = []

    def hide(match: re.Match[str]) -> str:
        brackets.append(match[0])
        return f"\0{len(brackets) - 1}\0"

    hidden = re.sub(r"\([^()]*\)|\[[^\[\]]*\](?:\([^()]*\))?", hide, text)
    groups = hidden.split(";")
    if len(groups) > 1 and all(group.count(",") == 1 for group in groups):
        hidden = ";".join(group.split(",")[0] for group in groups)  # `Ana, chair; Bob, clerk`
    parts = [part for part in NAME_SEPARATOR_RE.split(hidden) if part.strip()]
    return [re.sub(r"\0(\d+)\0", lambda mark: brackets[int(mark[1])], part) for part in parts]


def _names_in_list(texts: Sequence[str]) -> list[str]:
    """The entries of a list's items: one each, affiliation behind a comma, or several."""
    # A table drawn with spaces has names before its first gap.
    texts = [re.split(r"[ ]{3,}|\t", text.strip())[0] for text in texts]
    boxes = [CHECKBOX_RE.match(text) for text in texts]
    if len({box[1] == " " for box in boxes if box}) == 2:  # who was not there is not ticked
        texts = [text for text, box in zip(texts, boxes, strict=True) if not box or box[1] != " "]
    commas = [_PARENTHESIS_RE.sub("", text).count(",") for text in texts]
    if len(texts) > 2 and sum(count == 1 for count in commas) > len(texts) / 2:
        return [text.split(",")[0] for text in texts]
    groups = (text.partition(":") for text in texts)  # `Voting members: Ana, Bob`
    return [
        entry
        for text, (_, _, tail) in zip(texts, groups, strict=True)
        for entry in _split_names(tail if "," in tail else text)
    ]


def _names_in_table(rows: Sequence[Sequence[str]], columns: dict[str, int]) -> list[str]:
    """The entries of a table of people, with the initials and handles of other columns in brackets;
    without those of whom a column says that they are absent."""
    entries = []
    for cells in rows:
        row = {kind: cells[at] for kind, at in columns.items() if at < len(cells)}
        if not _NO_CELL_RE.match(fold(row.get("here", ""))):
            alias = row.get("alias")
            entries.append(row.get("name", cells[0]) + (f" ({alias})" if alias else ""))
    return entries


def _roster_names(attendees: Sequence[tuple[str, Sequence[str]]], text: str) -> NameSet:
    """Every name, in lowercase but for initials, by which the attendees (with their aliases) may be called: parts of
    their names, handles, initials."""
    names: set[str] = set()
    said = set(re.findall(r"\w+", text))
    for name, aliases in attendees:
        words = [word for word in re.split(r"[\s.]+", name) if word]
        names |= {name.casefold()}
        names |= {alias if alias.isupper() else alias.casefold() for alias in aliases}
        names |= {word.casefold() for word in words if len(word) > 2 and word[0].isalpha()}
        names |= {word for word in words if len(word) == 2 and word.casefold() not in NOT_NAMES}
        if len(words) > 1:
            last = words[-1][0]
            names |= {f"{words[0]}{last}".casefold(), f"{words[0]} {last}".casefold()}
            names.add(" ".join(words[:2]).casefold())  # `Juan José` Gómez
            # In capitals, as `it` and `is` are no people.
            initials = {"".join(part[0] for part in re.split(r"[\s.-]+", name) if part)}
            initials.add("".join(word[0] for word in words))
            names |= initials & said
    firsts = [name[0] for name, _ in attendees]
    names |= {one for one in re.findall(r"[ ]\(([A-Z])\)", text) if firsts.count(one) == 1}
    known = {fold(name) for name in names if len(name) > 2}
    names |= known
    starts = {name[:length] for name in known for length in (3, 4, 5)}
    said = {word for word in said if word.istitle() and word.casefold() not in NOT_NAMES}
    for word in said:  # `Cesar` of César, `Tobi` of Tobias
        start = fold(word).replace("_", "")
        names |= {word.casefold()} if start in known else {word} if start in starts else set()
    return frozenset(names - _PARTICLES - {"frau", "herr", "mr", "mrs", "dr", "the"})
