"""The catalogue: a row for every note of a vault, and what notes say of each other.

It has ids, statuses, provenance, links, problems and counts; the full-text index has the words. It
can be deleted at any time; `refresh` rebuilds it. What it can be asked is `Catalogue`; how it is
kept, here in SQLite, no other room knows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from cortex.core.model.note_row import NoteRow as NoteRow
from cortex.core.text.strings import blake2b_digest
from cortex.core.text.value import NamedTuple, Protocol
from cortex.index.catalogue.filters import KNOWLEDGE, NoteFilter, Order

if TYPE_CHECKING:
    from typing import Any, Self

    from cortex.core.briefing.pages import BriefingPage, ItemLine
    from cortex.core.extract.named_entities import Entity
    from cortex.core.minutes.note_items import OwnItem
    from cortex.core.model.problem import Problem
    from cortex.core.model.relation import Edge, LinkCandidate


class IndexDamaged(Exception):
    """The cache cannot be read and must be rebuilt."""


class NoteSummary(NamedTuple):
    """A note as it was read: its row, and all else that catalogue and full-text index keep of it."""

    row: NoteRow
    body: str  # for the full-text index; not kept
    aliases: tuple[str, ...]
    when: str  # the date of its frontmatter, as written
    problems: tuple[Problem, ...]
    briefing_items: tuple[tuple[BriefingPage, ItemLine], ...]  # its lines in briefings
    # What links call it, folded, each with its rank: 0 id, 1 path, 2 file name.
    link_names: tuple[tuple[str, int], ...]
    title_keys: tuple[tuple[str, int], ...]  # what people call it; see `title_keys_of`
    edges: tuple[Edge, ...]
    entities: tuple[Entity, ...]
    own_items: tuple[OwnItem, ...]  # of a person's own note: tasks, decisions, the meeting
    done_action_ids: tuple[str, ...]  # ids of actions that its ticked tasks say are done
    is_raw_code: bool  # a record of it, or the event of one: it gets no vectors
    sketch: bytes  # of the words of its title and text; empty for notes that are not compared
    content_hash: bytes = b""  # of its bytes; empty when it could not be read
    index_digest: bytes = b""  # of its documents in the full-text index
    passage_keys: bytes = b""  # of its vectors, one after the other


class OwnItemRow(NamedTuple):
    """An item of a person's own note, with the number and path of the note."""

    number: int
    path: str
    kind: str
    line: int
    text: str
    person: str
    day: str


class NoteChange(NamedTuple):
    """A note that has changed. Of one that was renamed its old path is gone, and its new one added."""

    id: str
    path: str
    type: str
    what: Literal["added", "changed", "gone"]


class ProjectTotals(NamedTuple):
    """How much a project has; `last_change` is in seconds since the epoch."""

    name: str
    notes: int  # without sessions
    to_do: int
    sessions: int
    last_change: int


def sketch_keys(hashes: bytes) -> list[int]:
    """The hashes by which a note's likest others are looked up: the 16 smallest, a random choice
    that is the same for all notes. Two notes alike by 0.4 share one with probability 0.9997."""
    return [int.from_bytes(hashes[at : at + 4], "little") for at in range(0, len(hashes[:64]), 4)]


def hash_content(data: bytes) -> bytes:
    """The hash by which the catalogue tells whether the bytes of a note have changed."""
    return blake2b_digest(data, 16)


