"""Read minutes again that somebody has edited, and bring their records up to date with them."""

from __future__ import annotations

from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem, reason_of
from cortex.core.notes import note as notes
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import CURRENT, KNOWLEDGE, TRAIL
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.upkeep.record_lock import record_lock
from cortex.vault import files, settings
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import mark_briefings_stale
from cortex.vault.state.json_store import JsonStore

# Path of edited minutes -> digest of them as they were read.
_MEMORY = JsonStore("minutes-read.json", dict[str, str], dict[str, str](), most=4_000_000)
_MEETINGS = CURRENT._replace(types=("meeting",))
_EVENTS = TRAIL._replace(types=("meeting",))


def reread_minutes(vault: Vault, caller: Caller) -> tuple[bool, list[Problem]]:
    """Read minutes again that differ from their event, each time that they change. Returns whether
    records changed, and what could not be read."""
    edited = query_index(vault, caller.progress, _find_edited)
    memory = {**_MEMORY.read(vault)} if edited else {}
    digests = {row.path: f"{row.digest} {row.events[-1]}" for row in edited}
    waiting = [row for row in edited if memory.get(row.path) != digests[row.path]]
    if not waiting or checkout.operation_in_progress(vault.root):
        return False, []
    settings.check_writable(vault.root)
    problems = []
    changed = False
    with record_lock(vault):
        for row in waiting:
            try:
                changed |= _reread(vault, caller, row)
            except (CortexError, OSError) as error:
                message = f"edited minutes were not read again: {reason_of(error)}"
                problems.append(Problem(row.path, message, "mend that, then cortex normalize"))
            else:
                memory[row.path] = digests[row.path]
    kept = {path: digest for path, digest in memory.items() if path in digests}
    _MEMORY.write(vault, kept)
    return changed, problems


def _find_edited(index: IndexSession) -> list[NoteRow]:
    """Meetings, with the events of their minutes, whose text is not that of the last of these."""
    rows = [row for row in index.catalogue.find(_MEETINGS, "path") if row.events]
    captured = {row.id: row.digest for row in index.catalogue.find(_EVENTS)} if rows else {}
    of = captured.__contains__  # a text that was replaced by hand is an event of another kind
    rows = [row._replace(events=tuple(filter(of, row.events))) for row in rows]
    return [row for row in rows if row.events and captured[row.events[-1]] != row.digest]


def _reread(vault: Vault, caller: Caller, row: NoteRow) -> bool:
    # markdown-it-py takes 40 ms to import, the handlers 10; only edited minutes are worth them.
    from cortex.core.minutes.note_items import child_slugs  # noqa: PLC0415
    from cortex.core.minutes.records import reread_versions  # noqa: PLC0415
    from cortex.core.normalize.handlers import parse_event  # noqa: PLC0415
    from cortex.core.normalize.text_records import base_record  # noqa: PLC0415

    before = files.read(vault.root, row.path)
    meeting = notes.read_strict(before, row.path)
    events = []
    for path in map(vault.layout().event, row.events):
        event = parse_event(files.read(vault.root, path), path)
        events.append(base_record(event._replace(project=row.project)))
    ids = [id_ for ids in child_slugs(meeting).values() for id_ in ids]
    wanted = KNOWLEDGE._replace(ids=set(ids))
    rows = query_index(vault, caller.progress, lambda index: index.catalogue.find(wanted, "path"))
    paths = {each.id: each.path for each in rows}
    children = {id_: notes.read_strict(files.read(vault.root, at), at) for id_, at in paths.items()}
    form = settings.load(vault.root).form
    done = reread_versions(meeting, events, children, form)
    after = notes.write(done.meeting)
    if not done.created and not done.changed and after == before:
        return False
    mark_briefings_stale(vault)
    for id_, (record, data) in done.created.items():
        path = vault.layout().record(record.type, id_)
        if not files.exists(vault.root, path):  # it is there after a crash
            files.create(vault.root, path, data)
    for id_, note in done.changed.items():
        files.replace(vault.root, paths[id_], notes.write(note), notes.write(children[id_]))
    if after != before:  # last: until it is written, the minutes are read once more
        files.replace(vault.root, row.path, after, before)
    return True
