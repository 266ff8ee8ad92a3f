"""Resolve the edges of the catalogue to notes, as Obsidian resolves names.

An edge is stored as its note writes it. Its target depends on all other notes, so it is resolved
when it is queried, for the queried notes only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cortex.core.model.note_status import TIER_CURRENT, TIER_TRAIL
from cortex.core.model.relation import (
    LINK_KIND,
    LinkCandidate,
    NameResolver,
    basename_key,
    kind_of_inverse,
    link_key,
)
from cortex.index.catalogue import Catalogue
from cortex.index.filters import NoteFilter
from cortex.index.missing_targets import MissingTarget


class GraphEdge(NamedTuple):
    """An edge between two notes, in the direction in which its kind is said."""

    source: int
    kind: str
    target: int


class LinkGraph:
    """The edges of an open catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        # The last part of a name -> who is called so.
        self._bearers_by_key: dict[str, NameResolver | None] = {}
        self._called_by_number: dict[int, LinkCandidate] = {}

    def resolve(self, key: str, from_number: int = 0) -> int | None:
        """The number of the note, if any, that a name means in the note `from_number`."""
        self._load_names([key])
        self._load_notes([from_number])
        return self._resolve_loaded(key, from_number)

    def outgoing(self, number: int) -> list[tuple[str, str, int | None, int]]:
        """The edges that a note says: kind, target as written, the note it means, line."""
        return self.outgoing_by_note([number]).get(number, [])

    def incoming(self, number: int) -> list[tuple[str, int, int]]:
        """The edges that lead to a note: kind, the note that says it, line."""
        return self.incoming_by_note([number]).get(number, [])

    def outgoing_by_note(
        self, numbers: Sequence[int]
    ) -> dict[int, list[tuple[str, str, int | None, int]]]:
        """As `outgoing`, by the numbers of several notes."""
        query = "SELECT number, kind, target, line FROM edge WHERE {} ORDER BY rowid"
        held = self._catalogue.select_in(query, "number", numbers).fetchall()
        self._load_notes(numbers)
        self._load_names([target for _, _, target, _ in held])
        found: dict[int, list[tuple[str, str, int | None, int]]] = {}
        for number, kind, target, line in held:
            to = self._resolve_loaded(target, number)
            found.setdefault(number, []).append((kind, target, to, line))
        return found

    def incoming_by_note(self, numbers: Sequence[int]) -> dict[int, list[tuple[str, int, int]]]:
        """As `incoming`, by the numbers of several notes."""
        wanted = set(numbers)
        self._load_notes(numbers)
        notes = [self._called_by_number[n] for n in wanted if n in self._called_by_number]
        keys = sorted({basename_key(name) for one in notes for name in (one.path, one.id)})
        query = "SELECT number, kind, target, line FROM edge WHERE {} ORDER BY rowid"
        held = self._catalogue.select_in(query, "key", keys).fetchall()
        self._load_names([target for _, _, target, _ in held])
        self._load_notes([number for number, _, _, _ in held])
        held.sort(key=lambda one: self._called_by_number[one[0]].path)
        found: dict[int, list[tuple[str, int, int]]] = {}
        for source, kind, target, line in held:
            number = self._resolve_loaded(target, source)
            if number in wanted:
                found.setdefault(number, []).append((kind, source, line))
        return found

    def edges_touching(self, numbers: Sequence[int], kinds: Iterable[str] = ()) -> list[GraphEdge]:
        """Every edge that touches one of these notes, once, in canonical direction; no loops."""
        wanted = frozenset(kinds)
        found: dict[GraphEdge, None] = {}
        outs, backs = self.outgoing_by_note(numbers), self.incoming_by_note(numbers)
        for number in numbers:  # in this order, whatever numbers a build has given
            for kind, _, target, _ in outs.get(number, ()):
                if target is not None and target != number:
                    found[canonical_edge(number, kind, target)] = None
            for kind, source, _ in backs.get(number, ()):
                if source != number:
                    found[canonical_edge(source, kind, number)] = None
        return [one for one in found if not wanted or one.kind in wanted]

    def in_degree(self) -> dict[int, int]:
        """How many current notes relate or link to each note; one pass over all edges."""
        names: dict[str, int] = {}  # -1 where several notes bear a name
        for key, number in self._catalogue.select("SELECT key, number FROM name WHERE rank != 1"):
            names[key] = number if names.setdefault(key, number) == number else -1
        counted: set[tuple[int, int]] = set()
        unclear: list[tuple[int, str]] = []
        current = self._catalogue.numbers(NoteFilter(tiers=(TIER_CURRENT,)))
        for source, target, key in self._catalogue.select("SELECT number, target, key FROM edge"):
            if source not in current:
                continue
            number = names.get(key, 0)
            if number > 0 and "/" not in target:
                counted.add((source, number))
            elif number or "/" in target:
                unclear.append((source, target))
        self._load_notes([source for source, _ in unclear])
        self._load_names([target for _, target in unclear])
        counted.update(
            (source, number)
            for source, target in unclear
            if (number := self._resolve_loaded(target, source) or 0)
        )
        found: dict[int, int] = {}
        for source, number in counted:
            if source != number:
                found[number] = found.get(number, 0) + 1
        return found

    def list_missing_targets(self) -> list[MissingTarget]:
        """Edges to no note, by path and line: relations of any note, and the links of current
        notes with an id (markdown links only within the vault). In people's own notes a link to
        a note that does not exist yet is no mistake."""
        held = self._catalogue.select(
            "SELECT edge.number, note.id, path, line, kind, target, edge.key FROM edge JOIN note USING (number)"
            f" WHERE tier < {TIER_TRAIL} AND (kind != ? OR (tier = 0 AND id != CAST(path AS TEXT)))"
            " AND (instr(target, '/') OR NOT EXISTS (SELECT 1 FROM name WHERE name.key = edge.key AND rank != 1))"
            " ORDER BY path, line, edge.rowid",
            (LINK_KIND,),
        )
        found = [
            one
            for number, id_, path, *rest in held
            if _is_within_vault(one := MissingTarget(number, id_, os.fsdecode(path), *rest))
        ]
        slashed = [one for one in found if "/" in one.target]
        self._load_notes([one.number for one in slashed])
        self._load_names([one.target for one in slashed])
        return [
            one
            for one in found
            if "/" not in one.target or self._resolve_loaded(one.target, one.number) is None
        ]

    def _resolve_loaded(self, name: str, source: int) -> int | None:
        """The note that a name means; names and source must have been loaded."""
        bearers = self._bearers_by_key.get(basename_key(name))
        held = self._called_by_number.get(source)
        folder = held.path.rpartition("/")[0] if held else ""
        one = bearers.resolve(name, folder) if bearers else None
        if one is None and "/" in name and (whole := self._bearers_by_key.get(link_key(name))):
            one = whole.resolve(name, folder)  # an id that holds a slash
        return one.number if one else None

    def _load_notes(self, numbers: Iterable[int]) -> None:
        """Load path and id of these notes."""
        new = [number for number in dict.fromkeys(numbers) if number not in self._called_by_number]
        query = "SELECT number, path, id FROM note WHERE {}"
        for number, path, id_ in self._catalogue.select_in(query, "number", new):
            self._called_by_number[number] = LinkCandidate(number, os.fsdecode(path), id_)

    def _load_names(self, names: Iterable[str]) -> None:
        """Load the notes that have one of these names, or a name that ends in it."""
        keys = dict.fromkeys(
            key
            for name in names
            for key in ((basename_key(name), link_key(name)) if "/" in name else (link_key(name),))
        )
        new = [key for key in keys if key not in self._bearers_by_key]
        called: dict[str, list[LinkCandidate]] = {}
        query = "SELECT key, number, path, id FROM name JOIN note USING (number) WHERE {}"
        for key, number, path, id_ in self._catalogue.select_in(query, "key", new):
            called.setdefault(key, []).append(LinkCandidate(number, os.fsdecode(path), id_))
        for key in new:
            self._bearers_by_key[key] = NameResolver(called[key]) if key in called else None


def adjacency_of(edges: Iterable[GraphEdge]) -> Mapping[int, list[int]]:
    """The neighbours of each note, in both directions, in the order of the edges."""
    found: dict[int, dict[int, None]] = {}
    for one in edges:
        found.setdefault(one.source, {})[one.target] = None
        found.setdefault(one.target, {})[one.source] = None
    return {number: list(others) for number, others in found.items()}


def _is_within_vault(one: MissingTarget) -> bool:
    """Whether an edge is a name, or a markdown link to a path within the vault."""
    if one.kind != LINK_KIND or not one.target.lower().endswith(".md"):
        return True
    place = os.path.normpath(os.path.join(os.path.dirname(one.path), one.target))
    return not place.startswith(("/", "../"))


def canonical_edge(source: int, kind: str, target: int) -> GraphEdge:
    """An edge in the direction in which its kind is said: `referenced_by` is turned round."""
    straight = kind_of_inverse(kind)
    return GraphEdge(target, straight, source) if straight else GraphEdge(source, kind, target)
