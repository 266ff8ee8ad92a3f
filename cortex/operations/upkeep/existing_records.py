"""Find existing records by id, topic or text, and notes of sessions, before an event makes new ones."""

from __future__ import annotations

from collections.abc import Sequence

from cortex.core.model.caller import Caller
from cortex.core.model.event import Event, session_note_id
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.model.record import content_digest
from cortex.core.normalize.changes import ExistingRecords
from cortex.core.normalize.handlers import SESSION_TEXT_TYPES, records_from_event
from cortex.core.text.strings import text_digest
from cortex.index.catalogue.filters import KNOWLEDGE, NoteFilter
from cortex.index.refresh import IndexSession, query_index
from cortex.vault import settings
from cortex.vault.locate import Vault


def load_existing_records(
    vault: Vault, caller: Caller, touching: Sequence[Event] = ()
) -> ExistingRecords:
    """What exists, from a refreshed index; with events, only what these can touch."""
    filters = _filters_of_events(vault, touching) if touching else [KNOWLEDGE]
    # The inbox holds no record, and what is in it is about to move.
    inbox = vault.layout().pending()
    return query_index(vault, caller.progress, _read_existing_records, filters, skip_folder=inbox)


def _filters_of_events(vault: Vault, touching: Sequence[Event]) -> list[NoteFilter]:
    """What events can touch: records with the ids, topics or texts of their own, their sessions."""
    # What one supersedes leads to other records, of which an import names all; minutes make records
    # of their own.
    if any((one.supersedes and not one.imported_from) or one.type == "meeting" for one in touching):
        return [KNOWLEDGE]
    ids, topics, digests, sessions = set(), set(), set(), set()
    phrases = settings.load(vault.root).phrases
    for event in touching:
        ids.add(session_note_id(event.session or event.id))
        sessions |= {event.session} if event.type in SESSION_TEXT_TYPES else set()
        for one in records_from_event(event, phrases):
            ids |= {one.id, *one.supersedes}
            topics.add(one.topic)
            digests.add(content_digest(one.title, one.body))
    return [
        KNOWLEDGE._replace(ids=ids),
        KNOWLEDGE._replace(topics=topics - {""}),
        KNOWLEDGE._replace(digests=digests),
        KNOWLEDGE._replace(sessions=sessions - {""}),
    ]


def _read_existing_records(index: IndexSession, filters: list[NoteFilter]) -> ExistingRecords:
    existing = ExistingRecords()
    for row in index.catalogue.find(NoteFilter(state="to_do", has_id=True), "path"):
        name = row.project, text_digest(row.title)
        existing.open_actions.setdefault(name, (row.id, row.owner))
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
        if row.session and row.type != "session":
            existing.paths_by_session.setdefault(row.session, []).append(row.path)
        if has_id and row.topic:
            existing.path_by_topic.setdefault((row.project, row.scope, row.topic), row.path)
    return existing
