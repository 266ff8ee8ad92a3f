"""How the index keeps which note holds which word, and where: Whoosh's codec, smaller and faster.

Whoosh packs positions as pickles and reads a file for every document's length. Here positions are
characters in UTF-8, blocks packed structs, lengths read once a field. Text fields: `ProseField`.
"""

from __future__ import annotations

import sys
import zlib
from array import array
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Any

from cortex.index.engines.whoosh.whoosh_import import (
    FileStorage,
    fields,
    filetables,
    formats,
    whoosh3,
)


def encode_positions(at: str) -> bytes:
    """Positions, one character each (U+0001 is the first), as they are written."""
    return at.encode("utf-8", "surrogatepass")


class ProseField(fields.FieldType):
    """Text to be searched, not stored. Its terms are those of `term_positions`."""

    def __init__(self) -> None:
        super().__init__(formats.Positions(), None, scorable=True)


_WORDS_EXTENSION = ".words"  # of the file with the terms of a segment
_BLOCK_HEADER = Struct("<iIB")  # bytes that follow (negative: last block), documents, flags
_SAME_WEIGHT, _COMPRESSED = 1, 2


def _encode_block(numbers: array[int], weights: array[float], values: bytes, last: bool) -> bytes:
    same = weights.count(weights[0]) == len(weights)
    kept = zlib.compress(values, 1) if len(values) > 256 else values
    body = numbers.tobytes() + (weights[:1] if same else weights).tobytes() + kept
    flags = same * _SAME_WEIGHT | (kept is not values) * _COMPRESSED
    return _BLOCK_HEADER.pack(-len(body) if last else len(body), len(numbers), flags) + body


class PostingsMatcher(whoosh3.W3LeafMatcher):
    """Reads the postings that `CompactCodec` writes; positions only when they are asked for."""

    _data: Any  # None until read, as in the class above
    _ids: Any
    _weights: Any
    _values: Any

    def _goto(self, position: int) -> None:
        self._postfile.seek(position)
        header = self._postfile.read(_BLOCK_HEADER.size)
        size, self._blocklength, self._flags = _BLOCK_HEADER.unpack(header)
        self._lastblock = size < 0
        self._dataoffset = position + _BLOCK_HEADER.size
        self._nextoffset = self._dataoffset + abs(size)
        self._data = self._ids = self._weights = self._values = None
        self._i = 0

    def _block_sections(self) -> tuple[memoryview, memoryview, memoryview]:
        """The numbers of the documents, the weights and the positions, as they lie on disk."""
        if self._data is None:
            self._data = memoryview(
                self._postfile.get(self._dataoffset, self._nextoffset - self._dataoffset)
            )
        weights = 4 * self._blocklength
        values = weights + (4 if self._flags & _SAME_WEIGHT else weights)
        return self._data[:weights], self._data[weights:values], self._data[values:]

    def _read_ids(self) -> None:
        self._ids = self._block_sections()[0].cast("I").tolist()

    def _read_weights(self) -> None:
        weights = self._block_sections()[1].cast("f").tolist()
        self._weights = weights * self._blocklength if self._flags & _SAME_WEIGHT else weights

    def _read_values(self) -> None:
        values = bytes(self._block_sections()[2])
        if self._flags & _COMPRESSED:
            values = zlib.decompress(values)
        self._values = values.split(b"\0")

    def read_weights(self) -> list[tuple[int, float]]:
        """The documents from this block on, each with the weight of the term."""
        found: list[tuple[int, float]] = []
        while self.is_active():
            self._read_ids()
            self._read_weights()
            found += zip(self._ids, self._weights, strict=True)
            self._next_block()
        return found

    def read_positions(self) -> dict[int, str]:
        """Where the term stands in each document from here on, as `encode_positions` packs it."""
        found: dict[int, str] = {}
        while self.is_active():
            self._read_ids()
            self._read_values()
            positions = [value.decode("utf-8", "surrogatepass") for value in self._values]
            found.update(zip(self._ids, positions, strict=True))
            self._next_block()
        return found


def match_phrase(postings: Sequence[PostingsMatcher]) -> dict[int, str]:
    """The documents in which terms follow each other, by the postings of each; and where the last
    one then stands, once for every time, in the form that `encode_positions` packs. A third of the
    time of Whoosh's spans, and linear in all of it."""
    found = postings[0].read_positions()
    for later in postings[1:]:
        here = later.read_positions()
        following = {
            number: {chr(ord(one) + 1) for one in found[number]}.intersection(here[number])
            for number in found.keys() & here.keys()
        }
        found = {number: "".join(at) for number, at in following.items() if at}
    return found


