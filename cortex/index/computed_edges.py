"""Edges that no note states: likeness, a shared entity, a shared session. Computed when they are
asked for, between current notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import islice

from cortex.core.model.relation import COMPUTED_KINDS, SAME_SESSION, SHARES_ENTITY, SIMILAR
from cortex.core.ranking.text_similarity import SIMILAR_THRESHOLD, read_sketch, sketch_band
from cortex.core.text.strings import shorten
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, sketch_keys
from cortex.index.catalogue.filters import CURRENT

_MAX_EDGES = {SIMILAR: 5, SHARES_ENTITY: 5, SAME_SESSION: 5}  # of a note, the strongest
# Notes that name an entity, as seen from the first note and from others; what more of them name
# connects nothing.
_MAX_BEARERS, _MAX_FAR_BEARERS = 20, 5
_MAX_KEY_NOTES = 200  # notes with one key that are looked at
_MIN_KEYS, _MAX_COMPARED = 3, 30  # keys that are looked at, however many notes they have; notes
_MAX_ENTITY_LOOKUPS, _MIN_ENTITY_LOOKUPS = 2_000, 10  # for all notes together; for each
_MAX_ENTITY_STRENGTH, _SESSION_STRENGTH = 0.8, 0.3
_MAX_NAMES, _MAX_NAME_CHARS = 3, 60  # entities that an edge names


class ComputedEdge(NamedTuple):
    """An edge that holds in both directions."""

    source: int
    kind: str
    target: int
    strength: float  # above 0, up to 1; a stated relation would have 1
    why: str  # the band of a likeness, the names of entities, the id of a session


def computed_edges(
    catalogue: Catalogue,
    numbers: Sequence[int],
    kinds: Collection[str] = COMPUTED_KINDS,
    least: float = 0.0,
) -> list[ComputedEdge]:
    """The strongest edges from each of these notes to others, at least so strong, by note; each
    pair of notes once for a kind. A note may be found by others that it does not find."""
    found = [
        edge
        for kind, edges_of in _EDGES_BY_KIND.items()
        if kind in kinds
        for edge in edges_of(catalogue, numbers, least)
        if edge.strength >= least
    ]
    current = CURRENT._replace(numbers={edge.target for edge in found})
    paths = {row.number: row.path for row in catalogue.find(current)}
    ranked: dict[tuple[int, str], list[ComputedEdge]] = {}
    for edge in found:
        if edge.target in paths:
            ranked.setdefault((edge.source, edge.kind), []).append(edge)
    kept: dict[tuple[str, frozenset[int]], ComputedEdge] = {}
    for number in numbers:
        for kind, most in _MAX_EDGES.items():
            edges = ranked.get((number, kind), [])
            edges.sort(key=lambda edge: (-edge.strength, paths[edge.target]))
            for edge in edges[:most]:
                kept.setdefault((kind, frozenset((edge.source, edge.target))), edge)
    return list(kept.values())


def _similar(catalogue: Catalogue, numbers: Sequence[int], least: float) -> Iterator[ComputedEdge]:
    """Edges to the notes whose words are most alike."""
    is_strong = least >= SIMILAR_THRESHOLD
    packed = catalogue.sketches(numbers)
    keys = {number: sketch_keys(hashes) for number, hashes in packed.items()}
    most = _MAX_KEY_NOTES // 10 if is_strong else _MAX_KEY_NOTES
    notes_by_key = catalogue.notes_with_sketch_keys(
        {key for some in keys.values() for key in some}, most
    )
    compared: dict[int, list[int]] = {}
    for number, own_keys in keys.items():
        met: Counter[int] = Counter()
        for place, key in enumerate(sorted(own_keys, key=lambda key: len(notes_by_key[key]))):
            if place >= _MIN_KEYS and (
                len(met) > _MAX_COMPARED or (is_strong and len(notes_by_key[key]) == most)
            ):
                break
            met.update(notes_by_key[key])
        del met[number]
        likest = met.most_common(_MAX_COMPARED)
        compared[number] = [other for other, shared in likest if shared > is_strong]
    packed |= catalogue.sketches({other for others in compared.values() for other in others})
    sketch = cache(lambda number: read_sketch(packed[number]))
    for number, others in compared.items():
        for other in others:
            sizes = sorted((len(packed[number]), len(packed[other])))
            if sizes[0] < least * sizes[1]:
                continue  # however many they share
            if band := sketch_band(sketch(number), sketch(other)):
                yield ComputedEdge(number, SIMILAR, other, round(band.strength, 3), band.name)


def _sharing_entities(
    catalogue: Catalogue, numbers: Sequence[int], least: float
) -> Iterator[ComputedEdge]:
    """Edges to the notes that name the same things; the fewer name one, the stronger."""
    bearing = _MAX_FAR_BEARERS if least else _MAX_BEARERS
    most = max(_MIN_ENTITY_LOOKUPS, _MAX_ENTITY_LOOKUPS // max(1, len(numbers)))
    bearers: dict[tuple[str, str], list[int]] = {}
    for number, entities in catalogue.entities_of(numbers).items():
        left: dict[int, float] = {}  # 1 less the strength
        names: dict[int, list[str]] = {}
        for kind, name, key, _ in islice(entities, most):
            if (kind, key) not in bearers:
                naming = catalogue.notes_naming(kind, key, bearing + 1)
                bearers[kind, key] = naming if len(naming) <= bearing else []
            for other in bearers[kind, key]:
                if other != number:
                    left[other] = left.get(other, 1.0) * (1 - 1 / len(bearers[kind, key]))
                    shown = shorten(name.removesuffix("()"), _MAX_NAME_CHARS)
                    names.setdefault(other, []).append(shown)
        for other, rest in left.items():
            strength = round(min(_MAX_ENTITY_STRENGTH, 1 - rest), 3)
            why = ", ".join(dict.fromkeys(names[other][:_MAX_NAMES]))
            yield ComputedEdge(number, SHARES_ENTITY, other, strength, why)


def _of_one_session(
    catalogue: Catalogue, numbers: Sequence[int], least: float
) -> Iterator[ComputedEdge]:
    """Edges to the notes of the same session, those nearest in time."""
    if least > _SESSION_STRENGTH:
        return
    for number, row in catalogue.rows_by_number(numbers).items():
        for other in catalogue.nearest_in_session(row, _MAX_EDGES[SAME_SESSION]):
            yield ComputedEdge(number, SAME_SESSION, other, _SESSION_STRENGTH, row.session)


_EDGES_BY_KIND = {
    SIMILAR: _similar,
    SHARES_ENTITY: _sharing_entities,
    SAME_SESSION: _of_one_session,
}
