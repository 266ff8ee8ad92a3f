"""What a note is connected to, over relations, links and what two notes share, and the shortest way
between two notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Annotated

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import Between, NoteName
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.model.relation import (
    COMPUTED_KINDS,
    LINK_KIND,
    RELATION_KINDS,
    edge_label,
    inverse_of,
    kind_of_inverse,
    normalize_kind,
)
from cortex.core.ranking import graph_walk
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import TRAIL, NoteFilter
from cortex.index.computed_edges import computed_edges
from cortex.index.links import GraphEdge, LinkGraph, adjacency_of
from cortex.index.refresh import IndexSession
from cortex.operations.find import resolve_note
from cortex.operations.find.hits import Hit, Listing, build_hit, make_hit, read_text
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault

MAX_DEPTH = 10
_DEFAULT_DEPTH = 2
_MAX_NODES = 5000  # nodes of one answer
_MIN_FAR_STRENGTH = 0.4  # of computed edges that are followed beyond the first step
# Of what stands near notes that were found.
_NEAR_STEPS = 2  # seed 003
_MAX_STARTS = 3  # of the records that were found, the best
_MAX_NEXT = 12  # notes of a step from which the next one is taken, the best connected
_MAX_NEAR = 3
_MIN_STRENGTH = 0.4  # of a way; each step multiplies it with the strength of its edge
_STEP_FACTOR = 0.8  # what a step leaves of the strength of its edge
_LINK_STRENGTH = 0.8  # a relation has 1
# What would act in a mermaid label: quotes and brackets end it, `#` and `&` begin an entity,
# backticks mean markdown.
_MERMAID_ESCAPES = {ord(mark): f"#{ord(mark)};" for mark in '"#&<>[](){}`|\\'}


class GraphNode(NamedTuple):
    """A note of the graph."""

    id: str  # its path where it has none
    title: str
    type: str
    depth: int  # steps from the note that was asked about
    status: str
    path: str  # relative to the vault
    file: str  # absolute path


class NamedEdge(NamedTuple):
    """An edge in the direction in which its kind is said. In JSON `from_` is `from`. A computed one
    holds in both directions."""

    from_: str  # ids; a path where there is none
    kind: str
    to: str
    strength: float = 1.0  # 1 for what a note states
    why: str = ""  # of a computed one: how alike, the names that both mention, the session


class NoteGraph(NamedTuple):
    """Notes, nearest first, and the edges between them, each in the direction in which its kind is
    said."""

    hits: tuple[GraphNode, ...]
    total: int  # notes within the depth; at least so many where twice `number` are reached
    edges: tuple[NamedEdge, ...]
    cut: bool  # there are more notes within the depth
    mermaid: str = ""  # the graph as a mermaid flowchart, when asked for
    asked: str = ""  # id of the note where the graph begins
    to: str = ""  # the other end of a path, when one was asked for
    problems: tuple[Problem, ...] = ()


def graph(
    vault: Vault,
    caller: Caller,
    note: NoteName,
    *,
    depth: Annotated[int, Between(1, MAX_DEPTH)] | None = None,
    to: NoteName = "",
    kind: str = "",
    stated: bool = False,
    mermaid: bool = False,
    number: Annotated[int, Between(1, _MAX_NODES)] = 200,
) -> NoteGraph:
    """Show what a note is connected to.

    By relations, links, and what it shares with others. What it shares with other current notes is computed when asked for, and written into
    no note: similar (words in common, with the likest five), shares_entity (a file, package, symbol or the like that at most twenty notes
    name) and same_session. Beyond the first step only strong ones are followed, and a path takes them only where relations and links lead
    nowhere. A kind that is followed against its direction is shown by its inverse name. Events and briefings are left out unless one is asked
    about.

    note: an id, the beginning of one, or a path
    depth: how many steps are followed, 1 to 10; 2 by default, 10 for a path
    to: show the shortest path to this note instead; exit code 1 when there is none
    kind: follow relations of this kind alone; `links` are those in the text
    stated: only the relations and links that notes state
    mermaid: answer as a mermaid flowchart, which Obsidian and GitHub draw
    number: how many notes are shown at most

    Example: cortex graph decision-save-lookup --depth 3
    Example: cortex graph decision-save-lookup --to decision-topic-identity
    Example: cortex graph decision-save-lookup --mermaid
    """
    steps = depth or (MAX_DEPTH if to else _DEFAULT_DEPTH)
    kind = normalize_kind(kind)
    request = _GraphRequest(note, to, kind, is_stated=stated, depth=steps, number=number)
    found, problems = query_fresh(vault, caller, _build_graph, vault.root, request)
    chart = _render_mermaid(found) if mermaid else ""
    return found._replace(mermaid=chart, problems=tuple(problems))


def backlinks(
    vault: Vault,
    caller: Caller,
    note: NoteName,
    *,
    number: Annotated[int, Between(1, _MAX_NODES)] = 50,
) -> Listing[Hit]:
    """Show which notes link to a note, with the lines.

    Current notes first, then the last changed. Relations count as links do.

    note: a title, file name, path or id
    number: how many lines are shown at most

    Example: cortex backlinks "Meeting notes"
    """

    def find(index: IndexSession) -> tuple[list[Hit], int]:
        asked = resolve_note.find_one(index.catalogue, note).number
        found = {(one, line) for _, one, line in LinkGraph(index.catalogue).incoming(asked)}
        rows = index.catalogue.rows_by_number(one for one, _ in found if one != asked)
        places = [(rows[one], line) for one, line in found if one in rows]
        places.sort(key=lambda one: (one[0].tier, -one[0].date, one[0].path, one[1]))
        texts = {row: read_text(vault, row).splitlines() for row, _ in places[:number]}
        shown = ((row, line, "".join(texts[row][line - 1 : line])) for row, line in places[:number])
        return [make_hit(vault, row, line, text.strip()) for row, line, text in shown], len(places)

    (hits, total), problems = query_fresh(vault, caller, find)
    return Listing(hits, total, problems)


class _GraphRequest(NamedTuple):
    """The arguments of a graph."""

    note: str
    to: str
    kind: str
    is_stated: bool
    depth: int
    number: int


class _Neighbourhood:
    """The edges of notes, read as they are reached."""

    def __init__(
        self, catalogue: Catalogue, start: int, named: Collection[int], request: _GraphRequest
    ) -> None:
        self._catalogue, self._links = catalogue, LinkGraph(catalogue)
        self._start, self._named = start, named
        kind = request.kind
        self._computed_kinds = [one for one in COMPUTED_KINDS if kind in ("", one)]
        # A note may state a relation of a kind that is computed, too.
        self._has_stated = kind not in COMPUTED_KINDS or catalogue.has_edge_kind(kind)
        self._stated_kinds = _edge_kinds(catalogue, kind) if kind and self._has_stated else ()
        self.edges: dict[GraphEdge, tuple[float, str]] = {}  # with strength and reason

    def stated(self, numbers: Sequence[int]) -> Mapping[int, Sequence[int]]:
        """The neighbours over relations and links."""
        return adjacency_of(self._stated_edges(numbers))

    def all(self, numbers: Sequence[int]) -> Mapping[int, Sequence[int]]:
        """The neighbours over any edge. What a note states stands for what could be computed."""
        near = self._stated_edges(numbers)
        pairs = {frozenset((edge.source, edge.target)) for edge in near}
        least = 0.0 if self._start in numbers else _MIN_FAR_STRENGTH
        for one in computed_edges(self._catalogue, numbers, self._computed_kinds, least):
            ends = sorted((one.source, one.target))
            if frozenset(ends) not in pairs:
                near.append(GraphEdge(ends[0], one.kind, ends[1]))
                self.edges.setdefault(near[-1], (one.strength, one.why))
        return adjacency_of(near)

    def _stated_edges(self, numbers: Sequence[int]) -> list[GraphEdge]:
        near = self._links.edges_touching(numbers, self._stated_kinds) if self._has_stated else []
        ends = {end for edge in near for end in (edge.source, edge.target)}
        trail = TRAIL._replace(numbers=ends - set(self._named))
        hidden = self._catalogue.numbers(trail)
        near = [edge for edge in near if edge.source not in hidden and edge.target not in hidden]
        self.edges.update(dict.fromkeys(near, (1.0, "")))
        return near


def _build_graph(index: IndexSession, root: str, request: _GraphRequest) -> NoteGraph:
    catalogue = index.catalogue
    start = resolve_note.find_one(catalogue, request.note)
    goal = resolve_note.find_one(catalogue, request.to) if request.to else None
    near = _Neighbourhood(catalogue, start.number, {start.number, (goal or start).number}, request)
    step = near.stated if request.is_stated else near.all
    if goal:
        ends, most = (start.number, goal.number), request.depth
        way = graph_walk.shortest_path(*ends, most, near.stated)
        if not way and not request.is_stated:
            way = graph_walk.shortest_path(*ends, most, near.all)
        depths, total, cut = {place: at for at, place in enumerate(way)}, len(way), False
        pairs = {frozenset(pair) for pair in pairwise(way)}
        shown = [edge for edge in near.edges if frozenset((edge.source, edge.target)) in pairs]
    else:
        # The farther levels are large and slow to read: beyond twice of what is shown nothing is
        # counted.
        every, cut = graph_walk.breadth_first(start.number, request.depth, 2 * request.number, step)
        total, cut = len(every), cut or len(every) > request.number
        depths = dict(islice(every.items(), request.number))
        shown = [edge for edge in near.edges if edge.source in depths and edge.target in depths]
    rows = catalogue.rows_by_number(depths)
    return NoteGraph(
        hits=tuple(
            GraphNode(
                row.id, row.title, row.type, depth, row.status, row.path, f"{root}/{row.path}"
            )
            for row, depth in ((rows[at], depth) for at, depth in depths.items())
        ),
        total=total,
        edges=tuple(_name_edge(edge, rows, *near.edges[edge]) for edge in shown),
        cut=cut,
        asked=start.id,
        to=goal.id if goal else "",
    )


def _name_edge(
    edge: GraphEdge, rows: Mapping[int, NoteRow], strength: float, why: str
) -> NamedEdge:
    source, target = rows[edge.source].id, rows[edge.target].id
    if why:  # in both directions; which number a note has depends on when it was indexed
        source, target = sorted((source, target))
    return NamedEdge(source, edge.kind, target, strength, why)


def _edge_kinds(catalogue: Catalogue, kind: str) -> Iterable[str]:
    """The kinds that edges have in the catalogue for a kind as a user names it, inverse kinds too. Raises
    `InvalidInputError` for an unknown one."""
    straight = kind_of_inverse(kind) or (LINK_KIND if kind == inverse_of(LINK_KIND) else kind)
    if straight in RELATION_KINDS or straight == LINK_KIND:
        return {straight}
    if catalogue.has_edge_kind(kind):
        return {kind}
    hint = f"kinds: {', '.join((*RELATION_KINDS, LINK_KIND, *COMPUTED_KINDS))}"
    raise InvalidInputError(f"no note says a relation {kind!r}", hint)


def _render_mermaid(found: NoteGraph) -> str:
    names = {node.id: f"n{at}" for at, node in enumerate(found.hits)}
    labels = ((node.id, _mermaid_label(node.title or node.id)) for node in found.hits)
    lines = ["flowchart LR", *(f'  {names[id_]}["{label}"]' for id_, label in labels)]
    for source, kind, target, _, why in found.edges:
        arrow = "-.->" if kind == LINK_KIND else f'-->|"{_mermaid_label(kind)}"|'
        if why:
            arrow = f'-.-|"{_mermaid_label(edge_label(kind, why))}"|'
        lines.append(f"  {names[source]} {arrow} {names[target]}")
    return "\n".join(lines)


def _mermaid_label(text: str) -> str:
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    return " ".join(printable.split()).translate(_MERMAID_ESCAPES)


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
    for _ in range(_NEAR_STEPS):
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
        for row, way in ranked[:_MAX_NEAR]
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
