"""List sessions, and show one."""

from __future__ import annotations

from collections.abc import Iterable

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.generated_text import (
    event_lines,
    outcome_of,
    overview_of,
    summary_of,
    tells_something,
    without_title,
)
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.model.parameters import Time
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.normalize import session_note as sessions
from cortex.core.notes.note import Note
from cortex.core.text.strings import shorten
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import Catalogue, NoteRow
from cortex.index.catalogue.filters import CURRENT, TRAIL, NoteFilter
from cortex.index.refresh import IndexSession
from cortex.operations.find.hits import Hit, Hits, build_hit, make_hit
from cortex.operations.find.resolve_session import (
    IS_SESSION,
    LiveSession,
    find_session,
    last_event_time,
    list_live_sessions,
    session_name,
)
from cortex.operations.find.show import read_note
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

MAX_RESULTS = 200
_MAX_GIST_CHARS, _MAX_PROMPT_CHARS = 100, 300
_MAX_SHOWN = 100  # prompts, events, and records of one session


class SessionHit(NamedTuple):
    """A session; its hit's snippet is its summary, else its outcome, else what happened last."""

    hit: Hit
    name: str
    branch: str
    state: str  # live, orphan (live, and without an event for a day) or done
    started: str
    ended: str
    closed: str  # why it was closed without an end
    last: Time  # of its last event
    events: int
    prompts: int
    records: int


class Prompt(NamedTuple):
    """A prompt of a user."""

    id: str
    at: Time
    session: str
    text: str


class SessionResult(NamedTuple):
    """One session that was started or ended; a list of them; or, as `session`, all of one."""

    id: str = ""  # of its note, where it was started or ended, as are those that follow
    name: str = ""
    path: str = ""
    # started or resumed; ended, updated when it had been before, captured when its note cannot be written yet
    outcome: str = ""
    event: str = ""
    live: list[str] = []  # noqa: RUF012  names of the others that are going on in this project
    file: str = ""  # absolute path
    hits: list[SessionHit] = []  # noqa: RUF012  of a list
    total: int = 0
    session: SessionHit | None = None
    summary: str = ""
    overview: str = ""  # in markdown: what was asked, what came of it, what is open
    prompts: list[Prompt] = []  # noqa: RUF012  oldest first; of many, the last
    events: list[str] = []  # noqa: RUF012  a line each; of many, the last
    records: Hits[Hit] = Hits([], 0)  # what came from it
    more: int = 0  # of prompts and events
    note: str = ""  # of an end: that a longer summary stands, or that there had been no start
    problems: list[Problem] = []  # noqa: RUF012


def list_sessions(
    vault: Vault, caller: Caller, project: str, since: int | None, limit: int
) -> SessionResult:
    """At most `limit` sessions worth listing, the live ones first, then the newest; and how many
    there are."""
    note_filter = IS_SESSION._replace(projects=(project,) if project else None, changed_since=since)

    def find(index: IndexSession) -> tuple[list[SessionHit], int]:
        rows = index.catalogue.find(note_filter, "-date")
        rows.sort(key=lambda row: row.status != "open" or row.tier != TIER_CURRENT)
        live = list_live_sessions(index, caller.now)
        shown, left_out = sessions_worth_listing(vault, rows, live, limit)
        return session_hits(vault, index.catalogue, shown, live), len(rows) - left_out

    (hits, total), problems = query_fresh(vault, caller, find)
    return SessionResult(hits=hits, total=total, problems=problems)


def sessions_worth_listing(
    vault: Vault, rows: list[NoteRow], live: Iterable[LiveSession], limit: int
) -> tuple[list[tuple[NoteRow, Note | None]], int]:
    """The first `limit` sessions, with their notes, that are live or in which something was said or
    done; and how many others, such as headless runs, were passed over."""
    going_on = {one.row.number for one in live if not one.is_orphan}
    shown, left_out = list[tuple[NoteRow, Note | None]](), 0
    for row in rows:
        if len(shown) == limit:
            break
        if not events.is_headless(session_name(row)):
            note = read_note(vault, row.path)
            if not note or row.number in going_on or tells_something(note.text):
                shown.append((row, note))
                continue
        left_out += 1
    return shown, left_out


