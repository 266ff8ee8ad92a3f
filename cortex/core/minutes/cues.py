"""The words by which minutes announce what is what; they stand in `cues.txt`, by language."""

from __future__ import annotations

import re

from cortex.core.text.data_sections import read_sections
from cortex.core.text.tokenizer import fold_accents

ACTION, DECISION, QUESTION = "action", "decision", "question"
ATTENDEES, ABSENT, AGENDA, OTHER, MIXED = "attendees", "absent", "agenda", "other", "mixed"

_SECTIONS = read_sections(__file__)


def lines_of(section: str) -> list[str]:
    return _SECTIONS[section]


def words_of(section: str) -> frozenset[str]:
    return frozenset("|".join(_SECTIONS[section]).split("|"))


def words_by_kind(section: str) -> dict[str, list[str]]:
    """Kind -> its words, of lines such as `action: next steps|to do`."""
    pairs = (line.partition(": ") for line in _SECTIONS[section])
    return {kind: words.split("|") for kind, _, words in pairs}


def regex_of(section: str) -> re.Pattern[str]:
    return re.compile("|".join(_SECTIONS[section]))


def fold(text: str) -> str:
    """The text in lowercase and without accents."""
    return fold_accents(text.casefold())


def _decision_cue() -> re.Pattern[str]:
    pattern = "|".join(_SECTIONS["decision cues"])
    for name, parts in words_by_kind("decision cue parts").items():
        pattern = pattern.replace(f"{{{name}}}", "|".join(parts))
    return re.compile(rf"(?i)\b(?:{pattern})")


_KIND_BY_HEADING = {
    word: kind for kind, words in words_by_kind("headings").items() for word in words
}
_STEM_RES = {
    kind: re.compile("|".join(stems)) for kind, stems in words_by_kind("heading stems").items()
}
_FILLERS = words_of("fillers")
_OF_THIS_MEETING_RE = re.compile(
    r"[ ](?:from|of|for|in)[ ](?:this|the|today'?s?)[ ](?:meeting|call|session|sync)$"
)
_EARLIER_RE = regex_of("earlier")
# The endings of `Teilnehmer:innen` and `Présent·es`.
_GENDER_RE = re.compile(r"(?<=\w)[:·•*_/.(-]+-?(?:innen|in|e|es|s|as|os|r)\)?(?:[·.]s)?(?!\w)")
DATE_KEY_RE = re.compile(
    r"(?:meeting |sitzungs)?(?:date|datum|fecha|data|when|wann|day|tag|time|jour)\b"
)
COLUMN_WORDS = {kind: frozenset(words) for kind, words in words_by_kind("columns").items()}
DONE_CELL_RE, NO_CELL_RE = regex_of("done cells"), regex_of("no cells")
IMPERATIVES, ROLE_WORDS = words_of("imperatives"), words_of("roles")
STOP_WORDS = {kind: frozenset(words) for kind, words in words_by_kind("stop words").items()}
INFINITIVE_CUE_RE, FUTURE_VERB_RE = regex_of("infinitive cues"), regex_of("future verbs")
PRESENT_VERB_RE, PRONOUN_CUE_RE = regex_of("present verbs"), regex_of("pronoun cues")
REPORTED_PROMISE_RE = regex_of("reported promises")
FIRST_PERSON_CUE_RE, NO_PROMISE_RE = regex_of("first person cues"), regex_of("no promises")
DECISION_CUE_RE = _decision_cue()
UNSETTLED_RE, NOT_SETTLED_RE = regex_of("unsettled"), regex_of("not settled")
NOBODY_RE, DONE_LABEL_RE = regex_of("nobody"), regex_of("done labels")
POLAR_RE, DEICTIC_RE = regex_of("polar"), regex_of("deictic")
NO_DECISION_RE = re.compile(
    rf"(?i)\W*no objections\W*|(?=(?:\S+ ?){{1,4}}$){NOBODY_RE.pattern[4:]}.*"
)
_LABELS = {kind: "|".join(words) for kind, words in words_by_kind("labels").items()}
# `Action:`, `[ACTION]`, `TODO(ana):`, `AI-12 [Ana]:`, `**Resolution:**`, `AGREED to`.
LABEL_RE = re.compile(
    r"(?i)(?:[^\w\s\[(@#*_`\"'<>~|?-]{1,3}[ ]{0,2})?[*_\[(]{0,4}(?:(?:pending|open|new|neue)[ ])?"
    rf"(?:(?P<action>{_LABELS[ACTION]})|(?P<question>{_LABELS[QUESTION]})|(?P<decision>{_LABELS[DECISION]}))"
    r"(?:[ ]?[-#]?\d{1,4})?(?P<close>[*_\])]{0,4})[ ]?"
    r"(?:[(\[](?P<owner>[^()\[\]\n]{1,40})[)\]])?[*_]{0,3}"
    r"(?:[ ]?[:：][*_]{0,3}(?:[ \t]+|$)|(?<=\])[ ]+|[ ][–—-][ ]+|(?-i:(?<=[A-Z]{3}))[ ]+"
    r"(?!ITEMS?\b|POINTS?\b)(?=[^\s:–—-]+[ ]+[^\s–—-]))"
)
# `TODO Ana:`, `ACTION Ana and Bob:`; whether these are people, the attendees tell.
NAMED_LABEL_RE = re.compile(
    rf"(?i)[*_\[]{{0,4}}(?P<action>{_LABELS[ACTION]})[*_\]]{{0,4}}[ ](?:on[ ]|for[ ]|für[ ]|pour[ ]|para[ ])?"
    r"(?P<owner>@?[^\W\d_][\w'’.-]{0,30}(?:[ ]?(?:,|&|and|und|et|y)?[ ]@?[^\W\d_][\w'’.-]{0,30}){0,3})"
    r"[*_]{0,3}[ ]?:[*_]{0,3}(?:[ \t]+|$)"
)


def section_kind(line: str) -> str:
    """What a heading announces: one of the kinds, or "" for anything else."""
    text = line.casefold().strip(" *_:#.")
    text = re.sub(r"^[\W\d_]{1,9}|[ ]?\(\d{1,4}\)$", "", text)
    if len(text) > 70:
        return ""
    text = fold(_GENDER_RE.sub("", text)).replace("’", "'")
    if text in _KIND_BY_HEADING:
        return _KIND_BY_HEADING[text]
    earlier = _EARLIER_RE.search(text)
    text = _OF_THIS_MEETING_RE.sub("", text)
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
    words = [fold(cell).strip(" *_:?#") for cell in header]
    return {
        kind: next(at for at, word in enumerate(words) if word in names)
        for kind, names in COLUMN_WORDS.items()
        if not names.isdisjoint(words)
    }
