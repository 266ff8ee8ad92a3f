"""The tantivy index: built, changed, asked. It holds numbers and words, the catalogue the rest.

It tells which notes hold a word, and which may be the best; how often each of these holds it is
counted in their terms, which are stored beside. tantivy numbers positions itself, so it is given
terms with blanks between them. It weighs by counts that include deleted notes, and is made to weigh
by live ones, so that an index that was changed note by note answers as one that was built anew
(law 1).
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby
from operator import itemgetter, methodcaller
from typing import Any, TypeVar

import tantivy
from tantivy import FieldType, Occur, Query

from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.ranking.query import MAX_KEYWORDS
from cortex.index.engines import engine
from cortex.index.engines.analysis import GAP, joined_terms
from cortex.index.engines.engine import FIELDS, Alternatives, Document, IndexReader, WantedNotes

PASSAGE_MARK, FIELD_MARK = b"\x1e", b"\x1f"
# About what a term in each field counts for in `note_score`.
_GAINS = dict(zip(FIELDS, (1.0, 1.3, 0.7, 0.1), strict=True))
_MAX_TERM_QUERIES = 24  # alternatives; of more a set of terms is faster
_MORE_HITS = 4  # times as many when too few may be found
_BLANKS = bytes.maketrans(PASSAGE_MARK + FIELD_MARK, b"  ")
_BUILD_HEAP, _UPDATE_HEAP = 64_000_000, 15_000_000  # bytes; tantivy takes no less
_Aside = TypeVar("_Aside")
_kept: dict[str, tuple[tuple[int, int], TantivyReader]] = {}
_SAME_SCORE = 1 - 1e-5  # share of a score: tantivy sums up in 32 bits


def _make_schema() -> Any:
    builder = tantivy.SchemaBuilder()
    for name in FIELDS:
        builder.add_text_field(name, tokenizer_name="terms")
    for name in ("number", "tier", "series", "length"):
        builder.add_unsigned_field(name, indexed=True, fast=True)
    builder.add_unsigned_field("every", indexed=True)  # 1: tells how many documents are weighed by
    builder.add_bytes_field("terms", stored=True)  # of the fields of each passage
    return builder.build()


SCHEMA = _make_schema()


def count_terms(joined: bytes) -> int:
    """How many terms there are in what `joined_terms` gives."""
    return joined.count(b" ") // 2 - joined.count(GAP)


class TantivyReader(IndexReader):
    """All notes, each a document."""

    def __init__(self, folder: str) -> None:
        self.searcher = tantivy.Index.open(folder).searcher()
        self.note_count = self.searcher.num_docs
        sums = {"terms": {"sum": {"field": "length"}}}
        terms = self.searcher.aggregate(Query.all_query(), sums)["terms"]["value"]
        self.mean_length = max(1.0, terms / max(1, self.note_count))
        self._known: dict[int, Any] = {}  # addresses of notes, by number

    # What is asked of every note, and of no search for a few words, is read when it is asked for.

    @cached_property
    def numbers(self) -> list[int]:  # type: ignore[override]
        return [number for _, number in self._hits(Query.all_query(), max(1, self.note_count))]

    tiers = cached_property(lambda self: self._values("tier", self.numbers))
    parts = cached_property(lambda self: bytes(len(self.numbers)))

    @cached_property
    def series_keys(self) -> list[tuple[int, int]]:  # type: ignore[override]
        kept = Query.range_query(SCHEMA, "series", FieldType.Unsigned, 1)
        numbers = [number for _, number in self._hits(kept, max(1, self.note_count))]
        return list(zip(numbers, self._values("series", numbers), strict=True))

    def addresses(self, numbers: Collection[int]) -> dict[int, Any]:
        """Where those notes lie that are in the index."""
        if unknown := [one for one in numbers if one not in self._known]:
            self._hits(Query.term_set_query(SCHEMA, "number", unknown), len(unknown))
        return {one: self._known[one] for one in numbers if one in self._known}

    def _values(self, name: str, numbers: Collection[int]) -> list[int]:
        """A number of each of these notes, which are in the index."""
        addresses = list(self.addresses(numbers).values())
        return list(self.searcher.fast_field_values(name, addresses))

    def _hits(self, query: Query, limit: int, *, keep: bool = True) -> list[tuple[float, int]]:
        """The scores and numbers of the best notes of a query; `keep` for who reads them next."""
        hits = self.searcher.search(query, limit, False).hits
        addresses = [address for _, address in hits]
        numbers = self.searcher.fast_field_values("number", addresses)
        if keep:
            self._known.update(zip(numbers, addresses, strict=True))
        return [(score, number) for (score, _), number in zip(hits, numbers, strict=True)]

    def _idf(self, field: str, term: str) -> float:
        """What tantivy weighs a term by; 0 for one that no note holds."""
        if not (count := self.searcher.doc_freq(field, term)):
            return 0.0
        return math.log(1 + (self.searcher.doc_freq("every", 1) - count + 0.5) / (count + 0.5))

    def _scoring(
        self, word: Alternatives, fields: Iterable[str] = FIELDS, weight: float = 1.0
    ) -> Iterator[tuple[Occur, Query]]:
        """The queries that find a word in a field, by its terms and as a phrase, weighted so that
        they score about as `note_score` does."""
        for field in fields:
            single_terms = (*word.terms, *word.row) if len(word.row) == 1 else word.terms
            idfs = {term: idf for term in single_terms if (idf := self._idf(field, term))}
            queries = [(Query.term_query(SCHEMA, field, term), idfs[term]) for term in idfs]
            if len(idfs) > _MAX_TERM_QUERIES:
                terms = Query.term_set_query(SCHEMA, field, list(idfs))
                queries = [(Query.const_score_query(terms, 1.0), 1.0)]
            row_idfs = [self._idf(field, term) for term in word.row]
            if len(row_idfs) > 1 and all(row_idfs):
                queries.append((Query.phrase_query(SCHEMA, field, list(word.row)), sum(row_idfs)))
            for query, idf in queries:
                yield Occur.Should, Query.boost_query(query, weight * _GAINS[field] / idf)

    def _matching(self, one: Alternatives, fields: Iterable[str] = FIELDS) -> Query:
        """A query for the notes that hold a word."""
        return Query.boolean_query(list(self._scoring(one, fields)))

    def numbers_with(self, one: Alternatives) -> set[int]:
        found = self._hits(self._matching(one), self.note_count, keep=False)
        return {number for _, number in found}

    def count(self, one: Alternatives, fields: Iterable[str] = FIELDS, *musts: Any) -> int:
        query = Query.boolean_query([_must(self._matching(one, fields)), *musts])
        return int(self.searcher.search(query, 1, True).count)

    def count_relevant(self, one: Alternatives) -> tuple[int, int]:
        trail = _must(Query.term_query(SCHEMA, "tier", TIER_TRAIL))
        in_trail = self.count(one, ("head", "body"), trail)
        return self.count(one, ("head", "body")) - in_trail, in_trail

    def terms_from(self, field: str, start: str) -> Iterator[str]:
        return (term for term, _ in self.searcher.terms_with_prefix(field, start))

    def terms_holding(self, part: str) -> set[str]:
        # Through the notes that hold such terms, in half the time in which all terms are told.
        pattern = f".*{re.escape(part)}.*"
        either = [Query.regex_query(SCHEMA, field, pattern) for field in ("body", "head")]
        query = Query.boolean_query([(Occur.Should, one) for one in either])
        addresses = (address for _, address in self.searcher.search(query, self.note_count).hits)
        texts = (bytes(self.searcher.doc(one).get_first("terms")) for one in addresses)
        terms = (one for text in texts for one in text.translate(_BLANKS).decode().split())
        return {one for one in terms if part in one}

    def terms_among(self, words: Collection[str]) -> Collection[str]:
        return words  # to look each up takes it no time

    def document_frequency(self, field: str, term: str) -> int:
        return int(self.searcher.doc_freq(field, term))

    def candidates(
        self, words: Iterable[tuple[Alternatives, float]], wanted: WantedNotes
    ) -> IndexReader:
        words = list(words)
        if wanted.allowed is not None and len(wanted.allowed) <= wanted.most:
            found = set(self.addresses(wanted.allowed))
        else:
            scoring = [query for one, rare in words for query in self._scoring(one, weight=rare)]
            musts = [_must(self._matching(one)) for one, _ in words]
            kinds = [[_must(Query.boolean_query(scoring)), *musts[: wanted.required]]]
            if 1 < len(words) <= MAX_KEYWORDS:
                kinds.append([*kinds[0], *musts])  # who lacks a word loses most of the score
            found = set()
            for tiers in filter(None, wanted.groups):
                of_tiers = _must(Query.term_set_query(SCHEMA, "tier", list(tiers)))
                for kind in kinds:
                    found |= self._best_of(Query.boolean_query([*kind, of_tiers]), wanted)
        for _ in range(2 if self.series else 0):  # a neighbour is raised by its own
            found |= {two for one in found for at in self.series.neighbours(one) for two in at}
        return _Candidates(self, found)

    def _best_of(self, query: Query, wanted: WantedNotes) -> set[int]:
        """The best notes that may be found, with all that score as the last of them."""
        most = size = wanted.most
        while True:
            hits = self._hits(query, size)
            found = [
                (score, number)
                for score, number in hits
                if number not in wanted.hidden
                and (wanted.allowed is None or number in wanted.allowed)
            ]
            least = found[most - 1][0] * _SAME_SCORE if len(found) >= most else 0.0
            if len(hits) < size or hits[-1][0] < least:
                return {number for score, number in found if score >= least}
            size *= _MORE_HITS


class _Candidates(IndexReader):
    """Some notes of an index: their terms in memory, a document for each passage."""

    def __init__(self, whole: TantivyReader, numbers: Collection[int]) -> None:
        self.numbers, self.tiers, self.parts = [], [], []
        self._lengths: list[int] = []
        found = [(address, number) for number, address in whole.addresses(numbers).items()]
        # In their order: the terms of notes next to each other are read at once.
        found.sort(key=lambda one: (one[0].segment_ord, one[0].doc))
        addresses = [address for address, _ in found]
        known = (whole.searcher.fast_field_values(name, addresses) for name in ("tier", "length"))
        rows: list[list[bytes]] = []
        for (address, number), tier, length in zip(found, *known, strict=True):
            terms = bytes(whole.searcher.doc(address).get_first("terms"))
            passages = [one.split(FIELD_MARK) for one in terms.split(PASSAGE_MARK)]
            rows += passages
            self.numbers += [number] * len(passages)
            self.tiers += [tier] * len(passages)
            self._lengths += [length] * len(passages)
            self.parts += range(len(passages))
        self._texts = dict(zip(FIELDS, zip(*rows, strict=True), strict=False))

    def length(self, field: str, document: int) -> int:
        return count_terms(self._texts[field][document])

    def note_lengths(self, _documents: Collection[int]) -> dict[int, int]:
        return dict(zip(self.numbers, self._lengths, strict=True))

    def frequencies(self, field: str, one: Alternatives) -> Collection[tuple[int, float]]:
        counts = enumerate(map(_counter(one), self._texts.get(field, ())))
        return [(place, float(count)) for place, count in counts if count]


def _must(query: Query) -> tuple[Occur, Query]:
    """A clause that has to be fulfilled; the others alone score."""
    return Occur.Must, query


def _counter(one: Alternatives) -> Callable[[bytes], int]:
    """What counts how often joined terms hold the most frequent alternative."""
    terms = {term.encode() for term in one.terms}
    row = b" %b " % b"  ".join(map(str.encode, one.row)) if one.row else b""
    needles = [*(b" %b " % term for term in terms), *([row] if row else ())]
    if len(needles) == 1:
        return methodcaller("count", needles[0])
    if len(needles) <= _MAX_TERM_QUERIES:
        return lambda text: max(map(text.count, needles), default=0) if text else 0

    def count(text: bytes) -> int:
        present = terms.intersection(text.split())
        return max((text.count(b" %b " % term) for term in present), default=0)

    return count


def build(
    folder: str,
    paths: Sequence[str],
    load: Callable[[str], tuple[Sequence[Document], _Aside]],
    noted: Callable[[str, _Aside], None],
    *,
    cores: int,  # noqa: ARG001  as the table of engines has it
) -> None:
    """Write an index into an empty folder, as `FulltextEngine` says; in one process, where tantivy
    has a thread of its own."""
    os.makedirs(folder, 0o700)
    with engine.damage_raised():
        writer = _open_writer(tantivy.Index(SCHEMA, folder), _BUILD_HEAP)
        for path in paths:
            documents, aside = load(path)
            noted(path, aside)
            _add_notes(writer, documents)
        writer.commit()
        writer.wait_merging_threads()


def update(folder: str, dropped: Iterable[int], added: Iterable[Document]) -> None:
    """Forget the notes of some numbers and add others, in one commit."""
    with engine.damage_raised():
        writer = _open_writer(tantivy.Index.open(folder), _UPDATE_HEAP)
        for number in dropped:
            # By term it deletes nothing: tantivy-py takes the number for a signed one.
            query = tantivy.Query.term_query(SCHEMA, "number", number)
            writer.delete_documents_by_query(query)
        _add_notes(writer, added)
        writer.commit()
        writer.wait_merging_threads()


def _open_writer(index: Any, heap: int) -> Any:
    gaps = tantivy.Filter.custom_stopword([GAP.decode()])
    terms = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(gaps).build()
    index.register_tokenizer("terms", terms)
    return index.writer(heap, 1)


def _add_notes(writer: Any, documents: Iterable[Document]) -> None:
    """Add a document for each note; `documents` are the passages, those of a note one after the
    other."""
    for number, (first, *more) in groupby(documents, itemgetter("number")):
        document = tantivy.Document()
        passages, length = [], 0
        for passage in (first, *more):
            texts = [joined_terms(str(passage.get(field) or "")) for field in FIELDS]
            for field, text in zip(FIELDS, texts, strict=True):
                if text:
                    document.add_text(field, text.decode())
            passages.append(FIELD_MARK.join(texts))
            length += count_terms(texts[0])
        integers = {"number": number, "length": length, "every": 1}
        for field, value in (integers | {name: first[name] for name in ("tier", "series")}).items():
            document.add_unsigned(field, value)
        document.add_bytes("terms", PASSAGE_MARK.join(passages))
        writer.add_document(document)


@contextmanager
def open_reader(folder: str) -> Iterator[TantivyReader]:
    """As `FulltextEngine.open_reader`. A reader is kept until another index is written there."""
    with engine.damage_raised():
        status = os.stat(os.path.join(folder, "meta.json"))
        stamp = (status.st_mtime_ns, status.st_ino)
        known = _kept.pop(folder, None)
        if known is None or known[0] != stamp:
            known = stamp, TantivyReader(folder)
        for name in list(_kept)[: len(_kept) + 1 - max(1, engine.kept_indexes)]:
            _kept.pop(name, None)  # another thread may have taken it
        _kept[folder] = known
        yield known[1]
