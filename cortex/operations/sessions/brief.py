"""The briefing of a project and branch, for the start of a session, within a budget of tokens."""

from __future__ import annotations

from typing import Annotated, Literal

from cortex.core.briefing.injected import (
    ALWAYS_CUT_TOKENS,
    DEFAULT_BUDGET_TOKENS,
    SURFACE_TOKENS,
    BriefResult,
)
from cortex.core.model.caller import Caller
from cortex.core.model.parameters import PERSON_SETTING, Between
from cortex.core.text.token_count import count_tokens
from cortex.operations.sessions import hook_briefing, rules_file
from cortex.vault.locate import Vault
from cortex.vault.state.briefing_cache import BriefingKey, read_cached_briefing, requested_key


def brief(
    vault: Vault,
    caller: Caller,
    *,
    project: str = "",
    branch: str = "",
    budget: Annotated[int, Between(50, 100_000)] = DEFAULT_BUDGET_TOKENS,
    all_branches: bool = False,
    why: bool = False,
    print: bool = False,
    into: Annotated[
        Literal["", "rules", "agents", "skill", "surface", "none"], PERSON_SETTING
    ] = "",
) -> BriefResult:
    """Print what a session in this project needs to know.

    What is pinned comes first, then your rules, what bears on the files of the last sessions or is of
    this branch, what is open, the plan, the last sessions, decisions and rejections by their worth,
    gotchas and patterns, what else is known, and what is yours alone or of every project. Lines have
    at most 25 words. Notes that say the same stand in one line; opposite ones are told as such. Every line ends with a handle for cortex show. What the
    project's files or git contradict is marked with what it was and when. A part that has no room
    for all says how many more there are, and the command that lists them. Records of other branches
    stay out until these are merged, squashed or rebased into this one.

    Tokens are counted without a tokenizer: as many as o200k_base makes of English, or up to 15 %
    more. The text never takes more than the budget, its frame included; what is injected (--print,
    --into) has at most 9,500 characters too, whatever the budget, and below it 60 tokens of how to
    mark what is worth keeping (unless contract = false stands below [hooks] in cortex.toml). With
    --json each line names the files of its record that were edited since.

    project: by default the one of the working directory
    branch: by default the one that is checked out there
    budget: tokens at the most, from 50 on
    all_branches: records of every branch
    why: say of each line why it is there, and its tokens
    print: only the text, exactly as a hook injects it
    into: rules (.claude/rules), agents (a block in AGENTS.md), skill, surface (at most 500 tokens in .claude/cortex-memory.local.md, which git leaves out), or none: takes them away

    Example: cortex brief
    Example: cortex brief --project cortex --branch main --budget 800 --json
    Example: cortex brief --why
    Example: cortex brief --into rules
    """
    if into == "none":
        written = rules_file.remove_briefing_files(vault, caller.cwd)
        return BriefResult("", project, branch, 0, budget, written=written, into=into)
    budget = min(budget, SURFACE_TOKENS) if into == "surface" else budget
    key = requested_key(caller, project, branch, budget, all_branches)
    if print or into:
        return _injected(vault, caller, key, into)._replace(print=print)
    answer = hook_briefing.build_briefing(vault, caller, key, with_edited_files=True)
    if not why:
        return answer
    # Few ask, and a kept briefing needs none of its imports.
    from cortex.operations.sessions.brief_why import explain_sections  # noqa: PLC0415

    return answer._replace(sections=explain_sections(vault, caller, answer))


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
