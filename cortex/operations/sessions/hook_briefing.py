"""The briefing that a hook injects at the start of a session. While the cached one is valid, it
imports next to nothing, and no `typing`."""

from __future__ import annotations

import os
from collections.abc import Callable

from cortex.core.briefing.contract import CONTRACT
from cortex.core.model.caller import Caller
from cortex.core.text.value import TYPE_CHECKING
from cortex.operations.capture import hooks_enabled
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state.briefing_cache import BriefingKey, read_cached_briefing

if TYPE_CHECKING:
    from cortex.operations.sessions.brief import BriefResult

DEFAULT_BUDGET_TOKENS = 1500  # tokens
MAX_INJECTED_CHARS = 9_500  # of a briefing; hosts cut at 10,000, and the contract comes below it
# A briefing of a budget up to this is cut to that however it is asked for, so that all share one kept
# text. Most have so many tokens in less.
ALWAYS_CUT_TOKENS = 2_000


def briefing_for_hook(
    vault: Vault,
    caller: Caller,
    project: str,
    branch: str,
    ask_watcher: Callable[[], str | None] = lambda: None,
) -> str:
    """The framed text for the start of a session, at most 9,500 characters; may be empty.

    Without a cached text, `ask_watcher` is called; where it returns None, a briefing is built here.
    """
    key = requested_key(caller, project, branch, DEFAULT_BUDGET_TOKENS, False)
    cached = read_cached_briefing(vault, key)
    text = cached.text if cached else ask_watcher()
    if text is None:
        text = build_briefing(vault, caller, key).text
    return text if len(text) <= MAX_INJECTED_CHARS else ""


def contract_for(vault: Vault) -> str:
    """What every session is asked for at its start; empty where the vault's settings end it."""
    return CONTRACT if hooks_enabled.read_settings(vault).contract else ""


def briefing_key(cwd: str, project: str, branch: str) -> BriefingKey:
    """The cache key of a session in `cwd`; `project` and `branch` as `checkout` gives them."""
    git = checkout.find_repository(cwd)
    folder = git[0] if git else os.path.realpath(cwd)
    return BriefingKey(project, branch, DEFAULT_BUDGET_TOKENS, folder)


def requested_key(
    caller: Caller, project: str, branch: str, budget: int, all_branches: bool
) -> BriefingKey:
    here = checkout.project_of(caller.cwd)
    project = project.strip().lower() or here
    # The branch of a working directory says nothing about another project.
    branch = branch.strip() or (checkout.branch_of(caller.cwd) if project == here else "")
    key = briefing_key(caller.cwd, project, branch)
    return key._replace(budget=budget, all_branches=all_branches)


def build_briefing(
    vault: Vault, caller: Caller, key: BriefingKey, *, with_edited_files: bool = False
) -> BriefResult:
    """Build a briefing, cached or not."""
    # The catalogue and all that: a cached briefing needs none of it.
    from cortex.operations.sessions.brief_build import build_brief  # noqa: PLC0415

    return build_brief(vault, caller, key, with_edited_files=with_edited_files)
