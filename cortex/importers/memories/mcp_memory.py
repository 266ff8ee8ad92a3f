"""The memory of MCP's reference server: each entity of its graph is a record, its observations the
points of it. Observations are added: each entity is a topic."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial
from typing import TypeAlias

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.text.strings import short_hash, slugify
from cortex.importers.archive import decode
from cortex.importers.database import database_in
from cortex.importers.item import ForeignItem, ForeignRecord, Row, items_of, with_edges

_Edges: TypeAlias = dict[str, list[tuple[str, str]]]
_MAX_LINE_BYTES = 16_000_000


def accepts(path: str) -> bool:
    """Whether a file begins with a line of such a graph, or a folder holds one."""
    file = database_in(path, "memory.jsonl")
    first = next(_lines(file), {}) if os.path.isfile(file) else {}
    return {"name", "entityType"} <= set(first) or {"from", "relationType"} <= set(first)


def read(path: str) -> Iterator[ForeignItem]:
    """A record for each entity, with its relations."""
    file, edges = os.path.realpath(database_in(path, "memory.jsonl")), _Edges()
    # Another file may have another entity of that name.
    place, guesses = short_hash(file.removeprefix(os.path.expanduser("~"))), set[str]()
    for row in _lines(file):
        guesses.add(row["guess"])
        end = str(row.get("relationType", "")), f"{row.get('to', '')} ({place})"
        edges.setdefault(str(row.get("from")), []).append(end)
    if not any("entityType" in row for row in _lines(file)):
        raise InvalidInputError(f"{path} holds no entities of a graph", "name memory.jsonl")
    rows = (row for row in _lines(file) if "relationType" not in row)
    yield from items_of(rows, lambda row: _record(row, edges, place), "line")
    yield from (Problem(file, one) for one in sorted(guesses - {""}))


def _lines(file: str) -> Iterator[Row]:
    """The object of each line, with the line's number, and what was guessed of its encoding; these
    alone where it holds none."""
    with open(file, "rb") as opened:
        number = is_start = 1
        for line in iter(partial(opened.readline, _MAX_LINE_BYTES), b""):
            text, guess = decode(line)
            try:
                found = json.loads(text.removeprefix("\ufeff"))
            except (RecursionError, ValueError):
                found = None
            if is_start and line.strip():
                yield {**(found if isinstance(found, dict) else {}), "id": number, "guess": guess}
            is_start = line.endswith(b"\n")
            number += is_start


def _record(row: Row, edges: _Edges, place: str) -> ForeignRecord:
    if len(row) == len(("id", "guess")):
        raise ValueError(f"it is no object of JSON, or longer than {_MAX_LINE_BYTES:,} bytes")
    name, type_, key = row["name"], row["entityType"], f"{row['name']} ({place})"
    text = "\n".join(f"- {point}" for point in row["observations"]) or f"A {type_}."
    topic = f"mcp-memory/{slugify(name, 80)}-{short_hash(key)}"
    return with_edges(ForeignRecord(key, name, text, type_, topic=topic), edges.get(name, ()))
