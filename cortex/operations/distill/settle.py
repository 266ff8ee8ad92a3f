"""Remove the records in whose place those of a distillation stand.

That is what rules made of the events that it covers, and what an earlier distillation of all the
same events said; if nobody has edited, pinned or linked them. Their text stays in the events. Two
clones that distill apart come to the same records when they meet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from cortex.core.distill.records import DISTILLED_LAYER
from cortex.core.extract.candidate import RULE_LAYERS, LeadingPhrases
from cortex.core.merge.fields import KEY_ORDER
from cortex.core.model.distillation import standing_distillations
from cortex.core.model.event import DISTILLED
from cortex.core.model.note_status import TIER_TRAIL
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.record import Record, compose_record
from cortex.core.normalize.changes import ExistingRecords
from cortex.core.normalize.handlers import parse_event, records_from_event
from cortex.core.normalize.topic_upsert import record_from_note
from cortex.core.notes import note as notes
from cortex.index.catalogue import NoteRow
from cortex.index.filters import KNOWLEDGE, NoteFilter
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession
from cortex.operations.capture.inbox import InboxNormalizer
from cortex.operations.records.record_lock import record_lock
from cortex.vault import files, settings
from cortex.vault.git.change_marker import mark_briefings_stale
from cortex.vault.locate import Vault

_UNTOUCHED_STATUSES = ("active", "open")


class ReplaceableRecords(NamedTuple):
    """A session with distillations, and records of it that they may replace."""

    row: NoteRow
    distilled: tuple[str, ...]  # ids of its distilled events
    records: list[NoteRow]
    replaceable: list[NoteRow]  # of these, those that nobody has pinned or linked


def settle_sessions(vault: Vault, sessions: list[ReplaceableRecords]) -> list[Problem]:
    """Remove what distillations replace, and write the overviews of those sessions anew."""
    problems = []
    with record_lock(vault):
        for session in sessions:
            try:
                _settle_session(vault, session)
            except (CortexError, OSError) as error:
                message = f"records of rules stand beside distilled ones: {error}"
                problems.append(Problem(session.row.path, message, "cortex heal"))
    return problems


def find_replaceable(now: IndexSession) -> list[ReplaceableRecords]:
    """The sessions with records that may have to go, told without reading a note."""
    found = []
    wanted = NoteFilter(tiers=(TIER_TRAIL,), types=(DISTILLED,))
    distilled = defaultdict[str, list[str]](list)
    for row in now.catalogue.find(wanted, "id"):
        if row.session and row.status == "normalized":
            distilled[row.session].append(row.id)
    for name, ids in distilled.items():
        rows = now.catalogue.find(KNOWLEDGE._replace(sessions=(name,)), "path")
        records = [row for row in rows if row.type != "session" and row.events]
        only = set(ids) if len(ids) == 1 else set[str]()  # it stands, if it covers anything
        some = (row for row in records if not (row.pinned or row.topic or only & set(row.events)))
        open_ = [row for row in some if row.status in _UNTOUCHED_STATUSES]
        session = next((row for row in rows if row.type == "session"), None)
        if session and open_:
            # Those to which no other note than the session links.
            incoming = LinkGraph(now.catalogue).incoming_by_note([row.number for row in open_])
            replaceable = [
                row
                for row in open_
                if all(source == session.number for _, source, _ in incoming.get(row.number, ()))
            ]
            if replaceable:
                found.append(ReplaceableRecords(session, tuple(ids), records, replaceable))
    return found


def _settle_session(vault: Vault, session: ReplaceableRecords) -> None:
    rows, before, after = _plan_settlement(vault, session)
    # The overview first: whoever is killed after it finds the records once more.
    if rows and after != before:
        files.replace(vault.root, session.row.path, after, before)
    for row in rows:
        mark_briefings_stale(vault)
        files.remove(vault.root, row.path)


def list_unsettled(vault: Vault, session: ReplaceableRecords) -> list[NoteRow]:
    """The records of a session that `settle_sessions` would remove."""
    return _plan_settlement(vault, session)[0]


def _plan_settlement(
    vault: Vault, session: ReplaceableRecords
) -> tuple[list[NoteRow], bytes, bytes]:
    """The records that go, and the session's note before and after that."""
    replaced = {row.id: row for row in _list_replaced(vault, session)}
    if not replaced:
        return [], b"", b""
    existing = ExistingRecords()
    existing.path_by_id = {row.id: row.path for row in session.records if row.id not in replaced}
    existing.removed_ids = frozenset(replaced)
    data = files.read(vault.root, session.row.path)
    note = InboxNormalizer(vault, existing).with_overview_of_events(notes.read(data))
    after = notes.write(note)
    # An overview that somebody has written themselves goes on naming what it names.
    rows = [row for id_, row in replaced.items() if f"[[{id_}".encode() not in after]
    return rows, data, after


def _list_replaced(vault: Vault, session: ReplaceableRecords) -> list[NoteRow]:
    """The records of a session in whose place those of a distillation stand."""
    events = [
        parse_event(files.read(vault.root, path), path)
        for path in map(vault.layout().event, session.distilled)
    ]
    standing = standing_distillations(events)
    covered = {id_ for _, one in standing for id_ in one.covers}
    standing_ids = {event.id for event, _ in standing}
    phrases = settings.load(vault.root).phrases
    found = []
    for row in session.replaceable:
        note = notes.read(files.read(vault.root, row.path), row.path)
        named, rest = note.provenance()
        if rest.get("layer") in RULE_LAYERS:
            is_replaced = set(named) <= covered
        else:
            is_replaced = rest.get("layer") == DISTILLED_LAYER and not standing_ids & set(named)
        if is_replaced and _is_untouched(vault, note, named, phrases):
            found.append(row)
    return found


def _is_untouched(
    vault: Vault, note: notes.Note, named: Sequence[str], phrases: LeadingPhrases
) -> bool:
    """True if a record is as an event of its provenance makes it: nobody has written in it."""
    for id_ in named:
        path = vault.layout().event(id_)
        for made in records_from_event(parse_event(files.read(vault.root, path), path), phrases):
            if made.id == note.get("id"):
                return _said(notes.read(compose_record(made).encode())) == _said(note)
    return False


def _said(note: notes.Note) -> tuple[Record, set[str], set[str]]:
    """What a note says, without what every capture of the same text changes."""
    others = note.fields.keys() - {*Record._fields, *KEY_ORDER}
    record = record_from_note(note)._replace(
        created="", updated="", events=(), session="", session_note="", layer=""
    )
    return record, others, {*note.get_list("aliases")} - {note.title}
