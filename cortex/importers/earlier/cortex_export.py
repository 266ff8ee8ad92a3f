"""What `cortex export` wrote: lines of JSON, a database, or a folder of markdown for OKF or
basic-memory. Each note comes back as it was, with its id."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.notes import note as notes
from cortex.core.text.lazy_re import lazy_re
from cortex.importers.archive import open_archive
from cortex.importers.database import is_database, open_database
from cortex.importers.item import ForeignFile, ForeignItem

FORMAT = 1
ABOUT = "cortex-export"  # the kind of the first line, and a table: what the form is
SECTIONS = "\n\n<!-- cortex-export -->\n"  # before what an export adds to the end of a note
_ADDED_RE = lazy_re(r"(?<=\n)cortex_path: (?:(?!---).*\n)*?(?=---\r?(?:\n|$))")
_MAX_LINE_BYTES = 256_000_000
# Nothing but notes: no settings, and no file that a program of the vault would run.
_PATH_RE = lazy_re(r"(?:[^/.\0][^/\0]*/)*[^/.\0][^/\0]*\.md")


def accepts(path: str) -> bool:
    """Whether a file, a folder or its zip is one that an export wrote."""
    return any(fields is not None for _, fields in islice(_entries(path), 20))


def read(path: str) -> Iterator[ForeignItem]:
    """Every note. Raises `InvalidInputError` for the form of a later Cortex."""
    for where, fields in _entries(path):
        found = fields if isinstance(fields, dict) else {}
        if found.get("kind") == ABOUT:
            if found.get("format") != FORMAT:
                message = f"{path} is of Cortex {found.get('version')}, and another form"
                raise InvalidInputError(message, "update Cortex, then import again")
            continue
        parts = [found.get(key) or "" for key in ("path", "head", "text")]
        if all(isinstance(one, str) for one in parts) and _PATH_RE.fullmatch(parts[0]):
            yield ForeignFile(parts[0], parts[0], parts[1] + parts[2])
        else:
            hint = "export it again; cortex import markdown takes others"
            yield Problem(where, "it is damaged, or no note that an export wrote", hint)


def _entries(path: str) -> Iterator[tuple[str, Any]]:
    """Each note, by the names of its fields, and where it stands; None for what is none."""
    if is_database(path, ABOUT):
        with open_database(path) as database:
            for table in (ABOUT, "records", "notes", "events"):
                yield from ((str(row.get("path")), row) for row in database.rows(table))
        return
    with open_archive(path) as archive:
        first = next(archive.names(), "")
        if first and f'"{ABOUT}"' in archive.read(first, 200):
            with archive.open(first) as file:
                lines = iter(partial(file.readline, _MAX_LINE_BYTES), b"")
                yield from ((f"line {at}", _parse(line)) for at, line in enumerate(lines, start=1))
            return
        for name in archive.names(".md"):
            fields = _without_added(archive.read(name))
            if fields or name.rpartition("/")[2] not in ("index.md", "log.md"):
                yield name, fields


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _without_added(whole: str) -> dict[str, str] | None:
    """A note of markdown as it was; None if no export wrote it."""
    path = notes.read(whole.encode("utf-8", "replace")).get("cortex_path")
    text = _ADDED_RE.sub("", whole.rpartition(SECTIONS)[0] or whole, count=1)
    return {"path": path, "text": text.removeprefix("---\n---\n")} if path else None
