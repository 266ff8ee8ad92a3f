"""The briefing of a project and branch, for the start of a session, within a budget of tokens; or
where work stood: the last sessions and prompts, and what matters most."""

from __future__ import annotations

from typing import Annotated, Literal

from cortex.core.briefing.injected import ALWAYS_CUT_TOKENS, DEFAULT_BUDGET_TOKENS, BriefResult
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_CURRENT, TIER_TRAIL
from cortex.core.model.parameters import PERSON_SETTING, Between
from cortex.core.model.problem import Problem
from cortex.core.text.strings import shorten
from cortex.core.text.token_count import count_tokens
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import IndexSession
from cortex.operations.capture.project_context import project_names, resolve_project
from cortex.operations.find.hits import Hit, Hits, build_hit
from cortex.operations.find.note_ranks import rank_best
from cortex.operations.find.resolve_session import IS_SESSION, list_live_sessions
from cortex.operations.sessions import hook_briefing, rules_file
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
from cortex.vault.state.briefing_cache import BriefingKey, read_cached_briefing, requested_key

# Seed 001's and engram's: how many of each, and how long.
_MAX_SESSIONS = 5
_MAX_LOOKED_AT = 50  # sessions, some of which say nothing
_MAX_PROMPTS, _MAX_PROMPT_CHARS = 5, 120
_MAX_TITLE_CHARS = 120
_IS_RECORD = NoteFilter(tiers=(TIER_CURRENT,), not_types=("session",), has_id=True)


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
    sessions: Hits[Hit]  # newest first; their snippets are their summaries
    prompts: Hits[Prompt]  # newest first
    records: Hits[Hit]  # what matters most first
    figures: ProjectCounts
    problems: list[Problem]


def brief(
    vault: Vault,
    caller: Caller,
    *,
    project: str = "",
    branch: str = "",
    budget: Annotated[int, Between(50, 100_000)] = DEFAULT_BUDGET_TOKENS,
    all_branches: bool = False,
    print: bool = False,
    into: Annotated[Literal["", "rules", "agents", "skill", "none"], PERSON_SETTING] = "",
    context: bool = False,
    number: Annotated[int, Between(1, 100)] = 20,
) -> BriefResult | ContextResult:
    """Say what a session in this project has to know.

    What is pinned comes first, then decisions and rejections by their worth, the plan that is worked
    on, gotchas and patterns (those about files of the last sessions before others), what else is
    known, the last sessions, what is open, and what is yours alone or of every project. Notes that
    say the same stand in one line. Every line ends with a handle for cortex show. What the
    project's files or git contradict is marked with what it was and when. A part that has no room
    for all says how many more there are, and the command that lists them. Records of other branches
    stay out until these are merged, squashed or rebased into this one.

    Tokens are counted without a tokenizer: as many as o200k_base makes of English, or up to 15 %
    more. The text never takes more than the budget, its frame included; what is injected (--print,
    --into) has at most 9,500 characters too, whatever the budget, and below it 60 tokens of how to
    mark what is worth keeping (unless contract = false stands below [hooks] in cortex.toml). With
    --json each line names the files of its record that were edited since.

    --context says where work stood instead, without a budget: five sessions, five prompts, and the
    records that matter most, of this branch first.

    project: by default the one of the working directory
    branch: by default the one that is checked out there
    budget: tokens at the most, from 50 on
    all_branches: records of every branch
    print: only the text, exactly as a hook injects it
    into: rules (.claude/rules), agents (a block in AGENTS.md), skill, or none: takes them away
    context: say where work stood: last sessions, last prompts, what matters most
    number: of --context: how many records at the most

    Example: cortex brief
    Example: cortex brief --project cortex --branch main --budget 800 --json
    Example: cortex brief --into rules
    """
    if context:
        return work_context(vault, caller, project=project, branch=branch, number=number)
    if into == "none":
        written = rules_file.remove_briefing_files(vault, caller.cwd)
        return BriefResult("", project, branch, 0, budget, written=written, into=into)
    key = requested_key(caller, project, branch, budget, all_branches)
    if print or into:
        return _injected(vault, caller, key, into)._replace(print=print)
    return hook_briefing.build_briefing(vault, caller, key, with_edited_files=True)


def _injected(vault: Vault, caller: Caller, key: BriefingKey, into: str) -> BriefResult:
    """The text as a hook injects it; with `into` it is written into files."""
    key = key._replace(injected=key.budget > ALWAYS_CUT_TOKENS)
    if cached := read_cached_briefing(vault, key):
        tokens = count_tokens(cached.text)
        answer = BriefResult(cached.text, key.project, key.branch, tokens, key.budget, cached=True)
    else:
        answer = hook_briefing.build_briefing(vault, caller, key)
    contract = hook_briefing.contract_for(vault)
    if into:
        text = "\n\n".join(filter(None, (answer.text, contract)))
        written = rules_file.write_briefing_files(vault, caller.cwd, into, text)
        answer = answer._replace(written=written)
    return answer._replace(into=into, contract=contract)


def work_context(
    vault: Vault, caller: Caller, *, project: str = "", branch: str = "", number: int = 20
) -> ContextResult:
    """Five sessions, five prompts, and the records that matter most, of the branch first. In a
    folder without a project, of all projects."""
    project = resolve_project(vault, caller, project)
    branch = branch.strip() or checkout.branch_of(caller.cwd)
    names = project_names(vault, project) if project else None
    is_session = IS_SESSION._replace(projects=names)
    is_prompt = NoteFilter(tiers=(TIER_TRAIL,), types=("prompt",), projects=names)
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
        live = list_live_sessions(catalogue, caller.now)
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
