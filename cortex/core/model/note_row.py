"""What is known of a note without its text."""

from __future__ import annotations

from cortex.core.text.strings import format_time
from cortex.core.text.value import NamedTuple


class NoteRow(NamedTuple):
    """A note, as the index knows it."""

    number: int  # by which the index names the note; 0 before it has one
    path: str
    id: str  # of its frontmatter, else its path
    type: str
    title: str
    status: str
    project: str
    branch: str
    scope: str
    topic: str
    session: str
    date: int  # seconds since the epoch of the last change that it tells of, else of its file
    written: (
        str  # the same as the note has it, ISO; empty if that is a moment in UTC, or the file's
    )
    tier: int
    created: str
    updated: str
    due: str
    owner: str
    confidence: float | None  # 0 to 1; None when the note does not say
    priority: int | None  # 1 to 10; the same
    digest: str  # of a record's body, to recognise a twin
    pinned: bool
    tags: tuple[str, ...]  # lower case; of the frontmatter and of the text
    events: tuple[str, ...]  # its provenance

    @property
    def when(self) -> str:
        """Its last change: a moment in UTC, or as its note has it."""
        return self.written or format_time(self.date)
