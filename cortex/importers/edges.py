"""Edges between memories, in the words of their source, as a record holds them."""

from __future__ import annotations

from collections.abc import Iterable

from cortex.core.model.relation import normalize_kind
from cortex.importers.item import ForeignRecord

_SAME_KINDS = {"related": "relates_to", "conflicts_with": "contradicts", "replaces": "supersedes"}


def with_edges(record: ForeignRecord, edges: Iterable[tuple[str, str]]) -> ForeignRecord:
    """The record with edges to others: kinds in any spelling, and keys. A kind that Cortex does not
    know stays as it is; an edge to itself is none."""
    keys: dict[str, dict[str, None]] = {}
    for kind, key in edges:
        word = normalize_kind(kind)
        if word and key and key != record.key:
            keys.setdefault(_SAME_KINDS.get(word, word), {})[key] = None
    return record._replace(
        supersedes=tuple(keys.pop("supersedes", ())),
        superseded_by=next(iter(keys.pop("superseded_by", ())), ""),
        derived_from=tuple(keys.pop("derived_from", ())),
        relations=tuple((kind, key) for kind, found in keys.items() for key in found),
    )
