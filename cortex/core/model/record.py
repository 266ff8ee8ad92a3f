"""The living note that an event became: its types, its id, its first form."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.notes import yaml_writer
from cortex.core.text.strings import short_hash, slugify

SCOPES = ("project", "personal", "global")

# Types of record that Cortex makes or has a template for; people may write any other.
RECORD_TYPES = (
    "decision", "rejection", "pattern", "gotcha", "learning", "discovery", "bugfix",
    "architecture", "config", "preference", "question", "context", "progress", "reference",
    "meeting", "action", "plan", "note",
)  # fmt: skip

# The word before a colon with which a person says what a capture is.
LEADING_WORDS = {
    **{type_: type_ for type_ in RECORD_TYPES},
    "decided": "decision", "rejected": "rejection", "learned": "learning", "lesson": "learning",
    "til": "learning", "discovered": "discovery", "bug": "bugfix", "fix": "bugfix",
    "fixed": "bugfix", "todo": "action",
}  # fmt: skip
# Further words for a type where one is asked for, but not at the beginning of a text.
_TYPE_WORDS = {
    **LEADING_WORDS, "decisions": "decision", "rejections": "rejection", "learnings": "learning",
    "lessons": "learning", "error": "bugfix", "convention": "pattern",
}  # fmt: skip
# The order of the fields of a new record; `core/merge/fields.py:KEY_ORDER` adds what verbs write later.
_KEY_ORDER = (
    "id", "type", "title", "status", "scope", "project", "branch", "topic", "tags", "date",
    "attendees", "owner", "due", "created", "updated", "confidence", "priority", "pinned",
    "supersedes", "relations", "provenance",
)  # fmt: skip


class Record(NamedTuple):
    """A record as normalization first writes it. Empty fields are not written."""

    id: str
    type: str
    title: str
    body: str
    created: str
    events: tuple[str, ...]
    status: str = "active"
    scope: str = ""  # project, personal or global; by default what the project says
    project: str = ""
    branch: str = ""
    topic: str = ""
    session: str = ""
    tags: tuple[str, ...] = ()
    owner: str = ""
    due: str = ""
    date: str = ""  # of a meeting: YYYY-MM-DD
    attendees: tuple[str, ...] = ()
    updated: str = ""  # by default when it was created
    confidence: str = ""  # 0 to 1, as somebody said it
    priority: str = ""  # 1 to 10, the same
    supersedes: tuple[str, ...] = ()  # record ids
    relations: tuple[tuple[str, str], ...] = ()  # (kind, record id)
    pinned: bool = False
    layer: str = ""  # of extraction that found it in an event; then the id is made of its text


def record_id(title: str, event: str, ordinal: int = 0) -> str:
    """The id of the `ordinal`-th record of an event: the same on every clone, unlike a counter."""
    return f"{slugify(title)}-{short_hash(f'{event}/{ordinal}')}"


def canonical_type(word: str) -> str:
    """The type that a word names (`rejected`: rejection); an unknown word is a type of its own."""
    return _TYPE_WORDS.get(word, word)


def is_record_type(word: str) -> bool:
    """True if a record may be of this type, which may be invented: it names a folder, and is
    neither session nor briefing."""
    return slugify(word, 40) == word and word not in ("session", "briefing")


def default_scope(project: str) -> str:
    """The scope of what nobody has given one."""
    return "project" if project else "personal"


def is_personal(scope: str, project: str) -> bool:
    """Whether somebody has said that a note is theirs alone: without a project that is only the
    default."""
    return scope == "personal" and bool(project)


def format_confidence(value: float) -> str:
    """A confidence as a record holds it: at most three decimals."""
    return f"{value:.3f}".rstrip("0").removesuffix(".")


def initial_status(type_: str) -> str:
    """The status with which a record of a type begins."""
    return "open" if type_ == "action" else "active"


def provenance_block(
    events: tuple[str, ...], session: str, layer: str = ""
) -> dict[str, yaml_writer.YamlValue]:
    """The provenance of a record; events oldest first, so that its lines merge."""
    block: dict[str, yaml_writer.YamlValue] = {"events": sorted(events)}
    return block | ({"session": session} if session else {}) | ({"layer": layer} if layer else {})


def relations_as_yaml(relations: tuple[tuple[str, str], ...]) -> list[yaml_writer.YamlValue]:
    return [{"kind": kind, "to": f"[[{to}]]"} for kind, to in relations]


def compose_record(record: Record) -> str:
    """The record as a note: its frontmatter, then its body without blank lines around it."""
    values: dict[str, yaml_writer.YamlValue] = record._asdict() | {
        "scope": record.scope or default_scope(record.project),
        "updated": record.updated or record.created,
        "pinned": record.pinned or None,
        "relations": relations_as_yaml(record.relations),
        "provenance": provenance_block(record.events, record.session, record.layer),
    }
    frontmatter = yaml_writer.frontmatter({key: values[key] for key in _KEY_ORDER})
    body = record.body.strip("\n")  # not the blanks that begin a line of code
    return f"{frontmatter}\n{body}\n"
