"""The Whoosh index: built, changed, asked. It holds numbers and words, the catalogue the rest.

An index is full of pickles, so it is only opened where Cortex wrote it: in the user's cache folder.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

from cortex.index.engines import engine
from cortex.index.engines.engine import Alternatives, Document, IndexReader
from cortex.index.engines.whoosh.postings import (
    CompactCodec,
    PostingsMatcher,
    find_words,
    match_phrase,
    read_words,
)
from cortex.index.engines.whoosh.segment import (
    SCHEMA,
    publish,
    write_segments,
    write_segments_parallel,
)
from cortex.index.engines.whoosh.whoosh_import import (
    FileStorage,
    byte_to_length,
    import_parts,
)

_MIN_PARALLEL_NOTES = 400  # below, a second process costs more than it saves
_LENGTHS = tuple(map(int, map(byte_to_length, range(256))))
_DOCUMENTS_AT_ONCE = 20  # are counted in a row while the passages of one are looked for
_Aside = TypeVar("_Aside")


class WhooshReader(IndexReader):
    """A Whoosh index, open for a search: all its segments, and what they have of all documents."""

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
                more = lengths + leaf._perdoc.read_column(f"_{field}_len")  # noqa: SLF001
                self._lengths[field] = more.ljust(offset + len(every), b"\0")
            if leaf.has_deletions():
                self.deleted.update(offset + one for one in every if leaf.is_deleted(one))

    def _read(self, name: str, code: str = "i") -> array[int]:
        values = array(code)
        for leaf, offset in self.leaves:
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
                (document + offset, frequency)
                for leaf, offset in self.leaves
                for document, frequency in _frequencies(leaf, field, one)
                if document + offset not in self.deleted
            ]
        return found


def _frequencies(leaf: Any, field: str, one: Alternatives) -> Collection[tuple[int, float]]:
    """Which documents of a segment, deleted ones too, hold a word, and how often."""
    terms, row = (tuple(map(str.encode, some)) for some in (one.terms, one.row))
    postings = [
        _matcher(leaf, field, term).read_weights() for term in terms if (field, term) in leaf
    ]
    if row and all((field, term) in leaf for term in row):
        rows = match_phrase([_matcher(leaf, field, term) for term in row])
        postings.append([(document, float(len(at))) for document, at in rows.items()])
    if len(postings) < 2:
        return postings[0] if postings else ()
    found: dict[int, float] = {}
    for pairs in postings:
        for document, frequency in pairs:
            found[document] = max(frequency, found.get(document, 0.0))
    return found.items()


def _matcher(leaf: Any, field: str, term: bytes) -> PostingsMatcher:
    found: PostingsMatcher = leaf._terms.matcher(field, term, SCHEMA[field].format)  # noqa: SLF001
    return found


# By folder, with the stamp of the index; no thread is using them.
_kept: dict[str, tuple[object, WhooshReader]] = {}


def build(
    folder: str,
    paths: Sequence[str],
    load: Callable[[str], tuple[Sequence[Document], _Aside]],
    noted: Callable[[str, _Aside], None],
    *,
    cores: int,
) -> None:
    """Write an index of the notes at `paths` into an empty folder, as `FulltextEngine` says."""

    def documents() -> Iterator[Document]:
        for path in paths:
            passages, aside = load(path)
            noted(path, aside)
            yield from passages

    os.makedirs(folder, 0o700)
    if cores == 1 or len(paths) < _MIN_PARALLEL_NOTES:
        publish(folder, write_segments(folder, documents()))
    else:
        publish(folder, write_segments_parallel(folder, paths, load, noted, procs=cores))


def update(folder: str, dropped: Iterable[int], added: Iterable[Document]) -> None:
    """Forget the notes of some numbers and add others, in one commit."""
    import_parts("whoosh.writing")
    with engine.damage_raised():
        index = FileStorage(folder).open_index(schema=SCHEMA)
        writer = index.writer(codec=CompactCodec(), limitmb=64, compound=False)
        gone = set(dropped)
        with writer.reader() as reader:  # a searcher would load what scores, 8 ms
            for document, number in enumerate(WhooshReader(reader).numbers if gone else ()):
                if number in gone and not reader.is_deleted(document):
                    writer.delete_document(document)
        # In a third of the time that the writer itself takes.
        writer.segments += write_segments(folder, added)
        writer.commit()
        index.close()


@contextmanager
def open_reader(folder: str) -> Iterator[WhooshReader]:
    """As `FulltextEngine.open_reader`; one thread at a time uses it. A process with `kept_indexes`
    keeps them open, and answers the next query in half the time."""
    with engine.damage_raised():
        stamp = _commit_stamp(folder)
        known, reader = _kept.pop(folder, (None, None))
        if reader and known != stamp:
            reader.reader.close()
            reader = None
        if reader is None:
            reader = WhooshReader(FileStorage(folder).open_index(schema=SCHEMA).reader())
        try:
            yield reader
        except BaseException:
            reader.reader.close()
            raise
        reader.known.clear()
        spare = [_kept.pop(folder, None)]
        _kept[folder] = stamp, reader
        spare += [_kept.pop(name, None) for name in list(_kept)[: len(_kept) - engine.kept_indexes]]
        for _, one in filter(None, spare):
            one.reader.close()


def _commit_stamp(folder: str) -> tuple[tuple[str, int, int], ...]:
    """Other after every commit and every build, each of which writes a table of contents anew."""
    with os.scandir(folder) as entries:
        tables = [one for one in entries if one.name.endswith(".toc")]
        stats = [(one.name, one.stat()) for one in tables]
    return tuple(sorted((name, stat.st_ino, stat.st_mtime_ns) for name, stat in stats))
