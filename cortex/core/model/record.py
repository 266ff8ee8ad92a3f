"""The living note that an event became: its types, its id, and its form as a file."""

from __future__ import annotations

import re

from cortex.core.model.note_form import EVENTS, LAYER, NESTED, SESSION, NoteForm, event_links
from cortex.core.model.note_status import KEY_ORDER, join_heading, split_heading
from cortex.core.model.relation import inverse_of
from cortex.core.text import yaml_writer
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import close_matches, one_line, short_hash, slugify, text_digest
from cortex.core.text.value import NamedTuple, TypeAlias

SCOPES = ("project", "personal", "global")
ONE_PERSONS_SCOPES = ("personal", "global")  # kept in the vault of a person, not of a project

# Types of record that Cortex makes or has a template for; people may write any other.
RECORD_TYPES = (
    "decision", "rejection", "pattern", "gotcha", "learning", "discovery", "bugfix",
    "architecture", "config", "preference", "question", "context", "progress", "reference",
    "meeting", "action", "plan", "note",
)  # fmt: skip

_NAMED_ID_RE = lazy_re(r"([a-z0-9-]+)-([a-z2-7]{6})")
# The word before a colon with which a person says what a capture is.
_LEADING_WORDS = {
    **{type_: type_ for type_ in RECORD_TYPES},
    "decided": "decision", "rejected": "rejection", "learned": "learning", "lesson": "learning",
    "til": "learning", "discovered": "discovery", "bug": "bugfix", "fix": "bugfix",
    "fixed": "bugfix", "todo": "action",
}  # fmt: skip
# Further words for a type where one is asked for, but not at the beginning of a text.
_TYPE_WORDS = {
    **_LEADING_WORDS, "decisions": "decision", "rejections": "rejection", "learnings": "learning",
    "lessons": "learning", "error": "bugfix", "convention": "pattern", "code": "code", "code_description": "code-description", "code-description": "code-description",
}  # fmt: skip
_SOURCE_RE = lazy_re(r"From \[\[([^\]|\n]+)\|[^\]\n]*\]\]\.")
_MAX_REPEATED_TITLES = 5
_Values: TypeAlias = dict[str, yaml_writer.YamlValue]
_LEADING_WORD_RE = lazy_re(r"[#>*\-\s]*([A-Za-z]{2,20})(?:\*\*)?:(?:\*\*)?\s+(?=\S)")


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
    date: str = ""  # of a meeting, and of what came of it: YYYY-MM-DD
    attendees: tuple[str, ...] = ()
    updated: str = ""  # by default when it was created
    confidence: str = ""  # 0 to 1, as somebody said it
    priority: str = ""  # 1 to 10, the same
    supersedes: tuple[str, ...] = ()  # record ids
    relations: tuple[tuple[str, str], ...] = ()  # (kind, record id)
    pinned: bool = False
    layer: str = ""  # of extraction that found it in an event; then the id is made of its text
    session_note: str = ""  # the file name, without `.md`, of the note of its session
    superseded_by: str = ""  # a record id
    imported_from: str = ""  # the source that it was imported from, and its name there


class SimilarRecord(NamedTuple):
    """A record that may say the same, or the opposite."""

    id: str
    title: str
    similarity: float  # of the titles, 0 to 1


class MadeRecord(NamedTuple):
    """A record that an event made or changed."""

    id: str
    path: str  # relative to the vault
    file: str  # absolute path
    title: str
    type: str
    topic: str
    outcome: str  # created, updated or duplicate
    owner: str  # of an action
    due: str
    similar: tuple[SimilarRecord, ...]  # none are looked for beside a duplicate
    contradicts: tuple[SimilarRecord, ...]
    status: str = ""


def record_id(title: str, event: str, ordinal: int = 0) -> str:
    """The id of the `ordinal`-th record of an event: the same on every clone, unlike a counter."""
    return f"{slugify(title)}-{short_hash(f'{event}/{ordinal}')}"


def canonical_type(word: str) -> str:
    """The type that a word names (`rejected`: rejection); an unknown word is a type of its own."""
    return _TYPE_WORDS.get(word, word)


def intended_type(word: str) -> str:
    """The type that an unknown word is likely a slip of the keyboard for (`decison`: decision);
    empty for a known word, and for one that is like none."""
    near = close_matches(word, _TYPE_WORDS, 1, 0.8) if word not in _TYPE_WORDS else []
    return canonical_type(near[0]) if near else ""


def split_leading_word(line: str) -> tuple[str, str]:
    """The type that a word before a colon at the beginning of a line names, and the rest of the
    line; ("", line) where no such word begins it."""
    lead = _LEADING_WORD_RE.match(line)
    type_ = _LEADING_WORDS.get(lead[1].lower(), "") if lead else ""
    return (type_, line[lead.end() :]) if lead and type_ else ("", line)


def is_record_type(word: str) -> bool:
    """True if a record may be of this type: the name of a folder, but no session or briefing."""
    return slugify(word, 40) == word and word not in ("session", "briefing")


def default_scope(project: str) -> str:
    """The scope of what nobody has given one."""
    return "project" if project else "personal"


def format_confidence(value: float) -> str:
    """A confidence as a record holds it: at most three decimals."""
    return f"{value:.3f}".rstrip("0").removesuffix(".")


def initial_status(type_: str) -> str:
    """The status with which a record of a type begins."""
    return "open" if type_ == "action" else "active"


def _origin_of(record: Record, form: NoteForm, events: list[str]) -> _Values:
    """The fields of a vault's form that say where a record came from: its events, its session, by a
    link to the session's note where that is known, and the layer."""
    linked = f"[[{record.session_note}|{record.session}]]" if record.session_note else ""
    said = {EVENTS: events, SESSION: linked or record.session, LAYER: record.layer}
    origin: _Values = {key: one for key, one in said.items() if one}
    if form.is_flat:
        return flat_values(record, form, origin)
    return {**dict.fromkeys(said), "provenance": origin}


