"""What goes wrong, as values to collect or exceptions to raise; each names the next thing to do."""

from __future__ import annotations

from cortex.core.text.value import NamedTuple

_MAX_CHARS = 2_000  # of a message, which may name what was asked


class Problem(NamedTuple):
    """Something wrong in one place that stops nothing else."""

    where: str  # vault-relative path, `path:line` where the line is known
    message: str
    hint: str = ""  # the next command or edit; empty only when nothing needs doing


class CortexError(Exception):
    """A verb could not do what was asked. `hint` names the next command to run."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = message if len(message) <= _MAX_CHARS else f"{message[:_MAX_CHARS]}…"
        super().__init__(self.message)
        self.hint = hint


class NotFoundError(CortexError):
    """The named vault, note or event does not exist."""


class ConflictError(CortexError):
    """The request conflicts with the state: a name is taken, a lock is held, a file changed."""


class StaleVersionError(ConflictError):
    """What was to be changed is no longer as it was when it was read."""


class AmbiguousNameError(ConflictError):
    """A name means several notes: `candidates` are their paths and titles."""

    def __init__(
        self, message: str, hint: str, name: str, candidates: tuple[tuple[str, str], ...]
    ) -> None:
        super().__init__(message, hint)
        self.name = name
        self.candidates = candidates


class InvalidInputError(CortexError):
    """The input cannot be used as it is."""


def reason_of(error: Exception) -> str:
    """Why something failed, on one line, without the number and the path of an `OSError`."""
    if isinstance(error, CortexError):
        return error.message
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


def problem_of(
    where: str, error: Exception, hint: str = "check its permissions", prefix: str = ""
) -> Problem:
    """`error` as a `Problem`, its reason behind `prefix`. `hint` is for errors that bring none."""
    return Problem(where, prefix + reason_of(error), getattr(error, "hint", "") or hint)
