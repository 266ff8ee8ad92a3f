"""What people's own notes say in a briefing: decisions, open tasks, meetings; from the catalogue."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from cortex.core.briefing import compose
from cortex.core.briefing.compose import BriefingEntry, BriefingPart
from cortex.core.minutes.note_items import DECISION, MEETING, TASK, plain_text
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.text.shell_command import cortex_command
from cortex.index.catalogue import Catalogue
from cortex.index.filters import NoteFilter
from cortex.index.in_degree import in_degree
from cortex.index.queries import OwnItemRow, own_items

# Part, items, the most that are told, and the command that lists all. Without a clock the decisions
# and meetings with the latest dates are the newest.
_PARTS = (
    (compose.OPEN, TASK, 12, ("actions",)),
    (compose.DECISIONS, DECISION, 12, ("recall", "--type", "decision")),
    (compose.MEETINGS, MEETING, 5, ("meetings",)),
)
_MAX_NOTES = 8


def load_own_parts(
    catalogue: Catalogue, projects: Collection[str], *, alone: bool
) -> tuple[list[BriefingPart], list[str]]:
    """The parts that the own notes of these projects fill, and the paths of the notes that are told.
    `alone` says that there are no records: where there are no items either, the notes are told, the
    most linked first. No file time counts."""
    parts, paths = [], []
    of_project = () if "" in projects else tuple(f"--project={name}" for name in projects)[:1]
    for kind, of, most, words in _PARTS:
        order: Literal["day", "-day"] = "day" if of == TASK else "-day"
        items, total = own_items(catalogue, of, projects, order, most)
        command = cortex_command(*words, *of_project)
        parts.append(BriefingPart(kind, tuple(map(_entry, items)), total, command))
        paths += [one.path for one in items]
    if alone and not paths:
        linked = in_degree(catalogue)
        rows = catalogue.find(NoteFilter(tiers=(TIER_CURRENT,), projects=projects))
        rows.sort(key=lambda row: (-linked.get(row.number, 0), row.path.count("/"), row.path))
        entries = tuple(BriefingEntry(row.id, row.type, row.title) for row in rows[:_MAX_NOTES])
        command = cortex_command("recall", *of_project)
        parts.append(BriefingPart(compose.NOTES, entries, len(rows), command))
        paths = [row.path for row in rows[:_MAX_NOTES]]
    return [part for part in parts if part.total], paths


def _entry(item: OwnItemRow) -> BriefingEntry:
    handle = f"{item.path}:{item.line}" if item.line > 1 else item.path
    if item.kind != TASK:
        return BriefingEntry(handle, item.kind, plain_text(item.text), day=item.day)
    marks = (item.person, f"due {item.day}" if item.day else "")
    return BriefingEntry(handle, TASK, plain_text(item.text), marks=tuple(filter(None, marks)))
