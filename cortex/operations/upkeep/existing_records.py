"""Find existing records by id, topic or text, and notes of sessions, before an event makes new ones."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.event import Event, session_note_id
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.model.record import content_digest
from cortex.core.normalize.changes import ExistingRecords
from cortex.core.normalize.handlers import records_from_event
from cortex.index.catalogue.filters import KNOWLEDGE, NoteFilter
from cortex.index.refresh import IndexSession, query_index
from cortex.vault import settings
from cortex.vault.locate import Vault


def load_existing_records(
    vault: Vault, caller: Caller, event: Event | None = None
) -> ExistingRecords:
    """What exists, from a refreshed index; with `event`, only what this one can touch."""
    filters = _filters_of_event(vault, event) if event else [KNOWLEDGE]
    # The inbox holds no record, and what is in it is about to move.
    return query_index(
        vault,
        caller.progress,
        lambda index: _read_existing_records(index, filters),
        skip_folder=vault.layout().pending(),
    )


def _filters_of_event(vault: Vault, event: Event) -> list[NoteFilter]:
    """What an event can touch: records with the ids, topics or texts of its own, its session."""
    # What it supersedes leads to other records; minutes make records of their own.
    if event.supersedes or event.type == "meeting":
        return [KNOWLEDGE]
    records = records_from_event(event, settings.load(vault.root).phrases)
    return [
        KNOWLEDGE._replace(
            ids={
                session_note_id(event.session or event.id),
                *(id_ for one in records for id_ in (one.id, *one.supersedes)),
            }
        ),
        KNOWLEDGE._replace(topics={one.topic for one in records if one.topic}),
        KNOWLEDGE._replace(digests={content_digest(one.title, one.body) for one in records}),
    ]


def _read_existing_records(index: IndexSession, filters: list[NoteFilter]) -> ExistingRecords:
    existing = ExistingRecords()
    for row in (row for one in filters for row in index.catalogue.find(one, "path")):
        has_id = row.id != row.path
        if has_id or row.events:
            existing.add(
                path=row.path,
                id_=row.id,
                type_=row.type,
                project=row.project,
                at=row.created,
                title=row.title,
                digest_=row.digest if row.tier == TIER_CURRENT else "",
                from_events=row.events,
            )
        if has_id and row.topic:
            existing.path_by_topic.setdefault((row.project, row.scope, row.topic), row.path)
    return existing
