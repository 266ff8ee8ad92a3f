"""Read the events of a vault again with today's rules: what would come, what would go, and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from cortex.core.extract.candidate import KEYWORD_LAYER, PASSAGE_LAYER, RULE_LAYERS, id_of_text
from cortex.core.merge.note_versions import stem_of
from cortex.core.model.caller import Caller
from cortex.core.model.distillation import BY_RULES, parse_distillation
from cortex.core.model.event import DISTILLED
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.record import Record, compose_record
from cortex.core.normalize.changes import ExistingRecords
from cortex.core.normalize.handlers import SESSION_TEXT_TYPES, parse_event, records_from_event
from cortex.core.notes import note as notes
from cortex.core.notes.edit import restore_previous_status, set_inactive_status
from cortex.core.notes.relations import relations_of
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE, TRAIL
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.upkeep.bring_up_to_date import bring_up_to_date
from cortex.operations.upkeep.existing_records import load_existing_records
from cortex.operations.upkeep.heal import try_heal
from cortex.operations.upkeep.inbox import InboxNormalizer
from cortex.operations.upkeep.record_lock import record_lock, refuse_during_git_operation
from cortex.operations.upkeep.restore_lost import committed_changes
from cortex.vault import erased, files, settings
from cortex.vault.git.checkout import is_shared
from cortex.vault.locate import Vault
from cortex.vault.state import access_log, change_memory

_BECAUSE = "today's rules make no record of it"
_MEMORY = "replay"  # what the last replays have changed


class ReplayedNote(NamedTuple):
    """A note that a replay writes."""

    change: str  # comes, goes, session, or undone
    id: str
    path: str
    title: str
    type: str
    event: str = ""  # from which a record comes


class ReplayResult(NamedTuple):
    """The difference that today's rules make."""

    notes: tuple[ReplayedNote, ...]
    applied: bool
    undo: str = ""  # the command that takes it back
    shared: bool = False  # records go that others may have used, of whom this machine knows nothing
    problems: tuple[Problem, ...] = ()


class _Planned(NamedTuple):
    """A note and its bytes before and after; before is None where there is none."""

    note: ReplayedNote
    before: bytes | None
    after: bytes


def replay(vault: Vault, caller: Caller, *, apply: bool) -> ReplayResult:
    """Show what today's rules would make of the events of sessions; with `apply` do it."""
    if apply:
        refuse_during_git_operation(vault)
        settings.check_writable(vault.root)
    problems = bring_up_to_date(vault, caller)
    with record_lock(vault):
        planned, unread = _plan(vault, caller)
        problems += unread
        if apply and planned:
            changes = [(one.note.path, one.before, one.after) for one in planned]
            again = "cortex extract --replay --apply"
            problems += change_memory.write_changes(vault, _MEMORY, changes, caller.progress, again)
    problems += try_heal(vault, caller) if apply and planned else []
    undo = "cortex extract --undo" if apply and planned else ""
    shared = any(one.note.change == "goes" for one in planned) and is_shared(vault)
    return ReplayResult(tuple(one.note for one in planned), apply, undo, shared, tuple(problems))


def undo_replay(vault: Vault, caller: Caller) -> ReplayResult:
    """Take back what replays have done, where nobody has changed the notes since. Raises
    `NotFoundError` when there is nothing to take back."""
    refuse_during_git_operation(vault)
    with record_lock(vault):
        restored, problems = change_memory.take_back(vault, _MEMORY, "cortex extract --replay")
    read = ((path, notes.read(data, path)) for path, data in restored)
    done = tuple(
        ReplayedNote("undone", note.get("id"), path, note.title, note.get("type"))
        for path, note in read
    )
    return ReplayResult(done, True, "", False, (*problems, *try_heal(vault, caller)))


def _plan(vault: Vault, caller: Caller) -> tuple[list[_Planned], list[Problem]]:
    """The changes that today's rules would make to the records of all turns, without writing any."""
    existing = load_existing_records(vault, caller)
    turns, rows, linked, distilled = query_index(vault, caller.progress, _load_rows)
    covered = _covered_events(vault, distilled)
    phrases, gone = settings.load(vault.root).phrases, erased.read_list(vault.root).events
    turns = [row for row in turns if row.id not in gone]
    # What of it is gone, somebody removed.
    committed = committed_changes(vault.root, "records/", "--diff-filter=A", "HEAD")
    removed = set(map(stem_of, committed))
    wanted: dict[str, Record] = {}
    kept: set[str] = set()
    problems = []
    read: set[str] = set()
    for row in caller.each(turns, "reading events"):
        try:
            event = parse_event(files.read(vault.root, row.path), row.path)
        except (CortexError, OSError) as error:
            problems.append(Problem(row.path, str(error), "cortex doctor"))
            continue
        read.add(event.id)
        for record in records_from_event(event, phrases):
            kept.add(record.id)
            if event.id in covered and record.layer in RULE_LAYERS:
                continue
            is_new = record.id not in existing.path_by_id and record.id not in removed
            if is_new and record.type != "plan" and not record.topic:
                known = wanted.get(record.id, record)
                ids = tuple(sorted({*known.events, event.id}))
                wanted[record.id] = known._replace(events=ids)
    planned = [
        _coming(vault, one._replace(session_note=existing.session_note(one.session)))
        for one in wanted.values()
    ]
    planned += _going(vault, rows, read, kept, linked)
    planned += _returning(vault, rows, kept)
    existing.path_by_id |= {one.note.id: one.note.path for one in planned}
    planned += _sessions(vault, caller, existing, rows)
    return [one for one in planned if one.after != one.before], problems


