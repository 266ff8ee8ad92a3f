"""claude-mem: an agent's sessions, named as its host names them, and what was observed in them."""

from __future__ import annotations

from collections.abc import Iterator

from cortex.core.model.problem import InvalidInputError
from cortex.core.model.turn_summary import USER, Utterance
from cortex.importers import item
from cortex.importers.database import Database, database_in, is_database, open_database, text_list
from cortex.importers.item import ForeignItem, ForeignTurn, Row, items_of

_FILE = "claude-mem.db"
_SUMMARY_PARTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")


def accepts(path: str) -> bool:
    """Whether a file is a database of claude-mem, or a folder holds one."""
    return is_database(database_in(path, _FILE), "sdk_sessions", "observations")


def read(path: str) -> Iterator[ForeignItem]:
    """Its sessions with prompts and summaries, then its observations."""
    with open_database(database_in(path, _FILE)) as database:
        # As its host and as the program itself name a session; since schema 17, and before.
        new = "content_session_id", "memory_session_id"
        old = "claude_session_id", "sdk_session_id"
        columns = set(database.columns("sdk_sessions"))
        names = new if columns.issuperset(new) else old
        if not columns.issuperset(names) or "type" not in database.columns("observations"):
            steps = [row["version"] for row in database.rows("schema_versions", "version")]
            message = f"{path} is of no known version of claude-mem: schema {max(steps, default=0)}"
            raise InvalidInputError(message, "cortex import --help")
        rows, observations = database.rows("sdk_sessions"), database.rows("observations")
        yield from items_of(rows, lambda row: _session(database, row, *names), "session")
        yield from items_of(observations, lambda row: _record(database, row, *names), "observation")


def _session(database: Database, row: Row, content: str, memory: str) -> item.ForeignSession | None:
    turns = [
        ForeignTurn(
            f"prompt {one['id']}", one["created_at"], (Utterance(USER, one["prompt_text"]),)
        )
        for one in database.find("user_prompts", **{content: row[content]})
        if one.get("session_db_id") in (None, row["id"])  # two programs may use one name
    ]
    if not turns and row["user_prompt"]:  # before schema 10 a session held its first prompt alone
        turns = [ForeignTurn("prompt", row["started_at"], (Utterance(USER, row["user_prompt"]),))]
    for one in database.find("session_summaries", **{memory: row[memory]}):
        parts = ((name.replace("_", " ").capitalize(), one.get(name)) for name in _SUMMARY_PARTS)
        text = "\n\n".join(f"**{name}**: {said.strip()}" for name, said in parts if said)
        files = text_list(one.get("files_edited"))
        turns.append(ForeignTurn(f"summary {one['id']}", one["created_at"], (), files, (), text))
    return item.ForeignSession(
        key=row[content], turns=tuple(sorted(turns, key=lambda turn: str(turn.at))),
        title=row.get("custom_title") or "", host=row.get("platform_source") or "",
        project=row["project"] or "", at=row["started_at"], goal=row["user_prompt"] or "",
        ended=row["completed_at"],
    ) if turns else None  # fmt: skip


def _record(database: Database, row: Row, content: str, memory: str) -> item.ForeignRecord:
    sessions = database.find("sdk_sessions", **{memory: row[memory]})
    session = next(sessions, {}).get(content) or row[memory] or ""
    facts = "\n".join(f"- {fact}" for fact in text_list(row.get("facts")))
    touched = (text_list(row.get(name)) for name in ("files_modified", "files_read"))
    files = ", ".join(dict.fromkeys(f"`{one}`" for some in touched for one in some))
    parts = (row.get("subtitle"), row.get("narrative") or row.get("text"), facts, files)
    return item.ForeignRecord(
        f"observation {row['id']}", row.get("title") or "",
        "\n\n".join(part.strip() for part in parts if part and part.strip()), row["type"] or "note",
        at=row["created_at"], project=row.get("merged_into_project") or row["project"] or "",
        session="" if session.startswith("manual-") else session,
        tags=text_list(row.get("concepts")),
    )  # fmt: skip
