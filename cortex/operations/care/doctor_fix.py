"""The steps of `cortex doctor --fix`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import Any

from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.hosts import mcp_settings, settings_edit
from cortex.index.refresh import query_index
from cortex.operations.care.hook_status import project_root
from cortex.operations.share.clear_conflicts import clear_conflicts
from cortex.operations.share.duplicates import join_duplicate_ids
from cortex.operations.share.resolve_conflicts import recover_interrupted_merge, resolve_user_merge
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.restore_lost import restore_lost
from cortex.vault import files, settings, settings_text
from cortex.vault.git import attributes, checkout, drivers, page_branch
from cortex.vault.layout import SETTINGS_FILE
from cortex.vault.locate import Vault
from cortex.vault.repair import fix

_MIN_AGE_SECONDS = 600.0  # a half-written file that is younger may belong to somebody at work


def apply_fixes(vault: Vault, caller: Caller) -> tuple[list[str], list[Problem]]:
    """Repair what is safe to repair. Returns what was done, in words, and what failed.

    Changed are only briefings, notes that git has mixed up, lost or doubled, and an entry of
    ours in the settings of a host; and the vault's settings get the name of the default branch.
    """
    settings.check_writable(vault.root)
    done: list[str] = []
    failed: list[Problem] = []
    for step, needs_repository, is_safe_during_merge in _STEPS:
        if needs_repository and not checkout.is_in_repository(vault.root):
            continue
        # Git would refuse to go on with a rebase or merge until what a step changes is added.
        if not is_safe_during_merge and checkout.operation_in_progress(vault.root):
            continue
        try:
            done += step(vault, caller)
        except (CortexError, OSError) as error:
            where = str(getattr(error, "filename", None) or ".")
            failed.append(problem_of(where, error, "cortex doctor", "could not be mended: "))
    return done, failed


def _register_drivers(vault: Vault, _: Caller) -> Iterable[str]:
    if drivers.register(vault.root, again=True):
        yield "git knows Cortex's merge drivers now"
    if attributes.renew_lines(vault.root):
        yield f".gitattributes {attributes.RENEWED}"


def _declare_default_branch(vault: Vault, _: Caller) -> Iterable[str]:
    """Name the default branch in the settings, so that all clones have the same one."""
    branch, may_differ = page_branch.undeclared_default(vault.root)
    if not branch or not may_differ:
        return

    def change(table: dict[str, Any]) -> None:
        table.setdefault("briefings", {})["branch"] = branch

    lines = page_branch.settings_lines(branch)
    by_hand = f'write branch = "{branch}" below [briefings] yourself'
    if settings_text.edit(vault.root, change, lambda text: iter([text + lines]), by_hand):
        yield f"{SETTINGS_FILE} says that shared pages are written on {branch}"


def _remove_leftovers(vault: Vault, caller: Caller) -> Iterable[str]:
    written_before = time.time() - _MIN_AGE_SECONDS  # in the clock of the file system
    for path in query_index(vault, caller.progress, lambda index: index.snapshot.temp_files):
        if os.lstat(os.path.join(vault.root, path)).st_mtime < written_before:
            files.remove(vault.root, path)
            yield f"{path}, half-written by a killed process, is gone"


def _give_token_lines(_: Vault, caller: Caller) -> Iterable[str]:
    for told, todo, _command in mcp_settings.plan_token_lines(project_root(caller.cwd)):
        settings_edit.apply_change(todo)
        yield f"{told.file} is {told.outcome}; {told.next_step}"


def _heal_briefings(vault: Vault, caller: Caller) -> Iterable[str]:
    healed = heal(vault, caller)
    yield from (f"{path} is as the notes give it" for path in healed.written)
    yield from (f"{path} is gone: the default branch keeps it" for path in healed.removed)


def _describe(changes: Iterable[Any]) -> list[str]:
    return [f"{one.path}: {one.what}" for one in changes]


# Step, whether it needs a repository, whether it may run during a merge. The order counts.
_STEPS: tuple[tuple[Callable[[Vault, Caller], Iterable[str]], bool, bool], ...] = (
    (lambda vault, _: fix.repair(vault.root), False, True),
    (lambda vault, _: _describe(recover_interrupted_merge(vault.root)), True, True),
    (_register_drivers, False, True),
    (lambda vault, caller: _describe(resolve_user_merge(vault, caller)[0]), True, True),
    (lambda vault, caller: _describe(restore_lost(vault, caller)[0]), True, False),
    (lambda vault, caller: _describe(join_duplicate_ids(vault, caller)), False, False),
    (lambda vault, caller: _describe(clear_conflicts(vault, caller)), False, False),
    (_declare_default_branch, True, False),
    (_remove_leftovers, False, True),
    (_give_token_lines, False, True),
    (_heal_briefings, False, True),
)
