"""Run a program of the user's, a model or an agent, and end with it whatever it has started.

On Linux what it leaves behind is found whichever way it hides: in its process group, by a mark in its
environment, and, by a process that does nothing else, as a child of its own. Elsewhere the group ends.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from cortex.core.model.problem import NotFoundError
from cortex.core.text.value import NamedTuple

GUARD_VARIABLE, IN_MODEL = "CORTEX_HOOK", "model"  # in its environment: our hooks are silent
TERM_SECONDS = 10.0  # between SIGTERM and SIGKILL
_POLL_SECONDS = 0.1  # between two looks
_REST_SECONDS = 0.5  # for output that is still in a pipe which a child of the ended program holds
_MAX_STDERR_BYTES = 65_536  # of standard error that are kept, the last ones
_QUIET_PASSES, _PAUSE_SECONDS, _MAX_KILL_PASSES = 2, 0.02, 200
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


class Ended(NamedTuple):
    """How a program has ended."""

    exit_code: int  # negative: the number of a signal
    why: str  # why it was ended; empty if it ended by itself
    stderr: str  # the end of it


def run_process(
    words: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: bytes,
    mark: str,
    on_output: Callable[[bytes], None],
    look: Callable[[], str],
    adopt: bool = False,
) -> Ended:
    """Run a program without a shell until it has ended. `on_output` is given what it prints; `look` is
    asked ten times a second why it is to be ended. `mark` is a variable of its environment, NAME=VALUE,
    that no other process has. With `adopt` this process takes over, and ends, what the program leaves
    behind: it must have no other children. Raises `NotFoundError` for what cannot be run, and what the
    two raise."""
    name, _, value = mark.partition("=")
    with TemporaryFile() as file:
        file.write(stdin)
        file.seek(0)
        if adopt:
            _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        # What runs between fork and exec may wait for ever for another thread.
        is_alone = sys.platform == "linux" and threading.active_count() == 1
        _libc()
        try:
            process = subprocess.Popen(
                words, cwd=cwd, env={**env, name: value}, stdin=file, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True, bufsize=0,
                preexec_fn=_die_with_parent if is_alone else None,  # noqa: PLW1509  as above
            )  # fmt: skip
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            message = f"{words[0]} cannot be run: {why}"
            raise NotFoundError(message, "name a command that is on the PATH") from error
    with process:  # closes the pipes and waits
        try:
            why, stderr = _read_output(process, on_output, look)
        finally:
            _signal_group(process.pid, signal.SIGKILL)  # not reaped, so the group is its
            process.wait()
            kill_marked(mark, children=adopt)
    return Ended(process.returncode, why, stderr)


def _read_output(
    process: subprocess.Popen[bytes], on_output: Callable[[bytes], None], look: Callable[[], str]
) -> tuple[str, str]:
    """Read the program's pipes until it has ended; why it was ended, and the end of standard error."""
    assert process.stdout is not None
    assert process.stderr is not None
    why, ending, killed, ended_at = "", 0.0, False, 0.0
    stderr = bytearray()
    with selectors.DefaultSelector() as pipes:
        pipes.register(process.stdout, selectors.EVENT_READ, on_output)
        pipes.register(process.stderr, selectors.EVENT_READ, stderr.extend)
        while True:
            # Asked before reading: what it wrote is in the pipes by then.
            if not ended_at and _has_ended(process.pid):
                ended_at = time.monotonic()
            has_read = False
            for key, _ in pipes.select(0.0 if ended_at else _POLL_SECONDS):
                if chunk := os.read(key.fd, 1 << 16):
                    key.data(chunk)
                    has_read = True
                else:
                    pipes.unregister(key.fileobj)
            del stderr[:-_MAX_STDERR_BYTES]
            now = time.monotonic()
            if ended_at and (not has_read or now - ended_at > _REST_SECONDS):
                return why, stderr.decode("utf-8", "replace")
            if not why and (why := look()):
                ending = now
                _signal_group(process.pid, signal.SIGTERM)
            if why and not killed and now - ending > TERM_SECONDS:
                killed = True
                _signal_group(process.pid, signal.SIGKILL)
            if not pipes.get_map() and not ended_at:
                time.sleep(_POLL_SECONDS)  # it has closed both pipes, and lives


def _has_ended(pid: int) -> bool:
    """Whether a child has ended; it is not reaped, so its number stays its own."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _signal_group(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def kill_marked(mark: str, *, children: bool = False) -> None:
    """Kill the processes with a mark in their environment, and with `children` all of this process,
    until there is none. Linux alone."""
    quiet_passes = 0
    for _ in range(_MAX_KILL_PASSES):
        # A process that starts another and ends, or becomes another program, at the moment of a pass
        # is seen in none: one quiet pass proves nothing.
        found = {*_list_marked(mark), *(_list_children() if children else ())}
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            with suppress(OSError):
                os.waitpid(pid, os.WNOHANG)
        quiet_passes = 0 if found else quiet_passes + 1
        if quiet_passes == _QUIET_PASSES:
            return
        time.sleep(_PAUSE_SECONDS)


def _list_marked(mark: str) -> list[int]:
    wanted, found = mark.encode(), list[int]()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # another user's, or one that has ended
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


def _list_children() -> list[int]:
    found = list[int]()
    for file in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, file.read_bytes().split())
    return found


def _die_with_parent() -> None:
    """The program ends with the process that runs it, also when that is killed."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        _libc().prctl(option, value, 0, 0, 0)


@cache
def _libc() -> Any:
    import ctypes  # noqa: PLC0415  8 ms, where a program is run alone

    return ctypes.CDLL(None)


class LineSplitter:
    """Whole lines out of pieces of output. Of a line longer than `most` bytes only its beginning."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.begun = b""  # what stands behind the last line end
        self.is_cut = False  # the rest of the line is dropped

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that end in this piece, or pass the limit in it."""
        *ended, rest = (self.begun + chunk).split(b"\n")
        lines = [line[: self.most] for line in ended[self.is_cut :]]
        is_cut = self.is_cut and not ended
        if not is_cut and len(rest) >= self.most:
            lines.append(rest[: self.most])
            is_cut = True
        self.begun, self.is_cut = b"" if is_cut else rest, is_cut
        return lines
