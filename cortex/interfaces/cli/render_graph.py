"""Relations, graphs and named things, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cortex.core.model.relation import LINK, inverse_of
from cortex.core.model.status import ASIDE
from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, count, problem_lines
from cortex.interfaces.escape_terminal import visible


def related(answer: Any) -> Iterable[str]:
    done = {"created": "", "unchanged": "unchanged: ", "removed": "removed: "}[answer.outcome]
    yield f"{done}{visible(answer.source)} {visible(answer.kind)} {visible(answer.to)}"
    if answer.hint:
        yield f"  {DIM}{visible(answer.hint)}{OFF}"
    if answer.undo:
        yield f"  {DIM}undo: {visible(answer.undo)}{OFF}"
    yield from problem_lines(answer.problems)


def graph(found: Any) -> Iterable[str]:
    if found.to and not found.nodes:
        yield f"no path from {visible(found.asked)} to {visible(found.to)}"
    elif found.mermaid:
        yield visible(found.mermaid, lines=True)
    elif found.to:
        yield from _path(found)
    else:
        yield from _tree(found)
        if len(found.nodes) == 1 and not found.cut:
            yield f"{DIM}nothing is connected to it{OFF}"
    if found.cut and not found.mermaid:
        told = (
            "nothing but the note itself is"
            if len(found.nodes) == 1
            else f"only the nearest {len(found.nodes)} are"
        )
        yield f"{YELLOW}{told} shown{OFF}: --number shows more"


def entities(found: Any) -> Iterable[str]:
    if found.name and not found.entities:
        yield (
            f"nothing named {visible(found.name)}"
            if found.hint
            else f"{visible(found.name)} mentions nothing by name"
        )
        if found.hint:
            yield f"  {visible(found.hint)}"
    elif not found.entities:
        yield "nothing is mentioned by name"
    for hit in found.records:
        status = f"  {YELLOW}{visible(hit.status)}{OFF}" if hit.status in ASIDE else ""
        yield f"{BOLD}{visible(hit.title)}{OFF}{status}"
        yield f"  {DIM}{visible(hit.type) or 'note'}  {visible(hit.path)}:{hit.line}{OFF}"
    for one in () if found.records else found.entities:
        line = f"{one.line:>5}  " if one.line else ""
        yield f"{line}{visible(one.kind):<9}{visible(one.name)}  {DIM}{count(one.notes, 'note')}{OFF}"
    if found.more:
        yield f"{YELLOW}{found.more:,} more{OFF}: --number shows them"


def _tree(found: Any) -> Iterator[str]:
    """Every note once, below the first that leads to it, and every edge once."""
    nodes = {node.id: node for node in found.nodes}
    beside = _beside(found)
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
            yield f"{indent}{'├─' if at < len(rows) else '└─'} {_kinds(beside[id_][other])} {_named(nodes[other])}{'' if new else ' (above)'}"
            if new:
                printed.add(other)
                yield from below(other, f"{indent}{'│  ' if at < len(rows) else '   '}")

    yield _named(nodes[found.asked])
    yield from below(found.asked, "")


def _path(found: Any) -> Iterator[str]:
    beside = _beside(found)
    before = ""
    for node in found.nodes:
        yield (
            f"{'   ' * (node.depth - 1)}└─ {_kinds(beside[before][node.id])} {_named(node)}"
            if before
            else _named(node)
        )
        before = node.id


def _beside(found: Any) -> dict[str, dict[str, list[str]]]:
    """What each note calls the way to each of its neighbours."""
    beside: dict[str, dict[str, list[str]]] = {}
    for source, kind, target in found.edges:
        beside.setdefault(source, {}).setdefault(target, []).append(kind)
        beside.setdefault(target, {}).setdefault(source, []).append(inverse_of(kind) or f"← {kind}")
    return beside


def _kinds(kinds: list[str]) -> str:
    """Kinds as a person wants them: a link beside a relation says nothing more."""
    plain = dict.fromkeys(kinds)
    told = [kind for kind in plain if kind not in (LINK, inverse_of(LINK))] or [*plain]
    return f"{DIM}{visible(', '.join(told))}{OFF}"


def _named(node: Any) -> str:
    status = f"  {YELLOW}{visible(node.status)}{OFF}" if node.status in ASIDE else ""
    return f"{visible(node.title or node.id)}  {DIM}{visible(node.id)}{OFF}{status}"


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {
    "relate": related,
    "unrelate": related,
    "graph": graph,
    "entities": entities,
}
NO: dict[str, Callable[[Any], bool]] = {
    "graph": lambda found: bool(found.to and not found.nodes),
    "entities": lambda found: bool(found.name and not found.entities),
}
