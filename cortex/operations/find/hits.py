"""One note of a list: what every verb that lists notes answers."""

from __future__ import annotations

import re
from typing import NamedTuple

from cortex.core.markdown import snippet as snippets
from cortex.core.model.note_status import MAX_NOTE_BYTES, decode_text
from cortex.core.model.problem import CortexError
from cortex.index.catalogue import NoteMetadata, NoteRow
from cortex.vault import files
from cortex.vault.locate import Vault


class Hit(NamedTuple):
    """One note that was found, and the line that shows why."""

    id: str
    path: str
    line: int
    title: str
    type: str
    status: str
    score: float
    snippet: str
    date: int  # seconds since the epoch
    project: str = ""
    vault: str = "project"  # or personal: whose vault it lies in


def build_hit(
    vault: Vault,
    row: NoteRow | NoteMetadata,
    score: float = 0.0,
    pattern: re.Pattern[str] | None = None,
    whose: str = "project",
) -> Hit:
    """The note of a row with the line that `pattern` matches best, else its first line of text."""
    try:
        text = decode_text(files.read(vault.root, row.path, MAX_NOTE_BYTES))
    except (CortexError, OSError):
        text = ""  # deleted since the index was brought up to date; its catalogue entry is still worth showing
    shown = snippets.best_line(text, pattern)
    return Hit(
        row.id,
        row.path,
        shown.line,
        row.title,
        row.type,
        row.status,
        round(score, 3),
        shown.text,
        row.date,
        row.project,
        whose,
    )
