"""Tasks that people tick in any editor, and the action records that they stand for."""

from __future__ import annotations

from cortex.core.note import Note
from cortex.core.scan import Scanned


def ticked(note: Note, scanned: Scanned) -> tuple[str, ...]:
    """The ids of the actions that a note's ticked tasks say are done."""
    del note, scanned
    return ()
