"""The `cortex` command; a hook, which runs on every turn of an agent, imports nothing of `cli`."""

from __future__ import annotations

import sys


def console() -> None:
    """Run the hook, or the command line; each imports nothing of the other."""
    if sys.argv[1:2] == ["hook"]:
        from cortex.interfaces.hook.main import console as hook  # noqa: PLC0415

        hook(sys.argv[2:])
    else:
        from cortex.interfaces.cli.main import console as command  # noqa: PLC0415

        command()
