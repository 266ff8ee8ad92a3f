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

from cortex.core.model import event as events, session as sessions, topic as topics
from cortex.core.model.event import Event
from cortex.core.model.problem import CortexError
from cortex.core.model.record import Record
from cortex.core.model.status import ASIDE, CURRENT, TRAIL
from cortex.core.normalize.changes import TWIN_WINDOW, Known, seconds_of
from cortex.core.normalize.handlers import read_event, records_of
from cortex.core.notes import note as notes, yaml_writer
from cortex.core.text.strings import digest
from cortex.index.catalogue import Catalogue, Row
from cortex.index.refresh import STATE, sealed_state
from cortex.vault import files, settings
from cortex.vault.locate import Vault
from cortex.vault.lock import lock

_WAIT = 60.0  # seconds, for a process that brings the catalogue up to date
_MOST_RECENT = 400  # events that the catalogue does not know; with more of them a look costs less
_LONGEST = 90 * 86_400  # seconds since the last look that are looked through
_TOLD_APART = (
    b"\ntype: passive\n",
    b"\ntype: subagent_stop\n",
)  # their records are parts of their text

_T = TypeVar("_T")


class Unsure(Exception):
    """The vault is not as the catalogue and the names of files tell."""


def glimpse(vault: Vault, event: Event) -> Known | None:
    """What exists, as far as this event can touch it; None when only a proper look can tell."""
    if event.type not in ("observation", "passive") or event.supersedes:
        return None
    return _by_the_catalogue(vault, event, lambda at: at.known())


def topic_at(vault: Vault, event: Event) -> str | None:
    """Where the record of a save's topic lies, empty when there is none; None when only a proper look can tell. One that was
    moved since the last look is not seen, nor one that a hand gave to another project."""
    return _by_the_catalogue(vault, event, lambda at: at.topic())


def _by_the_catalogue(vault: Vault, event: Event, tell: Callable[[_Glimpse], _T]) -> _T | None:
    folder = vault.cache()
    with lock(os.path.join(folder, "index.lock"), "search index", shared=True, wait=_WAIT):
        if sealed_state(folder) is None:
            return None
        with Catalogue(folder, writable=False) as catalogue:
            try:
                return tell(
                    _Glimpse(vault, catalogue, event, os.stat(os.path.join(folder, STATE)).st_mtime)
                )
            except (Unsure, sqlite3.DatabaseError, FileNotFoundError):
                return None


