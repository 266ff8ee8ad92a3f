"""Changes that normalizing asks for, and the existing records that it has to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from cortex.core.extract.candidate import LeadingPhrases
from cortex.core.model.event import Event, is_event_id, session_note_id
from cortex.core.model.layout import AT_ROOT
from cortex.core.model.note_form import NESTED
from cortex.core.model.record import Record, content_digest
from cortex.core.text import iso_time
from cortex.core.text.strings import text_digest
from cortex.core.text.value import NamedTuple

# Within this time equal content is the same record.
DUPLICATE_WINDOW_SECONDS = 15 * 60


class CreateNote(NamedTuple):
    """Write a new note: a record, or the note of a session."""

    path: str
    text: str
    record: Record
    # If a note with this id lies there already, unknown to the catalogue, the record joins it.
    joins_existing: bool = False


class AddProvenance(NamedTuple):
    """Name one more event in a record's provenance."""

    path: str
    event: Event
    pinned: bool = False  # the event says that it is permanent
    # The layer that found it with full confidence; empty if no surer than before.
    confirming_layer: str = ""


class AppendToSession(NamedTuple):
    """Add a turn to the one note of its session."""

    path: str
    event: Event


class UpsertTopic(NamedTuple):
    """Replace the text of a topic's one record."""

    path: str
    event: Event
    record: Record


class MarkSuperseded(NamedTuple):
    """Mark a record as superseded."""

    path: str
    event: Event
    superseded_by: str  # the id of the record that holds now


NoteChange: TypeAlias = CreateNote | AddProvenance | AppendToSession | UpsertTopic | MarkSuperseded


class ExistingRecords:
    """The records that the vault has, as far as normalizing needs them, with the changes so far."""

    def __init__(self) -> None:
        self.phrases: LeadingPhrases = ()  # of the vault's settings
        self.layout, self.form = AT_ROOT, NESTED
        # Event id -> path of the first note that names it; record id -> path.
        self.path_by_event_id: dict[str, str] = {}
        self.path_by_id: dict[str, str] = {}
        # Whether records hold that are about to be superseded, or to hold again.
        self.holds_by_id: dict[str, bool] = {}
        # (project, scope, topic) -> path: the id may be that of another project.
        self.path_by_topic: dict[tuple[str, str, str], str] = {}
        self.paths_by_session: dict[str, list[str]] = {}  # session -> its records
        # (type, project, digest) -> (seconds, path, title) of current records.
        self._duplicate_candidates: dict[tuple[str, str, str], list[tuple[float, str, str]]] = {}
        # (project, digest of the title, day) -> paths of current meetings; their texts, as asked for.
        self.meetings_by_name: dict[tuple[str, str, str], list[str]] = {}
        # (project, digest of the title) -> id and owner of an open action.
        self.open_actions: dict[tuple[str, str], tuple[str, str]] = {}
        self.read_text: Callable[[str], str] = lambda _: ""
        self._last_event_by_path: dict[str, str] = {}
        # Path -> digest after the latest change; empty once the record is set aside.
        self._digest_by_path: dict[str, str] = {}

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
        self._last_event_by_path[path] = max(from_events, default="")
        self.path_by_id.setdefault(id_, path)
        if digest_ and type_ == "meeting":
            self.meetings_by_name.setdefault((project, text_digest(title), at[:10]), []).append(
                path
            )
        if digest_ and (seconds := parse_timestamp(at)) is not None:
            self._duplicate_candidates.setdefault((type_, project, digest_), []).append(
                (seconds, path, title)
            )

    def id_at(self, path: str) -> str:
        """The id of the record at a path; empty when there is none."""
        return next((id_ for id_, known_path in self.path_by_id.items() if known_path == path), "")

    def session_note(self, name: str) -> str:
        """The file name, without `.md`, of the note of a session; empty where there is none."""
        path = self.path_by_id.get(session_note_id(name), "") if name else ""
        return path.rpartition("/")[2].removesuffix(".md")

    def find_duplicate(
        self, type_: str, project: str, digest: str, created: str, title: str = ""
    ) -> str:
        """The path of a current record with the same content that was made within
        `DUPLICATE_WINDOW_SECONDS` of `created` (for a meeting, at any time); empty if none was. If
        a `title` is given, the titles must match too: two decisions may give the same reason."""
        made_at = parse_timestamp(created) or 0.0
        for known_at, path, known_title in self._duplicate_candidates.get(
            (type_, project, digest), ()
        ):
            if (
                (abs(made_at - known_at) <= DUPLICATE_WINDOW_SECONDS or type_ == "meeting")
                and self._digest_by_path.get(path, digest) == digest
                and content_digest(title or known_title, "") == content_digest(known_title, "")
            ):
                return path
        return ""

    def register_change(self, change: NoteChange, event: Event) -> None:
        path = change.path
        if isinstance(change, CreateNote):
            record = change.record
            at = (record.type == "meeting" and record.date) or record.created
            self.add(
                path=path, id_=record.id, type_=record.type, project=record.project,
                at=at, title=record.title, from_events=(event.id,),
                digest_="" if record.type == "session" else content_digest(record.title, record.body),
            )  # fmt: skip
            return
        if isinstance(change, MarkSuperseded):
            self._digest_by_path[path] = ""
            return
        self.path_by_event_id.setdefault(event.id, path)
        last = self._last_event_by_path.get(path, "")
        if event.id > last or not is_event_id(last):
            self._last_event_by_path[path] = event.id
            if isinstance(change, UpsertTopic) and self._digest_by_path.get(path) != "":
                self._digest_by_path[path] = content_digest(change.record.title, change.record.body)


def parse_timestamp(at: str) -> float | None:
    """Seconds since the epoch of an ISO time, in UTC if it names no zone; None when it is none."""
    try:
        return iso_time.parse_utc(at).timestamp()
    except ValueError:
        return None
