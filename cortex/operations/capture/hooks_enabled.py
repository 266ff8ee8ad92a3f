"""Whether hooks do anything: what the person, the folder and the vault say."""

from __future__ import annotations

import os
from _collections_abc import Mapping

from cortex.core.model.problem import CortexError
from cortex.core.text.light import suppress
from cortex.core.text.value import NamedTuple
from cortex.vault import files, overrides
from cortex.vault.layout import SETTINGS_FILE, sound_settings
from cortex.vault.locate import Vault

OFF_FILE = ".cortex-off"
_MAX_SETTINGS_BYTES = 64 * 1024  # bytes of the settings


class HookSettings(NamedTuple):
    """What a vault says of hooks."""

    enabled: bool = True
    prompts: str = "short"  # what is kept of what the user asks: none, short or full
    contract: bool = True  # whether a session is told at its start how to mark what is to be kept


def is_switched_off(environ: Mapping[str, str], cwd: str) -> bool:
    """Whether hooks are switched off, for this process or for this folder and those below it."""
    return environ.get("CORTEX_OFF", "") not in ("", "0") or bool(find_off_file(cwd))


def find_off_file(cwd: str) -> str:
    """The file that switches hooks off in this folder; empty where none does."""
    folders = files.folder_and_parents(os.path.realpath(cwd))
    return next(filter(os.path.lexists, (os.path.join(one, OFF_FILE) for one in folders)), "")


def read_settings(vault: Vault) -> HookSettings:
    """What the vault's settings say of hooks. They are parsed only if a line begins with `hooks`:
    parsing takes as long as a capture."""
    data = b""
    with suppress(CortexError, OSError):  # told by others
        data = files.read(vault.root, SETTINGS_FILE, _MAX_SETTINGS_BYTES)
    data += b"\n" + sound_settings(vault.root)  # which hold if these are broken
    if not overrides.said("hooks") and not any(
        line.lstrip(b"[ \t\"'").startswith(b"hooks") for line in data.splitlines()
    ):
        return HookSettings()
    from cortex.vault import settings  # noqa: PLC0415  tomllib, see above

    loaded = settings.load(vault.root)
    return HookSettings(loaded.hooks_enabled, loaded.prompts, loaded.tells_contract)
