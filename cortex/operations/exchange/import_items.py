"""Take over what a source holds: look at all of it first, then capture what is new, then normalize.

Each stage may be interrupted: an item that was captured is known again by the id of its event.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, TypeAlias

from cortex.core.model import event as events, turn_summary
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event, session_note_id
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.model.problem import (
    CortexError,
    InvalidInputError,
    NotFoundError,
    Problem,
    problem_of,
)
from cortex.core.model.record import content_digest
from cortex.core.notes import note as notes
from cortex.core.notes.edit import without_place
from cortex.core.notes.erasure import hash_of_id
from cortex.core.notes.note import Note
from cortex.core.redact.secret_patterns import SECRET_PATTERNS
from cortex.core.redact.secrets import redact, sanitize_text
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import (
    format_time,
    hash_bytes,
    one_line,
    parse_time,
    printable_line,
    short_hash,
)
from cortex.core.text.value import NamedTuple
from cortex.importers import load_importer
from cortex.importers.item import (
    FAULTS,
    ForeignFile,
    ForeignItem,
    ForeignMeeting,
    ForeignRecord,
    ForeignSession,
    fault,
)
from cortex.index.catalogue.filters import KNOWLEDGE
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.capture import publish_event
from cortex.operations.exchange import foreign_events
from cortex.operations.upkeep.normalize import normalize_inbox
from cortex.vault import files, settings
from cortex.vault.erased import read_list
from cortex.vault.locate import Vault

# Events between two passes, and their texts: a bound of memory.
_BATCH, _BATCH_CHARS = 4000, 16_000_000
_MAX_SAMPLES = 3  # of each kind
_MAX_SAMPLE_CHARS = 2000  # of the text that a title is taken from
_MAX_PROBLEMS, _MAX_ALIKE = 200, 5
# Errors after which nothing else can be written either.
_BLOCKED = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO}
_REDACTED_RE = lazy_re(r"\[REDACTED(?::[^\[\]]*)?\]")
_SECRETS = frozenset(row[0] for row in SECRET_PATTERNS) - {"private"}
_ID_END = len("-k3f7q2abcd.md")
_TEXT_START = f"\n---\n\n{events.RAW_HEADING}\n\n"
_STEP = 100  # items between two words on the progress

Kind = Literal["record", "session", "meeting", "file"]
_Thing: TypeAlias = ForeignRecord | ForeignSession | ForeignMeeting | ForeignFile
# What becomes of an item. `same`: a record that came from elsewhere says it already.
_OUTCOMES = NEW, KNOWN, SAME, CHANGED, LEFT = "new", "known", "same", "changed", "left"
_KINDS: dict[type, Kind] = {
    ForeignRecord: "record", ForeignSession: "session", ForeignMeeting: "meeting",
    ForeignFile: "file",
}  # fmt: skip


class ItemCount(NamedTuple):
    """How many items of a kind a source holds."""

    kind: Kind
    found: int
    new: int
    known: int  # imported before
    same: int  # of which another source, or a person, has told the same: there is one record
    changed: int  # imported before, and changed in the source since: what is here stays
    left: int  # of other projects, older than `since`, or captured by hooks
    missed: int = 0  # new, and not kept: the import was stopped, or could not write


class ItemSample(NamedTuple):
    """One new item, to show what would come."""

    kind: Kind
    title: str
    type: str
    at: str
    project: str


class ImportedSource(NamedTuple):
    """What was found at one place of a source."""

    source: str
    path: str
    items: list[ItemCount]
    samples: list[ItemSample]
    events: int  # captured
    records: int  # that were made of them
    problems: list[Problem]


class ItemsImport:
    """The import of one place of a source."""

    def __init__(
        self, vault: Vault, caller: Caller, source: str, path: str, *,
        project: str = "", since: int | None = None,
    ) -> None:  # fmt: skip
        self.vault, self.caller, self.source, self.path = vault, caller, source, path
        self.fallback = min(format_time(os.stat(path).st_mtime), caller.now)  # of what has no time
        self.project, self.since = project, since
        self.settings = settings.load(vault.root)
        self.erased, self._erased_records = read_list(vault.root)[:2]
        self.importer = load_importer(source)
        self.problems: list[Problem] = []
        self.counts: dict[Kind, dict[str, int]] = {}
        self.samples: list[ItemSample] = []
        self.events = self.records = 0
        self._ids: dict[str, str] = {}  # key -> record id; after the survey only of those named
        self._superseded_by: dict[str, str] = {}  # key -> key
        self._supersedes: dict[str, dict[str, None]] = {}  # key -> keys
        self._is_surveyed = False
        self._problems_alike = Counter[str]()  # how many, by message
        self._kept: Counter[Kind] | None = None  # None before `capture`
        self._seen: dict[int, int] = {}  # the digest of a key -> that of what has it
        # Project and digest of current records -> id; the ids of the notes of sessions.
        self._ids_by_digest: dict[tuple[str, str], str] = {}
        self._session_notes: set[str] = set()
        self._waiting: list[Event] = []  # that were captured, and are no records yet
        self._waiting_chars = 0
        self._known_ids: set[str] = set()  # of the notes that are here, wherever they lie
        query_index(vault, caller.progress, self._read_existing)
        # The end of an event's id, which follows from what the source calls it -> its path. What
        # has no date of its own may have had another one when it was imported.
        self._captured = {path[-_ID_END:-3]: path for path in _event_paths(vault)}

    def _read_existing(self, index: IndexSession) -> None:
        numbers = sorted(index.catalogue.numbers(KNOWLEDGE))
        for start in range(0, len(numbers), _BATCH):
            rows = index.catalogue.rows_by_number(numbers[start : start + _BATCH])
            for row in rows.values():
                self._known_ids.add(row.id)
                if row.type == "session":
                    self._session_notes.add(row.id)
                elif row.digest and row.tier == TIER_CURRENT:
                    self._ids_by_digest.setdefault((row.project, row.digest), row.id)

    def survey(self) -> None:
        """Look at every item: what is new, which id each record gets, and what replaces what."""
        named: set[str] = set()
        for count, item in enumerate(self._items(), start=1):
            if count % _STEP == 0:
                self.caller.progress(f"reading {self.source}", count, -1)
            if isinstance(item, Problem):
                self._add_problem(item)
                continue
            outcome = self._outcome_of(item)
            if isinstance(item, ForeignRecord):
                for older in item.supersedes:
                    self._set_superseded(older, item.key)
                    named.add(item.key)
                if item.superseded_by:
                    self._set_superseded(item.key, item.superseded_by)
                    named.add(item.key)
                others = (to for _, to in item.relations)
                named.update(item.supersedes, item.derived_from, (item.superseded_by,), others)
                named.update(foreign_events.linked_keys(item))
            kind = _kind_of(item)
            some = self.counts.setdefault(kind, {})
            some[outcome] = some.get(outcome, 0) + 1
            if outcome == NEW:
                self._add_sample(kind, item)
        self._ids = {key: id_ for key, id_ in self._ids.items() if key in named}
        self._is_surveyed = True

    def capture(self) -> None:
        """Capture what is new, and make records of it."""
        self._seen.clear()
        self._kept = Counter()
        found = sum(sum(some.values()) for some in self.counts.values())
        for count, item in enumerate(self._items()):
            if count % _STEP == 0:
                self.caller.progress(f"importing {self.source}", min(count, found), found)
            if isinstance(item, Problem) or self._outcome_of(item) != NEW:
                continue
            try:
                self._keep(item)
                self._kept[_kind_of(item)] += 1
            except (CortexError, OSError) as error:
                self._add_problem(problem_of(self._name(item), error, "make room, then again"))
                cause = error if isinstance(error, OSError) else error.__cause__
                if isinstance(cause, OSError) and cause.errno in _BLOCKED:
                    break
            if len(self._waiting) >= _BATCH or self._waiting_chars > _BATCH_CHARS:
                self._normalize()
        if self._waiting:
            self._normalize()

    def result(self) -> ImportedSource:
        """What was found and done so far."""
        problems = self.problems
        if more := self._problems_alike.total() - len(problems):
            hint = "mend the cause of those above, then import again"
            problems = [*problems, Problem(self.path, f"{more:,} more problems", hint)]
        items = []
        for kind, some in self.counts.items():
            new, *others = (some.get(name, 0) for name in _OUTCOMES)
            kept = new if self._kept is None else self._kept[kind]
            items.append(
                ItemCount(kind, sum(some.values()), kept, *others)._replace(missed=new - kept)
            )
        return ImportedSource(
            self.source, self.path, items, self.samples, self.events, self.records, problems
        )

    def _items(self) -> Iterator[ForeignItem]:
        """The items of the source, cleaned; a problem in the place of one that cannot be used."""
        try:
            for item in self.importer.read(self.path):
                try:
                    own = self._clean(item)
                except FAULTS as error:  # a field may hold anything
                    own = fault(self._name(item), error)
                if own is not None:
                    yield own
        except (*FAULTS, CortexError, OSError) as error:
            yield fault(self.path, error)

    def _clean(self, item: ForeignItem) -> ForeignItem | None:
        """An item with a key of its own; None for one that was there before."""
        if isinstance(item, Problem):
            return item._replace(where=self._where(item.where))
        if isinstance(item, ForeignFile):
            item = self._with_own_path(item)
        if isinstance(item, ForeignRecord):
            item = foreign_events.clean_record(item, self.fallback, self.project)
        return self._with_own_key(item)

    def _with_own_key(self, item: _Thing) -> _Thing | None:
        """The item; with another key where an item before it has the same one and says something
        else; None where it says the same."""
        name = f"{type(item).__name__}\0{item.key}"
        text = hash_bytes(repr(item), 8)
        key, digest = (int.from_bytes(one, "big") for one in (hash_bytes(name, 8), text))
        if key not in self._seen:
            self._seen[key] = digest
            return item
        if digest in (self._seen[key], self._seen.get(key ^ digest)):
            return None
        self._seen[key ^ digest] = digest
        return item._replace(key=f"{item.key} ({text.hex()[:6]})")

    def _with_own_path(self, item: ForeignFile) -> ForeignFile:
        """The note at a path without secrets; at one of its own where one before it has that path."""
        path = _REDACTED_RE.sub("redacted", redact(item.path, _SECRETS)[0])
        own = int.from_bytes(hash_bytes(item.key, 8), "big")
        place = int.from_bytes(hash_bytes(f"path\0{path.casefold()}", 8), "big")
        if self._seen.setdefault(place, own) != own:
            path = f"{path.removesuffix('.md')} {short_hash(item.key, 4)}.md"
            if not self._is_surveyed:
                message = f"another note has its place; this one is {path}"
                self._add_problem(Problem(self._name(item), message))
        files.checked_parts(path)
        return item._replace(path=path)

    def _where(self, name: str) -> str:
        return f"{self.path}: {name}" if name and name != self.path else self.path

    def _name(self, item: ForeignItem) -> str:
        return self._where(getattr(item, "key", ""))

    def _add_problem(self, problem: Problem) -> None:
        alike = self._problems_alike[problem.message]
        if alike < _MAX_ALIKE and len(self.problems) < _MAX_PROBLEMS:
            clean = (sanitize_text(printable_line(text)) for text in problem)
            self.problems.append(Problem(*clean))
        self._problems_alike[problem.message] += 1

    def _add_sample(self, kind: Kind, item: ForeignItem) -> None:
        if sum(one.kind == kind for one in self.samples) < _MAX_SAMPLES:
            made = self._events_of(item)
            event = made[0] if made else None
            named = getattr(item, "title", "") or getattr(item, "path", "")
            named = (_note_of(item).title if isinstance(item, ForeignFile) else "") or named
            said = turn_summary.utterances(event.text[:_MAX_SAMPLE_CHARS]) if event else []
            title = printable_line(sanitize_text(named)) or (said[0].text if said else "")
            type_ = item.type if isinstance(item, ForeignRecord) else ""
            at, project = (event.created or event.at, event.project) if event else ("", "")
            self.samples.append(ItemSample(kind, one_line(title), type_, at, project))

    def _events_of(self, item: ForeignItem) -> list[Event]:
        """The events of an item; none of a file."""
        if isinstance(item, ForeignRecord):
            by = self._superseded_by.get(item.key, "")
            item = item._replace(supersedes=tuple(self._supersedes.get(item.key, ())))
            return [foreign_events.event_of_record(self.source, item, self._ids, by)]
        if isinstance(item, ForeignMeeting):
            return foreign_events.events_of_meeting(self.source, item, self.fallback, self.project)
        if isinstance(item, ForeignSession):
            about = self.fallback, self.project, self.settings.prompts
            return list(foreign_events.events_of_session(self.source, item, *about))
        return []

    def _outcome_of(self, item: ForeignItem) -> str:
        """What becomes of an item. The id that a record gets is remembered for what names it."""
        if isinstance(item, ForeignFile):
            return self._outcome_of_file(item)
        made = self._events_of(item)
        here = [self._captured_text(event.id) for event in made]
        if isinstance(item, ForeignRecord):
            id_ = foreign_events.id_of_record(item, made[0].id)
            self._set_id(item, id_)
            twin = self._ids_by_digest.get((item.project, content_digest(item.title, item.body)))
            if item.topic and twin == id_:
                return KNOWN
        if not made or not self._is_wanted(made) or not made[0].text:
            return LEFT
        texts = [event.text for event in made]
        if None not in here:
            pair = ("\n".join(filter(None, one)) for one in (here, texts))
            before, now = map(foreign_events.without_links, pair)
            return KNOWN if before == now else CHANGED
        if isinstance(item, ForeignRecord) and not item.topic and twin:
            self._set_id(item, twin)
            return SAME
        is_new_session = isinstance(item, ForeignSession) and not any(here)
        is_hooked = is_new_session and session_note_id(made[0].session) in self._session_notes
        return LEFT if is_hooked else NEW

    def _set_superseded(self, older: str, newer: str) -> None:
        """Remember what replaces what; of a circle the last step is left out, and that is said."""
        last = newer
        while last != older and last in self._superseded_by:
            last = self._superseded_by[last]
        if last != older:
            self._superseded_by[older] = newer
            self._supersedes.setdefault(newer, {})[older] = None
        elif self._superseded_by.get(older) != newer:
            message = f"it is said to replace {older}, which replaces it: it does not"
            self._add_problem(Problem(self._where(newer), message, "say there which one holds"))

    def _set_id(self, item: ForeignRecord, id_: str) -> None:
        if not self._is_surveyed:
            self._ids[item.key] = id_

    def _is_wanted(self, made: list[Event]) -> bool:
        """Whether the events are of the project and the time that were asked for."""
        last = max(event.at for event in made)
        is_late = self.since is None or (parse_time(last) or 0) >= self.since
        project = self.settings.resolve_project(made[0].project)
        is_own = self.project in ("", project)
        return is_late and is_own and not any(event.id in self.erased for event in made)

    def _captured_text(self, id_: str) -> str | None:
        """The text of an event that was captured before this run; None where there is none."""
        path = self._captured.get(id_[-_ID_END + 3 :])
        if path is None:
            return None
        name = path.rpartition("/")[2]
        try:
            data = files.read(self.vault.root, path)
        except NotFoundError:  # it was normalized meanwhile
            data = files.read(self.vault.root, self.vault.layout().event(name[:-3]))
        return data.decode("utf-8", "replace").partition(_TEXT_START)[2].removesuffix("\n")

    def _path_of(self, item: ForeignFile) -> str:
        return self.vault.layout().path("/".join(files.checked_parts(item.path)))

    def _note_here(self, item: ForeignFile) -> Note:
        """The note in the form of this vault."""
        note, form = _note_of(item), self.settings.form
        if note.is_flat and note.provenance()[0] and not form.is_flat:
            raise InvalidInputError(
                f"{item.path} is of format 2, and this vault of an older one", "cortex upgrade"
            )
        return without_place(note, form)

    def _outcome_of_file(self, item: ForeignFile) -> str:
        path, root, note = self._path_of(item), self.vault.root, self._note_here(item)
        at = foreign_events.read_time(item.at or note.updated or note.get("at"))
        id_ = note.get("id")
        project = self.settings.resolve_project(foreign_events.project_name(note.get("project")))
        is_other = project not in ("", self.project or project)
        is_old = self.since is not None and "" < at < format_time(self.since)
        is_erased = id_ in self.erased or hash_of_id(id_) in self._erased_records
        if is_other or is_old or is_erased:
            return LEFT
        if files.exists(root, path):
            return KNOWN if files.read(root, path) == notes.write(note) else CHANGED
        return CHANGED if id_ in self._known_ids else NEW  # somebody has moved it

    def _keep(self, item: ForeignItem) -> None:
        """Write an item's file, or those of its events that are not there."""
        if isinstance(item, ForeignFile):
            files.create(self.vault.root, self._path_of(item), notes.write(self._note_here(item)))
            self.records += _kind_of(item) == "record"
            return
        new = [event for event in self._events_of(item) if self._captured_text(event.id) is None]
        for event in new:
            events.validate(event)
        for event in new:
            publish_event(self.vault, self.caller, event, is_retry=True, retry_hint="import again")
            self._waiting.append(event)
            self._waiting_chars += len(event.text)
            self.events += 1

    def _normalize(self) -> None:
        waiting, self._waiting, self._waiting_chars = self._waiting, [], 0
        done = normalize_inbox(self.vault, self.caller, only=waiting)
        self.records += len(done.created)
        for problem in done.failed:
            self._add_problem(problem)


@lru_cache(1)
def _note_of(item: ForeignFile) -> Note:
    """The note without secrets, else byte for byte: a person's `<private>` may stand in a note."""
    return notes.read(redact(item.text, _SECRETS)[0].encode("utf-8", "replace"))


def _kind_of(item: ForeignItem) -> Kind:
    """The kind of an item; a file that is a record of Cortex's is one."""
    if isinstance(item, ForeignFile) and item.path.startswith("records/"):
        return "record"
    return _KINDS[type(item)]


def _event_paths(vault: Vault) -> Iterator[str]:
    """The paths of all events, waiting ones included."""
    layout, root = vault.layout(), vault.root
    top = layout.path("events")
    for year in files.list_names(root, top):
        for month in files.list_names(root, f"{top}/{year}") if year.isdecimal() else ():
            folder = f"{top}/{year}/{month}"
            yield from (f"{folder}/{name}" for name in files.list_notes(root, folder))
    for folder in (layout.pending(), layout.failed()):
        yield from (f"{folder}/{name}" for name in files.list_notes(root, folder))
