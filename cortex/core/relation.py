"""Typed edges between notes: the relations of a record's frontmatter, and the links of any note's text."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.note import Note
from cortex.core.scan import Scanned

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
LINK = "links"  # a wikilink, an embed or a markdown link in the text


class Edge(NamedTuple):
    """A way from a note to another: `key` is the target as names are compared."""

    kind: str  # of `KINDS`, a kind that a person invented, or `LINK`
    target: str  # as the note has it, without brackets, anchor and alias
    key: str
    line: int  # of the file; 0 in the frontmatter


def edges_of(note: Note, scanned: Scanned, path: str) -> tuple[Edge, ...]:
    """The edges that a note says, relations first."""
    del path
    found = []
    relations = note.fields.get("relations")
    for one in relations if isinstance(relations, list) else ():
        if isinstance(one, dict) and isinstance(one.get("kind"), str) and isinstance(one.get("to"), str):
            target = str(one["to"]).strip().removeprefix("[[").removesuffix("]]").partition("|")[0].partition("#")[0].strip()
            found.append(Edge(str(one["kind"]), target, key_of(target), 0))
    found += [Edge(LINK, one.target, key_of(one.target), one.line) for one in scanned.links if one.kind != "markdown" and one.target]
    return tuple(dict.fromkeys(found))


def names_of(id_: str, path: str) -> tuple[tuple[str, int], ...]:
    """What a link may call the note, with the rank of each: 0 its id, 1 its path, 2 its file name."""
    whole = key_of(path)
    names = ((key_of(id_), 0), (whole, 1), (whole.rpartition("/")[2], 2))
    return tuple(dict(reversed(names)).items())


def key_of(name: str) -> str:
    """A name as it is compared: case and `.md` do not matter."""
    return name.removesuffix(".md").casefold()
