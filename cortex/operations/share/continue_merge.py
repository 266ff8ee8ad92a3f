"""Bring a merge or rebase that sync began to its end, or to where it waits for a person."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem
from cortex.operations.share.heal import heal
from cortex.operations.share.resolve_conflicts import resolve_unmerged
from cortex.vault.git import checkout, commit, merging, objects
from cortex.vault.git.merging import MergeState
from cortex.vault.locate import Vault

_MAX_STEPS = {"rebase": 10_000, "merge": 5}  # commits of one rebase; looks at what one merge left


class MergeStep(NamedTuple):
    """How far resolving came."""

    is_concluded: bool  # the merge or rebase is concluded
    resolved: tuple[MergeResolution, ...]
    waiting: tuple[Problem, ...]  # what only a person can decide
    trouble: str = ""
    hint: str = ""


def continue_merge(vault: Vault, caller: Caller, mine: MergeState) -> MergeStep:
    """Resolve what git could not, conclude the merge, or go on with the rebase until it ends or waits for a person."""
    resolved: list[MergeResolution] = []
    for _ in range(_MAX_STEPS[mine.how]):
        decided, waiting = resolve_unmerged(vault.root, mine)
        resolved += decided
        if waiting:
            return MergeStep(is_concluded=False, resolved=_unique(resolved), waiting=tuple(waiting))
        if mine.how == "merge":
            changed: tuple[str, ...] = ()
            with suppress(CortexError):  # it is tried again before the next commit, and told then
                healed = heal(vault, caller)
                changed = (*healed.written, *healed.removed)
            merging.mark_resolved(
                vault.root,
                [
                    path
                    for path in changed
                    if path not in objects.filter_ignored(vault.root, changed)
                ],
            )
        ran = merging.conclude(vault.root, mine.how)
        resolved += merging.parse_driver_messages(ran)
        if checkout.operation_in_progress(vault.root) != mine.how:
            return MergeStep(is_concluded=True, resolved=_unique(resolved), waiting=())
        if ran.code and not objects.list_unmerged_stages(vault.root):
            if mine.how == "rebase" and commit.commit_during_rebase(vault.root).id:
                continue  # what was written meanwhile stood in git's way
            error = commit.declined_error(vault.root, ran, mine.how)
            return MergeStep(
                is_concluded=False,
                resolved=_unique(resolved),
                waiting=(),
                trouble=error.message,
                hint=error.hint,
            )
        mine = mine._replace(waiting={})
        merging.save_state(vault.root, mine)
    raise CortexError(
        f"the {mine.how} did not end within {_MAX_STEPS[mine.how]:,} steps",
        f"git status says what is left; git {mine.how} --abort takes it back",
    )


def _unique(resolved: Iterable[MergeResolution]) -> tuple[MergeResolution, ...]:
    return tuple(dict.fromkeys(resolved))
