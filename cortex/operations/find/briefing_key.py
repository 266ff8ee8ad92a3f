"""Under which key a session's briefing is cached."""

from __future__ import annotations

import os

from cortex.core.briefing.injected import DEFAULT_BUDGET_TOKENS
from cortex.core.model.caller import Caller
from cortex.vault.git import checkout
from cortex.vault.state.briefing_cache import BriefingKey


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
