"""What normalizing has to know of the vault, and what it may ask to be changed there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from cortex.core.model.event import Event
from cortex.core.model.record import Record
from cortex.core.text.strings import text_digest

LeadingPhrases: TypeAlias = "Sequence[tuple[str, tuple[str, ...]]]"  # record type -> a team's own words at the beginning of a line

DUPLICATE_WINDOW_SECONDS = (
    15 * 60
)  # seconds within which equal content is the same record (engram's and seed 001's window)


class CreateNote(NamedTuple):
    """Write a new note."""

    path: str
    text: str
    id: str
    type: str
    project: str
    at: str
    digest: str
    record_to_join: Record | None = (
        None  # what joins the note that lies there, should the catalogue not know of it: of a topic, or of an extracted text
    )
    title: str = ""


class AddProvenance(NamedTuple):
    """Name one more event in a record's provenance."""

    path: str
    event: Event
    pinned: bool = False  # the event says that it is permanent
    confirming_layer: str = (
        ""  # the layer that says it with full confidence; empty when it is no surer than before
    )


class AppendToSession(NamedTuple):
    """Add a turn to the one note of its session."""

    path: str
    event: Event


class UpsertTopic(NamedTuple):
    """Say anew what a topic's one record says."""

    path: str
    event: Event
    record: Record


class MarkSuperseded(NamedTuple):
    """Mark a record as superseded."""

    path: str
    event: Event
    superseded_by: str  # the id of the record that holds now


NoteChange: TypeAlias = (
    "CreateNote | AddProvenance | AppendToSession | UpsertTopic | MarkSuperseded"
)


class ExistingRecords:
    """What the vault holds already, as far as normalizing must know it; grows as changes are applied."""

    def __init__(self) -> None:
        self.phrases: LeadingPhrases = ()  # of the vault's settings
        self.path_by_event_id: dict[
            str, str
        ] = {}  # event id -> path of the first note that names it
        self.path_by_id: dict[str, str] = {}  # record id -> path, wherever a person has moved it
        self.path_by_topic: dict[
            tuple[str, str, str], str
        ] = {}  # project, scope, topic -> path: the id may tell of another project
        self._duplicate_candidates: dict[
            tuple[str, str, str], list[tuple[float, str, str]]
        ] = {}  # of current records alone
        self._digest_by_path: dict[
            str, str
        ] = {}  # path -> digest of what a change has made of it; empty once it is set aside

    def add(
        self,
        *,
        path: str,
        id_: str,
        type_: str,
        project: str,
        at: str,
        digest_: str,
        from_events: tuple[str, ...],
        title: str,
    ) -> None:
        for one in from_events:
            self.path_by_event_id.setdefault(one, path)
        self.path_by_id.setdefault(id_, path)
        if digest_ and (seconds := parse_timestamp(at)) is not None:
            self._duplicate_candidates.setdefault((type_, project, digest_), []).append(
                (seconds, path, title)
            )

    def id_at(self, path: str) -> str:
        """The id of the record at a path; empty when there is none."""
        return next((id_ for id_, held in self.path_by_id.items() if held == path), "")

    def find_duplicate(
        self, type_: str, project: str, digest_: str, at: str, title: str = ""
    ) -> str:
        """The path of a current record with this content, made within the window; empty when there is none. A `title` that
        somebody gave has to be that of the record: two decisions may have one reason."""
        now = parse_timestamp(at) or 0.0
        for then, path, held in self._duplicate_candidates.get((type_, project, digest_), ()):
            if (
                abs(now - then) <= DUPLICATE_WINDOW_SECONDS
                and self._digest_by_path.get(path, digest_) == digest_
                and text_digest(title or held) == text_digest(held)
            ):
                return path
        return ""

    def register_change(self, change: NoteChange, event: Event) -> None:
        if isinstance(change, CreateNote):
            self.add(
                path=change.path, id_=change.id, type_=change.type, project=change.project, at=change.at,
                digest_=change.digest, from_events=(event.id,), title=change.title,
            )  # fmt: skip
            return
        if not isinstance(change, MarkSuperseded):
            self.path_by_event_id.setdefault(event.id, change.path)
        if isinstance(change, MarkSuperseded):
            self._digest_by_path[change.path] = ""
        elif isinstance(change, UpsertTopic) and self._digest_by_path.get(change.path) != "":
            self._digest_by_path[change.path] = text_digest(change.record.body)


def parse_timestamp(at: str) -> float | None:
    """Seconds since the epoch of an ISO time that names its zone; None when it is none."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo else None
