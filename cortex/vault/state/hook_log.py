"""A log of hook runs in the user's state folder: when each ran, how long it took, and its problem.

One run is one line; no text of a session is in it. Standard library only: every hook writes it.
"""

from __future__ import annotations

import os
import time

from cortex.core.model.problem import CortexError, Problem
from cortex.core.text.light import suppress
from cortex.core.text.value import NamedTuple
from cortex.vault import private
from cortex.vault.locate import Vault
from cortex.vault.state.spool import list_entries

LOG_FILE, OLD_LOG_FILE = "hooks.log", "hooks.old"
TRANSCRIPT_EVENT = "transcript"  # instead of an event: lines that were left out for good
_MAX_LOG_BYTES = 200_000  # then it becomes the old one
_RECENT_SECONDS = 3 * 24 * 3600  # for which a problem that nothing mends is named
_MAX_READ_BYTES = 1 << 22


class HookRun(NamedTuple):
    """The last run of a hook."""

    at: str
    ms: int
    problem: str  # empty when it did what it should


def append(  # noqa: PLR0917  the columns of a line
    vault: Vault, now: str, host: str, event: str, ms: int, problem: str = "", hint: str = ""
) -> None:
    """Append a run. Raises `OSError` or `InvalidInputError` where the log cannot be written."""
    said = (" ".join(text.split())[:300] for text in (problem, hint))
    # A line begins with its line end: one that was cut off by a full disk spoils no other.
    line = "\n" + "\t".join((now, host, event, str(ms), *said, ""))
    folder = vault.state_folder()
    path = os.path.join(folder, LOG_FILE)
    if private.append(path, line.encode("utf-8", "backslashreplace")) > _MAX_LOG_BYTES:
        with suppress(FileNotFoundError):  # another hook has renamed it
            if os.lstat(path).st_size > _MAX_LOG_BYTES:
                os.rename(path, os.path.join(folder, OLD_LOG_FILE))


def last_runs(vault: Vault) -> dict[tuple[str, str], HookRun]:
    """The last run of every (host, event) that is known. Raises nothing."""
    return {key: ran for key, (ran, _) in _read_runs(vault).items()}


def problems(vault: Vault) -> list[Problem]:
    """The hooks that could not do their work when they ran last, and what waits for room."""
    lately = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - _RECENT_SECONDS))
    found = []
    for (host, event), (run, hint) in sorted(_read_runs(vault).items()):
        if run.problem and (event != TRANSCRIPT_EVENT or run.at > lately):
            message = f"{event} of {host} at {run.at}: {run.problem}"
            next_step = hint or "mend that; the next hook takes what this one left"
            found.append(Problem("hooks", message, next_step))
    with suppress(CortexError, OSError):  # a state folder that is not ours is told by others
        if unsent := len(list_entries(vault).unsent_events):
            message = f"{unsent:,} events found no room in the vault and wait beside it"
            found.append(Problem("hooks", message, "make room, then cortex normalize"))
    return found


def _read_runs(vault: Vault) -> dict[tuple[str, str], tuple[HookRun, str]]:
    """The last runs, each with what is to be done about its problem."""
    found: dict[tuple[str, str], tuple[HookRun, str]] = {}
    try:
        folder = vault.state_folder()
    except OSError:  # told by others
        return {}
    for name in (OLD_LOG_FILE, LOG_FILE):
        log = private.read(os.path.join(folder, name), _MAX_READ_BYTES)
        text = log.decode("utf-8", "replace")
        for line in text.split("\n"):
            fields = line.split("\t")
            if len(fields) == 7 and fields[3].isdecimal() and fields[3].isascii():
                at, host, event, ms, problem, hint, _ = fields
                found[host, event] = HookRun(at, int(ms), problem), hint
    return found
