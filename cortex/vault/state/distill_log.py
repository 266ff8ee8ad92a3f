"""A log of the runs of a model in the user's state folder: when, of which session, what came of it.

One run is one line of JSON, without text of a session. All vaults share it, as a day's limits.
"""

from __future__ import annotations

import json
import os

from cortex.core.model.problem import Problem
from cortex.core.text.strings import cortex_command
from cortex.core.text.value import NamedTuple
from cortex.vault import private, user_folders

_MAX_PROBLEMS = 5  # that are told
_MAX_LOG_BYTES, _MAX_READ_BYTES = 400_000, 1 << 20


class DistillRun(NamedTuple):
    """One run of a model."""

    at: str
    vault: str  # path of its root
    session: str
    auto: bool  # nobody asked for it
    seconds: float = 0.0
    dollars: float = 0.0  # as far as the command says
    records: int = 0
    dropped: int = 0  # records that were not believed
    problem: str = ""  # why there was no answer


def append(run: DistillRun) -> None:
    """Append a run to the log of all vaults. Raises `OSError`, `InvalidInputError`."""
    line = json.dumps(run._asdict(), ensure_ascii=False) + "\n"
    private.append(_log_path(), line.encode("utf-8", "backslashreplace"), _MAX_LOG_BYTES)


def lock_path() -> str:
    """The lock of whoever runs a model: one at a time."""
    return os.path.join(user_folders.user_folder("state"), "distill.lock")


def read_runs() -> list[DistillRun]:
    """The runs that are known, oldest first. Raises nothing."""
    runs = []
    log = private.read(_log_path(), _MAX_READ_BYTES, end=True)
    for line in log.decode("utf-8", "replace").splitlines():
        try:
            runs.append(DistillRun(**json.loads(line)))
        except (ValueError, TypeError):  # a line that was cut off, or of another version
            continue
    return runs


def problems(root: str) -> list[Problem]:
    """The sessions of a vault about which no model's last answer was believed."""
    last = {run.session: run for run in read_runs() if run.vault == root}
    return [
        Problem(
            f"session {run.session}",
            f"was not distilled at {run.at}: {run.problem}",
            cortex_command("distill", run.session),
        )
        for run in last.values()
        if run.problem
    ][-_MAX_PROBLEMS:]


def _log_path() -> str:
    return os.path.join(user_folders.user_folder("state"), "distill.log")
