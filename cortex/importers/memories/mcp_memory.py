"""The memory of MCP's reference server: each entity of its graph is a record, its observations the
points of it. Observations are added: each entity is a topic."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from functools import partial
from typing import TypeAlias

from cortex.core.model.note_status import UTF16_BOMS
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.text.strings import format_count, short_hash, slugify
from cortex.importers.archive import decode
from cortex.importers.database import database_in
from cortex.importers.item import ForeignItem, ForeignRecord, Row, items_of, with_edges

_Edges: TypeAlias = dict[str, list[tuple[str, str]]]
_MAX_LINE_BYTES = 16_000_000


def accepts(path: str) -> bool:
    """Whether a file begins with a line of such a graph, or a folder holds one."""
    file = database_in(path, "memory.jsonl")
    first = next(_lines(file), {})
    return {"name", "entityType"} <= set(first) or {"from", "relationType"} <= set(first)


def read(path: str) -> Iterator[ForeignItem]:
    """A record for each entity, with its relations."""
    file, edges, graph = database_in(path, "memory.jsonl"), _Edges(), ""
    guesses, names = set[str](), set[str]()
    for row in _lines(file):
        guesses.add(row["guess"])
        if "relationType" in row:
            edge = str(row["relationType"]), str(row.get("to"))
            edges.setdefault(str(row.get("from")), []).append(edge)
        elif "entityType" in row:
            names.add(str(row.get("name")))
            # Another graph may have another entity of that name. Wherever this one lies, it begins
            # with the same point: the server adds at the end.
            if not graph and isinstance(points := row.get("observations"), str | list) and points:
                graph = short_hash(f"{row.get('name')}\0{points[0]}")
    if not names:
        raise InvalidInputError(f"{path} holds no entities of a graph", "name memory.jsonl")
    rows = (row for row in _lines(file) if "relationType" not in row)
    yield from items_of(rows, lambda row: _record(row, edges, graph), "line")
    yield from (Problem(file, one) for one in sorted(guesses - {""}))
    every = ((name, kind, to) for name, some in edges.items() for kind, to in some)
    if loose := [" ".join(one) for one in every if not names.issuperset(one[::2])]:
        count = format_count(len(loose), "relation")
        yield Problem(file, f"left out: {count} of what is no entity, such as {loose[0]}")


def _lines(file: str) -> Iterator[Row]:
    """The object of each line, with the line's number, and what was guessed of its encoding; these
    alone where it holds none."""
    with open(file if os.path.isfile(file) else os.devnull, "rb") as opened:
        number = is_start = 1
        is_wide = opened.peek(2).startswith(UTF16_BOMS)  # as PowerShell writes it
        lines = io.TextIOWrapper(
            opened, "utf-16" if is_wide else "latin-1", "replace", newline="\n"
        )
        for line in iter(partial(lines.readline, _MAX_LINE_BYTES), ""):
            text, guess = (line, "") if is_wide else decode(line.encode("latin-1"))
            try:
                found = json.loads(text.removeprefix("\ufeff"))
            except (RecursionError, ValueError):
                found = None
            if is_start and line.strip():
                yield {**(found if isinstance(found, dict) else {}), "id": number, "guess": guess}
            is_start = line.endswith("\n")
            number += is_start


def _record(row: Row, edges: _Edges, graph: str) -> ForeignRecord:
    if len(row) == len(("id", "guess")):
        raise ValueError(f"it is no object of JSON, or longer than {_MAX_LINE_BYTES:,} bytes")
    name, type_, points = row.get("name"), row["entityType"], row["observations"] or []
    if not isinstance(name, str) or not name.strip():
        raise ValueError("it has no name")
    points, key = [points] if isinstance(points, str) else points, f"{name} ({graph})"
    text = "\n".join(f"- {point}" for point in points) or f"A {type_}."
    topic = f"mcp-memory/{slugify(name, 80)}-{short_hash(key)}"
    ends = ((kind, f"{to} ({graph})") for kind, to in edges.get(name, ()))
    return with_edges(ForeignRecord(key, name, text, type_, topic=topic), ends)
