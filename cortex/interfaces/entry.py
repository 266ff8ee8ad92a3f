"""The `cortex` command. A hook is told apart before anything is imported: it runs on every turn of an agent."""

from __future__ import annotations

import sys


def console() -> None:
    """Run the hook, or the command line."""
    if sys.argv[1:2] == ["hook"]:
        from cortex.interfaces.hook.main import console as hook  # noqa: PLC0415

        hook(sys.argv[2:])
    else:
        from cortex.interfaces.cli.main import console as command  # noqa: PLC0415

        command()
