"""Which vault a command means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from cortex.core.problem import NotFound
from cortex.vault import places
from cortex.vault.layout import SETTINGS


class Vault(NamedTuple):
    """An existing vault: its root, an absolute path without links."""

    root: str

    def cache(self) -> str:
        """The private folder of what can be rebuilt."""
        return places.vault_folder("cache", self.root)

    def state(self) -> str:
        """The private folder of locks."""
        return places.vault_folder("state", self.root)


def find_vault(named: str, cwd: str, environ: Mapping[str, str]) -> Vault:
    """The vault that `--vault` names, else `$CORTEX_VAULT`, else the nearest `cortex.toml` upwards, else the nearest
    `vault/cortex.toml` upwards, else the user's default. Raises `NotFound` when there is none."""
    for source, path in (("--vault", named), ("$CORTEX_VAULT", environ.get("CORTEX_VAULT", ""))):
        if path:
            return _vault_at(os.path.join(cwd, os.path.expanduser(path)), source)
    for below in ("", "vault"):
        directory = os.path.realpath(cwd)
        while True:
            if _is_vault(os.path.join(directory, below)):
                return Vault(os.path.realpath(os.path.join(directory, below)))
            if directory == os.path.dirname(directory):
                break
            directory = os.path.dirname(directory)
    if default := default_vault():
        return _vault_at(default, f"the default in {default_file()}")
    raise NotFound(f"there is no vault in {cwd} or above it", "cortex init makes one here; --vault DIR or $CORTEX_VAULT names one elsewhere")


def default_file() -> str:
    """The file whose one line names the user's default vault."""
    return os.path.join(places.user_folder("config"), "default-vault")


def default_vault() -> str:
    """The path of the user's default vault; empty when none is set."""
    try:
        with open(default_file(), "rb") as file:
            return os.fsdecode(file.readline().strip())
    except OSError:
        return ""


def _is_vault(directory: str) -> bool:
    return os.path.isfile(os.path.join(directory, SETTINGS))


def _vault_at(directory: str, source: str) -> Vault:
    if not _is_vault(directory):
        what = "is no vault" if os.path.isdir(directory) else "is no folder"
        raise NotFound(f"{directory} (from {source}) {what}", f"cortex init {directory} makes it one")
    return Vault(os.path.realpath(directory))
