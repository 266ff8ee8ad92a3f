"""The verb `tui`: look at the vault in the terminal; and its search, to choose one note by."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import Any

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import QueryText
from cortex.core.model.problem import CortexError, InvalidInputError
from cortex.core.text.value import NamedTuple
from cortex.vault.extra import TUI, require
from cortex.vault.locate import Vault


class TuiResult(NamedTuple):
    """The view has ended."""

    file: str = ""  # absolute path of the note that was chosen, where one was to be


def tui(vault: Vault, caller: Caller, query: QueryText = "") -> TuiResult:
    """Look at the vault in the terminal, and act on what you see.

    1 is home with the briefing, 2 recent notes, 3 sessions, 4 the archive, 5 problems, 6 runs of
    agents. / or s searches as you type. Enter opens a note, session or run; t shows what was noted
    around it, g what it is connected to. d marks an action as done, p pins, a archives, r restores,
    u takes a change back. Esc or q goes back, ? lists the keys. It needs the package textual, an extra.

    query: what to search for at once; without it home opens

    Example: cortex tui type:decision cart
    """
    require("cortex tui", TUI)
    if not is_usable():
        hint = "cortex status and cortex search print what it shows"
        raise InvalidInputError("cortex tui needs a terminal in which a cursor moves", hint)
    return view(vault, caller.cwd, query)


def is_usable() -> bool:
    """Whether the extra is there, and a person at a terminal in which a cursor moves."""
    is_terminal = all(stream and stream.isatty() for stream in (sys.stdin, sys.stderr))
    is_dumb = os.environ.get("TERM", "") in ("", "dumb", "unknown")
    return is_terminal and not is_dumb and find_spec("textual") is not None


def view(vault: Vault, cwd: str, query: str, picks: Any = None) -> TuiResult:
    """Show the vault until the person leaves. With `picks`, what a search is given, they choose a note."""
    # 0.3 s of Textual, which no other command pays for.
    from cortex.interfaces.tui.app import VaultApp  # noqa: PLC0415
    from cortex.watcher.scan_memory import remembered_scans  # noqa: PLC0415

    app = VaultApp(vault, cwd, query, picks)
    with remembered_scans():
        app.run()
        app.writer.shutdown()
    if app.return_code:
        raise CortexError("the view ended with a fault", "cortex search finds what it shows")
    return TuiResult(app.return_value or "")
