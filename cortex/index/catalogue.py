"""The catalogue: a card for every note, in SQLite in the user's cache. Who needs no words needs no Whoosh.

It answers ids, statuses, provenance, problems and counts. It can be deleted at any time; `refresh` rebuilds it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.model.problem import Problem

if TYPE_CHECKING:
    from cortex.index.note_summary import NoteSummary

FILE_NAME = "catalogue.sqlite"
_SCHEMA = """
CREATE TABLE note (
    number INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB UNIQUE NOT NULL, hash BLOB NOT NULL, told BLOB NOT NULL,
    id TEXT NOT NULL, type TEXT NOT NULL, title TEXT NOT NULL, status TEXT NOT NULL, project TEXT NOT NULL,
    branch TEXT NOT NULL, tags TEXT NOT NULL, date INTEGER NOT NULL, tier INTEGER NOT NULL, created TEXT NOT NULL,
    events TEXT NOT NULL, digest TEXT NOT NULL, scope TEXT NOT NULL, topic TEXT NOT NULL, session TEXT NOT NULL,
    updated TEXT NOT NULL, due TEXT NOT NULL, owner TEXT NOT NULL, pinned INTEGER NOT NULL, confidence REAL, priority INTEGER);
CREATE INDEX note_id ON note (id);
CREATE INDEX note_created ON note (created);
CREATE INDEX note_date ON note (date);
CREATE INDEX note_topic ON note (topic) WHERE topic != '';
CREATE INDEX note_session ON note (session) WHERE session != '';
CREATE TABLE name (key TEXT NOT NULL, rank INTEGER NOT NULL, number INTEGER NOT NULL REFERENCES note);
CREATE INDEX name_key ON name (key);
CREATE INDEX name_note ON name (number);
CREATE TABLE edge (number INTEGER NOT NULL REFERENCES note, kind TEXT NOT NULL, target TEXT NOT NULL, key TEXT NOT NULL, line INTEGER NOT NULL);
CREATE INDEX edge_note ON edge (number);
CREATE INDEX edge_key ON edge (key);
CREATE TABLE entity (number INTEGER NOT NULL REFERENCES note, kind TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, line INTEGER NOT NULL);
CREATE INDEX entity_note ON entity (number);
CREATE INDEX entity_key ON entity (key);
CREATE TABLE tick (number INTEGER NOT NULL REFERENCES note, id TEXT NOT NULL);
CREATE INDEX tick_note ON tick (number);
CREATE INDEX tick_id ON tick (id);
CREATE TABLE problem (number INTEGER NOT NULL REFERENCES note, place TEXT NOT NULL, message TEXT NOT NULL, hint TEXT NOT NULL);
CREATE INDEX problem_note ON problem (number);
CREATE TABLE item (
    number INTEGER NOT NULL REFERENCES note, kind TEXT NOT NULL, project TEXT NOT NULL, branch TEXT NOT NULL,
    id TEXT NOT NULL, section TEXT NOT NULL, place TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX item_note ON item (number);
CREATE TABLE untold (number INTEGER PRIMARY KEY, gone INTEGER NOT NULL);
"""
_ROW_COLUMNS = "number, path, id, type, title, status, project, date, tier, created, events, digest"
_METADATA_COLUMNS = (
    "number, path, id, type, title, status, project, branch, scope, topic, session, tags, date, tier, created, updated, due, owner, pinned, confidence,"
    " priority"
)
# When a note was made, in seconds since the epoch: what it says in any zone, else its last change. SQL; of what is no date,
# SQLite takes a bare number for a day.
CREATED_SECONDS_SQL = "CAST(coalesce(CASE WHEN created GLOB '[0-9][0-9][0-9][0-9]-*' THEN strftime('%s', created) END, date) AS INTEGER)"
_CHILD_TABLES = (
    "problem",
    "item",
    "name",
    "edge",
    "entity",
    "tick",
)  # tables of what a note has many of


class IndexDamaged(Exception):
    """What lies in the cache cannot be read; it has to be built anew."""


class ScoredNote(NamedTuple):
    """A note that was found. A lower group is answered before a higher one, whatever the score."""

    group: int
    score: float
    number: int


class NoteRow(NamedTuple):
    """A note as the catalogue lists it."""

    number: int  # by which the index names the note
    path: str
    id: str
    type: str
    title: str
    status: str
    project: str
    date: int
    tier: int
    created: str
    events: tuple[str, ...]
    digest: str


class NoteMetadata(NamedTuple):
    """What a note says of itself that decides how much it matters, and to whom."""

    number: int
    path: str
    id: str
    type: str
    title: str
    status: str
    project: str
    branch: str
    scope: str
    topic: str
    session: str
    tags: tuple[str, ...]
    date: int
    tier: int
    created: str
    updated: str
    due: str
    owner: str
    pinned: bool
    confidence: float | None  # 0 to 1; None when nothing says it
    priority: int | None  # 1 to 10; the same


class Catalogue:
    """An open catalogue. Use as a context manager; changes are kept by `commit` alone."""

    def __init__(self, folder: str, *, writable: bool) -> None:
        self.folder = folder
        path = os.path.join(folder, FILE_NAME)
        if writable:
            self._db = sqlite3.connect(path, isolation_level="DEFERRED")
            # Derived data: a seal beside it tells an interrupted write, and then everything is rebuilt.
            self._db.executescript("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;")
        else:
            self._db = sqlite3.connect(
                f"file:{_quote_uri_path(path)}?mode=ro&immutable=1", uri=True
            )
        # SQLite's own lower() knows ASCII only.
        self._db.create_function("folded", 1, lambda text: str(text).casefold(), deterministic=True)

    @classmethod
    def create(cls, folder: str) -> Catalogue:
        """A new, empty catalogue in the place of any older one."""
        for suffix in ("", "-journal", "-wal", "-shm"):
            path = os.path.join(folder, FILE_NAME + suffix)
            if os.path.lexists(path):
                os.unlink(path)
        catalogue = cls(folder, writable=True)
        catalogue._db.executescript(_SCHEMA)
        return catalogue

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def put_note(
        self, card: NoteSummary, content_hash: bytes, told: bytes, number: int | None = None
    ) -> int:
        """Add or renew a note's card, with a digest of what the index is told of the note; answers its number: a new one,
        which no note ever had, unless it is given."""
        self.delete_note(card.path)
        values = (
            number, os.fsencode(card.path), content_hash, told, *(_encode_text(text) for text in (card.id, card.type, card.title, card.status, card.project, card.branch)),
            _encode_text("\n".join(card.tags)), card.date, card.tier, _encode_text(card.created),
            _encode_text("\n".join(card.events)), card.digest,
            *(_encode_text(text) for text in (card.scope, card.topic, card.session, card.updated, card.due, card.owner)),
            card.pinned, card.confidence, card.priority,
        )  # fmt: skip
        given = self._db.execute(
            "INSERT INTO note (number, path, hash, told, id, type, title, status, project, branch, tags, date, tier, created, events, digest,"
            f" scope, topic, session, updated, due, owner, pinned, confidence, priority) VALUES ({','.join('?' * len(values))})",
            values,
        ).lastrowid
        assert given is not None
        self._db.executemany(
            "INSERT INTO problem VALUES (?, ?, ?, ?)",
            [(given, *(_encode_text(text) for text in problem)) for problem in card.problems],
        )
        self._db.executemany(
            "INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (given, *(_encode_text(text) for text in (*page, *item)))
                for page, item in card.briefing_items
            ],
        )
        self._db.executemany(
            "INSERT INTO name VALUES (?, ?, ?)",
            [(_encode_text(key), rank, given) for key, rank in card.link_names],
        )
        self._db.executemany(
            "INSERT INTO edge VALUES (?, ?, ?, ?, ?)",
            [
                (given, *map(_encode_text, (one.kind, one.target, one.key)), one.line)
                for one in card.edges
            ],
        )
        self._db.executemany(
            "INSERT INTO entity VALUES (?, ?, ?, ?, ?)",
            [
                (given, *map(_encode_text, (one.kind, one.name, one.key)), one.line)
                for one in card.entities
            ],
        )
        self._db.executemany(
            "INSERT INTO tick VALUES (?, ?)",
            [(given, _encode_text(id_)) for id_ in card.done_action_ids],
        )
        return given

    def delete_note(self, path: str) -> tuple[int, bytes] | None:
        """Forget a note; answers the number it had and the digest of what the index was told of it."""
        held = self._db.execute(
            "SELECT number, told FROM note WHERE path = ?", (os.fsencode(path),)
        ).fetchone()
        if held is None:
            return None
        for table in (*_CHILD_TABLES, "note"):
            self._db.execute(f"DELETE FROM {table} WHERE number = ?", held[:1])
        return int(held[0]), bytes(held[1])

    def queue_addition(self, number: int) -> None:
        """The index has still to be told of this note."""
        self._db.execute("INSERT INTO untold VALUES (?, 0)", (number,))

    def queue_removal(self, number: int) -> None:
        """The index has still to forget this number, should it ever have been told of it."""
        if not self._db.execute("DELETE FROM untold WHERE number = ?", (number,)).rowcount:
            self._db.execute("INSERT INTO untold VALUES (?, 1)", (number,))

    def has_backlog(self) -> bool:
        """Whether the index is behind."""
        return self._db.execute("SELECT 1 FROM untold LIMIT 1").fetchone() is not None

    def read_backlog(self) -> tuple[list[int], list[tuple[int, str]]]:
        """The numbers that the index has still to forget; and the notes it has still to be told of, number and path."""
        gone = [
            int(number)
            for (number,) in self._db.execute(
                "SELECT number FROM untold WHERE gone ORDER BY number"
            )
        ]
        come = self._db.execute(
            "SELECT number, path FROM untold JOIN note USING (number) WHERE NOT gone ORDER BY number"
        )
        return gone, [(int(number), os.fsdecode(path)) for number, path in come]

    def clear_backlog(self) -> None:
        self._db.execute("DELETE FROM untold")

    def update_date(self, path: str, before: int, now: int) -> None:
        """A note was written anew with the same bytes: its date moves where it is its file's."""
        self._db.execute(
            "UPDATE note SET date = ? WHERE path = ? AND date = ?", (now, os.fsencode(path), before)
        )

    def number_and_hash(self, path: str) -> tuple[int, bytes] | None:
        """A note's number and the hash of the content it was read from."""
        held = self._db.execute(
            "SELECT number, hash FROM note WHERE path = ?", (os.fsencode(path),)
        ).fetchone()
        return (int(held[0]), bytes(held[1])) if held else None

    def commit(self) -> None:
        self._db.commit()

    def count_notes(self) -> int:
        """How many notes there are; a briefing is made of notes and is none."""
        return int(
            self._db.execute(
                "SELECT count(*) FROM note WHERE tier < 2 OR type != 'briefing'"
            ).fetchone()[0]
        )

    def rows(self, where: str = "1", values: Sequence[object] = ()) -> Iterator[NoteRow]:
        """The notes for which an SQL condition over the columns of `NoteRow` holds. `where` is never a user's text."""
        for held in self.select(f"SELECT {_ROW_COLUMNS} FROM note WHERE {where}", values):
            yield _note_row(held)

    def metadata_rows(
        self, where: str = "1", values: Sequence[object] = ()
    ) -> Iterator[NoteMetadata]:
        """As `rows`, with what decides how much a note matters. About 8 µs a note."""
        for held in self.select(f"SELECT {_METADATA_COLUMNS} FROM note WHERE {where}", values):
            path, tags, pinned = (
                os.fsdecode(held[1]),
                tuple(held[11].split("\n")) if held[11] else (),
                bool(held[18]),
            )
            yield NoteMetadata._make(
                (held[0], path, *held[2:11], tags, *held[12:18], pinned, *held[19:])
            )

    def select(self, query: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of an SQL query. `query` is never a user's text; `values` may be any text."""
        return self._db.execute(
            query, [_encode_text(one) if isinstance(one, str) else one for one in values]
        )

    def rows_by_number(self, numbers: Iterable[int]) -> dict[int, NoteRow]:
        """The rows of these numbers."""
        return {row.number: row for row in self._rows_where_in("number", list(numbers))}

    def event_numbers(self, ids: Iterable[str]) -> set[int]:
        """The numbers of the events with these ids."""
        return {
            row.number for row in self._rows_where_in("id", list(ids)) if row.tier == TIER_TRAIL
        }

    def _rows_where_in(self, column: str, values: Sequence[object]) -> Iterator[NoteRow]:
        for start in range(0, len(values), 900):  # SQLite takes 999 values at a time everywhere
            some = values[start : start + 900]
            yield from self.rows(f"{column} IN ({','.join('?' * len(some))})", some)

    def row_at(self, path: str) -> NoteRow | None:
        return next(self.rows("path = ?", (os.fsencode(path),)), None)

    def problems(self) -> list[Problem]:
        """The problems of all notes, by path."""
        return [
            Problem(*held)
            for held in self._db.execute(
                "SELECT place, message, hint FROM problem JOIN note USING (number) ORDER BY path, problem.rowid"
            )
        ]

    def briefing_lines(self) -> Iterator[tuple[str, str, str, str, str, str, str, bytes]]:
        """Every line of every briefing, in no order: kind, project and branch of its page, its id, section, order and text, and
        the path of the note that it comes from."""
        return self._db.execute(
            "SELECT kind, item.project, item.branch, item.id, section, place, text, path FROM item JOIN note USING (number)"
        )

    def unreadable_paths(self) -> list[str]:
        """The notes that could not be read at the last look."""
        return [
            os.fsdecode(held[0])
            for held in self._db.execute("SELECT path FROM note WHERE hash = x'' ORDER BY path")
        ]

    def count_by(self, column: str) -> dict[str, int]:
        """How many notes have each value of a column, the trail of events and briefings left out."""
        assert column in NoteRow._fields
        return dict(
            self._db.execute(
                f"SELECT {column}, count(*) FROM note WHERE tier < 2 GROUP BY 1 ORDER BY 2 DESC, 1"
            )
        )

    def check_integrity(self) -> None:
        """Raise `sqlite3.DatabaseError` when the file is damaged."""
        with closing(self._db.execute("PRAGMA quick_check(1)")) as answers:
            if answers.fetchone()[0] != "ok":
                raise sqlite3.DatabaseError("the catalogue is damaged")


def _note_row(held: tuple[object, ...]) -> NoteRow:
    number, path, id_, type_, title, status, project, date, tier, created, from_events, digest = (
        held
    )
    assert isinstance(number, int)
    assert isinstance(path, bytes)
    assert isinstance(date, int)
    assert isinstance(tier, int)
    return NoteRow(
        number, os.fsdecode(path), str(id_), str(type_), str(title), str(status), str(project), date, tier, str(created),
        tuple(str(from_events).split("\n")) if from_events else (), str(digest),
    )  # fmt: skip


def _encode_text(text: str) -> str:
    """`text` as SQLite can hold it: halves of surrogate pairs, from names that are no UTF-8, become visible escapes."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _quote_uri_path(path: str) -> str:
    return os.fsdecode(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
