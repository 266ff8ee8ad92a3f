"""Bring the records of earlier versions into the form of new ones: shown first, and taken back."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.merge.note_versions import stem_of
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem, problem_of
from cortex.core.normalize.current_form import in_current_form
from cortex.core.notes import note as notes
from cortex.index.filters import KNOWLEDGE
from cortex.index.refresh import query_index
from cortex.operations.upkeep.record_lock import record_lock, refuse_during_git_operation
from cortex.vault import files, settings
from cortex.vault.locate import Vault
from cortex.vault.state import change_memory

_MEMORY = "reformat"
_PREVIEW = "cortex heal --format"


class ReformatResult(NamedTuple):
    """The records that get the form of new ones."""

    paths: tuple[str, ...]
    applied: bool
    undo: str = ""  # the command that takes it back
    problems: tuple[Problem, ...] = ()


def reformat(vault: Vault, caller: Caller, *, apply: bool) -> ReformatResult:
    """Show which records have the form of an earlier version; with `apply` rewrite them."""
    if apply:
        refuse_during_git_operation(vault)
        settings.check_writable(vault.root)
    rows = query_index(vault, caller.progress, lambda now: now.catalogue.find(KNOWLEDGE, "path"))
    sessions = {row.session: stem_of(row.path) for row in rows if row.type == "session"}
    layout = vault.layout()
    changes, problems = [], []
    with record_lock(vault):
        for row in rows:
            if not (layout.is_in(row.path, "records") and row.id != row.path):
                continue
            try:
                before = files.read(vault.root, row.path)
                note = notes.read_strict(before, row.path)
                session_note = sessions.get(row.session, "") if row.session else ""
                after = notes.write(in_current_form(note, session_note))
            except (CortexError, OSError) as error:
                problems.append(problem_of(row.path, error))
                continue
            if after != before:
                changes.append((row.path, before, after))
        if apply and changes:
            again = f"{_PREVIEW} --apply"
            problems += change_memory.write_changes(vault, _MEMORY, changes, caller.progress, again)
    undo = f"{_PREVIEW} --undo" if apply and changes else ""
    return ReformatResult(tuple(path for path, *_ in changes), apply, undo, tuple(problems))


def undo_reformat(vault: Vault) -> ReformatResult:
    """Take back what `reformat` has done, where nobody has changed the records since."""
    refuse_during_git_operation(vault)
    with record_lock(vault):
        done, problems = change_memory.take_back(vault, _MEMORY, _PREVIEW)
    return ReformatResult(tuple(path for path, _ in done), True, "", tuple(problems))
