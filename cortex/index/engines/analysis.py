"""The words of notes and of queries as the engines are given them: the terms of a text, and what
finds one word of a query.

`query_forms(text)` gives, for each word of a query, what finds it in a text: any of
`terms`, or `phrase` as terms in a row. An empty list means that the text holds only stop words.
`phrase_terms` is the row of a quoted phrase. `prefix_forms` is the beginning of the terms that a
prefix finds, and terms beside them, since prose is stemmed: `decisio*` has to find `decis`.
"""

from __future__ import annotations

import sys
import warnings
from collections import defaultdict
from functools import lru_cache
from itertools import chain
from typing import TypeAlias

from cortex.core.text.tokenizer import (
    MAX_TERM_CHARS,
    fold_accents,
    split_chunks,
    tokenize_chunk,
    tokenize_query,
)

with warnings.catch_warnings():
    # As in `whoosh_import`: Python warns when it first compiles Whoosh 2.7.4. The stemmer of all
    # engines, Porter's second, is taken alone: the rest of Whoosh takes 45 ms.
    warnings.simplefilter("ignore", SyntaxWarning)
    warnings.simplefilter("ignore", DeprecationWarning)
    from whoosh.lang.porter2 import stem as stem  # noqa: PLC0414  for all engines

_TermsAtPosition: TypeAlias = "bytes | tuple[bytes, ...]"

_MAX_CACHE_ENTRIES = 65_536  # entries of a memo before it starts afresh
_MAX_PHRASE_TERMS = 16
# Endings that the stemmer takes off; a prefix may end within one.
_STEMMED_SUFFIXES = tuple(
    """able ably al ally ance ate ation ations ed edly ement ements ence er ers es ful fully ible ic ical ies ing ings
    ion ions ional ism ist ities ity ive iveness ization izations ize ized ly ment ments ness ous ously""".split()  # noqa: SIM905
)


def query_forms(text: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Terms and phrase for each word of a query, in order."""
    forms = []
    for wholes, parts in tokenize_query(text, stem):
        # A single part is what stop words left of an identifier: `json` of `to_json`.
        terms = wholes or (parts if len(parts) == 1 else ())
        forms.append((terms, parts[:_MAX_PHRASE_TERMS] if len(parts) > 1 else ()))
    return forms


def phrase_terms(text: str) -> tuple[str, ...]:
    """The terms of a quoted phrase, as they stand in a row in the texts that hold it."""
    return tuple(chain.from_iterable(word.part_terms for word in tokenize_query(text, stem)))[
        :_MAX_PHRASE_TERMS
    ]


def prefix_forms(text: str) -> tuple[str, tuple[str, ...]]:
    """The beginning of the terms that a prefix finds, and stems shorter than the prefix itself."""
    start = fold_accents(text).casefold()[:MAX_TERM_CHARS]
    if not (start.isascii() and start.isalpha()):
        return start, ()
    cut = (
        start[:end]
        for end in range(3, len(start))
        if any(ending.startswith(start[end:]) for ending in _STEMMED_SUFFIXES)
    )
    return start, tuple(dict.fromkeys([stem(start), *cut]))


class _ChunkTermsCache(dict[str, "tuple[_TermsAtPosition, ...]"]):
    """Chunk of text to an entry for each of its positions: a term, or the terms that share it."""

    def __init__(self) -> None:
        self._stem = lru_cache(_MAX_CACHE_ENTRIES)(stem)

    def __missing__(self, chunk: str) -> tuple[_TermsAtPosition, ...]:
        row: list[_TermsAtPosition] = []
        for wholes, parts in tokenize_chunk(chunk, self._stem):
            first, *rest = map(str.encode, parts)
            row.append(tuple(dict.fromkeys([first, *map(str.encode, wholes)])) if wholes else first)
            row += rest
        entries = tuple(row)
        if len(chunk) <= MAX_TERM_CHARS:
            if len(self) >= _MAX_CACHE_ENTRIES:
                self.clear()
            self[chunk] = entries
        return entries


_CHUNK_TERMS = _ChunkTermsCache()


def term_positions(text: str) -> dict[bytes, str]:
    """The terms of a text and each one's positions as characters (U+0001 is the first)."""
    # NUL is none of them: it separates the values of a block.
    marks = map(chr, range(1, sys.maxunicode + 1))
    row = chain.from_iterable(map(_CHUNK_TERMS.__getitem__, split_chunks(text)))
    found: defaultdict[_TermsAtPosition, list[str]] = defaultdict(list)
    for mark, entry in zip(marks, row, strict=False):
        found[entry].append(mark)
    terms: dict[bytes, str] = {}
    shared: defaultdict[bytes, list[str]] = defaultdict(list)
    for entry, at in found.items():
        if isinstance(entry, bytes):
            terms[entry] = "".join(at)
        else:
            for term in entry:
                shared[term] += at
    for term, places in shared.items():
        terms[term] = "".join(sorted([*places, *terms.get(term, "")]))
    return terms


# Between terms that do not follow each other in the text; no term, since it is no letter.
GAP = b"\x01"


def joined_terms(text: str) -> bytes:
    """The terms of a text in a row, with a blank on either side of each: those of `term_positions`.
    Those that share a position with another stand behind the rest."""
    row: list[bytes] = []
    shared: list[bytes] = []
    for entry in chain.from_iterable(map(_CHUNK_TERMS.__getitem__, split_chunks(text))):
        if isinstance(entry, bytes):
            row.append(entry)
        else:
            row.append(entry[0])
            for term in entry[1:]:
                shared += (GAP, term)
    return b" %b " % b"  ".join([*row, *shared]) if row else b""
