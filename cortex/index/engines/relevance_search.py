"""Which notes bear on a prompt: what `core.relevance` asks, and where the index has it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cortex.core.model.note_status import TIER_CURRENT, TIER_SET_ASIDE, TIER_TRAIL
from cortex.core.ranking.relevance import (
    RelevantNote,
    RelevantNotes,
    TermPostings,
    find_relevant_notes,
    normalized_idf,
    prompt_terms,
)
from cortex.index.engines.analysis import stem
from cortex.index.engines.engine import Alternatives, IndexReader, WantedNotes

# Identifiers whose parts are looked for one after the other: that reads positions.
_MAX_PHRASES = 12
_MIN_CANDIDATES = 300  # notes, and events, that are weighed where not all are
_PASSAGE_SHARE = 0.85  # of the share that a note has to cover, whose title counts for more


def find_relevant(reader: IndexReader, prompt: str, least_share: float) -> RelevantNotes:
    """As `full_text.search_relevant`. Notes are weighed whole, events by their passages."""
    words = prompt_terms(prompt, stem)
    if not (reader.note_count and any(word.is_informative for word in words)):
        return RelevantNotes([], [], {})
    dead = reader.trail.union(reader.deleted)
    live = len({number for place, number in enumerate(reader.numbers) if place not in dead})
    every = len(reader.numbers) - len(reader.deleted)
    rows = 0
    alternatives = []
    for word in words:
        rows += bool(word.phrase)
        alternatives.append(Alternatives(word.terms, word.phrase if rows <= _MAX_PHRASES else ()))
    counts: list[tuple[int, int]] = []

    def weighed() -> Iterator[tuple[Alternatives, float]]:
        for word, one in zip(words, alternatives, strict=True):
            counts.append(reader.count_relevant(one))
            yield one, word.weight * normalized_idf(sum(counts[-1]), every)

    groups = ((TIER_CURRENT, TIER_SET_ASIDE), (TIER_TRAIL,))
    in_view = reader.candidates(weighed(), WantedNotes(_MIN_CANDIDATES, groups))
    numbers, trail = in_view.numbers, in_view.trail
    of_notes, in_trail, weights = [], [], dict[str, float]()
    for at, (word, one) in enumerate(zip(words, alternatives, strict=True)):
        # The first passage has the head of all.
        firsts = in_view.frequencies("head", one)
        head = {each for place, _ in firsts for each in in_view.passages_with(place)}
        body = {place for place, _ in in_view.frequencies("body", one)}
        some, others = ({numbers[place] for place in places - trail} for places in (head, body))
        turns = (head | body) & trail
        count = counts[at] if counts else (len(some | others), len(turns))
        of_notes.append(TermPostings(count[0], some, others))
        # What was asked is no title: it counts as the text.
        in_trail.append(TermPostings(count[1], frozenset(), turns))
        holding = sum(count) if counts else len(head | body)
        weight = word.weight * normalized_idf(holding, every)
        weights.update(dict.fromkeys((*word.terms, *word.phrase), weight))
    passage_length = partial(in_view.length, "body")

    def note_length(number: int) -> int:
        return sum(map(passage_length, in_view.passages_with(in_view.places[number])))

    found = find_relevant_notes(words, of_notes, live, note_length, least_share)
    best: dict[int, RelevantNote] = {}
    if trail:
        passages = find_relevant_notes(
            words, in_trail, len(reader.trail), passage_length, _PASSAGE_SHARE * least_share
        )
        for turn in passages:  # best first
            number = numbers[turn.number]
            best.setdefault(number, turn._replace(number=number, part=in_view.parts[turn.number]))
    return RelevantNotes(found, list(best.values()), weights)
