"""What stood around a note in time: the second step between finding and reading."""

from __future__ import annotations

from typing import Annotated

from cortex.core.minutes.note_items import plain_text
from cortex.core.model.caller import Caller
from cortex.core.model.parameters import Between, NoteName
from cortex.core.model.problem import NotFoundError, Problem
from cortex.core.normalize import session_note as sessions
from cortex.core.text.iso_time import epoch_seconds, parse_period
from cortex.core.text.strings import shorten
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import CURRENT
from cortex.index.refresh import IndexSession
from cortex.operations.find import resolve_note
from cortex.operations.find.hits import Hit, build_hit
from cortex.operations.find.show import read_note
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

MAX_NEIGHBOURS = 100
MAX_LINE_CHARS, MAX_FOCUS_CHARS = 150, 500  # characters


class Timeline(NamedTuple):
    """Notes in the order in which they were made, and the id of the one that was asked for."""

    focus: str
    hits: tuple[Hit, ...]
    total: int  # of the notes around it that were asked for: --number on each side at most
    problems: tuple[Problem, ...]


def timeline(
    vault: Vault,
    caller: Caller,
    note: NoteName = "",
    *,
    number: Annotated[int, Between(1, MAX_NEIGHBOURS)] = 5,
    all: bool = False,
) -> Timeline:
    """Show what was noted just before and just after a note.

    Of its project, events left out. Each neighbour has a line of at most 150 characters, the note itself 500: enough to see
    whether cortex show ID is worth it.

    note: an id, path or title, as search and recall show it; or a day, for its last note; by default the newest
    number: how many before it, and as many after it
    all: of the whole vault, whatever the project

    Example: cortex timeline decision-save-lookup
    """

    def load(index: IndexSession) -> tuple[list[NoteRow], NoteRow, list[NoteRow]]:
        row = _focus(index, caller, note)
        # By when they were made: later edits do not move a note among those that were made with it.
        project = None if all else row.project
        before, after = index.catalogue.neighbours_in_time(row, number, project)
        return before, row, after

    (before, focus, after), problems = query_fresh(vault, caller, load)
    around = (build_hit(vault, row) for row in (*before, focus, *after))
    hits = [hit._replace(snippet=shorten(hit.snippet, MAX_LINE_CHARS)) for hit in around]
    whole, at = read_note(vault, focus.path), len(before)
    said = plain_text(whole.text_below_title) if whole else ""
    hits[at] = hits[at]._replace(snippet=sessions.excerpt(said, MAX_FOCUS_CHARS))
    access_log.append(vault, caller, "timeline", [focus.id])
    return Timeline(focus.id, tuple(hits), len(hits), tuple(problems))


def _focus(index: IndexSession, caller: Caller, note: str) -> NoteRow:
    """The note of a name; the last one that was made on a day, or by now."""
    day, until = parse_period(note, caller.now, caller.zone), epoch_seconds(caller.now)
    if note and not (day and not resolve_note.find_all(index.catalogue, note)):
        return resolve_note.find_one(index.catalogue, note)
    until = day[1] - 1 if day else until
    made = CURRENT._replace(created_until=until, zone=caller.zone)
    for row in index.catalogue.find(made, "-created", 1):
        return row
    raise NotFoundError("there is no note yet", "cortex save or cortex capture keeps something")
