"""Terms in a row: the phrase query that Whoosh's own is not.

Whoosh's phrase walks nested span matchers, one for each pair of words; a phrase that repeats a
word, on a note that repeats it too, makes it run for hours. Here each note's positions are
intersected as sets, in linear time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cortex.index.engines.whoosh.postings import match_phrase
from cortex.index.engines.whoosh.whoosh_import import matching, query


class PhraseQuery(query.Query):
    """Matches notes that hold the terms one right after the other; weighs them by how often they
    do."""

    def __init__(self, field: str, terms: Sequence[bytes], boost: float = 1.0) -> None:
        self.fieldname = field
        self.phrase_terms = tuple(terms)
        self.boost = boost

    def __repr__(self) -> str:
        return f"Row({self.fieldname!r}, {self.phrase_terms!r}, {self.boost})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PhraseQuery) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def field(self) -> str:
        return self.fieldname

    def estimate_size(self, reader: Any) -> int:
        return int(min(reader.doc_frequency(self.fieldname, term) for term in self.phrase_terms))

    def matcher(self, searcher: Any, context: Any = None) -> Any:
        """The notes of one segment, found at once: a row is rare, and later notes cost what the
        first one does."""
        reader = searcher.reader()
        if any((self.fieldname, term) not in reader for term in self.phrase_terms):
            return matching.NullMatcher()
        found = match_phrase([reader.postings(self.fieldname, term) for term in self.phrase_terms])
        if not found:
            return matching.NullMatcher()
        documents = sorted(found)
        weights = [len(found[document]) * self.boost for document in documents]
        rarest = (
            self.fieldname,
            min(self.phrase_terms, key=lambda term: reader.doc_frequency(self.fieldname, term)),
        )
        scorer = None
        if context is None or context.weighting is not None:
            weighting = searcher.weighting if context is None else context.weighting
            scorer = weighting.scorer(searcher, *rarest)
        return matching.ListMatcher(
            documents, weights, scorer=scorer, term=rarest, terminfo=reader.term_info(*rarest)
        )
