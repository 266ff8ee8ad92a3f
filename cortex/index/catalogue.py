"""The catalogue: a row for every note, in an SQLite file of the user's cache.

It has ids, statuses, provenance, problems and counts; the full-text index has the words. It can be
deleted at any time; `refresh` rebuilds it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Self

from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.model.problem import Problem
from cortex.core.text.value import NamedTuple
from cortex.index.filters import (
    KNOWLEDGE,
    ORDER_SQL,
    NoteFilter,
    Order,
    encode_text,
    sql_condition,
    sql_in,
)

try:
    from _blake2 import blake2b  # `hashlib` loads OpenSSL, for which a hook has no time
except ImportError:
    from hashlib import blake2b

if TYPE_CHECKING:
    from cortex.index.note_summary import NoteSummary

FILE_NAME = "catalogue.sqlite"
FILE_NAMES = tuple(FILE_NAME + suffix for suffix in ("", "-journal", "-wal", "-shm"))
_SCHEMA = """
CREATE TABLE note (
    number INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB UNIQUE NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL,
    title TEXT NOT NULL, status TEXT NOT NULL, project TEXT NOT NULL, branch TEXT NOT NULL, scope TEXT NOT NULL,
    topic TEXT NOT NULL, session TEXT NOT NULL, date INTEGER NOT NULL, tier INTEGER NOT NULL, created TEXT NOT NULL,
    updated TEXT NOT NULL, due TEXT NOT NULL, owner TEXT NOT NULL, confidence REAL, priority INTEGER,
    digest TEXT NOT NULL, pinned INTEGER NOT NULL, tags TEXT NOT NULL, events TEXT NOT NULL,
    hash BLOB NOT NULL, index_digest BLOB NOT NULL, passages BLOB NOT NULL DEFAULT x'');
