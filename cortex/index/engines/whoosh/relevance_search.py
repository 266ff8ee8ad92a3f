"""Which notes bear on a prompt: what `core.relevance` asks of the index, and where the index has
it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.ranking.relevance import (
    PromptTerm,
    RelevantNote,
    TermPostings,
    find_relevant_notes,
    is_common_term,
    prompt_terms,
)
from cortex.index.catalogue import IndexDamaged
from cortex.index.engines.whoosh.postings import match_phrase, read_document_ids
from cortex.index.engines.whoosh.whoosh_import import FileStorage, stem
from cortex.index.engines.whoosh.whoosh_index import SCHEMA

# Identifiers whose parts are looked for one after the other: that reads positions.
_MAX_PHRASES = 12


def search_relevant(folder: str, prompt: str) -> list[RelevantNote]:
    """As `FulltextEngine.search_relevant`."""
    words = prompt_terms(prompt, stem)
    if not any(word.is_informative for word in words):
        return []
    try:
        index = FileStorage(folder).open_index(schema=SCHEMA)
        with index.reader() as reader:
            return _rank_notes(reader, words) if reader.doc_count() else []
    except Exception as error:  # as in `index`: Whoosh raises anything at all on a damaged one
        raise IndexDamaged(f"{type(error).__name__}: {error}") from error


def _rank_notes(reader: Any, words: tuple[PromptTerm, ...]) -> list[RelevantNote]:
    trail = _documents_with(reader, "tier", [str(TIER_TRAIL).encode()])
    live = reader.doc_count() - len(trail)
    rows = 0
    held = []
    for word in words:
        rows += bool(word.phrase)
        held.append(_word_occurrences(reader, word, live, trail, with_row=rows <= _MAX_PHRASES))
    column = reader.column_reader("column")
    found = find_relevant_notes(
        words, held, live, lambda document: int(reader.doc_field_length(document, "body"))
    )
    return [one._replace(number=int(column[one.number])) for one in found]


def _word_occurrences(
    reader: Any, word: PromptTerm, live: int, trail: set[int], *, with_row: bool
) -> TermPostings:
    """Where a word is, the trail of events and pages left out. One so common that it tells nothing
    is only counted."""
    terms = [term.encode() for term in word.terms]
    row = [term.encode() for term in word.phrase] if with_row else []
    most = max(
        (reader.doc_frequency(field, term) for term in terms for field in ("head", "body")),
        default=0,
    )
    if is_common_term(most - len(trail), live):
        return TermPostings(most)
    head, body = (_documents_with(reader, field, terms, row) - trail for field in ("head", "body"))
    return TermPostings(len(head | body), head, body)


def _documents_with(
    reader: Any, field: str, terms: Sequence[bytes], row: Sequence[bytes] = ()
) -> set[int]:
    """The documents of all segments that hold any of some terms in a field, or all of a row one
    after the other."""
    found: set[int] = set()
    for leaf, offset in reader.leaf_readers():
        here: set[int] = set()
        for term in terms:
            if (field, term) in leaf:
                here |= read_document_ids(leaf.postings(field, term))
        if row and all((field, term) in leaf for term in row):
            here.update(match_phrase([leaf.postings(field, term) for term in row]))
        found.update(document + offset for document in here)
    return found
