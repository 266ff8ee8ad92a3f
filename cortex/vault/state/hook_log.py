"""When each hook ran last, how long it took and what kept it from its work: a log in the user's state folder.

One run is one line. No text of what a host told is ever in it. Standard library only: every hook writes it.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress

from cortex.core.model.problem import CortexError, Problem
from cortex.core.text.value import NamedTuple
from cortex.vault.locate import Vault
from cortex.vault.state import store
from cortex.vault.state.spool import list_entries

LOG_FILE, OLD_LOG_FILE = "hooks.log", "hooks.old"
_MAX_LOG_BYTES = 200_000  # bytes; then it becomes the old one
_MAX_PROBLEM_CHARS = 300  # characters of a problem
TRANSCRIPT_EVENT = "transcript"  # in the place of an event: what was passed over for good. There is nothing to mend, so it is told
_RECENT_SECONDS = 3 * 24 * 3600  # for so many seconds
_MAX_READ_BYTES = 1 << 22  # bytes of a log


class HookRun(NamedTuple):
    """The last run of a hook."""

    at: str
    ms: int
    problem: str  # empty when it did what it should


def append(  # noqa: PLR0917  the columns of a line
    vault: Vault, now: str, host: str, event: str, ms: int, problem: str = "", hint: str = ""
) -> None:
    """Append a run. Raises `OSError` or `InvalidInputError` where the log cannot be written."""
    fields = (
        now,
        host,
        event,
        str(ms),
        *(" ".join(text.split())[:_MAX_PROBLEM_CHARS] for text in (problem, hint)),
    )
    path = os.path.join(vault.state_folder(), LOG_FILE)
    fd = store.open_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        # A line begins with its line end: one that was cut off by a full disk spoils no other.
        os.write(fd, ("\n" + "\t".join(fields) + "\t").encode("utf-8", "backslashreplace"))
        if os.fstat(fd).st_size > _MAX_LOG_BYTES:
            with suppress(BlockingIOError):  # somebody else is at it
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.lstat(path).st_ino == os.fstat(fd).st_ino:
                    os.rename(path, os.path.join(vault.state_folder(), OLD_LOG_FILE))
    finally:
        os.close(fd)


def last_runs(vault: Vault) -> dict[tuple[str, str], HookRun]:
    """The last run of every (host, event) that is known. Raises nothing."""
    return {key: ran for key, (ran, _) in _read_runs(vault).items()}


def problems(vault: Vault) -> list[Problem]:
    """The hooks that could not do their work when they ran last, and what waits for room."""
    lately = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - _RECENT_SECONDS))
    found = [
        Problem(
            "hooks",
            f"{event} of {host} at {ran.at}: {ran.problem}",
            hint or "mend that; the next hook takes what this one left",
        )
        for (host, event), (ran, hint) in sorted(_read_runs(vault).items())
        if ran.problem and (event != TRANSCRIPT_EVENT or ran.at > lately)
    ]
    with suppress(CortexError, OSError):  # a state folder that is not ours is told by others
        if aside := len(list_entries(vault).unsent_events):
            found.append(
                Problem(
                    "hooks",
                    f"{aside:,} events found no room in the vault and wait beside it",
                    "make room, then cortex normalize",
                )
            )
    return found


def _read_runs(vault: Vault) -> dict[tuple[str, str], tuple[HookRun, str]]:
    """The last runs, each with what is to be done about its problem."""
    found: dict[tuple[str, str], tuple[HookRun, str]] = {}
    for name in (OLD_LOG_FILE, LOG_FILE):
        text = store.read(os.path.join(vault.state_folder(), name), _MAX_READ_BYTES).decode(
            "utf-8", "replace"
        )
        for line in text.split("\n"):
            fields = line.split("\t")
            if len(fields) == 7 and fields[3].isdecimal() and fields[3].isascii():
                at, host, event, ms, problem, hint, _ = fields
                found[host, event] = HookRun(at, int(ms), problem), hint
    return found
