"""The person's own vault, where what is theirs alone is kept."""

from __future__ import annotations

import os

from cortex.core.model.problem import InvalidInputError
from cortex.operations.upkeep.vault_files import add_vault_files, set_default_vault
from cortex.vault import user_folders
from cortex.vault.locate import (
    Vault,
    find_personal_vault,
    is_own,
    personal_vault_problem,
    real_folder,
)


def ensure_personal_vault(vault: Vault) -> tuple[Vault, str]:
    """The vault in which a personal or global record is saved, and what to say of it.

    That is the person's own vault, if they have one; else one that is made now in their data folder.
    Raises `InvalidInputError` if theirs cannot be used.
    """
    if is_own(vault):
        return vault, ""
    if own := find_personal_vault(vault):
        return own, f"in your own vault, {own.root}"
    if problem := personal_vault_problem(vault):
        raise InvalidInputError(f"{problem.where} {problem.message}", problem.hint)
    root = real_folder(user_folders.user_folder("data"), "vault")
    os.makedirs(root, exist_ok=True)
    add_vault_files(root)
    set_default_vault(root)
    made = f"in a vault of your own, made now: {root} (cortex init DIR --default names another)"
    return Vault(root), made
