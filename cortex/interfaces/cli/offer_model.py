"""Ask on a terminal whether the program of a host may distill sessions."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from cortex.core.model.problem import CortexError
from cortex.interfaces.escape_terminal import escape
from cortex.operations.distill import offer


def ask(hosts: Sequence[str]) -> None:
    """Ask once; without a terminal, or where the user has chosen before, nothing is said."""
    streams = (sys.stdin, sys.stdout)
    if not all(one is not None and one.isatty() for one in streams):
        return
    command = offer.find_offer(hosts)
    if not command:
        return
    print(f"\nMay {command[0]} say after each session what is worth knowing of it? {offer.TERMS}")
    print(f"It would run: {escape(shlex.join(command))}")
    try:
        said = input("[y/N] ").strip().lower()
    except EOFError:
        return
    if said not in ("y", "yes"):
        offer.decline()
        print("no; cortex distill --help says how to begin later")
        return
    try:
        print(
            f"written to {escape(offer.accept(command))}; auto = false there keeps it for by hand"
        )
    except (CortexError, OSError) as error:
        print(f"not written: {escape(str(error))}")