class _Glimpse:
    """One event, the catalogue, and the files."""

    def __init__(self, vault: Vault, catalogue: Catalogue, event: Event, looked: float) -> None:
        self.root = vault.root
        self.looked = looked  # when the catalogue was brought up to date, in seconds
        self.catalogue = catalogue
        self.event = event
        self.records = records_of(event)
        if any(record.layer for record in self.records):
            raise Unsure  # an id that is made of a text may be that of any note
        self.found = Known()

    def known(self) -> Known:
        places = {
            record.id: topics.path(record.project, record.scope, record.topic)
            for record in self.records
            if record.topic
        }
        if self.event.type == "passive" and not places:
            places[sessions.id_of(self.event.session or self.event.id)] = sessions.path_of(
                self.event
            )
        for id_, path in places.items():
            self._one(id_, path)
        for record in self.records:
            if record.topic and record.id not in self.found.paths:
                self._of_topic(record)
        self._none_moved({id_ for id_ in places if id_ not in self.found.paths})
        if twins := {digest(record.body): record for record in self.records if not record.topic}:
            self._twins(twins)
        return self.found

    def topic(self) -> str:
        (record,) = self.records
        self._one(record.id, topics.path(record.project, record.scope, record.topic))
        if (
            record.id not in self.found.paths
            and record.project in dict(settings.load(self.root).aliases).values()
        ):
            self._of_topic(record)  # which no index answers
        return next(iter(self.found.paths.values()), "")

    def _one(self, id_: str, path: str) -> None:
        """The record with an id: where the catalogue says, else where it is made."""
        rows = [
            row for row in self.catalogue.rows("id = ? ORDER BY path", (id_,)) if row.tier != TRAIL
        ]
        if rows:
            if self._read(rows[0].path).get("id") != id_:
                raise Unsure
            self._add(rows[0])
        elif files.exists(self.root, path):
            if self._read(path).get("id") != id_:
                raise Unsure
            self.found.paths[id_] = path

    def _of_topic(self, record: Record) -> None:
        """The record with a topic that came from another project."""
        where = "topic = ? AND project = ? AND scope = ? AND tier < 2 AND id != CAST(path AS TEXT) ORDER BY path LIMIT 1"
        for row in self.catalogue.rows(where, (record.topic, record.project, record.scope)):
            note = self._read(row.path)
            if note.get("topic") != record.topic or note.get("project") != record.project:
                raise Unsure
            self._add(row)
            self.found.topics[record.project, record.scope, record.topic] = row.path

    def _none_moved(self, missing: set[str]) -> None:
        """That no event since the last look made one of these records: then it lies where somebody has moved it."""
        fields = [
            ("topic", record.topic)
            for record in self.records
            if record.id in missing and record.topic
        ]
        if self.event.session and sessions.id_of(self.event.session) in missing:
            fields.append(("session", self.event.session))
        if self.found.topics or not fields:
            return
        said = [
            f"\n{line}\n".encode()
            for name, value in fields
            for line in yaml_writer.field(name, value)
        ]
        now = seconds_of(self.event.at) or 0.0
        looked = min(now - TWIN_WINDOW, max(self.looked, now - _LONGEST))
        since, until = (
            datetime.fromtimestamp(second, UTC) for second in (looked, now + TWIN_WINDOW)
        )
        for _, path in self._unknown(since, until):
            data = self._bytes(path)
            head = data.partition(f"\n\n{events.RAW_HEADING}\n".encode())[0]
            if any(line in head for line in said):
                raise Unsure
            if any(mark in head for mark in _TOLD_APART) and any(
                record.id in missing for record in _made_of(data, path)
            ):
                raise Unsure

    def _twins(self, wanted: dict[str, Record]) -> None:
        """Records with the same text of the last minutes, by the catalogue and by the events that it does not know yet."""
        now = seconds_of(self.event.at) or 0.0
        since, until = (
            datetime.fromtimestamp(now + span, UTC) for span in (-TWIN_WINDOW, TWIN_WINDOW)
        )
        for key in wanted:
            where = f"created BETWEEN ? AND ? AND digest = ? AND tier = {CURRENT} ORDER BY path"
            for row in self.catalogue.rows(
                where, (f"{since:%Y-%m-%dT%H:%M:%SZ}", f"{until:%Y-%m-%dT%H:%M:%SZ}", key)
            ):
                if self._holds(row.path, key):
                    self._add(row)
        for _, event_path in self._unknown(since, until):
            data = self._bytes(event_path)
            text = data.partition(f"\n{events.RAW_HEADING}\n\n".encode())[2]
            if digest(text.decode("utf-8", "replace")) not in wanted and not any(
                mark in data[:400] for mark in _TOLD_APART
            ):
                continue
            for record in _made_of(data, event_path):
                key = digest(record.body)
                path = (
                    topics.path(record.project, record.scope, record.topic)
                    if record.topic
                    else f"records/{record.type}/{record.id}.md"
                )
                twin = self.found.twin(
                    record.type, record.project, key, record.created, record.title
                )
                if key not in wanted or twin:
                    continue
                if not files.exists(self.root, path):
                    raise Unsure  # somebody has moved it already, or it was itself a twin of another
                if self._holds(path, key):
                    self.found.add(
                        path=path, id_=record.id, type_=record.type, project=record.project, at=record.created, digest_=key, from_events=(), title=record.title,
                    )  # fmt: skip

    def _holds(self, path: str, key: str) -> bool:
        """Whether a note is current and its text is the one with this digest."""
        note = self._read(path)
        return note.get("status").lower() not in ASIDE and digest(note.text) == key

    def _unknown(self, since: datetime, until: datetime) -> Iterator[tuple[str, str]]:
        """The events from `since` on that the catalogue does not know: id and path."""
        first, months = (
            f"{since:%Y%m%dt%H%M%S}",
            range(since.year * 12 + since.month - 1, until.year * 12 + until.month),
        )
        folders = [f"events/{month // 12:04}/{month % 12 + 1:02}" for month in months]
        paths = {
            name[:-3]: f"{folder}/{name}"
            for folder in folders
            for name in files.names(self.root, folder)
            if name >= first
        }
        # One that it knows from the inbox alone has made its records since.
        seen = (
            "SELECT id FROM note WHERE id BETWEEN ? AND ':' AND CAST(path AS TEXT) LIKE 'events/%'"
        )
        known = {id_ for (id_,) in self.catalogue.asked(seen, (first,))}
        found = [
            (id_, path)
            for id_, path in paths.items()
            if id_ not in known and events.is_event_id(id_)
        ]
        if len(found) > _MOST_RECENT:
            raise Unsure
        yield from found

    def _add(self, row: Row) -> None:
        self.found.add(
            path=row.path, id_=row.id, type_=row.type, project=row.project, at=row.created,
            digest_=row.digest if row.tier == CURRENT else "", from_events=row.events, title=row.title,
        )  # fmt: skip

    def _read(self, path: str) -> notes.Note:
        return notes.read(self._bytes(path), path)

    def _bytes(self, path: str) -> bytes:
        try:
            return files.read(self.root, path)
        except (CortexError, OSError) as error:
            raise Unsure from error


def _made_of(data: bytes, path: str) -> list[Record]:
    """The records that an event has made; none of one that somebody has made unreadable since: none of them is like this one."""
    try:
        return records_of(read_event(data, path))
    except CortexError:
        return []
