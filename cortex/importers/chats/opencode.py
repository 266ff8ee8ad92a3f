"""opencode: sessions of its database, of its older folder of JSON files, and exported ones.

A subagent's session is one of its own; what its agent was asked is no person's word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cortex.core.model.problem import InvalidInputError
from cortex.importers.archive import Archive
from cortex.importers.chats import turns
from cortex.importers.database import Database, database_in, is_database, open_database
from cortex.importers.item import ForeignItem, ForeignTurn, Row

_NAMES = r"^(?!(?:.*/)?(?:message|part|session_diff)/).*\.jsonl?$"
_EXPORTED = r'^\s*\{\s*"info"\s*:\s*\{'
_STORED = r'^\s*\{\s*"id"\s*:\s*"ses_'
_HINT = "opencode export SESSION > session.json, then cortex import opencode session.json"


def accepts(path: str) -> bool:
    """Whether it is its database, its folder, or holds exported sessions."""
    return bool(_database(path)) or turns.holds(path, _NAMES, f"{_EXPORTED}|{_STORED}")


def read(path: str) -> Iterator[ForeignItem]:
    """Its sessions: of the database, else of files, which an older database was made of."""
    if not (file := _database(path)):
        yield from turns.make_items(turns.read_newest(path, _NAMES, _load), _session)
        return
    with open_database(file) as database:
        if "data" not in database.columns("part"):
            raise InvalidInputError(f"{file} is of an unknown version of opencode", _HINT)
        rows = database.rows("session", "time_created, id")
        yield from turns.make_items(rows, partial(_of_database, database))


def _database(path: str) -> str:
    file = database_in(path, "opencode.db")
    return file if is_database(file, "session", "message", "part") else ""


def _load(archive: Archive, name: str) -> Iterator[Row]:
    def load(table: str, id_: str) -> list[Row]:
        files = sorted(Path(archive.root, name).parents[2].joinpath(table, id_).glob("*.json"))
        return [json.loads(one.read_text("utf-8", "replace")) for one in files]

    text = archive.read(name)
    if re.match(f"{_EXPORTED}|{_STORED}", text):
        found = json.loads(text)
        row = found if "messages" in found else _whole(found, load)
        info, times = row["info"], row["info"].get("time", {})
        # What redacts exported sessions may give several one id.
        state = f"{times.get('updated')} {len(row['messages']):9}"
        yield {**row, "id": f"{info['id']} {times.get('created')}", "state": state}


def _of_database(database: Database, row: Row) -> Iterator[ForeignItem]:
    def load(table: str, id_: str) -> list[Row]:
        owner = "message_id" if table == "part" else "session_id"
        rows = database.rows(table, "time_created, id", f"{owner} = ?", (id_,))
        return [{**json.loads(one["data"]), "id": one["id"]} for one in rows]

    if not load("message", row["id"]) and load("session_message", row["id"]):
        raise ValueError(f"it has a form that is not known yet: {_HINT}")
    info = {**row, "time": {"created": row["time_created"]}, "parentID": row.get("parent_id")}
    return _session(_whole({**info, "revert": json.loads(row.get("revert") or "{}")}, load))


def _whole(info: Row, load: Callable[[str, str], list[Row]]) -> Row:
    """A session with what `load` gives of the messages of its id, and of the parts of each."""
    infos = load("message", info["id"])
    messages = [{"info": one, "parts": load("part", one["id"])} for one in infos]
    return {"info": info, "messages": messages}


def _session(row: Row) -> Iterator[ForeignItem]:
    info, messages = row["info"], list[ForeignTurn]()
    for about, parts in ((one["info"], one["parts"]) for one in row["messages"]):
        if about.get("id", "") == (info.get("revert") or {}).get("messageID"):
            break  # the person took back what follows
        is_person = about.get("role") == "user"
        # What a subagent is asked, and a summary of what was said before, is of the machine.
        is_machine = (is_person and info.get("parentID")) or about.get("summary") is True
        texts = (one for one in parts if one.get("type") == "text" and not is_machine)
        words = (one["text"] for one in texts if not (one.get("synthetic") or one.get("ignored")))
        tools = ((one["tool"], one["state"]) for one in parts if one.get("type") == "tool")
        calls = (
            (tool, state.get("input"), state["status"], (state.get("metadata") or {}).get("exit"))
            for tool, state in tools
        )
        at = about.get("time", {}).get("created")
        messages.append(turns.message(str(about.get("id")), at, is_person, words, calls))
    about = {"title": info.get("title"), "folder": info.get("directory")}
    return turns.session(info["id"], messages, at=info.get("time", {}).get("created"), **about)
