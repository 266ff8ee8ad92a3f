"""Resolve an id, the beginning or the end of one, or a path to a note."""

from __future__ import annotations

from cortex.core.model.problem import ConflictError, NotFoundError
from cortex.core.text.strings import close_matches, did_you_mean
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.filters import NoteFilter
from cortex.index.queries import known_ids

_MIN_PREFIX_CHARS = 4  # signs of an id that may stand for it
_MIN_END_CHARS = 6  # the hash at an id's end, by which briefings name a note
_MAX_MATCHES = 20
_MAX_COMPARED_IDS = 50_000  # with a name that there is not


def find_one(catalogue: Catalogue, name: str) -> NoteRow:
    """The note that `name` means. `NotFoundError` offers the closest ids, `ConflictError` lists
    the candidates."""
    rows = find_all(catalogue, name)
    if not rows:
        is_short = len(name) < _MIN_PREFIX_CHARS
        short = "the beginning of an id has four signs at least; " if is_short else ""
        hint = did_you_mean(
            closest_ids(catalogue, name), f"{short}cortex search finds notes by their words"
        )
        raise NotFoundError(f"there is no note {name!r}", hint)
    if len(rows) > 1:
        raise ConflictError(
            f"{name!r} names {len(rows)} notes: {', '.join(row.path for row in rows[:5])}",
            "give the path of the one you mean",
        )
    return rows[0]


def find_all(catalogue: Catalogue, name: str) -> list[NoteRow]:
    """The notes that `name` can mean, by the first that matches of: path, path and line, id,
    path without its ending, beginning of an id, its last words. Events come last, since records are
    named after them."""
    path = name.removeprefix("./").removeprefix("[[").removesuffix("]]")
    head, _, line = path.rpartition(":")
    for candidate in (path, head if line.isdigit() else "", f"{path}.md"):
        if candidate and (row := catalogue.row_at(candidate)):
            return [row]
    if rows := catalogue.find(NoteFilter(ids=(path,)), "path"):
        return rows
    if not _MIN_PREFIX_CHARS <= len(path) <= 100:
        return []
    if rows := catalogue.find(NoteFilter(id_prefix=path), "id", _MAX_MATCHES):
        return rows
    if len(path) < _MIN_END_CHARS:
        return []
    return catalogue.find(NoteFilter(id_end=path), "id", _MAX_MATCHES)


def closest_ids(catalogue: Catalogue, name: str) -> list[str]:
    """The ids most like a name that does not exist."""
    return close_matches(name[:120].lower(), known_ids(catalogue, _MAX_COMPARED_IDS))
