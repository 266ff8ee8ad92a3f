"""Relations, graphs and named things, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cortex.core.model.note_status import SET_ASIDE_STATUSES
from cortex.core.model.relation import LINK_KIND, inverse_of
from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, format_count, problem_lines
from cortex.interfaces.escape_terminal import escape


def relate_lines(answer: Any) -> Iterable[str]:
    done = {"created": "", "unchanged": "unchanged: ", "removed": "removed: "}[answer.outcome]
    yield f"{done}{escape(answer.source)} {escape(answer.kind)} {escape(answer.to)}"
    if answer.hint:
        yield f"  {DIM}{escape(answer.hint)}{OFF}"
    if answer.undo:
        yield f"  {DIM}undo: {escape(answer.undo)}{OFF}"
    yield from problem_lines(answer.problems)


def graph_lines(found: Any) -> Iterable[str]:
    if found.to and not found.nodes:
        yield f"no path from {escape(found.asked)} to {escape(found.to)}"
    elif found.mermaid:
        yield escape(found.mermaid, lines=True)
    elif found.to:
        yield from _path_lines(found)
    else:
        yield from _tree_lines(found)
        if len(found.nodes) == 1 and not found.cut:
            yield f"{DIM}nothing is connected to it{OFF}"
    if found.cut and not found.mermaid:
        told = (
            "nothing but the note itself is"
            if len(found.nodes) == 1
            else f"only the nearest {len(found.nodes)} are"
        )
        yield f"{YELLOW}{told} shown{OFF}: --number shows more"


def entities_lines(found: Any) -> Iterable[str]:
    if found.name and not found.entities:
        yield (
            f"nothing named {escape(found.name)}"
            if found.hint
            else f"{escape(found.name)} mentions nothing by name"
        )
        if found.hint:
            yield f"  {escape(found.hint)}"
    elif not found.entities:
        yield "nothing is mentioned by name"
    for hit in found.records:
        status = f"  {YELLOW}{escape(hit.status)}{OFF}" if hit.status in SET_ASIDE_STATUSES else ""
        yield f"{BOLD}{escape(hit.title)}{OFF}{status}"
        yield f"  {DIM}{escape(hit.type) or 'note'}  {escape(hit.path)}:{hit.line}{OFF}"
    for one in () if found.records else found.entities:
        line = f"{one.line:>5}  " if one.line else ""
        yield f"{line}{escape(one.kind):<9}{escape(one.name)}  {DIM}{format_count(one.notes, 'note')}{OFF}"
    if found.more:
        yield f"{YELLOW}{found.more:,} more{OFF}: --number shows them"


def _tree_lines(found: Any) -> Iterator[str]:
    """Every note once, below the first that leads to it, and every edge once."""
    nodes = {node.id: node for node in found.nodes}
    beside = _kinds_by_neighbour(found)
    claimed, printed = {found.asked}, {found.asked}
    drawn: set[frozenset[str]] = set()

    def below(id_: str, indent: str) -> Iterator[str]:
        rows = []
        for other in beside.get(id_, {}):
            new = other not in claimed and nodes[other].depth == nodes[id_].depth + 1
            if new or (other in printed and frozenset((id_, other)) not in drawn):
                rows.append((other, new))
                drawn.add(frozenset((id_, other)))
        claimed.update(other for other, _ in rows)
        for at, (other, new) in enumerate(rows, start=1):
            yield f"{indent}{'├─' if at < len(rows) else '└─'} {_format_kinds(beside[id_][other])} {_format_node(nodes[other])}{'' if new else ' (above)'}"
            if new:
                printed.add(other)
                yield from below(other, f"{indent}{'│  ' if at < len(rows) else '   '}")

    yield _format_node(nodes[found.asked])
    yield from below(found.asked, "")


def _path_lines(found: Any) -> Iterator[str]:
    beside = _kinds_by_neighbour(found)
    before = ""
    for node in found.nodes:
        yield (
            f"{'   ' * (node.depth - 1)}└─ {_format_kinds(beside[before][node.id])} {_format_node(node)}"
            if before
            else _format_node(node)
        )
        before = node.id


def _kinds_by_neighbour(found: Any) -> dict[str, dict[str, list[str]]]:
    """What each note calls the way to each of its neighbours."""
    beside: dict[str, dict[str, list[str]]] = {}
    for source, kind, target in found.edges:
        beside.setdefault(source, {}).setdefault(target, []).append(kind)
        beside.setdefault(target, {}).setdefault(source, []).append(inverse_of(kind) or f"← {kind}")
    return beside


def _format_kinds(kinds: list[str]) -> str:
    """Kinds as a person wants them: a link beside a relation says nothing more."""
    plain = dict.fromkeys(kinds)
    told = [kind for kind in plain if kind not in (LINK_KIND, inverse_of(LINK_KIND))] or [*plain]
    return f"{DIM}{escape(', '.join(told))}{OFF}"


def _format_node(node: Any) -> str:
    status = f"  {YELLOW}{escape(node.status)}{OFF}" if node.status in SET_ASIDE_STATUSES else ""
    return f"{escape(node.title or node.id)}  {DIM}{escape(node.id)}{OFF}{status}"


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {
    "relate": relate_lines,
    "unrelate": relate_lines,
    "graph": graph_lines,
    "entities": entities_lines,
}
NO: dict[str, Callable[[Any], bool]] = {
    "graph": lambda found: bool(found.to and not found.nodes),
    "entities": lambda found: bool(found.name and not found.entities),
}
