"""Start a command that goes on by itself. Light: asking for a run is mostly starting it."""

from __future__ import annotations

import os
import subprocess
import sys

from cortex.vault.locate import Vault

GUARD_VARIABLE = "CORTEX_HOOK"  # set in hooks, and in what they and models start


def start_detached(vault: Vault, verb: str, *words: str) -> None:
    """Start a command on a vault that goes on by itself, in silence."""
    words = (sys.executable, "-m", "cortex", verb, *words, "--json", "--vault", vault.root)
    # The shell ends at once, so that nobody has to wait for its child.
    subprocess.run(
        ["/bin/sh", "-c", '"$@" </dev/null >/dev/null 2>&1 &', "sh", *words],
        start_new_session=True,
        env={**os.environ, GUARD_VARIABLE: verb},
        check=False,
    )
