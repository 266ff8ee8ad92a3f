"""What has to be known to normalize one event that was captured just now, without a look at every note.

The catalogue of the last look tells it, however old that is; each answer is checked against its file. What has come since
is told by the events of the last minutes, whose names begin with their time. Where that does not do, `None` says so.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TypeVar

from cortex.core.model import event as events, session_note as sessions, topics
from cortex.core.model.event import Event
from cortex.core.model.note_status import SET_ASIDE_STATUSES, TIER_CURRENT, TIER_TRAIL
from cortex.core.model.problem import CortexError
from cortex.core.model.record import Record
from cortex.core.normalize.changes import DUPLICATE_WINDOW_SECONDS, ExistingRecords, parse_timestamp
from cortex.core.normalize.handlers import parse_event, records_from_event
from cortex.core.notes import note as notes, yaml_writer
from cortex.core.text.strings import text_digest
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.refresh import STATE_FILE, load_valid_state
from cortex.vault import files, settings
from cortex.vault.locate import Vault
from cortex.vault.lock import lock

_LOCK_TIMEOUT_SECONDS = 60.0  # seconds, for a process that brings the catalogue up to date
_MAX_UNINDEXED_EVENTS = (
    400  # events that the catalogue does not know; with more of them a look costs less
)
_MAX_LOOKBACK_SECONDS = 90 * 86_400  # seconds since the last look that are looked through
_MULTI_RECORD_TYPE_LINES = (
    b"\ntype: passive\n",
    b"\ntype: subagent_stop\n",
)  # their records are parts of their text

_T = TypeVar("_T")


class CatalogueOutdated(Exception):
    """The vault is not as the catalogue and the names of files tell."""


def lookup_existing_records(vault: Vault, event: Event) -> ExistingRecords | None:
    """What exists, as far as this event can touch it; None when only a proper look can tell."""
    if event.type not in ("observation", "passive") or event.supersedes:
        return None
    return _query_catalogue(vault, event, lambda at: at.existing_records())


def lookup_topic_path(vault: Vault, event: Event) -> str | None:
    """Where the record of a save's topic lies, empty when there is none; None when only a proper look can tell. One that was
    moved since the last look is not seen, nor one that a hand gave to another project."""
    return _query_catalogue(vault, event, lambda at: at.topic_path())


def _query_catalogue(vault: Vault, event: Event, tell: Callable[[_QuickLookup], _T]) -> _T | None:
    folder = vault.cache_folder()
    with lock(
        os.path.join(folder, "index.lock"), "search index", shared=True, wait=_LOCK_TIMEOUT_SECONDS
    ):
        if load_valid_state(folder) is None:
            return None
        with Catalogue(folder, writable=False) as catalogue:
            try:
                return tell(
                    _QuickLookup(
                        vault, catalogue, event, os.stat(os.path.join(folder, STATE_FILE)).st_mtime
                    )
                )
            except (CatalogueOutdated, sqlite3.DatabaseError, FileNotFoundError):
                return None


class _QuickLookup:
    """One event, the catalogue, and the files."""

    def __init__(self, vault: Vault, catalogue: Catalogue, event: Event, looked: float) -> None:
        self.root = vault.root
        self.indexed_at = looked  # when the catalogue was brought up to date, in seconds
        self.catalogue = catalogue
        self.event = event
        self.records = records_from_event(event)
        if any(record.layer for record in self.records):
            raise CatalogueOutdated  # an id that is made of a text may be that of any note
        self.existing = ExistingRecords()

    def existing_records(self) -> ExistingRecords:
        places = {
            record.id: topics.record_path(record.project, record.scope, record.topic)
            for record in self.records
            if record.topic
        }
        if self.event.type == "passive" and not places:
            places[sessions.session_note_id(self.event.session or self.event.id)] = (
                sessions.note_path(self.event)
            )
        for id_, path in places.items():
            self._find_by_id(id_, path)
        for record in self.records:
            if record.topic and record.id not in self.existing.path_by_id:
                self._find_by_topic(record)
        self._check_none_moved({id_ for id_ in places if id_ not in self.existing.path_by_id})
        if twins := {
            text_digest(record.body): record for record in self.records if not record.topic
        }:
            self._find_twins(twins)
        return self.existing

    def topic_path(self) -> str:
        (record,) = self.records
        self._find_by_id(record.id, topics.record_path(record.project, record.scope, record.topic))
        if (
            record.id not in self.existing.path_by_id
            and record.project in dict(settings.load(self.root).aliases).values()
        ):
            self._find_by_topic(record)  # which no index answers
        return next(iter(self.existing.path_by_id.values()), "")

    def _find_by_id(self, id_: str, path: str) -> None:
        """The record with an id: where the catalogue says, else where it is made."""
        rows = [
            row
            for row in self.catalogue.rows("id = ? ORDER BY path", (id_,))
            if row.tier != TIER_TRAIL
        ]
        if rows:
            if self._read_note(rows[0].path).get("id") != id_:
                raise CatalogueOutdated
            self._add_row(rows[0])
        elif files.exists(self.root, path):
            if self._read_note(path).get("id") != id_:
                raise CatalogueOutdated
            self.existing.path_by_id[id_] = path

    def _find_by_topic(self, record: Record) -> None:
        """The record with a topic that came from another project."""
        where = "topic = ? AND project = ? AND scope = ? AND tier < 2 AND id != CAST(path AS TEXT) ORDER BY path LIMIT 1"
        for row in self.catalogue.rows(where, (record.topic, record.project, record.scope)):
            note = self._read_note(row.path)
            if note.get("topic") != record.topic or note.get("project") != record.project:
                raise CatalogueOutdated
            self._add_row(row)
            self.existing.path_by_topic[record.project, record.scope, record.topic] = row.path

    def _check_none_moved(self, missing: set[str]) -> None:
        """That no event since the last look made one of these records: then it lies where somebody has moved it."""
        fields = [
            ("topic", record.topic)
            for record in self.records
            if record.id in missing and record.topic
        ]
        if self.event.session and sessions.session_note_id(self.event.session) in missing:
            fields.append(("session", self.event.session))
        if self.existing.path_by_topic or not fields:
            return
        said = [
            f"\n{line}\n".encode()
            for name, value in fields
            for line in yaml_writer.field_lines(name, value)
        ]
        now = parse_timestamp(self.event.at) or 0.0
        looked = min(
            now - DUPLICATE_WINDOW_SECONDS, max(self.indexed_at, now - _MAX_LOOKBACK_SECONDS)
        )
        since, until = (
            datetime.fromtimestamp(second, UTC)
            for second in (looked, now + DUPLICATE_WINDOW_SECONDS)
        )
        for _, path in self._unindexed_events(since, until):
            data = self._read_bytes(path)
            head = data.partition(f"\n\n{events.RAW_HEADING}\n".encode())[0]
            if any(line in head for line in said):
                raise CatalogueOutdated
            if any(mark in head for mark in _MULTI_RECORD_TYPE_LINES) and any(
                record.id in missing for record in _records_of_event(data, path)
            ):
                raise CatalogueOutdated

    def _find_twins(self, wanted: dict[str, Record]) -> None:
        """Records with the same text of the last minutes, by the catalogue and by the events that it does not know yet."""
        now = parse_timestamp(self.event.at) or 0.0
        since, until = (
            datetime.fromtimestamp(now + span, UTC)
            for span in (-DUPLICATE_WINDOW_SECONDS, DUPLICATE_WINDOW_SECONDS)
        )
        for key in wanted:
            where = (
                f"created BETWEEN ? AND ? AND digest = ? AND tier = {TIER_CURRENT} ORDER BY path"
            )
            for row in self.catalogue.rows(
                where, (f"{since:%Y-%m-%dT%H:%M:%SZ}", f"{until:%Y-%m-%dT%H:%M:%SZ}", key)
            ):
                if self._has_current_text(row.path, key):
                    self._add_row(row)
        for _, event_path in self._unindexed_events(since, until):
            data = self._read_bytes(event_path)
            text = data.partition(f"\n{events.RAW_HEADING}\n\n".encode())[2]
            if text_digest(text.decode("utf-8", "replace")) not in wanted and not any(
                mark in data[:400] for mark in _MULTI_RECORD_TYPE_LINES
            ):
                continue
            for record in _records_of_event(data, event_path):
                key = text_digest(record.body)
                path = (
                    topics.record_path(record.project, record.scope, record.topic)
                    if record.topic
                    else f"records/{record.type}/{record.id}.md"
                )
                twin = self.existing.find_duplicate(
                    record.type, record.project, key, record.created, record.title
                )
                if key not in wanted or twin:
                    continue
                if not files.exists(self.root, path):
                    raise CatalogueOutdated  # somebody has moved it already, or it was itself a twin of another
                if self._has_current_text(path, key):
                    self.existing.add(
                        path=path, id_=record.id, type_=record.type, project=record.project, at=record.created, digest_=key, from_events=(), title=record.title,
                    )  # fmt: skip

    def _has_current_text(self, path: str, key: str) -> bool:
        """Whether a note is current and its text is the one with this digest."""
        note = self._read_note(path)
        return (
            note.get("status").lower() not in SET_ASIDE_STATUSES and text_digest(note.text) == key
        )

    def _unindexed_events(self, since: datetime, until: datetime) -> Iterator[tuple[str, str]]:
        """The events from `since` on that the catalogue does not know: id and path."""
        first, months = (
            f"{since:%Y%m%dt%H%M%S}",
            range(since.year * 12 + since.month - 1, until.year * 12 + until.month),
        )
        folders = [f"events/{month // 12:04}/{month % 12 + 1:02}" for month in months]
        paths = {
            name[:-3]: f"{folder}/{name}"
            for folder in folders
            for name in files.list_names(self.root, folder)
            if name >= first
        }
        # One that it knows from the inbox alone has made its records since.
        seen = (
            "SELECT id FROM note WHERE id BETWEEN ? AND ':' AND CAST(path AS TEXT) LIKE 'events/%'"
        )
        known = {id_ for (id_,) in self.catalogue.select(seen, (first,))}
        found = [
            (id_, path)
            for id_, path in paths.items()
            if id_ not in known and events.is_event_id(id_)
        ]
        if len(found) > _MAX_UNINDEXED_EVENTS:
            raise CatalogueOutdated
        yield from found

    def _add_row(self, row: NoteRow) -> None:
        self.existing.add(
            path=row.path, id_=row.id, type_=row.type, project=row.project, at=row.created,
            digest_=row.digest if row.tier == TIER_CURRENT else "", from_events=row.events, title=row.title,
        )  # fmt: skip

    def _read_note(self, path: str) -> notes.Note:
        return notes.read(self._read_bytes(path), path)

    def _read_bytes(self, path: str) -> bytes:
        try:
            return files.read(self.root, path)
        except (CortexError, OSError) as error:
            raise CatalogueOutdated from error


def _records_of_event(data: bytes, path: str) -> list[Record]:
    """The records that an event has made; none of one that somebody has made unreadable since: none of them is like this one."""
    try:
        return records_from_event(parse_event(data, path))
    except CortexError:
        return []
