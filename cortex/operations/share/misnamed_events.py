"""Event files that hold another event than their name says: git took one event for another."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.merge.note_versions import note_id
from cortex.core.model.event import is_event_id
from cortex.core.model.layout import is_event_path
from cortex.core.model.note_status import TIER_TRAIL
from cortex.index.catalogue import Catalogue
from cortex.index.filters import NoteFilter
from cortex.vault import files
from cortex.vault.layout import layout_of


class MisnamedEvent(NamedTuple):
    """A file named after one event that holds another."""

    path: str
    expected_id: str  # the event's id that its name says
    actual_id: str  # the one that it holds


def find_misnamed_events(catalogue: Catalogue) -> list[MisnamedEvent]:
    """Every such file, by path; files without an id are left out."""
    found = []
    events = NoteFilter(tiers=(TIER_TRAIL,), not_types=("briefing",))
    for row in catalogue.find(events, "path"):
        name = row.path.rpartition("/")[2].removesuffix(".md")
        if is_event_path(row.path) and is_event_id(name) and row.id not in (name, row.path):
            found.append(MisnamedEvent(row.path, name, row.id))
    return found


def restore_event_text(root: str, path: str, text: bytes) -> None:
    """Write an event's own text into its file. The other event that the file holds gets a file of
    its own first, if it has none."""
    now = files.read(root, path)
    other = note_id(now)
    if is_event_id(other) and not any(
        files.exists(root, place)
        for place in (
            layout_of(root).event(other),
            layout_of(root).pending(other),
            layout_of(root).failed(other),
        )
    ):
        files.create(root, layout_of(root).event(other), now)
    files.replace(root, path, text, now)
