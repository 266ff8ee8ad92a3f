"""Start processes that go on by themselves, such as the one that distills what is due."""

from __future__ import annotations

import os
import subprocess
import sys

from cortex.vault import user_settings
from cortex.vault.locate import Vault

_GUARD_VARIABLE = "CORTEX_HOOK"  # set in hooks, and in what they and models start


def start_due(vault: Vault) -> bool:
    """Start a process that distills what is due, if the user has named a model; never in a hook."""
    if os.environ.get(_GUARD_VARIABLE) or not os.path.lexists(user_settings.settings_file()):
        return False
    settings, _ = user_settings.load_distill()
    if not settings.command or not settings.auto:
        return False
    start_detached(vault, "distill", "--due")
    return True


def start_detached(vault: Vault, verb: str, *words: str) -> None:
    """Start a command on a vault that goes on by itself, in silence."""
    words = (sys.executable, "-m", "cortex", verb, *words, "--json", "--vault", vault.root)
    # The shell ends at once, so that nobody has to wait for its child.
    subprocess.run(
        ["/bin/sh", "-c", '"$@" </dev/null >/dev/null 2>&1 &', "sh", *words],
        start_new_session=True,
        env={**os.environ, _GUARD_VARIABLE: verb},
        check=False,
    )
