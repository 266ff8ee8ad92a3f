"""engram: its database, or what `engram export` writes. `cortex_memory` has the same tables and more.

A summary of a session, which is an observation there, becomes a turn of it. What was deleted is left
out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from cortex.core.model.problem import InvalidInputError
from cortex.core.model.turn_summary import USER, Utterance
from cortex.importers import database as databases
from cortex.importers.database import Database, database_in, is_database, text_list
from cortex.importers.edges import with_edges
from cortex.importers.item import (
    ForeignItem,
    ForeignRecord,
    ForeignSession as Session,
    ForeignTurn as Turn,
    Row,
    items_of,
)

_SUMMARY = "session_summary"
_TYPES = {"manual": "note", "passive": "learning", _SUMMARY: "note"}
_EXPORT = {"sessions": "sessions", "observations": "observations", "user_prompts": "prompts"}


def accepts(path: str) -> bool:
    """Whether a file is a database of engram or an export of it, or a folder holds a database."""
    file = database_in(path, "engram.db")
    is_one = is_database(file, "sessions", "observations", "user_prompts")
    return (is_one and not is_database(file, "edges")) or _is_export(file)


def read(path: str, name: str = "engram.db") -> Iterator[ForeignItem]:
    """Its sessions with their prompts and summaries, then its observations."""
    file = database_in(path, name)
    is_export = _is_export(file)
    with (
        databases.open_json_tables(file, _EXPORT)
        if is_export
        else databases.open_database(file) as database
    ):
        columns = database.columns("observations")
        if not {"id", "session_id", "title", "content"}.issubset(columns):
            message = f"{path} has no observations as engram keeps them"
            raise InvalidInputError(f"{message}: {', '.join(columns) or 'none'}", "engram export")
        yield from items_of(database.rows("sessions"), partial(_session, database), "session")
        rows = database.rows("observations")
        yield from items_of(rows, partial(_record, database), "observation")


def _is_export(file: str) -> bool:
    if not os.path.isfile(file):
        return False
    with open(file, "rb") as opened:
        head = opened.read(500)
    return head.lstrip()[:1] == b"{" and b'"exported_at"' in head and b'"sessions"' in head


def _session(database: Database, row: Row) -> Session | None:
    asked = database.find("user_prompts", session_id=row["id"])
    told = database.find("observations", session_id=row["id"], type=_SUMMARY)
    ended = row.get("ended_at")
    turns = [
        Turn(f"prompt {one['id']}", one["created_at"], (Utterance(USER, one["content"]),))
        for one in asked
        if not one.get("deleted_at")
    ]
    turns += [
        Turn(_key(one["id"]), one["created_at"], summary=one["content"])
        for one in told
        if not one.get("deleted_at")
    ]
    turns += [Turn("summary", ended, summary=row["summary"])] if row.get("summary") else []
    if not turns:
        return None
    turns.sort(key=lambda turn: str(turn.at or "9"))
    where = {"project": row.get("project") or "", "folder": row.get("directory") or ""}
    return Session(row["id"], tuple(turns), **where, at=row.get("started_at"), ended=ended)


def _record(database: Database, row: Row) -> ForeignRecord | None:
    is_turn = row["type"] == _SUMMARY and any(database.find("sessions", id=row["session_id"]))
    if is_turn or row.get("deleted_at"):
        return None
    scores = database.find("importance_scores", observation_id=row["id"])
    score = next(scores, {}).get("score")  # 0 to 5; 0 before it was reckoned
    confidence = row.get("confidence")  # 1 is what all have
    record = ForeignRecord(
        key=_key(row["id"]),
        title=row["title"] or "",
        body=row["content"],
        type=_TYPES.get(row["type"], row["type"] or "note"),
        at=row.get("created_at"),
        updated=row.get("updated_at"),
        project=row.get("project") or "",
        session="" if row["session_id"].startswith("manual-save") else row["session_id"],
        topic=row.get("topic_key") or "",
        scope=row.get("scope") or "",
        tags=text_list(row.get("tags")),
        status="archived" if row.get("valid_until") else "",  # it has been closed
        confidence=None if confidence in (None, 1) else float(confidence),
        priority=max(1, round(2 * score)) if score else None,
    )
    return with_edges(record, _edges(database, row))


def _key(number: object) -> str:
    return f"observation {number}"


def _edges(database: Database, row: Row) -> Iterator[tuple[str, str]]:
    for one in database.find("edges", from_obs_id=row["id"]):
        if not (one.get("invalid_at") or one.get("valid_until")):
            yield one["relation_type"], _key(one["to_obs_id"])
    for one in database.find("memory_relations", source_id=row.get("sync_id")):
        if one.get("judgment_status", "judged") == "judged" and one["relation"] != "not_conflict":
            for end in database.find("observations", sync_id=one["target_id"]):
                yield one["relation"], _key(end["id"])
