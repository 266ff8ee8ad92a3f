"""Passages of a turn that are worth keeping, by a linear score over general signals.

The signals are structure (who said it, below which heading, how long), names of code, and kinds of
words; noteworthy.txt holds words and weights. Nothing of another event bears on it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from cortex.core.extract.candidate import PASSAGE_LAYER, Candidate
from cortex.core.extract.passages import TurnPassage, cut_passages, split_sentences
from cortex.core.model.turn_summary import AGENT, USER, Utterance
from cortex.core.text.data_sections import read_sections
from cortex.core.text.strings import shorten

MAX_PER_EVENT = 3
_THRESHOLD = 1.4  # of the score, a logit
_FULL_WORDS = {AGENT: 45, USER: 15}  # from which more tell no more
_FULL_NAMES = {AGENT: 4, USER: 3}  # of names of code the same
_MIN_WORDS = {AGENT: 12, USER: 5}
_MIN_ANSWER_WORDS = 3
_TITLE_CHARS, _TITLE_SENTENCES, _MIN_TITLE_WORDS, _FULL_HEADING_WORDS = 80, 8, 4, 5
_NAME_RE = re.compile(
    r"`[^`\n]+`|\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|\b\w+\(\)|--\w[\w-]+"
    r"|\b\w+\.[a-z]{1,4}\b|\.\w+/\w+"
)
_SYMBOLS_RE = re.compile(r"(?:[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff] *)+")  # arrows, emoji
_SECTIONS = read_sections(__file__)
_compile: Callable[[str], re.Pattern[str]] = cache(re.compile)


class _Signal(NamedTuple):
    name: str
    weight: float
    full: int  # how many finds count in full
    place: str  # text, start or heading
    pattern: str


@cache
def _signals(section: str) -> tuple[_Signal, ...]:
    signals = []
    for line in _SECTIONS[section]:
        head, _, pattern = line.partition(" :: ")
        if pattern:
            name, weight, full, place = head.rsplit(" ", 3)
            signals.append(_Signal(name, float(weight), int(full), place, pattern))
        else:
            name, weight = head.rsplit(" ", 1)
            signals.append(_Signal(name, float(weight), 1, "", ""))
    return tuple(signals)


def find_noteworthy(said: list[Utterance]) -> list[Candidate]:
    """The passages of a turn that are worth keeping, best first, as candidates."""
    last_retraction = max((at for at, one in enumerate(said) if _takes_back(one)), default=-1)
    scored: list[tuple[float, int, TurnPassage]] = []
    for number, passage in enumerate(cut_passages(said)):
        if passage.role == AGENT and passage.message < last_retraction:
            continue
        score = score_passage(passage)
        if score >= _THRESHOLD:
            scored.append((-score, number, passage))
    return [_candidate(passage, -score) for score, _, passage in sorted(scored)[:MAX_PER_EVENT]]


def score_passage(one: TurnPassage) -> float:
    """How much tells that a passage is worth keeping, as a logit."""
    low = one.text.lower().replace("’", "'")
    words = len(low.split())
    least = _MIN_ANSWER_WORDS if one.about else _MIN_WORDS[one.role]
    if words < least:
        return -9.0
    first = low.partition("\n")[0]
    lead = first if first.rstrip("*_ ").endswith(":") else ""
    is_refusal = one.about.startswith("refused ")
    places = {"text": low, "start": first[:60], "heading": f"{one.heading.lower()} {lead}"}
    counted = {
        "bias": 1.0,
        "length": min(words / _FULL_WORDS[one.role], 1.0),
        "identifiers": min(len(_NAME_RE.findall(one.text)) / _FULL_NAMES[one.role], 1.0),
        "answer": float(bool(one.about) and not is_refusal),
        "refusal": float(is_refusal),
    }
    return sum(
        signal.weight
        * (_share(signal, places[signal.place]) if signal.pattern else counted[signal.name])
        for signal in _signals(one.role)
    )


def _share(signal: _Signal, text: str) -> float:
    pattern = _compile(signal.pattern)
    if signal.full == 1:
        return float(pattern.search(text) is not None)
    return min(len(pattern.findall(text)) / signal.full, 1.0)


def _takes_back(one: Utterance) -> bool:
    if one.role != AGENT:
        return False
    start = one.text[:200].lower().replace("’", "'")
    return bool(_compile(_SECTIONS["taken back"][0]).match(start))


def _candidate(one: TurnPassage, score: float) -> Candidate:
    confidence = min(0.5 + score / 10, 0.7)
    return Candidate(
        PASSAGE_LAYER, _type_of(one), _body_of(one), confidence, one.message, title=_title_of(one)
    )


def _type_of(one: TurnPassage) -> str:
    low = f"{one.about or one.heading} {one.text}".lower().replace("’", "'")
    for line in _SECTIONS[f"{one.role} types"]:
        type_, _, pattern = line.partition(" :: ")
        if _compile(pattern).search(low):
            return type_
    return "decision" if one.role == USER else "learning"


def _body_of(one: TurnPassage) -> str:
    """The passage with what it needs to be understood, in markdown."""
    if one.role == AGENT:
        text = f"**{one.heading}**\n\n{one.body}" if one.heading else one.body
        return f"{text}\n\nAsked: {one.before}" if one.before else text
    words = f"{one.about}\n\n> {one.text}" if one.about else f"> {one.text}"
    around = (("Before", one.before), ("Then", one.after))
    return "\n\n".join([words, *(f"{name}: {text}" for name, text in around if text)])


def _title_of(one: TurnPassage) -> str:
    """The subject: a telling heading, else the first sentence that tells something, below what its
    heading names; of an answer the words with the question."""
    sentence = _telling_sentence(one)
    if one.about:
        return shorten(f"{sentence} ({one.about})", _TITLE_CHARS)
    heading = _SYMBOLS_RE.sub("", one.heading.replace("**", "")).strip(" :*_`0123456789.?")
    is_empty = _compile(_SECTIONS["empty headings"][0]).fullmatch(heading.lower())
    if not heading or is_empty:
        return shorten(sentence, _TITLE_CHARS)
    if len(heading.split()) >= _FULL_HEADING_WORDS or len(heading) > _TITLE_CHARS // 2:
        return shorten(heading, _TITLE_CHARS)
    return shorten(f"{heading}: {sentence}", _TITLE_CHARS)


def _telling_sentence(one: TurnPassage) -> str:
    """The first sentence with a name of code or a telling word, else that is no mere courtesy."""
    openings, filler = _compile(_SECTIONS["openings"][0]), _compile(_SECTIONS["filler"][0])
    sentences = []
    for line in split_sentences(one.text)[:_TITLE_SENTENCES]:
        plain = _SYMBOLS_RE.sub("", line.replace("**", "").strip(" *_:#>-"))
        opening = openings.match(plain.lower().replace("’", "'"))
        sentences.append(plain[opening.end() :] if opening else plain)
    low = [line.lower().replace("’", "'").rstrip(".!:") for line in sentences]
    said = [
        number
        for number, line in enumerate(low)
        if len(line.split()) >= _MIN_TITLE_WORDS and not filler.fullmatch(line)
    ]
    telling = (
        number
        for number in said
        if _NAME_RE.search(sentences[number])
        or _compile(_SECTIONS["telling"][0]).search(low[number])
    )
    best = next(telling, said[0] if said else 0)
    return sentences[best] or one.text
