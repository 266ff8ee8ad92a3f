"""Where one was: the last sessions, the last prompts, and what matters for this project and branch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cortex.core.model import event as events, session as sessions
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.status import MAX_NOTE_BYTES, decoded
from cortex.core.notes.note import read
from cortex.core.text.strings import shorten
from cortex.index.catalogue import Row, Standing
from cortex.index.refresh import Views, look
from cortex.operations.find.ensure_fresh import freshen
from cortex.operations.find.hits import Hit, hit
from cortex.operations.find.note_ranks import candidates, ranked
from cortex.operations.find.project_context import names_of, project_here
from cortex.operations.find.spans import checked
from cortex.operations.plan.actions import IS_TO_DO
from cortex.vault import files
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

MOST = 100
# Seed 001's and engram's: how many of each, and how long.
_SESSIONS, _SESSION_LIMIT = 5, 100
_PROMPTS, _PROMPT_LIMIT = 5, 120
_TITLE_LIMIT = 120


class SessionLine(NamedTuple):
    """A session in a line."""

    id: str
    path: str
    title: str
    status: str
    at: str  # its last event
    summary: str


class Prompt(NamedTuple):
    """What somebody asked."""

    id: str
    at: str
    session: str
    text: str


class Figures(NamedTuple):
    """The project in numbers."""

    records: int
    sessions: int
    prompts: int
    open_actions: int


class Context(NamedTuple):
    """A page of what one has to know to go on."""

    project: str
    branch: str
    sessions: tuple[SessionLine, ...]  # newest first
    prompts: tuple[Prompt, ...]  # newest first
    records: tuple[Hit, ...]  # what matters most first
    figures: Figures
    problems: tuple[Problem, ...]


def context(
    vault: Vault, caller: Caller, *, project: str = "", branch: str = "", number: int = 20
) -> Context:
    """Say where work stood: five sessions, five prompts, the records that matter most.

    Records come by their rank, in which those of the branch come forward. In a folder without a project, of all projects.

    project: by default the one of the working directory
    branch: by default the one that is checked out there
    number: how many records at the most

    Example: cortex context
    Example: cortex context --project cortex --branch main --json
    """
    checked(number, MOST, "cortex context -n 20")
    project = project_here(vault, caller, project)
    branch = branch.strip() or checkout.branch_of(caller.cwd)
    problems = freshen(vault, caller)
    names = names_of(vault, project) if project else []

    def asked(now: Views) -> tuple[list[Row], list[tuple[Row, str]], tuple[Hit, ...], Figures]:
        where, values = (
            (f"project IN ({','.join('?' * len(names))})", names) if project else ("1", [])
        )
        held = list(
            now.catalogue.rows(
                f"{where} AND type = 'session' AND tier < 2 ORDER BY date DESC, path LIMIT ?",
                (*values, _SESSIONS),
            )
        )
        asked_ = now.catalogue.asked(
            f"SELECT number, session FROM note WHERE {where} AND type = 'prompt' AND tier = 2 ORDER BY id DESC LIMIT ?",
            (*values, _PROMPTS),
        )
        named = dict(asked_)
        rows = now.catalogue.numbered(named)
        prompts = [(rows[one], named[one]) for one in named]
        records = f"{where} AND tier = 0 AND type != 'session' AND id != CAST(path AS TEXT)"
        figures = _figures(now, where, records, values)
        best = ranked(
            vault, now, caller, candidates(vault, now, records, values, figures.records), branch
        )[:number]
        return held, prompts, tuple(_titled(vault, one, rank) for one, rank in best), figures

    held, prompts, records, figures = look(vault, caller.progress, asked)
    access_log.mark(vault, caller, "context", [one.id for one in records])
    lines = tuple(_session(vault, row) for row in held)
    return Context(
        project,
        branch,
        lines,
        tuple(_prompt(vault, row, session) for row, session in prompts),
        records,
        figures,
        tuple(problems),
    )


def _titled(vault: Vault, one: Standing, rank: float) -> Hit:
    return hit(vault, one, rank)._replace(title=shorten(one.title, _TITLE_LIMIT))


def _figures(now: Views, where: str, records: str, values: Sequence[object]) -> Figures:
    def count(condition: str) -> int:
        return int(
            next(now.catalogue.asked(f"SELECT count(*) FROM note WHERE {condition}", values))[0]
        )

    return Figures(
        records=count(records),
        sessions=count(f"{where} AND type = 'session' AND tier < 2"),
        prompts=count(f"{where} AND type = 'prompt' AND tier = 2"),
        open_actions=count(f"{where} AND {IS_TO_DO}"),
    )


def _session(vault: Vault, row: Row) -> SessionLine:
    note = read(_held(vault, row))
    told = list(sessions.turns(note))
    said = sessions.gist(sessions.summary_of(note), _SESSION_LIMIT) or (
        shorten(told[-1].gist, _SESSION_LIMIT) if told else ""
    )
    at = events.time_of(told[-1].id) if told else row.created
    return SessionLine(row.id, row.path, shorten(row.title, _TITLE_LIMIT), row.status, at, said)


def _prompt(vault: Vault, row: Row, session: str) -> Prompt:
    text = events.raw_content(decoded(read(_held(vault, row)).body)) or ""
    return Prompt(
        row.id,
        events.time_of(row.id) if events.is_event_id(row.id) else row.created,
        session,
        shorten(text, _PROMPT_LIMIT),
    )


def _held(vault: Vault, row: Row) -> bytes:
    try:
        return files.read(vault.root, row.path, MAX_NOTE_BYTES)
    except (CortexError, OSError):
        return b""  # deleted just now
