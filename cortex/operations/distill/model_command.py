"""Run a command of the user's own, a model: bounded in time and output, and without our hooks."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

from cortex.core.distill.answer import MAX_ANSWER_BYTES
from cortex.core.model.problem import CortexError, NotFoundError
from cortex.core.redact.secrets import sanitize_text

GUARD_VARIABLE, IN_MODEL = "CORTEX_HOOK", "model"  # in its environment: our hooks are silent
_MARK_VARIABLE = "CORTEX_MODEL_RUN"  # another value for each run: daemons of it are known by it
_QUIET_PASSES, _PAUSE_SECONDS = 2, 0.02  # without a process of the command, and between two
_MAX_KILL_PASSES = 50
_MAX_STDERR_BYTES = 65_536  # of standard error that are kept, the last ones
# Between two looks at whether it has ended while a child of it keeps a pipe open.
_POLL_SECONDS = 0.1


def run_model(
    words: Sequence[str],
    question: str,
    cwd: str,
    timeout: float,
    waiting: Callable[[], None] = lambda: None,
) -> str:
    """What a command prints that reads `question` on standard input. `waiting` is called again and
    again until it has ended.

    It runs without a shell, what it has started is ended with it, and CORTEX_HOOK is set, so
    that hooks of an agent that it starts capture nothing. Raises `CortexError`
    for a command that cannot be run, fails, takes longer than `timeout` seconds or prints more than
    `MAX_ANSWER_BYTES` bytes.
    """
    with TemporaryFile() as file:
        file.write(question.encode("utf-8", "replace"))
        file.seek(0)
        with _ended_by_signals():
            output, stderr, exit_code = _run(words, cwd, file.fileno(), timeout, waiting)
    if exit_code:
        texts = (text for text in (stderr, output) if text.strip())
        lines = [line.strip() for line in next(texts, "").splitlines() if line.strip()]
        why = lines[-1] if lines else f"exit code {exit_code}"
        hint = "run it by hand to see why"
        raise CortexError(f"{words[0]} failed: {sanitize_text(why)[:300]}", hint)
    return output


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """What would end this process at once cleans up as Ctrl-C does; in the main thread alone."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.signal(one, interrupt) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _run(
    words: Sequence[str], cwd: str, question: int, timeout: float, waiting: Callable[[], None]
) -> tuple[str, str, int]:
    """Run a command that reads the file `question`: its output, the end of stderr, exit code."""
    mark = os.urandom(16).hex()
    try:
        process = subprocess.Popen(
            words,
            cwd=cwd,
            stdin=question,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
            env={**os.environ, GUARD_VARIABLE: IN_MODEL, _MARK_VARIABLE: mark},
        )
    except OSError as error:
        hint = "name a command that is on the PATH"
        raise NotFoundError(f"{words[0]} cannot be run: {error.strerror}", hint) from error
    with process:  # closes the pipes and waits
        try:
            output, stderr = _read_output(process, words[0], timeout, waiting)
        finally:
            with suppress(ProcessLookupError, PermissionError):  # what it has started goes with it
                os.killpg(process.pid, signal.SIGKILL)
            quiet_passes = 0
            for _ in range(_MAX_KILL_PASSES):
                # A process that starts another and ends, or becomes another program, at the moment
                # of a pass is seen in none: one quiet pass proves nothing.
                quiet_passes = 0 if _kill_marked(mark.encode()) else quiet_passes + 1
                if quiet_passes == _QUIET_PASSES:
                    break
                time.sleep(_PAUSE_SECONDS)
    return output, stderr, process.returncode


def _kill_marked(mark: bytes) -> bool:
    """Kill the processes with a mark in their environment; whether there was one. Linux alone."""
    is_found = False
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # another user's, or one that has ended
            if mark in (process / "environ").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
                is_found = True
    return is_found


def _read_output(
    process: subprocess.Popen[bytes], name: str, timeout: float, waiting: Callable[[], None]
) -> tuple[str, str]:
    """Read the process until it has ended. A child of it that keeps a pipe open is not waited for.

    Raises `CortexError` when it takes too long or says too much.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    deadline = time.monotonic() + timeout
    output, stderr = bytearray(), bytearray()
    with selectors.DefaultSelector() as pipes:
        pipes.register(process.stdout, selectors.EVENT_READ, output)
        pipes.register(process.stderr, selectors.EVENT_READ, stderr)
        while True:
            # Asked before reading: what it wrote is in the pipes by then.
            waiting()
            has_ended = process.poll() is not None
            has_read = False
            for key, _ in pipes.select(0 if has_ended else _POLL_SECONDS):
                if chunk := os.read(key.fd, 1 << 16):
                    key.data.extend(chunk)
                    has_read = True
                else:
                    pipes.unregister(key.fileobj)
            del stderr[:-_MAX_STDERR_BYTES]
            if len(output) > MAX_ANSWER_BYTES:
                hint = "another model, or one that answers JSON alone"
                raise CortexError(f"{name} answered more than {MAX_ANSWER_BYTES:,} bytes", hint)
            if has_ended and not has_read:
                return output.decode("utf-8", "replace"), stderr.decode("utf-8", "replace")
            if time.monotonic() >= deadline:
                hint = "ask about less, or give it more time: [distill] timeout, in seconds"
                raise CortexError(f"{name} gave no answer within {timeout:.0f} s", hint)