def show_session(vault: Vault, caller: Caller, name: str) -> SessionResult:
    """The session that `name` means, with what was asked, what happened and what came of it."""
    if not name:
        hint = "cortex session list, then cortex session show NAME"
        raise InvalidInputError("which session?", hint)

    def find(index: IndexSession) -> tuple[Note | None, SessionHit, list[NoteRow], list[NoteRow]]:
        row = find_session(index.catalogue, name)
        note, live = read_note(vault, row.path), list_live_sessions(index, caller.now)
        (session,) = session_hits(vault, index.catalogue, [(row, note)], live)
        prompts = index.catalogue.find(_prompts_of(session.name), "-id", _MAX_SHOWN)
        records = index.catalogue.find(_records_of(session.name), "-date", _MAX_SHOWN)
        return note, session, prompts, records

    (note, session, prompt_rows, record_rows), problems = query_fresh(vault, caller, find)
    turns = [
        f"{events.time_of_id(turn.id)} {turn.type}: {turn.excerpt}"
        for turn in (event_lines(note.text) if note else ())
    ]
    more = max(0, session.prompts - len(prompt_rows)) + max(0, len(turns) - _MAX_SHOWN)
    access_log.append(vault, caller, "show", [session.hit.id])
    summary, overview = (summary_of(note.text), overview_of(note.text)) if note else ("", "")
    prompts = [read_prompt(vault, row, _MAX_PROMPT_CHARS) for row in reversed(prompt_rows)]
    records = Hits([build_hit(vault, row) for row in record_rows], session.records)
    turns = turns[-_MAX_SHOWN:]
    return SessionResult(
        session=session, summary=summary, overview=overview, prompts=prompts, events=turns,
        records=records, more=more, problems=problems,
    )  # fmt: skip


def session_hits(
    vault: Vault,
    catalogue: Catalogue,
    shown: Iterable[tuple[NoteRow, Note | None]],
    live: Iterable[LiveSession],
) -> list[SessionHit]:
    """Sessions with what the catalogue and their notes have of them."""
    live_of = {one.row.number: one for one in live}
    hits = []
    for row, note in shown:
        name = session_name(row)
        one = live_of.get(row.number)
        hits.append(
            SessionHit(
                summary_hit(vault, row, note),
                name,
                row.branch,
                ("orphan" if one.is_orphan else "live") if one else "done",
                (note.get("started") if note else "") or row.created,
                note.get("ended") if note else "",
                note.get("closed") if note else "",
                last_event_time(row),
                len(row.events),
                catalogue.count(_prompts_of(name)),
                catalogue.count(_records_of(name)),
            )
        )
    return hits


def summary_hit(vault: Vault, row: NoteRow, note: Note | None) -> Hit:
    """A session as a hit; its snippet is the summary, else the outcome, the last line, the goal."""
    text = note and (summary_of(note.text) or outcome_of(note.text))
    snippet = sessions.excerpt(text, _MAX_GIST_CHARS) if text else ""
    if note and not snippet:
        turns = list(event_lines(note.text))
        nothing = (sessions.NO_GOAL, sessions.NO_SUMMARY)
        said = [one.excerpt for one in turns if one.type != "prompt" and one.excerpt not in nothing]
        snippet = shorten((said or [one.excerpt for one in turns] or [""])[-1], _MAX_GIST_CHARS)
    snippet = without_title(snippet, row.title)
    return make_hit(vault, row, note.body_start_line if note else 1, snippet)


def event_text(vault: Vault, path: str) -> str:
    """What the event at a path of the index holds; empty if it was deleted since."""
    note = read_note(vault, path)
    return (events.raw_content(note.text) or "").strip() if note else ""


def read_prompt(vault: Vault, row: NoteRow, max_chars: int) -> Prompt:
    """The prompt that an event holds, its text shortened."""
    at = events.time_of_id(row.id) if events.is_event_id(row.id) else row.created
    return Prompt(row.id, at, row.session, shorten(event_text(vault, row.path), max_chars))


def _prompts_of(session: str) -> NoteFilter:
    return TRAIL._replace(types=("prompt",), sessions=(session,))


def _records_of(session: str) -> NoteFilter:
    return CURRENT._replace(not_types=("session",), sessions=(session,))
