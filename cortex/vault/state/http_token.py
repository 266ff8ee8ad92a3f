"""The token that a request over HTTP must bring, in a file that no other user can read."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress

from cortex.core.model.problem import InvalidInputError
from cortex.vault import files, private, user_folders

VARIABLE = "CORTEX_MCP_TOKEN"  # holds another token, where a person sets it


def own_token() -> str:
    """The token of this user, made when there is none. Raises `OSError`, `InvalidInputError`."""
    folder = os.path.join(user_folders.user_folder("state"), "mcp")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    user_folders.check_private(folder)
    with suppress(FileExistsError):
        files.create(folder, "token", secrets.token_urlsafe().encode())
    path = os.path.join(folder, "token")
    if token := private.read(path, 1_000).decode("ascii", "ignore").strip():
        return token
    raise InvalidInputError(f"{path} holds no token", "remove it; Cortex makes a new one")
