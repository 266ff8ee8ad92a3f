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
_MACHINE_STARTS = "<session_context>", "<state_snapshot>", "System: Please continue"


def accepts(path: str) -> bool:
    """Whether it is a chat, or a folder with chats."""
    return turns.holds(path, _NAMES, _HEAD)


def read(path: str) -> Iterator[ForeignItem]:
    """Its sessions, of each the newest state."""
    return turns.make_items(turns.read_newest(path, _NAMES, _load), _session)


def _load(archive: Archive, name: str) -> Iterator[Row]:
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
    marker, state = root / ".project_root", f"{row.get('lastUpdated')} {len(messages):9}"
    folder = marker.read_text("utf-8", "replace").strip() if marker.is_file() else ""
    messages_ = list(messages.values())
    yield {**row, "id": row["sessionId"], "state": state, "folder": folder, "messages": messages_}


def _session(row: Row) -> Iterator[ForeignItem]:
    messages = list[ForeignTurn]()
    for one in row["messages"]:
        text = turns.text_of(one.get("displayContent") or one.get("content"))
        is_person = one["type"] == "user"
        # What a subagent is asked is no person's word.
        is_machine = is_person and (
            row.get("kind") == "subagent" or text.startswith(_MACHINE_STARTS)
        )
        words = [text] if one["type"] in ("user", "gemini") and not is_machine else []
        told = (
            map(call.get, ("name", "args", "status", "result")) for call in one.get("toolCalls", ())
        )
        messages.append(turns.message(one["id"], one.get("timestamp"), is_person, words, told))
    folder = row["folder"] or (row.get("directories") or [""])[0]
    about = {"title": row.get("summary"), "folder": folder, "at": row.get("startTime")}
    return turns.session(row["id"], messages, **about)
