"""What a note is connected to, over relations and links, and the shortest way between two notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import InvalidInputError
from cortex.core.model.relation import (
    LINK_KIND,
    RELATION_KINDS,
    inverse_of,
    kind_of_inverse,
    normalize_kind,
)
from cortex.core.ranking import graph_walk
from cortex.index.catalogue import Catalogue
from cortex.index.links import GraphEdge, LinkGraph, adjacency_of
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.vault.locate import Vault

MAX_DEPTH = 10
_DEFAULT_DEPTH = 2
_MAX_NODES = 5000  # nodes of one answer
# What would act in a mermaid label: quotes and brackets end it, `#` and `&` begin an entity, backticks mean markdown.
_MERMAID_ESCAPES = {ord(mark): f"#{ord(mark)};" for mark in '"#&<>[](){}`|\\'}


class GraphNode(NamedTuple):
    """A note of the graph."""

    id: str  # its path where it has none
    title: str
    type: str
    depth: int  # steps from the note that was asked about
    status: str
    path: str


class NoteGraph(NamedTuple):
    """Notes, nearest first, and the edges between them, each in the direction in which its kind is said."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[tuple[str, str, str], ...]  # from, kind, to
    cut: bool  # there are more notes within the depth
    mermaid: str = ""  # the graph as a mermaid flowchart, when asked for
    asked: str = ""
    to: str = ""  # the other end of a path, when one was asked for

    def as_json(self) -> dict[str, object]:
        answer: dict[str, object] = {
            "nodes": [node._asdict() for node in self.nodes],
            "edges": [
                {"from": source, "kind": kind, "to": target} for source, kind, target in self.edges
            ],
        }
        if self.cut:
            answer["cut"] = True
        if self.mermaid:
            answer["mermaid"] = self.mermaid
        return answer


def graph(
    vault: Vault,
    caller: Caller,
    note: str,
    *,
    depth: str = "",
    to: str = "",
    kind: str = "",
    mermaid: bool = False,
    number: int = 200,
) -> NoteGraph:
    """Show what a note is connected to, over relations and links in both directions.

    A kind that is followed against its direction is shown by its inverse name. Events and briefings are left out unless
    one is asked about.

    note: an id, the beginning of one, or a path
    depth: how many steps are followed, 1 to 10; 2 by default, 10 for a path
    to: show the shortest path to this note instead; exit code 1 when there is none
    kind: follow relations of this kind alone; `links` are those in the text
    mermaid: answer as a mermaid flowchart, which Obsidian and GitHub draw
    number: how many notes are shown at most

    Example: cortex graph publish-by-link-k3f7q2 --depth 3
    Example: cortex graph publish-by-link-k3f7q2 --to weekly-sync-m5d2xa
    Example: cortex graph publish-by-link-k3f7q2 --mermaid
    """
    steps = _parse_depth(depth, MAX_DEPTH if to else _DEFAULT_DEPTH)
    if not 1 <= number <= _MAX_NODES:
        raise InvalidInputError(
            f"a graph shows 1 to {_MAX_NODES:,} notes, not {number}", "cortex graph ID --number 200"
        )
    asked = _GraphRequest(note, to, normalize_kind(kind), steps, number)
    ensure_fresh(vault, caller)
    found = query_index(vault, caller.progress, lambda now: _build_graph(now, asked))
    return found._replace(mermaid=_render_mermaid(found)) if mermaid else found


def _parse_depth(text: str, usual: int) -> int:
    depth = (
        int(text)
        if text.isascii() and text.isdecimal() and len(text) < 4
        else usual
        if text == ""
        else 0
    )
    if not 1 <= depth <= MAX_DEPTH:
        raise InvalidInputError(
            f"a depth is a number from 1 to {MAX_DEPTH}, not {text!r}", "cortex graph ID --depth 3"
        )
    return depth


class _GraphRequest(NamedTuple):
    """What is looked for, from where."""

    note: str
    to: str
    kind: str
    max_depth: int
    max_nodes: int


def _build_graph(now: IndexSession, asked: _GraphRequest) -> NoteGraph:
    start = resolve_note.find_one(now.catalogue, asked.note)
    goal = resolve_note.find_one(now.catalogue, asked.to) if asked.to else None
    links = LinkGraph(now.catalogue)
    kinds = _edge_kinds(now.catalogue, asked.kind) if asked.kind else ()
    named = {start.number, goal.number if goal else start.number}
    edges: dict[GraphEdge, None] = {}

    def neighbours(numbers: Sequence[int]) -> Mapping[int, Sequence[int]]:
        near = links.edges_touching(numbers, kinds)
        hidden = links.select_trail(
            {end for edge in near for end in (edge.source, edge.target)} - named
        )
        near = [edge for edge in near if edge.source not in hidden and edge.target not in hidden]
        edges.update(dict.fromkeys(near))
        return adjacency_of(near)

    if goal:
        way = graph_walk.shortest_path(start.number, goal.number, asked.max_depth, neighbours)
        depths, cut = {place: at for at, place in enumerate(way)}, False
        pairs = {frozenset(pair) for pair in pairwise(way)}
        shown = [edge for edge in edges if frozenset((edge.source, edge.target)) in pairs]
    else:
        depths, cut = graph_walk.breadth_first(
            start.number, asked.max_depth, asked.max_nodes, neighbours
        )
        shown = [edge for edge in edges if edge.source in depths and edge.target in depths]
    rows = now.catalogue.rows_by_number(depths)
    nodes = tuple(
        GraphNode(rows[at].id, rows[at].title, rows[at].type, far, rows[at].status, rows[at].path)
        for at, far in depths.items()
    )
    said = tuple((rows[edge.source].id, edge.kind, rows[edge.target].id) for edge in shown)
    return NoteGraph(nodes, said, cut, "", start.id, goal.id if goal else "")


def _edge_kinds(catalogue: Catalogue, kind: str) -> Iterable[str]:
    """The kind that edges have of which somebody asks by this name."""
    straight = kind_of_inverse(kind) or (LINK_KIND if kind == inverse_of(LINK_KIND) else kind)
    if straight in RELATION_KINDS or straight == LINK_KIND:
        return {straight}
    if next(catalogue.select("SELECT 1 FROM edge WHERE kind = ? LIMIT 1", (kind,)), None):
        return {kind}
    raise InvalidInputError(
        f"no note says a relation {kind!r}", f"kinds: {', '.join(RELATION_KINDS)}, {LINK_KIND}"
    )


def _render_mermaid(found: NoteGraph) -> str:
    names = {node.id: f"n{at}" for at, node in enumerate(found.nodes)}
    lines = ["flowchart LR"]
    lines += [
        f'  {names[node.id]}["{_mermaid_label(node.title or node.id)}"]' for node in found.nodes
    ]
    for source, kind, target in found.edges:
        arrow = "-.->" if kind == LINK_KIND else f'-->|"{_mermaid_label(kind)}"|'
        lines.append(f"  {names[source]} {arrow} {names[target]}")
    return "\n".join(lines)


def _mermaid_label(text: str) -> str:
    return " ".join(
        "".join(sign if sign.isprintable() else " " for sign in text).split()
    ).translate(_MERMAID_ESCAPES)
