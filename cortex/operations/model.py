"""Ask a command of the user's own, a model, about a text. Named on the command line, never in a vault."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from contextlib import suppress

from cortex.core.extract.model_answer import Answered, answers, question
from cortex.core.problem import CortexError, Invalid, NotFound
from cortex.core.redact import clean

PATIENCE = 120.0  # seconds
_MOST_ANSWERED = 1_000_000  # characters


def ask(command: str, text: str, cwd: str, *, patience: float = PATIENCE) -> Answered:
    """What the command answers about the text, which it reads on standard input, secrets removed.

    It runs without a shell, in a process group of its own that is ended with it, and with CORTEX_HOOK set, so that no hook
    of an agent that it starts captures anything. A command that fails, takes longer than `patience` or answers no JSON
    array is a `CortexError`; nothing is lost then, and it can be asked again.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Invalid(f"{command[:100]!r} is no command: {error}", "quote it for the shell: --model 'claude -p'") from error
    if not words:
        raise Invalid("the model's command is empty", "name one: --model 'claude -p'")
    try:
        process = subprocess.Popen(
            words, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "CORTEX_HOOK": "model"}, text=True, encoding="utf-8", errors="replace",
        )  # fmt: skip
    except OSError as error:
        raise NotFound(f"{words[0]} cannot be run: {error.strerror}", "name a command that is on the PATH: --model 'claude -p'") from error
    try:
        output, complaint = process.communicate(question(clean(text)), timeout=patience)
    except subprocess.TimeoutExpired as error:
        raise CortexError(f"{words[0]} gave no answer within {patience:.0f} s", "ask about less: one event instead of a session") from error
    finally:
        with suppress(ProcessLookupError, PermissionError):  # what it has started goes with it
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError):  # the rest of the question, which nobody read
                stream.close()  # type: ignore[union-attr]
    if process.returncode:
        why = next((line.strip() for line in complaint.splitlines()[::-1] if line.strip()), f"exit code {process.returncode}")
        raise CortexError(f"{words[0]} failed: {clean(why)[:300]}", "run it by hand to see why")
    answered = answers(output[:_MOST_ANSWERED])
    if answered is None:
        raise CortexError(f"{words[0]} answered no JSON array, but {clean(output).strip()[:80]!r}", "another model, or the same once more")
    return answered
