"""opencode: sessions of its database, of its older folder of JSON files, and exported ones."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cortex.core.model.problem import InvalidInputError
from cortex.importers.archive import Archive
from cortex.importers.chats import turns
from cortex.importers.database import Database, database_in, is_database, open_database
from cortex.importers.item import ForeignItem, ForeignTurn, Row, items_of

_NAMES = r"^(?!(?:.*/)?(?:message|part|session_diff)/).*\.jsonl?$"
_BEGINNING = r'^\s*\{\s*"(?:info"\s*:\s*\{|id"\s*:\s*"ses_)'
_TABLES = "session", "message", "part"
_HINT = "opencode export SESSION > session.json, then cortex import opencode session.json"


def accepts(path: str) -> bool:
    """Whether it is its database, its folder, or holds exported sessions."""
    file = database_in(path, "opencode.db")
    return is_database(file, *_TABLES) or turns.holds(path, _NAMES, _BEGINNING)


def read(path: str) -> Iterator[ForeignItem]:
    """Its sessions: of the database, else of files, which an older database was made of."""
    if not is_database(file := database_in(path, "opencode.db"), *_TABLES):
        yield from turns.read_newest(path, _NAMES, _load)
        return
    with open_database(file) as database:
        if "data" not in database.columns("part"):
            raise InvalidInputError(f"{file} is of an unknown version of opencode", _HINT)
        rows = database.rows("session", "time_created, id")
        yield from items_of(rows, lambda row: next(_of_database(database, row), None), "session")


def _load(archive: Archive, name: str) -> Iterator[ForeignItem]:
    file = Path(archive.root) if archive.root.endswith(name) else Path(archive.root, name)

    def load(table: str, id_: str) -> list[Row]:
        files = sorted(file.parents[2].joinpath(table, id_).glob("*.json"))
        return [json.loads(one.read_text("utf-8", "replace")) for one in files]

    if re.match(_BEGINNING, text := archive.read(name)):
        row = json.loads(text)
        is_whole = "info" in row
        yield from _session(row["info"], row["messages"]) if is_whole else _whole(row, load)


def _of_database(database: Database, row: Row) -> Iterator[Any]:
    def load(table: str, id_: str) -> list[Row]:
        owner = "message_id" if table == "part" else "session_id"
        rows = database.rows(table, "time_created, id", f"{owner} = ?", (id_,))
        return [{**json.loads(one["data"]), "id": one["id"]} for one in rows]

    if not load("message", row["id"]) and load("session_message", row["id"]):
        raise ValueError(f"it has a form that is not known yet: {_HINT}")
    times = {"created": row["time_created"], "updated": row["time_updated"]}
    revert = json.loads(row.get("revert") or "{}")
    return _whole({**row, "time": times, "parentID": row.get("parent_id"), "revert": revert}, load)


def _whole(info: Row, load: Callable[[str, str], list[Row]]) -> Iterator[ForeignItem]:
    """A session with what `load` gives of the messages of its id, and of the parts of each."""
    infos = load("message", info["id"])
    return _session(info, [{"info": one, "parts": load("part", one["id"])} for one in infos])


def _session(info: Row, rows: list[Row]) -> Iterator[ForeignItem]:
    messages = list[ForeignTurn]()
    for about, parts in ((one["info"], one["parts"]) for one in rows):
        if about.get("id", "") == (info.get("revert") or {}).get("messageID"):
            break  # the person took back what follows
        is_person = about.get("role") == "user"
        # What a subagent is asked, and a summary of what was said before, is of the machine.
        is_machine = (is_person and info.get("parentID")) or about.get("summary") is True
        texts = (one for one in parts if one.get("type") == "text" and not is_machine)
        words = (one for one in texts if not (one.get("synthetic") or one.get("ignored")))
        tools = (one | (one.get("state") or {}) for one in parts if one.get("type") == "tool")
        exits = ({**one, "exit": (one.get("metadata") or {}).get("exit")} for one in tools)
        calls = (map(one.get, ("tool", "input", "status", "exit")) for one in exits)
        at = about.get("time", {}).get("created")
        messages.append(turns.message(str(about.get("id")), at, is_person, words, calls))
    at, ended = map(info.get("time", {}).get, ("created", "updated"))
    title, folder = info.get("title"), info.get("directory")
    return turns.session(info["id"], messages, title=title, folder=folder, at=at, ended=ended)
