"""One query put to an index: every passage that holds a word is scored, a note by its best passage.

The scores are those of BM25F, with counts of live passages alone and constant average lengths: an
index that was changed note by note answers as one that was built anew, whatever its segments (law 1).
"""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from cortex.core.model.note_status import TIER_SET_ASIDE, TIER_TRAIL
from cortex.core.ranking.query import MAX_KEYWORDS, MIN_ALL_WORDS_HITS, Query, QueryTerm
from cortex.index.catalogue import ScoredNote
from cortex.index.engines.whoosh.analysis import phrase_terms, prefix_forms, query_forms
from cortex.index.engines.whoosh.postings import match_phrase, read_weights
from cortex.index.engines.whoosh.whoosh_import import byte_to_length

# Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), their usual middle values.
K1, B = 1.2, 0.75
# Weight of a field, and its average length in terms: constants, of the notes of a documentation
# vault and of the turns of sessions. A word of the title stands for what a page says of it.
_FIELDS = {"head": (5.0, 8.0), "body": (1.0, 100.0), "around": (0.3, 20.0)}
# Of a prefix, the most frequent ones: unbounded, p95 is 3.5 s at 100,000 notes.
MAX_PREFIX_TERMS = 500


class _Alternatives(NamedTuple):
    """What finds a word of a query in a field: any of `terms`, or `row`, one after the other."""

    terms: tuple[bytes, ...]
    row: tuple[bytes, ...] = ()
    shown: tuple[str, ...] = ()  # how the words begin that are found


class Columns:
    """Of all documents of an index: number of the note, tier, place in it; which are deleted."""

    def __init__(self, reader: Any) -> None:
        self.numbers: list[int] = []
        self.tiers: list[int] = []
        self.parts: list[int] = []
        self.deleted: set[int] = set()
        for leaf, offset in reader.leaf_readers() if reader.doc_count_all() else ():
            # Document by document, a column of 10,000 takes 40 ms.
            columns = {"number": self.numbers, "tier": self.tiers, "part": self.parts}
            for name, column in columns.items():
                found = leaf._perdoc.read_numbers(name)  # noqa: SLF001
                column.extend(found)
                column.extend([0] * (leaf.doc_count_all() - len(found)))
            if leaf.has_deletions():
                every = range(leaf.doc_count_all())
                self.deleted.update(offset + one for one in every if leaf.is_deleted(one))

    def documents_of_tier(self, tier: int) -> set[int]:
        """The documents of a tier that are not deleted."""
        if tier not in self.tiers:
            return set()
        found = {place for place, one in enumerate(self.tiers) if one == tier}
        return found - self.deleted

    def passages_with(self, document: int) -> range:
        """All passages of a note, by one of them; they lie in a row."""
        begin = end = document - self.parts[document]
        number = self.numbers[document]
        while end < len(self.numbers) and self.numbers[end] == number:
            end += 1
        return range(begin, end)


