"""Databases of other programs, made of SQL; imports by the verb."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cortex.core.notes.note import Note, read
from cortex.operations.exchange.import_ import import_
from cortex.operations.exchange.import_items import ImportedSource


@pytest.fixture
def database(tmp_path: Path) -> Callable[..., str]:
    """`database(name, sql)` makes a database, and gives its path."""

    def make(name: str, sql: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(sql)
            connection.commit()
        return str(path)

    return make


@pytest.fixture
def import_twice(vault, caller) -> Callable[..., ImportedSource]:
    """`import_twice(source, path)` imports by the verb, and gives what was found. Doing it again adds
    nothing."""

    def run(source: str, path: str | Path) -> ImportedSource:
        [done] = import_(vault, caller, (source, str(path))).sources
        again = import_(vault, caller, (source, str(path)))
        assert (again.events, again.records) == (0, 0)
        assert all(one.known == one.found for one in again.sources[0].items)
        assert not any(one.new + one.same + one.changed for one in again.sources[0].items)
        return done

    return run


@pytest.fixture
def imported(vault, import_twice) -> Callable[..., list[Note]]:
    """`imported(source, path)` imports it twice, and gives the records that came of it by title."""

    def run(source: str, path: str | Path) -> list[Note]:
        assert not import_twice(source, path).problems
        notes = (read(file.read_bytes()) for file in Path(vault.root, "records").rglob("*.md"))
        found = [note for note in notes if note.get("imported_from").startswith(source)]
        return sorted(found, key=lambda note: note.title)

    return run
