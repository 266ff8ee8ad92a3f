"""What `cortex doctor --fix` does: what is safe, in an order in which each step finds the earlier ones done."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from cortex.core.merge.conflicts import note_id
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem
from cortex.index.refresh import look
from cortex.operations.share.bring_back import bring_back
from cortex.operations.share.clear_conflicts import clear_conflicts
from cortex.operations.share.duplicates import join_same_ids
from cortex.operations.share.heal import heal
from cortex.operations.share.misnamed_events import give_back, misnamed_events
from cortex.operations.share.resolve_conflicts import recover, resolve_for_person
from cortex.vault import files
from cortex.vault.git import checkout, drivers
from cortex.vault.git.objects import first_text
from cortex.vault.locate import Vault
from cortex.vault.repair import fix

_OLD = 600.0  # seconds; a half-written file that is younger may belong to somebody at work


def mend(vault: Vault, caller: Caller) -> tuple[list[str], list[Problem]]:
    """Do it, and answer what was done and what could not be. Of notes only those are touched that git has mixed up, displaced or
    doubled, and the briefings, which are output."""
    done: list[str] = []
    failed: list[Problem] = []
    for step in (
        _repository,
        _cut_off,
        _drivers,
        _unmerged,
        _displaced,
        _events,
        _duplicates,
        _conflicts,
        _leftovers,
        _briefings,
    ):
        if step in _LATER and checkout.under_way(vault.root):
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


def _repository(vault: Vault, _: Caller) -> Iterable[str]:
    return fix.repair(vault.root)


def _cut_off(vault: Vault, _: Caller) -> Iterable[str]:
    if checkout.in_repository(vault.root):
        yield from (f"{one.path}: {one.what}" for one in recover(vault.root)[0])


def _drivers(vault: Vault, _: Caller) -> Iterable[str]:
    return (
        ["git knows Cortex's merge drivers now"] if drivers.register(vault.root, again=True) else []
    )


def _unmerged(vault: Vault, _: Caller) -> Iterable[str]:
    if checkout.in_repository(vault.root):
        yield from (f"{one.path}: {one.what}" for one in resolve_for_person(vault.root)[0])


def _displaced(vault: Vault, caller: Caller) -> Iterable[str]:
    if checkout.in_repository(vault.root):
        yield from (f"{one.path}: {one.what}" for one in bring_back(vault, caller)[0])


def _events(vault: Vault, caller: Caller) -> Iterable[str]:
    """Give an event's file its own text back where it holds another event's."""
    for one in look(vault, caller.progress, lambda views: misnamed_events(views.catalogue)):
        text = first_text(vault.root, one.path)
        if text is not None and note_id(text) == one.name:
            give_back(vault.root, one.path, text)
            yield f"{one.path}: git took it for another event; its own text is back"


def _duplicates(vault: Vault, caller: Caller) -> Iterable[str]:
    yield from (f"{one.path}: {one.what}" for one in join_same_ids(vault, caller))


def _conflicts(vault: Vault, caller: Caller) -> Iterable[str]:
    yield from (f"{one.path}: {one.what}" for one in clear_conflicts(vault, caller))


# Not in the middle of a rebase, merge or the like: git would refuse to go on until what they change is added.
_LATER = (_displaced, _events, _duplicates, _conflicts)


def _leftovers(vault: Vault, caller: Caller) -> Iterable[str]:
    now = time.time()  # compared with what the file system wrote
    for path in look(vault, caller.progress, lambda views: views.snapshot.leftovers):
        if now - os.lstat(os.path.join(vault.root, path)).st_mtime > _OLD:
            files.remove(vault.root, path)
            yield f"{path}, half-written by a killed process, is gone"


def _briefings(vault: Vault, caller: Caller) -> Iterable[str]:
    healed = heal(vault, caller)
    yield from (f"{path} is as the notes give it" for path in healed.written)
    yield from (f"{path} is gone: no note gives it" for path in healed.removed)
