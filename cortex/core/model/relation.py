"""Typed edges between notes: the relations of a record's frontmatter, and the links of any note's text.

A link means a note as Obsidian takes it: by id, by path, by file name, by the end of a path, in any case of letters.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # who asks what a name means reads no note: YAML costs 25 ms
    from cortex.core.markdown.scan import Link, Scanned
    from cortex.core.notes.frontmatter import Value
    from cortex.core.notes.note import Note

# kind -> what the other end calls it
KINDS = {
    "references": "referenced_by",
    "relates_to": "relates_to",
    "follows": "followed_by",
    "supersedes": "superseded_by",
    "contradicts": "contradicts",
    "derived_from": "source_of",
    "exemplifies": "exemplified_by",
    "refines": "refined_by",
    "source_of": "derived_from",
}
LINK = "links"  # a wikilink, an embed or a markdown link in the text, or a wikilink in a field of a person's own
# `source_of` is a kind that people write, and says the same as `derived_from` at the other end: one edge, whoever says it.
_TURNED = {inverse: kind for kind, inverse in KINDS.items() if kind not in (inverse, "source_of")}
_NAMES = {**KINDS, **_TURNED, LINK: "linked_from"}
_FIELDS = ("supersedes", "superseded_by")  # fields that say a relation by their name
_WIKILINK = re.compile(r"\[\[([^\[\]]{1,400})\]\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:|//")
# What no file can be called everywhere, or what stands in double brackets in a shell.
_NO_NAME = re.compile(r"[\"<>*?=$`{}\x00-\x1f]|^[-!:]")
_ENDINGS = (
    "png jpg jpeg gif svg webp bmp avif heic ico tif tiff mp3 wav m4a ogg oga opus flac 3gp mp4 m4v mov mkv ogv webm avi pdf canvas base epub"
    " doc docx xls xlsx ppt pptx odt ods odp zip gz tgz tar 7z csv tsv"
)
_MEDIA = frozenset(_ENDINGS.split())  # of attachments, which are no notes
_LONGEST = 400  # characters of a target


class Edge(NamedTuple):
    """A way from a note to another. `key` is the last part of the target's path as names are compared, by which it is
    looked up; which note is meant, `Bearers` decides."""

    kind: str  # of `KINDS` or an inverse of one, a kind that a person invented, or `LINK`
    target: str  # as the note has it, without brackets, anchor and alias; with its `.md` only where it is a markdown link's
    key: str
    line: int  # of the file; 0 when it cannot be told


class Called(NamedTuple):
    """A note that a name may mean."""

    number: int
    path: str
    id: str


class Bearers:
    """All notes whose file name, or whose id, ends in one key: those among which a name chooses."""

    def __init__(self, called: Iterable[Called]) -> None:
        nearest = sorted(called, key=lambda one: (len(one.path), one.path))
        self._by_id = {key_of(one.id): one for one in reversed(nearest) if one.id != one.path}
        self._by_place = {key_of(one.path): one for one in reversed(nearest)}
        self._by_ending: dict[
            str, Called
        ] = {}  # every end of a path: a folder of thousands may have an `index` each
        for one in nearest:
            ending = key_of(one.path)
            while ending:
                self._by_ending.setdefault(ending, one)
                ending = ending.partition("/")[2]

    def choose(self, name: str, folder: str) -> Called | None:
        """The note that `name` means in a note of `folder`. Ids beat everything; then the place seen from the folder, then
        the shortest path that ends so, then the alphabet."""
        asked = key_of(name.strip())
        if asked in self._by_id:
            return self._by_id[asked]
        if asked.startswith("/"):
            return self._by_place.get(asked.lstrip("/"))
        here = key_of(folder)
        if asked.startswith(("./", "../")) or "/../" in asked or "/./" in asked:
            return self._by_place.get(posixpath.normpath(posixpath.join(here, asked)))
        return self._by_place.get(f"{here}/{asked}" if here else asked) or self._by_ending.get(
            asked
        )


def edges_of(note: Note, scanned: Scanned) -> tuple[Edge, ...]:
    """The edges that a note says, relations first: a relation once, however often it is said, a link once a line."""
    found: dict[tuple[str, str, int], Edge] = {}
    for kind, target, line in _said(note) if note.fields else ():
        if key := end_of(target):
            found.setdefault(
                (kind, key_of(target), 0 if kind != LINK else line), Edge(kind, target, key, line)
            )
    for link in scanned.links:
        target = _linked(link)
        if target and (key := end_of(target)):
            found.setdefault((LINK, key_of(target), link.line), Edge(LINK, target, key, link.line))
    return tuple(found.values())


def names_of(id_: str, path: str) -> tuple[tuple[str, int], ...]:
    """What a link may call the note, with the rank of each: 0 its id, 1 its path, 2 its file name."""
    whole = key_of(path)
    names = [(whole, 1), (whole.rpartition("/")[2], 2)]
    if id_ != path:
        names.insert(0, (key_of(id_), 0))
    found: dict[str, int] = {}
    for key, rank in names:
        if key:
            found.setdefault(key, rank if rank != 1 or "/" in key else 2)
    return tuple(found.items())


def key_of(name: str) -> str:
    """A name as it is compared: case, `.md` and how an accent is encoded do not matter."""
    folded = name.casefold().removesuffix(".md")
    return folded if folded.isascii() else unicodedata.normalize("NFC", folded)


def end_of(name: str) -> str:
    """The last part of a name's path, as it is compared."""
    return key_of(name).rpartition("/")[2]


