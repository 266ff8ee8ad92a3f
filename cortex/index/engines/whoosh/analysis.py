"""The words of notes and of queries as Whoosh is given them: the text field, and what finds one word of a query.

`query_forms(text)` gives, for each word of a query, what finds it in a `Prose` field: any of `terms`, or `phrase` as terms in a
row. An empty list means that the text holds only stop words. `phrase_terms` is the row of a quoted phrase. `prefix_forms` is
the beginning of the terms that a prefix finds, and terms beside them, since prose is stemmed: `decisio*` has to find `decis`.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple, TypeAlias

from cortex.core.text.tokenizer import LONGEST, analyse, chunks, fold, query_tokens
from cortex.index.engines.whoosh.postings import Positions, packed
from cortex.index.engines.whoosh.whoosh_import import fields, stem

_Entry: TypeAlias = "bytes | tuple[bytes, ...]"

_MOST_KNOWN = 65_536  # entries of a memo before it starts afresh
_MOST_IN_PHRASE = 16
# The characters of the first positions. NUL is none of them: it separates the values of a block.
_PLACES = tuple(map(chr, range(1, 4097)))
# Endings that the stemmer takes off; a prefix may end within one.
_ENDINGS = tuple(
    """able ably al ally ance ate ation ations ed edly ement ements ence er ers es ful fully ible ic ical ies ing ings
    ion ions ional ism ist ities ity ive iveness ization izations ize ized ly ment ments ness ous ously""".split()  # noqa: SIM905
)


class Forms(NamedTuple):
    """What finds one word of a query: any of `terms`, or `phrase` as terms in a row. One of them is not empty."""

    terms: tuple[str, ...]
    phrase: tuple[str, ...]


def query_forms(text: str) -> list[Forms]:
    """The alternatives for each word of a query, in order."""
    forms = []
    for wholes, parts in query_tokens(text, stem):
        # Beside its spellings, a single part is what stop words left of an identifier: `json` of `to_json`.
        terms = wholes or (parts if len(parts) == 1 else ())
        forms.append(Forms(terms, parts[:_MOST_IN_PHRASE] if len(parts) > 1 else ()))
    return forms


def phrase_terms(text: str) -> tuple[str, ...]:
    """The terms of a quoted phrase, as they stand in a row in the texts that hold it."""
    return tuple(chain.from_iterable(word.parts for word in query_tokens(text, stem)))[
        :_MOST_IN_PHRASE
    ]


def prefix_forms(text: str) -> tuple[str, tuple[str, ...]]:
    """The beginning of the terms that a prefix finds, and further terms: stems shorter than the prefix itself."""
    start = fold(text).casefold()[:LONGEST]
    if not (start.isascii() and start.isalpha()):
        return start, ()
    cut = (
        start[:end]
        for end in range(3, len(start))
        if any(ending.startswith(start[end:]) for ending in _ENDINGS)
    )
    return start, tuple(dict.fromkeys([stem(start), *cut]))


class _Stems(dict[str, str]):
    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        self[word] = stemmed = str(stem(word))
        return stemmed


class _Entries(dict[str, "tuple[_Entry, ...]"]):
    """Chunk of text to one entry for each of its positions: a term, or the terms that share the position."""

    def __init__(self) -> None:
        self._stems = _Stems()

    def __missing__(self, chunk: str) -> tuple[_Entry, ...]:
        row: list[_Entry] = []
        for wholes, parts in analyse(chunk, self._stems.__getitem__):
            first, *rest = map(str.encode, parts)
            row.append(tuple(dict.fromkeys([first, *map(str.encode, wholes)])) if wholes else first)
            row += rest
        entries = tuple(row)
        if len(chunk) <= LONGEST:
            if len(self) >= _MOST_KNOWN:
                self.clear()
            self[chunk] = entries
        return entries


_ENTRIES = _Entries()


def places(text: str) -> dict[bytes, str]:
    """The terms of a text and the positions of each, one character for each position (U+0001 is the first)."""
    row = list(chain.from_iterable(map(_ENTRIES.__getitem__, chunks(text))))
    if len(row) <= len(_PLACES):
        return _unshared(_gathered(row, _PLACES))
    # In stretches: a string that grows by one character at a time takes quadratic time when it is long.
    stretches: defaultdict[_Entry, list[str]] = defaultdict(list)
    for start in range(0, min(len(row), sys.maxunicode), len(_PLACES)):
        stretch = range(start + 1, min(start + len(_PLACES), sys.maxunicode) + 1)
        for entry, at in _gathered(row[start : start + len(_PLACES)], map(chr, stretch)).items():
            stretches[entry].append(at)
    return _unshared({entry: "".join(parts) for entry, parts in stretches.items()})


def _gathered(row: list[_Entry], marks: Iterable[str]) -> dict[_Entry, str]:
    found: defaultdict[_Entry, str] = defaultdict(str)
    for mark, entry in zip(marks, row, strict=False):
        found[entry] += mark
    return found


def _unshared(found: dict[_Entry, str]) -> dict[bytes, str]:
    """Each term by itself, also those that share their positions with others."""
    terms: dict[bytes, str] = {}
    shared: defaultdict[bytes, list[str]] = defaultdict(list)
    for entry, at in found.items():
        if isinstance(entry, bytes):
            terms[entry] = at
        else:
            for term in entry:
                shared[term].append(at)
    for term, parts in shared.items():
        more = [*parts, terms[term]] if term in terms else parts
        terms[term] = "".join(sorted("".join(more))) if len(more) > 1 else more[0]
    return terms


class Prose(fields.FieldType):
    """Text to be searched, not stored. Its terms are those of `core.words`; it has no Whoosh analyzer."""

    def __init__(self, boost: float = 1.0) -> None:
        super().__init__(Positions(field_boost=boost), None, scorable=True)

    def index(self, value: str, **_: object) -> Iterator[tuple[bytes, int, float, bytes]]:
        """The postings of a text: term, frequency, weight and encoded positions."""
        boost = self.format.field_boost
        for term, at in places(value).items():
            yield term, len(at), len(at) * boost, packed(at)
