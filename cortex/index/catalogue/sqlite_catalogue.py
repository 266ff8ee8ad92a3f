"""The catalogue as an SQLite file of the user's cache: its tables, and how they are written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Self

from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import IndexDamaged, NoteRow, NoteSummary, sketch_keys
from cortex.index.catalogue.sqlite_notes import FILE_NAME, ROW_COLUMNS, damage_raised, sql_value
from cortex.index.catalogue.sqlite_queries import SqliteQueries
from cortex.vault import private

_FILE_NAMES = tuple(FILE_NAME + suffix for suffix in ("", "-journal", "-wal", "-shm"))
_SCHEMA = """
CREATE TABLE note (
    number INTEGER PRIMARY KEY AUTOINCREMENT, path BLOB UNIQUE NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL,
    title TEXT NOT NULL, status TEXT NOT NULL, project TEXT NOT NULL, branch TEXT NOT NULL, scope TEXT NOT NULL,
    topic TEXT NOT NULL, session TEXT NOT NULL, date INTEGER NOT NULL, written TEXT NOT NULL, tier INTEGER NOT NULL, created TEXT NOT NULL,
    updated TEXT NOT NULL, due TEXT NOT NULL, owner TEXT NOT NULL, confidence REAL, priority INTEGER,
    digest TEXT NOT NULL, pinned INTEGER NOT NULL, tags TEXT NOT NULL, events TEXT NOT NULL,
    hash BLOB NOT NULL, index_digest BLOB NOT NULL, passages BLOB NOT NULL DEFAULT x'');
CREATE INDEX note_id ON note (id, tier);
CREATE INDEX note_created ON note (created);
CREATE INDEX note_date ON note (date);
CREATE INDEX note_topic ON note (topic) WHERE topic != '';
CREATE INDEX note_session ON note (session) WHERE session != '';
CREATE INDEX note_kind ON note (type, status, tier, project);
CREATE INDEX note_digest ON note (digest);
CREATE TABLE name (number INTEGER NOT NULL REFERENCES note, key TEXT NOT NULL, rank INTEGER NOT NULL);
CREATE INDEX name_key ON name (key);
CREATE INDEX name_note ON name (number);
CREATE TABLE title_key (number INTEGER NOT NULL REFERENCES note, key TEXT NOT NULL, rank INTEGER NOT NULL);
CREATE INDEX title_key_key ON title_key (key);
CREATE INDEX title_key_note ON title_key (number);
CREATE TABLE edge (number INTEGER NOT NULL REFERENCES note, kind TEXT NOT NULL, target TEXT NOT NULL, key TEXT NOT NULL, line INTEGER NOT NULL);
CREATE INDEX edge_note ON edge (number);
CREATE INDEX edge_key ON edge (key);
CREATE INDEX edge_kind ON edge (kind);
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
CREATE TABLE clock (origin TEXT NOT NULL, now INTEGER NOT NULL);
INSERT INTO clock VALUES (lower(hex(randomblob(4))), 0);
-- When a path came first, and between which moments it was away the last time.
CREATE TABLE change (
    path BLOB PRIMARY KEY, id TEXT NOT NULL, type TEXT NOT NULL, came INTEGER NOT NULL, went INTEGER NOT NULL,
    back INTEGER NOT NULL, changed INTEGER NOT NULL, is_gone INTEGER NOT NULL);
CREATE INDEX change_changed ON change (changed);
CREATE TRIGGER note_goes AFTER DELETE ON note BEGIN
    INSERT INTO change SELECT OLD.path, OLD.id, OLD.type, 0, 0, 0, now, 1 FROM clock WHERE now
    ON CONFLICT (path) DO UPDATE SET id = OLD.id, type = OLD.type, changed = excluded.changed, is_gone = 1;
END;
CREATE TRIGGER note_comes AFTER INSERT ON note BEGIN
    UPDATE change SET went = changed, back = (SELECT now FROM clock)
    WHERE path = NEW.path AND is_gone AND changed < (SELECT now FROM clock);
    INSERT INTO change SELECT NEW.path, NEW.id, NEW.type, now, 0, 0, now, 0 FROM clock WHERE now
    ON CONFLICT (path) DO UPDATE SET id = NEW.id, type = NEW.type, changed = excluded.changed, is_gone = 0;
