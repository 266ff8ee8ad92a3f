"""Claude.ai: conversations, what projects are told, and what is remembered, of an export."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from cortex.importers.chats import turns
from cortex.importers.item import ForeignItem, ForeignRecord, ForeignTurn, Row, items_of

# Since 2026 each project and memory is a file of its own, and they lie in archives of their own.
_NAMES = r"(?:^|/)(?:conversations|projects|memories)(?:[^/]*|/[^/]+)\.json$"
_KEYS = r'"(?:chat_messages|prompt_template|docs|conversations_memory|project_memories)"\s*:'
_ROOT = "00000000-0000-4000"  # the parent of a first message
_MAX_FILE_CHARS = 20_000


def accepts(path: str) -> bool:
    """Whether it is such an export: a zip, a folder, or one of its files."""
    return turns.holds(path, _NAMES, _KEYS)


def read(path: str) -> Iterator[ForeignItem]:
    """Its conversations as sessions, the rest as records. Of files their texts are taken."""
    return turns.read_files(path, _NAMES, turns.load_rows, partial(_items, {}))


def _items(projects: dict[str, str], row: Row) -> Iterator[ForeignItem]:
    """What is made of an object. `projects` gets their names, which come before memories of them."""
    if "chat_messages" in row:
        rows = (one if isinstance(one, dict) else {} for one in row["chat_messages"])
        keyed = ((str(one.get("uuid") or place), one) for place, one in enumerate(rows, start=1))
        nodes, shown = {key: one | {"uuid": key} for key, one in keyed}, list[Row]()
        leaf = ["", *nodes][-1]
        while node := nodes.pop(leaf, None):  # where it has branches, that of the last message
            leaf, shown = str(node.get("parent_message_uuid") or ""), [node, *shown]
            leaf = leaf if leaf in nodes or leaf.startswith(_ROOT) else ["", *nodes][-1]
        title = row.get("name")
        said = items_of(shown, _message, f"{title or row['uuid']}: message", "uuid")
        yield from turns.session(row["uuid"], said, title=title, at=row.get("created_at"))
    elif "docs" in row or "prompt_template" in row:
        projects[row["uuid"]] = name = row["name"]
        prompt = {"filename": f"Instructions of {name}", "content": row.get("prompt_template")}
        for one in (row | prompt, *(row.get("docs") or ())):
            at, body = one.get("created_at") or row.get("created_at"), one.get("content") or ""
            if body.strip() and not row.get("is_starter_project"):
                title = one.get("filename") or ""
                yield ForeignRecord(one["uuid"], title, body, "reference", at, project=name)
    elif "conversations_memory" in row or "project_memories" in row:
        told = {"": row.get("conversations_memory"), **(row.get("project_memories") or {})}
        for key, text in told.items():
            topic, name = f"claude-ai/memory-{key}".rstrip("-"), projects.get(key, "")
            about = "What Claude.ai remembers", text or "", "reference"
            yield from [ForeignRecord(topic, *about, project=name, topic=topic)] if text else []
    else:
        raise ValueError(f"it has a form that is not known: {', '.join(row)[:200]}")


def _message(one: Row) -> ForeignTurn:
    # Another block is a thought, or of a tool; without any the text stands alone.
    texts = [part for part in one.get("content") or () if part.get("type") == "text"]
    attached = one.get("attachments") or ()
    files = (f"[file: {file.get('file_name')}]" for file in (*attached, *(one.get("files") or ())))
    words, is_person = (*(texts or [one]), *files), one["sender"] == "human"
    made = turns.message(one["uuid"], one.get("created_at"), is_person, words)
    return made._replace(given=tuple(filter(None, map(_text_of_file, attached))))


def _text_of_file(one: Row) -> str:
    text = str(one.get("extracted_content") or "").strip()
    fence = "~" * max([3, *(len(run) + 1 for run in re.findall("~{3,}", text))])
    some = f" (its first {_MAX_FILE_CHARS:,} of {len(text):,} characters)"
    some = some if len(text) > _MAX_FILE_CHARS else ""
    block = f"{fence}\n{text[:_MAX_FILE_CHARS]}\n{fence}"
    return f"[file: {one.get('file_name')}]{some}\n\n{block}" if text else ""
