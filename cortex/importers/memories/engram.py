"""engram, and `cortex_memory`, which has the same tables and more. A summary of a session, which is an
observation there, becomes a turn of it. What was deleted is left out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.model.turn_summary import USER, Utterance
from cortex.importers import item
from cortex.importers.database import Database, database_in, is_database, open_database, text_list
from cortex.importers.item import ForeignItem, ForeignTurn, Row, items_of, with_edges

_TABLES = ("sessions", "observations", "user_prompts")
_SUMMARY = "session_summary"
_TYPES = {"manual": "note", "passive": "learning", _SUMMARY: "note"}
_key = "observation {}".format
_KINDS = {"related": "relates_to", "conflicts_with": "contradicts"}


def accepts(path: str) -> bool:
    """Whether a file is a database of engram, or a folder holds one."""
    file = database_in(path, "engram.db")
    return is_database(file, *_TABLES) and not is_database(file, "edges")


def accepts_relative(path: str) -> bool:
    """Whether a file is a database of its relative, or a folder holds one."""
    return is_database(database_in(path, "cortex.db"), *_TABLES, "edges")


def read(path: str) -> Iterator[ForeignItem]:
    """Its sessions with their prompts and summaries, then its observations."""
    with open_database(database_in(path, "engram.db", "cortex.db")) as database:
        columns = database.columns("observations")
        if not {"id", "session_id", "title", "content"}.issubset(columns):
            message = f"{path} has no observations as engram keeps them"
            raise InvalidInputError(f"{message}: {', '.join(columns) or 'none'}", "engram stats")
        rows, observations = database.rows("sessions"), database.rows("observations")
        bare = list[str]()
        yield from items_of(rows, partial(_session, database, bare), "session")
        yield from items_of(observations, partial(_record, database), "observation")
    if bare:
        yield Problem(path, f"sessions left out, as empty: {len(bare):,}, such as {bare[0]}")


def _session(database: Database, bare: list[str], row: Row) -> item.ForeignSession | None:
    ended = row.get("ended_at")
    turns = [
        ForeignTurn(f"prompt {one['id']}", one["created_at"], (Utterance(USER, one["content"]),))
        for one in database.find("user_prompts", session_id=row["id"])
        if not one.get("deleted_at")
    ]
    turns += [
        ForeignTurn(_key(one["id"]), one["created_at"], summary=one["content"])
        for one in database.find("observations", session_id=row["id"], type=_SUMMARY)
        if not one.get("deleted_at")
    ]
    turns += [ForeignTurn("summary", ended, summary=row["summary"])] if row.get("summary") else []
    bare += [] if turns or row["id"].startswith("manual-save") else [row["id"]]
    turns.sort(key=lambda turn: str(turn.at or "9"))
    return item.ForeignSession(
        row["id"], tuple(turns), project=row.get("project") or "",
        folder=row.get("directory") or "", at=row.get("started_at"), ended=ended,
    ) if turns else None  # fmt: skip


def _record(database: Database, row: Row) -> item.ForeignRecord | None:
    is_turn = row["type"] == _SUMMARY and any(database.find("sessions", id=row["session_id"]))
    if is_turn or row.get("deleted_at"):
        return None
    scores = database.find("importance_scores", observation_id=row["id"])
    score = next(scores, {}).get("score")  # 0 to 5; 0 before it was reckoned
    sure = row.get("confidence")  # 1 is what all have
    record = item.ForeignRecord(
        _key(row["id"]), row["title"] or "", row["content"],
        _TYPES.get(row["type"], row["type"] or "note"), at=row.get("created_at"),
        updated=row.get("updated_at"), project=row.get("project") or "",
        session="" if row["session_id"].startswith("manual-save") else row["session_id"],
        topic=row.get("topic_key") or "", scope=row.get("scope") or "",
        tags=text_list(row.get("tags")), status="archived" if row.get("valid_until") else "",
        confidence=None if sure in (None, 1) else float(sure),
        priority=max(1, round(2 * score)) if score else None,
    )  # fmt: skip
    return with_edges(record, _edges(database, row))


def _edges(database: Database, row: Row) -> Iterator[tuple[str, str]]:
    for one in database.find("edges", from_obs_id=row["id"]):
        if not (one.get("invalid_at") or one.get("valid_until")):
            yield one["relation_type"], _key(one["to_obs_id"])
    for one in database.find("memory_relations", source_id=row.get("sync_id")):
        if one.get("judgment_status", "judged") == "judged" and one["relation"] != "not_conflict":
            for end in database.find("observations", sync_id=one["target_id"]):
                yield _KINDS.get(one["relation"], one["relation"]), _key(end["id"])
