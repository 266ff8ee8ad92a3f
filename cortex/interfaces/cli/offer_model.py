"""Ask once, on a terminal, whether the program of a host may distill sessions."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence

from cortex.core.model.problem import CortexError
from cortex.hosts.table import HOSTS
from cortex.interfaces.escape_terminal import escape
from cortex.vault import user_folders, user_settings
from cortex.vault.state import store

_DECLINED_FILE = "distill-declined"  # in the folder of all states
_TERMS = (
    "It would be sent what was said and done in a session, without secrets, after its end: up to"
    " 60,000 tokens, three times for a long one, at most 20 times and 2 dollars a day."
)


def ask(hosts: Sequence[str]) -> None:
    """Ask whether the first of these hosts whose program is on the PATH may distill sessions, and
    write it into the user's own settings. Nothing is asked without a terminal, or where the user
    has answered before."""
    command = _find_command(hosts)
    if not command or not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return
    print(f"\nMay {command[0]} say of each session what is worth knowing? {_TERMS}")
    print(f"It would run: {escape(shlex.join(command))}")
    try:
        is_yes = input("[y/N] ").strip().lower() in ("y", "yes")
        path = user_settings.add_distill_command(command) if is_yes else _decline()
    except EOFError:
        return
    except (CortexError, OSError) as error:
        print(f"not written: {escape(str(error))}")
        return
    after = "auto = false below [distill] leaves it to cortex distill"
    print(
        f"{escape(path)}: {after}"
        if is_yes
        else "no; cortex distill --help says how to begin later"
    )


def _find_command(hosts: Sequence[str]) -> tuple[str, ...]:
    settings, problems = user_settings.load_distill()
    if settings.command or problems or os.path.lexists(_declined_path()):
        return ()
    commands = (HOSTS[name].model_command for name in hosts if name in HOSTS)
    return next((one for one in commands if one and shutil.which(one[0])), ())


def _decline() -> str:
    """Remember that the user wants none; the path of the file that says so."""
    os.makedirs(os.path.dirname(_declined_path()), mode=0o700, exist_ok=True)
    store.replace(_declined_path(), b"")
    return _declined_path()


def _declined_path() -> str:
    return os.path.join(user_folders.user_folder("state"), _DECLINED_FILE)
