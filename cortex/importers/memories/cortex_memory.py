"""The memory server `cortex` of lleontor705, which grew out of engram: also edges and scores."""

from __future__ import annotations

from functools import partial

from cortex.importers.database import database_in, is_database
from cortex.importers.memories import engram

read = partial(engram.read, name="cortex.db")


def accepts(path: str) -> bool:
    """Whether a file is its database, or a folder holds one."""
    return is_database(database_in(path, "cortex.db"), *engram.TABLES, "edges")
