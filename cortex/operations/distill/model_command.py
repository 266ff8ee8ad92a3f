"""Run a command of the user's own, a model: bounded in time and output, and without our hooks."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from cortex.agents.process import GUARD_VARIABLE, IN_MODEL, run_process
from cortex.core.distill.answer import MAX_ANSWER_BYTES
from cortex.core.model.problem import CortexError
from cortex.core.redact.secrets import sanitize_text

_MARK_VARIABLE = "CORTEX_MODEL_RUN"  # another value for each run: daemons of it are known by it


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
    deadline = time.monotonic() + timeout
    output = bytearray()

    def look() -> str:
        waiting()
        if len(output) > MAX_ANSWER_BYTES:
            hint = "another model, or one that answers JSON alone"
            raise CortexError(f"{words[0]} answered more than {MAX_ANSWER_BYTES:,} bytes", hint)
        if time.monotonic() >= deadline:
            hint = "ask about less, or give it more time: [distill] timeout, in seconds"
            raise CortexError(f"{words[0]} gave no answer within {timeout:.0f} s", hint)
        return ""

    with _ended_by_signals():
        ended = run_process(
            words, cwd=cwd, env={**os.environ, GUARD_VARIABLE: IN_MODEL},
            stdin=question.encode("utf-8", "replace"), mark=f"{_MARK_VARIABLE}={os.urandom(16).hex()}",
            on_output=output.extend, look=look,
        )  # fmt: skip
        if len(output) > MAX_ANSWER_BYTES:  # it ended before we looked
            look()
    answer = output.decode("utf-8", "replace")
    if ended.exit_code:
        lines = (ended.stderr.strip() or answer.strip()).splitlines()
        why = lines[-1].strip() if lines else f"exit code {ended.exit_code}"
        hint = "run it by hand to see why"
        raise CortexError(f"{words[0]} failed: {sanitize_text(why)[:300]}", hint)
    return answer


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
