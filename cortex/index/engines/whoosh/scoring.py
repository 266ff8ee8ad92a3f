"""BM25F by what is there: an index that was changed note by note scores as one that was built anew
(law 1).

Whoosh counts deleted notes until it merges their segment away, and takes the average length from
them too. Here deleted notes are taken off the counts, and the average length is a constant.
"""

from __future__ import annotations

import math
from typing import Any

from cortex.index.engines.whoosh.whoosh_import import matching, scoring

# Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), their usual middle values.
K1, B = 1.2, 0.75
# Terms; of the records and notes of a documentation vault.
_AVERAGE_LENGTH_TERMS = {"head": 8.0, "body": 400.0}


class LiveBM25F(scoring.WeightingModel):
    """BM25F with counts of live notes."""

    def supports_block_quality(self) -> bool:
        return True

    def idf(self, searcher: Any, field: str, term: Any) -> float:
        """Inverse document frequency as BM25 has it, never below zero."""
        reader = searcher.reader()
        live, holding = reader.doc_count(), _live_doc_frequency(reader, field, term)
        return math.log(1 + (live - holding + 0.5) / (holding + 0.5))

    def scorer(self, searcher: Any, field: str, term: Any, qf: float = 1) -> Any:
        del qf  # how often the query has the word: a word said twice is not meant twice as much
        if not searcher.schema[field].scorable:
            return scoring.WeightScorer.for_(searcher, field, term)
        return _LiveBM25FScorer(searcher, field, term)


class _LiveBM25FScorer(scoring.WeightLengthScorer):
    def __init__(self, searcher: Any, field: str, term: Any) -> None:
        self._idf = searcher.get_parent().idf(field, term)
        self._average_length = _AVERAGE_LENGTH_TERMS[field]
        self.setup(searcher, field, term)

    def _score(self, weight: float, length: float) -> float:
        norm = K1 * (1 - B + B * length / self._average_length)
        return float(self._idf * weight * (K1 + 1) / (weight + norm))


def _live_doc_frequency(reader: Any, field: str, term: Any) -> int:
    """How many notes that are not deleted hold the term."""
    holding = 0
    for leaf, _ in reader.leaf_readers():
        if (field, term) not in leaf:
            continue
        holding += leaf.doc_frequency(field, term)
        if leaf.has_deletions():
            postings = leaf.postings(field, term)
            every = postings.child if isinstance(postings, matching.FilterMatcher) else postings
            every.reset()
            for document in filter(leaf.is_deleted, range(leaf.doc_count_all())):
                if not every.is_active():
                    break
                every.skip_to(document)
                holding -= every.is_active() and every.id() == document
    return holding
