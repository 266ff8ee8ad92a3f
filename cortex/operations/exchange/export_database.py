"""An export as a database. All that it says in SQL stands here and in `templates/export.sql`."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable
from contextlib import closing
from functools import partial

from cortex.operations.exchange.export_note import ExportedNote, Known, Pieces, write_jsonl
from cortex.vault.templates import read_template


def write_sqlite(some: Iterable[ExportedNote], known: Known, project: str) -> Pieces:
    """The bytes of a database, which a script makes of the lines of JSON."""
    with tempfile.NamedTemporaryFile(prefix="cortex-export-") as file:
        with closing(sqlite3.connect(file.name)) as database:
            database.execute("CREATE TABLE lines (line)")
            lines = ((line.decode(),) for _, line in write_jsonl(some, known, project))
            database.executemany("INSERT INTO lines VALUES (?)", lines)
            database.commit()
            database.executescript(read_template("export.sql"))
        yield from (("", chunk) for chunk in iter(partial(file.read, 1 << 20), b""))
