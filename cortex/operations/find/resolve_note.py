"""Resolve an id, the beginning or the end of one, a path, a file name or a title to a note."""

from __future__ import annotations

from cortex.core.model.problem import ConflictError, NotFoundError
from cortex.core.model.relation import link_key
from cortex.core.text.strings import close_matches, did_you_mean
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.filters import KNOWLEDGE, NoteFilter
from cortex.index.queries import known_ids

_MIN_PREFIX_CHARS = 4  # signs of an id that may stand for it
_MIN_END_CHARS = 6  # the hash at an id's end, by which briefings name a note
_MAX_MATCHES = 20
_MAX_COMPARED_IDS = 50_000  # with a name that there is not


def find_one(catalogue: Catalogue, name: str) -> NoteRow:
    """The note that `name` means. `NotFoundError` offers the closest ids, `ConflictError` lists
    the candidates."""
    rows = find_all(catalogue, name, by_title=True)
    if not rows:
        is_short = len(name) < _MIN_PREFIX_CHARS
        short = "the beginning of an id has four signs at least; " if is_short else ""
        hint = did_you_mean(
            closest_ids(catalogue, name), f"{short}cortex search finds notes by their words"
        )
        raise NotFoundError(f"there is no note {name!r}", hint)
    if len(rows) > 1:
        message = f"{name!r} names {len(rows)} notes: {', '.join(row.path for row in rows[:5])}"
        raise ConflictError(message, "give the path of the one you mean")
    return rows[0]


def find_all(catalogue: Catalogue, name: str, *, by_title: bool = False) -> list[NoteRow]:
    """The notes that `name` can mean, by the first that matches of: path, path and line, path
    without its ending, id, beginning of an id, its last words. With `by_title` file names come
    before beginnings of ids, and titles last, both in any case. Events come last, since records are
    named after them."""
    path = name.removeprefix("./").removeprefix("[[").removesuffix("]]")
    head, _, line = path.rpartition(":")
    for candidate in (path, head if line.isdigit() else "", f"{path}.md"):
        if candidate and (row := catalogue.row_at(candidate)):
            return [row]
    if rows := catalogue.find(NoteFilter(ids=(path,)), "path"):
        return rows
    wanted = [KNOWLEDGE._replace(link_name=link_key(path))] if by_title else []
    if _MIN_PREFIX_CHARS <= len(path) <= 100:
        wanted.append(NoteFilter(id_prefix=path))
    if _MIN_END_CHARS <= len(path) <= 100:
        wanted.append(NoteFilter(id_end=path))
    if by_title:
        wanted.append(KNOWLEDGE._replace(title=path.casefold()))
    found = (catalogue.find(one, "id", _MAX_MATCHES) for one in wanted)
    return next(filter(None, found), []) if path else []


def closest_ids(catalogue: Catalogue, name: str) -> list[str]:
    """The ids most like a name that does not exist."""
    return close_matches(name[:120].lower(), known_ids(catalogue, _MAX_COMPARED_IDS))
