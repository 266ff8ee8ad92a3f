"""Sessions as they are listed and shown."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model import event as events, session as sessions
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.status import MAX_NOTE_BYTES
from cortex.core.notes import note as notes
from cortex.core.notes.note import Note
from cortex.core.text.strings import shorten
from cortex.index.catalogue import Catalogue, Row, Standing
from cortex.index.refresh import Views, look
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.find.hits import Hit, hit
from cortex.operations.find.spans import checked, since_of
from cortex.operations.sessions.live_sessions import SESSION, last_of, live
from cortex.operations.sessions.resolve_session import names_of, one_session
from cortex.vault import files
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

MOST = 200
_GIST_LIMIT, _PROMPT_LIMIT = 100, 300  # characters
_MOST_SHOWN = 100  # prompts, and events, of one session


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
    date: int
    project: str
    vault: str
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


class Listed(NamedTuple):
    """Sessions: those that are going on, then the newest."""

    records: tuple[SessionHit, ...]
    more: int
    problems: tuple[Problem, ...]


class Prompt(NamedTuple):
    """What somebody asked."""

    id: str
    at: str
    text: str


class SessionShown(NamedTuple):
    """A session whole."""

    session: SessionHit
    summary: str
    prompts: tuple[Prompt, ...]  # oldest first; of many, the last
    events: tuple[str, ...]  # a line each; of many, the last
    records: tuple[Hit, ...]  # what came from it
    more: int  # of all three
    problems: tuple[Problem, ...]


def listed(vault: Vault, caller: Caller, project: str, since: str, number: int) -> Listed:
    checked(number, MOST, "cortex session list -n 20")
    moment = since_of(since, caller.now) if since else None
    problems = freshen(vault, caller)

    def asked(now: Views) -> tuple[list[SessionHit], int]:
        where, values = SESSION, list[object]()
        if project:
            where, values = f"{where} AND project = ?", [project]
        if moment is not None:
            where, values = f"{where} AND date >= ?", [*values, moment]
        total = int(
            next(now.catalogue.asked(f"SELECT count(*) FROM note WHERE {where}", values))[0]
        )
        living = "(status = 'open' AND tier = 0)"
        rows = list(
            now.catalogue.rows(
                f"{where} ORDER BY {living} DESC, date DESC, path LIMIT ?", (*values, number)
            )
        )
        return hits_of(vault, caller, now.catalogue, rows), total

    records, total = look(vault, caller.progress, asked)
    return Listed(tuple(records), total - len(records), tuple(problems))


def shown_whole(vault: Vault, caller: Caller, name: str) -> SessionShown:
    problems = freshen(vault, caller)

    def asked(now: Views) -> tuple[Row, SessionHit, list[tuple[str, str]], list[Standing]]:
        row = one_session(now.catalogue, name)
        (shown,) = hits_of(vault, caller, now.catalogue, [row])
        prompts = list(
            now.catalogue.asked(
                "SELECT id, path FROM note WHERE session = ? AND tier = 2 AND type = 'prompt' ORDER BY id DESC LIMIT ?",
                (shown.name, _MOST_SHOWN),
            )
        )
        where = "session = ? AND tier < 2 AND type != 'session' ORDER BY date DESC, path LIMIT ?"
        return row, shown, prompts, list(now.catalogue.standings(where, (shown.name, _MOST_SHOWN)))

    row, shown, asked_, standings = look(vault, caller.progress, asked)
    note = _note(vault, row)
    told = (
        [f"{events.time_of(turn.id)} {turn.type}: {turn.gist}" for turn in sessions.turns(note)]
        if note
        else []
    )
    prompts = tuple(
        Prompt(id_, events.time_of(id_), shorten(text_of(vault, path), _PROMPT_LIMIT))
        for id_, path in reversed(asked_)
    )
    more = (
        max(0, shown.prompts - len(prompts))
        + max(0, len(told) - _MOST_SHOWN)
        + max(0, shown.records - len(standings))
    )
    access_log.mark(vault, caller, "show", [row.id])
    return SessionShown(
        shown,
        sessions.summary_of(note) if note else "",
        prompts,
        tuple(told[-_MOST_SHOWN:]),
        tuple(hit(vault, one) for one in standings),
        more,
        tuple(problems),
    )


def hits_of(
    vault: Vault, caller: Caller, catalogue: Catalogue, rows: list[Row]
) -> list[SessionHit]:
    """Sessions with what the catalogue and their notes say of them."""
    living = {one.row.number: one for one in live(catalogue, caller.now)}
    names = names_of(catalogue, rows)
    found = []
    for row in rows:
        name = names[row.number]
        counted = dict(
            catalogue.asked(
                "SELECT CASE WHEN tier < 2 THEN '' ELSE type END, count(*) FROM note WHERE session = ? AND type != 'session' GROUP BY 1",
                (name,),
            )
        )
        note = _note(vault, row)
        one = living.get(row.number)
        found.append(
            SessionHit(
                row.id, row.path, note.body_line if note else 1, row.title, row.type, row.status, 0.0, _gist(note) if note else "", row.date, row.project,
                "project", name, note.get("branch") if note else "", ("orphan" if one.orphan else "live") if one else "done",
                (note.get("started") if note else "") or row.created, note.get("ended") if note else "", note.get("closed") if note else "",
                last_of(row), len(row.events), counted.get("prompt", 0), counted.get("", 0),
            )
        )  # fmt: skip
    return found


def _gist(note: Note) -> str:
    """What a session was about, in a line: its summary, else what happened last, else its goal."""
    if told := sessions.gist(sessions.summary_of(note), _GIST_LIMIT):
        return told
    turns = list(sessions.turns(note))
    said = [
        turn.gist
        for turn in turns
        if turn.type != "prompt" and turn.gist not in (sessions.NO_GOAL, sessions.NO_SUMMARY)
    ]
    return shorten((said or [turn.gist for turn in turns] or [""])[-1], _GIST_LIMIT)


def _note(vault: Vault, row: Row) -> Note | None:
    try:
        return notes.read(files.read(vault.root, row.path, MAX_NOTE_BYTES), row.path)
    except (CortexError, OSError):
        return None  # deleted just now


def text_of(vault: Vault, path: object) -> str:
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
