"""One score of two: how well a note answers by its words, and how near it is by meaning.

Constants: the shares that are best on conversations, sessions, code questions and abstracts
together, with all-MiniLM-L6-v2; no set loses by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cortex.core.ranking.note_score import NEIGHBOUR_SHARES, SeriesOrder
from cortex.core.text.value import NamedTuple

MEANING_SHARE = 0.72
LEAST_COSINE = 0.3  # of a note that holds none of the words


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
