"""Bring the records of earlier versions into the form of new ones: shown first, and taken back."""

from __future__ import annotations

from cortex.core.merge.fields import KEY_ORDER
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, problem_of
from cortex.core.normalize.current_form import in_current_form
from cortex.core.notes import note as notes
from cortex.index.filters import KNOWLEDGE
from cortex.index.refresh import query_index
from cortex.operations.records.change_record import refuse_during_git_operation
from cortex.operations.upkeep.heal import ReformatResult
from cortex.operations.upkeep.normalize import load_existing_records
from cortex.operations.upkeep.record_lock import record_lock
from cortex.vault import files, settings
from cortex.vault.locate import Vault
from cortex.vault.state import change_memory

_MEMORY = "reformat"
_PREVIEW = "cortex heal --format"


def reformat(vault: Vault, caller: Caller, *, apply: bool) -> ReformatResult:
    """Show which records have the form of an earlier version; with `apply` rewrite them."""
    if apply:
        refuse_during_git_operation(vault)
        settings.check_writable(vault.root)
    existing = load_existing_records(vault, caller)
    rows = query_index(
        vault, caller.progress, lambda index: index.catalogue.find(KNOWLEDGE, "path")
    )
    layout = vault.layout()
    changes, problems = [], []
    with record_lock(vault):
        for row in rows:
            if not (layout.is_in(row.path, "records") and row.id != row.path):
                continue
            try:
                before = files.read(vault.root, row.path)
                note = notes.read_strict(before, row.path)
                session_note = existing.session_note(row.session)
                after = notes.write(in_current_form(note, KEY_ORDER, session_note))
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
