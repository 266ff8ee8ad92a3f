"""What a source holds, as values: memories, sessions, meetings and files. A `key` is the source's own
name for a thing: it is part of the id that the thing gets here, so it must be the same each time.

Times are as the source writes them: a text with or without an offset, or a number of seconds or
milliseconds since 1970; empty where it gives none. Texts are raw: what takes the items redacts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, TypeVar

from cortex.core.model.problem import CortexError, Problem, problem_of, reason_of
from cortex.core.model.relation import normalize_kind
from cortex.core.model.turn_summary import CommandRun, Utterance
from cortex.core.text.value import NamedTuple

When: TypeAlias = str | int | float | None
# What comes of a row in which a field is missing or odd.
FAULTS = AttributeError, CortexError, KeyError, RecursionError, TypeError, ValueError
_OWN_EDGES = ("supersedes", "superseded_by", "derived_from")  # that have a field of their own
Made = TypeVar("Made")
Row: TypeAlias = dict[str, Any]  # of a table, or an object of JSON, as the source has it


class ForeignRecord(NamedTuple):
    """A memory. Other memories of the same source are named by their keys."""

    key: str
    title: str  # if empty, the first line of the body
    body: str
    type: str = "note"  # any word; words of Cortex for the same are used, as in a save
    at: When = ""
    updated: When = ""
    project: str = ""  # a name, or a path whose last part is one
    branch: str = ""
    session: str = ""
    topic: str = ""  # only where the source updates a memory under a name of its own
    scope: str = ""
    tags: tuple[str, ...] = ()
    status: str = ""  # active, superseded, archived or another word; empty for the type's first
    confidence: float | None = None  # 0 to 1
    priority: int | None = None  # 1 to 10
    pinned: bool = False
    owner: str = ""
    due: str = ""
    attendees: tuple[str, ...] = ()
    supersedes: tuple[str, ...] = ()  # keys
    superseded_by: str = ""  # a key
    derived_from: tuple[str, ...] = ()  # keys
    relations: tuple[tuple[str, str], ...] = ()  # others: kind, key
    is_dated: bool = False  # the import sets it: whether the source gives a time


class ForeignTurn(NamedTuple):
    """One turn of a session: what was asked, and what was said and done then."""

    key: str  # within the session
    at: When
    said: tuple[Utterance, ...] = ()
    files: tuple[str, ...] = ()  # that were changed
    commands: tuple[CommandRun, ...] = ()
    summary: str = ""  # in place of these: what the source itself says of the session
    given: tuple[str, ...] = ()  # texts of files that a person gave


class ForeignSession(NamedTuple):
    """A session of an agent, or a conversation."""

    key: str
    turns: tuple[ForeignTurn, ...]
    title: str = ""  # the source's own
    host: str = ""  # the program, where that is another than the source
    project: str = ""
    folder: str = ""  # the working directory
    branch: str = ""
    at: When = ""
    goal: str = ""  # what it was begun for
    ended: When = ""


class ForeignMeeting(NamedTuple):
    """A meeting: minutes, or what was said, as markdown."""

    key: str
    title: str
    text: str
    at: When = ""
    attendees: tuple[str, ...] = ()
    project: str = ""


class ForeignFile(NamedTuple):
    """A note, a run or an agent that goes into the vault as it is. Again it adds only what is new."""

    key: str
    path: str  # relative to the vault; `notes/` and the like are of the source's choosing
    text: str
    at: When = ""


# A problem names the thing that it is of.
ForeignItem: TypeAlias = ForeignRecord | ForeignSession | ForeignMeeting | ForeignFile | Problem


def with_edges(record: ForeignRecord, edges: Iterable[tuple[str, str]]) -> ForeignRecord:
    """The record with edges to others: kinds in any spelling, and keys. One to itself is none."""
    pairs = [(normalize_kind(kind), key) for kind, key in edges if key not in ("", record.key)]
    own = {one: tuple(key for kind, key in pairs if kind == one) for one in _OWN_EDGES}
    return record._replace(
        supersedes=own["supersedes"], derived_from=own["derived_from"],
        superseded_by=next(iter(own["superseded_by"]), ""),
        relations=tuple(pair for pair in pairs if pair[0] not in own),
    )  # fmt: skip


def items_of(
    rows: Iterable[Row], make: Callable[[Row], Made | None], name: str, key: str = "id"
) -> Iterator[Made | Problem]:
    """What `make` makes of each row that it makes something of. Where it cannot, a `Problem` that
    names the row: the word `name` and its `key`."""
    for row in rows:
        try:
            item = make(row)
        except FAULTS as error:
            where = f"{name} {row.get(key, '') if isinstance(row, dict) else ''}".strip()
            yield fault(where, error)
        else:
            yield from [item] if item else []


def fault(where: str, error: Exception) -> Problem:
    """A `Problem` that says in plain words why one thing cannot be read."""
    message, hint = reason_of(error), "it is left out; look at it in the program that wrote it"
    if isinstance(error, CortexError):
        return problem_of(where, error, hint)
    if isinstance(error, KeyError):
        message = f"a field is missing: {error.args[0]}"
    elif isinstance(error, AttributeError | TypeError):
        message = "a field holds something else than it should"
    elif isinstance(error, RecursionError):
        message = "it is nested too deeply"
    return Problem(where, f"cannot be read: {message}", hint)
