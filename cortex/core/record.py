"""The living note that an event became: its types, its id, its first form."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core import emit
from cortex.core.text import short_hash, slug

# Kinds of record that Cortex itself makes or offers a template for; people may write any other type by hand.
RECORD_TYPES = (
    "decision", "rejection", "pattern", "gotcha", "learning", "discovery", "bugfix", "architecture", "config",
    "preference", "question", "context", "progress", "reference", "meeting", "action", "plan", "note",
)  # fmt: skip

# The word before a colon with which a person says what a capture is.
LEADING_WORDS = {
    **{type_: type_ for type_ in RECORD_TYPES},
    "decided": "decision", "rejected": "rejection", "learned": "learning", "lesson": "learning", "til": "learning",
    "discovered": "discovery", "bug": "bugfix", "fix": "bugfix", "fixed": "bugfix", "todo": "action",
}  # fmt: skip


_BLANK_LINES = "\n"  # around a body; the blanks that begin a line of code are part of it


class Record(NamedTuple):
    """A record as normalization first writes it. Empty fields are not written; from then on it is a person's note."""

    id: str
    type: str
    title: str
    body: str
    created: str
    events: tuple[str, ...]
    status: str = "active"
    project: str = ""
    branch: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    owner: str = ""
    due: str = ""
    relations: tuple[tuple[str, str], ...] = ()  # (kind, record id)


def record_id(title: str, event: str, ordinal: int = 0) -> str:
    """The id of the `ordinal`-th record of an event: the same on every clone, unlike a counter."""
    return f"{slug(title)}-{short_hash(f'{event}/{ordinal}')}"


def provenance(events: tuple[str, ...], session: str) -> dict[str, emit.Value]:
    """The block that says which events a record came from; oldest first, so that its lines merge."""
    block: dict[str, emit.Value] = {"events": sorted(events)}
    return block | {"session": session} if session else block


def compose(record: Record) -> str:
    fields: dict[str, emit.Value] = {
        "id": record.id,
        "type": record.type,
        "title": record.title,
        "status": record.status,
        "scope": "project" if record.project else "personal",
        "project": record.project,
        "branch": record.branch,
        "tags": record.tags,
        "owner": record.owner,
        "due": record.due,
        "created": record.created,
        "updated": record.created,
        "relations": [{"kind": kind, "to": f"[[{to}]]"} for kind, to in record.relations],
        "provenance": provenance(record.events, record.session),
    }
    return f"{emit.frontmatter(fields)}\n{record.body.strip(_BLANK_LINES)}\n"
