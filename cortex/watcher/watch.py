"""The verb `watch`: run the watcher of a vault, ask for its status, stop it, print its unit."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Annotated, Literal

from cortex.core import __version__
from cortex.core.model.caller import Caller
from cortex.core.model.parameters import Between
from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError
from cortex.core.text.value import NamedTuple
from cortex.operations.share.units import render_unit
from cortex.vault.locate import Vault
from cortex.watcher import protocol
from cortex.watcher.protocol import CommandAnswerer
from cortex.watcher.running_watcher import RunningWatcher, WatcherStatus, running_watcher

_MAX_QUIET_SECONDS = 3600
_STOP_TIMEOUT_SECONDS = 60.0  # the last commit may have to wait for hooks
_REQUEST_TIMEOUT_SECONDS = 5.0


class WatchResult(NamedTuple):
    """The answer of `watch`. `refused` means exit code 1."""

    running: bool  # a watcher runs now
    refused: bool = False
    text: str = ""  # a unit, or why the watcher ended
    standing: WatcherStatus | None = None

    def lines(self) -> Iterable[str]:
        """For a person."""
        if self.text:
            yield from self.text.rstrip("\n").split("\n")
        if (status := self.standing) is None:
            return
        why = f" ({status.why})" if status.why else ""
        yield f"running since {status.since} as process {status.pid}, by {status.how}{why}"
        done = status.last_pass or "under way"
        yield f"  last pass {done}, {status.notes:,} notes, {status.answered:,} requests answered"
        yield f"  autocommit {status.autocommit}, {status.waiting:,} changes waiting to be committed"
        for uncommitted in status.held:
            yield f"  not committed yet: {uncommitted}"
        for problem in status.problems:
            yield f"  {problem}"
        if status.version != __version__:
            versions = f"it is cortex {status.version}, this is {__version__}"
            yield f"  {versions}: end it with cortex watch --stop and start it again"


def watch(
    vault: Vault, caller: Caller, answer_command: CommandAnswerer, say: Callable[[str], None],
    *, status: bool = False, stop: bool = False, poll: bool = False, quiet: Annotated[int, Between(0, _MAX_QUIET_SECONDS)] = 5,
    unit: Literal["", "systemd", "launchd"] = "",
) -> WatchResult:  # fmt: skip
    """Keep the vault fresh until ended.

    Whenever it is quiet: normalize, index, heal and commit. It runs in the foreground; ctrl-C ends
    it. One runs for each vault, and answers searches while it does. It commits where the vault is a
    repository of its own; `autocommit = true` or `false` below [sync] in cortex.toml decides
    otherwise.

    status: ask the watcher that runs how it stands; exit code 1 when none runs
    stop: end the watcher that runs
    poll: look for changes every two seconds instead of relying on file events
    quiet: seconds without a change before an automatic commit
    unit: print what starts it with your session: systemd or launchd

    Example: cortex watch
    Example: cortex watch --status
    """
    if status + stop + bool(unit) > 1:
        hint = "cortex watch --status"
        raise InvalidInputError("--status, --stop and --unit exclude each other", hint)
    if unit:
        running = running_watcher(vault) is not None
        return WatchResult(running, text=render_unit(unit, vault.root))
    if status:
        return _query_status(vault)
    if stop:
        return _stop_watcher(vault)
    # Asking a watcher needs neither index, socket nor watchdog.
    from cortex.watcher.daemon import run_daemon  # noqa: PLC0415

    ended = run_daemon(vault, caller, answer_command, say, quiet=quiet, poll=poll)
    return WatchResult(running=False, refused=bool(ended), text=ended)


def _query_status(vault: Vault) -> WatchResult:
    if (runs := running_watcher(vault)) is None:
        text = "no watcher runs: cortex watch starts one"
        return WatchResult(running=False, refused=True, text=text)
    fields = _exchange(vault, protocol.STATE)
    is_whole = fields is not None and len(fields) == 2 and fields[0] == protocol.DONE
    status = WatcherStatus.decode(fields[1]) if fields and is_whole else None
    if status is None:
        silent = f"process {runs.pid} watches since {runs.since}, but does not say how it stands"
        text = f"{silent}; it may be reading a large vault for the first time"
        return WatchResult(running=True, text=text)
    return WatchResult(running=True, standing=status)


def _exchange(vault: Vault, kind: bytes) -> list[bytes] | None:
    seconds = _REQUEST_TIMEOUT_SECONDS
    return protocol.exchange(vault.root, [kind], seconds, seconds)


def _stop_watcher(vault: Vault) -> WatchResult:
    runs = running_watcher(vault)
    if runs is None:
        return WatchResult(running=False, refused=True, text="no watcher runs")
    if _exchange(vault, protocol.STOP) is None:
        _terminate(vault, runs)
    deadline = time.monotonic() + _STOP_TIMEOUT_SECONDS
    while running_watcher(vault) == runs:
        if time.monotonic() > deadline:
            message = f"process {runs.pid} has not ended within {_STOP_TIMEOUT_SECONDS:g} seconds"
            raise CortexError(message, f"kill {runs.pid}")
        time.sleep(0.05)
    return WatchResult(running=False, text=f"process {runs.pid} has ended")


def _terminate(vault: Vault, runs: RunningWatcher) -> None:
    """Send SIGTERM. The id in the lock file is the watcher's only while the lock is held."""
    if not runs.pid or running_watcher(vault) != runs:
        raise ConflictError("the watcher is just starting or ending", "run the command again")
    with suppress(ProcessLookupError):
        os.kill(runs.pid, signal.SIGTERM)
