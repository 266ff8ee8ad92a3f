"""Throw away what is derived and make it again."""

from __future__ import annotations

from typing import Annotated

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import Between
from cortex.core.text.value import NamedTuple
from cortex.index import refresh
from cortex.vault.locate import Vault


class RebuildResult(NamedTuple):
    """What the new index holds."""

    notes: int
    problems: int


def rebuild(
    vault: Vault, caller: Caller, *, cores: Annotated[int, Between(0, 64)] = 0
) -> RebuildResult:
    """Build the search index anew from the notes.

    Search keeps it fresh by itself.

    cores: how many to use; by default all, up to four

    Example: cortex rebuild --cores 1
    """
    with refresh.open_index(vault, caller.progress, rebuild=True, cores=cores) as index:
        return RebuildResult(index.catalogue.count_notes(), len(index.problems))
