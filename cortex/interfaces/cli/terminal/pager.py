"""Long answers through the person's pager, as git has it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import TextIO

from cortex.interfaces.cli.terminal.view import View

_NOT_EXECUTABLE, _NO_COMMAND = 126, 127  # exit codes of a shell


def print_paged(text: str, view: View, out: TextIO) -> None:
    """Print an answer to a terminal: what is longer than the screen through $CORTEX_PAGER, $PAGER
    or less. Without a pager, and where it cannot run, the text comes as it is."""
    is_long = view.height and text.count("\n") >= view.height
    if not (is_long and sys.stdin and sys.stdin.isatty() and _run_pager(text)):
        out.write(text)


def _run_pager(text: str) -> bool:
    """Show a text by the pager, in a shell as git does. False, with nothing shown, without one."""
    names = ("CORTEX_PAGER", "PAGER")
    command = next((os.environ[name] for name in names if name in os.environ), "less")
    if command.strip() in ("", "cat"):
        return False
    environ = {"LESS": "FRX", "LV": "-c"} | os.environ
    pager = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, env=environ)
    with suppress(BrokenPipeError):  # the reader has seen enough
        pager.communicate(text.encode("utf-8", "backslashreplace"))
    while True:
        with suppress(KeyboardInterrupt):  # ends a search in the pager, not the pager
            return pager.wait() not in (_NOT_EXECUTABLE, _NO_COMMAND)
