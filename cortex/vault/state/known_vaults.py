"""The vaults that this user has used on this machine, and which of them a request means.

A file `root` in the state folder of a vault holds its path. `init` and the first command that reads
write it; a capture does not. What a model or a client says chooses among these vaults alone.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress

from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.core.text.value import NamedTuple
from cortex.vault import locate, private, user_folders
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.user_settings import WORKSPACE_VARIABLE

_FILE = "root"
_MAX_BYTES = 10_000
# How hosts name the folders of a workspace: `cortex mcp install` writes the first into settings,
# Claude Code and Cursor set the others.
_VARIABLES = (WORKSPACE_VARIABLE, "CLAUDE_PROJECT_DIR", "WORKSPACE_FOLDER_PATHS")


class KnownVault(NamedTuple):
    """A vault of this machine."""

    name: str  # of its project
    root: str


class Workplace(NamedTuple):
    """Where a request works."""

    vault: Vault
    folder: str  # whose project and branch it means


def remember(root: str) -> None:
    """Note that this vault is used here. Raises nothing for a folder that cannot be written."""
    path = os.path.join(user_folders.vault_folder_path("state", root), _FILE)
    if not os.path.exists(path):
        with suppress(OSError):
            user_folders.ensure_vault_folder("state", root)
            private.replace(path, os.fsencode(root))


def list_vaults() -> list[KnownVault]:
    """The vaults that are still there, by name; two of one name are called by their paths."""
    there = sorted((_project_name(root), root) for root in filter(locate.is_vault, _roots()))
    names = [name for name, _ in there]
    return [KnownVault(name if names.count(name) == 1 else root, root) for name, root in there]


def find_workplace(
    named: str, cwd: str, environ: Mapping[str, str], folders: Iterable[str] = (), wanted: str = ""
) -> Workplace:
    """The vault of one request and the folder that it works in.

    `wanted` is the name or the path of a vault of this machine, as the request says it; `folders` are
    those of the client's workspace, paths or `file:` addresses. Without `wanted` the first of these
    counts that lies in a vault, then the folders that the environment names, then `cwd`; then the
    user's default. Where `named` or $CORTEX_VAULT binds the server to a vault, no request leaves it.
    Raises `NotFoundError`, which names the vaults of this machine, and `InvalidInputError`."""
    set_ = (path for name in _VARIABLES for path in environ.get(name, "").split(","))
    workspace = [*filter(None, map(_local_path, (*folders, *set_)))]
    folder = next(filter(os.path.isdir, workspace), cwd)
    if named or environ.get("CORTEX_VAULT"):
        vault = locate.find_vault(named, cwd, environ)
        if wanted and not _is_called(vault.root, wanted):
            hint = "leave the argument vault out, or start cortex mcp without --vault"
            raise InvalidInputError(f"this server answers for {vault.root} alone", hint)
        return Workplace(vault, folder)
    if wanted:
        root = _choose(wanted)
        return Workplace(Vault(root), _folder_of_work(root))
    for place in (*workspace, cwd):
        if root := locate.nearest_vault_root(place):
            return Workplace(Vault(root), place)
    try:
        return Workplace(locate.find_vault("", folder, {}), folder)
    except NotFoundError as error:
        known = _listed()
        raise NotFoundError(error.message, known or error.hint) from None


def _choose(wanted: str) -> str:
    """The root of the vault that is called so. `NotFoundError`, or `InvalidInputError` for two."""
    called = sorted(root for root in _roots() if _is_called(root, wanted))
    there = [root for root in called if locate.is_vault(root)]
    if len(there) == 1:
        return there[0]
    if there:
        hint = f"give one of these paths: {', '.join(there)}"
        raise InvalidInputError(f"{len(there)} vaults are called {wanted!r}", hint)
    why = f"the vault {called[0]} is gone" if called else f"there is no vault {wanted!r} here"
    raise NotFoundError(why, _listed() or "cortex init makes one")


def _listed() -> str:
    """The vaults to choose from, as a hint; empty without any."""
    known = ", ".join(f"{one.name} ({one.root})" for one in list_vaults())
    return f"choose by the argument vault: {known}" if known else ""


def _is_called(root: str, wanted: str) -> bool:
    names = (root, os.path.basename(_folder_of_work(root)), _project_name(root))
    return wanted in names or os.path.expanduser(wanted) == root


def _folder_of_work(root: str) -> str:
    """The folder whose commands use this vault: the one around it where it lies in a project."""
    return os.path.dirname(root) if os.path.basename(root) == "vault" else root


def _project_name(root: str) -> str:
    folder = _folder_of_work(root)
    return checkout.project_of(folder) or os.path.basename(folder)


def _roots() -> set[str]:
    """Of the vaults that state folders name, and of the default one, whether they are there or not."""
    states, found = user_folders.user_folder("state"), {locate.default_vault_root()}
    for name in os.listdir(states) if os.path.isdir(states) else ():
        root = os.fsdecode(private.read(os.path.join(states, name, _FILE), _MAX_BYTES))
        # No copy of a state folder names a vault.
        if "\0" not in root and user_folders.vault_folder_path("state", root).endswith(f"/{name}"):
            found.add(root)
    return found - {""}


def _local_path(folder: str) -> str:
    """The path of a folder that may be given as an address; empty for one of another machine, and for
    a variable that a host did not know and handed on as it stands in its settings."""
    if folder.startswith("file:"):
        from urllib.parse import unquote, urlsplit  # noqa: PLC0415  3 ms, for clients that have roots

        address = urlsplit(folder)
        folder = unquote(address.path) if address.netloc in ("", "localhost") else ""
    return folder if os.path.isabs(folder) and "\0" not in folder else ""
