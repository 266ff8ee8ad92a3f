"""The event-sourced `cortex` of As-The-Geek-Learns: the events of its database, or of tier 0's file.
What was only looked at, changed or run is left out, as what follows from the events."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator

from cortex.core.model.problem import InvalidInputError
from cortex.importers.archive import Archive, iter_json_array
from cortex.importers.database import is_database, open_database
from cortex.importers.item import ForeignItem, ForeignRecord, Row, items_of

_TYPES = {
    "decision_made": "decision", "approach_rejected": "rejection", "plan_created": "plan",
    "plan_step_completed": "progress", "task_completed": "progress", "error_resolved": "bugfix",
    "knowledge_acquired": "learning", "preference_noted": "preference",
    "file_modified": "", "file_explored": "", "command_run": "",
}  # fmt: skip


def accepts(path: str) -> bool:
    """Whether a file holds such events, or a folder such files, as `~/.cortex/projects` does."""
    return bool(_stores(path))


def read(path: str) -> Iterator[ForeignItem]:
    """A record for each event that says something. All plans of a session are one topic."""
    if not (stores := _stores(path)):
        raise InvalidInputError(f"{path} holds no events", "name ~/.cortex/projects")
    for store in stores:
        if store.endswith(".json"):
            with open(store, "rb") as file:
                yield from items_of(iter_json_array(file), _record, "event")
        else:
            with open_database(store) as database:
                yield from items_of(database.rows("events"), _record, "event")


def _stores(path: str) -> list[str]:
    inside = (name for end in ("/*.*", "/*/*.*") for name in glob.glob(glob.escape(path) + end))
    files = [path] if os.path.isfile(path) else sorted(inside)
    heads = ((file, Archive(file, None)) for file in files if file.endswith("events.json"))
    plain = [file for file, archive in heads if '"salience"' in archive.read("", 4_000)]
    return [*plain, *(file for file in files if is_database(file, "events", "snapshots"))]


def _record(row: Row) -> ForeignRecord | None:
    type_, session = _TYPES.get(row["type"], row["type"]), row["session_id"] or ""
    return ForeignRecord(
        row["id"], "", row["content"], type_, row["created_at"], project=row["project"] or "",
        branch="" if row["git_branch"] == "unknown" else row["git_branch"] or "",
        session=session, confidence=row["confidence"],
        topic=f"plan/{session[:80]}" if session and type_ == "plan" else "",
        priority=round(10 * row["salience"]),
    ) if type_ else None  # fmt: skip
