"""Throw away what is derived and make it again."""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.problem import InvalidInputError
from cortex.index import refresh
from cortex.vault.locate import Vault

_MAX_CORES = 64


class RebuildResult(NamedTuple):
    """What the new index holds."""

    notes: int
    problems: int


def rebuild(vault: Vault, caller: Caller, *, cores: int = 0) -> RebuildResult:
    """Build the search index anew from the notes. Never needed for freshness: search does that by itself.

    cores: how many to use; by default all, up to four

    Example: cortex rebuild --cores 1
    """
    if not 0 <= cores <= _MAX_CORES:
        raise InvalidInputError(
            f"--cores {cores} is not between 0 and {_MAX_CORES}",
            "cortex rebuild takes all, up to four, by itself",
        )
    with refresh.open_index(vault, caller.progress, rebuild=True, cores=cores) as now:
        return RebuildResult(now.catalogue.count_notes(), len(now.problems))
