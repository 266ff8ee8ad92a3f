"""What the notes know of values that somebody begins to type, as of the last refresh of the index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cortex.index.catalogue import Catalogue
from cortex.index.filters import KNOWLEDGE
from cortex.index.queries import notes_named_from
from cortex.index.refresh import last_index
from cortex.vault.locate import Vault

_MAX = 500  # sessions, and lists of tags, that are looked through


def known_values(vault: Vault, kind: str, begin: str, limit: int) -> list[tuple[str, str]]:
    """At most `limit` values that begin with `begin`, in any case, each with what it means: of
    notes, sessions, tags, or a column of the catalogue. Refreshes nothing; none where the index
    cannot be read at once."""
    with last_index(vault, 0.0) as found:
        if found is None:
            return []
        values = _values(found[0], kind, begin, limit)
        folded = begin.casefold()
        fitting = ((one, told) for one, told in values if one.casefold().startswith(folded))
        return [*dict.fromkeys(fitting)][:limit]


def _values(catalogue: Catalogue, kind: str, begin: str, limit: int) -> Iterable[tuple[str, str]]:
    if kind == "note":
        return _note_names(catalogue, begin, limit)
    if kind == "session":
        of_sessions = KNOWLEDGE._replace(types=("session",))
        rows = catalogue.find(of_sessions, "-date", _MAX)
        return ((row.session or row.id, row.title) for row in rows)
    if kind == "tag":
        query = "SELECT tags FROM note WHERE tier < 2 GROUP BY tags ORDER BY max(date) DESC LIMIT ?"
        return ((tag, "") for (tags,) in catalogue.select(query, (_MAX,)) for tag in tags.split())
    return ((str(value), "") for value in catalogue.count_by(kind) if value)


def _note_names(catalogue: Catalogue, begin: str, limit: int) -> Iterator[tuple[str, str]]:
    """Of each note the name that begins so: its id, the hash at its end, path, file name or title;
    one in the case that is typed comes first."""
    folded = begin.casefold()
    for id_, path, title in notes_named_from(catalogue, begin, limit):
        handle, file_name = id_.rpartition("-")[2], path.rpartition("/")[2].removesuffix(".md")
        names = (id_, handle, path, file_name, title)
        fitting = [one for one in names if one and one.casefold().startswith(folded)]
        exact = [one for one in fitting if one.startswith(begin)]
        yield from ((one, title) for one in (exact or fitting)[:1])
