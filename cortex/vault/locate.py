"""Which vault a command means."""

from __future__ import annotations

import os
from _collections_abc import Mapping

from cortex.core.model.layout import Layout
from cortex.core.model.problem import InvalidInputError, NotFoundError, Problem
from cortex.core.text.value import NamedTuple
from cortex.vault import files, user_folders
from cortex.vault.layout import SETTINGS_FILE, layout_of

_MAX_BYTES = 10_000  # bytes of the file that names the default vault
_MAX_SHOWN = 1_000  # characters of its path


class Vault(NamedTuple):
    """An existing vault: its root, an absolute path without links."""

    root: str
    is_explicit: bool = False  # by --vault or $CORTEX_VAULT: whoever did so means this one alone
    # `default_vault_root` of whoever asks, when that is not this process.
    default_root: str | None = None

    def file(self, path: str) -> str:
        """The absolute path of a path in it."""
        return os.path.join(self.root, path)

    def layout(self) -> Layout:
        """Where Cortex's own folders lie in it."""
        return layout_of(self.root)

    def cache_folder(self) -> str:
        """The private folder of what can be rebuilt."""
        return user_folders.ensure_vault_folder("cache", self.root)

    def state_folder(self) -> str:
        """The private folder of what is known of sessions, and of locks."""
        return user_folders.ensure_vault_folder("state", self.root)


def find_vault(named: str, cwd: str, environ: Mapping[str, str]) -> Vault:
    """The vault that `--vault` names, else `$CORTEX_VAULT`, else the nearest `cortex.toml` upwards,
    else the nearest `vault/cortex.toml` upwards, else the user's default. Or `NotFoundError`."""
    for source, path in (("--vault", named), ("$CORTEX_VAULT", environ.get("CORTEX_VAULT", ""))):
        if path:
            vault = _vault_at(os.path.join(cwd, os.path.expanduser(path)), source)
            return vault._replace(is_explicit=True)
    if root := nearest_vault_root(cwd):
        return Vault(root)
    if default := default_vault_root():
        return _vault_at(default, f"the default in {default_vault_file()}")
    if fault := default_vault_fault():
        message = f"{default_vault_file()}, which names your default vault, {fault}"
        raise InvalidInputError(message, "cortex init DIR --default writes it anew")
    hint = "cortex init makes one here; --vault DIR or $CORTEX_VAULT names one elsewhere"
    raise NotFoundError(f"there is no vault in {cwd} or above it", hint)


def nearest_vault_root(folder: str) -> str:
    """The nearest vault in `folder` or above it, else the nearest subfolder `vault` that is one; empty if
    there is neither."""
    for below in ("", "vault"):
        for directory in files.folder_and_parents(os.path.realpath(folder)):
            if is_vault(os.path.join(directory, below)):
                return os.path.realpath(os.path.join(directory, below))
    return ""


def real_folder(cwd: str, directory: str) -> str:
    """The real path of the folder that `directory` names. Raises `InvalidInputError`."""
    if "\0" in directory:
        raise InvalidInputError(f"{directory!r} is no folder", "a name holds no NUL")
    return os.path.realpath(os.path.join(cwd, os.path.expanduser(directory)))


def default_vault_file() -> str:
    """The file whose one line names the user's default vault."""
    return os.path.join(user_folders.user_folder("config"), "default-vault")


def default_vault_root() -> str:
    """The path of the user's default vault, without links if it is absolute; empty when none is set."""
    text = files.read_bounded(default_vault_file(), _MAX_BYTES, follow=True)
    named = os.fsdecode(text.partition(b"\n")[0].strip())
    return os.path.realpath(named) if os.path.isabs(named) and "\0" not in named else named


def default_vault_fault() -> str:
    """Why the file that names the default vault is not read; empty when it is or is missing."""
    return files.why_unreadable(default_vault_file(), follow=True)


def is_own(vault: Vault) -> bool:
    """Whether this is the vault that the person named as their own."""
    return _named_root(vault) == vault.root


def find_personal_vault(vault: Vault) -> Vault | None:
    """The person's default vault beside `vault`; None when there is none, it is this one, or it
    cannot be used (`personal_vault_problem`). Raises nothing."""
    root = _personal_root(vault)
    if not root or _personal_fault(root):
        return None
    return Vault(root, default_root=vault.default_root)


def personal_vault_problem(vault: Vault) -> Problem | None:
    """Why the person's own vault cannot be used though they have named one."""
    root = _personal_root(vault)
    if not root or not (fault := _personal_fault(root)):
        return None
    hint = "cortex init DIR --default names another one"
    return Problem(root, f"{fault}, though it is named as your own vault", hint)


def _personal_root(vault: Vault) -> str:
    """The default vault's path without links; empty when none is named or it is `vault` itself."""
    root = _named_root(vault)
    return "" if root == vault.root else root


def _named_root(vault: Vault) -> str:
    return default_vault_root() if vault.default_root is None else vault.default_root


def _personal_fault(root: str) -> str:
    """Why a folder cannot be the person's own vault. A relative path would mean another one in
    every folder, perhaps one that came with somebody's repository."""
    if not os.path.isabs(root):
        return "is no absolute path"
    return "" if is_vault(root) else "is no vault" if os.path.isdir(root) else "is no folder"


def is_vault(directory: str) -> bool:
    """Whether a folder has the settings of a vault."""
    return os.path.isfile(os.path.join(directory, SETTINGS_FILE))


def _vault_at(directory: str, source: str) -> Vault:
    if not is_vault(directory):
        settings = os.path.join(directory, SETTINGS_FILE)
        if os.path.lexists(settings):
            fault = files.why_unreadable(settings) or "is a link that leads nowhere"
            hint = f"restore the file, or remove it and run: cortex init {directory}"
            raise InvalidInputError(f"{settings} (from {source}) {fault}", hint)
        what = "is no vault" if os.path.isdir(directory) else "is no folder"
        hint = f"cortex init {directory} makes it one"
        # A message has its bound, and the source has to be read.
        raise NotFoundError(f"{directory[:_MAX_SHOWN]} (from {source}) {what}", hint)
    return Vault(os.path.realpath(directory))
