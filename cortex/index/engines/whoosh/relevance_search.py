"""Which notes bear on a prompt: what `core.relevance` asks of the index, and where the index has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cortex.core.model.status import TRAIL
from cortex.core.ranking.relevance import Bearing, Held, Said, bearing, is_common, said
from cortex.index.catalogue import Damaged
from cortex.index.engines.whoosh.index import SCHEMA
from cortex.index.engines.whoosh.postings import documents, in_a_row
from cortex.index.engines.whoosh.whoosh_import import FileStorage, stem

_MOST_ROWS = 12  # identifiers whose parts are looked for one after the other: that reads positions


def bearing_on(folder: str, prompt: str) -> list[Bearing]:
    """The notes of the index in `folder` that bear on a prompt, by their numbers, best first, whatever they are. `Damaged` when
    the index cannot be read."""
    words = said(prompt, stem)
    if not any(word.telling for word in words):
        return []
    try:
        index = FileStorage(folder).open_index(schema=SCHEMA)
        with index.reader() as reader:
            return _bearing(reader, words) if reader.doc_count() else []
    except Exception as error:  # as in `index`: Whoosh raises anything at all on a damaged one
        raise Damaged(f"{type(error).__name__}: {error}") from error


def _bearing(reader: Any, words: tuple[Said, ...]) -> list[Bearing]:
    trail = _in_leaves(reader, "tier", [str(TRAIL).encode()])
    live = reader.doc_count() - len(trail)
    rows = 0
    held = []
    for word in words:
        rows += bool(word.row)
        held.append(_held(reader, word, live, trail, with_row=rows <= _MOST_ROWS))
    column = reader.column_reader("column")
    found = bearing(
        words, held, live, lambda document: int(reader.doc_field_length(document, "body"))
    )
    return [one._replace(number=int(column[one.number])) for one in found]


def _held(reader: Any, word: Said, live: int, trail: set[int], *, with_row: bool) -> Held:
    """Where a word is, the trail of events and pages left out. One so common that it tells nothing is only counted."""
    terms = [term.encode() for term in word.terms]
    row = [term.encode() for term in word.row] if with_row else []
    most = max(
        (reader.doc_frequency(field, term) for term in terms for field in ("head", "body")),
        default=0,
    )
    if is_common(most - len(trail), live):
        return Held(most)
    head, body = (_in_leaves(reader, field, terms, row) - trail for field in ("head", "body"))
    return Held(len(head | body), head, body)


def _in_leaves(
    reader: Any, field: str, terms: Sequence[bytes], row: Sequence[bytes] = ()
) -> set[int]:
    """The documents of all segments that hold any of some terms in a field, or all of a row one after the other."""
    found: set[int] = set()
    for leaf, offset in reader.leaf_readers():
        here: set[int] = set()
        for term in terms:
            if (field, term) in leaf:
                here |= documents(leaf.postings(field, term))
        if row and all((field, term) in leaf for term in row):
            here.update(in_a_row([leaf.postings(field, term) for term in row]))
        found.update(document + offset for document in here)
    return found
