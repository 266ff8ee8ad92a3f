"""A Whoosh index, open for a search: what it has of all documents, and its postings."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any

from cortex.index.engines.engine import Alternatives, IndexReader
from cortex.index.engines.whoosh.postings import find_words, match_phrase, read_weights, read_words
from cortex.index.engines.whoosh.whoosh_import import byte_to_length

_LENGTHS = tuple(map(int, map(byte_to_length, range(256))))
_DOCUMENTS_AT_ONCE = 20  # are counted in a row while the passages of one are looked for


class WhooshReader(IndexReader):
    """All segments of an index."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader
        self.leaves = list(reader.leaf_readers()) if reader.doc_count_all() else []
        self.numbers = self._read("number")
        self.tiers = self._read("tier")
        self.parts = self._read("part")
        self.deleted: set[int] = set()
        # The lengths of all documents in terms, each as a byte for `byte_to_length`.
        self._lengths = dict.fromkeys(("body", "head"), b"")
        # Of one query: what was read already.
        self.known: dict[tuple[object, ...], Collection[tuple[int, float]]] = {}
        for leaf, offset in self.leaves:
            every = range(leaf.doc_count_all())
            for field, lengths in self._lengths.items():
                more = lengths + leaf._perdoc.field_lengths(field)  # noqa: SLF001
                self._lengths[field] = more.ljust(offset + len(every), b"\0")
            if leaf.has_deletions():
                self.deleted.update(offset + one for one in every if leaf.is_deleted(one))

    def _read(self, name: str, code: str = "i") -> array[int]:
        values = array(code)
        for leaf, offset in self.leaves:
            # Document by document, a column of 10,000 takes 40 ms.
            values += leaf._perdoc.read_numbers(name, code)  # noqa: SLF001
            missing = offset + leaf.doc_count_all() - len(values)
            values.frombytes(bytes(values.itemsize * missing))
        return values

    def length(self, field: str, document: int) -> int:
        return int(byte_to_length(self._lengths[field][document]))

    def note_lengths(self, documents: Collection[int]) -> dict[int, int]:
        found: defaultdict[int, int] = defaultdict(int)
        kept = self._lengths["body"]
        if len(documents) * _DOCUMENTS_AT_ONCE < len(kept):
            for passages in {self.passages_with(one) for one in documents}:
                own = kept[passages.start : passages.stop]
                found[self.numbers[passages.start]] = sum(map(_LENGTHS.__getitem__, own))
            return found
        live = bytearray(kept)
        for one in self.deleted:
            live[one] = 0
        for number, length in zip(self.numbers, map(_LENGTHS.__getitem__, live), strict=True):
            found[number] += length
        return found

    @cached_property
    def mean_length(self) -> float:  # type: ignore[override]
        counted = Counter(self._lengths["body"])
        counted.subtract(self._lengths["body"][one] for one in self.deleted)
        terms: int = sum(count * byte_to_length(byte) for byte, count in counted.items())
        return max(1.0, terms / max(1, self.note_count))

    @cached_property
    def series_keys(self) -> list[tuple[int, int]]:  # type: ignore[override]
        keys = self._read("series", "q")
        return [
            (self.numbers[place], key)
            for place, key in enumerate(keys if any(keys) else ())
            if key and place not in self.deleted
        ]

    @cached_property
    def note_count(self) -> int:  # type: ignore[override]
        return self.parts.count(0) - sum(not self.parts[one] for one in self.deleted)

    def terms_from(self, field: str, start: str) -> Iterator[str]:
        return map(bytes.decode, self.reader.expand_prefix(field, start.encode()))

    def terms_holding(self, part: str) -> Iterator[str]:
        for leaf, _ in self.leaves:
            yield from find_words(leaf.storage(), leaf.segment(), part)

    def terms_among(self, words: Collection[str]) -> set[str]:
        sought, found = {word.encode() for word in words}, set[bytes]()
        for leaf, _ in self.leaves:
            found |= sought.intersection(read_words(leaf.storage(), leaf.segment()).split(b"\n"))
        return set(map(bytes.decode, found))

    def document_frequency(self, field: str, term: str) -> int:
        return int(self.reader.doc_frequency(field, term.encode()))

    def frequencies(self, field: str, one: Alternatives) -> Collection[tuple[int, float]]:
        key = field, one.terms, one.row
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = [
                pair if not offset else (pair[0] + offset, pair[1])
                for leaf, offset in self.leaves
                for pair in _frequencies(leaf, field, one)
            ]
        return found


def _frequencies(leaf: Any, field: str, one: Alternatives) -> Collection[tuple[int, float]]:
    terms, row = (tuple(map(str.encode, some)) for some in (one.terms, one.row))
    held = [read_weights(leaf.postings(field, term)) for term in terms if (field, term) in leaf]
    if row and all((field, term) in leaf for term in row):
        rows = match_phrase([leaf.postings(field, term) for term in row])
        held.append([(document, float(len(at))) for document, at in rows.items()])
    if len(held) < 2:
        return held[0] if held else ()
    found: dict[int, float] = {}
    for pairs in held:
        for document, frequency in pairs:
            found[document] = max(frequency, found.get(document, 0.0))
    return found.items()
