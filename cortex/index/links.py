"""Resolve the edges of the catalogue to notes, as Obsidian resolves names.

An edge is stored as its note writes it. Its target depends on all other notes, so it is resolved
when it is queried, for the queried notes only.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from cortex.core.model.relation import (
    LINK_KIND,
    Edge,
    LinkCandidate,
    NameResolver,
    basename_key,
    kind_of_inverse,
    link_key,
)
from cortex.core.text.value import NamedTuple
from cortex.index import file_scan
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import NoteFilter
from cortex.vault import files, private
from cortex.vault.git import checkout, git_cli

_MAX_CACHE_BYTES = 1 << 28  # bytes


class GraphEdge(NamedTuple):
    """An edge between two notes, in the direction in which its kind is said."""

    source: int
    kind: str
    target: int


class MissingTarget(NamedTuple):
    """An edge that leads to no note, and the note that states it."""

    note: NoteRow
    edge: Edge


class LinkGraph:
    """The edges of an open catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        # The last part of a name -> who is called so.
        self._bearers_by_key: dict[str, NameResolver | None] = {}
        self._rows: dict[int, NoteRow] = {}

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
        stated = self._catalogue.edges_of(NoteFilter(numbers=numbers))
        self._load_notes(numbers)
        self._load_names([edge.target for edges in stated.values() for edge in edges])
        return {
            number: [
                (edge.kind, edge.target, self._resolve_loaded(edge.target, number), edge.line)
                for edge in edges
            ]
            for number, edges in stated.items()
        }

    def incoming_by_note(self, numbers: Sequence[int]) -> dict[int, list[tuple[str, int, int]]]:
        """As `incoming`, by the numbers of several notes."""
        wanted = set(numbers)
        self._load_notes(numbers)
        notes = [self._rows[number] for number in wanted if number in self._rows]
        keys = sorted({basename_key(name) for one in notes for name in (one.path, one.id)})
        stated = self._catalogue.edges_to(keys)
        self._load_names([edge.target for _, edge in stated])
        self._load_notes([number for number, _ in stated])
        stated.sort(key=lambda one: self._rows[one[0]].path)
        found: dict[int, list[tuple[str, int, int]]] = {}
        for source, edge in stated:
            number = self._resolve_loaded(edge.target, source)
            if number in wanted:
                found.setdefault(number, []).append((edge.kind, source, edge.line))
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
        names = self._catalogue.names()
        counted: set[tuple[int, int]] = set()
        unclear: list[tuple[int, str]] = []
        for source, target, key in self._catalogue.targets():
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
        notes (markdown links only within the vault)."""
        stated = self._catalogue.unnamed_edges()
        slashed = [(number, edge) for number, edge in stated if "/" in edge.target]
        self._load_notes([number for number, _ in stated])
        self._load_names([edge.target for _, edge in slashed])
        return [
            MissingTarget(self._rows[number], edge)
            for number, edge in stated
            if _is_within_vault(self._rows[number].path, edge)
            and ("/" not in edge.target or self._resolve_loaded(edge.target, number) is None)
        ]

    def _resolve_loaded(self, name: str, source: int) -> int | None:
        """The note that a name means; names and source must have been loaded."""
        bearers = self._bearers_by_key.get(basename_key(name))
        row = self._rows.get(source)
        folder = row.path.rpartition("/")[0] if row else ""
        one = bearers.resolve(name, folder) if bearers else None
        if one is None and "/" in name and (whole := self._bearers_by_key.get(link_key(name))):
            one = whole.resolve(name, folder)  # an id that holds a slash
        return one.number if one else None

    def _load_notes(self, numbers: Iterable[int]) -> None:
        """Load the rows of these notes."""
        new = [number for number in dict.fromkeys(numbers) if number not in self._rows]
        if new:
            self._rows |= self._catalogue.rows_by_number(new)

    def _load_names(self, names: Iterable[str]) -> None:
        """Load the notes that have one of these names, or a name that ends in it."""
        keys = dict.fromkeys(
            key
            for name in names
            for key in ((basename_key(name), link_key(name)) if "/" in name else (link_key(name),))
        )
        new = [key for key in keys if key not in self._bearers_by_key]
        called = self._catalogue.notes_named(new)
        for key in new:
            self._bearers_by_key[key] = NameResolver(called[key]) if key in called else None


def list_candidates(root: str, rows: Mapping[str, NoteRow]) -> list[LinkCandidate]:
    """Every file to which a link can lead, also what search leaves out, with the ids of `rows`."""
    ignored = git_cli.list_ignored(root) if checkout.is_in_repository(root) else ()
    folders = file_scan.scan_vault(root, (), ignored).folders
    listed = (f"{one}{name}" for one in folders for name in files.list_names(root, one[:-1]))
    paths = {*listed}.difference(one[:-1] for one in folders)
    return [LinkCandidate(0, one, rows[one].id if one in rows else one) for one in paths]


def adjacency_of(edges: Iterable[GraphEdge]) -> Mapping[int, list[int]]:
    """The neighbours of each note, in both directions, in the order of the edges."""
    found: dict[int, dict[int, None]] = {}
    for one in edges:
        found.setdefault(one.source, {})[one.target] = None
        found.setdefault(one.target, {})[one.source] = None
    return {number: list(others) for number, others in found.items()}


def _is_within_vault(path: str, edge: Edge) -> bool:
    """Whether an edge is a name, or a markdown link to a path within the vault."""
    if edge.kind != LINK_KIND or not edge.target.lower().endswith(".md"):
        return True
    place = os.path.normpath(os.path.join(os.path.dirname(path), edge.target))
    return not place.startswith(("/", "../"))


def canonical_edge(source: int, kind: str, target: int) -> GraphEdge:
    """An edge in the direction in which its kind is said: `referenced_by` is turned round."""
    straight = kind_of_inverse(kind)
    return GraphEdge(target, straight, source) if straight else GraphEdge(source, kind, target)


def in_degree(catalogue: Catalogue) -> dict[int, int]:
    """Number of notes that link to each note, by note number. Counted once for each version of the
    catalogue, for it takes 40 ms at 10,000 notes."""
    path, version = os.path.join(catalogue.folder, "degree"), catalogue.version.encode()
    with suppress(OSError, ValueError):  # not counted yet, or not by this program
        head, _, cached = private.read(path, _MAX_CACHE_BYTES).partition(b"\n")
        if head == version:
            pairs = array("q", cached)
            return dict(zip(pairs[::2], pairs[1::2], strict=True))
    counted = LinkGraph(catalogue).in_degree()
    pairs = array("q", [figure for pair in counted.items() for figure in pair])
    with suppress(OSError):  # no room: it is counted again the next time
        private.replace(path, version + b"\n" + pairs.tobytes())
    return counted
