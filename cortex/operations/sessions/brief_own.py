"""What people's own notes say in a briefing: decisions, open tasks, meetings; read from the catalogue."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from cortex.core.briefing.compose import (
    DECISIONS,
    MEETINGS,
    NOTES,
    OPEN,
    BriefingEntry,
    BriefingPart,
)
from cortex.core.extract.own_items import DECISION, MEETING, TASK, plain_text
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.text.shell_command import cortex_command
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.filters import NoteFilter
from cortex.index.in_degree import in_degree
from cortex.index.queries import OwnItemRow, own_items

_MAX_ITEMS, _MAX_MEETINGS, _MAX_NOTES = 12, 5, 8  # the others are counted
_CURRENT = NoteFilter(tiers=(TIER_CURRENT,))


def load_own_parts(
    catalogue: Catalogue, projects: Collection[str], *, alone: bool
) -> tuple[tuple[BriefingPart, ...], list[str]]:
    """The parts that the own notes of these projects fill, and the paths of the notes that are told.
    `alone` says that there are no records: where there are no items either, the most linked notes
    are told. No file time counts."""
    tasks = own_items(catalogue, TASK, projects, "day")
    decisions = own_items(catalogue, DECISION, projects, "-day")
    meetings = own_items(catalogue, MEETING, projects, "-day")
    project = next((name for name in projects if name and "" not in projects), "")
    of_project = ("--project", project) if project else ()
    some = {
        OPEN: tasks[:_MAX_ITEMS],
        DECISIONS: decisions[:_MAX_ITEMS],
        MEETINGS: meetings[:_MAX_MEETINGS],
    }
    parts = [
        BriefingPart(
            OPEN, _entries(some[OPEN], "due "), len(tasks), cortex_command("actions", *of_project)
        ),
        BriefingPart(
            DECISIONS,
            _entries(some[DECISIONS]),
            len(decisions),
            cortex_command("recall", "--type", "decision", *of_project),
        ),
        BriefingPart(
            MEETINGS,
            _entries(some[MEETINGS]),
            len(meetings),
            cortex_command("meetings", *of_project),
        ),
    ]
    paths = [one.path for items in some.values() for one in items]
    if alone and not paths:
        rows = _most_linked(catalogue, projects)
        entries = tuple(BriefingEntry(row.id, row.type, row.title) for row in rows[:_MAX_NOTES])
        parts = [BriefingPart(NOTES, entries, len(rows), cortex_command("recall", *of_project))]
        paths = [row.path for row in rows[:_MAX_NOTES]]
    return tuple(part for part in parts if part.total), paths


def _entries(items: Iterable[OwnItemRow], due: str = "") -> tuple[BriefingEntry, ...]:
    """The entries of items; with `due` their day is a mark, else it stands before the text."""
    return tuple(
        BriefingEntry(
            f"{one.path}:{one.line}" if one.line > 1 else one.path,
            "note",
            plain_text(one.text),
            marks=tuple(filter(None, (one.person, one.day and due + one.day if due else ""))),
            day="" if due else one.day,
        )
        for one in items
    )


def _most_linked(catalogue: Catalogue, projects: Collection[str]) -> list[NoteRow]:
    """Own notes, those first to which most notes link, then those that lie highest."""
    linked = in_degree(catalogue)
    rows = catalogue.find(_CURRENT._replace(projects=projects))
    own = [row for row in rows if row.id == row.path]
    return sorted(own, key=lambda row: (-linked.get(row.number, 0), row.path.count("/"), row.path))
