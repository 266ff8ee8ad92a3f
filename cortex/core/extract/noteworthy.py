"""Passages of a turn that are worth keeping, by a linear score over general signals.

The signals are structure (who said it, below which heading, how long), names of code, and kinds of
words; noteworthy.txt holds words and weights. Nothing of another event bears on it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from cortex.core.extract.candidate import PASSAGE_LAYER, Candidate
from cortex.core.extract.passages import Passage, cut_passages, first_sentence, split_sentences
from cortex.core.model.turn_summary import AGENT, USER, Utterance
from cortex.core.text.data_sections import read_sections
from cortex.core.text.strings import shorten

MAX_PER_EVENT = 3
# Of the score, a logit: of what scores higher, 3 of 4 passages of held-out sessions are worth it.
_THRESHOLD = 0.6
_LONG_WORDS, _FULL_WORDS, _SHORT_WORDS, _SHORT_PROMPT_WORDS = 80, 45, 10, 5
_FULL_NAMES, _FULL_PROMPT_NAMES = 7, 3  # names of code from which more tell no more
_TITLE_CHARS, _MIN_HEADING_WORDS, _MIN_TITLE_WORDS = 80, 3, 4
_NAME_RE = re.compile(
    r"`[^`\n]+`|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|\b\w+\(\)|--\w[\w-]+"
    r"|\b\w+\.[a-z]{1,4}\b|\.\w+/\w+"
)
_SECTIONS = read_sections(__file__)


class _Signal(NamedTuple):
    name: str
    weight: float
    pattern: str


@cache
def _signals(section: str) -> tuple[_Signal, ...]:
    told = (line.partition(" :: ") for line in _SECTIONS[section])
    heads = [(*head.rpartition(" ")[::2], pattern) for head, _, pattern in told]
    return tuple(_Signal(name, float(weight), pattern) for name, weight, pattern in heads)


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def find_noteworthy(said: list[Utterance]) -> list[Candidate]:
    """The passages of a turn that are worth keeping, best first, as candidates."""
    last_retraction = max((at for at, one in enumerate(said) if _takes_back(one)), default=-1)
    scored: list[tuple[float, int, Passage]] = []
    for number, passage in enumerate(cut_passages(said)):
        if passage.role == AGENT and passage.message < last_retraction:
            continue
        score = score_passage(passage)
        if score >= _THRESHOLD:
            scored.append((-score, number, passage))
    return [_candidate(passage, -score) for score, _, passage in sorted(scored)[:MAX_PER_EVENT]]


def score_passage(one: Passage) -> float:
    """How much tells that a passage is worth keeping, as a logit."""
    low = one.text.lower().replace("’", "'")
    if one.role == USER and _compile(_SECTIONS["plan"][0]).match(low):
        return -9.0
    counted = _count_agent(one, low) if one.role == AGENT else _count_user(one, low)
    return sum(
        signal.weight
        * (
            bool(_compile(signal.pattern).search(low))
            if signal.pattern
            else counted.get(signal.name, 1.0)
        )
        for signal in _signals(one.role)
    )


def _count_agent(one: Passage, low: str) -> dict[str, float]:
    words = len(low.split())
    lines = one.text.split("\n")
    short = sum(len(line.split()) < _SHORT_WORDS for line in lines) / len(lines)
    return {
        "identifiers": min(len(_NAME_RE.findall(one.text)), _FULL_NAMES) / _FULL_NAMES,
        "long": float(words >= _LONG_WORDS),
        "length": min(words, _FULL_WORDS) / _FULL_WORDS,
        "short": short,
        "emphasis": float("**" in low),
        "list": float(bool(one.lead) or "\n" in one.text),
    }


def _count_user(one: Passage, low: str) -> dict[str, float]:
    return {
        "identifiers": min(len(_NAME_RE.findall(one.text)), _FULL_PROMPT_NAMES)
        / _FULL_PROMPT_NAMES,
        "short": float(len(low.split()) < _SHORT_PROMPT_WORDS),
        "answer": float(bool(one.about)),
        "assertion": float("?" not in low),
    }


def _takes_back(one: Utterance) -> bool:
    if one.role != AGENT:
        return False
    start = one.text[:200].lower().replace("’", "'")
    return bool(_compile(_SECTIONS["taken back"][0]).match(start))


def _candidate(one: Passage, score: float) -> Candidate:
    confidence = min(0.5 + score / 10, 0.7)
    return Candidate(
        PASSAGE_LAYER, _type_of(one), _body_of(one), confidence, one.message, title=_title_of(one)
    )


def _type_of(one: Passage) -> str:
    low = f"{one.about or one.heading} {one.text}".lower().replace("’", "'")
    for line in _SECTIONS[f"{one.role} types"]:
        type_, _, pattern = line.partition(" :: ")
        if _compile(pattern).search(low):
            return type_
    return "decision" if one.role == USER else "learning"


def _body_of(one: Passage) -> str:
    """The passage with what it needs to be understood, in markdown."""
    if one.about:
        return f"{one.about}\n\n> {one.text}"
    if one.role == USER:
        return f"> {one.text}\n\nAfter: {one.context}" if one.context else f"> {one.text}"
    return f"**{one.heading}**\n\n{one.body}" if one.heading else one.body


def _title_of(one: Passage) -> str:
    """The subject: of an answer the words with the question, a telling heading, else the first
    sentence that says something."""
    if one.about:
        return shorten(f"{first_sentence(one.text)} ({one.about})", _TITLE_CHARS)
    heading = one.heading.replace("**", "").strip(" :*_`0123456789.")
    is_empty = _compile(f"(?:{_SECTIONS['empty headings'][0]})").fullmatch(heading.lower())
    if not is_empty and len(heading.split()) >= _MIN_HEADING_WORDS:
        return shorten(heading, _TITLE_CHARS)
    sentences = [line.replace("**", "").strip(" *_:#>-") for line in split_sentences(one.text)]
    filler = _compile(_SECTIONS["filler"][0])
    telling = (
        line
        for line in sentences
        if len(line.split()) >= _MIN_TITLE_WORDS
        and not filler.fullmatch(line.lower().replace("’", "'").rstrip(".!:"))
    )
    title = next(telling, heading or sentences[0])
    return shorten(title, _TITLE_CHARS)