def _relation_fields(relations: tuple[tuple[str, str], ...]) -> _Values:
    """A list of wikilinks for each kind of relation; those of invented kinds in `relations`."""
    fields: dict[str, list[yaml_writer.YamlValue]] = {}
    for kind, to in dict.fromkeys(relations):
        if inverse_of(kind):
            fields.setdefault(kind, []).append(f"[[{to}]]")
        else:
            fields.setdefault("relations", []).append({"kind": kind, "to": f"[[{to}]]"})
    return dict(fields)


def content_digest(title: str, body: str, ends: str = ".!") -> str:
    """By what a record's content is recognized: its text without a heading that begins it, or the
    title that says all of it; without the signs of `ends` at its end."""
    _, text = split_heading(body)
    return text_digest((text if text.strip() else title).rstrip(f" \r\n{ends}"))


def without_repeated_title(record: Record) -> Record:
    """The record without first lines of its body that say only what its heading says."""
    body = record.body.strip("\n")
    for _ in range(_MAX_REPEATED_TITLES):
        first, _, rest = body.partition("\n")
        type_, statement = split_leading_word(first)
        texts = (first, statement) if type_ == record.type else (first,)
        if _comparable(record.title) not in map(_comparable, texts):
            break
        body = rest.strip("\n")
    return record._replace(body=body)


def _comparable(line: str) -> str:
    return one_line(re.sub(r"^[#>*\-\s]+|\*\*|`", "", line)).rstrip(".:*").casefold()


def compose_record(record: Record, form: NoteForm = NESTED) -> str:
    """The record as a note: frontmatter without what is empty or goes without saying, its title as
    a heading and, in the nested form, as an alias, and its text. A text with a heading of its own
    keeps that, and the title is a field then."""
    text = flat_text(record) if form.is_flat else record.body.strip("\n")
    heading, below = split_heading(text)
    has_own_heading = bool(heading) and _comparable(heading) != _comparable(record.title)
    values: _Values = record._asdict() | {
        "title": record.title if has_own_heading else None,
        "aliases": [record.title],
        "relations": None,
        "status": record.status if record.status != "active" else None,
        "scope": record.scope if record.scope != default_scope(record.project) else None,
        "updated": record.updated if record.updated != record.created else None,
        "pinned": record.pinned or None,
        "superseded_by": f"[[{record.superseded_by}]]" if record.superseded_by else None,
        **_relation_fields(
            (*(("supersedes", id_) for id_ in record.supersedes), *record.relations)
        ),
        **_origin_of(record, form, event_links(record.events)),
    }
    body = text if has_own_heading else join_heading(record.title, below.rstrip("\n"))
    return f"{_frontmatter(values, form)}\n{body}\n"


def flat_text(record: Record) -> str:
    """The text of a flat record: without a quote that repeats its title, and without the line that
    says what its property `derived_from` says."""
    paragraphs = record.body.strip("\n").split("\n\n")
    if paragraphs[0].startswith("> ") and _comparable(paragraphs[0]) == _comparable(record.title):
        del paragraphs[0]
    source = _SOURCE_RE.fullmatch(paragraphs[-1]) if paragraphs else None
    if source and ("derived_from", source[1]) in record.relations:
        del paragraphs[-1]
    return "\n\n".join(paragraphs).strip("\n")


def flat_values(record: Record, form: NoteForm, origin: _Values) -> _Values:
    """What the fields of a flat record hold in another way than those of a nested one. Of a record
    without events, which a person began, every field is said."""
    values: _Values = {"aliases": None, SESSION: None, LAYER: None, **origin}
    if origin.get(EVENTS):
        values |= form.stated(project=record.project, branch=record.branch)
    return values


def compose_untitled_record(record: Record, form: NoteForm = NESTED) -> str:
    """The record in the form of earlier versions, which named its title in a field: what lies in
    that form and nobody has edited goes on in it, as do notes of sessions in either form."""
    events = event_links(record.events) if form.is_flat else sorted(record.events)
    values: _Values = record._asdict() | {
        "date": record.date if record.type == "meeting" else None,
        "scope": record.scope or default_scope(record.project),
        "updated": record.updated or (None if form.is_flat else record.created),
        "pinned": record.pinned or None,
        "supersedes": record.supersedes,
        "relations": [{"kind": kind, "to": f"[[{to}]]"} for kind, to in record.relations],
        **_origin_of(record._replace(session_note=""), form, events),
    }
    body = record.body.strip("\n")  # not the blanks that begin a line of code
    return f"{_frontmatter(values, form)}\n{body}\n"


def _frontmatter(values: _Values, form: NoteForm) -> str:
    kinds = sorted(key for key in values if key not in KEY_ORDER and inverse_of(key))
    fields = {key: values.get(key) for key in (*KEY_ORDER, *kinds)}
    if form.is_flat:
        fields["id"] = fields.pop("id")  # last
    return yaml_writer.frontmatter(fields)


def is_record_id(text: str) -> bool:
    """True if `text` has the form of the id of a record, and not that of a session's note."""
    return bool(_NAMED_ID_RE.fullmatch(text)) and not text.startswith("session-")


def short_handle(id_: str) -> str:
    """The end of an id that names its note: the hash, with two words before it if it has no digit,
    so that nobody takes it for a word; the whole id if it ends in no hash."""
    found = _NAMED_ID_RE.fullmatch(id_)
    if found is None:
        return id_
    is_word = found[2].isalpha() or found[2].isdecimal()
    return "-".join([*found[1].split("-")[-2:], found[2]]) if is_word else found[2]
