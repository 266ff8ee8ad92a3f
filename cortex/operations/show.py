"""One note, whole."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core import note as notes
from cortex.core.caller import Caller
from cortex.core.problem import Conflict, NotFound, Problem
from cortex.operations.freshen import heal_if_due
from cortex.projections.catalogue import Catalogue, Row
from cortex.projections.refresh import look
from cortex.vault import files
from cortex.vault.find import Vault

MAX_SHOWN = 4 * 1024 * 1024  # bytes
_SHORTEST = 4  # signs of an id that may stand for it


class Shown(NamedTuple):
    """A note as its file has it."""

    id: str
    path: str
    title: str
    type: str
    status: str
    text: str
    problems: tuple[Problem, ...]
    cut: bool  # the file is longer than `MAX_SHOWN`


def show(vault: Vault, caller: Caller, note: str) -> Shown:
    """Show a note whole, by its id, the beginning of its id, or its path in the vault.

    note: an id or path, as search shows it; `path:line` will do

    Example: cortex show records/decision/publish-by-link-k3f7q2.md
    """
    heal_if_due(vault, caller)
    row = look(vault, caller.progress, lambda now: _one(note, _matches(note, now.catalogue)))
    data = files.read(vault.root, row.path, MAX_SHOWN + 1)
    cut, data = len(data) > MAX_SHOWN, data[:MAX_SHOWN]
    text = data.removeprefix(notes.BOM).decode("utf-8", "replace")
    return Shown(row.id, row.path, row.title, row.type, row.status, text, notes.read(data, row.path).problems, cut)


def _matches(name: str, catalogue: Catalogue) -> list[Row]:
    """The notes that a name can mean, by the first of these that any note answers to: path, path and line, id,
    path without its ending, the beginning of an id. An event is meant last: its record is named after it."""
    path = name.removeprefix("./")
    head, _, line = path.rpartition(":")
    for candidate in (path, head if line.isdigit() else "", f"{path}.md"):
        if candidate and (row := catalogue.at(candidate)):
            return [row]
    if rows := list(catalogue.rows("id = ? ORDER BY path", (name,))):
        return rows
    if not _SHORTEST <= len(name) <= 100:
        return []
    prefix = name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    return list(catalogue.rows("id LIKE ? ESCAPE '\\' ORDER BY id, path LIMIT 20", (prefix,)))


def _one(name: str, rows: list[Row]) -> Row:
    if not rows:
        short = "the beginning of an id has four signs at least; " if len(name) < _SHORTEST else ""
        raise NotFound(f"there is no note {name!r}", f"{short}cortex search finds notes by their words")
    if len(rows) > 1:
        raise Conflict(f"{name!r} names {len(rows)} notes: {', '.join(row.path for row in rows[:5])}", "give the path of the one you mean")
    return rows[0]
