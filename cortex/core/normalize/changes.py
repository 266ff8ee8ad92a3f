"""What normalizing has to know of the vault, and what it may ask to be changed there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from cortex.core.model.event import Event
from cortex.core.model.record import Record
from cortex.core.text.strings import digest

Phrases: TypeAlias = "Sequence[tuple[str, tuple[str, ...]]]"  # record type -> a team's own words at the beginning of a line

TWIN_WINDOW = (
    15 * 60
)  # seconds within which equal content is the same record (engram's and seed 001's window)


class Create(NamedTuple):
    """Write a new note."""

    path: str
    text: str
    id: str
    type: str
    project: str
    at: str
    digest: str
    record: Record | None = (
        None  # what joins the note that lies there, should the catalogue not know of it: of a topic, or of an extracted text
    )
    title: str = ""


class Grow(NamedTuple):
    """Name one more event in a record's provenance."""

    path: str
    event: Event
    pinned: bool = False  # the event says that it is permanent
    sure: str = (
        ""  # the layer that says it with full confidence; empty when it is no surer than before
    )


class Fold(NamedTuple):
    """Add a turn to the one note of its session."""

    path: str
    event: Event


class Upsert(NamedTuple):
    """Say anew what a topic's one record says."""

    path: str
    event: Event
    record: Record


class Retire(NamedTuple):
    """Mark a record as superseded."""

    path: str
    event: Event
    by: str  # the id of the record that holds now


Change: TypeAlias = "Create | Grow | Fold | Upsert | Retire"


class Known:
    """What the vault holds already, as far as normalizing must know it; grows as changes are applied."""

    def __init__(self) -> None:
        self.phrases: Phrases = ()  # of the vault's settings
        self.events: dict[str, str] = {}  # event id -> path of the first note that names it
        self.paths: dict[str, str] = {}  # record id -> path, wherever a person has moved it
        self.topics: dict[
            tuple[str, str, str], str
        ] = {}  # project, scope, topic -> path: the id may tell of another project
        self._twins: dict[
            tuple[str, str, str], list[tuple[float, str, str]]
        ] = {}  # of current records alone
        self._says: dict[
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
            self.events.setdefault(one, path)
        self.paths.setdefault(id_, path)
        if digest_ and (seconds := seconds_of(at)) is not None:
            self._twins.setdefault((type_, project, digest_), []).append((seconds, path, title))

    def id_at(self, path: str) -> str:
        """The id of the record at a path; empty when there is none."""
        return next((id_ for id_, held in self.paths.items() if held == path), "")

    def twin(self, type_: str, project: str, digest_: str, at: str, title: str = "") -> str:
        """The path of a current record with this content, made within the window; empty when there is none. A `title` that
        somebody gave has to be that of the record: two decisions may have one reason."""
        now = seconds_of(at) or 0.0
        for then, path, held in self._twins.get((type_, project, digest_), ()):
            if (
                abs(now - then) <= TWIN_WINDOW
                and self._says.get(path, digest_) == digest_
                and digest(title or held) == digest(held)
            ):
                return path
        return ""

    def learn(self, change: Change, event: Event) -> None:
        if isinstance(change, Create):
            self.add(
                path=change.path, id_=change.id, type_=change.type, project=change.project, at=change.at,
                digest_=change.digest, from_events=(event.id,), title=change.title,
            )  # fmt: skip
            return
        if not isinstance(change, Retire):
            self.events.setdefault(event.id, change.path)
        if isinstance(change, Retire):
            self._says[change.path] = ""
        elif isinstance(change, Upsert) and self._says.get(change.path) != "":
            self._says[change.path] = digest(change.record.body)


def seconds_of(at: str) -> float | None:
    """Seconds since the epoch of an ISO time that names its zone; None when it is none."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo else None
