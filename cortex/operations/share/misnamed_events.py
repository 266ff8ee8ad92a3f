"""Event files that hold another event than their name says, as git leaves them when it takes one event for another."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.merge.conflicts import is_event_path, note_id
from cortex.core.model.event import is_event_id, path_of
from cortex.index.catalogue import Catalogue
from cortex.vault import files, layout


class Misnamed(NamedTuple):
    """A file named after one event that holds another."""

    path: str
    name: str  # the event's id that its name says
    id: str  # the one that it holds


def misnamed_events(catalogue: Catalogue) -> list[Misnamed]:
    """Every such file, by path. A file without an id is not one of them: nobody can tell whose it is."""
    found = []
    for row in catalogue.rows("tier = 2 AND type != 'briefing' ORDER BY path"):
        name = row.path.rpartition("/")[2].removesuffix(".md")
        if is_event_path(row.path) and is_event_id(name) and row.id not in (name, row.path):
            found.append(Misnamed(row.path, name, row.id))
    return found


def give_back(root: str, path: str, text: bytes) -> None:
    """Write an event's own text into its file. What the file holds now, another event, is given a file of its own first if it
    has none."""
    now = files.read(root, path)
    other = note_id(now)
    if is_event_id(other) and not any(
        files.exists(root, place)
        for place in (path_of(other), layout.pending(other), layout.failed(other))
    ):
        files.publish(root, path_of(other), now)
    files.replace(root, path, text, now)
