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
_PATH_FIELD = b"\ncortex_path: "  # the first of the fields that an export adds
_MAX_LINE_BYTES = 256_000_000
# Nothing but notes: no settings, nothing that an agent obeys or a program of the vault runs, and no
# name that Windows has not or that shows as another.
_PART = (
    r"(?![.]|(?:aux|con|nul|prn|com\d|lpt\d)[ ]*(?:[./]|$))"
    r"[^/\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]+"
)
_PATH_RE = lazy_re(
    r"(?i)(?!(?:agents|briefings|inbox|runs|templates)/)"
    r"(?!(?:.*/)?(?:agents|claude|gemini)(?:\.local|\.override)?\.md$)"
    rf"{_PART}(?:(?<![ .])/{_PART})*(?<=(?-i:\.md))"
)


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
        if not (parts[0] and all(isinstance(one, str) for one in parts)):
            hint = "export it again; cortex import markdown takes others"
            yield Problem(where, "it is damaged, or no note that an export wrote", hint)
        elif _PATH_RE.fullmatch(parts[0]):
            yield ForeignFile(parts[0], parts[0], parts[1] + parts[2])
        else:
            message = f"a note from elsewhere may not be {parts[0]}"
            yield Problem(where, message, "look at it, then copy it there yourself")


def _entries(path: str) -> Iterator[tuple[str, Any]]:
    """Each note, by the names of its fields, and where it stands; None for what is none."""
    if is_database(path, ABOUT):
        with open_database(path) as database:
            for table in (ABOUT, "records", "notes", "events"):
                yield from ((str(row.get("path")), row) for row in database.rows(table))
        return
    with open_archive(path) as archive:
        first = next(archive.names(), "")
        if not first.endswith(".md") and first and f'"{ABOUT}"' in archive.read(first, 200):
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
    note = notes.read((whole.rpartition(SECTIONS)[0] or whole).encode("utf-8", "replace"))
    own, _, added = (b"\n" + note.frontmatter).rpartition(_PATH_FIELD)
    path = notes.read(b"---" + _PATH_FIELD + added + b"---\n").get("cortex_path")
    # What had no fields got a frontmatter of its own.
    was = notes.write(note._replace(frontmatter=own[1:] + b"\n")) if own else note.body
    return {"path": path, "text": was.decode()} if path and note.opening_fence else None