END;
"""
# The feed of the last catalogue goes on: what is gone since then, is back, is new, has other bytes.
_CONTINUE_FEED = (
    """INSERT INTO change SELECT path, id, type, 0, 0, 0, now, 1 FROM last_note, clock
    WHERE path NOT IN (SELECT path FROM note)
    ON CONFLICT (path) DO UPDATE SET changed = excluded.changed, is_gone = 1""",
    """UPDATE change SET went = changed, back = (SELECT now FROM clock)
    WHERE is_gone AND path IN (SELECT path FROM note)""",
    """INSERT INTO change
    SELECT note.path, note.id, note.type, now * (last_note.path IS NULL), 0, 0, now, 0
    FROM clock, note LEFT JOIN last_note USING (path) WHERE last_note.hash IS NOT note.hash
    ON CONFLICT (path) DO UPDATE
    SET id = excluded.id, type = excluded.type, changed = excluded.changed, is_gone = 0""",
)
# The first commit is the whole; from then on each that changes a note is a moment of its own.
_TICK = "UPDATE clock SET now = now + 1 WHERE now = 0 OR now IN (SELECT changed FROM change)"
_INSERT_NOTE = f"INSERT INTO note ({ROW_COLUMNS}, hash, index_digest, passages) VALUES (?{', ?' * (len(NoteRow._fields) + 2)})"
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


class _Feed(NamedTuple):
    """What a catalogue knows of changes, with the notes of its last commit."""

    clock: tuple[str, int]  # origin, now
    changes: list[tuple[object, ...]]
    notes: list[tuple[object, ...]]  # path, id, type, hash


class SqliteCatalogue(SqliteQueries):
    """An open catalogue, each method as `WritableCatalogue` declares it."""

    _feed: _Feed | None = None  # of the last catalogue, until the first commit

    @classmethod
    def create(cls, folder: str, *, continue_feed: bool = False) -> Self:
        """Create an empty catalogue in the place of any; `continue_feed`: cursors stay valid."""
        feed = _read_feed(folder) if continue_feed else None
        for name in _FILE_NAMES:
            private.remove(os.path.join(folder, name))
        catalogue = cls(folder, writable=True)
        with damage_raised():
            # Until its first commit it tells nobody of changes: no journal takes room on the disk.
            catalogue.database.executescript(f"PRAGMA journal_mode = MEMORY; {_SCHEMA}")
        catalogue._feed = feed
        return catalogue

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.database.close()

    def put_note(self, note: NoteSummary, number: int | None = None) -> int:
        self.delete_note(note.row.path)
        _, path, *plain, pinned, tags, events = note.row
        lists = (pinned, "\n".join(tags), "\n".join(events))
        hashes = (note.content_hash, note.index_digest, note.passage_keys)
        row = (number, os.fsencode(path), *map(sql_value, (*plain, *lists)), *hashes)
        with damage_raised():
            given = self.database.execute(_INSERT_NOTE, row).lastrowid
            assert given is not None
            for table, rows_of in _CHILD_ROWS.items():
                if rows := [(given, *map(sql_value, row)) for row in rows_of(note)]:
                    marks = ", ".join("?" * len(rows[0]))
                    self.database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        return given

    def delete_note(self, path: str) -> tuple[int, bytes] | None:
        query = "SELECT number, index_digest FROM note WHERE path = ?"
        for number, digest in self.select(query, (os.fsencode(path),)):
            for table in (*_CHILD_ROWS, "note"):
                self.select(f"DELETE FROM {table} WHERE number = ?", (number,))
            return number, digest
        return None

    def update_date(self, path: str, before: int, after: int) -> None:
        query = "UPDATE note SET date = ? WHERE path = ? AND date = ?"
        self.select(query, (after, os.fsencode(path), before))

    def queue_addition(self, number: int) -> None:
        self.select("INSERT INTO backlog VALUES (?, 0)", (number,))

    def queue_removal(self, number: int) -> None:
        if self.select("SELECT 1 FROM backlog WHERE number = ?", (number,)):
            self.select("DELETE FROM backlog WHERE number = ?", (number,))
        else:
            self.select("INSERT INTO backlog VALUES (?, 1)", (number,))

    def clear_backlog(self) -> None:
        self.select("DELETE FROM backlog")

    def commit(self) -> None:
        with damage_raised():
            if self._feed:
                self._continue_feed(self._feed)
            self.database.execute(_TICK)
            self.database.commit()
        self._feed = None

    def _continue_feed(self, last: _Feed) -> None:
        """Take over clock and changes of the last catalogue, and add what differs from it."""
        run = self.database
        run.execute("UPDATE clock SET origin = ?, now = ?", last.clock)
        run.executemany("INSERT INTO change VALUES (?, ?, ?, ?, ?, ?, ?, ?)", last.changes)
        run.execute(
            "CREATE TEMP TABLE last_note (path BLOB PRIMARY KEY, id TEXT, type TEXT, hash BLOB)"
        )
        run.executemany("INSERT INTO last_note VALUES (?, ?, ?, ?)", last.notes)
        for statement in _CONTINUE_FEED:
            run.execute(statement)


def _read_feed(folder: str) -> _Feed | None:
    """The change feed of the catalogue that is there; None: its changes are not known."""
    if not os.path.exists(os.path.join(folder, FILE_NAME)):
        return None
    try:
        with SqliteCatalogue(folder, writable=True) as last:  # takes back what a crash left half
            if last.select("PRAGMA quick_check(1)") != [("ok",)]:
                return None
            ((origin, now),) = last.select("SELECT origin, now FROM clock")
            notes = last.select("SELECT path, id, type, hash FROM note")
            return _Feed((origin, now), last.select("SELECT * FROM change"), notes) if now else None
    except (IndexDamaged, ValueError):
        return None
