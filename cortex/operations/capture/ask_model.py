"""Ask a command of the user's own, a model, about a text. No vault can name that command."""

from __future__ import annotations

import shlex

from cortex.core.extract.model_answer import ModelAnswer, build_question, parse_answer
from cortex.core.model.problem import CortexError, InvalidInputError
from cortex.core.redact.secrets import sanitize_text
from cortex.operations.distill.model_command import run_model

TIMEOUT_SECONDS = 120.0  # from the question to the end of the answer


def ask_model(
    command: str, text: str, cwd: str, *, timeout: float = TIMEOUT_SECONDS
) -> ModelAnswer:
    """What the command answers about the text, which it reads on standard input, secrets removed.

    Raises `CortexError` for a command that `run_model` refuses, and for one that answers no JSON
    array.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        hint = "quote it for the shell: --model 'claude -p'"
        raise InvalidInputError(f"{command[:100]!r} is no command: {error}", hint) from error
    if not words:
        raise InvalidInputError("the model's command is empty", "name one: --model 'claude -p'")
    output = run_model(words, build_question(sanitize_text(text)), cwd, timeout)
    answer = parse_answer(output)
    if answer is None:
        message = f"{words[0]} answered no JSON array, but {sanitize_text(output).strip()[:80]!r}"
        raise CortexError(message, "another model, or the same once more")
    return answer
