"""Which note a person or an agent means by an id, the beginning of one, or a path."""

from __future__ import annotations

from cortex.core.model.problem import ConflictError, NotFoundError
from cortex.index.catalogue import Catalogue, NoteRow

_MIN_PREFIX_CHARS = 4  # signs of an id that may stand for it
_MAX_SUGGESTIONS = 3  # ids that look like one that there is not


def find_one(catalogue: Catalogue, name: str) -> NoteRow:
    """The note that `name` means. `NotFoundError` offers the closest ids, `ConflictError` names those it may mean."""
    rows = find_all(catalogue, name)
    if not rows:
        short = (
            "the beginning of an id has four signs at least; "
            if len(name) < _MIN_PREFIX_CHARS
            else ""
        )
        near = closest_ids(catalogue, name)
        hint = (
            f"did you mean {', '.join(near)}?"
            if near
            else f"{short}cortex search finds notes by their words"
        )
        raise NotFoundError(f"there is no note {name!r}", hint)
    if len(rows) > 1:
        raise ConflictError(
            f"{name!r} names {len(rows)} notes: {', '.join(row.path for row in rows[:5])}",
            "give the path of the one you mean",
        )
    return rows[0]


def find_all(catalogue: Catalogue, name: str) -> list[NoteRow]:
    """The notes that a name can mean, by the first of these that any note answers to: path, path and line, id,
    path without its ending, the beginning of an id. An event is meant last: its record is named after it."""
    path = name.removeprefix("./").removeprefix("[[").removesuffix("]]")
    head, _, line = path.rpartition(":")
    for candidate in (path, head if line.isdigit() else "", f"{path}.md"):
        if candidate and (row := catalogue.row_at(candidate)):
            return [row]
    if rows := list(catalogue.rows("id = ? ORDER BY path", (path,))):
        return rows
    if not _MIN_PREFIX_CHARS <= len(path) <= 100:
        return []
    prefix = path.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    return list(catalogue.rows("id LIKE ? ESCAPE '\\' ORDER BY id, path LIMIT 20", (prefix,)))


def closest_ids(catalogue: Catalogue, name: str) -> list[str]:
    """The ids of notes that look most like a name that there is not."""
    from difflib import get_close_matches  # noqa: PLC0415  only where somebody mistyped

    ids = [
        row[0]
        for row in catalogue.select(
            "SELECT DISTINCT id FROM note WHERE tier < 2 AND length(id) < 120 LIMIT 50000"
        )
    ]
    return get_close_matches(name[:120].lower(), ids, _MAX_SUGGESTIONS, 0.6)
