"""Sessions: begin one, end it with a summary, see what there was. Several may live at once; each has a name."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from cortex.core.model import event as events, session_note as sessions
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, InvalidInputError, Problem
from cortex.core.notes.edit import with_fields
from cortex.core.notes.note import Note
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.shell_command import cortex_command
from cortex.core.text.strings import encode_base32, one_line
from cortex.index.catalogue import NoteRow
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.capture.capture import capture, new_event_id
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.find.project_context import canonical_project
from cortex.operations.records import change_record
from cortex.operations.sessions.live_sessions import (
    IS_SESSION_SQL,
    last_event_time,
    list_live_sessions,
)
from cortex.operations.sessions.resolve_session import (
    find_only_live_session,
    find_session,
    session_names,
)
from cortex.operations.sessions.session_list import (
    SessionDetails,
    SessionHit,
    SessionList,
    event_text,
    list_sessions,
    session_hits,
    show_session,
)
from cortex.vault.locate import Vault

ACTIONS = ("start", "end", "list", "show")
_MAX_NAME_CHARS = 200


class SessionStartResult(NamedTuple):
    """A session that has begun, or goes on: captures with its name belong to it."""

    id: str  # of its note
    name: str
    path: str
    outcome: str  # started, or resumed
    event: str
    live: tuple[str, ...]  # names of the others that are going on in this project
    problems: tuple[Problem, ...]


class SessionEndResult(NamedTuple):
    """A session that is over."""

    id: str
    name: str
    path: str
    outcome: (
        str  # ended; updated when it had been before; captured when its note cannot be written yet
    )
    event: str
    problems: tuple[Problem, ...]


class OrphansClosedResult(NamedTuple):
    """Sessions that were closed for want of an end."""

    records: tuple[SessionHit, ...]
    problems: tuple[Problem, ...]


def session(
    vault: Vault, caller: Caller, action: str, name: str = "", *,
    project: str = "", goal: str = "", instructions: str = "", discoveries: str = "", accomplished: str = "", next_steps: str = "",
    files: str = "", summary: str = "", orphans: bool = False, number: int = 10, since: str = "",
) -> SessionStartResult | SessionEndResult | OrphansClosedResult | SessionList | SessionDetails:  # fmt: skip
    """Begin a session, end it with a summary, list sessions, or show one.

    start answers the session's name, the given one or a new one; captures and saves with --session NAME belong to it. Any
    number may live at once. end takes a name, and needs none where exactly one session lives in this project: it never
    guesses between two. Ended again, the later summary is the one that stands; the earlier stays in its event. list shows live
    sessions first; one without an event for a day is an orphan, and end --orphans closes those, with the time of their last
    event as their end. show gives the summary, the prompts, the events and the records of one.

    action: start, end, list or show
    name: the session's name, or the id of its note
    project: of start, end and list; by default the project of the working directory, and for list all of them
    goal: what the session is for
    instructions: of end: what the person asked to be done or kept to
    discoveries: of end: what was found out
    accomplished: of end: what was done
    next_steps: of end: what is left
    files: of end: the files that matter, comma-separated
    summary: of end: the whole summary as markdown; - reads standard input
    orphans: of end: close every session without an event for a day
    number: of list: how many at the most
    since: of list: only what moved since then: 7d, 2w, 3m or a date

    Example: cortex session start --goal "Publish by link"
    Example: cortex session end s-20261120-k3f7q2 --accomplished "All of it" --next-steps "Write the docs"
    Example: cortex session list --since 7d
    Example: cortex session show s-20261120-k3f7q2
    Example: cortex session end --orphans
    """
    name = one_line(name).removeprefix("[[").removesuffix("]]")
    if action not in ACTIONS:
        raise InvalidInputError(
            f"there is no {action!r} of sessions", f"cortex session {'|'.join(ACTIONS)}"
        )
    if len(name) > _MAX_NAME_CHARS:
        raise InvalidInputError(
            f"a name of {len(name)} characters is too long for a session",
            f"use at most {_MAX_NAME_CHARS}",
        )
    if action == "list":
        return list_sessions(vault, caller, canonical_project(vault, project), since, number)
    if action == "show":
        if not name:
            raise InvalidInputError(
                "which session?", "cortex session list, then cortex session show NAME"
            )
        return show_session(vault, caller, name)
    if action == "start":
        return _start(vault, caller, name, project, goal)
    if orphans:
        if name:
            raise InvalidInputError(
                "--orphans closes all orphans, and a name ends one session", "give one of the two"
            )
        return _close_orphans(vault, caller)
    parts = {
        "goal": goal, "instructions": instructions, "discoveries": discoveries, "accomplished": accomplished, "next_steps": next_steps,
        "files": files,
    }  # fmt: skip
    return _end(
        vault, caller, name, parts, summary=summary, project=canonical_project(vault, project)
    )


def _start(vault: Vault, caller: Caller, name: str, project: str, goal: str) -> SessionStartResult:
    id_ = new_event_id(caller)
    if name:  # a session that goes on
        ensure_fresh(vault, caller)
        held = query_index(
            vault, caller.progress, lambda now: next(_rows_of_session(now, name), None)
        )
        id_ = (
            _event_id_after(
                caller, events.latest_event_id(held.events), beyond=held.status == "done"
            )
            if held
            else id_
        )
    name = (
        name
        or f"s-{caller.now[:10].replace('-', '')}-{encode_base32(int.from_bytes(caller.random(4), 'big'), 6)}"
    )
    captured = capture(
        vault,
        caller,
        goal.strip() or sessions.NO_GOAL,
        type=sessions.START_TYPE,
        session=name,
        project=project,
        id=id_,
    )
    problems = ensure_fresh(vault, caller)

    def asked(now: IndexSession) -> tuple[NoteRow | None, list[str]]:
        row = next(_rows_of_session(now, name), None)
        others = [
            one.row
            for one in list_live_sessions(now.catalogue, caller.now)
            if row and one.row.project == row.project and one.row.id != row.id
        ]
        return row, list(session_names(now.catalogue, others).values())

    row, others = query_index(vault, caller.progress, asked)
    if row is None:
        raise CortexError(
            f"{captured.id} was captured, and no note came of it",
            "cortex doctor says why; cortex normalize tries again",
        )
    outcome = "resumed" if len(row.events) > 1 else "started"
    return SessionStartResult(
        row.id, name, row.path, outcome, captured.id, tuple(others), tuple(problems)
    )


def _rows_of_session(now: IndexSession, name: str) -> Iterator[NoteRow]:
    return now.catalogue.rows(f"{IS_SESSION_SQL} AND id = ?", (sessions.session_note_id(name),))


def _event_id_after(caller: Caller, last: str, *, beyond: bool = False) -> str:
    """An event id behind `last`. One second has many turns, and an earlier one may come from a clone whose clock is ahead: the
    later word is this. `beyond` its second where that matters: of a start and an end within one, the end counts."""
    drawn = new_event_id(caller)
    if beyond and last[:16] >= drawn[:16]:
        moment = time.strftime(
            "%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch_seconds(events.time_of_id(last)) + 1)
        )
        return new_event_id(caller._replace(now=moment))
    return drawn if drawn > last else events.id_after(last, caller.random(2))


def _end(
    vault: Vault, caller: Caller, name: str, parts: dict[str, str], *, summary: str, project: str
) -> SessionEndResult:
    problems = ensure_fresh(vault, caller)
    row, named, start, ended = query_index(
        vault,
        caller.progress,
        lambda now: _find_session_to_end(vault, caller, now, name=name, project=project),
    )
    if any(text.strip() for text in parts.values()):
        parts = parts | {"goal": parts["goal"] if parts["goal"].strip() else start}
    told = "\n\n".join(text for text in (summary.strip(), sessions.compose_summary(parts)) if text)
    id_ = _event_id_after(caller, max(ended, events.latest_event_id(row.events)))
    captured = capture(
        vault,
        caller,
        told or sessions.NO_SUMMARY,
        type=sessions.END_TYPE,
        session=named,
        project=row.project,
        id=id_,
    )
    problems += ensure_fresh(vault, caller)
    outcome = (
        "captured"
        if any(captured.id in one.where for one in problems)
        else "updated"
        if ended
        else "ended"
    )
    return SessionEndResult(row.id, named, row.path, outcome, captured.id, tuple(problems))


def _find_session_to_end(
    vault: Vault, caller: Caller, now: IndexSession, *, name: str, project: str
) -> tuple[NoteRow, str, str, str]:
    """The session that is to be ended, its name, the goal with which it began, and the event that ended it before."""
    catalogue = now.catalogue
    row = (
        find_session(catalogue, name)
        if name
        else find_only_live_session(vault, caller, catalogue, project)
    )
    if project and row.project != project:
        raise InvalidInputError(
            f"{name} is a session of {row.project or 'no project'}, not of {project}",
            cortex_command("session", "end", name),
        )
    named = (
        name
        if sessions.session_note_id(name) == row.id
        else session_names(catalogue, [row])[row.number]
    )
    if sessions.session_note_id(named) != row.id:
        raise InvalidInputError(
            f"{row.path} does not say which session it is of",
            "give the session's own name; cortex doctor says what is wrong with the note",
        )
    ids = list(
        catalogue.select(
            "SELECT id, path, type FROM note WHERE session = ? AND tier = 2 AND type IN (?, ?)",
            (named, sessions.START_TYPE, sessions.END_TYPE),
        )
    )
    goals = [
        event_text(vault, path) for _, path, type_ in sorted(ids) if type_ == sessions.START_TYPE
    ]
    goal = next((text for text in reversed(goals) if text and text != sessions.NO_GOAL), "")
    return (
        row,
        named,
        goal,
        max(
            (
                str(id_)
                for id_, _, type_ in ids
                if type_ == sessions.END_TYPE and events.is_event_id(str(id_))
            ),
            default="",
        ),
    )


def _close_orphans(vault: Vault, caller: Caller) -> OrphansClosedResult:
    """Say of each session that nobody is at any more when it was last heard of. `updated` stays: nothing happened now,
    and two clones that close it write the same."""
    problems = ensure_fresh(vault, caller)

    held = query_index(
        vault,
        caller.progress,
        lambda now: [one for one in list_live_sessions(now.catalogue, caller.now) if one.is_orphan],
    )
    mine = [
        one.row for one in held if one.row.id != one.row.path and one.last_event_at
    ]  # what a person wrote without an id is theirs
    _, more = change_record.edit_notes_and_heal(
        vault,
        caller,
        [(change_record.check_editable(row).path, _closing_edit(row)) for row in mine],
    )
    if not mine:
        return OrphansClosedResult((), tuple(problems))
    records = query_index(
        vault,
        caller.progress,
        lambda now: session_hits(
            vault,
            caller,
            now.catalogue,
            [row for one in mine if (row := now.catalogue.row_at(one.path))],
        ),
    )
    return OrphansClosedResult(tuple(records), (*problems, *more))


def _closing_edit(row: NoteRow) -> change_record.NoteEdit:
    def closed(note: Note) -> Note:
        if note.get("status") != "open" or note.provenance()[0] != row.events:
            return note  # it was ended, or moved on, just now
        return with_fields(
            note,
            {"status": "done", "ended": last_event_time(row), "closed": sessions.NO_END_REASON},
        )

    return closed
