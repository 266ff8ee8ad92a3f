"""Which session a name means (its own name, the id of its note, the beginning of one, or none where
one is live), and which are live, from the catalogue, without reading notes."""

from __future__ import annotations

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, NotFoundError
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.strings import did_you_mean
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import CURRENT, KNOWLEDGE
from cortex.index.refresh import IndexSession
from cortex.operations.capture.project_context import resolve_project
from cortex.vault.locate import Vault

IS_SESSION = KNOWLEDGE._replace(types=("session",))
_MIN_PREFIX_CHARS = 4  # characters of a name that may stand for the whole of it
_MAX_NAMED = 5
ORPHAN_AFTER_SECONDS = 24 * 3600  # without an event; then nobody is thought to be still at it


class LiveSession(NamedTuple):
    """A session without an end."""

    row: NoteRow
    last_event_at: str  # the time of its last event
    is_orphan: bool


def list_live_sessions(index: IndexSession, now: str) -> list[LiveSession]:
    """The open sessions, the one with the latest event first."""
    is_open = CURRENT._replace(types=("session",), statuses=("open",))
    sessions = []
    for row in index.catalogue.find(is_open):
        last = last_event_time(row)
        age = epoch_seconds(now) - (epoch_seconds(last) if last else row.date)
        sessions.append(LiveSession(row, last, age > ORPHAN_AFTER_SECONDS))
    return sorted(sessions, key=lambda one: (one.last_event_at, one.row.id), reverse=True)


def last_event_time(row: NoteRow) -> str:
    """The time of a session's last event; empty when its note names none."""
    ids = [id_ for id_ in row.events if events.is_event_id(id_)]
    return events.time_of_id(max(ids)) if ids else ""


def find_only_live_session(
    vault: Vault, caller: Caller, index: IndexSession, project: str = ""
) -> NoteRow:
    """The one live session of the project, by default of the caller's. Raises `NotFoundError` or
    `ConflictError`."""
    project = project or resolve_project(vault, caller, "")
    where = project or "this folder"
    every = (one.row for one in list_live_sessions(index, caller.now))
    live = [row for row in every if row.project == project]
    if not live:
        hint = "name it: cortex session list shows all"
        raise NotFoundError(f"no session is going on in {where}", hint)
    if len(live) > 1:
        names = ", ".join(session_name(row) for row in live[:_MAX_NAMED])
        hint = "name the one that is over: cortex session end NAME"
        raise ConflictError(f"{len(live)} sessions are going on in {where}: {names}", hint)
    return live[0]


def find_session(catalogue: Catalogue, name: str) -> NoteRow:
    """The session with this name, id, or path, or the only one whose name or id begins so.

    Raises `NotFoundError`, which offers the closest, or `ConflictError` for several.
    """
    rows = catalogue.find(IS_SESSION)
    ids = (name, name.removesuffix(".md").rpartition("/")[2], events.session_note_id(name))
    matches = [row for row in rows if name in (row.session, row.path) or row.id in ids]
    if not matches and len(name) >= _MIN_PREFIX_CHARS:
        matches = [row for row in rows if row.session.startswith(name) or row.id.startswith(name)]
    if len(matches) > 1:
        names = ", ".join(session_name(row) for row in matches[:_MAX_NAMED])
        hint = "give the whole name"
        raise ConflictError(f"{name!r} names {len(matches)} sessions: {names}", hint)
    if matches:
        return matches[0]
    known = dict.fromkeys(one for row in rows for one in (row.session, row.id) if one)
    hint = did_you_mean(name, known, "cortex session list shows which there are")
    raise NotFoundError(f"there is no session {name!r}", hint)


def session_name(row: NoteRow) -> str:
    """A session's name; where events came without one, the first event's id."""
    return row.session or min(row.events, default=row.id)
