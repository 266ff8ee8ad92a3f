"""What stood around a note in time: the second step between finding and reading."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model import session as sessions
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.status import MAX_NOTE_BYTES
from cortex.core.notes import note as notes
from cortex.core.text.strings import shorten
from cortex.index.catalogue import MADE, Row
from cortex.index.refresh import Views, look
from cortex.operations.find import resolve_note
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.find.hits import Hit, hit
from cortex.operations.find.spans import checked
from cortex.vault import files
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

MOST = 100
LINE_LIMIT, FOCUS_LIMIT = 150, 500  # characters; engram's and seed 001's


class Timeline(NamedTuple):
    """Notes in the order in which they were made, and the id of the one that was asked for."""

    focus: str
    records: tuple[Hit, ...]
    problems: tuple[Problem, ...]


def timeline(
    vault: Vault, caller: Caller, note: str, *, number: int = 5, all: bool = False
) -> Timeline:
    """Show what was noted just before and just after a note, in its project, events left out.

    Each neighbour has a line of at most 150 characters, the note itself 500: enough to see whether cortex show ID is worth it.

    note: an id or path, as search and recall show it
    number: how many before it, and as many after it
    all: of the whole vault, whatever the project

    Example: cortex timeline publish-by-link-k3f7q2
    """
    checked(number, MOST, "cortex timeline -n 5 ID")
    problems = freshen(vault, caller)
    before, focus, after = look(vault, caller.progress, lambda now: _around(now, note, number, all))
    shown = [_short(hit(vault, row)) for row in before]
    shown.append(hit(vault, focus)._replace(snippet=_opening(vault, focus)))
    shown += [_short(hit(vault, row)) for row in after]
    access_log.mark(vault, caller, "timeline", [focus.id])
    return Timeline(focus.id, tuple(shown), tuple(problems))


def _around(now: Views, name: str, number: int, all_: bool) -> tuple[list[Row], Row, list[Row]]:
    """The notes before one, that one, and those after it, by when they were made: later edits do not move a note among
    those that were made with it. Those of one moment stand in the order of their ids."""
    focus = resolve_note.one(now.catalogue, name)
    moment = next(
        now.catalogue.asked(f"SELECT {MADE} FROM note WHERE number = ?", (focus.number,))
    )[0]
    where, values = ("tier < 2", []) if all_ else ("tier < 2 AND project = ?", [focus.project])
    near = f"{where} AND number != ? AND ({MADE}, id) {{0}} (?, ?) ORDER BY {MADE} {{1}}, id {{1}} LIMIT ?"
    before, after = (
        list(
            now.catalogue.rows(
                near.format(which, order), (*values, focus.number, moment, focus.id, number)
            )
        )
        for which, order in (("<", "DESC"), (">", "ASC"))
    )
    return before[::-1], focus, after


def _short(one: Hit) -> Hit:
    return one._replace(snippet=shorten(one.snippet, LINE_LIMIT))


def _opening(vault: Vault, row: Row) -> str:
    try:
        return sessions.gist(
            notes.read(files.read(vault.root, row.path, MAX_NOTE_BYTES)).text, FOCUS_LIMIT
        )
    except (CortexError, OSError):
        return ""  # deleted just now
