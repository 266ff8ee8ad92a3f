"""Gemini CLI: its chats, whole files of JSON or, since 2026, logs of what was added and taken back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cortex.importers.archive import Archive
from cortex.importers.chats import turns
from cortex.importers.item import ForeignItem, ForeignTurn, Row

_NAMES = r"\.jsonl?$"
_HEAD = r'(?s)^\s*\{(?=.{0,1000}"sessionId").{0,1000}"projectHash"'
_MACHINE = r"\W*?(?:text\W+?)?(?:<session_context>|<state_snapshot>|System: Please continue)"


def accepts(path: str) -> bool:
    """Whether it is a chat, or a folder with chats."""
    return turns.holds(path, _NAMES, _HEAD)


def read(path: str) -> Iterator[ForeignItem]:
    """Its sessions, of each the newest state."""
    return turns.read_newest(path, _NAMES, _load)


def _load(archive: Archive, name: str) -> Iterator[ForeignItem]:
    if not re.match(_HEAD, text := archive.read(name)):
        return
    try:
        lines = [json.loads(text)]
    except ValueError:
        *whole, last = text.rstrip("\n").split("\n")
        # The last line may be half written.
        lines = [json.loads(line) for line in (*whole, *([last] if last.endswith("}") else []))]
    row, messages = dict[str, Any](), dict[str, Row]()
    for line in lines:  # what was compressed for the model stays
        ids, back = list(messages), line.get("$rewindTo")
        for id_ in ids[ids.index(back) :] if back in ids else ():
            del messages[id_]
        told = {"messages": [line]} if "type" in line else line.get("$set", line)
        messages |= {one["id"]: one for one in told.get("messages", ())}
        row |= told
    root = Path(archive.root, *([name] if Path(archive.root).is_dir() else [])).parent.parent
    marker, known = root / ".project_root", [*row.get("directories", ()), ""]
    folder = marker.read_text("utf-8", "replace").strip() if marker.is_file() else known[0]
    said, at = (_message(one, row) for one in messages.values()), row.get("startTime")
    about = {"title": row.get("summary"), "ended": row.get("lastUpdated"), "at": at}
    yield from turns.session(row["sessionId"], said, folder=folder, **about)


def _message(one: Row, about: Row) -> ForeignTurn:
    content, is_person = one.get("displayContent") or one.get("content"), one["type"] == "user"
    words = content if isinstance(content, list) else [content]
    # What a subagent is asked is no person's word.
    is_asked = is_person and about.get("kind") == "subagent"
    is_machine = is_asked or one["type"] not in ("user", "gemini") or re.match(_MACHINE, str(words))
    calls, told = one.get("toolCalls") or (), ("name", "args", "status", "result")
    at, shown = one.get("timestamp"), [] if is_machine else words
    return turns.message(one["id"], at, is_person, shown, (map(one.get, told) for one in calls))
