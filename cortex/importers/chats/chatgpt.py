"""ChatGPT: the conversations of an export, of each the branch that is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cortex.importers.chats import turns
from cortex.importers.item import ForeignItem, ForeignTurn, Row, items_of

_NAMES = r"(?:^|/)conversations[^/]*\.json$"  # of a long one conversations-000.json, …


def accepts(path: str) -> bool:
    """Whether it is such an export: a zip, a folder, or a file of its conversations."""
    return turns.holds(path, _NAMES, r'"mapping"\s*:')


def read(path: str) -> Iterator[ForeignItem]:
    """Its conversations, without hidden messages and those of tools. Files are named, not taken."""
    return turns.read_files(path, _NAMES, turns.load_rows, _conversation)


def _conversation(row: Row) -> Iterator[ForeignItem]:
    pairs, shown = row["mapping"].items(), list[Row]()
    nodes = {key: one if isinstance(one, dict) else {"message": one} for key, one in pairs}
    parents = {child: key for key, one in nodes.items() for child in one.get("children") or ()}
    leaves = (key for key in reversed(nodes) if not nodes[key].get("children"))
    leaf = row.get("current_node") if row.get("current_node") in nodes else next(leaves, None)
    while node := nodes.pop(leaf, None):  # each once, even if they go in a circle
        if said := node.get("message"):
            said = said if isinstance(said, dict) else {}
            shown.insert(0, {**said, "id": said.get("id") or leaf})
        leaf = node.get("parent") or parents.get(leaf)
    key, title = row.get("conversation_id") or row["id"], row.get("title")
    told = items_of(shown, _message, f"{title or key}: message")
    return turns.session(key, told, title=title, at=row.get("create_time"))


def _message(one: Row) -> ForeignTurn:
    role, about = one["author"]["role"], one.get("metadata") or {}
    content = one.get("content") or {}
    is_said = role in ("user", "assistant") and one.get("recipient", "all") == "all"
    is_text = content.get("content_type") in ("text", "multimodal_text")
    is_hidden = about.get("is_visually_hidden_from_conversation")
    parts = (content.get("parts") or []) if is_said and is_text and not is_hidden else []
    pointers = [part.get("asset_pointer") for part in parts if isinstance(part, dict)]
    files = [file.get("name") for file in about.get("attachments") or ()] if parts else []
    names = (f"[file: {name}]" for name in files or filter(None, pointers))
    # A mark of a citation stands between two characters of private use.
    texts = (part if isinstance(part, str) else (part or {}).get("text") or "" for part in parts)
    words = (re.sub("\ue200[^\ue201]{0,500}\ue201", "", text) for text in texts)
    return turns.message(one["id"], one.get("create_time"), role == "user", (*words, *names))
