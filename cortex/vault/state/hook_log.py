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
from cortex.vault.state.spool import waiting

LOG, OLD = "hooks.log", "hooks.old"
_FULL = 200_000  # bytes; then it becomes the old one
_LONGEST = 300  # characters of a problem
TRANSCRIPT = "transcript"  # in the place of an event: what was passed over for good. There is nothing to mend, so it is told
_LATELY = 3 * 24 * 3600  # for so many seconds
_MOST_READ = 1 << 22  # bytes of a log


class Ran(NamedTuple):
    """The last run of a hook."""

    at: str
    ms: int
    problem: str  # empty when it did what it should


def note(  # noqa: PLR0917  the columns of a line
    vault: Vault, now: str, host: str, event: str, ms: int, problem: str = "", hint: str = ""
) -> None:
    """Append a run. Raises `OSError` or `Invalid` where the log cannot be written."""
    fields = (
        now,
        host,
        event,
        str(ms),
        *(" ".join(text.split())[:_LONGEST] for text in (problem, hint)),
    )
    path = os.path.join(vault.state(), LOG)
    fd = store.open_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        # A line begins with its line end: one that was cut off by a full disk spoils no other.
        os.write(fd, ("\n" + "\t".join(fields) + "\t").encode("utf-8", "backslashreplace"))
        if os.fstat(fd).st_size > _FULL:
            with suppress(BlockingIOError):  # somebody else is at it
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.lstat(path).st_ino == os.fstat(fd).st_ino:
                    os.rename(path, os.path.join(vault.state(), OLD))
    finally:
        os.close(fd)


def last(vault: Vault) -> dict[tuple[str, str], Ran]:
    """The last run of every (host, event) that is known. Raises nothing."""
    return {key: ran for key, (ran, _) in _runs(vault).items()}


def problems(vault: Vault) -> list[Problem]:
    """The hooks that could not do their work when they ran last, and what waits for room."""
    lately = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - _LATELY))
    found = [
        Problem(
            "hooks",
            f"{event} of {host} at {ran.at}: {ran.problem}",
            hint or "mend that; the next hook takes what this one left",
        )
        for (host, event), (ran, hint) in sorted(_runs(vault).items())
        if ran.problem and (event != TRANSCRIPT or ran.at > lately)
    ]
    with suppress(CortexError, OSError):  # a state folder that is not ours is told by others
        if aside := len(waiting(vault).unsent):
            found.append(
                Problem(
                    "hooks",
                    f"{aside:,} events found no room in the vault and wait beside it",
                    "make room, then cortex normalize",
                )
            )
    return found


def _runs(vault: Vault) -> dict[tuple[str, str], tuple[Ran, str]]:
    """The last runs, each with what is to be done about its problem."""
    found: dict[tuple[str, str], tuple[Ran, str]] = {}
    for name in (OLD, LOG):
        text = store.read(os.path.join(vault.state(), name), _MOST_READ).decode("utf-8", "replace")
        for line in text.split("\n"):
            fields = line.split("\t")
            if len(fields) == 7 and fields[3].isdecimal() and fields[3].isascii():
                at, host, event, ms, problem, hint, _ = fields
                found[host, event] = Ran(at, int(ms), problem), hint
    return found
