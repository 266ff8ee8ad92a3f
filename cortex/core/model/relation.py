"""Typed edges between notes, and how a name finds the note that it means.

A link names a note as in Obsidian: by id, path, file name or the end of a path, in any case.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterable

from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.tokenizer import fold_accents
from cortex.core.text.value import NamedTuple

# kind -> what the other end calls it
RELATION_KINDS = {
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
LINK_KIND = "links"  # a link or an embed in the text, or a wikilink in a field that is not ours
# Edges that no note states: computed when somebody asks for a graph.
SIMILAR, SHARES_ENTITY, SAME_SESSION = "similar", "shares_entity", "same_session"
COMPUTED_KINDS = (SIMILAR, SHARES_ENTITY, SAME_SESSION)
# `source_of`, which people write, is the inverse of `derived_from`: one edge from either end.
_KIND_OF_INVERSE = {
    inverse: kind for kind, inverse in RELATION_KINDS.items() if kind not in (inverse, "source_of")
}
_INVERSE_OF_KIND = {**RELATION_KINDS, **_KIND_OF_INVERSE, LINK_KIND: "linked_from"}
_MEDIA_SUFFIX_LIST = (
    "png jpg jpeg gif svg webp bmp avif heic ico tif tiff mp3 wav m4a ogg oga opus flac 3gp mp4"
    " m4v mov mkv ogv webm avi pdf canvas base epub doc docx xls xlsx ppt pptx odt ods odp zip gz"
    " tgz tar 7z csv tsv"
)
MEDIA_SUFFIXES = frozenset(_MEDIA_SUFFIX_LIST.split())  # of attachments, which are no notes
_TITLE_BLANKS_RE = lazy_re(r"[\s\"_-]+")


class Edge(NamedTuple):
    """An edge from a note to another. `key` is the target's `basename_key`, by which candidates are
    looked up; `NameResolver` chooses among them."""

    kind: str  # of `RELATION_KINDS` or an inverse of one, an invented one, or `LINK_KIND`
    target: str  # without brackets, anchor and alias; with `.md` only in a markdown link
    key: str
    line: int  # of the file; 0 when it cannot be told


class LinkCandidate(NamedTuple):
    """A note that a name may mean."""

    number: int
    path: str
    id: str


class NameResolver:
    """All notes whose file name, or whose id, ends in one key: those among which a name chooses."""

    def __init__(self, called: Iterable[LinkCandidate]) -> None:
        nearest = sorted(called, key=lambda one: (len(one.path), one.path))
        self._by_id = {link_key(one.id): one for one in reversed(nearest) if one.id != one.path}
        self._by_path = {link_key(one.path): one for one in reversed(nearest)}
        # Every end of a path: thousands of folders may have an `index` each.
        self._by_path_suffix: dict[str, LinkCandidate] = {}
        self._shared: set[str] = set()  # names of several files
        for one in nearest:
            ending = link_key(one.path)
            while ending:
                if self._by_path_suffix.setdefault(ending, one) is not one:
                    self._shared.add(ending)
                ending = ending.partition("/")[2]

    def resolve(self, name: str, folder: str) -> LinkCandidate | None:
        """The note that `name` means in a note of `folder`: by id, else by path relative to the
        folder, else the shortest path that ends so, then the alphabet."""
        key = link_key(name.strip())
        if key in self._by_id:
            return self._by_id[key]
        if key.startswith("/"):
            return self._by_path.get(key.lstrip("/"))
        here = link_key(folder)
        if key.startswith(("./", "../")) or "/../" in key or "/./" in key:
            return self._by_path.get(posixpath.normpath(posixpath.join(here, key)))
        beside = self._by_path.get(f"{here}/{key}" if here else key)
        return beside or self._by_path_suffix.get(key)

    def is_unique(self, name: str) -> bool:
        """Whether one path alone ends so."""
        return link_key(name) not in self._shared


def edge_label(kind: str, why: str) -> str:
    """What a person reads on a computed edge, of which `why` is the reason."""
    return {SIMILAR: why, SHARES_ENTITY: f"shares {why}", SAME_SESSION: "same session"}[kind]


def link_names_of(id_: str, path: str) -> tuple[tuple[str, int], ...]:
    """The names by which links find the note, with ranks: 0 its id, 1 its path, 2 its file name."""
    whole = link_key(path)
    own = [(link_key(id_), 0)] if id_ != path else []
    return _first_ranks((*own, (whole, 1 if "/" in whole else 2), (basename_key(path), 2)))


def title_keys_of(title: str, path: str, aliases: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """What people call the note, as it is compared, with ranks: 0 title, 1 file name, 2 alias."""
    names = ((title, 0), (basename_key(path), 1), *((alias, 2) for alias in aliases))
    return _first_ranks((title_key(name), rank) for name, rank in names)


def _first_ranks(names: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Each name once, with the first of its ranks."""
    found: dict[str, int] = {}
    for key, rank in names:
        found.setdefault(key, rank)
    found.pop("", None)
    return tuple(found.items())


def title_key(name: str) -> str:
    """A title as it is compared: case, accents, quotation marks, blanks, `-` and `_` do not
    matter."""
    return _TITLE_BLANKS_RE.sub(" ", fold_accents(link_key(name))).strip()


def link_key(name: str) -> str:
    """A name as it is compared: case, `.md` and how an accent is encoded do not matter."""
    folded = name.casefold().removesuffix(".md")
    return folded if folded.isascii() else unicodedata.normalize("NFC", folded)


def basename_key(name: str) -> str:
    """The last part of a name's path, as it is compared."""
    return link_key(name).rpartition("/")[2]


def normalize_kind(text: str) -> str:
    """A kind as it is compared: `Relates to` and `relates-to` are `relates_to`."""
    return "_".join(text.casefold().replace("-", " ").replace("_", " ").split())


def kind_of_inverse(kind: str) -> str:
    """The kind of which this is the inverse (`superseded_by`: supersedes); else empty."""
    return _KIND_OF_INVERSE.get(kind, "")


def inverse_of(kind: str) -> str:
    """What the other end calls a kind; empty for one that a person invented."""
    return _INVERSE_OF_KIND.get(kind, "")