class Catalogue(Protocol):
    """What an open catalogue answers. Each method raises `IndexDamaged` when it cannot be read."""

    folder: str  # of the user's cache, where what is computed of all notes may be kept

    @property
    def version(self) -> str:
        """Another text after every change of the catalogue."""

    def changes(self, since: str) -> tuple[list[NoteChange] | None, str]:
        """What has changed since a cursor, as it happened, and the cursor of now. None where that is
        not known: the cursor is of an earlier catalogue, or of none."""

    # Notes.

    def find(self, wanted: NoteFilter, order: Order = "", limit: int = -1) -> list[NoteRow]:
        """The notes of a filter, at most `limit` if it is not negative. About 8 µs a note."""

    def numbers(self, wanted: NoteFilter) -> set[int]:
        """The numbers of the notes of a filter. About 1 µs a note."""

    def count(self, wanted: NoteFilter) -> int:
        """How many notes a filter has."""

    def count_notes(self) -> int:
        """The number of notes, without briefings."""

    def count_by(self, column: str, wanted: NoteFilter = KNOWLEDGE) -> dict[str, int]:
        """How many notes of a filter have each value of a field of `NoteRow` that is a text or a
        number, most first, then by value."""

    def rows_by_number(self, numbers: Iterable[int]) -> dict[int, NoteRow]:
        """The notes of these numbers."""

    def row_at(self, path: str) -> NoteRow | None:
        """The note at a path."""

    def number_and_hash(self, path: str) -> tuple[int, bytes] | None:
        """A note's number and the hash of the content it was read from."""

    def passage_keys(self, numbers: Iterable[int] | None = None) -> list[tuple[int, bytes]]:
        """Of each note, or these, its number and the keys of its vectors, one after the other."""

    def neighbours_in_time(
        self, row: NoteRow, limit: int, project: str | None = None
    ) -> tuple[list[NoteRow], list[NoteRow]]:
        """The notes made before one and those made after it, of a project or (None) of all,
        templates left out, each nearest `limit`, oldest first; those of one moment by id."""

    def nearest_in_session(self, row: NoteRow, limit: int) -> list[int]:
        """The numbers of the other current notes of a note's session, those nearest in time first."""

    # What is wrong.

    def problems(self) -> list[Problem]:
        """The problems of all notes, by path."""

    def unreadable_paths(self) -> list[str]:
        """The notes that could not be read at the last refresh."""

    def duplicate_ids(self) -> dict[str, list[NoteRow]]:
        """The notes that share an id (or path without one), events left out, by id and path."""

    def duplicate_topics(self, limit: int) -> list[tuple[str, str, str, str]]:
        """Current records of a topic that has another: path, id, first record's id, topic; by path."""

    def misdated_notes(self, latest: int, limit: int) -> list[NoteRow]:
        """Records with a time after `latest` (seconds since the epoch), or an invalid one, by path.
        What people plan may lie ahead."""

    def check_integrity(self) -> None:
        """Raise `IndexDamaged` if any part of the catalogue is damaged, asked for or not."""

    # What people's own notes say.

    def own_items(
        self,
        kind: str,
        projects: Collection[str] | None = None,
        order: Literal["changed", "day", "-day"] = "changed",
        limit: int = -1,
    ) -> tuple[list[OwnItemRow], int]:
        """The items of this kind (tasks, decisions, meetings) in current notes that people wrote
        themselves, at most `limit`, and how many there are in all. `projects`: None for all.
        `order`: by day, latest first with `-day`, those without one last, or the last changed notes
        first."""

    def ticked_actions(self) -> dict[str, list[str]]:
        """The actions whose tasks are ticked, by id, with the paths of the notes that say so."""

    # Figures.

    def count_by_day(
        self, wanted: NoteFilter, moment: Literal["created", "changed", "done"]
    ) -> dict[str, int]:
        """How many notes of a filter were made, or changed last, on each day of the
        filter's zone, templates left out. `done`: changed last, or ticked in a note that was."""

    def project_totals(self, project: str = "") -> list[ProjectTotals]:
        """The figures of one project, or of every project that a note names, the last changed
        first."""

    def branch_totals(self, project: str, limit: int) -> list[tuple[str, int, int]]:
        """The branches of a project: name, notes and last change in seconds, the last changed
        first."""

    def count_topics(self) -> int:
        """How many topics current records have, each counted once for a project and scope."""

    def count_started_sessions(self) -> int:
        """How many sessions have ended or have a prompt; one with only a compaction does not
        count."""

    # Briefings.

    def briefing_lines(self) -> Iterator[tuple[str, str, str, str, str, str, str, str, bool]]:
        """Every line of every briefing, unordered: kind, project and branch of its page; its id,
        section, order and text; the path of its note, and whether that is of no project."""

    def briefing_candidates(
        self, names: Sequence[str], *, with_personal: bool
    ) -> list[tuple[Any, ...]]:
        """The current records of a project with these names, and those of every project's briefing;
        `with_personal` says whether also those that are somebody's alone. As tuples, since ten
        thousand are sorted: number, id, type, status, branch, last said, pinned, confidence,
        priority, due, is the project's."""

    def briefing_dependencies(self, names: Sequence[str]) -> list[str]:
        """The paths of the notes whose edit could change a project's briefing: the last changed of
        the project, set aside ones too, and those of every project's briefing."""

    def notes_naming_files_of(self, sessions: Sequence[int], max_events: int) -> frozenset[int]:
        """The notes that name a file which these sessions name, in their notes or last events."""

    # Edges and names.

    def edges_of(
        self, wanted: NoteFilter, kinds: Collection[str] | None = None
    ) -> dict[int, list[Edge]]:
        """The edges that the notes of a filter state, of some kinds or (None) of all, by number, in
        the order of the text."""

    def edges_to(self, keys: Collection[str]) -> list[tuple[int, Edge]]:
        """The edges whose targets have one of these keys, each with the number of its note."""

    def unnamed_edges(self) -> list[tuple[int, Edge]]:
        """The edges to what no note is called, and those to a path: relations of all notes but
        events, links of current notes; each with the number of its note."""

    def has_edge_kind(self, kind: str) -> bool:
        """Whether any note says a relation of this kind."""

    def notes_named(self, keys: Collection[str]) -> dict[str, list[LinkCandidate]]:
        """The notes to which links with these keys can lead, by key."""

    def targets(self) -> Iterator[tuple[int, str, str]]:
        """Every edge of a current note, unordered: the note's number, target and key."""

    def names(self) -> dict[str, int]:
        """The keys of all names, paths left out, each with the number of the note that is called
        so; -1 where several are."""

    def keys_from(self, of: Literal["name", "entity"], begin: str, limit: int) -> list[str]:
        """Keys of names, paths left out, or of things that begin so."""

    def notes_called(self, name: str) -> dict[int, int]:
        """The notes, without events, that people call so: number -> 0 title, 1 file name, 2
        alias."""

    def known_names(self, limit: int) -> list[str]:
        """Ids of notes and folded titles, events left out, that are short enough to be compared
        with what somebody typed."""

    def notes_named_from(self, begin: str, limit: int) -> list[NoteRow]:
        """The notes of which id, hash at the end of the id, title, path or file name begins so, in
        any case; events left out, the last changed first."""

    # Entities: files, packages, symbols and more that notes name.

    def entities_of(
        self, numbers: Collection[int], kind: str = ""
    ) -> dict[int, list[tuple[str, str, str, int]]]:
        """The things that notes name, by number and line: kind, name, key and line."""

    def mentions_of(
        self, name: str, folded: str, kind: str = ""
    ) -> list[tuple[int, str, str, str]]:
        """Where a thing is named: number of the note, kind, name and key. `name` finds a symbol,
        with or without `()`; `folded` finds any other thing by its whole key, of a file, url or
        package by its last parts too, of a version without its `v`."""

    def notes_naming(self, kind: str, key: str, limit: int) -> list[int]:
        """The numbers of current notes that name a thing."""

    def entity_counts(self, keys: Collection[str]) -> dict[tuple[str, str], int]:
        """In how many current notes each thing with one of these keys is named, by kind and key."""

    def most_mentioned(self, kind: str = "") -> list[tuple[str, str, int]]:
        """Every thing that current notes name: kind, name, number of notes; the most named first."""

    # Likeness.

    def sketches(self, numbers: Collection[int]) -> dict[int, bytes]:
        """The sketches of those of these notes that are compared with others."""

    def notes_with_sketch_keys(self, keys: Iterable[int], most: int) -> dict[int, list[int]]:
        """By each of these `sketch_keys`, the numbers of at most so many notes that have it."""

    # The full-text index, which may be behind.

    def read_backlog(self) -> tuple[list[int], list[tuple[int, str]]]:
        """The numbers to delete from the full-text index; number and path of notes to add."""


class WritableCatalogue(Catalogue, Protocol):
    """A catalogue that is brought up to date. Only `commit` saves changes."""

    def __enter__(self) -> Self:
        """The catalogue, open until the end of the `with`."""

    def __exit__(self, *_: object) -> None: ...

    def put_note(self, note: NoteSummary, number: int | None = None) -> int:
        """Add a note or replace the one of its path. Returns its number: the given, else a new one,
        never used twice."""

    def delete_note(self, path: str) -> tuple[int, bytes] | None:
        """Delete a note; return its number and `index_digest`, or None if there is none."""

    def update_date(self, path: str, before: int, after: int) -> None:
        """Set the date of a note with unchanged bytes, if it was the mtime of its file."""

    def queue_addition(self, number: int) -> None:
        """Queue this note for addition to the full-text index."""

    def queue_removal(self, number: int) -> None:
        """Queue this number for deletion from the full-text index, or take its addition back."""

    def clear_backlog(self) -> None:
        """The full-text index is no longer behind."""

    def commit(self) -> None:
        """Save all changes."""
