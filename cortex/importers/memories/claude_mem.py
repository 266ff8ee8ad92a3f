"""claude-mem: what an agent's sessions were, and what was observed in them.

A session is named as its host names it (`content_session_id`); its prompts and summaries become turns.
"""

from __future__ import annotations

from collections.abc import Iterator

from cortex.core.model.problem import InvalidInputError
from cortex.core.model.turn_summary import USER, Utterance
from cortex.importers.database import Database, database_in, is_database, open_database, text_list
from cortex.importers.item import (
    ForeignItem,
    ForeignRecord,
    ForeignSession,
    ForeignTurn,
    Row,
    When,
    items_of,
)

_FILE = "claude-mem.db"
_NAMES = (
    ("content_session_id", "memory_session_id"),  # since schema 17
    ("claude_session_id", "sdk_session_id"),
)
_SUMMARY_PARTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_OWN_PROJECT = "observer-sessions"  # of the program's own calls of a model


def accepts(path: str) -> bool:
    """Whether a file is a database of claude-mem, or a folder holds one."""
    return is_database(database_in(path, _FILE), "sdk_sessions", "observations")


def read(path: str) -> Iterator[ForeignItem]:
    """Its sessions with prompts and summaries, then its observations."""
    with open_database(database_in(path, _FILE)) as database:
        columns = set(database.columns("sdk_sessions"))
        names = next((pair for pair in _NAMES if columns.issuperset(pair)), None)
        if not names or "type" not in database.columns("observations"):
            raise InvalidInputError(
                f"{path} is of a version of claude-mem that is not known: {_version(database)}",
                "cortex import --help",
            )
        observations = database.rows("observations")
        yield from items_of(
            database.rows("sdk_sessions"), lambda row: _session(database, row, *names), "session"
        )
        yield from items_of(observations, lambda row: _record(database, row, *names), "observation")


def _version(database: Database) -> str:
    """The last step of its migrations."""
    steps = [str(row["version"]) for row in database.rows("schema_versions", "version")]
    return f"schema {steps[-1]}" if steps else "no schema number"


def _session(database: Database, row: Row, content: str, memory: str) -> ForeignSession | None:
    where, values = f"{content} = ?", (row[content],)
    if "session_db_id" in database.columns("user_prompts"):  # two programs may use one name
        where, values = f"{where} AND coalesce(session_db_id, ?) = ?", (*values, *[row["id"]] * 2)
    said = list(database.rows("user_prompts", "id", where, values))
    told = list(database.rows("session_summaries", "id", f"{memory} = ?", (row[memory],)))
    if not said and row["user_prompt"]:  # before version 10 a session held its first prompt alone
        said = [
            {"id": 0, "prompt_text": row["user_prompt"], "created_at_epoch": _at(row, "started")}
        ]
    turns = [
        *(_turn(f"prompt {one['id']}", one, words=one["prompt_text"]) for one in said),
        *(_turn(f"summary {one['id']}", one, summary=_summary(one)) for one in told),
    ]
    if not turns or row["project"] == _OWN_PROJECT:
        return None
    return ForeignSession(
        key=row[content],
        turns=tuple(sorted(turns, key=lambda turn: turn.at or 0)),
        title=row.get("custom_title") or "",
        host=row.get("platform_source") or "",
        project=row["project"] or "",
        at=_at(row, "started"),
        goal=row["user_prompt"] or "",
        ended=_at(row, "completed"),
    )


def _at(row: Row, name: str) -> When:
    """A time in milliseconds, or as a text where that lacks."""
    return row.get(f"{name}_at_epoch") or row.get(f"{name}_at")


def _turn(key: str, row: Row, words: str = "", summary: str = "") -> ForeignTurn:
    said = (Utterance(USER, words),) if words else ()
    files = text_list(row.get("files_edited"))
    return ForeignTurn(key, _at(row, "created"), said, files, summary=summary)


def _summary(row: Row) -> str:
    parts = ((name.replace("_", " ").capitalize(), row.get(name)) for name in _SUMMARY_PARTS)
    return "\n\n".join(f"**{name}**: {text.strip()}" for name, text in parts if text)


def _record(database: Database, row: Row, content: str, memory: str) -> ForeignRecord | None:
    if row["project"] == _OWN_PROJECT:
        return None
    sessions = database.rows("sdk_sessions", "id", f"{memory} = ?", (row[memory],))
    session = next(sessions, {}).get(content) or row[memory] or ""
    facts = "\n".join(f"- {fact}" for fact in text_list(row.get("facts")))
    changed, seen = (text_list(row.get(name)) for name in ("files_modified", "files_read"))
    touched = [
        f"{word}: " + ", ".join(f"`{file}`" for file in files)
        for word, files in (("Changed", changed), ("Read", seen))
        if files
    ]
    parts = (row.get("subtitle"), row.get("narrative") or row.get("text"), facts, *touched)
    return ForeignRecord(
        key=f"observation {row['id']}",
        title=row.get("title") or "",
        body="\n\n".join(part.strip() for part in parts if part and part.strip()),
        type=row["type"] or "note",
        at=_at(row, "created"),
        project=row.get("merged_into_project") or row["project"] or "",
        session="" if str(session).startswith("manual-") else session,
        tags=text_list(row.get("concepts")),
    )
