"""What `cortex doctor --fix` does: what is safe, in an order in which each step finds the earlier ones done."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from cortex.core.caller import Caller
from cortex.core.problem import CortexError, Problem
from cortex.operations.heal import heal
from cortex.operations.settling import settle_for_a_person
from cortex.projections.refresh import look
from cortex.vault import checkout, drivers, files, merging, repair
from cortex.vault.find import Vault

_OLD = 600.0  # seconds; a half-written file that is younger may belong to somebody at work


def mend(vault: Vault, caller: Caller) -> tuple[list[str], list[Problem]]:
    """Do it, and answer what was done and what could not be. No note is touched but the briefings, which are output."""
    done: list[str] = []
    failed: list[Problem] = []
    for step in (_repository, _cut_off, _drivers, _unmerged, _leftovers, _briefings):
        try:
            done += step(vault, caller)
        except (CortexError, OSError) as error:
            failed.append(Problem(".", f"could not be mended: {error}", error.hint if isinstance(error, CortexError) else "cortex doctor"))
    return done, failed


def _repository(vault: Vault, _: Caller) -> Iterable[str]:
    return repair.repair(vault.root)


def _cut_off(vault: Vault, _: Caller) -> Iterable[str]:
    if checkout.in_repository(vault.root):
        yield from (f"{one.path}: {one.what}" for one in merging.recover(vault.root))


def _drivers(vault: Vault, _: Caller) -> Iterable[str]:
    return ["git knows Cortex's merge drivers now"] if drivers.register(vault.root, again=True) else []


def _unmerged(vault: Vault, _: Caller) -> Iterable[str]:
    if checkout.in_repository(vault.root):
        yield from (f"{one.path}: {one.what}" for one in settle_for_a_person(vault.root))


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
