"""One query put to an index: every note that holds a word is scored whole, and shown by its best
passage.

Counts and average lengths are those of the live notes: an index that was changed note by note
answers as one that was built anew, whatever its segments (law 1).
"""

from __future__ import annotations

import heapq
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from cortex.core.model.note_status import TIER_SET_ASIDE
from cortex.core.ranking import note_score, word_forms
from cortex.core.ranking.query import MAX_KEYWORDS, Query, QueryTerm
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import FoundNotes, ScoredNote
from cortex.index.engines.whoosh.analysis import phrase_terms, prefix_forms, query_forms
from cortex.index.engines.whoosh.postings import match_phrase, read_weights
from cortex.index.engines.whoosh.whoosh_import import byte_to_length, stem

_FIELDS = ("body", "head", "context", "around")
# Of a prefix, the most frequent ones: unbounded, p95 is 3.5 s at 100,000 notes.
MAX_PREFIX_TERMS = 500
# With fewer notes, a word of a German query is looked for in compounds too: that reads all terms,
# 90 ms at 35,000.
_FEW_NOTES = 10


class _Alternatives(NamedTuple):
    """What finds a word of a query in a field: any of `terms`, or `row`, one after the other."""

    terms: tuple[bytes, ...]
    row: tuple[bytes, ...] = ()
    shown: tuple[str, ...] = ()  # how the words begin that are found
    written: str = ""  # the word of the query, where it may be corrected


