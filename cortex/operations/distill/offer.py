"""Offer the program of a host as the model that distills sessions; a no is remembered."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from cortex.hosts.table import HOSTS
from cortex.vault import user_folders, user_settings
from cortex.vault.state import store

_DECLINED_FILE = "distill-declined"  # in the folder of all states
TERMS = (
    "It is sent what was said and done in a session, without secrets, some seconds after its end:"
    " up to 60,000 tokens, three times for a long one, and at most 20 times and 2 dollars a day."
)


def find_offer(hosts: Sequence[str]) -> tuple[str, ...]:
    """The command of the first of these hosts whose program is on the PATH; empty if the user has
    chosen before."""
    settings, problems = user_settings.load_distill()
    if settings.command or problems or os.path.lexists(_declined_path()):
        return ()
    commands = (HOSTS[name].model_command for name in hosts)
    return next((one for one in commands if one and shutil.which(one[0])), ())


def accept(command: tuple[str, ...]) -> str:
    """Write the command into the user's own settings; the path of their file."""
    return user_settings.add_distill_command(command)


def decline() -> None:
    """Remember that the user wants none."""
    os.makedirs(os.path.dirname(_declined_path()), mode=0o700, exist_ok=True)
    store.replace(_declined_path(), b"")


def _declined_path() -> str:
    return os.path.join(user_folders.user_folder("state"), _DECLINED_FILE)