CREATE INDEX note_id ON note (id);
CREATE INDEX note_created ON note (created);
CREATE INDEX note_date ON note (date);
CREATE INDEX note_topic ON note (topic) WHERE topic != '';
CREATE INDEX note_session ON note (session) WHERE session != '';
CREATE TABLE name (number INTEGER NOT NULL REFERENCES note, key TEXT NOT NULL, rank INTEGER NOT NULL);
CREATE INDEX name_key ON name (key);
CREATE INDEX name_note ON name (number);
CREATE TABLE title_key (number INTEGER NOT NULL REFERENCES note, key TEXT NOT NULL, rank INTEGER NOT NULL);
CREATE INDEX title_key_key ON title_key (key);
CREATE INDEX title_key_note ON title_key (number);
CREATE TABLE edge (number INTEGER NOT NULL REFERENCES note, kind TEXT NOT NULL, target TEXT NOT NULL, key TEXT NOT NULL, line INTEGER NOT NULL);
CREATE INDEX edge_note ON edge (number);
CREATE INDEX edge_key ON edge (key);
CREATE TABLE entity (number INTEGER NOT NULL REFERENCES note, kind TEXT NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, line INTEGER NOT NULL);
CREATE INDEX entity_note ON entity (number);
CREATE INDEX entity_key ON entity (key);
CREATE TABLE tick (number INTEGER NOT NULL REFERENCES note, id TEXT NOT NULL);
CREATE INDEX tick_note ON tick (number);
CREATE INDEX tick_id ON tick (id);
CREATE TABLE own_item (number INTEGER NOT NULL REFERENCES note, kind TEXT NOT NULL, line INTEGER NOT NULL, text TEXT NOT NULL, person TEXT NOT NULL, day TEXT NOT NULL);
CREATE INDEX own_item_note ON own_item (number);
CREATE INDEX own_item_kind ON own_item (kind);
CREATE TABLE sketch (number INTEGER PRIMARY KEY, hashes BLOB NOT NULL);
CREATE TABLE sketch_key (number INTEGER NOT NULL, key INTEGER NOT NULL, PRIMARY KEY (number, key)) WITHOUT ROWID;
CREATE INDEX sketch_key_key ON sketch_key (key);
CREATE TABLE problem (number INTEGER NOT NULL REFERENCES note, place TEXT NOT NULL, message TEXT NOT NULL, hint TEXT NOT NULL);
CREATE INDEX problem_note ON problem (number);
CREATE TABLE item (
    number INTEGER NOT NULL REFERENCES note, kind TEXT NOT NULL, project TEXT NOT NULL, branch TEXT NOT NULL,
    id TEXT NOT NULL, section TEXT NOT NULL, place TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX item_note ON item (number);
CREATE TABLE backlog (number INTEGER PRIMARY KEY, gone INTEGER NOT NULL);
"""


def sketch_keys(hashes: bytes) -> list[int]:
    """The hashes by which a note's likest others are looked up: the 16 smallest, a random choice
    that is the same for all notes. Two notes alike by 0.4 share one with probability 0.9997."""
    return [int.from_bytes(hashes[at : at + 4], "little") for at in range(0, len(hashes[:64]), 4)]


def hash_content(data: bytes) -> bytes:
    """The hash by which the catalogue tells whether the bytes of a note have changed."""
    return blake2b(data, digest_size=16).digest()


class IndexDamaged(Exception):
    """The cache cannot be read and must be rebuilt."""


class NoteRow(NamedTuple):
    """The row of a note."""

    number: int  # by which the index names the note
    path: str
    id: str  # of its frontmatter, else its path
    type: str
    title: str
    status: str
    project: str
    branch: str
    scope: str
    topic: str
    session: str
    date: int  # seconds since the epoch
    tier: int
    created: str
    updated: str
    due: str
    owner: str
    confidence: float | None  # 0 to 1; None when the note does not say
    priority: int | None  # 1 to 10; the same
    digest: str
    pinned: bool
    tags: tuple[str, ...]
    events: tuple[str, ...]  # its provenance


_ROW_COLUMNS = ", ".join(NoteRow._fields)
_INSERT_NOTE = f"INSERT INTO note ({_ROW_COLUMNS}, hash, index_digest, passages) VALUES (?{', ?' * (len(NoteRow._fields) + 2)})"
# What a note has many of: table -> its rows, without the note's number.
_CHILD_ROWS: dict[str, Callable[[NoteSummary], Iterable[tuple[object, ...]]]] = {
    "problem": lambda note: note.problems,
    "item": lambda note: ((*page, *line) for page, line in note.briefing_items),
    "name": lambda note: note.link_names,
    "title_key": lambda note: note.title_keys,
    "edge": lambda note: note.edges,
    "entity": lambda note: note.entities,
    "own_item": lambda note: note.own_items,
    "tick": lambda note: ((id_,) for id_ in note.done_action_ids),
    "sketch": lambda note: ((note.sketch,),) if note.sketch else (),
    "sketch_key": lambda note: ((key,) for key in sketch_keys(note.sketch)),
}


class Catalogue:
    """An open catalogue; a context manager. Only `commit` saves changes."""

    def __init__(self, folder: str, *, writable: bool) -> None:
        self.folder = folder
        path = os.path.join(folder, FILE_NAME)
        if writable:
            self._db = sqlite3.connect(path, isolation_level="DEFERRED")
            # Derived data: the seal shows an interrupted write, and everything is rebuilt.
            self._db.executescript("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;")
        else:
            quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
            self._db = sqlite3.connect(f"file:{quoted}?mode=ro&immutable=1", uri=True)
        # SQLite's own lower() knows ASCII only.
        self._db.create_function("folded", 1, _fold, deterministic=True)

    @classmethod
    def create(cls, folder: str) -> Catalogue:
        """Create an empty catalogue where none of its `FILE_NAMES` is."""
        catalogue = cls(folder, writable=True)
        catalogue._db.executescript(_SCHEMA)
        return catalogue

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def put_note(
        self,
        note: NoteSummary,
        content_hash: bytes,
        index_digest: bytes,
        passage_keys: bytes,
        number: int | None = None,
    ) -> int:
        """Add a note or replace the one of its path. `index_digest` is a digest of its document in
        the full-text index, `passage_keys` are those of its vectors. Returns its number: the given,
        else a new one, never used twice."""
        self.delete_note(note.path)
        plain = (getattr(note, name) for name in NoteRow._fields[2:-2])
        lists = ("\n".join(note.tags), "\n".join(note.events))
        hashes = (content_hash, index_digest, passage_keys)
        row = (number, os.fsencode(note.path), *plain, *lists, *hashes)
        given = self.select(_INSERT_NOTE, row).lastrowid
        assert given is not None
        for table, rows_of in _CHILD_ROWS.items():
            if rows := [(given, *map(_sql_value, row)) for row in rows_of(note)]:
                marks = ", ".join("?" * len(rows[0]))
                self._db.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        return given

    def delete_note(self, path: str) -> tuple[int, bytes] | None:
        """Delete a note; return its number and `index_digest`, or None if there is none."""
        query = "SELECT number, index_digest FROM note WHERE path = ?"
        found: tuple[int, bytes] | None = self.select(query, (os.fsencode(path),)).fetchone()
        if found:
            for table in (*_CHILD_ROWS, "note"):
                self.select(f"DELETE FROM {table} WHERE number = ?", found[:1])
        return found

    def queue_addition(self, number: int) -> None:
        """Queue this note for addition to the full-text index."""
        self.select("INSERT INTO backlog VALUES (?, 0)", (number,))

    def queue_removal(self, number: int) -> None:
        """Queue this number for deletion from the full-text index, or take its addition back."""
        if not self.select("DELETE FROM backlog WHERE number = ?", (number,)).rowcount:
            self.select("INSERT INTO backlog VALUES (?, 1)", (number,))

    def has_backlog(self) -> bool:
        """Whether the full-text index is behind."""
        return self.select("SELECT 1 FROM backlog LIMIT 1").fetchone() is not None

    def read_backlog(self) -> tuple[list[int], list[tuple[int, str]]]:
        """The numbers to delete from the full-text index; number and path of notes to add."""
        removed = self.select("SELECT number FROM backlog WHERE gone ORDER BY number")
        added = self.select(
            "SELECT number, path FROM backlog JOIN note USING (number) WHERE NOT gone ORDER BY number"
        )
        return [one for (one,) in removed], [(one, os.fsdecode(path)) for one, path in added]

    def clear_backlog(self) -> None:
        self.select("DELETE FROM backlog")

    def update_date(self, path: str, before: int, now: int) -> None:
        """Set the date of a note with unchanged bytes, if it was the mtime of its file."""
        self.select(
            "UPDATE note SET date = ? WHERE path = ? AND date = ?", (now, os.fsencode(path), before)
        )

    def number_and_hash(self, path: str) -> tuple[int, bytes] | None:
        """A note's number and the hash of the content it was read from."""
        query = "SELECT number, hash FROM note WHERE path = ?"
        found: tuple[int, bytes] | None = self.select(query, (os.fsencode(path),)).fetchone()
        return found

    def passage_keys(self, numbers: Iterable[int] | None = None) -> Iterator[tuple[int, bytes]]:
        """Of each note, or these, its number and the keys of its vectors, one after the other."""
        where, values = sql_condition(NoteFilter(numbers=None if numbers is None else [*numbers]))
        query = (
            f"SELECT number, passages FROM note WHERE passages != x'' AND {where} ORDER BY number"
        )
        return self.select(query, values)

    def commit(self) -> None:
        self._db.commit()

    def count_notes(self) -> int:
        """The number of notes, without briefings."""
        events = NoteFilter(tiers=(TIER_TRAIL,), not_types=("briefing",))
        return self.count(KNOWLEDGE) + self.count(events)

    def find(self, wanted: NoteFilter, order: Order = "", limit: int = -1) -> list[NoteRow]:
        """The notes of a filter, at most `limit` if it is not negative. About 8 µs a note."""
        where, values = sql_condition(wanted)
        return list(self.rows(f"{where} {ORDER_SQL[order]} LIMIT ?", (*values, limit)))

    def numbers(self, wanted: NoteFilter) -> set[int]:
        """The numbers of the notes of a filter. About 1 µs a note."""
        where, values = sql_condition(wanted)
        found = self.select(f"SELECT number FROM note WHERE {where}", values)
        return {number for (number,) in found}

    def count(self, wanted: NoteFilter) -> int:
        where, values = sql_condition(wanted)
        ((count,),) = self.select(f"SELECT count(*) FROM note WHERE {where}", values)
        return int(count)

    def count_by(self, column: str, wanted: NoteFilter = KNOWLEDGE) -> dict[str, int]:
        """How many notes of a filter have each value of a column, most first, then by value."""
        assert column in NoteRow._fields
        where, values = sql_condition(wanted)
        query = f"SELECT {column}, count(*) FROM note WHERE {where} GROUP BY 1 ORDER BY 2 DESC, 1"
        return dict(self.select(query, values))

    def rows_by_number(self, numbers: Iterable[int]) -> dict[int, NoteRow]:
        """The rows of these numbers."""
        return {row.number: row for row in self.find(NoteFilter(numbers=list(numbers)))}

    def row_at(self, path: str) -> NoteRow | None:
        return next(self.rows("path = ?", (os.fsencode(path),)), None)

    def rows(self, where: str = "1", values: Sequence[object] = ()) -> Iterator[NoteRow]:
        """The notes for which an SQL condition without user text holds. For this package."""
        query = f"SELECT {_ROW_COLUMNS} FROM note WHERE {where}"
        for number, path, *plain, pinned, tags, events in self.select(query, values):
            lists = (tuple(text.split("\n")) if text else () for text in (tags, events))
            yield NoteRow._make((number, os.fsdecode(path), *plain, bool(pinned), *lists))

    def select(self, query: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """The rows of an SQL query without user text; `values` may be any. For this package."""
        return self._db.execute(query, [_sql_value(one) for one in values])

    def select_in(self, query: str, column: str, values: Collection[object]) -> sqlite3.Cursor:
        """As `select`; the query's `{}` becomes a condition that `column` is one of `values`."""
        clause, bound = sql_in(column, values)
        return self.select(query.format(clause), bound)

    def problems(self) -> list[Problem]:
        """The problems of all notes, by path."""
        # Crossed, so that few problems are read before many notes.
        query = "SELECT place, message, hint FROM problem CROSS JOIN note USING (number) ORDER BY path, problem.rowid"
        return [Problem(*row) for row in self.select(query)]

    def briefing_lines(self) -> Iterator[tuple[str, str, str, str, str, str, str, bytes]]:
        """Every line of every briefing, unordered: kind, project and branch of its page; its id,
        section, order and text; the path of its note."""
        return self.select(
            "SELECT kind, item.project, item.branch, item.id, section, place, text, path FROM item JOIN note USING (number)"
        )

    def unreadable_paths(self) -> list[str]:
        """The notes that could not be read at the last refresh."""
        found = self.select("SELECT path FROM note WHERE hash = x'' ORDER BY path")
        return [os.fsdecode(path) for (path,) in found]

    def check_integrity(self) -> None:
        """Raise `sqlite3.DatabaseError` when the file is damaged."""
        if self.select("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise sqlite3.DatabaseError("the catalogue is damaged")


def _sql_value(value: object) -> object:
    return encode_text(value) if isinstance(value, str) and not value.isascii() else value


def _fold(value: object) -> str:
    """A text, or a path as the catalogue has it, in folded case."""
    text = encode_text(os.fsdecode(value)) if isinstance(value, bytes) else str(value)
    return text.casefold()
