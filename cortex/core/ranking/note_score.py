"""The score of a note: BM25 over all its passages, and some of what the notes next to it score.

Robertson and Zaragoza, The Probabilistic Relevance Framework (2009): frequencies of the fields are
weighted and summed before they saturate. The constants were chosen on conversations, sessions, code
questions and abstracts together; no set loses much by any of them.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

K1 = 1.6  # how soon a further occurrence adds nothing
_LENGTH_SHARE = 0.65  # b of BM25: how much of a frequency the length of the note takes off
_HEAD_WEIGHT = 2.0  # of title, aliases and tags
# Of words of `note_context`; of headings above a passage, and what was asked.
_WEIGHTS = {"context": 1.0, "around": 0.1}
_HEAD_LENGTH_SHARE, _MEAN_HEAD_TERMS = 0.5, 8.0
# Place in a series, from a note -> the share of a word's weight there that the note has for it.
# What was said before tells more of it than what comes after.
NEIGHBOUR_SHARES = {-1: 0.6, -2: 0.4, 1: 0.5, 2: 0.2}
_MIN_LIFTED = 300  # best notes whose neighbours are looked at

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
    """The places of notes in their series, by the keys of `note_context.series_key`."""

    def __init__(self, keys: Iterable[tuple[int, int]] = ()) -> None:
        """`keys`: number and key of every note; the key 0 is of no series."""
        self._numbers: defaultdict[int, list[int]] = defaultdict(list)
        self._key_of: dict[int, int] = {}
        for number, key in keys:
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
    held: dict[int, float] = {}
    for numbers, rare in zip(words, rarities, strict=True):
        for number in numbers:
            held[number] = held.get(number, 0.0) + rare
    total = sum(rarities) or 1.0
    return {number: share / total for number, share in held.items()}


def passage_score(
    document: int, words: Sequence[Mapping[int, float]], rarities: Sequence[float]
) -> float:
    """How well one passage of a note answers, by its own frequencies of the words."""
    return sum(
        rare * saturate(weights[document])
        for weights, rare in zip(words, rarities, strict=True)
        if document in weights
    )
