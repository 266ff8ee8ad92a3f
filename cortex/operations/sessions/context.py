"""Where work stood: the last sessions and prompts, and what matters most."""

from __future__ import annotations

from typing import Annotated

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import Between
from cortex.core.model.problem import Problem
from cortex.core.text.strings import shorten
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import CURRENT, TRAIL, NoteFilter
from cortex.index.refresh import IndexSession
from cortex.operations.capture.project_context import project_names, resolve_project
from cortex.operations.find.hits import Hit, Hits, build_hit
from cortex.operations.find.note_ranks import rank_best
from cortex.operations.find.resolve_session import IS_SESSION, list_live_sessions
from cortex.operations.sessions.session_list import (
    Prompt,
    read_prompt,
    sessions_worth_listing,
    summary_hit,
)
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

# Seed 001's and engram's: how many of each, and how long.
_MAX_SESSIONS = 5
_MAX_LOOKED_AT = 50  # sessions, some of which say nothing
_MAX_PROMPTS, _MAX_PROMPT_CHARS = 5, 120
_MAX_TITLE_CHARS = 120
_IS_RECORD = CURRENT._replace(not_types=("session",), has_id=True)


class ProjectCounts(NamedTuple):
    """The project in numbers."""

    records: int
    sessions: int
    prompts: int
    open_actions: int


class ContextResult(NamedTuple):
    """Where work stood in a project: sessions, prompts, records and counts."""

    project: str
    branch: str
    sessions: Hits[Hit]  # newest first; their snippets are their summaries
    prompts: Hits[Prompt]  # newest first
    records: Hits[Hit]  # what matters most first
    figures: ProjectCounts
    problems: list[Problem]


def context(
    vault: Vault,
    caller: Caller,
    *,
    project: str = "",
    branch: str = "",
    number: Annotated[int, Between(1, 100)] = 20,
) -> ContextResult:
    """Show where work stood: last sessions, prompts, what matters.

    Up to five sessions, five prompts and the most important records, those of this branch first.
    Unlike cortex brief, it has no limit of tokens. In a folder without a project it covers all projects.

    project: by default that of the working directory
    branch: by default the one checked out there
    number: how many records at most

    Example: cortex context
    """
    project = resolve_project(vault, caller, project)
    branch = branch.strip() or checkout.branch_of(caller.cwd)
    names = project_names(vault, project) if project else None
    is_session = IS_SESSION._replace(projects=names)
    is_prompt = TRAIL._replace(types=("prompt",), projects=names)
    is_record = _IS_RECORD._replace(projects=names)

    def find(
        index: IndexSession,
    ) -> tuple[list[Hit], list[NoteRow], list[tuple[NoteRow, float]], ProjectCounts]:
        catalogue = index.catalogue
        figures = ProjectCounts(
            records=catalogue.count(is_record),
            sessions=catalogue.count(is_session),
            prompts=catalogue.count(is_prompt),
            open_actions=catalogue.count(NoteFilter(state="to_do", projects=names)),
        )
        of_project = catalogue.find(is_session, "-date", _MAX_LOOKED_AT)
        live = list_live_sessions(index, caller.now)
        sessions, _ = sessions_worth_listing(vault, of_project, live, _MAX_SESSIONS)
        ranked = rank_best(vault, index, caller, is_record, branch)[:number]
        hits = [_short(summary_hit(vault, *one)) for one in sessions]
        return hits, catalogue.find(is_prompt, "-id", _MAX_PROMPTS), ranked, figures

    (shown, prompts, ranked, figures), problems = query_fresh(vault, caller, find)
    access_log.append(vault, caller, "context", [row.id for row, _ in ranked])
    sessions = Hits(shown, figures.sessions)
    said = Hits([read_prompt(vault, row, _MAX_PROMPT_CHARS) for row in prompts], figures.prompts)
    records = Hits([_short(build_hit(vault, row, rank)) for row, rank in ranked], figures.records)
    return ContextResult(project, branch, sessions, said, records, figures, problems)


def _short(hit: Hit) -> Hit:
    return hit._replace(title=shorten(hit.title, _MAX_TITLE_CHARS))
