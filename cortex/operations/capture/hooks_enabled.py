"""Whether hooks do anything: what the person, the folder and the vault say."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from cortex.core.model.problem import CortexError
from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.layout import SETTINGS
from cortex.vault.locate import Vault

OFF_FILE = ".cortex-off"
_MOST = 64 * 1024  # bytes of the settings


class Switches(NamedTuple):
    """What a vault says of hooks."""

    enabled: bool = True
    prompts: bool = False  # whether what the user asks is kept


def is_off(environ: Mapping[str, str], cwd: str) -> bool:
    """Whether the person has switched hooks off, for this process or for this folder and what is below it."""
    return environ.get("CORTEX_OFF", "") not in ("", "0") or bool(off_file(cwd))


def off_file(cwd: str) -> str:
    """The file that switches hooks off in this folder; empty where none does."""
    directory = os.path.realpath(cwd)
    while not os.path.lexists(path := os.path.join(directory, OFF_FILE)):
        if directory == os.path.dirname(directory):
            return ""
        directory = os.path.dirname(directory)
    return path


def of(vault: Vault) -> Switches:
    """What the vault's settings say. Reading them takes as long as capturing, so that is done only where they speak of hooks."""
    data = b""
    with suppress(CortexError, OSError):  # told by others
        data = files.read(vault.root, SETTINGS, _MOST)
    if b"hooks" not in data or not any(
        line.lstrip(b"[ \t\"'").startswith(b"hooks") for line in data.splitlines()
    ):
        return Switches()
    from cortex.vault import settings  # noqa: PLC0415  as said

    held = settings.load(vault.root)
    return Switches(held.hooks, held.prompts)
