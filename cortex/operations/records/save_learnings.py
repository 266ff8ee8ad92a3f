"""Learnings that an agent has written down anyway, kept without asking it to."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import Problem
from cortex.core.notes import note as notes
from cortex.core.redact.secrets import sanitize_text
from cortex.operations.capture.capture import new_event_id
from cortex.operations.capture.project_context import resolve_project
from cortex.operations.upkeep.normalize_now import publish_and_normalize
from cortex.vault import files
from cortex.vault.git import checkout
from cortex.vault.locate import Vault


class LearnedRecord(NamedTuple):
    """One record of what was learned."""

    id: str
    path: str  # relative to the vault
    file: str  # absolute path
    title: str
    type: str
    topic: str
    outcome: str  # created, updated or duplicate


class PassiveResult(NamedTuple):
    """What became of a text."""

    event: str
    hits: tuple[LearnedRecord, ...]
    total: int
    problems: tuple[Problem, ...]


def save_learnings(
    vault: Vault,
    caller: Caller,
    text: str,
    *,
    session: str = "",
    project: str = "",
    source: str = "",
) -> PassiveResult:
    """Capture the text as an event of type `passive`, and make its records."""
    event = Event(
        id=new_event_id(caller),
        type="passive",
        at=caller.now,
        text=sanitize_text(text),
        session=sanitize_text(session),
        project=resolve_project(vault, caller, project),
        branch=sanitize_text(checkout.branch_of(caller.cwd)),
        source=sanitize_text(source) or caller.source,
    )
    events.validate(event)
    event, done = publish_and_normalize(vault, caller, event)
    records = []
    for path, outcome in done.records:
        note = notes.read(files.read(vault.root, path), path)
        title, type_, topic = note.title, note.get("type"), note.get("topic")
        file = os.path.join(vault.root, path)
        records.append(LearnedRecord(note.get("id"), path, file, title, type_, topic, outcome))
    return PassiveResult(event.id, tuple(records), len(records), done.problems)
