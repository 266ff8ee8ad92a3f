"""The words by which minutes announce what is what; they stand in `cues.txt`, by language."""

from __future__ import annotations

import re

from cortex.core.minutes.dates import fold
from cortex.core.text.data_sections import read_sections

ACTION, DECISION, QUESTION = "action", "decision", "question"
ATTENDEES, ABSENT, AGENDA, OTHER, MIXED = "attendees", "absent", "agenda", "other", "mixed"

_SECTIONS = read_sections(__file__)


def _words(name: str) -> frozenset[str]:
    return frozenset("|".join(_SECTIONS[name]).split("|"))


def _by_kind(name: str) -> dict[str, str]:
    """Kind -> its line, of lines such as `action: next steps|to do`."""
    pairs = (line.partition(": ") for line in _SECTIONS[name])
    return {kind: rest for kind, _, rest in pairs}


def _regex(name: str) -> re.Pattern[str]:
    (pattern,) = _SECTIONS[name]
    return re.compile(pattern)


def _decision_cue() -> re.Pattern[str]:
    pattern = "|".join(_SECTIONS["decision cues"])
    for name, part in _by_kind("decision cue parts").items():
        pattern = pattern.replace(f"{{{name}}}", part)
    return re.compile(rf"(?i)\b(?:{pattern})")


_KIND_BY_HEADING = {
    word: kind for kind, words in _by_kind("headings").items() for word in words.split("|")
}
_STEM_RES = {kind: re.compile(stems) for kind, stems in _by_kind("heading stems").items()}
_FILLERS = _words("fillers")
_OF_THIS_MEETING_RE = re.compile(
    r"[ ](?:from|of|for|in)[ ](?:this|the|today'?s?)[ ](?:meeting|call|session|sync)$"
)
_EARLIER_RE = _regex("earlier")
# The endings of `Teilnehmer:innen` and `Présent·es`.
_GENDER_RE = re.compile(r"(?<=\w)[:·•*_/.(-]+-?(?:innen|in|e|es|s|as|os|r)\)?(?:[·.]s)?(?!\w)")
DATE_KEY_RE = re.compile(
    r"(?:meeting |sitzungs)?(?:date|datum|fecha|data|when|wann|day|tag|time|jour)\b"
)
COLUMN_WORDS = {kind: frozenset(words.split("|")) for kind, words in _by_kind("columns").items()}
DONE_CELL_RE, NO_CELL_RE = _regex("done cells"), _regex("no cells")
IMPERATIVES, ROLE_WORDS = _words("imperatives"), _words("roles")
STOP_WORDS = {kind: frozenset(words.split("|")) for kind, words in _by_kind("stop words").items()}
INFINITIVE_CUE_RE, FUTURE_VERB_RE = _regex("infinitive cues"), _regex("future verbs")
PRESENT_VERB_RE, PRONOUN_CUE_RE = _regex("present verbs"), _regex("pronoun cues")
REPORTED_PROMISE_RE = _regex("reported promises")
FIRST_PERSON_CUE_RE, NO_PROMISE_RE = _regex("first person cues"), _regex("no promises")
DECISION_CUE_RE = _decision_cue()
UNSETTLED_RE, NOT_SETTLED_RE = _regex("unsettled"), _regex("not settled")
NOBODY_RE = _regex("nobody")


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
