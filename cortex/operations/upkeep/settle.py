"""Supersede the records in whose place those of a distillation stand.

That is what an earlier one of its kind said of the same events, and what rules made of them. Of a
decision, rejection or preference of rules a model has to say so: by a record that repeats it, or that
names it as superseded or contradicted. Nothing goes that somebody has edited, pinned, restored or
linked. They name the event of the distillation as what supersedes them. One that is said again, in an event that no distillation
covers or in one that stands, holds again. Two clones that distill apart come to the same records
when they meet.
"""

from __future__ import annotations

from collections import defaultdict

from cortex.core.distill.records import DISTILLED_LAYER
from cortex.core.extract.candidate import JUDGED_LAYER, KEYWORD_LAYER, RULE_LAYERS, LeadingPhrases
from cortex.core.model.distillation import (
    BY_RULES,
    Distillation,
    DistilledRecord,
    standing_distillations,
)
from cortex.core.model.event import DISTILLED, Event, time_of_id
from cortex.core.model.note_form import NoteForm
from cortex.core.model.note_status import KEY_ORDER
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.record import Record, compose_record
from cortex.core.normalize.changes import ExistingRecords
from cortex.core.normalize.handlers import parse_event, records_from_event
from cortex.core.normalize.topic_upsert import record_from_note
from cortex.core.notes import note as notes
from cortex.core.notes.edit import restore_previous_status, set_inactive_status, with_updated
from cortex.core.notes.relations import is_replaced_by_distillation
from cortex.core.ranking.text_similarity import SIMILAR_THRESHOLD, similarity
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE, TRAIL
from cortex.index.links import LinkGraph
from cortex.index.refresh import IndexSession
from cortex.operations.upkeep.inbox import InboxNormalizer
from cortex.operations.upkeep.record_lock import record_lock
from cortex.vault import files, settings
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import mark_briefings_stale

_UNTOUCHED_STATUSES = ("active", "open")
LASTING_TYPES = ("decision", "rejection", "preference")  # that no model removes unnamed
LASTING_LAYERS = (KEYWORD_LAYER, JUDGED_LAYER)


class ReplaceableRecords(NamedTuple):
    """A session with distillations, and records of it that they may replace."""

    row: NoteRow
    distilled: tuple[str, ...]  # ids of its distilled events
    records: list[NoteRow]
    replaceable: list[NoteRow]  # of these, those that may be superseded, or hold again


class Settlement(NamedTuple):
    """What is to change in a file of a session."""

    row: NoteRow
    before: bytes
    after: bytes
    holds: bool = True  # false for a record that is superseded


def settle_sessions(vault: Vault, sessions: list[ReplaceableRecords]) -> tuple[bool, list[Problem]]:
    """Supersede what distillations replace, and write the overviews of those sessions anew.
    Returns whether anything was written, and problems."""
    problems, is_changed = [], False
    with record_lock(vault):
        for session in sessions:
            try:
                # The overview first: whoever is killed after it finds the records once more.
                for one in plan_settlement(vault, session):
                    mark_briefings_stale(vault)
                    files.replace(vault.root, one.row.path, one.after, one.before)
                    is_changed = True
            except (CortexError, OSError) as error:
                message = f"records of rules stand beside distilled ones: {error}"
                problems.append(Problem(session.row.path, message, "cortex heal"))
    return is_changed, problems


def find_replaceable(index: IndexSession) -> list[ReplaceableRecords]:
    """The sessions with records that may have to change, told without reading a note."""
    found = []
    wanted = TRAIL._replace(types=(DISTILLED,))
    distilled = defaultdict[str, list[str]](list)
    for row in index.catalogue.find(wanted, "id"):
        if row.session and row.status == "normalized":
            distilled[row.session].append(row.id)
    for name, ids in distilled.items():
        rows = index.catalogue.find(KNOWLEDGE._replace(sessions=(name,)), "path")
        records = [row for row in rows if row.type != "session" and row.events]
        only = set(ids) if len(ids) == 1 else set[str]()  # it stands, if it covers anything
        some = [row for row in records if not (row.pinned or row.topic)]
        open_ = [
            row for row in some if row.status in _UNTOUCHED_STATUSES and not only & set(row.events)
        ]
        session = next((row for row in rows if row.type == "session"), None)
        if not session:
            continue
        # Those to which no other note links than the session and what a distillation says.
        sources = {session.number, *(one.number for one in records if set(ids) & set(one.events))}
        numbers = [row.number for row in open_]
        incoming = LinkGraph(index.catalogue).incoming_by_note(numbers) if numbers else {}
        replaceable = [
            row
            for row in open_
            if all(source in sources for _, source, _ in incoming.get(row.number, ()))
        ]
        # What was said only once before it was superseded was not said again since; but a later
        # distillation may not name it any more.
        replaceable += [
            row
            for row in some
            if row.status == "superseded"
            and (
                len(row.events) > (2 if set(ids) & set(row.events) else 1)
                or (len(ids) > 1 and row.type in LASTING_TYPES)
            )
        ]
        if replaceable:
            found.append(ReplaceableRecords(session, tuple(ids), records, replaceable))
    return found


