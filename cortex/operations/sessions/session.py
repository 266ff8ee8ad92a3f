"""Begin, end and list sessions. Several may be live at once; each has a name."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import session_note_id
from cortex.core.model.note_status import SUMMARY_MARK
from cortex.core.model.parameters import Between, Since
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.core.normalize import session_note as sessions
from cortex.core.notes.edit import with_fields
from cortex.core.notes.note import Note
from cortex.core.text.strings import cortex_command, encode_base32, one_line
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import TRAIL
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.capture import new_event_id
from cortex.operations.capture.project_context import canonical_project
from cortex.operations.find import resolve_session
from cortex.operations.find.resolve_session import last_event_time, list_live_sessions
from cortex.operations.find.show import read_note
from cortex.operations.records import change_record
from cortex.operations.records.capture import capture
from cortex.operations.sessions.session_list import (
    MAX_RESULTS,
    SessionHit,
    SessionResult,
    event_text,
    list_sessions,
    session_hits,
    show_session,
)
from cortex.operations.upkeep.bring_up_to_date import bring_up_to_date, query_fresh
from cortex.operations.upkeep.edit_note import NoteEdit
from cortex.vault.locate import Vault, real_folder

_MAX_NAME_CHARS = 200


def session(
    vault: Vault, caller: Caller, action: Literal["start", "end", "list", "show"], name: str = "", *,
    project: str = "", goal: str = "", instructions: str = "", discoveries: str = "", accomplished: str = "",
    next_steps: str = "", files: str = "", summary: str = "", directory: str = "", orphans: bool = False,
    number: Annotated[int, Between(1, MAX_RESULTS)] = 10, since: Since | None = None,
) -> SessionResult:  # fmt: skip
    """Begin or end a session, list sessions, or show one.

    start answers the session's name, the given one or a new one; captures and saves with --session
    NAME belong to it. Any number may live at once. end takes a name, and needs none where exactly
    one session lives in this project: it never guesses between two. A summary makes the session that
    had no start. Ended again, the longer summary is the one that stands; the other stays in its event. list shows live sessions first; one
    without an event for a day is an orphan, and end --orphans closes those, with the time of their
    last event as their end. show gives the summary, the prompts, the events and the records of one.

    action: start, end, list or show
    name: the session's name, or the id of its note
    project: of start, end and list; by default the working directory's, for list all
    goal: what the session is for
    instructions: of end: what the person asked to be done or kept to
    discoveries: of end: what was found out
    accomplished: of end: what was done
    next_steps: of end: what is left
    files: of end: the files that matter, comma-separated
    summary: of end: the whole summary as markdown; - reads standard input
    directory: of start and end: the folder that is worked in, by default the working directory
    orphans: of end: close every session without an event for a day
    number: of list: how many at the most
    since: of list: only what moved since then: 7d, 2w, 3m or a date

    Example: cortex session start --goal "Publish by link"
    Example: cortex session end s-20261120-k3f7q2 --accomplished "All of it" --next-steps "Docs"
    Example: cortex session list --since 7d
    Example: cortex session show s-20261120-k3f7q2
    Example: cortex session end --orphans
    """
    name = _clean_name(name, action)
    if directory:
        caller = caller._replace(cwd=real_folder(caller.cwd, directory))
    if action == "list":
        return list_sessions(vault, caller, canonical_project(vault, project), since, number)
    if action == "show":
        return show_session(vault, caller, name)
    if action == "start":
        return _start(vault, caller, name, project, goal)
    if orphans:
        return _close_orphans(vault, caller, name)
    parts = (goal, instructions, discoveries, accomplished, next_steps, files)
    named = canonical_project(vault, project)
    return _end(vault, caller, name, parts, summary=summary, project=named)


def _clean_name(name: str, action: str) -> str:
    """A session's name without a link's brackets. `InvalidInputError` for one that does not fit."""
    if action == "list" and name:
        hint = "cortex session show NAME shows one"
        raise InvalidInputError(f"session list takes no words: {name!r}", hint)
    name = one_line(name).removeprefix("[[").removesuffix("]]")
    if len(name) > _MAX_NAME_CHARS:
        hint = f"use at most {_MAX_NAME_CHARS}"
        raise InvalidInputError(f"a name of {len(name)} characters is too long for a session", hint)
    return name


def _start(vault: Vault, caller: Caller, name: str, project: str, goal: str) -> SessionResult:
    last = ""
    if name:  # a session that may go on
        row, _ = query_fresh(vault, caller, _row_of_session, name)
        last = events.latest_event_id(row.events) if row else ""
        if row and row.status == "done":  # of a start and an end within one second, the end counts
            last = f"{events.next_second(last)}-"
    else:
        name = _new_name(caller)
    text, type_ = goal.strip() or sessions.NO_GOAL, sessions.START_TYPE
    id_, silent = new_event_id(caller, last), caller._replace(wants_outcome=False)
    captured = capture(vault, silent, text, type=type_, session=name, project=project, id=id_)

    def find(index: IndexSession) -> tuple[NoteRow | None, list[str]]:
        row = _row_of_session(index, name)
        live = [one.row for one in list_live_sessions(index, caller.now)] if row else []
        others = [one for one in live if row and one.project == row.project and one.id != row.id]
        return row, [resolve_session.session_name(one) for one in others]

    (row, others), problems = query_fresh(vault, caller, find)
    if row is None:
        hint = "cortex doctor says why; cortex normalize tries again"
        raise CortexError(f"{captured.id} was captured, and no note came of it", hint)
    outcome = "resumed" if len(row.events) > 1 else "started"
    file = vault.file(row.path)
    answer = SessionResult(row.id, name, row.path, outcome, captured.id, others, file)
    return answer._replace(problems=problems, note=captured.note)


def _new_name(caller: Caller) -> str:
    chance = encode_base32(int.from_bytes(caller.random(4), "big"), 6)
    return f"s-{caller.now[:10].replace('-', '')}-{chance}"


def _row_of_session(index: IndexSession, name: str) -> NoteRow | None:
    wanted = resolve_session.IS_SESSION._replace(ids=(session_note_id(name),))
    return next(iter(index.catalogue.find(wanted, limit=1)), None)


def _end(
    vault: Vault, caller: Caller, name: str, parts: tuple[str, ...], *, summary: str, project: str
) -> SessionResult:
    has_words = bool(summary.strip()) or any(text.strip() for text in parts)
    find = partial(_find_session_to_end, vault, caller, name=name, project=project)
    try:
        (row, name, goal, ended), problems = query_fresh(vault, caller, find)
    except NotFoundError:
        is_no_name = name.startswith("session-") or "/" in name  # of a new one
        if is_no_name or not has_words:
            raise
        name = name or _new_name(caller)
        begun = _start(vault, caller, name, project, "")
        done = _end(vault, caller, name, parts, summary=summary, project=project)
        note = f"there was no such session, so it is made: {begun.path}"
        return done._replace(note=note)
    if any(text.strip() for text in parts):
        parts = (parts[0] if parts[0].strip() else goal, *parts[1:])
    by_name = dict(zip(sessions.SUMMARY_PARTS, parts, strict=True))
    texts = (summary.strip(), sessions.compose_summary(by_name))
    text, type_ = "\n\n".join(filter(None, texts)) or sessions.NO_SUMMARY, sessions.END_TYPE
    id_ = new_event_id(caller, max(ended, events.latest_event_id(row.events)))
    silent = caller._replace(wants_outcome=False)
    captured = capture(vault, silent, text, type=type_, session=name, project=row.project, id=id_)
    problems += bring_up_to_date(vault, caller)
    outcome = "updated" if ended else "ended"
    if any(captured.id in one.where for one in problems):
        outcome = "captured"
    file = vault.file(row.path)
    written = read_note(vault, row.path)
    stands = written is None or f"{SUMMARY_MARK}{captured.id} " in written.text
    kept = f"a longer summary stands; this one is kept: {cortex_command('show', captured.id)}"
    note = "" if stands or not has_words else kept
    answer = SessionResult(row.id, name, row.path, outcome, captured.id, [], file)
    return answer._replace(problems=problems, note=note)


def _find_session_to_end(
    vault: Vault, caller: Caller, index: IndexSession, *, name: str, project: str
) -> tuple[NoteRow, str, str, str]:
    """The session to end: its note's row, name, goal, and the id of the event that last ended it (empty if
    none did)."""
    if name:
        row = resolve_session.find_session(index.catalogue, name)
    else:
        row = resolve_session.find_only_live_session(vault, caller, index, project)
    if project and row.project != project:
        message = f"{name} is a session of {row.project or 'no project'}, not of {project}"
        raise InvalidInputError(message, cortex_command("session", "end", name))
    named = name if session_note_id(name) == row.id else resolve_session.session_name(row)
    if session_note_id(named) != row.id:
        hint = "give the session's own name; cortex doctor says what is wrong with the note"
        raise InvalidInputError(f"{row.path} does not say which session it is of", hint)
    types = (sessions.START_TYPE, sessions.END_TYPE)
    wanted = TRAIL._replace(types=types, sessions=(named,))
    goal = ended = ""
    for event in index.catalogue.find(wanted, "id"):
        if event.type == sessions.END_TYPE:
            ended = event.id if events.is_event_id(event.id) else ended
        elif (text := event_text(vault, event.path)) and text != sessions.NO_GOAL:
            goal = text
    return row, named, goal, ended


def _close_orphans(vault: Vault, caller: Caller, name: str) -> SessionResult:
    """Close each session without an event for a day, as of its last event.

    `updated` stays: nothing happened now, and two clones that close a session write the same.
    """
    if name:
        hint = "give one of the two"
        raise InvalidInputError("--orphans closes all orphans, and a name ends one session", hint)
    live, problems = query_fresh(vault, caller, list_live_sessions, caller.now)
    # What a person wrote without an id is theirs.
    some = (one.row for one in live if one.is_orphan and one.last_event_at)
    orphans = [row for row in some if row.id != row.path]
    edits = [(change_record.check_editable(row).path, _closing_edit(row)) for row in orphans]
    _, more = change_record.edit_notes_and_heal(vault, caller, edits)

    def find(index: IndexSession) -> list[SessionHit]:
        rows = [row for one in orphans if (row := index.catalogue.row_at(one.path))]
        live = list_live_sessions(index, caller.now)
        notes_of = [(row, read_note(vault, row.path)) for row in rows]
        return session_hits(vault, index.catalogue, notes_of, live)

    hits = query_index(vault, caller.progress, find) if orphans else []
    return SessionResult(hits=hits, total=len(hits), problems=[*problems, *more])


def _closing_edit(row: NoteRow) -> NoteEdit:
    def close(note: Note) -> Note:
        if note.get("status") != "open" or note.provenance()[0] != row.events:
            return note  # it was ended, or moved on, just now
        fields = {"status": "done", "ended": last_event_time(row), "closed": sessions.NO_END_REASON}
        return with_fields(note, fields)

    return close
