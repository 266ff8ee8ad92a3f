"""The score of a note: BM25 over all its passages, and some of what the notes next to it score; then one
score of two, how well it answers by its words and how near it is by meaning.

Robertson and Zaragoza, The Probabilistic Relevance Framework (2009): frequencies of the fields are
weighted and summed before they saturate. The constants were chosen on conversations, sessions, code
questions and abstracts together (those of meaning with all-MiniLM-L6-v2); no set loses much by any
of them.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import blake2b_digest
from cortex.core.text.value import NamedTuple

K1 = 1.6  # how soon a further occurrence adds nothing
_LENGTH_SHARE = 0.65  # b of BM25: how much of a frequency the length of the note takes off
_HEAD_WEIGHT = 2.0  # of title, aliases and tags
# Of `context_words`; of headings above a passage, and what was asked.
_WEIGHTS = {"context": 1.0, "around": 0.1}
_HEAD_LENGTH_SHARE, _MEAN_HEAD_TERMS = 0.5, 8.0
# Place in a series, from a note -> the share of a word's weight there that the note has for it.
# What was said before tells more of it than what comes after.
NEIGHBOUR_SHARES = {-1: 0.6, -2: 0.4, 1: 0.5, 2: 0.2}
_MIN_LIFTED = 300  # best notes whose neighbours are looked at
MEANING_SHARE = 0.72
LEAST_COSINE = 0.3  # of a note that holds none of the words
_SPEAKER_RE = lazy_re(r"(?m)^([A-Z]\w+(?: [A-Z]\w+){0,2}): ")
_DEFINITION_RE = lazy_re(r"(?m)^[ \t]*(?:async )?(?:def|class|function|func|fn) (\w+)")
_LAST_NUMBER_RE = lazy_re(r"(\d{1,9})\D*$")
_ISO_DAY_RE = lazy_re(r"\W*(\d{4})-(\d\d)-(\d\d)")
_MONTHS = (
    "", "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_MAX_DEFINITIONS = 3  # a file of many is about none of them
# So often they are written: the weight of a term is its frequency.
_SPEAKER_REPEATS, _DEFINITION_REPEATS = 2, 4

NoteWeights = dict[int, float]
"""Note number to the weighted, normalized frequency of one word of the query in it."""


def add_bodies(
    weights: NoteWeights,
    found: Iterable[tuple[int, float]],
    lengths: Mapping[int, int],
    mean: float,
) -> None:
    """Add what passages hold, by the numbers of their notes, which have these lengths."""
    for number, frequency in found:
        norm = 1 - _LENGTH_SHARE + _LENGTH_SHARE * (lengths[number] / mean)
        weights[number] = weights.get(number, 0.0) + frequency / norm


def add_head(weights: NoteWeights, number: int, frequency: float, terms: int) -> None:
    """Add occurrences in title, aliases and tags, which have so many terms."""
    norm = 1 - _HEAD_LENGTH_SHARE + _HEAD_LENGTH_SHARE * terms / _MEAN_HEAD_TERMS
    weights[number] = weights.get(number, 0.0) + _HEAD_WEIGHT * frequency / norm


def add_beside(weights: NoteWeights, number: int, frequency: float, field: str) -> None:
    """Add occurrences in another field: context or around."""
    weights[number] = weights.get(number, 0.0) + _WEIGHTS[field] * frequency


def rarity(holding: int, live: int) -> float:
    """Inverse document frequency as BM25 has it, never below zero."""
    return math.log(1 + (live - holding + 0.5) / (holding + 0.5))


def saturate(weight: float) -> float:
    """The gain of a weighted frequency: 0 to K1 + 1."""
    return (K1 + 1) * weight / (weight + K1)


def score_notes(words: Sequence[NoteWeights], rarities: Sequence[float]) -> dict[int, float]:
    """The score of each note that holds a word."""
    scores: dict[int, float] = {}
    for weights, rare in zip(words, rarities, strict=True):
        gain = rare * (K1 + 1)
        for number, weight in weights.items():
            scores[number] = scores.get(number, 0.0) + gain * weight / (weight + K1)
    return scores


def lift_neighbours(
    scores: dict[int, float],
    words: Sequence[NoteWeights],
    rarities: Sequence[float],
    series: SeriesOrder,
    limit: int,
) -> None:
    """Raise the scores of notes whose neighbours in a series hold words that they do not.

    A turn of a conversation is found by what was said before and after it. Only the best notes and
    their neighbours are looked at, at least `limit`.
    """
    ordered = sorted(scores.values(), reverse=True)
    count = max(limit, _MIN_LIFTED)
    least = ordered[count - 1] if len(ordered) > count else 0.0
    best = [number for number, score in scores.items() if score >= least]
    near = {number: series.neighbours(number) for number in best}
    for of_one in list(near.values()):
        for number in (one for at_distance in of_one for one in at_distance):
            if number not in near:
                near[number] = series.neighbours(number)
    for number, of_one in near.items():
        if any(of_one):
            scores[number] = sum(
                rare * saturate(_weight_with_neighbours(weights, number, of_one))
                for weights, rare in zip(words, rarities, strict=True)
            )


def _weight_with_neighbours(
    weights: NoteWeights, number: int, near: Sequence[Sequence[int]]
) -> float:
    best = weights.get(number, 0.0)
    for share, others in zip(NEIGHBOUR_SHARES.values(), near, strict=True):
        for other in others:
            best = max(best, share * weights.get(other, 0.0))
    return best


class SeriesOrder:
    """The places of notes in their series, by the keys of `series_key`."""

    def __init__(self, notes: Iterable[tuple[int, int]] = ()) -> None:
        """`notes`: the number and series key of every note; a key of 0 means that it is in no
        series."""
        self._numbers: defaultdict[int, list[int]] = defaultdict(list)
        self._key_of: dict[int, int] = {}
        for number, key in notes:
            if key:
                self._numbers[key].append(number)
                self._key_of[number] = key
        self._order = sorted(self._numbers)

    def __bool__(self) -> bool:
        return bool(self._order)

    def neighbours(self, number: int) -> tuple[Sequence[int], ...]:
        """The notes at each of the places of `NEIGHBOUR_SHARES`, which are mostly one or none."""
        key = self._key_of.get(number)
        if key is None:
            return ()
        at, found = bisect_left(self._order, key), []
        for distance in NEIGHBOUR_SHARES:
            place = at + distance
            is_inside = 0 <= place < len(self._order) and self._order[place] >> 31 == key >> 31
            found.append(self._numbers[self._order[place]] if is_inside else [])
        return tuple(found)


def coverages(words: Sequence[Iterable[int]], rarities: Sequence[float]) -> dict[int, float]:
    """The share of the words of a query that each note holds, weighed by their rarity."""
    covered: dict[int, float] = {}
    for numbers, rare in zip(words, rarities, strict=True):
        for number in numbers:
            covered[number] = covered.get(number, 0.0) + rare
    total = sum(rarities) or 1.0
    return {number: share / total for number, share in covered.items()}


def passage_score(
    document: int, words: Sequence[Mapping[int, float]], rarities: Sequence[float]
) -> float:
    """How well one passage of a note answers, by its own frequencies of the words."""
    return sum(
        rare * saturate(weights[document])
        for weights, rare in zip(words, rarities, strict=True)
        if document in weights
    )


class Fusion(NamedTuple):
    """How the two are put together."""

    share: float = MEANING_SHARE  # of meaning, 0 to 1
    k: int = 0  # above 0: by reciprocal ranks with this constant, not by scores


def fuse(words: Mapping[int, float], cosines: Mapping[int, float], how: Fusion) -> dict[int, float]:
    """The score of each note, by number, that has either."""
    if how.k:
        return _fuse_ranks(words, cosines, how)
    best = max(words.values(), default=0.0) or 1.0
    # Squared: a low cosine says nothing, a high one more than any word.
    return {
        number: (1 - how.share) * words.get(number, 0.0) / best
        + how.share * max(0.0, cosines.get(number, 0.0)) ** 2
        for number in words.keys() | cosines.keys()
    }


def _fuse_ranks(
    words: Mapping[int, float], cosines: Mapping[int, float], how: Fusion
) -> dict[int, float]:
    """Cormack, Clarke and Büttcher, Reciprocal Rank Fusion (2009). Equal scores have one rank."""
    fused: dict[int, float] = {}
    for share, scores in ((1 - how.share, words), (how.share, cosines)):
        rank, last = 0, None
        for place, (number, score) in enumerate(sorted(scores.items(), key=lambda one: -one[1]), 1):
            rank, last = (rank, last) if score == last else (place, score)
            fused[number] = fused.get(number, 0.0) + share / (how.k + rank)
    return fused


def blend_neighbours(
    cosines: Mapping[int, float], numbers: Iterable[int], series: SeriesOrder
) -> dict[int, float]:
    """The cosines of some notes; in a series, each averaged with those of the notes next to it: a
    turn of a conversation means what is talked about."""
    blended = {}
    for number in numbers:
        total, weight = cosines.get(number, 0.0), 1.0
        near = series.neighbours(number)
        for share, others in zip(NEIGHBOUR_SHARES.values(), near, strict=False):
            if others:
                total += share * max(cosines.get(other, 0.0) for other in others)
                weight += share
        blended[number] = total / weight
    return blended


def context_words(text: str, date: str) -> str:
    """Words of a note that its text does not say as often as they matter: its speakers, the names
    of the functions and classes that it defines, and its date in words."""
    speakers = list(dict.fromkeys(_SPEAKER_RE.findall(text)))
    names = _DEFINITION_RE.findall(text)[:_MAX_DEFINITIONS]
    words = [*speakers * _SPEAKER_REPEATS, *names * _DEFINITION_REPEATS, date]
    if (day := _ISO_DAY_RE.match(date)) and 1 <= int(day[2]) <= 12:
        words.append(f"{int(day[3])} {_MONTHS[int(day[2])]}")
    return " ".join(filter(None, words))


def series_key(path: str, date: str) -> int:
    """A key by which the notes of a series of one date, as the turns of a conversation, sort in a
    row: 32 bits of the name without its last number, 31 bits of that number. 0 without either."""
    found = _LAST_NUMBER_RE.search(path)
    if not (found and date):
        return 0
    name = f"{path[: found.start()]}\n{date}".encode("utf-8", "surrogatepass")
    of_series = int.from_bytes(blake2b_digest(name, 4), "big") >> 1
    return of_series << 31 | int(found[1]) + 1