class PassageSearch:
    """One query put to one open index."""

    def __init__(self, reader: Any, asked: Query) -> None:
        self.reader = reader
        self.columns = Columns(reader)
        wanted = [piece for piece in asked.terms if not piece.negated]
        # Phrases are binding: somebody put the quotes there.
        self.phrase_count = len(phrases := self._alternatives(wanted, phrases=True))
        self.asked = [*phrases, *self._alternatives(wanted, phrases=False)]
        self.held = [self._occurrences(one) for one in self.asked]
        negated = [piece for piece in asked.terms if piece.negated]
        excluded = self._alternatives(negated, phrases=True)
        excluded += self._alternatives(negated, phrases=False)
        self.excluded = {
            self.columns.numbers[place] for one in excluded for place in self._occurrences(one)
        }
        if asked.terms and not wanted:
            every = range(len(self.columns.numbers))
            self.held = [dict.fromkeys(set(every) - self.columns.deleted, 1.0)]

    def best(
        self, limit: int, tiers: set[int], allowed: set[int] | None, without: set[int]
    ) -> tuple[list[ScoredNote], dict[str, float]]:
        """As `FulltextEngine.search`."""
        if not self.held:
            return [], {}
        live = self.reader.doc_count()
        rarities = [_rarity(len(held), live) for held in self.held]
        terms = {
            term: rarity
            for one, rarity in zip(self.asked, rarities, strict=False)
            for term in one.shown
        }
        best = self._score_notes(rarities)
        numbers, columns = self.columns.numbers, self.columns
        are_keywords = len(self.held) <= MAX_KEYWORDS
        binding = len(self.held) if are_keywords else self.phrase_count
        holding = [{numbers[place] for place in held} for held in self.held[:binding]]
        eligible = best.keys() - self.excluded - without
        eligible = eligible if allowed is None else eligible & allowed
        eligible = eligible.intersection(*holding[: self.phrase_count])
        full = eligible.intersection(*holding)
        groups: list[list[tuple[float, int]]] = [[], [], [], []]
        known = [0, 0, 0, 0]  # of these, no events
        for number in eligible:
            score, document = best[number]
            if (tier := columns.tiers[document]) in tiers:
                group = 2 * (tier == TIER_SET_ASIDE) + (are_keywords and number not in full)
                groups[group].append((round(score, 9), document))
                known[group] += tier != TIER_TRAIL
        found: list[ScoredNote] = []
        many = 0
        for group, scored in enumerate(groups):
            if group % 2 == 0 or many < MIN_ALL_WORDS_HITS:
                many += known[group]
                found += (
                    ScoredNote(group, score, numbers[document], columns.parts[document])
                    for score, document in _best_with_ties(scored, limit)
                )
        return found, terms

    def _score_notes(self, rarities: Sequence[float]) -> dict[int, tuple[float, int]]:
        """Score and document of the best passage of each note."""
        scores: dict[int, float] = {}
        for held, rarity in zip(self.held, rarities, strict=True):
            gain = rarity * (K1 + 1)
            for document, weight in held.items():
                scores[document] = scores.get(document, 0.0) + gain * weight / (weight + K1)
        best: dict[int, tuple[float, int]] = {}
        numbers = self.columns.numbers
        for document, score in scores.items():
            before = best.get(number := numbers[document])
            if before is None or (score, -document) > (before[0], -before[1]):
                best[number] = (score, document)
        return best

    def _alternatives(self, pieces: Iterable[QueryTerm], *, phrases: bool) -> list[_Alternatives]:
        """What finds each word of some pieces, or each phrase; nothing for a stop word."""
        chosen = [piece for piece in pieces if (piece.kind == "phrase") == phrases]
        return list(dict.fromkeys(one for piece in chosen for one in self._of_piece(piece)))

    def _of_piece(self, piece: QueryTerm) -> Iterator[_Alternatives]:
        if piece.kind == "prefix":
            start, stems = prefix_forms(piece.text)
            most = sys.maxsize if piece.negated else MAX_PREFIX_TERMS
            yield _Alternatives(self._prefix_terms(start, stems, most), shown=(start, *stems))
        elif piece.kind == "phrase":
            if row := phrase_terms(piece.text):
                yield _Alternatives((), tuple(map(str.encode, row)), row)
        else:
            # A word of prose is a term; an identifier is one of its spellings, or its parts in a row.
            for terms, row in query_forms(piece.text):
                yield _Alternatives(
                    tuple(map(str.encode, terms)), tuple(map(str.encode, row)), (*terms, *row)
                )

    def _prefix_terms(self, start: str, stems: Iterable[str], most: int) -> tuple[bytes, ...]:
        """The most frequent terms that begin so, and stems that prose has them by: `normaliz*`
        means `normalize_topic`. What a note must not hold is no matter of frequency."""
        frequencies: dict[bytes, int] = {}
        for field in _FIELDS:
            for term in self.reader.expand_prefix(field, start):
                frequency = self.reader.doc_frequency(field, term)
                frequencies[term] = frequencies.get(term, 0) + frequency
        pairs = heapq.nlargest(most, ((many, term) for term, many in frequencies.items()))
        terms = [term for _, term in pairs]
        return tuple(dict.fromkeys([*terms, *(one.encode() for one in stems)]))

    def _occurrences(self, one: _Alternatives) -> dict[int, float]:
        """The live documents that hold one of the alternatives, each with the sum of its frequencies
        in the fields, normalized by their lengths and weighed."""
        found: dict[int, float] = {}
        for leaf, offset in self.reader.leaf_readers():
            for field, norms in _NORMS.items():
                pairs = _frequencies(leaf, field, one)
                if pairs:
                    lengths = leaf._perdoc.field_lengths(field)  # noqa: SLF001
                    for document, frequency in pairs:
                        place = document + offset
                        weight = frequency * norms[lengths[document]]
                        found[place] = found.get(place, 0.0) + weight
        return found


def _best_with_ties(scored: list[tuple[float, int]], limit: int) -> list[tuple[float, int]]:
    """The pairs with the best scores, with all that score as the last of them: rebuilding the index
    must not change which are answered."""
    scored.sort(key=lambda one: -one[0])
    least = scored[limit - 1][0] if len(scored) > limit else -1.0
    return [one for one in scored if one[0] >= least]


def _rarity(holding: int, live: int) -> float:
    """Inverse document frequency as BM25 has it, never below zero."""
    return math.log(1 + (live - holding + 0.5) / (holding + 0.5))


def _frequencies(leaf: Any, field: str, one: _Alternatives) -> Iterable[tuple[int, float]]:
    """How often a segment's documents hold a word in a field: by the most frequent alternative."""
    held = [read_weights(leaf.postings(field, term)) for term in one.terms if (field, term) in leaf]
    if one.row and all((field, term) in leaf for term in one.row):
        rows = match_phrase([leaf.postings(field, term) for term in one.row])
        held.append([(document, float(len(at))) for document, at in rows.items()])
    if len(held) < 2:
        return held[0] if held else ()
    found: dict[int, float] = {}
    for pairs in held:
        for document, frequency in pairs:
            found[document] = max(frequency, found.get(document, 0.0))
    return found.items()


# By the length of a field, as the index keeps it in a byte.
_NORMS = {
    field: [boost / (1 - B + B * byte_to_length(byte) / average) for byte in range(256)]
    for field, (boost, average) in _FIELDS.items()
}
