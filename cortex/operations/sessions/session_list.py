"""Sessions as they are listed and shown."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.model import event as events, session_note as sessions
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import MAX_NOTE_BYTES
from cortex.core.model.problem import CortexError, Problem
from cortex.core.notes import note as notes
from cortex.core.notes.note import Note
from cortex.core.text.strings import format_time, shorten
from cortex.index.catalogue import Catalogue, NoteMetadata, NoteRow
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.find.hits import Hit, build_hit
from cortex.operations.find.spans import check_number, parse_since
from cortex.operations.sessions.live_sessions import (
    IS_SESSION_SQL,
    last_event_time,
    list_live_sessions,
)
from cortex.operations.sessions.resolve_session import find_session, session_names
from cortex.vault import files
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

MAX_RESULTS = 200
_MAX_GIST_CHARS, _MAX_PROMPT_CHARS = 100, 300  # characters
_MAX_SHOWN = 100  # prompts, and events, of one session


class SessionHit(NamedTuple):
    """A session, as search shows a note, and what else there is to say of it."""

    id: str
    path: str
    line: int
    title: str
    type: str
    status: str
    score: float
    snippet: str  # its summary, else what happened last
    date: str
    project: str
    vault: str
    file: str
    name: str
    branch: str
    state: str  # live, orphan (live, and without an event for a day) or done
    started: str
    ended: str
    closed: str  # why it was closed without an end
    last: str  # the time of its last event
    events: int
    prompts: int
    records: int


class SessionList(NamedTuple):
    """Sessions: those that are going on, then the newest."""

    records: tuple[SessionHit, ...]
    more: int
    problems: tuple[Problem, ...]


class SessionPrompt(NamedTuple):
    """What somebody asked."""

    id: str
    at: str
    text: str


class SessionDetails(NamedTuple):
    """A session whole."""

    session: SessionHit
    summary: str
    prompts: tuple[SessionPrompt, ...]  # oldest first; of many, the last
    events: tuple[str, ...]  # a line each; of many, the last
    records: tuple[Hit, ...]  # what came from it
    more: int  # of all three
    problems: tuple[Problem, ...]


def list_sessions(
    vault: Vault, caller: Caller, project: str, since: str, number: int
) -> SessionList:
    check_number(number, MAX_RESULTS, "cortex session list -n 20")
    moment = parse_since(since, caller.now) if since else None
    problems = ensure_fresh(vault, caller)

    def asked(now: IndexSession) -> tuple[list[SessionHit], int]:
        where, values = IS_SESSION_SQL, list[object]()
        if project:
            where, values = f"{where} AND project = ?", [project]
        if moment is not None:
            where, values = f"{where} AND date >= ?", [*values, moment]
        total = int(
            next(now.catalogue.select(f"SELECT count(*) FROM note WHERE {where}", values))[0]
        )
        living = "(status = 'open' AND tier = 0)"
        rows = list(
            now.catalogue.rows(
                f"{where} ORDER BY {living} DESC, date DESC, path LIMIT ?", (*values, number)
            )
        )
        return session_hits(vault, caller, now.catalogue, rows), total

    records, total = query_index(vault, caller.progress, asked)
    return SessionList(tuple(records), total - len(records), tuple(problems))


def show_session(vault: Vault, caller: Caller, name: str) -> SessionDetails:
    problems = ensure_fresh(vault, caller)

    def asked(
        now: IndexSession,
    ) -> tuple[NoteRow, SessionHit, list[tuple[str, str]], list[NoteMetadata]]:
        row = find_session(now.catalogue, name)
        (shown,) = session_hits(vault, caller, now.catalogue, [row])
        prompts = list(
            now.catalogue.select(
                "SELECT id, path FROM note WHERE session = ? AND tier = 2 AND type = 'prompt' ORDER BY id DESC LIMIT ?",
                (shown.name, _MAX_SHOWN),
            )
        )
        where = "session = ? AND tier < 2 AND type != 'session' ORDER BY date DESC, path LIMIT ?"
        return (
            row,
            shown,
            prompts,
            list(now.catalogue.metadata_rows(where, (shown.name, _MAX_SHOWN))),
        )

    row, shown, asked_, standings = query_index(vault, caller.progress, asked)
    note = _read_note(vault, row)
    told = (
        [
            f"{events.time_of_id(turn.id)} {turn.type}: {turn.excerpt}"
            for turn in sessions.event_lines(note)
        ]
        if note
        else []
    )
    prompts = tuple(
        SessionPrompt(
            id_, events.time_of_id(id_), shorten(event_text(vault, path), _MAX_PROMPT_CHARS)
        )
        for id_, path in reversed(asked_)
    )
    more = (
        max(0, shown.prompts - len(prompts))
        + max(0, len(told) - _MAX_SHOWN)
        + max(0, shown.records - len(standings))
    )
    access_log.append(vault, caller, "show", [row.id])
    return SessionDetails(
        shown,
        sessions.summary_of(note) if note else "",
        prompts,
        tuple(told[-_MAX_SHOWN:]),
        tuple(build_hit(vault, one) for one in standings),
        more,
        tuple(problems),
    )


def session_hits(
    vault: Vault, caller: Caller, catalogue: Catalogue, rows: list[NoteRow]
) -> list[SessionHit]:
    """Sessions with what the catalogue and their notes say of them."""
    living = {one.row.number: one for one in list_live_sessions(catalogue, caller.now)}
    names = session_names(catalogue, rows)
    found = []
    for row in rows:
        name = names[row.number]
        counted = dict(
            catalogue.select(
                "SELECT CASE WHEN tier < 2 THEN '' ELSE type END, count(*) FROM note WHERE session = ? AND type != 'session' GROUP BY 1",
                (name,),
            )
        )
        note = _read_note(vault, row)
        one = living.get(row.number)
        found.append(
            SessionHit(
                row.id, row.path, note.body_start_line if note else 1, row.title, row.type, row.status, 0.0, _gist(note) if note else "", format_time(row.date), row.project,
                "project", os.path.join(vault.root, row.path), name, note.get("branch") if note else "", ("orphan" if one.is_orphan else "live") if one else "done",
                (note.get("started") if note else "") or row.created, note.get("ended") if note else "", note.get("closed") if note else "",
                last_event_time(row), len(row.events), counted.get("prompt", 0), counted.get("", 0),
            )
        )  # fmt: skip
    return found


def _gist(note: Note) -> str:
    """What a session was about, in a line: its summary, else what happened last, else its goal."""
    if told := sessions.excerpt(sessions.summary_of(note), _MAX_GIST_CHARS):
        return told
    turns = list(sessions.event_lines(note))
    said = [
        turn.excerpt
        for turn in turns
        if turn.type != "prompt" and turn.excerpt not in (sessions.NO_GOAL, sessions.NO_SUMMARY)
    ]
    return shorten((said or [turn.excerpt for turn in turns] or [""])[-1], _MAX_GIST_CHARS)


def _read_note(vault: Vault, row: NoteRow) -> Note | None:
    try:
        return notes.read(files.read(vault.root, row.path, MAX_NOTE_BYTES), row.path)
    except (CortexError, OSError):
        return None  # deleted just now


def event_text(vault: Vault, path: object) -> str:
    """What an event holds, from its path as the catalogue has it."""
    try:
        held = files.read(
            vault.root,
            path.decode("utf-8", "surrogateescape") if isinstance(path, bytes) else str(path),
            MAX_NOTE_BYTES,
        )
    except (CortexError, OSError):
        return ""
    return (events.raw_content(notes.read(held).text) or "").strip()
