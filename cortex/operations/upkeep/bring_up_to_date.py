"""Bring a vault up to date, one step after another: capture what hooks left behind, bring back what a
merge elsewhere has lost, normalize the inbox, heal the briefings. No step calls this back."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, TypeVarTuple

from cortex.core.model.caller import Caller
from cortex.core.model.layout import ACTIVE, BRIEFINGS_FOLDER, QUEUE
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.index.refresh import IndexSession, query_index
from cortex.vault import files, settings, user_folders
from cortex.vault.locate import Vault
from cortex.vault.state import known_vaults, spool, unjudged
from cortex.vault.state.change_marker import briefings_are_stale, git_stamp

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")


def query_fresh(
    vault: Vault, caller: Caller, at: Callable[[IndexSession, *_Ts], _T], *args: *_Ts,
    words: bool = False,
) -> tuple[_T, list[Problem]]:  # fmt: skip
    """Bring the vault up to date. Returns what `at` returns for its index and `args`, and the
    problems of `bring_up_to_date`."""
    problems = bring_up_to_date(vault, caller)
    return query_index(vault, caller.progress, at, *args, words=words), problems


def bring_up_to_date(vault: Vault, caller: Caller) -> list[Problem]:
    """Take all the steps that have something to do. The briefings are healed if events came, or if
    git ran since the last heal (a merge without driver may have left one stale). Failures are
    returned as problems."""
    if unusable := state_problems(vault):
        return unusable  # without its locks nothing may be changed
    known_vaults.remember(vault.root)
    problems = recover_left_runs(vault, caller)
    if os.path.isdir(spool.spool_folder(vault)):
        # 2 ms of imports; a hook that leaves anything behind makes the folder.
        from cortex.operations.upkeep import drain_spool as spooled  # noqa: PLC0415

        try:
            if spooled.has_spooled_work(vault):
                problems += spooled.drain_spool(vault, caller)
        except (CortexError, OSError) as error:
            message = f"what a hook left behind was not captured: {error}"
            problems.append(Problem("hooks", message, "cortex doctor"))
    has_events = bool(files.list_notes(vault.root, vault.layout().pending()))
    has_events = has_events or bool(unjudged.list_due(unjudged.WAITING.read(vault), caller))
    return problems + _take_steps(vault, caller, has_events=has_events)


def heal_if_stale(vault: Vault, caller: Caller) -> list[Problem]:
    """The same without the inbox, for verbs that show how it stands."""
    if state_problems(vault):
        return []
    return recover_left_runs(vault, caller) + _take_steps(vault, caller, has_events=False)


def recover_left_runs(vault: Vault, caller: Caller) -> list[Problem]:
    """See to runs whose process is gone, and to requests that nobody took."""
    folders = list(map(vault.layout().path, (ACTIVE, QUEUE)))
    try:
        if not any(files.list_notes(vault.root, folder) for folder in folders):
            return []
    except (CortexError, OSError) as error:
        return [problem_of(folders[0].rpartition("/")[0], error)]
    # Mostly there is none.
    from cortex.operations.upkeep.recover_runs import recover_runs  # noqa: PLC0415

    return recover_runs(vault, caller)


def _take_steps(vault: Vault, caller: Caller, *, has_events: bool) -> list[Problem]:
    """Bring back what is lost, normalize the inbox, heal; nothing where none of it is needed."""
    if not (has_events or _are_pages_stale(vault)) or _is_refused(vault):
        return []
    # Reading YAML costs 25 ms; mostly the inbox is empty and git has not moved.
    from cortex.operations.upkeep import heal, normalize, restore_lost  # noqa: PLC0415

    stamp = git_stamp(vault)
    # First, since a record that git mixed takes no event.
    problems = restore_lost.try_restore_lost(vault, caller)
    if has_events:
        try:
            problems += normalize.normalize_inbox(vault, caller).failed
        except (CortexError, OSError) as error:
            where, message = vault.layout().pending(), f"was not normalized: {error}"
            problems.append(Problem(where, message, "cortex normalize"))
    return problems + heal.try_heal_pages(vault, caller, stamp)


def _are_pages_stale(vault: Vault) -> bool:
    """Whether briefings are to be healed: git has moved index or HEAD, or an earlier run was cut
    short. Reading never creates any."""
    has_pages = files.exists(vault.root, vault.layout().path(BRIEFINGS_FOLDER))
    return has_pages and briefings_are_stale(vault)


def read_edited_minutes(vault: Vault, caller: Caller) -> list[Problem]:
    """Read minutes again that somebody has edited, and ticks on pages, for a verb that shows what is
    to be done and what came of meetings."""
    if state_problems(vault) or _is_refused(vault):
        return []
    # As above; minutes are rarely edited.
    from cortex.operations.upkeep.read_page_ticks import read_page_ticks  # noqa: PLC0415
    from cortex.operations.upkeep.reread_minutes import reread_minutes  # noqa: PLC0415

    changed, problems = reread_minutes(vault, caller)
    is_ticked, more = read_page_ticks(vault, caller)
    more += heal_if_stale(vault, caller) if changed or is_ticked else []
    return problems + more


def state_problems(vault: Vault) -> list[Problem]:
    """Why the state folder cannot be used."""
    with suppress(OSError):
        if os.access(vault.state_folder(), os.W_OK | os.X_OK):
            return []
    why = "the inbox is not normalized"
    return [user_folders.closed_folder_problem("state", vault.root, why)]


def _is_refused(vault: Vault) -> bool:
    """Whether the settings forbid changes; the problems of the index name the reason."""
    return settings.load(vault.root).refusal is not None