def plan_settlement(vault: Vault, session: ReplaceableRecords) -> list[Settlement]:
    """The changes of a session: of its overview, if that changes, and of its records."""
    changes = {one.row.id: one for one in _plan_records(vault, session)}
    if not changes:
        return []
    existing = ExistingRecords()
    existing.path_by_id = {row.id: row.path for row in session.records}
    existing.holds_by_id = {id_: one.holds for id_, one in changes.items()}
    data = files.read(vault.root, session.row.path)
    note = InboxNormalizer(vault, existing).with_overview_of_events(notes.read(data))
    after = notes.write(note)
    # An overview that somebody has written themselves goes on naming what it names.
    records = [one for id_, one in changes.items() if one.holds or f"[[{id_}".encode() not in after]
    overview = [Settlement(session.row, data, after)] if records and after != data else []
    return [*overview, *records]


def _plan_records(vault: Vault, session: ReplaceableRecords) -> list[Settlement]:
    """The records of a session that are to be superseded, and those that hold again."""
    events = [
        parse_event(files.read(vault.root, path), path)
        for path in map(vault.layout().event, session.distilled)
    ]
    standing = standing_distillations(events)
    by_model = [pair for pair in standing if pair[1].model != BY_RULES]
    judged = [pair for pair in standing if pair[1].model == BY_RULES]
    standing_ids = {event.id for event, _ in standing}
    past = {event.id for event in events} - standing_ids
    by_rules, of_model = _covers(judged), _covers(by_model)
    said = [record for _, one in by_model for record in one.records]
    phrases = settings.load(vault.root).phrases
    planned = []
    for row in session.replaceable:
        data = files.read(vault.root, row.path)
        note = notes.read(data, row.path)
        named, rest = note.provenance()
        layer, ids, source = str(rest.get("layer")), set(named), judged
        if layer == DISTILLED_LAYER:
            is_outdated, source = not standing_ids & ids, by_model
        elif ids & of_model and ids <= of_model | past | {event.id for event, _ in judged}:
            is_outdated, source = not _stays(note, layer, said), by_model
        else:
            is_outdated = False
        if not is_outdated and layer in RULE_LAYERS and layer != KEYWORD_LAYER:
            is_outdated = ids <= by_rules | past
            source = judged if is_outdated else source
        if is_replaced_by_distillation(note) and not is_outdated:
            after = notes.write(restore_previous_status(note))
            planned.append(Settlement(row, data, after))
        elif (
            not is_replaced_by_distillation(note)
            and is_outdated
            and _is_untouched(vault, note, events, phrases)
        ):
            by = max(
                (event for event, one in source if set(one.covers) & ids), default=standing[-1][0]
            )
            fields = {"superseded_by": f"[[{by.id}]]", "superseded_at": by.at}
            note = with_updated(set_inactive_status(note, "superseded", fields), by.at)
            after = notes.write(note)
            planned.append(Settlement(row, data, after, holds=False))
    return planned


def _covers(some: list[tuple[Event, Distillation]]) -> set[str]:
    return {id_ for _, one in some for id_ in one.covers}


def _stays(note: notes.Note, layer: str, said: list[DistilledRecord]) -> bool:
    """Whether a record, of whose events a model said this, stays beside what it said."""
    if layer not in RULE_LAYERS:
        return True
    if layer not in LASTING_LAYERS or note.get("type") not in LASTING_TYPES:
        return False
    id_, text = note.get("id"), f"{note.title} {note.text}"
    return not any(
        (one.target == id_ and one.relation in ("supersedes", "contradicts"))
        or similarity(note.title, one.statement) >= SIMILAR_THRESHOLD
        or similarity(text, f"{one.statement} {one.reason}") >= SIMILAR_THRESHOLD
        or similarity(text, one.quote) >= SIMILAR_THRESHOLD
        for one in said
    )


def _is_untouched(
    vault: Vault, note: notes.Note, distilled: list[Event], phrases: LeadingPhrases
) -> bool:
    """True if a record is as an event of its provenance makes it: nobody has written in it."""
    paths = map(vault.layout().event, note.provenance()[0])
    named = [parse_event(files.read(vault.root, path), path) for path in paths]
    # Every change of a verb, such as `restore`, leaves its time; what events do leaves theirs.
    times = {one.at for one in (*named, *distilled)} | {time_of_id(one.id) for one in named}
    if note.updated not in times:
        return False
    made = (record for event in named for record in records_from_event(event, phrases))
    record = next((one for one in made if one.id == note.get("id")), None)
    form = settings.load(vault.root).form
    made_note = record and notes.read(compose_record(record, form).encode())
    return made_note is not None and _said(made_note, form) == _said(note, form)


def _said(note: notes.Note, form: NoteForm) -> tuple[Record, set[str], set[str]]:
    """What a note says, without what every capture of the same text changes."""
    others = note.fields.keys() - {*Record._fields, *KEY_ORDER}
    record = record_from_note(note, form)._replace(
        created="", updated="", events=(), session="", session_note="", layer=""
    )
    return record, others, {*note.get_list("aliases")} - {note.title}
