"""A note of a list, and a list: what every verb that lists notes answers."""

from __future__ import annotations

import os
import re
from typing import Generic, NamedTuple, TypeVar

from cortex.core.markdown import snippet as snippets
from cortex.core.model.note_status import MAX_NOTE_BYTES, decode_text
from cortex.core.model.parameters import Time
from cortex.core.model.problem import CortexError, Problem
from cortex.core.text.strings import format_time
from cortex.index.catalogue import NoteRow
from cortex.vault import files
from cortex.vault.locate import Vault

T = TypeVar("T")


class Hit(NamedTuple):
    """A note that was found, and the line that shows why."""

    id: str
    path: str  # relative to its vault
    line: int
    title: str
    type: str
    status: str
    score: float
    snippet: str
    date: Time
    project: str = ""
    vault: str = "project"  # or personal: whose vault it lies in
    file: str = ""  # absolute path


class Hits(NamedTuple, Generic[T]):
    """A section of an answer: the first notes of a list, and how many there are in all."""

    hits: list[T]
    total: int


class Listing(NamedTuple, Generic[T]):
    """Notes of a list that was cut to a number, and how many there are in all."""

    hits: list[T]
    total: int
    problems: list[Problem]
    hint: str = ""


def build_hit(
    vault: Vault,
    row: NoteRow,
    score: float = 0.0,
    pattern: re.Pattern[str] | None = None,
    whose: str = "project",
) -> Hit:
    """The note of a row with the line that `pattern` matches best, else its first line of text."""
    try:
        text = decode_text(files.read(vault.root, row.path, MAX_NOTE_BYTES))
    except (CortexError, OSError):
        text = ""  # deleted since the index was refreshed; its catalogue entry is still shown
    shown = snippets.best_line(text, pattern)
    return Hit(
        id=row.id,
        path=row.path,
        line=shown.line,
        title=row.title,
        type=row.type,
        status=row.status,
        score=round(score, 3),
        snippet=shown.text,
        date=format_time(row.date),
        project=row.project,
        vault=whose,
        file=os.path.join(vault.root, row.path),
    )
