"""A note as it leaves the vault."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from cortex.core import __version__
from cortex.core.normalize.topic_upsert import record_from_note
from cortex.core.notes.note import Note
from cortex.core.text.strings import shorten
from cortex.core.text.value import NamedTuple
from cortex.importers.earlier.cortex_export import ABOUT, FORMAT

# Pieces of a file, or of a folder's files by their paths.
Pieces: TypeAlias = Iterator[tuple[str, bytes]]
Known: TypeAlias = dict[str, tuple[str, str]]  # ids of what is exported -> path, title


class ExportedNote(NamedTuple):
    """A note: `head + text` is all of it."""

    kind: str  # record, session, event or note
    path: str  # below the folder of Cortex
    id: str
    title: str
    head: str
    text: str
    note: Note

    @property
    def gist(self) -> str:
        """What it says first, on one line."""
        lines = (line.strip("#>*- ") for line in self.note.text_below_title.splitlines())
        return shorten(next(filter(None, lines), ""), 160).replace("**", "")

    @property
    def relations(self) -> list[tuple[str, str]]:
        """Kind and id of what it is related to."""
        return [*record_from_note(self.note).relations]


def write_jsonl(some: Iterable[ExportedNote], _known: Known, _project: str) -> Pieces:
    """Lines of JSON: one that names the form, then all of each note by names."""
    about = {"kind": ABOUT, "format": FORMAT, "version": __version__}
    yield "", json.dumps(about).encode() + b"\n"
    for one in some:
        status = {"status": "active"} if one.kind == "record" else {}
        found = {**status, **one.note.fields, **one._asdict(), "relations": one.relations}
        filled = {key: value for key, value in found.items() if value and key != "note"}
        yield "", json.dumps(filled, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
