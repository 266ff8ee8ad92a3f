"""Terms in a row: the phrase query that Whoosh's own is not.

Whoosh's phrase walks nested span matchers, one for each pair of words; a phrase that repeats a word, on a note that
repeats it too, makes it run for hours. Here each note's positions are intersected as sets, in linear time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cortex.projections.whoosh_import import query  # isort: split

from whoosh.matching import ListMatcher, NullMatcher


class Row(query.Query):
    """Matches notes that hold the terms one right after the other; weighs them by how often they do."""

    def __init__(self, field: str, terms: Sequence[bytes], boost: float = 1.0) -> None:
        self.fieldname = field
        self.terms_in_row = tuple(terms)
        self.boost = boost

    def __repr__(self) -> str:
        return f"Row({self.fieldname!r}, {self.terms_in_row!r}, {self.boost})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Row) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def field(self) -> str:
        return self.fieldname

    def estimate_size(self, reader: Any) -> int:
        return int(min(reader.doc_frequency(self.fieldname, term) for term in self.terms_in_row))

    def matcher(self, searcher: Any, context: Any = None) -> Any:
        """The notes of one segment, found at once: a row is rare, and later notes cost what the first one does."""
        reader = searcher.reader()
        by_rarity = sorted(set(self.terms_in_row), key=lambda term: reader.doc_frequency(self.fieldname, term))
        if any((self.fieldname, term) not in reader for term in by_rarity):
            return NullMatcher()
        places: dict[int, dict[bytes, frozenset[int]]] = {}
        for count, term in enumerate(by_rarity):
            held = {}
            postings = reader.postings(self.fieldname, term)
            for document in sorted(places) if count else _all_of(postings):
                if count:
                    postings.skip_to(document)
                    if not postings.is_active():
                        break
                    if postings.id() != document:
                        continue
                held[document] = {**places.get(document, {}), term: frozenset(postings.value_as("positions"))}
            places = held
        rows = {document: len(self._starts(at)) for document, at in places.items()}
        documents = [document for document in sorted(rows) if rows[document]]
        if not documents:
            return NullMatcher()
        weights = [rows[document] * self.boost for document in documents]
        scorer = None
        if context is None or context.weighting is not None:
            weighting = searcher.weighting if context is None else context.weighting
            scorer = weighting.scorer(searcher, self.fieldname, by_rarity[0], qf=self.boost)
        rarest = (self.fieldname, by_rarity[0])
        return ListMatcher(documents, weights, scorer=scorer, term=rarest, terminfo=reader.term_info(*rarest))

    def _starts(self, at: dict[bytes, frozenset[int]]) -> set[int]:
        """The positions at which the whole row begins."""
        first, *rest = self.terms_in_row
        starts = set(at[first])
        for offset, term in enumerate(rest, start=1):
            places = at[term]
            starts = {start for start in starts if start + offset in places}
        return starts


def _all_of(postings: Any) -> Any:
    while postings.is_active():
        yield postings.id()
        postings.next()
