"""Where one was: the last sessions, the last prompts, and what matters for this project and branch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cortex.core.model import event as events, session_note as sessions
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import MAX_NOTE_BYTES, decode_text
from cortex.core.model.problem import CortexError, Problem
from cortex.core.notes.note import read
from cortex.core.text.strings import shorten
from cortex.index.catalogue import NoteMetadata, NoteRow
from cortex.index.filters import NoteFilter
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.ensure_fresh import ensure_fresh
from cortex.operations.find.hits import Hit, build_hit
from cortex.operations.find.note_ranks import rank_notes, select_for_ranking
from cortex.operations.find.project_context import project_names, resolve_project
from cortex.operations.find.spans import check_number
from cortex.operations.plan.actions import IS_TO_DO_SQL
from cortex.vault import files
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

MAX_RESULTS = 100
# Seed 001's and engram's: how many of each, and how long.
_MAX_SESSIONS, _MAX_SESSION_CHARS = 5, 100
_MAX_PROMPTS, _MAX_PROMPT_CHARS = 5, 120
_MAX_TITLE_CHARS = 120


class RecentSession(NamedTuple):
    """A session in a line."""

    id: str
    path: str
    title: str
    status: str
    at: str  # its last event
    summary: str


class RecentPrompt(NamedTuple):
    """What somebody asked."""

    id: str
    at: str
    session: str
    text: str


class ProjectCounts(NamedTuple):
    """The project in numbers."""

    records: int
    sessions: int
    prompts: int
    open_actions: int


class ContextResult(NamedTuple):
    """A page of what one has to know to go on."""

    project: str
    branch: str
    sessions: tuple[RecentSession, ...]  # newest first
    prompts: tuple[RecentPrompt, ...]  # newest first
    records: tuple[Hit, ...]  # what matters most first
    figures: ProjectCounts
    problems: tuple[Problem, ...]


def context(
    vault: Vault, caller: Caller, *, project: str = "", branch: str = "", number: int = 20
) -> ContextResult:
    """Say where work stood: five sessions, five prompts, the records that matter most.

    Records come by their rank, in which those of the branch come forward. In a folder without a project, of all projects.

    project: by default the one of the working directory
    branch: by default the one that is checked out there
    number: how many records at the most

    Example: cortex context
    Example: cortex context --project cortex --branch main --json
    """
    check_number(number, MAX_RESULTS, "cortex context -n 20")
    project = resolve_project(vault, caller, project)
    branch = branch.strip() or checkout.branch_of(caller.cwd)
    problems = ensure_fresh(vault, caller)
    names = project_names(vault, project) if project else []

    def asked(
        now: IndexSession,
    ) -> tuple[list[NoteRow], list[tuple[NoteRow, str]], tuple[Hit, ...], ProjectCounts]:
        where, values = (
            (f"project IN ({','.join('?' * len(names))})", names) if project else ("1", [])
        )
        held = list(
            now.catalogue.rows(
                f"{where} AND type = 'session' AND tier < 2 ORDER BY date DESC, path LIMIT ?",
                (*values, _MAX_SESSIONS),
            )
        )
        asked_ = now.catalogue.select(
            f"SELECT number, session FROM note WHERE {where} AND type = 'prompt' AND tier = 2 ORDER BY id DESC LIMIT ?",
            (*values, _MAX_PROMPTS),
        )
        named = dict(asked_)
        rows = now.catalogue.rows_by_number(named)
        prompts = [(rows[one], named[one]) for one in named]
        records = f"{where} AND tier = 0 AND type != 'session' AND id != CAST(path AS TEXT)"
        figures = _count_notes(now, where, records, values)
        best = rank_notes(
            vault,
            now,
            caller,
            select_for_ranking(
                vault,
                now,
                NoteFilter(
                    projects=names if project else None,
                    tiers=(0,),
                    not_types=("session",),
                    has_id=True,
                ),
                figures.records,
            ),
            branch,
        )[:number]
        return held, prompts, tuple(_short_hit(vault, one, rank) for one, rank in best), figures

    held, prompts, records, figures = query_index(vault, caller.progress, asked)
    access_log.append(vault, caller, "context", [one.id for one in records])
    lines = tuple(_recent_session(vault, row) for row in held)
    return ContextResult(
        project,
        branch,
        lines,
        tuple(_recent_prompt(vault, row, session) for row, session in prompts),
        records,
        figures,
        tuple(problems),
    )


def _short_hit(vault: Vault, one: NoteMetadata, rank: float) -> Hit:
    return build_hit(vault, one, rank)._replace(title=shorten(one.title, _MAX_TITLE_CHARS))


def _count_notes(
    now: IndexSession, where: str, records: str, values: Sequence[object]
) -> ProjectCounts:
    def count(condition: str) -> int:
        return int(
            next(now.catalogue.select(f"SELECT count(*) FROM note WHERE {condition}", values))[0]
        )

    return ProjectCounts(
        records=count(records),
        sessions=count(f"{where} AND type = 'session' AND tier < 2"),
        prompts=count(f"{where} AND type = 'prompt' AND tier = 2"),
        open_actions=count(f"{where} AND {IS_TO_DO_SQL}"),
    )


def _recent_session(vault: Vault, row: NoteRow) -> RecentSession:
    note = read(_read_bytes(vault, row))
    told = list(sessions.event_lines(note))
    said = sessions.excerpt(sessions.summary_of(note), _MAX_SESSION_CHARS) or (
        shorten(told[-1].excerpt, _MAX_SESSION_CHARS) if told else ""
    )
    at = events.time_of_id(told[-1].id) if told else row.created
    return RecentSession(
        row.id, row.path, shorten(row.title, _MAX_TITLE_CHARS), row.status, at, said
    )


def _recent_prompt(vault: Vault, row: NoteRow, session: str) -> RecentPrompt:
    text = events.raw_content(decode_text(read(_read_bytes(vault, row)).body)) or ""
    return RecentPrompt(
        row.id,
        events.time_of_id(row.id) if events.is_event_id(row.id) else row.created,
        session,
        shorten(text, _MAX_PROMPT_CHARS),
    )


def _read_bytes(vault: Vault, row: NoteRow) -> bytes:
    try:
        return files.read(vault.root, row.path, MAX_NOTE_BYTES)
    except (CortexError, OSError):
        return b""  # deleted just now
