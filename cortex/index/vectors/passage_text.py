"""What of a note gets vectors: each of its passages, with the words that say what it is about."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from cortex.core.markdown.passages import passages
from cortex.core.model.note_status import TIER_TRAIL

if TYPE_CHECKING:
    from cortex.index.note_summary import NoteSummary

KEY_BYTES = 16
NO_KEY = bytes(KEY_BYTES)  # of a passage that says nothing
_MAX_CHARS = 1200  # of a text; a model reads about as much


def passage_texts(note: NoteSummary) -> list[str]:
    """The text of each passage that the full-text index has of a note, in the same order; none of
    pages and events that only repeat others."""
    found = passages(note.body)
    if not found:
        return [note.title] if note.tier != TIER_TRAIL else []
    heads = ("\n".join(dict.fromkeys([note.title, *one.around.split("\n")])) for one in found)
    return [f"{head}\n{one.text}"[:_MAX_CHARS] for head, one in zip(heads, found, strict=True)]


def passage_keys(note: NoteSummary) -> bytes:
    """The keys of the passages, one after the other. Equal texts have equal keys."""
    return b"".join(map(text_key, passage_texts(note)))


def text_key(text: str) -> bytes:
    """The key of a text's vector."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=KEY_BYTES).digest() if text.strip() else NO_KEY
