"""Read a SQLite database of another program, of any version, without touching it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from cortex.core.model.problem import ConflictError, InvalidInputError

_MAGIC = b"SQLite format 3\0"
_ENDINGS = "", "-wal", "-journal"  # of the file, and of those beside it that belong to it
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

    def rows(
        self, table: str, order: str = "rowid", where: str = "1", values: tuple[object, ...] = ()
    ) -> Iterator[dict[str, Any]]:
        """The rows of a table, with all its columns; none where there is no such table. `values` are
        those of the `?` in `where`."""
        if self.columns(table):
            query = f'SELECT * FROM "{table}" WHERE {where} ORDER BY {order}'
            yield from map(dict, self._connection.execute(query, values))

    def find(self, table: str, **values: object) -> Iterator[dict[str, Any]]:
        """The rows that have these values; none where there is no such column."""
        if set(values) <= set(self.columns(table)):
            where = " AND ".join(f"{column} = ?" for column in values)
            yield from self.rows(table, where=where, values=tuple(values.values()))


def text_list(value: object) -> tuple[str, ...]:
    """The texts of a column that holds an array of JSON; what is no array is one text."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (RecursionError, ValueError):
        found = value
    texts = found if isinstance(found, list) else [found] if found else []
    return tuple(str(one).strip() for one in texts if str(one).strip())


def is_database(path: str, *tables: str) -> bool:
    """Whether a file is a SQLite database in which all of these tables are named."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            return False
    # Without a log nothing is written beside it, and a long one need not be copied.
    is_quiet = not any(os.path.exists(path + end) for end in _ENDINGS[1:])
    address = f"{Path(os.path.abspath(path)).as_uri()}?mode=ro&immutable=1"
    with _connect(address, path) if is_quiet else open_database(path) as database:
        return all(map(database.columns, tables))


def database_in(path: str, *names: str) -> str:
    """A path, or where it is a folder, that of the first of these files that is in it."""
    return next(filter(os.path.isfile, (os.path.join(path, name) for name in names)), path)


@contextmanager
def open_database(path: str) -> Iterator[Database]:
    """A copy of the database: even to read one where it lies may write files beside it. What is in
    its write-ahead log counts. Raises `InvalidInputError` for what is none, or is damaged."""
    if (is_folder := os.path.isdir(path)) or not os.path.getsize(path):
        message = f"{path} {'holds no such database' if is_folder else 'is empty'}"
        raise InvalidInputError(message, "name the file that the program keeps")
    with tempfile.TemporaryDirectory(prefix="cortex-import-") as folder:
        copy = os.path.join(folder, "copy.db")
        _copy_quiet(path, copy)
        with _connect(copy, path) as database:
            yield database


@contextmanager
def _connect(address: str, path: str) -> Iterator[Database]:
    try:
        with closing(sqlite3.connect(address, uri=address.startswith("file:"))) as connection:
            yield Database(connection)
    except sqlite3.DatabaseError as error:
        is_busy = isinstance(error, sqlite3.OperationalError)
        what = "cannot be read" if is_busy else "is a damaged or half database"
        hint = "close the program that writes it, then import again"
        raise InvalidInputError(f"{path} {what}: {error}", hint) from error


def _copy_quiet(path: str, copy: str) -> None:
    """Copy a database with its log, at a moment in which nobody writes them."""
    sources = [(f"{path}{end}", f"{copy}{end}") for end in _ENDINGS]
    for _ in range(_ATTEMPTS):
        before = [_stamp(source) for source, _ in sources]
        for source, target in sources:
            Path(target).unlink(missing_ok=True)  # a log of an attempt before tells older rows
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
