"""The words by which minutes announce what is what; they stand in `cues.txt`, by language."""

from __future__ import annotations

import re

from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.tables import read_sections
from cortex.core.text.tokenizer import fold_accents

ACTION, DECISION, QUESTION, CONTEXT = "action", "decision", "question", "context"
ATTENDEES, ABSENT, AGENDA, MIXED = "attendees", "absent", "agenda", "mixed"

_SECTIONS = read_sections(__file__)


def lines_of(section: str) -> list[str]:
    return _SECTIONS[section]


def _lines_by_name(section: str) -> dict[str, str]:
    parts = (line.partition(": ") for line in _SECTIONS[section])
    return {name: rest for name, _, rest in parts}


def _words_by_kind(section: str) -> dict[str, frozenset[str]]:
    """Kind -> its words, of lines such as `action: next steps|to do`."""
    return {kind: frozenset(words.split("|")) for kind, words in _lines_by_name(section).items()}


_WORDS, _PATTERNS = _words_by_kind("words"), _lines_by_name("patterns")
_PARTS = {"DECISION_CUES": "|".join(_SECTIONS["decision cues"])} | _lines_by_name("parts")


def words_of(name: str) -> frozenset[str]:
    return _WORDS[name]


def regex_of(name: str) -> re.Pattern[str]:
    pattern = _PATTERNS[name]
    for part, text in _PARTS.items():
        pattern = pattern.replace(f"{{{part}}}", text)
    return re.compile(pattern)


def fold(text: str) -> str:
    """The text in lowercase and without accents."""
    return fold_accents(text.casefold())


def kind_by_word(section: str) -> dict[str, str]:
    """Each word of such lines, folded, -> its kind."""
    kinds = _words_by_kind(section).items()
    return {fold(word): kind for kind, words in kinds for word in words}


_KIND_BY_HEADING = kind_by_word("headings")
_STEM_RES = {kind: lazy_re(stems) for kind, stems in _lines_by_name("heading stems").items()}
_FILLERS = words_of("fillers")
_FOR_WHEN_RE = lazy_re(
    r"(?<=\w)[ ](?:for|until|till|before|fur|bis|vor|pour|avant|para|hasta|antes)[ ].*"
)
_EARLIER_RE, DATE_KEY_RE = regex_of("earlier"), regex_of("date key")
# The endings of `Teilnehmer:innen` and `Présent·es`.
_GENDER_RE = lazy_re(r"(?<=[^\W_])[:·•*_/.(-]+-?(?:innen|in|e|es|s|as|os|r)\)?(?:[·.]s)?(?!\w)")
COLUMN_WORDS, STOP_WORDS = _words_by_kind("columns"), _words_by_kind("stop words")
IMPERATIVES, ORDERS = words_of("imperatives"), words_of("orders")
TITLE_KEYS = words_of("title keys")
_NOTES_WORDS = frozenset(("notes", "discussion", "minutes", "notizen", "diskussion", "comments"))
LABEL_RE, NOBODY_RE = regex_of("label"), regex_of("nobody")


def section_kind(line: str) -> str:
    """What a heading announces: one of the kinds, or "" for anything else."""
    text = line.casefold().strip(" *_:#.").replace("roll call", "rollcall")
    text = re.sub(r"^[\W\d_]{1,9}|[ ]?\(\d{1,4}\)$", "", text)
    if len(text) > 70:
        return ""
    text = fold(_GENDER_RE.sub("", text)).replace("’", "'")
    if text in _KIND_BY_HEADING:
        return _KIND_BY_HEADING[text]
    earlier = _EARLIER_RE.search(text)
    text = _FOR_WHEN_RE.sub("", text, count=1)
    words = re.findall(r"[^\W_]+(?:[-'][^\W_]+)*", re.sub(r"\([^()]*\)", "", text))
    rest = [word for word in words if word not in _FILLERS and not _EARLIER_RE.fullmatch(word)]
    kinds: list[str] = []
    for word in rest:
        if word in ("and", "or", "oder", "ou", "o", "meeting", "&") and (earlier or kinds):
            continue
        kind = next((kind for kind, stem in _STEM_RES.items() if stem.fullmatch(word)), "")
        if not kind:
            return ""
        kinds.append(kind)
    if {ACTION, DECISION} <= set(kinds):
        return MIXED
    return AGENDA if earlier and kinds[:1] == [ACTION] else (kinds or [""])[0]


def table_columns(header: list[str]) -> dict[str, int]:
    """The kind of column -> its number, for the columns that the header of a table names."""
    columns: dict[str, int] = {}
    for at, cell in enumerate(header):
        for kind in column_kinds(cell):
            columns.setdefault(kind, at)
    return columns


def column_kinds(cell: str) -> list[str]:
    """What a cell of a header, or a key before a colon, may announce: `Owner(s)`, `Result / decision`."""
    parts = re.sub(r"\([^()]*\)", "", fold(cell)).split("/")
    words = {part.strip(" *_:?#.123") for part in (*parts, "/".join(parts))}
    if words & _NOTES_WORDS:
        return []  # `Notes / actions` holds all that was said
    return [kind for kind, names in COLUMN_WORDS.items() if names & words]
