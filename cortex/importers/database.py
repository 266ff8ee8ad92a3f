"""Read a SQLite database of another program, of any version, without touching it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from cortex.core.model.problem import ConflictError, InvalidInputError

_MAGIC = b"SQLite format 3\0"
_ATTEMPTS = 3  # at a copy during which nobody writes


class Database:
    """A copy of a database, open for reading."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.row_factory = sqlite3.Row

    def columns(self, table: str) -> tuple[str, ...]:
        """The names of a table's columns; none where there is no such table."""
        return tuple(
            row["name"] for row in self._connection.execute(f'PRAGMA table_info("{table}")')
        )

    def rows(self, table: str, order: str = "rowid", where: str = "1") -> Iterator[dict[str, Any]]:
        """The rows of a table, with all its columns; none where there is no such table."""
        if self.columns(table):
            query = f'SELECT * FROM "{table}" WHERE {where} ORDER BY {order}'
            yield from map(dict, self._connection.execute(query))


def is_database(path: str, *tables: str) -> bool:
    """Whether a file is a SQLite database in which all of these tables are named."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return False
    with open_database(path) as database:
        return all(map(database.columns, tables))


@contextmanager
def open_database(path: str) -> Iterator[Database]:
    """A copy of the database: even to read one where it lies may write files beside it. What is in
    its write-ahead log counts. Raises `InvalidInputError` for what is none, or is damaged."""
    with tempfile.TemporaryDirectory(prefix="cortex-import-") as folder:
        copy = os.path.join(folder, "copy.db")
        _copy_quiet(path, copy)
        try:
            with closing(sqlite3.connect(copy)) as connection:
                yield Database(connection)
        except sqlite3.DatabaseError as error:
            hint = "close the program that writes it, then import again"
            raise InvalidInputError(f"{path} cannot be read: {error}", hint) from error


def _copy_quiet(path: str, copy: str) -> None:
    """Copy a database with its log, at a moment in which nobody writes them."""
    sources = [(f"{path}{end}", f"{copy}{end}") for end in ("", "-wal")]
    for _ in range(_ATTEMPTS):
        before = [_stamp(source) for source, _ in sources]
        for source, target in sources:
            if os.path.exists(source):
                shutil.copyfile(source, target)
        if before == [_stamp(source) for source, _ in sources]:
            return
    raise ConflictError(f"{path} is being written", "close the program that writes it, then again")


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
