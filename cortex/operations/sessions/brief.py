"""What a session starts with: the briefing of a project and branch, within a budget, from the cache when nothing has changed.

A hook calls `briefing_for_hook`, which imports next to nothing while the kept briefing holds.
"""

from __future__ import annotations

import os

from cortex.core.model.caller import Caller
from cortex.core.text.value import TYPE_CHECKING, NamedTuple
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state.briefing_cache import BriefingKey, CachedBriefing, read_cached_briefing

if TYPE_CHECKING:
    from collections.abc import Callable

    from cortex.core.briefing.compose import BriefingSection
    from cortex.core.model.problem import Problem

DEFAULT_BUDGET_TOKENS = 1500  # tokens
MAX_INJECTED_CHARS = 9_500  # of what is injected; hosts cut what is longer than 10,000
_ALWAYS_FITTING_TOKENS = 1900  # tokens that never are more than these: one is at most four letters and the blank before them


class BriefResult(NamedTuple):
    """A briefing: the text that is injected, frame included, and what it consists of. Without any notes all of it is empty."""

    text: str
    project: str
    branch: str
    tokens: int  # of the text, counted rather too high
    budget: int
    cached: bool
    sections: tuple[BriefingSection, ...]
    doubts: tuple[tuple[str, str], ...]  # id, and what reality says against that note
    left_out: int  # records of other branches
    newest: str  # the day of the newest note that counts
    written: tuple[str, ...]  # files that were written, or with `into` none taken away
    problems: tuple[Problem, ...]
    others: tuple[str, ...] = ()  # projects that have records, where this one has none
    print: bool = False  # whether the text alone is to be shown
    into: str = ""  # the way that was asked for


def brief(
    vault: Vault, caller: Caller, *,
    project: str = "", branch: str = "", budget: int = DEFAULT_BUDGET_TOKENS, all_branches: bool = False, print: bool = False, into: str = "",
) -> BriefResult:  # fmt: skip
    """Say what a session in this project has to know, within a budget of tokens.

    Decisions and rejections first, then the plan, gotchas and patterns (those about files of the last sessions before others), what else is
    known, the last sessions, what is open, what is pinned. Every line ends with an id for cortex show. What the project's files
    or git contradict is marked with what it was and when. A part that has no room for all says how many more there are, and the
    command that lists them. Records of other branches stay out until these are merged.

    Tokens are counted without a tokenizer and rather too high: a word of English as one or two, a sign as one, a character outside
    ASCII as two. The text never takes more than the budget, its frame included; what is injected (--print, --into) has at most
    9,500 characters too, whatever the budget. With --json each line names the files of its record that were edited since.

    project: by default the one of the working directory
    branch: by default the one that is checked out there
    budget: tokens at the most, from 50 on
    all_branches: records of every branch
    print: only the text, exactly as a hook injects it
    into: rules writes .claude/rules/cortex-briefing.md and cortex-memory.md, agents a marked block in AGENTS.md, none takes them away again

    Example: cortex brief
    Example: cortex brief --project cortex --branch main --budget 800 --json
    Example: cortex brief --into rules
    """
    if into == "none":
        from cortex.operations.sessions.rules_file import remove_briefing_files  # noqa: PLC0415  only who asks for it

        return BriefResult(
            "",
            project,
            branch,
            0,
            budget,
            False,
            (),
            (),
            0,
            "",
            remove_briefing_files(vault, caller.cwd),
            (),
            into=into,
        )
    alone = print or bool(into)  # then it is the text that is wanted, as a hook injects it
    key = _requested_key(caller, project, branch, budget, all_branches)._replace(
        injected=alone and budget > _ALWAYS_FITTING_TOKENS
    )
    known = read_cached_briefing(vault, key)
    answer = (_from_cache(known, edits=not alone) if known else None) or _build(
        vault, caller, key, edits=not alone
    )
    if into:
        from cortex.operations.sessions.rules_file import write_briefing_files  # noqa: PLC0415  as above

        answer = answer._replace(written=write_briefing_files(vault, caller.cwd, into, answer.text))
    return answer._replace(print=print, into=into)


def briefing_for_hook(
    vault: Vault,
    caller: Caller,
    project: str,
    branch: str,
    elsewhere: Callable[[], str | None] = lambda: None,
) -> str:
    """The framed text for the start of a session, at most 9,500 characters; empty when there is nothing to say. Where none is kept,
    `elsewhere` is asked before one is made here; it answers None when it cannot say."""
    key = _requested_key(caller, project, branch, DEFAULT_BUDGET_TOKENS, False)
    known = read_cached_briefing(vault, key)
    text = known.text if known else elsewhere()
    if text is None:
        text = _build(vault, caller, key, edits=False).text
    return text if len(text) <= MAX_INJECTED_CHARS else ""


def briefing_key(cwd: str, project: str, branch: str) -> BriefingKey:
    """Under which key the briefing of a session in `cwd` is kept; `project` and `branch` as `checkout` tells them."""
    git = checkout.find_repository(cwd)
    return BriefingKey(
        project, branch, DEFAULT_BUDGET_TOKENS, git[0] if git else os.path.realpath(cwd)
    )


def _requested_key(
    caller: Caller, project: str, branch: str, budget: int, all_branches: bool
) -> BriefingKey:
    here = checkout.project_of(caller.cwd)
    project = project.strip().lower() or here
    # The branch of a working directory says nothing about another project.
    branch = branch.strip() or (checkout.branch_of(caller.cwd) if project == here else "")
    return briefing_key(caller.cwd, project, branch)._replace(
        budget=budget, all_branches=all_branches
    )


def _build(vault: Vault, caller: Caller, key: BriefingKey, *, edits: bool) -> BriefResult:
    from cortex.operations.sessions.brief_build import build_brief  # noqa: PLC0415  the catalogue and all that; a kept briefing needs none of it

    return build_brief(vault, caller, key, edits=edits)


def _from_cache(known: CachedBriefing, *, edits: bool) -> BriefResult | None:
    """A kept briefing as the verb answers it; None when it is not as we write it, or does not say what was edited and that is wanted."""
    import json  # noqa: PLC0415  3 ms that a hook has not

    from cortex.core.briefing.compose import BriefingLine, BriefingSection  # noqa: PLC0415  as above
    from cortex.core.model.problem import Problem  # noqa: PLC0415

    try:
        table = json.loads(known.answer_json)
        if not table.pop("edits") and edits:
            return None
        table["sections"] = tuple(
            BriefingSection(
                one[0],
                one[1],
                tuple(BriefingLine(*line)._replace(changed=tuple(line[6])) for line in one[2]),
                *one[3:],
            )
            for one in table["sections"]
        )
        table["others"] = tuple(table["others"])
        table["doubts"] = tuple((id_, why) for id_, why in table["doubts"])
        table["problems"] = tuple(Problem(*one) for one in table["problems"])
        return BriefResult(text=known.text, cached=True, written=(), **table)
    except (ValueError, TypeError, KeyError, IndexError):
        return None
