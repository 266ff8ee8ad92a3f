"""What `cortex doctor --fix` does: what is safe, in an order in which each step finds the earlier ones done."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from cortex.core.merge.note_versions import note_id
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem
from cortex.index.refresh import query_index
from cortex.operations.share.clear_conflicts import clear_conflicts
from cortex.operations.share.duplicates import join_duplicate_ids
from cortex.operations.share.heal import heal
from cortex.operations.share.misnamed_events import find_misnamed_events, restore_event_text
from cortex.operations.share.resolve_conflicts import recover_interrupted_merge, resolve_user_merge
from cortex.operations.share.restore_displaced import restore_displaced
from cortex.vault import files
from cortex.vault.git import checkout, drivers
from cortex.vault.git.objects import read_first_version
from cortex.vault.locate import Vault
from cortex.vault.repair import fix

_MIN_AGE_SECONDS = (
    600.0  # seconds; a half-written file that is younger may belong to somebody at work
)


def apply_fixes(vault: Vault, caller: Caller) -> tuple[list[str], list[Problem]]:
    """Do it, and answer what was done and what could not be. Of notes only those are touched that git has mixed up, displaced or
    doubled, and the briefings, which are output."""
    done: list[str] = []
    failed: list[Problem] = []
    for step in (
        _repair_repository,
        _recover_interrupted_sync,
        _register_drivers,
        _resolve_unmerged,
        _restore_displaced,
        _restore_misnamed_events,
        _join_duplicates,
        _clear_conflicts,
        _remove_leftovers,
        _heal_briefings,
    ):
        if step in _NOT_DURING_MERGE and checkout.operation_in_progress(vault.root):
            continue
        try:
            done += step(vault, caller)
        except (CortexError, OSError) as error:
            failed.append(
                Problem(
                    ".",
                    f"could not be mended: {error}",
                    error.hint if isinstance(error, CortexError) else "cortex doctor",
                )
            )
    return done, failed


def _repair_repository(vault: Vault, _: Caller) -> Iterable[str]:
    return fix.repair(vault.root)


def _recover_interrupted_sync(vault: Vault, _: Caller) -> Iterable[str]:
    if checkout.is_in_repository(vault.root):
        yield from (f"{one.path}: {one.what}" for one in recover_interrupted_merge(vault.root)[0])


def _register_drivers(vault: Vault, _: Caller) -> Iterable[str]:
    return (
        ["git knows Cortex's merge drivers now"] if drivers.register(vault.root, again=True) else []
    )


def _resolve_unmerged(vault: Vault, _: Caller) -> Iterable[str]:
    if checkout.is_in_repository(vault.root):
        yield from (f"{one.path}: {one.what}" for one in resolve_user_merge(vault.root)[0])


def _restore_displaced(vault: Vault, caller: Caller) -> Iterable[str]:
    if checkout.is_in_repository(vault.root):
        yield from (f"{one.path}: {one.what}" for one in restore_displaced(vault, caller)[0])


def _restore_misnamed_events(vault: Vault, caller: Caller) -> Iterable[str]:
    """Give an event's file its own text back where it holds another event's."""
    for one in query_index(
        vault, caller.progress, lambda views: find_misnamed_events(views.catalogue)
    ):
        text = read_first_version(vault.root, one.path)
        if text is not None and note_id(text) == one.expected_id:
            restore_event_text(vault.root, one.path, text)
            yield f"{one.path}: git took it for another event; its own text is back"


def _join_duplicates(vault: Vault, caller: Caller) -> Iterable[str]:
    yield from (f"{one.path}: {one.what}" for one in join_duplicate_ids(vault, caller))


def _clear_conflicts(vault: Vault, caller: Caller) -> Iterable[str]:
    yield from (f"{one.path}: {one.what}" for one in clear_conflicts(vault, caller))


# Not in the middle of a rebase, merge or the like: git would refuse to go on until what they change is added.
_NOT_DURING_MERGE = (
    _restore_displaced,
    _restore_misnamed_events,
    _join_duplicates,
    _clear_conflicts,
)


def _remove_leftovers(vault: Vault, caller: Caller) -> Iterable[str]:
    now = time.time()  # compared with what the file system wrote
    for path in query_index(vault, caller.progress, lambda views: views.snapshot.temp_files):
        if now - os.lstat(os.path.join(vault.root, path)).st_mtime > _MIN_AGE_SECONDS:
            files.remove(vault.root, path)
            yield f"{path}, half-written by a killed process, is gone"


def _heal_briefings(vault: Vault, caller: Caller) -> Iterable[str]:
    healed = heal(vault, caller)
    yield from (f"{path} is as the notes give it" for path in healed.written)
    yield from (f"{path} is gone: no note gives it" for path in healed.removed)
