"""`state.json`: what the last refresh left in the cache folder of a vault, and a seal of its files.

Any other stamp of one of these files means an outside change or a crash, and they are rebuilt.
"""

from __future__ import annotations

import json
import os
from typing import Any, Literal

from cortex.core import __version__
from cortex.core.model.problem import Problem
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue import WritableCatalogue
from cortex.index.catalogue.sqlite_catalogue import SqliteCatalogue
from cortex.index.catalogue.sqlite_notes import FILE_NAME as CATALOGUE_FILE
from cortex.index.file_scan import Snapshot
from cortex.index.full_text import choose_engine, engine_of
from cortex.vault import private
from cortex.vault.locate import Vault
from cortex.vault.state.briefing_cache import file_stamp

INDEX_FOLDER = "index"
STATE_FILE, STAMPS_FILE = "state.json", "stamps"
_MAX_STATE_BYTES = 64 << 20  # bytes
FORMAT = f"36/{__version__}"


class IndexState(NamedTuple):
    """The contents of `state.json`."""

    settings: str  # stamp of cortex.toml
    exclude: tuple[str, ...]
    rules: str
    ignored: tuple[str, ...]
    noted: tuple[Problem, ...]
    sealed: dict[str, str]  # file below the cache folder -> stamp
    engine: str  # as the settings ask for it
    pages: str  # zone and form of what briefings say


class KnownScan(NamedTuple):
    """A scan by the settings that the last refresh left."""

    state: IndexState
    seen: Snapshot
    is_current: bool  # nothing has changed since then


def state_path(vault: Vault) -> str:
    """The file that every refresh with a change rewrites."""
    return os.path.join(vault.cache_folder(), STATE_FILE)


def encode_stamps(seen: Snapshot, *, for_later: bool = False) -> bytes:
    """The stamps as bytes. With `for_later`, a racy stamp becomes one that no scan gives."""
    stamps = seen.stamps
    if for_later:
        stamps = stamps | {path: f"{stamps[path].partition('.')[0]}.racy" for path in seen.racy}
    return os.fsencode("\0".join([part for pair in stamps.items() for part in pair]))


def decode_stamps(rendered: bytes) -> dict[str, str]:
    parts = os.fsdecode(rendered).split("\0")
    return dict(zip(parts[::2], parts[1::2], strict=False))


def read_stamps(folder: str) -> bytes:
    with open(private.open_private(os.path.join(folder, STAMPS_FILE)), "rb") as file:
        return file.read()


def compute_seal(folder: str) -> dict[str, str]:
    inner = (f"{INDEX_FOLDER}/{name}" for name in os.listdir(os.path.join(folder, INDEX_FOLDER)))
    names = (CATALOGUE_FILE, STAMPS_FILE, *inner)
    return {name: file_stamp(os.path.join(folder, name)) for name in names}


def load_valid_state(folder: str) -> IndexState | None:
    """The state of the last refresh if all files are as it left them; None: rebuild."""
    try:
        data = private.read(os.path.join(folder, STATE_FILE), _MAX_STATE_BYTES)
        table: Any = json.loads(data, strict=False)
        if table.pop("format") != FORMAT or compute_seal(folder) != table["sealed"]:
            return None
        table |= {name: tuple(table[name]) for name in ("exclude", "ignored")}
        table["noted"] = tuple(Problem(*one) for one in table["noted"])
        state = IndexState(**table)
        # It may have been installed since, or removed.
        is_of = engine_of(os.path.join(folder, INDEX_FOLDER))
        return state if is_of == choose_engine(state.engine) else None
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None


def open_catalogue(
    folder: str, to: Literal["read", "write", "new", "next"] = "read"
) -> WritableCatalogue:
    """The catalogue in a cache folder, for a `with`; `new` is an empty one in the place of any,
    `next` one that goes on with its change feed. The one place that knows its class."""
    if to in ("new", "next"):
        return SqliteCatalogue.create(folder, continue_feed=to == "next")
    return SqliteCatalogue(folder, writable=to == "write")
