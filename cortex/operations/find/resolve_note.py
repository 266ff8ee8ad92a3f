"""Resolve an id, the beginning or the end of one, a path, a file name, a title or an alias to a note,
and name a note in a command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.model.problem import AmbiguousNameError, NotFoundError
from cortex.core.model.relation import link_key
from cortex.core.text.strings import cortex_command, did_you_mean
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE, NoteFilter

_MIN_PREFIX_CHARS = 4  # signs of an id that may stand for it
_MIN_END_CHARS = 6  # the hash at an id's end, by which briefings name a note
_MAX_CANDIDATES = 20
_MAX_COMPARED_IDS = 50_000  # with a name that there is not


class Named(Protocol):
    """Anything with an id and a path."""

    @property
    def id(self) -> str: ...
    @property
    def path(self) -> str: ...


def find_one(catalogue: Catalogue, name: str) -> NoteRow:
    """The note that `name` means. `NotFoundError` offers the closest ids, `AmbiguousNameError`
    has the candidates."""
    rows = find_all(catalogue, name)
    if not rows:
        is_short = len(name) < _MIN_PREFIX_CHARS
        short = "the beginning of an id has four signs at least; " if is_short else ""
        otherwise = f"{short}cortex search finds notes by their words"
        hint = closest_ids(catalogue, name, otherwise)
        raise NotFoundError(f"there is no note {name!r}", hint)
    if len(rows) > 1:
        more = f" and {len(rows) - 5} more" if len(rows) > 5 else ""
        shown = ", ".join(row.path for row in rows[:5])
        message = f"{name!r} names {len(rows)} notes: {shown}{more}"
        candidates = tuple((row.path, row.title) for row in rows[:_MAX_CANDIDATES])
        raise AmbiguousNameError(message, "give the path of the one you mean", name, candidates)
    return rows[0]


def find_all(catalogue: Catalogue, name: str) -> list[NoteRow]:
    """The notes that `name` can mean, by the first that matches of: path, path and line, path
    without its ending, id; what a link in brackets leads to; title, file name, alias, in any case;
    what a link leads to; beginning of an id, its last words. Events come last, since records are
    named after them."""
    path = name.removeprefix("./")
    if name.startswith("[["):  # as a link has it: `[[Note#Heading|shown]]`
        path = name[2:].removesuffix("]]").partition("|")[0].partition("#")[0]
    head, _, line = path.rpartition(":")
    for candidate in (path, head if line.isdigit() else "", f"{path}.md"):
        if candidate and (row := catalogue.row_at(candidate)):
            return [row]
    found = next(filter(None, _matches(catalogue, path, is_link=name.startswith("[["))), [])
    # As answers print a name of several words.
    is_quoted = len(name) > 2 and name[0] == name[-1] == '"'
    return found or (find_all(catalogue, name[1:-1]) if is_quoted else [])


def _matches(catalogue: Catalogue, name: str, *, is_link: bool) -> Iterator[list[NoteRow]]:
    if not name:
        return
    yield catalogue.find(NoteFilter(ids=(name,)), "path")
    linked = KNOWLEDGE._replace(link_name=link_key(name))
    if not is_link and not name.endswith(".md"):
        yield _find_called(catalogue, name)
    yield catalogue.find(linked, "id")
    if is_link:
        yield _find_called(catalogue, name)
    if _MIN_PREFIX_CHARS <= len(name) <= 100:
        yield catalogue.find(NoteFilter(id_prefix=name), "id")
    if _MIN_END_CHARS <= len(name) <= 100:
        yield catalogue.find(NoteFilter(id_end=name), "id")


def _find_called(catalogue: Catalogue, name: str) -> list[NoteRow]:
    """The notes of this title, else file name, else alias; current ones before set aside ones."""
    ranks = catalogue.notes_called(name)
    rows = catalogue.find(KNOWLEDGE._replace(numbers=ranks), "id") if ranks else []
    best = min(((row.tier != TIER_CURRENT, ranks[row.number]) for row in rows), default=None)
    return [row for row in rows if (row.tier != TIER_CURRENT, ranks[row.number]) == best]


def closest_ids(catalogue: Catalogue, name: str, otherwise: str = "") -> str:
    """A hint of the ids and titles most like a name that does not exist; else `otherwise`."""
    return did_you_mean(name.lower(), catalogue.known_names(_MAX_COMPARED_IDS), otherwise)


def command(verb: str, *words: str | Named) -> str:
    """`cortex VERB …`, with notes by `command_name`."""
    plain = (one if isinstance(one, str) else command_name(one) for one in words)
    return cortex_command(verb, *plain)


def command_name(note: Named) -> str:
    """The word by which a command finds a note: its id, or its path if the id is no single word."""
    return note.id if note.id.split() == [note.id] and not note.id.startswith("-") else note.path