class Columns:
    """Of all documents of an index: number of the note, tier, place in it; which are deleted. What
    it reads and counts stands for as long as the index is not changed."""

    def __init__(self, reader: Any) -> None:
        self.leaves = list(reader.leaf_readers()) if reader.doc_count_all() else []
        self.numbers = self._read("number")
        self.tiers = self._read("tier")
        self.parts = self._read("part")
        self.deleted: set[int] = set()
        for leaf, offset in self.leaves:
            if leaf.has_deletions():
                every = range(leaf.doc_count_all())
                self.deleted.update(offset + one for one in every if leaf.is_deleted(one))

    def _read(self, name: str, code: str = "i") -> list[int]:
        values: list[int] = []
        for leaf, offset in self.leaves:
            # Document by document, a column of 10,000 takes 40 ms.
            values += leaf._perdoc.read_numbers(name, code)  # noqa: SLF001
            values += [0] * (offset + leaf.doc_count_all() - len(values))
        return values

    @cached_property
    def body_lengths(self) -> bytes:
        """The lengths of all documents' texts in terms, each as a byte for `byte_to_length`."""
        lengths = b""
        for leaf, offset in self.leaves:
            lengths += leaf._perdoc.field_lengths("body")  # noqa: SLF001
            lengths += bytes(offset + leaf.doc_count_all() - len(lengths))
        return lengths

    @cached_property
    def mean_length(self) -> float:
        """The mean length of a note's text in terms."""
        counted = Counter(self.body_lengths)
        counted.subtract(self.body_lengths[one] for one in self.deleted)
        terms: int = sum(count * byte_to_length(byte) for byte, count in counted.items())
        return max(1.0, terms / max(1, self.note_count))

    @cached_property
    def series(self) -> list[tuple[int, int]]:
        """Number and series key of each live note of a series."""
        keys = self._read("series", "q")
        return [
            (self.numbers[place], key)
            for place, key in enumerate(keys if any(keys) else ())
            if key and place not in self.deleted
        ]

    @cached_property
    def places(self) -> dict[int, int]:
        """The first document of each note, by its number."""
        documents = range(len(self.numbers))
        return dict(zip(reversed(self.numbers), reversed(documents), strict=True))

    @cached_property
    def note_count(self) -> int:
        """How many notes are not deleted."""
        return self.parts.count(0) - sum(not self.parts[one] for one in self.deleted)

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

    def __init__(self, reader: Any, columns: Columns, asked: Query) -> None:
        self.reader = reader
        self.columns = columns
        self._lengths = columns.body_lengths
        self._length_of = dict[int, int]()  # in terms, by number of the note
        self.live = columns.note_count
        self._mean_length = columns.mean_length
        wanted = [piece for piece in asked.terms if not piece.negated]
        # Phrases are binding: somebody put the quotes there.
        self.phrase_count = len(phrases := self._alternatives(wanted, phrases=True))
        self.corrected: dict[str, tuple[str, ...]] = {}
        self.asked: list[_Alternatives] = []
        self.bodies: list[dict[int, float]] = []  # of each word, its frequency by document
        self.words: list[note_score.NoteWeights] = []
        for one in [*phrases, *self._alternatives(wanted, phrases=False)]:
            self._add_word(one)
        negated = [piece for piece in asked.terms if piece.negated]
        excluded = self._alternatives(negated, phrases=True)
        excluded += self._alternatives(negated, phrases=False)
        self.excluded = {number for one in excluded for number in self._occurrences(one, [])}
        self.is_negation = bool(asked.terms) and not wanted

    def best(
        self, limit: int, tiers: set[int], allowed: set[int] | None, without: set[int]
    ) -> FoundNotes:
        """As `FulltextEngine.search`."""
        if not (self.asked or self.is_negation):
            return FoundNotes([], {}, {})
        rarities = [note_score.rarity(len(weights), self.live) for weights in self.words]
        terms = {
            term: rare for one, rare in zip(self.asked, rarities, strict=True) for term in one.shown
        }
        scores = note_score.score_notes(self.words, rarities)
        series = note_score.SeriesOrder(self.columns.series)
        if series:
            note_score.lift_neighbours(scores, self.words, rarities, series, limit)
        if self.is_negation:
            live = set(range(len(self.columns.numbers))) - self.columns.deleted
            scores = dict.fromkeys((self.columns.numbers[place] for place in live), 1.0)
        eligible = scores.keys() - self.excluded - without
        eligible = eligible if allowed is None else eligible & allowed
        for weights in self.words[: self.phrase_count]:
            eligible &= weights.keys()
        found = self._best_of(eligible, scores, rarities, limit, tiers)
        return FoundNotes(found, terms, self.corrected, series)

    def _best_of(
        self,
        eligible: set[int],
        scores: dict[int, float],
        rarities: list[float],
        limit: int,
        tiers: set[int],
    ) -> list[ScoredNote]:
        columns, places = self.columns, self.columns.places
        are_keywords = len(self.asked) <= MAX_KEYWORDS
        groups: dict[bool, list[tuple[float, int]]] = {False: [], True: []}
        for number in eligible:
            if (tier := columns.tiers[places[number]]) in tiers:
                score = scores[number]
                if are_keywords and self.asked:
                    score *= note_score.coverage(number, self.words, rarities) ** 2
                if score:
                    groups[tier == TIER_SET_ASIDE].append((round(score, 9), number))
        found: list[ScoredNote] = []
        for is_set_aside, scored in groups.items():
            for score, number in _best_with_ties(scored, limit):
                part = self._best_part(places[number], rarities)
                is_whole = not self.corrected and all(number in one for one in self.words)
                found.append(ScoredNote(number, score, part, is_set_aside, is_whole))
        return found

    def _best_part(self, document: int, rarities: list[float]) -> int:
        """Which passage of a note answers best; the first of those that answer alike."""
        parts = self.columns.passages_with(document)
        if len(parts) == 1:
            return 0
        return -max(
            (note_score.passage_score(one, self.bodies, rarities), parts[0] - one) for one in parts
        )[1]

    def _note_length(self, document: int) -> int:
        """The length in terms of the note that a document is a passage of."""
        number = self.columns.numbers[document]
        length = self._length_of.get(number)
        if length is None:
            parts = self.columns.passages_with(document)
            length = sum(byte_to_length(self._lengths[one]) for one in parts)
            self._length_of[number] = length
        return length

    def _add_word(self, one: _Alternatives) -> None:
        """Look for a word; for what it means if no note holds it."""
        bodies: list[dict[int, float]] = []
        weights = self._occurrences(one, bodies)
        if not weights and one.written and (meant := word_forms.correct(one.written, stem, self)):
            self.corrected[one.written] = meant
            for term in meant:
                self._add_word(_Alternatives((term.encode(),), (), (term,)))
            return
        self.asked.append(one)
        self.bodies += bodies
        self.words.append(weights)

    def starting(self, start: str) -> Iterator[str]:
        """As `word_forms.Vocabulary`, of texts and titles."""
        for field in ("body", "head"):
            yield from (term.decode() for term in self.reader.expand_prefix(field, start.encode()))

    def has(self, term: str) -> bool:
        return any((field, term.encode()) in self.reader for field in ("body", "head"))

    def count_notes(self, term: str) -> int:
        return len(self._occurrences(_Alternatives((term.encode(),)), []))

    @cached_property
    def _is_german(self) -> bool:
        return word_forms.is_german(self, self.live)

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
            forms = query_forms(piece.text)
            written = word_forms.spelling(piece.text) if len(forms) == 1 else ""
            # A word of prose is a term; an identifier is one of its spellings, or its parts in a row.
            for terms, row in forms:
                near = self._near_terms(terms[0], written, piece.kind) if terms else []
                yield _Alternatives(
                    tuple(map(str.encode, (*terms, *near))), tuple(map(str.encode, row)),
                    (*terms, *near, *row), "" if piece.negated else written,
                )  # fmt: skip

    def _near_terms(self, term: str, written: str, kind: str) -> list[str]:
        """What is looked for beside a word: what is spelled like it, and forms of German words."""
        near: list[str] = []
        if kind == "similar" and written:
            near += word_forms.one_edit_away(written, stem, self)
        if term.isalpha() and self._is_german:
            near += word_forms.german_forms(term, self)
            if sum(map(self.count_notes, (term, *near))) < _FEW_NOTES:
                near += word_forms.german_compounds(term, self)
        return near

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

    def _occurrences(
        self, one: _Alternatives, bodies: list[dict[int, float]]
    ) -> note_score.NoteWeights:
        """The live notes that hold one of the alternatives, each with the weighted sum of its
        frequencies in all fields and passages. Appends those in texts, by document, to `bodies`."""
        weights: note_score.NoteWeights = {}
        numbers, mean = self.columns.numbers, self._mean_length
        in_bodies: dict[int, float] = {}
        for leaf, offset in self.columns.leaves:
            for document, frequency in _frequencies(leaf, "body", one):
                place = document + offset
                in_bodies[place] = frequency
                ratio = self._note_length(place) / mean
                note_score.add_body(weights, numbers[place], frequency, ratio)
            lengths = leaf._perdoc.field_lengths("head")  # noqa: SLF001
            for document, frequency in _frequencies(leaf, "head", one):
                terms = byte_to_length(lengths[document])
                note_score.add_head(weights, numbers[document + offset], frequency, terms)
            for document, frequency in _frequencies(leaf, "context", one):
                note_score.add_context(weights, numbers[document + offset], frequency)
            for document, frequency in _frequencies(leaf, "around", one):
                note_score.add_around(weights, numbers[document + offset], frequency)
        bodies.append(in_bodies)
        return weights


def _best_with_ties(scored: list[tuple[float, int]], limit: int) -> list[tuple[float, int]]:
    """The pairs with the best scores, with all that score as the last of them: rebuilding the index
    must not change which are answered."""
    scored.sort(key=lambda one: -one[0])
    least = scored[limit - 1][0] if len(scored) > limit else -1.0
    return [one for one in scored if one[0] >= least]


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
