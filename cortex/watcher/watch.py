"""The verb `watch`: run the watcher of a vault, ask it how it stands, end it, say how to install it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from cortex import __version__
from cortex.core.model.caller import Caller
from cortex.core.model.problem import Conflict, CortexError, Invalid
from cortex.vault.locate import Vault
from cortex.watcher import pidlock, protocol, service_files, watch_status
from cortex.watcher.pidlock import Holder
from cortex.watcher.protocol import Reply
from cortex.watcher.watch_status import Standing

if TYPE_CHECKING:
    from cortex.watcher.loop import Loop

_LONGEST_QUIET = 3600
_ENDS_WITHIN = 60.0  # seconds; the last commit may have to wait for hooks
_ASK = 5.0


class Answer(Protocol):
    """Answers a command line of somebody in a directory, who has a default vault, as the command itself would; None when
    that should."""

    def __call__(
        self, vault: Vault, words: Sequence[str], cwd: str, *, paint: bool, default: str
    ) -> Reply | None: ...


class Watched(NamedTuple):
    """What became of it. `running` is whether a watcher runs now, `refused` whether the answer is a no."""

    running: bool
    refused: bool
    text: str  # a unit, or why it ended
    standing: Standing | None = None

    def lines(self) -> Iterable[str]:
        """For a person."""
        if self.text:
            yield from self.text.rstrip("\n").split("\n")
        if (now := self.standing) is None:
            return
        yield f"running since {now.since} as process {now.pid}, by {now.how}" + (
            f" ({now.why})" if now.why else ""
        )
        yield f"  last pass {now.last_pass or 'under way'}, {now.notes:,} notes, {now.answered:,} requests answered"
        yield f"  autocommit {now.autocommit}, {now.waiting:,} changes waiting to be committed"
        for held in now.held:
            yield f"  not committed yet: {held}"
        for problem in now.problems:
            yield f"  {problem}"
        if now.version != __version__:
            yield f"  it is cortex {now.version}, this is {__version__}: end it with cortex watch --stop and start it again"


def watch(
    vault: Vault, caller: Caller, answer: Answer, say: Callable[[str], None],
    *, status: bool = False, stop: bool = False, poll: bool = False, quiet: int = 5, unit: str = "",
) -> Watched:  # fmt: skip
    """Keep the vault fresh until ended: whenever it is quiet, normalize, index, heal and commit.

    It runs in the foreground; ctrl-C ends it. One runs for each vault, and answers searches while it does. It commits
    where the vault is a repository of its own; `autocommit = true` or `false` below [sync] in cortex.toml decides otherwise.

    status: ask the watcher that runs how it stands; exit code 1 when none runs
    stop: end the watcher that runs
    poll: look for changes every two seconds instead of relying on file events
    quiet: seconds without a change before an automatic commit
    unit: print what starts it with your session: systemd or launchd

    Example: cortex watch
    Example: cortex watch --status
    """
    if status + stop + bool(unit) > 1:
        raise Invalid("--status, --stop and --unit exclude each other", "cortex watch --status")
    if unit and unit not in service_files.KINDS:
        raise Invalid(
            f"there is no unit for {unit!r}", f"cortex watch --unit {'|'.join(service_files.KINDS)}"
        )
    if not 0 <= quiet <= _LONGEST_QUIET:
        raise Invalid(
            f"--quiet {quiet} is not between 0 and {_LONGEST_QUIET}", "cortex watch --quiet 5"
        )
    if unit:
        return Watched(
            pidlock.holder(vault) is not None,
            refused=False,
            text=service_files.unit(unit, vault.root),
        )
    if status:
        return _status(vault)
    if stop:
        return _stop(vault)
    return _run(vault, caller, answer, say, quiet=quiet, poll=poll)


def _run(
    vault: Vault,
    caller: Caller,
    answer: Answer,
    say: Callable[[str], None],
    *,
    quiet: int,
    poll: bool,
) -> Watched:
    held = pidlock.take(vault, caller.now)
    try:
        from cortex.index.refresh import look  # noqa: PLC0415  asking a watcher needs neither index, socket nor watchdog
        from cortex.watcher.loop import Loop  # noqa: PLC0415
        from cortex.watcher.socket_server import Door  # noqa: PLC0415

        say(f"watching {vault.root}; cortex watch --stop ends it")
        say(service_files.hint())
        with suppress(CortexError, OSError):  # the loop will meet it again, tell it, and go on
            # Before there are threads: a large index is built by several processes, which then simply fork.
            look(vault, caller.progress, lambda _: None)
        loop = Loop(vault, caller, say, quiet=quiet, poll=poll)
        door = Door(vault.state(), lambda request: _respond(vault, loop, answer, request))
        try:
            ended = loop.run(lambda: held.stands() and door.stands())
        finally:
            door.close()
    finally:
        held.release()
    return Watched(running=False, refused=bool(ended), text=ended)


def _respond(vault: Vault, loop: Loop, answer: Answer, request: list[bytes]) -> list[bytes] | None:
    version, kind, *rest = [*request, b"", b""][: max(len(request), 2)]
    if kind == protocol.STATE:
        return [protocol.DONE, loop.standing().written()]
    if kind == protocol.STOP:
        loop.end()
        return [protocol.DONE]
    if (
        kind != protocol.RUN
        or len(rest) < 5
        or version != __version__.encode()
        or rest[0] != os.fsencode(vault.root)
    ):
        return None
    loop.answered += 1
    words = [os.fsdecode(word) for word in rest[4:]]
    reply = answer(
        vault, words, os.fsdecode(rest[1]), paint=rest[2] == b"1", default=os.fsdecode(rest[3])
    )
    return (
        [protocol.DONE, reply.output, reply.complaint, reply.code.to_bytes(4, "big")]
        if reply
        else None
    )


def _status(vault: Vault) -> Watched:
    if (runs := pidlock.holder(vault)) is None:
        return Watched(running=False, refused=True, text="no watcher runs: cortex watch starts one")
    fields = protocol.exchange(vault.root, [protocol.STATE], _ASK, _ASK)
    now = (
        watch_status.read(fields[1])
        if fields and len(fields) == 2 and fields[0] == protocol.DONE
        else None
    )
    if now is None:
        return Watched(
            running=True,
            refused=False,
            text=f"process {runs.pid} watches since {runs.since}, but does not say how it stands; it may be reading a large vault for the first time",
        )
    return Watched(running=True, refused=False, text="", standing=now)


def _stop(vault: Vault) -> Watched:
    runs = pidlock.holder(vault)
    if runs is None:
        return Watched(running=False, refused=True, text="no watcher runs")
    if protocol.exchange(vault.root, [protocol.STOP], _ASK, _ASK) is None:
        _terminate(vault, runs)
    deadline = time.monotonic() + _ENDS_WITHIN
    while (now := pidlock.holder(vault)) is not None and now == runs:
        if time.monotonic() > deadline:
            raise CortexError(
                f"process {runs.pid} has not ended within {_ENDS_WITHIN:g} seconds",
                f"kill {runs.pid}",
            )
        time.sleep(0.05)
    return Watched(running=False, refused=False, text=f"process {runs.pid} has ended")


def _terminate(vault: Vault, runs: Holder) -> None:
    """Only while the lock is held is the number in its file that of a watcher, and of no other process."""
    if not runs.pid or pidlock.holder(vault) != runs:
        raise Conflict("the watcher is just starting or ending", "run the command again")
    with suppress(ProcessLookupError):
        os.kill(runs.pid, signal.SIGTERM)
