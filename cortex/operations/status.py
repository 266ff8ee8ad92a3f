"""How the vault stands, in a screenful."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.caller import Caller
from cortex.operations.freshen import heal_if_due
from cortex.projections.refresh import Views, look
from cortex.vault import checkout, files, layout
from cortex.vault.find import Vault

_RECENT = 5


class Recent(NamedTuple):
    """A note that was changed lately."""

    id: str
    path: str
    title: str
    type: str
    date: int


class Status(NamedTuple):
    """The vault in figures. Every list is bounded."""

    vault: str
    branch: str
    notes: int
    pending: int
    failed: tuple[str, ...]
    types: dict[str, int]
    projects: dict[str, int]
    open_actions: int
    sessions: int
    recent: tuple[Recent, ...]
    problems: int


def status(vault: Vault, caller: Caller) -> Status:
    """Say what the vault holds, what waits, and what needs a look.

    Example: cortex status --json
    """
    heal_if_due(vault, caller)
    return look(vault, caller.progress, lambda now: _status(vault, now))


def _status(vault: Vault, now: Views) -> Status:
    catalogue = now.catalogue
    recent = catalogue.rows("tier = 0 ORDER BY date DESC, path LIMIT ?", (_RECENT,))
    return Status(
        vault=vault.root,
        branch=checkout.branch_of(vault.root),
        notes=catalogue.count(),
        pending=len(files.notes_in(vault.root, layout.PENDING)),
        failed=tuple(name.removesuffix(".md") for name in files.notes_in(vault.root, layout.FAILED)),
        types=_most({key or "(none)": count for key, count in catalogue.counts("type").items()}),
        projects=_most({key or "(none)": count for key, count in catalogue.counts("project").items()}),
        open_actions=sum(1 for _ in catalogue.rows("type = 'action' AND status = 'open'")),
        # A session that was only ever compacted has not ended yet, and is not counted.
        sessions=sum(1 for _ in catalogue.rows("type = 'session' AND status != 'open'")),
        recent=tuple(Recent(row.id, row.path, row.title, row.type, row.date) for row in recent),
        problems=len(now.problems),
    )


def _most(counts: dict[str, int], limit: int = 12) -> dict[str, int]:
    return dict(list(counts.items())[:limit])
