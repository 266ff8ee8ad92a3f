"""`Hit` and `Listing`: how verbs return notes."""

from __future__ import annotations

from types import GenericAlias
from typing import Any, Generic, TypeVar

from cortex.core.markdown import snippet as snippets
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import MAX_NOTE_BYTES, decode_text
from cortex.core.model.parameters import Time
from cortex.core.model.problem import CortexError, Problem
from cortex.core.ranking.query import Query
from cortex.core.runs.run_event import without_json
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow, OwnItemRow
from cortex.index.catalogue.filters import LINE_TYPES
from cortex.index.refresh import IndexSession, query_index
from cortex.vault import files
from cortex.vault.locate import Vault

T = TypeVar("T")
MAX_ECHOED_CHARS = 500  # of a query, in what is answered to it


class NoteRef(NamedTuple):
    """A note, by its name."""

    id: str
    type: str
    title: str
    path: str  # relative to its vault


class Hit(NamedTuple):
    """A note that was found, and the sentences that show why."""

    id: str
    path: str  # relative to its vault
    line: int
    title: str
    type: str
    status: str
    score: float
    snippet: str
    date: Time
    project: str = ""
    vault: str = "project"  # or personal: whose vault it lies in
    file: str = ""  # absolute path
    others: tuple[NoteRef, ...] = ()  # notes of the same matter that answer less well
    # With --explain, what it was found by: `name`, `words` and `meaning` with what each scores,
    # and `terms`, the words that it holds with their weights.
    why: dict[str, float | dict[str, float]] = {}  # noqa: RUF012
    owner: str = ""  # of an action
    due: str = ""
    doubt: str = ""  # why it may not hold any more


class Hits(NamedTuple, Generic[T]):
    """A section of an answer: the first notes of a list, and how many there are in all."""

    hits: list[T]
    total: int


class Listing(NamedTuple, Generic[T]):
    """The first notes of a list, and how many there are in all."""

    hits: list[T]
    total: int
    problems: list[Problem]
    hint: str = ""


# What our `NamedTuple` lacks of `Generic`; with that of `typing` these two take 1 ms.
for _name, _value in {
    "__parameters__": (T,),
    "__class_getitem__": classmethod(GenericAlias),
}.items():
    setattr(Hits, _name, _value)
    setattr(Listing, _name, _value)


def build_hit(
    vault: Vault,
    row: NoteRow,
    score: float = 0.0,
    wanted: snippets.Wanted | None = None,
    *,
    whose: str = "project",
    part: int = -1,
) -> Hit:
    """The hit of a row, with the sentences of its passage `part` that hold most of what is wanted,
    else its first line of text."""
    shown = snippets.best_excerpt(read_text(vault, row), wanted, part)
    hit = make_hit(vault, row, shown.line, shown.text)
    return hit._replace(score=round(score, 3), vault=whose)


def expand(
    vault: Vault, caller: Caller, query: Query, hits: list[Hit], wanted: snippets.Wanted | None
) -> list[Hit]:
    """The hits; instead of a person's own note, which a filter by type found by decisions or questions
    that it tells, a hit for each of those that holds what is looked for."""
    filters = (one for one in query.filters if one.key == "type" and not one.negated)
    kinds = {value.casefold() for one in filters for value in one.values}.intersection(LINE_TYPES)
    if not kinds:
        return hits

    def find(index: IndexSession) -> list[OwnItemRow]:
        return [item for kind in sorted(kinds) for item in index.catalogue.own_items(kind)[0]]

    told: dict[str, list[dict[str, Any]]] = {}
    for _, path, kind, line, text, *_ in query_index(vault, caller.progress, find):
        if wanted is None or wanted.found_in(text):
            said = {"id": f"{path}:{line}", "line": line, "title": text, "snippet": text}
            said["type"] = kind
            told.setdefault(vault.file(path), []).append(said)
    lines = ((hit, () if hit.type in kinds else told.get(hit.file, ())) for hit in hits)
    return [hit._replace(**one) for hit, some in lines for one in some or ({},)]


def read_text(vault: Vault, row: NoteRow) -> str:
    """The text of a note; empty when it was deleted since the index was refreshed."""
    try:
        text = decode_text(files.read(vault.root, row.path, MAX_NOTE_BYTES))
        return without_json(text) if row.type == "run" else text
    except (CortexError, OSError):
        return ""


def make_hit(vault: Vault, row: NoteRow, line: int, snippet: str) -> Hit:
    """The hit of a row, with a line of its note; without a score."""
    named = (row.id, row.path, line, row.title, row.type, row.status)
    hit = Hit(*named, 0.0, snippet, row.when, row.project, file=vault.file(row.path))
    return hit._replace(owner=row.owner, due=row.due) if row.type == "action" else hit
