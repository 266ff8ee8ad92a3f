"""The relations in a note's frontmatter, and the links in its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from cortex.core.markdown.inline import Link
from cortex.core.markdown.scan import MarkdownScan, scan
from cortex.core.model.event import is_event_id
from cortex.core.model.note_form import EVENTS, SESSION
from cortex.core.model.relation import (
    LINK_KIND,
    MEDIA_SUFFIXES,
    Edge,
    basename_key,
    inverse_of,
    link_key,
    normalize_kind,
)
from cortex.core.notes.yaml_subset import Fields, FieldValue
from cortex.core.text.lazy_re import lazy_re

if TYPE_CHECKING:
    from cortex.core.notes.note import Note

_RELATION_FIELDS = ("supersedes", "superseded_by")  # fields that say a relation by their name
_WIKILINK_RE = lazy_re(r"\[\[([^\[\]]{1,400})\]\]")
_URL_SCHEME_RE = lazy_re(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
# What no file can be called everywhere, or what stands in double brackets in a shell.
_NOT_A_NOTE_NAME_RE = lazy_re(r"[\"<>*?=$`{}\x00-\x1f]|^[-!:]")
_MAX_TARGET_CHARS = 400  # characters of a target


def edges_of(note: Note, scanned: MarkdownScan) -> tuple[Edge, ...]:
    """The edges of a note, relations first: each relation once, each link once a line."""
    named = [*iter_frontmatter_edges(note)] if note.fields else []
    named += [(LINK_KIND, _note_target_of_link(link), link.line) for link in scanned.links]
    edges: dict[tuple[str, str, int], Edge] = {}
    for kind, target, line in named:
        if key := basename_key(target):
            place = line if kind == LINK_KIND else 0
            edges.setdefault((kind, link_key(target), place), Edge(kind, target, key, line))
    return tuple(edges.values())


def parse_link_target(text: str) -> str:
    """The name in the value of a relation: a wikilink, a markdown link, or the name itself."""
    if "](" in text:
        for link in scan(text).links:
            return link.target
    found = _WIKILINK_RE.search(text)
    name = found[1] if found else text
    return name.partition("|")[0].partition("#")[0].strip()


def is_replaced_by_distillation(note: Note) -> bool:
    """True if a distillation has replaced the record: it is superseded by an event."""
    by = parse_link_target(note.get("superseded_by"))
    return note.get("status").lower() == "superseded" and is_event_id(by)


def _note_target_of_link(link: Link) -> str:
    """The note that a link of the text names; empty when it is no link to a note."""
    target = link.target
    if link.kind == "markdown":
        # To a note is to its file: `guide` is a folder of a site, and `main.py` is no note.
        plain = target[-3:].lower() == ".md" and not _URL_SCHEME_RE.match(target)
        return target if plain and len(target) <= _MAX_TARGET_CHARS else ""
    return _note_target_of_wikilink(target)


def _note_target_of_wikilink(target: str) -> str:
    """A wikilink's target when it can be that of a note."""
    if (
        not target
        or len(target) > _MAX_TARGET_CHARS
        or _NOT_A_NOTE_NAME_RE.search(target)
        or "://" in target
        or target.startswith(("mailto:", "//"))
    ):
        return ""
    name, dot, ending = target.rpartition(".")
    if dot and ending.isalnum():
        ending = ending.lower()
        return name if ending == "md" else "" if ending in MEDIA_SUFFIXES else target
    return target


def iter_frontmatter_edges(note: Note) -> Iterator[tuple[str, str, int]]:
    """Kind, target and line of everything that the frontmatter relates the note to."""
    for field, value in note.fields.items():
        if field in ("provenance", "merge_conflicts") or not value or isinstance(value, bool):
            continue
        if field in (EVENTS, SESSION) and note.is_flat:
            continue
        pairs: Iterable[tuple[str, str]]
        if field == "relations" or inverse_of(field):
            pairs = relations_of({field: value})
        else:
            pairs = (
                (LINK_KIND, f"[[{name}]]")
                for text in _flatten_texts(value)
                if "[[" in text
                for name in _WIKILINK_RE.findall(text)
            )
        for kind, text in pairs:
            target = _relation_target(kind, text)
            if target:
                yield kind, target, _line_of_target(note, field, target)


def _relation_target(kind: str, text: str) -> str:
    target = parse_link_target(text)
    if kind == LINK_KIND:
        return _note_target_of_wikilink(target)
    return "" if len(target) > _MAX_TARGET_CHARS or _URL_SCHEME_RE.match(target) else target


def relations_of(fields: Fields) -> Iterator[tuple[str, str]]:
    """Kind and value of each relation in the frontmatter of a note: those of `relations`, then those
    of the lists of links that are called as a kind."""
    yield from iter_relations(fields.get("relations"))
    for field, value in fields.items():
        if inverse_of(field) and field != LINK_KIND:
            for text in _flatten_texts(value):
                if field in _RELATION_FIELDS or "[[" in text:
                    yield field, text


def iter_relations(value: FieldValue) -> Iterator[tuple[str, str]]:
    """Kind and value of each relation, written `{kind, to}`, `kind: target` or a target alone."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str):
            yield "relates_to", one
        elif isinstance(one, dict):
            kind, to = one.get("kind"), one.get("to")
            targets = {kind: to} if isinstance(kind, str) else {**one, "to": None}
            yield from (
                (normalize_kind(kind), text)
                for kind, value in targets.items()
                for text in _flatten_texts(value)
            )


def _flatten_texts(value: FieldValue) -> Sequence[str]:
    if isinstance(value, list):
        return [text for one in value for text in _flatten_texts(one)]
    return (value,) if isinstance(value, str) else ()


def _line_of_target(note: Note, field: str, target: str) -> int:
    """The line of the file on which a field names a target; else the field's own."""
    block = note.frontmatter
    start = max(block.find(b"\n" + field.encode()), 0)
    found = re.compile(
        rb"(?<![\w-])" + re.escape(target.encode("utf-8", "replace")) + rb"(?![\w-])"
    ).search(block, start)
    return block.count(b"\n", 0, found.start() if found else start + 1) + 2
