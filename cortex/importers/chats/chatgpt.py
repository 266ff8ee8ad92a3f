"""ChatGPT: the conversations of an export, of each the branch that is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cortex.importers.chats import turns
from cortex.importers.item import ForeignItem, ForeignTurn, Row

_NAMES = r"(?:^|/)conversations[^/]*\.json$"  # of a long one conversations-000.json, …


def accepts(path: str) -> bool:
    """Whether it is such an export: a zip, a folder, or a file of its conversations."""
    return turns.holds(path, _NAMES, r'"mapping"\s*:')


def read(path: str) -> Iterator[ForeignItem]:
    """Its conversations, without hidden messages and those of tools. Files are named, not taken."""
    return turns.make_items(turns.read_rows(path, _NAMES), _conversation)


def _conversation(row: Row) -> Iterator[ForeignItem]:
    nodes = row["mapping"]
    leaves = (key for key in reversed(nodes) if not nodes[key].get("children"))
    leaf = row.get("current_node") or next(leaves, None)
    keys = turns.branch_to(leaf, {key: one.get("parent") for key, one in nodes.items()})
    shown = (nodes[key]["message"] for key in keys if nodes[key].get("message"))
    key, about = row.get("conversation_id") or row["id"], {"title": row.get("title")}
    return turns.session(key, map(_message, shown), at=row.get("create_time"), **about)


def _message(one: Row) -> ForeignTurn:
    content, about, role = (
        one.get("content") or {},
        one.get("metadata") or {},
        one["author"]["role"],
    )
    is_said = role in ("user", "assistant") and one.get("recipient", "all") == "all"
    is_text = content.get("content_type") in ("text", "multimodal_text")
    is_hidden = about.get("is_visually_hidden_from_conversation")
    parts = (content.get("parts") or []) if is_said and is_text and not is_hidden else []
    pointers = [part.get("asset_pointer") for part in parts if isinstance(part, dict)]
    files = [file.get("name") for file in about.get("attachments") or ()] if parts else []
    names = (f"[file: {name}]" for name in files or filter(None, pointers))
    # A mark of a citation stands between two characters of private use.
    text = re.sub("\ue200[^\ue201]{0,500}\ue201", "", turns.text_of(parts))
    return turns.message(one["id"], one.get("create_time"), role == "user", (text, *names))
