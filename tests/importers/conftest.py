"""Databases of other programs, made of SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest


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
