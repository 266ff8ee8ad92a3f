"""What a note is connected to, over relations and links, and the shortest way between two notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from typing import Annotated, NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import Between
from cortex.core.model.problem import InvalidInputError, Problem
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
from cortex.index.queries import has_edge_kind
from cortex.index.refresh import query_index
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.vault.locate import Vault

MAX_DEPTH = 10
_DEFAULT_DEPTH = 2
_MAX_NODES = 5000  # nodes of one answer
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
    """An edge in the direction in which its kind is said. In JSON `from_` is `from`."""

    from_: str  # ids; a path where there is none
    kind: str
    to: str


class NoteGraph(NamedTuple):
    """Notes, nearest first, and the edges between them, each in the direction in which its kind is
    said."""

    hits: tuple[GraphNode, ...]
    total: int  # notes within the depth; at least so many where twice `number` are reached
    edges: tuple[NamedEdge, ...]
    cut: bool  # there are more notes within the depth
    mermaid: str = ""  # the graph as a mermaid flowchart, when asked for
    asked: str = ""
    to: str = ""  # the other end of a path, when one was asked for
    problems: tuple[Problem, ...] = ()


def graph(
    vault: Vault,
    caller: Caller,
    note: str,
    *,
    depth: Annotated[int, Between(1, MAX_DEPTH)] | None = None,
    to: str = "",
    kind: str = "",
    mermaid: bool = False,
    number: Annotated[int, Between(1, _MAX_NODES)] = 200,
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

    Example: cortex graph decision-save-lookup --depth 3
    Example: cortex graph decision-save-lookup --to decision-topic-identity
    Example: cortex graph decision-save-lookup --mermaid
    """
    steps = depth or (MAX_DEPTH if to else _DEFAULT_DEPTH)
    kind = normalize_kind(kind)
    problems = ensure_fresh(vault, caller)
    found = query_index(
        vault,
        caller.progress,
        lambda now: _build_graph(
            now.catalogue, vault.root, note, to, kind, max_depth=steps, max_nodes=number
        ),
    )
    return found._replace(
        mermaid=_render_mermaid(found) if mermaid else "", problems=tuple(problems)
    )


def _build_graph(
    catalogue: Catalogue,
    root: str,
    note: str,
    to: str,
    kind: str,
    *,
    max_depth: int,
    max_nodes: int,
) -> NoteGraph:
    start = resolve_note.find_one(catalogue, note)
    goal = resolve_note.find_one(catalogue, to) if to else None
    links = LinkGraph(catalogue)
    kinds = _edge_kinds(catalogue, kind) if kind else ()
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
        way = graph_walk.shortest_path(start.number, goal.number, max_depth, neighbours)
        depths, total, cut = {place: at for at, place in enumerate(way)}, len(way), False
        pairs = {frozenset(pair) for pair in pairwise(way)}
        shown = [edge for edge in edges if frozenset((edge.source, edge.target)) in pairs]
    else:
        # The farther levels are large and slow to read: beyond twice of what is shown nothing is counted.
        every, cut = graph_walk.breadth_first(start.number, max_depth, 2 * max_nodes, neighbours)
        total, cut = len(every), cut or len(every) > max_nodes
        depths = dict(islice(every.items(), max_nodes))
        shown = [edge for edge in edges if edge.source in depths and edge.target in depths]
    rows = catalogue.rows_by_number(depths)
    return NoteGraph(
        hits=tuple(
            GraphNode(
                row.id, row.title, row.type, depth, row.status, row.path, f"{root}/{row.path}"
            )
            for row, depth in ((rows[at], depth) for at, depth in depths.items())
        ),
        total=total,
        edges=tuple(
            NamedEdge(rows[edge.source].id, edge.kind, rows[edge.target].id) for edge in shown
        ),
        cut=cut,
        asked=start.id,
        to=goal.id if goal else "",
    )


def _edge_kinds(catalogue: Catalogue, kind: str) -> Iterable[str]:
    """The kind that edges have of which somebody asks by this name."""
    straight = kind_of_inverse(kind) or (LINK_KIND if kind == inverse_of(LINK_KIND) else kind)
    if straight in RELATION_KINDS or straight == LINK_KIND:
        return {straight}
    if has_edge_kind(catalogue, kind):
        return {kind}
    raise InvalidInputError(
        f"no note says a relation {kind!r}", f"kinds: {', '.join(RELATION_KINDS)}, {LINK_KIND}"
    )


def _render_mermaid(found: NoteGraph) -> str:
    names = {node.id: f"n{at}" for at, node in enumerate(found.hits)}
    lines = ["flowchart LR"]
    lines += [
        f'  {names[node.id]}["{_mermaid_label(node.title or node.id)}"]' for node in found.hits
    ]
    for source, kind, target in found.edges:
        arrow = "-.->" if kind == LINK_KIND else f'-->|"{_mermaid_label(kind)}"|'
        lines.append(f"  {names[source]} {arrow} {names[target]}")
    return "\n".join(lines)


def _mermaid_label(text: str) -> str:
    return " ".join(
        "".join(sign if sign.isprintable() else " " for sign in text).split()
    ).translate(_MERMAID_ESCAPES)
