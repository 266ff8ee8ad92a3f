"""Which notes bear on a prompt: what `core.relevance` asks, and where the index has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.ranking.relevance import (
    PromptTerm,
    RelevantNote,
    RelevantNotes,
    TermPostings,
    find_relevant_notes,
    is_common_term,
    normalized_idf,
    prompt_terms,
)
from cortex.index.catalogue import IndexDamaged
from cortex.index.engines.whoosh.passage_search import Columns
from cortex.index.engines.whoosh.postings import match_phrase, read_document_ids
from cortex.index.engines.whoosh.whoosh_import import stem
from cortex.index.engines.whoosh.whoosh_index import open_reader

# Identifiers whose parts are looked for one after the other: that reads positions.
_MAX_PHRASES = 12
_PASSAGE_SHARE = 0.85  # of the share that a note has to cover, whose title counts for more


def search_relevant(folder: str, prompt: str, least_share: float) -> RelevantNotes:
    """As `FulltextEngine.search_relevant`."""
    words = prompt_terms(prompt, stem)
    if not any(word.is_informative for word in words):
        return RelevantNotes([], [], {})
    try:
        with open_reader(folder) as (reader, columns):
            if not columns.note_count:
                return RelevantNotes([], [], {})
            return _rank_notes(reader, columns, words, least_share)
    except Exception as error:  # as in `index`: Whoosh raises anything at all on a damaged one
        raise IndexDamaged(f"{type(error).__name__}: {error}") from error


def _rank_notes(
    reader: Any, columns: Columns, words: tuple[PromptTerm, ...], least_share: float
) -> RelevantNotes:
    """Notes are weighed whole, events by their passages."""
    numbers = columns.numbers
    trail = columns.documents_of_tier(TIER_TRAIL)
    dead = trail | columns.deleted
    alive = (
        [number for place, number in enumerate(numbers) if place not in dead] if dead else numbers
    )
    live = len(set(alive))
    rows = 0
    held = []
    for word in words:
        rows += bool(word.phrase)
        # The passages whose head holds a word, and those that hold it in their text.
        terms = [term.encode() for term in word.terms]
        row = [term.encode() for term in word.phrase] if rows <= _MAX_PHRASES else []
        head, body = (_documents_with(reader, field, terms, row) for field in ("head", "body"))
        # The first passage has the head of all.
        held.append(({one for place in head for one in columns.passages_with(place)}, body))
    of_notes = []
    for some in held:
        head, body = ({numbers[place] for place in places - trail} for places in some)
        of_notes.append(_term_postings(head, body, live))

    def passage_length(place: int) -> int:
        return int(reader.doc_field_length(place, "body"))

    first_places = dict[int, int]()

    def note_length(number: int) -> int:
        if not first_places:
            places = enumerate(numbers)
            first_places.update((one, place) for place, one in places if place not in dead)
        return sum(map(passage_length, columns.passages_with(first_places[number])))

    found = find_relevant_notes(words, of_notes, live, note_length, least_share)
    # What was asked is no title: it counts as the text.
    in_trail = [_term_postings(set(), (head | body) & trail, len(trail)) for head, body in held]
    every = len(numbers) - len(columns.deleted)
    weights = {
        term: word.weight * normalized_idf(len(head | body), every)
        for word, (head, body) in zip(words, held, strict=True)
        for term in (*word.terms, *word.phrase)
    }
    best: dict[int, RelevantNote] = {}
    if trail:
        passages = find_relevant_notes(
            words, in_trail, len(trail), passage_length, _PASSAGE_SHARE * least_share
        )
        for one in passages:  # best first
            number = numbers[one.number]
            best.setdefault(number, one._replace(number=number, part=columns.parts[one.number]))
    return RelevantNotes(found, list(best.values()), weights)


def _term_postings(head: set[int], body: set[int], live: int) -> TermPostings:
    count = len(head | body)
    return TermPostings(count) if is_common_term(count, live) else TermPostings(count, head, body)


def _documents_with(
    reader: Any, field: str, terms: Sequence[bytes], row: Sequence[bytes] = ()
) -> set[int]:
    """The documents of all segments with any of some terms in a field, or all of a row in turn."""
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
