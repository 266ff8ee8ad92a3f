"""A vault's few settings, from its committed `cortex.toml`. They are data: none names a program or a place outside."""

from __future__ import annotations

import tomllib
from typing import NamedTuple

from cortex.core.problem import CortexError, Problem
from cortex.vault import files
from cortex.vault.layout import SETTINGS

FORMAT = 1
_MAX_BYTES = 64 * 1024


class Settings(NamedTuple):
    """What a team agrees on for a vault."""

    exclude: tuple[str, ...] = ()  # path patterns of notes that are not indexed: `private/*`
    problems: tuple[Problem, ...] = ()
    autocommit: bool | None = None  # whether the watcher commits; None: where the vault is a repository of its own
    push: bool | None = None  # whether `cortex sync` pushes; None: the same


def load(root: str) -> Settings:
    """The settings, with defaults in the place of what cannot be read, and a problem for each of those."""
    try:
        table = tomllib.loads(files.read(root, SETTINGS, _MAX_BYTES).decode())
    except (CortexError, OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else "nested too deeply"
        return Settings(problems=(Problem(SETTINGS, f"cannot be read: {reason}", "mend it; defaults are used meanwhile"),))
    problems = []
    if table.get("format", FORMAT) != FORMAT:
        problems.append(Problem(SETTINGS, f"format {table['format']!r} is not the format {FORMAT} that this program knows", "update cortex"))
    index = table.get("index", {})
    exclude = index.get("exclude", []) if isinstance(index, dict) else None
    if not isinstance(exclude, list) or not all(isinstance(one, str) for one in exclude):
        problems.append(Problem(SETTINGS, "[index] exclude is not a list of patterns", 'write exclude = ["private/*"]'))
        exclude = []
    switches = {key: _switch(table.get("sync", {}), key, problems) for key in ("autocommit", "push")}
    return Settings(tuple(exclude), tuple(problems), **switches)


def _switch(section: object, key: str, problems: list[Problem]) -> bool | None:
    """What `[sync]` says of `key`: true, false, or nothing."""
    value = section.get(key) if isinstance(section, dict) else None
    if isinstance(value, bool):
        return value
    if value is not None or not isinstance(section, dict):
        problems.append(Problem(SETTINGS, f"[sync] {key} is neither true nor false", f"write {key} = true, {key} = false, or neither"))
    return None
