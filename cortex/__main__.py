"""The `cortex` command, and `python -m cortex`; a hook, which runs on every turn of an agent,
imports nothing of `cli`."""

from __future__ import annotations

import sys

from cortex.operations import HOOK_ALIASES


def console() -> None:
    """Run the hook, or the command line; each imports nothing of the other."""
    first, *rest = sys.argv[1:] or [""]
    if first == "hook" or first in HOOK_ALIASES:
        from cortex.interfaces.hook.console import console as hook  # noqa: PLC0415

        # Earlier memories knew one host; a --host that is given counts.
        hook(rest if first == "hook" else ["--host", "claude", first, *rest])
    else:
        from cortex.interfaces.cli.main import console as command  # noqa: PLC0415

        command()


if __name__ == "__main__":
    console()
