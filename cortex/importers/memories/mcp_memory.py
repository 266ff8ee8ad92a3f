"""The memory of MCP's reference server: each entity of its graph is a record, its observations the
points of it. Observations are added: each entity is a topic."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.strings import short_hash, slugify
from cortex.importers.database import database_in
from cortex.importers.item import ForeignItem, ForeignRecord, Row, items_of, with_edges


def accepts(path: str) -> bool:
    """Whether a file begins with a line of such a graph, or a folder holds one."""
    file = database_in(path, "memory.jsonl")
    first = next(_lines(file), {}) if os.path.isfile(file) else {}
    return {"name", "entityType"} <= set(first) or {"from", "relationType"} <= set(first)


def read(path: str) -> Iterator[ForeignItem]:
    """A record for each entity, with its relations."""
    file, edges = database_in(path, "memory.jsonl"), dict[str, list[tuple[str, str]]]()
    for row in _lines(file):
        end = str(row.get("relationType", "")), str(row.get("to", ""))
        edges.setdefault(str(row.get("from")), []).append(end)
    if not any("entityType" in row for row in _lines(file)):
        raise InvalidInputError(f"{path} holds no entities of a graph", "name memory.jsonl")
    rows = (row for row in _lines(file) if "relationType" not in row)
    yield from items_of(rows, lambda row: _record(row, edges), "line")


def _lines(file: str) -> Iterator[Row]:
    """The object of each line with the line's number, which alone is there where it holds none."""
    with open(file, encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                found = json.loads(line)
            except ValueError:
                found = None
            if line.strip():
                yield {**(found if isinstance(found, dict) else {}), "id": number}


def _record(row: Row, edges: dict[str, list[tuple[str, str]]]) -> ForeignRecord:
    name, type_ = row["name"], row["entityType"]
    text = "\n".join(f"- {point}" for point in row["observations"]) or f"A {type_}."
    topic = f"mcp-memory/{slugify(name, 80)}-{short_hash(name)}"
    return with_edges(ForeignRecord(name, name, text, type_, topic=topic), edges.get(name, ()))
