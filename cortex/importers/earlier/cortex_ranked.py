"""The `cortex` of peterstorm, which ranks memories: the database of a project, or that of all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import partial

from cortex.core.model.problem import InvalidInputError
from cortex.importers.database import Database, database_in, is_database, open_database, text_list
from cortex.importers.item import ForeignItem, ForeignRecord, Row, items_of, with_edges

_FILES = (".memory/cortex.db", "cortex.db", "cortex-global.db")


def accepts(path: str) -> bool:
    """Whether a file is such a database, or a project or folder has one."""
    return is_database(database_in(path, *_FILES), "memories", "edges")


def read(path: str) -> Iterator[ForeignItem]:
    """A record for each memory that was not pruned, with the edges that hold."""
    file = os.path.abspath(database_in(path, *_FILES))
    with open_database(file) as database:
        if not {"id", "content", "memory_type"}.issubset(database.columns("memories")):
            raise InvalidInputError(f"{path} holds no ranked memories", "name .memory/cortex.db")
        folder, _, name = file.rpartition("/.memory/")
        memories = database.rows("memories")
        yield from items_of(memories, partial(_record, database, folder if name else ""), "memory")


def _record(database: Database, project: str, row: Row) -> ForeignRecord | None:
    told = json.loads(row.get("source_context") or "{}")
    place = ":".join(str(told[key]) for key in ("file_path", "start_line") if told.get(key))
    record = ForeignRecord(
        row["id"], row["summary"] or "", row["content"] + (f"\n\nSource: `{place}`" if place else ""),
        row["memory_type"], row["created_at"], row["updated_at"], project,
        told.get("branch") or "", row["source_session"] or "", scope=row["scope"],
        tags=text_list(row["tags"]), status=row["status"], confidence=row["confidence"],
        priority=row["priority"], pinned=bool(row["pinned"]),
    )  # fmt: skip
    edges = database.find("edges", source_id=row["id"], status="active")
    named = with_edges(record, ((one["relation_type"], one["target_id"]) for one in edges))
    return named if row["status"] != "pruned" else None