class _PostingsWriter(whoosh3.W3PostingsWriter):
    """Writes the postings that Whoosh's own writers hand over one at a time."""

    def _write_block(self, last: bool = False) -> None:
        if not self._blockcount:
            self._postfile.write(whoosh3.WHOOSH3_HEADER_MAGIC)
        self._terminfo.add_block(self)
        values = b"\0".join(self._values)
        self._postfile.write(_encode_block(self._ids, self._weights, values, last))
        self._blockcount += 1
        self._new_block()


class _TermsWriter(whoosh3.W3FieldWriter):
    """Writes the terms of a segment, and the postings of a whole term at once."""

    def __init__(
        self, codec: CompactCodec, storage: FileStorage, segment: whoosh3.W3Segment
    ) -> None:
        super().__init__(codec, storage, segment)
        # A CRC finds terms as well as MD5, without OpenSSL; the head that names it is rewritten.
        self._tindex.dbfile.seek(0)
        filetables.HashWriter.__init__(self._tindex, self._tindex.dbfile, hashtype=1)
        self._tindex.extras["fieldmap"] = self._fieldmap
        self._words: list[bytes] = []

    def start_term(self, btext: bytes) -> None:
        super().start_term(btext)
        self._words.append(btext)

    def add_term_positions(self, term: bytes, numbers: list[int], row: list[str]) -> None:
        """A term with the documents that hold it, and where."""
        self._words.append(term)
        documents = array("I", numbers)
        weights = array("f", map(len, row))
        step, written = self._codec._blocklimit, [whoosh3.WHOOSH3_HEADER_MAGIC]  # noqa: SLF001
        for start in range(0, len(numbers), step):
            part = slice(start, start + step)
            values = encode_positions("\0".join(row[part]))
            is_last = start + step >= len(numbers)
            written.append(_encode_block(documents[part], weights[part], values, is_last))
        postings = b"".join(written)
        info = whoosh3.W3TermInfo(sum(weights), len(numbers))  # nobody asks for the rest
        info.set_extent(self._postfile.tell(), len(postings))
        self._postfile.write(postings)
        self._tindex.add(self._fieldid.to_bytes(2, "big") + term, info.to_bytes())

    def close(self) -> None:
        with self._create_file(_WORDS_EXTENSION) as file:
            file.write(b"\n".join([b"", *self._words, b""]))
        super().close()


def read_words(storage: FileStorage, segment: whoosh3.W3Segment) -> bytes:
    """The terms of a segment, a line each, also before the first. To walk its dictionary takes a
    hundred times as long."""
    with segment.open_file(storage, _WORDS_EXTENSION) as file:
        return bytes(file.read())


def find_words(storage: FileStorage, segment: whoosh3.W3Segment, part: str) -> Iterator[str]:
    """The terms of a segment that hold this part; a dictionary only tells how words begin."""
    words, sought = read_words(storage, segment), part.encode()
    at = words.find(sought)
    while at >= 0:
        end = words.index(b"\n", at)
        yield words[words.rindex(b"\n", 0, at) + 1 : end].decode()
        at = words.find(sought, end)


class _DocumentsReader(whoosh3.W3PerDocReader):
    """Reads columns whole: document by document, one of 10,000 takes 40 ms."""

    def read_column(self, name: str) -> bytes:
        """The bytes of a column, up to the last document that has a value."""
        if not self.has_column(name):
            return b""
        file, start, size = self._get_column_file(name)
        with file:
            return bytes(file.get(start, size))

    def read_numbers(self, name: str, code: str) -> array[int]:
        """A `NumericColumn(code)`: by document, up to the last that is not 0."""
        numbers, data = array(code), self.read_column(name)
        numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
        if sys.byteorder == "little":
            numbers.byteswap()
        return numbers


class CompactCodec(whoosh3.W3Codec):
    """Whoosh's codec with smaller, faster postings. Text fields have to be `ProseField`."""

    length_stats = False  # of the documents that hold a term

    def per_document_reader(
        self, storage: FileStorage, segment: whoosh3.W3Segment
    ) -> _DocumentsReader:
        return _DocumentsReader(storage, segment)

    def postings_writer(self, dbfile: object, byteids: bool = False) -> _PostingsWriter:
        return _PostingsWriter(dbfile, self._blocklimit, byteids, self._compression, inlinelimit=0)

    def postings_reader(
        self,
        dbfile: object,
        terminfo: whoosh3.W3TermInfo,
        format_: formats.Format,
        term: object = None,
        scorer: object = None,
    ) -> PostingsMatcher:
        offset, length = terminfo.extent()
        return PostingsMatcher(dbfile, offset, length, format_, term=term, scorer=scorer)

    def field_writer(self, storage: FileStorage, segment: whoosh3.W3Segment) -> _TermsWriter:
        return _TermsWriter(self, storage, segment)