def kind_of(text: str) -> str:
    """A kind as it is compared: `Relates to` and `relates-to` are `relates_to`."""
    return "_".join(text.casefold().replace("-", " ").replace("_", " ").split())


def turned(kind: str) -> str:
    """The kind that an inverse name turns round (`superseded_by`: supersedes, `source_of`: derived_from); empty when it is none."""
    return _TURNED.get(kind, "")


def inverse_of(kind: str) -> str:
    """What the other end calls a kind; empty for one that a person invented."""
    return _NAMES.get(kind, "")


def target_in(text: str) -> str:
    """The name in the value of a relation: a wikilink, a markdown link, or the name itself."""
    if "](" in text:
        from cortex.core.markdown.scan import scan  # noqa: PLC0415  see above; and hardly anybody writes it so

        for link in scan(text).links:
            return link.target
    found = _WIKILINK.search(text)
    name = found[1] if found else text
    return name.partition("|")[0].partition("#")[0].strip()


def _linked(link: Link) -> str:
    """The note that a link of the text names; empty when it is no link to a note."""
    target = link.target
    if link.kind == "markdown":
        # To a note is to its file: `guide` is a folder of a site, and `main.py` is no note.
        plain = target[-3:].lower() == ".md" and not _SCHEME.match(target)
        return target if plain and len(target) <= _LONGEST else ""
    return _named(target)


def _named(target: str) -> str:
    """A wikilink's target when it can be that of a note."""
    if (
        not target
        or len(target) > _LONGEST
        or _NO_NAME.search(target)
        or "://" in target
        or target.startswith(("mailto:", "//"))
    ):
        return ""
    name, dot, ending = target.rpartition(".")
    if dot and ending.isalnum():
        ending = ending.lower()
        return name if ending == "md" else "" if ending in _MEDIA else target
    return target


def _said(note: Note) -> Iterator[tuple[str, str, int]]:
    """Kind, target and line of everything that the frontmatter relates the note to."""
    for field, value in note.fields.items():
        if field == "relations":
            pairs: Iterable[tuple[str, str]] = relations_in(value)
        elif field in _FIELDS:
            pairs = ((field, text) for text in _texts(value))
        elif field in ("provenance", "merge_conflicts") or not value or isinstance(value, bool):
            continue
        else:
            pairs = (
                (LINK, f"[[{name}]]")
                for text in _texts(value)
                if "[[" in text
                for name in _WIKILINK.findall(text)
            )
        for kind, text in pairs:
            target = _related(kind, text)
            if target:
                yield kind, target, _line_of(note, field, target)


def _related(kind: str, text: str) -> str:
    target = target_in(text)
    if kind == LINK:
        return _named(target)
    return "" if len(target) > _LONGEST or _SCHEME.match(target) else target


def relations_in(value: Value) -> Iterator[tuple[str, str]]:
    """Kind and value of each relation, in every form that hands give them: `{kind, to}`, `kind: target`, a target alone."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str):
            yield "relates_to", one
        elif isinstance(one, dict) and isinstance(one.get("kind"), str):
            yield from ((kind_of(str(one["kind"])), text) for text in _texts(one.get("to")))
        elif isinstance(one, dict):
            yield from (
                (kind_of(kind), text)
                for kind, held in one.items()
                if kind != "to"
                for text in _texts(held)
            )


def _texts(value: Value) -> Sequence[str]:
    if isinstance(value, str):
        return (value,)
    return [text for one in value for text in _texts(one)] if isinstance(value, list) else ()


def _line_of(note: Note, field: str, target: str) -> int:
    """The line of the file on which a field names a target; the field's own where it is written in another way."""
    block = note.block
    start = max(block.find(b"\n" + field.encode()), 0)
    found = re.compile(
        rb"(?<![\w-])" + re.escape(target.encode("utf-8", "replace")) + rb"(?![\w-])"
    ).search(block, start)
    return block.count(b"\n", 0, found.start() if found else start + 1) + 2
