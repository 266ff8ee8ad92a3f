"""What a fresh clone needs at its first command."""

from __future__ import annotations

from cortex.core.model.problem import CortexError
from cortex.vault import foreign_settings, settings
from cortex.vault.git import drivers
from cortex.vault.locate import Vault


def set_up_clone(vault: Vault) -> list[str]:
    """Register our merge drivers: git copies no configuration. The lines that say so to a person; none where they are
    registered, or cannot be: then `cortex doctor` names what is missing."""
    if settings.load(vault.root).refusal:
        return []  # records of a newer format are not ours to merge
    try:
        if not drivers.register(vault.root):
            return []
        names = foreign_settings.list_agent_settings(vault.root)
    except (CortexError, OSError):
        return []
    registered = (
        "in this clone git now merges Cortex's notes field by field; cortex git remove undoes that"
    )
    return [registered, *([foreign_settings.agent_settings_notice(names)] if names else [])]
