"""Find notes with SQLite's FTS5 alone: `fts5.py DATABASE FOLDER [WORDS...]`.

Reads what has changed since the last run and prints the paths of the ten best notes. `--kept` in place of FOLDER reads nothing.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys

_TABLES = """
CREATE VIRTUAL TABLE IF NOT EXISTS note USING fts5(body, tokenize = 'porter unicode61');
CREATE TABLE IF NOT EXISTS file (number INTEGER PRIMARY KEY, path TEXT UNIQUE, stamp TEXT);
"""
_BEST = """
SELECT path FROM note JOIN file ON number = note.rowid WHERE note MATCH ? ORDER BY rank LIMIT 10
"""


def stamps(root: str) -> dict[str, str]:
    """Size and times of every note below a folder."""
    found, folders = {}, [root]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.name.endswith(".md"):
                    at = entry.stat()
                    found[entry.path] = f"{at.st_size} {at.st_mtime_ns} {at.st_ctime_ns}"
    return found


def refresh(database: sqlite3.Connection, root: str) -> None:
    """Bring the tables to what the files say now."""
    there = stamps(root)
    known = {path: (number, at) for number, path, at in database.execute("SELECT * FROM file")}
    stale = [path for path, (_, at) in known.items() if there.get(path) != at]
    for path in stale:
        database.execute("DELETE FROM note WHERE rowid = ?", known[path][:1])
        database.execute("DELETE FROM file WHERE number = ?", known[path][:1])
    for path in [*(there.keys() - known.keys()), *(path for path in stale if path in there)]:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        number = database.execute(
            "INSERT INTO file (path, stamp) VALUES (?, ?)", (path, there[path])
        ).lastrowid
        database.execute("INSERT INTO note (rowid, body) VALUES (?, ?)", (number, text))
    database.commit()


def main() -> None:
    database = sqlite3.connect(sys.argv[1])
    if sys.argv[2] != "--kept":
        database.executescript(_TABLES)
        refresh(database, sys.argv[2])
    words = re.findall(r"\w+", " ".join(sys.argv[3:]))
    if words:
        query = " OR ".join(f'"{word}"' for word in words)
        for (path,) in database.execute(_BEST, (query,)):
            print(path)


if __name__ == "__main__":
    main()
