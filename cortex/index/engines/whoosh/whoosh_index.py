"""The Whoosh index of the notes' words: built, changed, asked. It holds numbers and words; the
catalogue the rest.

An index is full of pickles, so it is only ever opened where Cortex has written it: in the user's
own cache folder.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from cortex.core.model.note_status import TIER_CURRENT, TIER_SET_ASIDE, TIER_TRAIL
from cortex.core.ranking.query import Query, QueryTerm
from cortex.index.catalogue import IndexDamaged, ScoredNote
from cortex.index.engines import Document
from cortex.index.engines.whoosh.analysis import ProseField, phrase_terms, prefix_forms, query_forms
from cortex.index.engines.whoosh.phrase_query import PhraseQuery
from cortex.index.engines.whoosh.postings import CompactCodec
from cortex.index.engines.whoosh.scoring import LiveBM25F
from cortex.index.engines.whoosh.segment import (
    BuildFailed,
    build_index,
    build_index_parallel,
    write_segments,
)
from cortex.index.engines.whoosh.whoosh_import import FileStorage, columns, fields, query as q

if TYPE_CHECKING:
    from cortex.core.ranking.relevance import RelevantNote

SCHEMA = fields.Schema(
    number=fields.ID(unique=True),
    column=fields.COLUMN(columns.NumericColumn("i")),
    tier=fields.ID(),
    head=ProseField(),  # title, aliases and tags
    body=ProseField(),
)
# Of a match in the title over one in the text; engram and seed 001 weigh them 2 to 1.
HEAD_BOOST = 2.5
# Notes that hold all words; below it, notes that hold some are shown behind them.
MIN_ALL_WORDS_HITS = 5
# Of a prefix, the most frequent ones: unbounded, p95 is 3.5 s at 100,000 notes.
MAX_PREFIX_TERMS = 500
_MIN_PARALLEL_NOTES = 400  # below, a second process costs more than it saves
_Aside = TypeVar("_Aside")


def build(
    folder: str,
    paths: Sequence[str],
    load: Callable[[str], tuple[Document, _Aside]],
    noted: Callable[[str, _Aside], None],
    *,
    cores: int,
) -> None:
    """Write an index of the notes at `paths` into an empty folder, as `FulltextEngine` says."""

    def documents() -> Iterator[Document]:
        for path in paths:
            document, aside = load(path)
            noted(path, aside)
            yield document

    if cores == 1 or len(paths) < _MIN_PARALLEL_NOTES:
        build_index(folder, SCHEMA, documents())
        return
    try:
        build_index_parallel(folder, SCHEMA, paths, load, noted, procs=cores)
    except BuildFailed as error:  # a process was killed, for want of memory perhaps
        raise IndexDamaged(str(error)) from error


def update(folder: str, dropped: Iterable[int], added: Iterable[Document]) -> None:
    """Forget the notes of some numbers and add others, in one commit."""
    try:
        index = FileStorage(folder).open_index(schema=SCHEMA)
        writer = index.writer(codec=CompactCodec(), limitmb=64, compound=False)
        with writer.searcher() as searcher:
            for number in dropped:
                writer.delete_by_term("number", str(number), searcher=searcher)
        # In a third of the time that the writer itself takes.
        writer.segments += write_segments(folder, SCHEMA, added)
        writer.commit()
        index.close()
    except Exception as error:  # Whoosh raises anything at all on a damaged index
        raise IndexDamaged(f"{type(error).__name__}: {error}") from error


def search(
    folder: str,
    asked: Query,
    limit: int,
    tiers: Sequence[int],
    *,
    allowed: set[int] | None = None,
    without: Iterable[int] = (),
) -> tuple[list[ScoredNote], list[str]]:
    """The best notes, at least `limit` where there are so many, with every one that scores as the
    last of them; and the terms they were found by. Only notes of `tiers` are found, in their order,
    only `allowed` ones, none of `without`. `IndexDamaged` when the index cannot be read."""
    try:
        index = FileStorage(folder).open_index(schema=SCHEMA)
        if not index.doc_count_all() or allowed == set():  # to Whoosh an empty filter is none
            return [], []
        with index.searcher(weighting=LiveBM25F()) as searcher:
            return _IndexSearch(searcher, asked, allowed, set(without)).run(limit, tiers)
    except Exception as error:  # as above
        raise IndexDamaged(f"{type(error).__name__}: {error}") from error


def search_relevant(folder: str, prompt: str) -> list[RelevantNote]:
    """The notes that bear on a prompt, best first, whatever they are."""
    # 3 ms that a search need not spend.
    from cortex.index.engines.whoosh import relevance_search  # noqa: PLC0415

    return relevance_search.search_relevant(folder, prompt)


class _IndexSearch:
    """One query put to one open index."""

    def __init__(
        self, searcher: Any, asked: Query, allowed: set[int] | None, without: set[int]
    ) -> None:
        self.searcher = searcher
        self.reader = searcher.reader()
        self.number_column = self.reader.column_reader("column")
        self.terms: list[str] = []
        wanted = [piece for piece in asked.terms if not piece.negated]
        self.phrase_queries = [
            part
            for piece in wanted
            if piece.kind == "phrase"
            for part in self._piece_queries(piece)
        ]
        self.word_queries = [
            part
            for piece in wanted
            if piece.kind != "phrase"
            for part in self._piece_queries(piece)
        ]
        shown = len(self.terms)
        self.excluded_queries = [
            part for piece in asked.terms if piece.negated for part in self._piece_queries(piece)
        ]
        del self.terms[shown:]
        self.has_only_negations = bool(asked.terms) and all(piece.negated for piece in asked.terms)
        self.allowed_documents = None if allowed is None else self._document_ids(allowed)
        self.excluded_documents = self._document_ids(without) if without else set()
        if self.excluded_queries:
            # Not Whoosh's AndNot: its matcher returns the first document even if it is excluded.
            self.excluded_documents |= set(searcher.docs_for_query(q.Or(self.excluded_queries)))

    def run(self, limit: int, tiers: Sequence[int]) -> tuple[list[ScoredNote], list[str]]:
        found: dict[int, ScoredNote] = {}
        if self.has_only_negations:
            self.word_queries = [q.Every()]
        if self.word_queries or self.phrase_queries:
            for tier in tiers:
                self._search_tier(found, tier, limit)
        return list(found.values()), self.terms

    def _search_tier(self, found: dict[int, ScoredNote], tier: int, limit: int) -> None:
        """Add the notes of one tier: those with all words, then, when there are few, those with
        some. Phrases stay binding: somebody put the quotes there."""
        for loose, joined in enumerate((q.And, q.Or) if len(self.word_queries) > 1 else (q.And,)):
            if len(found) >= limit or (joined is q.Or and len(found) >= MIN_ALL_WORDS_HITS):
                return
            asked = q.And(
                [*self.phrase_queries, *([joined(self.word_queries)] if self.word_queries else [])]
            )
            for score, document in self._top_documents(asked, tier, limit):
                number = int(self.number_column[document])
                found.setdefault(number, ScoredNote(2 * tier + loose, score, number))

    def _top_documents(self, asked: Any, tier: int, limit: int) -> list[tuple[float, int]]:
        """(score, document) of the best notes of a tier, ties with the last one included: which of
        them Whoosh would keep depends on how the index came about, and rebuilding it must not
        change an answer."""
        # Nearly all notes are current: excluding the others is cheaper than listing these.
        others = q.Or(
            [
                q.Term("tier", str(other))
                for other in (TIER_CURRENT, TIER_SET_ASIDE, TIER_TRAIL)
                if other != tier
            ]
        )
        mask = set(self.searcher.docs_for_query(others)) | self.excluded_documents
        size = limit + 10
        while True:
            results = self.searcher.search(
                asked, limit=size, filter=self.allowed_documents, mask=mask
            )
            scored = [(round(score, 6), document) for document, score in results.items()]
            if len(scored) < size or scored[-1][0] < scored[limit - 1][0]:
                return [one for one in scored if one[0] >= scored[min(limit, len(scored)) - 1][0]]
            size *= 4

    def _piece_queries(self, piece: QueryTerm) -> list[Any]:
        """What a piece of the query asks of a note; nothing for a stop word."""
        if piece.kind == "prefix":
            return [self._prefix_query(piece)]
        if piece.kind == "phrase":
            row = phrase_terms(piece.text)
            self.terms += row
            return [_in_head_and_body(lambda field: _phrase_query(field, row))] if row else []
        return [self._word_query(terms, row) for terms, row in query_forms(piece.text)]

    def _word_query(self, terms: tuple[str, ...], row: tuple[str, ...]) -> Any:
        """A word of prose is a term; an identifier is one of its spellings, or its parts in a
        row."""
        self.terms += [*terms, *row]

        def ways(field: str) -> Any:
            alternatives = [q.Term(field, term) for term in terms]
            if row:
                alternatives.append(_phrase_query(field, row))
            return alternatives[0] if len(alternatives) == 1 else q.Or(alternatives)

        return _in_head_and_body(ways)

    def _prefix_query(self, piece: QueryTerm) -> Any:
        """The most frequent terms that begin so, and stems that prose has them by: `normaliz*`
        means `normalize_topic`. What a note must not hold is no matter of frequency."""
        start, stems = prefix_forms(piece.text)
        most_wanted = sys.maxsize if piece.negated else MAX_PREFIX_TERMS
        self.terms += [start, *stems]

        def ways(field: str) -> Any:
            terms = (
                (self.reader.doc_frequency(field, term), term)
                for term in self.reader.expand_prefix(field, start)
            )
            most = [term for _, term in heapq.nlargest(most_wanted, terms)]
            return q.Or(
                [
                    q.Term(field, term)
                    for term in dict.fromkeys([*most, *(stem.encode() for stem in stems)])
                ]
            )

        return _in_head_and_body(ways)

    def _document_ids(self, numbers: set[int]) -> set[int]:
        """The documents of these notes."""
        found: set[int] = set()
        for leaf, offset in self.reader.leaf_readers():
            # Document by document, a column of 10,000 takes 40 ms.
            column = leaf._perdoc.read_numbers("column")  # noqa: SLF001
            found.update(
                offset + document
                for document, number in enumerate(column)
                if number in numbers and not leaf.is_deleted(document)
            )
        return found


def _in_head_and_body(ways: Callable[[str], Any]) -> Any:
    """The same question to the head and to the body of a note."""
    return q.Or([ways("head").with_boost(HEAD_BOOST), ways("body")])


def _phrase_query(field: str, terms: Sequence[str]) -> Any:
    return (
        PhraseQuery(field, [term.encode() for term in terms])
        if len(terms) > 1
        else q.Term(field, terms[0])
    )
