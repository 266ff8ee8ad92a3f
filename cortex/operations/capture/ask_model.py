"""Ask a command of the user's own, a model, about a text. Named on the command line, never in a vault."""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import subprocess
import time
from contextlib import suppress

from cortex.core.extract.model_answer import ModelAnswer, build_question, parse_answer
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.core.redact.secrets import sanitize_text

TIMEOUT_SECONDS = 120.0  # seconds from the question to the end of the answer
MAX_ANSWER_BYTES = 1_000_000  # bytes
_MAX_STDERR_BYTES = 65_536  # bytes of standard error that are kept, the last ones
_POLL_SECONDS = (
    0.1  # seconds between two looks at whether it has ended while a child of it keeps a pipe open
)


def ask_model(
    command: str, text: str, cwd: str, *, patience: float = TIMEOUT_SECONDS
) -> ModelAnswer:
    """What the command answers about the text, which it reads on standard input, secrets removed.

    It runs without a shell, in a process group of its own that is ended with it, and with CORTEX_HOOK set, so that no hook
    of an agent that it starts captures anything. A command that fails, takes longer than `patience`, answers more than
    `MAX_ANSWER_BYTES` bytes or no JSON array is a `CortexError`; nothing is lost then, and it can be asked again.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidInputError(
            f"{command[:100]!r} is no command: {error}",
            "quote it for the shell: --model 'claude -p'",
        ) from error
    if not words:
        raise InvalidInputError("the model's command is empty", "name one: --model 'claude -p'")
    try:
        process = subprocess.Popen(
            words, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, bufsize=0,
            env={**os.environ, "CORTEX_HOOK": "model"},
        )  # fmt: skip
    except OSError as error:
        raise NotFoundError(
            f"{words[0]} cannot be run: {error.strerror}",
            "name a command that is on the PATH: --model 'claude -p'",
        ) from error
    try:
        output, complaint = _communicate(
            process,
            words[0],
            build_question(sanitize_text(text)).encode("utf-8", "replace"),
            patience,
        )
    finally:
        with suppress(ProcessLookupError, PermissionError):  # what it has started goes with it
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError):  # the rest of the question, which nobody read
                stream.close()  # type: ignore[union-attr]
    if process.returncode:
        why = next(
            (line.strip() for line in complaint.splitlines()[::-1] if line.strip()),
            f"exit code {process.returncode}",
        )
        raise CortexError(
            f"{words[0]} failed: {sanitize_text(why)[:300]}", "run it by hand to see why"
        )
    answered = parse_answer(output)
    if answered is None:
        raise CortexError(
            f"{words[0]} answered no JSON array, but {sanitize_text(output).strip()[:80]!r}",
            "another model, or the same once more",
        )
    return answered


def _communicate(
    process: subprocess.Popen[bytes], name: str, asked: bytes, patience: float
) -> tuple[str, str]:
    """Feed the process and read it until it has ended; its output, and the end of its standard error. A child of it that keeps a
    pipe open is not waited for. `CortexError` when it takes too long or says too much."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    output, complaint = bytearray(), bytearray()
    rest = memoryview(asked)
    deadline = time.monotonic() + patience
    os.set_blocking(process.stdin.fileno(), False)
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdin, selectors.EVENT_WRITE)
        waiting.register(process.stdout, selectors.EVENT_READ, output)
        waiting.register(process.stderr, selectors.EVENT_READ, complaint)
        while True:
            ended = (
                process.poll() is not None
            )  # asked before looking: what it wrote is in the pipes by then
            readable = False
            for key, _ in waiting.select(0 if ended else _POLL_SECONDS):
                if key.data is None:
                    rest = _write_some(key.fd, rest)
                    if not rest:
                        waiting.unregister(process.stdin)
                        process.stdin.close()
                elif chunk := os.read(key.fd, 1 << 16):
                    key.data.extend(chunk)
                    readable = True
                else:
                    waiting.unregister(key.fileobj)
            del complaint[:-_MAX_STDERR_BYTES]
            if len(output) > MAX_ANSWER_BYTES:
                raise CortexError(
                    f"{name} answered more than {MAX_ANSWER_BYTES:,} bytes",
                    "another model, or one that answers JSON alone",
                )
            if ended and not readable:
                return output.decode("utf-8", "replace"), complaint.decode("utf-8", "replace")
            if time.monotonic() >= deadline:
                raise CortexError(
                    f"{name} gave no answer within {patience:.0f} s",
                    "ask about less: one event instead of a session",
                )


def _write_some(fd: int, rest: memoryview) -> memoryview:
    """What is left of the question once the pipe has taken what it takes; nothing where nobody reads it."""
    try:
        return rest[os.write(fd, rest[: 1 << 16]) :]
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return rest[:0]
