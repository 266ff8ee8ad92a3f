"""What stands near the records that were found: two steps over the graph."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model.relation import COMPUTED_KINDS, LINK_KIND, edge_label
from cortex.index.catalogue import NoteRow
from cortex.index.computed_edges import computed_edges
from cortex.index.filters import NoteFilter
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession
from cortex.operations.find.hits import Hit, build_hit
from cortex.vault.locate import Vault

_STEPS = 2  # seed 003
_MAX_STARTS = 3  # of the records that were found, the best
_MAX_NEXT = 12  # notes of a step from which the next one is taken, the best connected
_MAX_SHOWN = 3
_MIN_STRENGTH = 0.4  # of a way; each step multiplies it with the strength of its edge
_STEP_FACTOR = 0.8  # what a step leaves of the strength of its edge
_LINK_STRENGTH = 0.8  # a relation has 1


class RelatedHit(NamedTuple):
    """A record that the query did not find, and how it is connected to one that it did."""

    hit: Hit
    via: str  # the id of the note that leads to it
    why: str  # the kind of the relation, or what both share


class _Way(NamedTuple):
    strength: float
    via: int
    why: str


def find_related(
    vault: Vault, index: IndexSession, found: list[NoteRow], allowed: NoteFilter
) -> list[RelatedHit]:
    """The records of a filter within two steps of those that were found, the best connected
    first."""
    starts = [row.number for row in found[:_MAX_STARTS]]
    reached = {number: _Way(1.0, 0, "") for number in starts}
    level = starts
    for _ in range(_STEPS):
        level = _step(index, level, reached) if level else []
    numbers = reached.keys() - {row.number for row in found}
    allowed_numbers = index.catalogue.numbers(allowed._replace(numbers=numbers)) if numbers else ()
    rows = index.catalogue.rows_by_number(
        {*allowed_numbers, *(way.via for way in reached.values())}
    )
    pairs = ((rows[number], reached[number]) for number in allowed_numbers)
    ranked = sorted(pairs, key=lambda one: (-one[1].strength, one[0].path))
    return [
        RelatedHit(build_hit(vault, row, way.strength), rows[way.via].id, way.why)
        for row, way in ranked[:_MAX_SHOWN]
    ]


def _step(index: IndexSession, level: list[int], reached: dict[int, _Way]) -> list[int]:
    """Add the notes one step from a level; return the best connected of those that are new."""
    fresh: dict[int, _Way] = {}
    for one, other, strength, why in _edges(index, level):
        for source, target in ((one, other), (other, one)):
            if source not in reached or target in reached:
                continue
            way = _Way(reached[source].strength * strength * _STEP_FACTOR, source, why)
            if way.strength >= _MIN_STRENGTH and (
                target not in fresh or way.strength > fresh[target].strength
            ):
                fresh[target] = way
    reached |= fresh
    rows = index.catalogue.rows_by_number(fresh)
    ranked = sorted(fresh, key=lambda number: (-fresh[number].strength, rows[number].path))
    return ranked[:_MAX_NEXT]


def _edges(index: IndexSession, numbers: list[int]) -> list[tuple[int, int, float, str]]:
    """The edges of these notes: both ends, strength, what a person reads."""
    stated = LinkGraph(index.catalogue).edges_touching(numbers)
    strengths = {LINK_KIND: _LINK_STRENGTH}
    edges = [(one.source, one.target, strengths.get(one.kind, 1.0), one.kind) for one in stated]
    edges += (
        (one.source, one.target, one.strength, edge_label(one.kind, one.why))
        for one in computed_edges(index.catalogue, numbers, COMPUTED_KINDS, _MIN_STRENGTH)
    )
    return edges
