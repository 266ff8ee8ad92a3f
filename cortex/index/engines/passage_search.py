"""One query put to an index: every note that holds a word is scored whole, and shown by its best
passage.

Counts and average lengths are those of the live notes: an index that was changed note by note
answers as one that was built anew, whatever its segments (law 1).
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from cortex.core.model.note_status import TIER_SET_ASIDE
from cortex.core.ranking import note_score, word_forms
from cortex.core.ranking.query import MAX_KEYWORDS, Query, QueryTerm
from cortex.index.engines.analysis import phrase_terms, prefix_forms, query_forms, stem
from cortex.index.engines.engine import (
    FIELDS,
    Alternatives,
    FoundNotes,
    IndexReader,
    ScoredNote,
    WantedNotes,
)

_MIN_CANDIDATES = 300  # best notes that are scored where not all are
# Of a prefix, the most frequent ones: unbounded, p95 is 3.5 s at 100,000 notes.
MAX_PREFIX_TERMS = 500
# With fewer notes, a word of a German query is looked for in compounds too.
_FEW_NOTES = 10
_CORRECTED_WEIGHT = 0.75  # of a word that may not be the one that was meant


class PassageSearch:
    """One query put to one open index."""

    def __init__(self, reader: IndexReader, query: Query) -> None:
        self.reader = self.found = reader
        # By number of the note: one of its documents, its length in terms.
        self._place_of = dict[int, int]()
        self._length_of = dict[int, int]()
        self._counts = dict[tuple[tuple[str, ...], tuple[str, ...]], int]()
        wanted = [piece for piece in query.terms if not piece.negated]
        # Phrases are binding: somebody put the quotes there.
        self.phrase_count = len(phrases := self._alternatives(wanted, phrases=True))
        self.corrected: dict[str, tuple[str, ...]] = {}
        self.terms: list[Alternatives] = []
        self._holding: list[int] = []  # how many notes hold each
        self.bodies: list[dict[int, float]] = []  # of each word, its frequency by document
        self.words: list[note_score.NoteWeights] = []
        words = self._alternatives(wanted, phrases=False)
        for one in [*phrases, *words]:
            self._add_word(one, is_question=len(words) > MAX_KEYWORDS)
        negated = [piece for piece in query.terms if piece.negated]
        excluded = self._alternatives(negated, phrases=True)
        excluded += self._alternatives(negated, phrases=False)
        self.excluded = {number for one in excluded for number in reader.numbers_with(one)}
        self.is_negation = bool(query.terms) and not wanted

    def best(
        self, limit: int, tiers: set[int], allowed: set[int] | None, without: set[int]
    ) -> FoundNotes:
        """As `full_text.search`."""
        if not (self.terms or self.is_negation):
            return FoundNotes([], {}, {})
        corrected = {term for terms in self.corrected.values() for term in terms}
        rarities = [
            note_score.rarity(count, self.reader.note_count)
            * (_CORRECTED_WEIGHT if set(one.shown) <= corrected else 1.0)
            for one, count in zip(self.terms, self._holding, strict=True)
        ]
        terms = {
            term: rare for one, rare in zip(self.terms, rarities, strict=True) for term in one.shown
        }
        if self.terms:
            groups = (tiers - {TIER_SET_ASIDE}, tiers & {TIER_SET_ASIDE})
            most, hidden = max(limit, _MIN_CANDIDATES), self.excluded | without
            wanted = WantedNotes(most, groups, allowed, hidden, self.phrase_count)
            self.found = self.reader.candidates(zip(self.terms, rarities, strict=True), wanted)
            self.words = [self._occurrences(one) for one in self.terms]
        scores = note_score.score_notes(self.words, rarities)
        series = self.reader.series
        if series:
            note_score.lift_neighbours(scores, self.words, rarities, series, limit)
        if self.is_negation:
            places = set(range(len(self.found.numbers))) - set(self.found.deleted)
            scores = dict.fromkeys((self.found.numbers[place] for place in places), 1.0)
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
        are_keywords = 0 < len(self.terms) <= MAX_KEYWORDS
        shares = note_score.coverages(self.words, rarities) if are_keywords else {}
        matching = set[int]().union(*self.bodies)
        groups: dict[bool, list[tuple[float, int]]] = {False: [], True: []}
        known = self._place_of
        for number in eligible:
            place = known[number] if number in known else self._place(number)
            if place is not None and (tier := self.found.tiers[place]) in tiers:
                score = scores[number]
                if are_keywords:
                    score *= shares.get(number, 0.0) ** 2
                if score:
                    groups[tier == TIER_SET_ASIDE].append((round(score, 9), number))
        found: list[ScoredNote] = []
        for scored in groups.values():
            # With all that score as the last of them: rebuilding the index must not change which
            # are answered.
            scored.sort(key=lambda one: -one[0])
            least = scored[limit - 1][0] if len(scored) > limit else -1.0
            for score, number in [one for one in scored if one[0] >= least]:
                part = self._best_part(number, matching, rarities)
                is_whole = not self.corrected and all(number in one for one in self.words)
                found.append(ScoredNote(number, score, part, is_whole))
        return found

    def _place(self, number: int) -> int | None:
        """A document of a note. A neighbour of what may be among the best need not be among them."""
        place = self._place_of.get(number)
        return self.found.places.get(number) if place is None else place

    def _best_part(self, number: int, matching: set[int], rarities: list[float]) -> int:
        """Which passage of a note answers best, of the documents `matching` a word; the first of
        those that answer alike."""
        place = self._place(number)
        assert place is not None
        parts = self.found.passages_with(place)
        holding = sorted(matching.intersection(parts)) if len(parts) > 1 else []
        if len(holding) > 1:
            scores = [note_score.passage_score(one, self.bodies, rarities) for one in holding]
            return holding[scores.index(max(scores))] - parts[0]
        return holding[0] - parts[0] if holding else 0

    def _add_word(self, one: Alternatives, *, is_question: bool) -> None:
        """Look for a word; for what it means if no note holds it."""
        found = [one]
        if one.written and not self._count(one):
            meant = word_forms.correct(one.written, stem, self, is_question=is_question)
            self.corrected[one.written] = meant
            if meant:
                found = [Alternatives((term,), (), (term,)) for term in meant]
            if len(meant) > 1 and self.count_rows(meant):
                found = [Alternatives((), meant, meant)]
        self.terms += found
        self._holding += map(self._count, found)

    def _count(self, one: Alternatives) -> int:
        """How many notes hold a word; of one it is asked up to three times."""
        key = one.terms, one.row
        if key not in self._counts:
            self._counts[key] = self.reader.count(one)
        return self._counts[key]

    def starting(self, start: str) -> Iterator[str]:
        """As `word_forms.Vocabulary`, of texts and titles."""
        for field in ("body", "head"):
            yield from self.reader.terms_from(field, start)

    def holding(self, part: str) -> Iterable[str]:
        return self.reader.terms_holding(part)

    def among(self, words: Collection[str]) -> Iterable[str]:
        return self.reader.terms_among(words)

    def has(self, term: str) -> bool:
        return any(self.reader.document_frequency(field, term) for field in ("body", "head"))

    def count_notes(self, term: str) -> int:
        return self._count(Alternatives((term,)))

    def count_rows(self, terms: tuple[str, ...]) -> int:
        return self._count(Alternatives((), terms))

    @cached_property
    def _is_german(self) -> bool:
        return word_forms.is_german(self, self.reader.note_count)

    def _alternatives(self, pieces: Iterable[QueryTerm], *, phrases: bool) -> list[Alternatives]:
        """What finds each word of some pieces, or each phrase; nothing for a stop word."""
        chosen = [piece for piece in pieces if (piece.kind == "phrase") == phrases]
        return list(dict.fromkeys(one for piece in chosen for one in self._of_piece(piece)))

    def _of_piece(self, piece: QueryTerm) -> Iterator[Alternatives]:
        if piece.kind == "prefix":
            start, stems = prefix_forms(piece.text)
            most = sys.maxsize if piece.negated else MAX_PREFIX_TERMS
            yield Alternatives(self._prefix_terms(start, stems, most), shown=(start, *stems))
        elif piece.kind == "phrase":
            if row := phrase_terms(piece.text):
                yield Alternatives((), row, row)
        else:
            forms = query_forms(piece.text)
            written = word_forms.spelling(piece.text) if len(forms) == 1 else ""
            # A word of prose is a term; an identifier is one of its spellings, or its parts in a row.
            for terms, row in forms:
                near = self._near_terms(terms[0], written, piece.kind) if terms else []
                yield Alternatives(
                    (*terms, *near), row, (*terms, *near, *row), "" if piece.negated else written
                )

    def _near_terms(self, term: str, written: str, kind: str) -> list[str]:
        """What is looked for beside a word: what is spelled like it, and forms of German words."""
        near: list[str] = []
        if kind == "similar" and written:
            near += word_forms.one_edit_away(written, stem, self)
        if term.isalpha() and self.count_notes(term) < _FEW_NOTES and self._is_german:
            near += word_forms.german_forms(term, self)
            if sum(map(self.count_notes, (term, *near))) < _FEW_NOTES:
                near += word_forms.german_compounds(term, self)
        return near

    def _prefix_terms(self, start: str, stems: Iterable[str], most: int) -> tuple[str, ...]:
        """The most frequent terms that begin so, and stems that prose has them by: `normaliz*`
        means `normalize_topic`. What a note must not hold is no matter of frequency."""
        frequencies: dict[str, int] = {}
        for field in FIELDS:
            for term in self.reader.terms_from(field, start):
                frequency = self.reader.document_frequency(field, term)
                frequencies[term] = frequencies.get(term, 0) + frequency
        pairs = sorted(((many, term) for term, many in frequencies.items()), reverse=True)
        terms = [term for _, term in pairs[:most]]
        return tuple(dict.fromkeys([*terms, *stems]))

    def _occurrences(self, one: Alternatives) -> note_score.NoteWeights:
        """The notes that hold one of the alternatives, each with the weighted sum of its
        frequencies in all fields and passages. Appends those in texts, by document, to `bodies`."""
        weights: note_score.NoteWeights = {}
        found, numbers, mean = self.found, self.found.numbers, self.reader.mean_length
        by_field = {field: dict(found.frequencies(field, one)) for field in FIELDS}
        for places in by_field.values():
            self._place_of.update(zip(map(numbers.__getitem__, places), places, strict=True))
        in_texts = [numbers[place] for place in by_field["body"]]
        if not self._length_of.keys() >= set(in_texts):
            self._length_of |= found.note_lengths(by_field["body"])
        bodies = zip(in_texts, by_field["body"].values(), strict=True)
        note_score.add_bodies(weights, bodies, self._length_of, mean)
        for place, frequency in by_field["head"].items():
            terms = found.length("head", place)
            note_score.add_head(weights, numbers[place], frequency, terms)
        for field in ("context", "around"):
            for place, frequency in by_field[field].items():
                note_score.add_beside(weights, numbers[place], frequency, field)
        self.bodies.append(by_field["body"])
        return weights
