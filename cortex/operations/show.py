"""One note, whole."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core import note as notes
from cortex.core.caller import Caller
from cortex.core.problem import Problem
from cortex.operations import naming
from cortex.operations.freshen import heal_if_due
from cortex.projections.refresh import look
from cortex.vault import files
from cortex.vault.find import Vault

MAX_SHOWN = 4 * 1024 * 1024  # bytes


class Shown(NamedTuple):
    """A note as its file has it."""

    id: str
    path: str
    title: str
    type: str
    status: str
    text: str
    problems: tuple[Problem, ...]
    cut: bool  # the file is longer than `MAX_SHOWN`


def show(vault: Vault, caller: Caller, note: str) -> Shown:
    """Show a note whole, by its id, the beginning of its id, or its path in the vault.

    note: an id or path, as search shows it; `path:line` will do

    Example: cortex show records/decision/publish-by-link-k3f7q2.md
    """
    heal_if_due(vault, caller)
    row = look(vault, caller.progress, lambda now: naming.one(now.catalogue, note))
    data = files.read(vault.root, row.path, MAX_SHOWN + 1)
    cut, data = len(data) > MAX_SHOWN, data[:MAX_SHOWN]
    text = data.removeprefix(notes.BOM).decode("utf-8", "replace")
    return Shown(row.id, row.path, row.title, row.type, row.status, text, notes.read(data, row.path).problems, cut)
