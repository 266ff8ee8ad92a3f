"""Search by words and by meaning: what the full-text engine finds, fused with what vectors do."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from cortex.core.model.problem import Problem
from cortex.core.ranking.note_score import LEAST_COSINE, Fusion, SeriesOrder, blend_neighbours, fuse
from cortex.core.ranking.query import Query
from cortex.core.text.value import NamedTuple
from cortex.index import full_text
from cortex.index.engines.engine import FoundNotes, ScoredNote
from cortex.index.refresh import IndexSession
from cortex.index.vectors import FOLDER
from cortex.vault.locate import Vault

_NEAREST = 2000  # notes of which the cosine counts
_MOST_BY_MEANING = 200  # notes that hold none of the words


class FusedNotes(NamedTuple):
    """Notes that were found, and what each scores by words and by meaning alone."""

    found: FoundNotes
    words: dict[int, float]
    cosines: dict[int, float]  # empty when meaning was not asked
    problems: list[Problem]


def search_notes(
    vault: Vault,
    index: IndexSession,
    query: Query,
    limit: int,
    tiers: Sequence[int],
    *,
    allowed: set[int] | None = None,
    without: Collection[int] = (),
    fusion: Fusion,
) -> FusedNotes:
    """As `full_text.search`; where the vault has vectors and words do not answer well, also
    what is near by meaning. What fails becomes a problem, and words answer alone."""
    found = full_text.search(
        index.fulltext_folder, query, limit, tiers, allowed=allowed, without=without
    )
    words = {one.number: one.score for one in found.notes}
    fused = FusedNotes(found, words, {}, [])
    has_vectors = os.path.isdir(os.path.join(index.catalogue.folder, FOLDER))
    if not (has_vectors and _asks_meaning(query, found, fusion)):
        return fused
    from cortex.index import semantic  # noqa: PLC0415  10 ms

    near = semantic.nearest(vault, index, query.text, _NEAREST, allowed)
    problems = [near.problem] if near.problem else []
    if not near.found:
        return fused._replace(problems=problems)
    cosines = {one.number: one.cosine for one in near.found}
    best = [one for one in near.found[:_MOST_BY_MEANING] if one.cosine >= LEAST_COSINE]
    numbers = words.keys() | {one.number for one in best} - set(without)
    rows = index.catalogue.rows_by_number(numbers)
    numbers = {number for number in numbers if rows[number].tier in tiers}
    blended = blend_neighbours(cosines, numbers, found.series or SeriesOrder())
    scores = fuse(words, blended, fusion)
    known = {one.number: one for one in found.notes}
    parts = {one.number: one.part for one in best}
    notes = []
    for number in numbers:
        one = known.get(number) or ScoredNote(number, 0.0, parts[number], False)
        notes.append(one._replace(score=scores[number]))
    return FusedNotes(found._replace(notes=notes), words, blended, problems)


def _asks_meaning(query: Query, found: FoundNotes, fusion: Fusion) -> bool:
    """Whether to load a model: not for a few words of which a note holds all, nor for a query with
    phrases, prefixes or exclusions, nor where no word is looked for."""
    if not (fusion.share and found.terms):
        return False
    if any(one.kind != "word" or one.negated for one in query.terms):
        return False
    return query.is_question or not any(one.is_whole for one in found.notes)