def _load_rows(index: IndexSession) -> tuple[list[NoteRow], list[NoteRow], set[int], list[NoteRow]]:
    """Events of turns, notes made of events, those that others link to, and distilled events."""
    turns = index.catalogue.find(TRAIL._replace(types=SESSION_TEXT_TYPES), "path")
    rows = [row for row in index.catalogue.find(KNOWLEDGE, "path") if row.events]
    sessions = {row.number for row in rows if row.type == "session"}
    incoming = LinkGraph(index.catalogue).incoming_by_note([row.number for row in rows])
    linked = {
        number
        for number, edges in incoming.items()
        if any(source not in sessions for _, source, _ in edges)
    }
    distilled = index.catalogue.find(TRAIL._replace(types=(DISTILLED,)))
    return [row for row in turns if row.status == "normalized"], rows, linked, distilled


def _covered_events(vault: Vault, distilled: list[NoteRow]) -> set[str]:
    """The ids of the events in whose records' place those that a model made stand."""
    covered = set[str]()
    for row in distilled:
        with suppress(CortexError, OSError):  # told by doctor
            event = parse_event(files.read(vault.root, row.path), row.path)
            one = parse_distillation(event.text)
            covered.update(one.covers if one.model != BY_RULES else ())
    return covered


def _coming(vault: Vault, record: Record) -> _Planned:
    path = vault.layout().record(record.type, record.id)
    note = ReplayedNote("comes", record.id, path, record.title, record.type, record.events[0])
    data = compose_record(record, settings.load(vault.root).form).encode()
    # One that the catalogue does not know, as after a crash, stays.
    return _Planned(note, data if files.exists(vault.root, path) else None, data)


def _going(
    vault: Vault, rows: list[NoteRow], read: set[str], kept: set[str], linked: set[int]
) -> Iterator[_Planned]:
    """Records of turns that no event gives any more, and that nobody has touched or used."""
    known = kept | access_log.read_counts(vault).keys()
    for row in rows:
        is_used = row.pinned or row.topic or row.number in linked or row.id in known
        if is_used or row.type == "session" or row.status != "active" or set(row.events) - read:
            continue
        data = files.read(vault.root, row.path)
        note = notes.read(data, row.path)
        _, rest = note.provenance()
        if rest.get("layer") not in (KEYWORD_LAYER, PASSAGE_LAYER) or _is_edited(note, row):
            continue
        said = {"archived_at": row.updated, "archived_because": _BECAUSE}
        after = notes.write(set_inactive_status(note, "archived", said))
        yield _Planned(_replayed("goes", row), data, after)


def _returning(vault: Vault, rows: list[NoteRow], kept: set[str]) -> Iterator[_Planned]:
    """Records that an earlier replay has archived and that events give again."""
    for row in rows:
        if row.status != "archived" or row.id not in kept:
            continue
        data = files.read(vault.root, row.path)
        note = notes.read(data, row.path)
        if note.get("archived_because") == _BECAUSE:
            after = notes.write(restore_previous_status(note))
            yield _Planned(_replayed("comes", row), data, after)


def _is_edited(note: notes.Note, row: NoteRow) -> bool:
    """Whether somebody has changed the text, the type or the project of an extracted record."""
    text = note.text_below_title.strip()
    texts = (text, note.title, f"{note.title}\n{text}", f"{note.title}\n\n{text}")
    ids = (id_of_text(row.project, row.scope, row.type, one) for one in texts)
    return not any(row.id.endswith(f"-{id_}") for id_ in ids) or any(relations_of(note.fields))


def _sessions(
    vault: Vault, caller: Caller, existing: ExistingRecords, rows: list[NoteRow]
) -> Iterator[_Planned]:
    """The notes of sessions with the overview of their events."""
    normalizer = InboxNormalizer(vault, existing)
    sessions = [row for row in rows if row.type == "session"]
    for row in caller.each(sessions, "reading sessions"):
        data = files.read(vault.root, row.path)
        note = notes.read(data, row.path)
        if note.problems:
            continue
        after = normalizer.with_overview_of_events(note)
        replayed = _replayed("session", row)._replace(title=after.get("title"))
        yield _Planned(replayed, data, notes.write(after))


def _replayed(change: str, row: NoteRow) -> ReplayedNote:
    return ReplayedNote(change, row.id, row.path, row.title, row.type)
