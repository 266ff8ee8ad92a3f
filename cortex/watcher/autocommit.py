"""Choose the files that the watcher commits: only those that nobody is writing."""

from __future__ import annotations

import os
from collections.abc import Iterable

from cortex.core.merge.note_versions import is_given_path
from cortex.core.model.layout import is_event_path
from cortex.core.model.problem import CortexError, InvalidInputError, Problem, problem_of
from cortex.core.notes import note as notes
from cortex.core.text.value import NamedTuple
from cortex.vault import files, settings
from cortex.vault.git import checkout
from cortex.vault.git.changes import UncommittedChange
from cortex.vault.layout import SETTINGS_FILE

SETTLED_SECONDS = 2.0  # seconds that a file has to lie untouched
_MAX_READ_BYTES = 4 * 1024 * 1024


class CommitCandidates(NamedTuple):
    """The changes of a vault: ready to commit, still being written, and invalid."""

    ready: tuple[UncommittedChange, ...]
    recent: tuple[UncommittedChange, ...]
    blocked: tuple[Problem, ...]


def is_enabled(root: str) -> bool:
    """Whether the watcher commits here: by setting, else if the vault is the root of a
    repository. Raises `InvalidInputError` if the settings forbid changes."""
    if (around := checkout.find_repository(root)) is None:
        return False
    settings.check_writable(root)
    chosen = settings.load(root).autocommit
    return around[0] == root if chosen is None else chosen


def classify_changes(
    root: str, changed: Iterable[UncommittedChange], now: float
) -> CommitCandidates:
    """Look at every changed file as it lies there at `now` (seconds since the epoch)."""
    ready: list[UncommittedChange] = []
    recent: list[UncommittedChange] = []
    blocked: list[Problem] = []
    for change in changed:
        check = _is_recent_deletion if change.kind == "D" else _is_unfinished
        try:
            is_recent = check(root, change.path, now)
        except FileNotFoundError:
            is_recent = True  # gone since git looked
        except (CortexError, OSError) as error:
            blocked.append(problem_of(change.path, error))
            continue
        (recent if is_recent else ready).append(change)
    return CommitCandidates(tuple(ready), tuple(recent), tuple(blocked))


def _is_recent_deletion(root: str, path: str, now: float) -> bool:
    """True if the file's folder changed just now: some editors save by deleting and rewriting."""
    try:
        return _is_recent(os.stat(os.path.join(root, os.path.dirname(path))), now)
    except FileNotFoundError:
        return False  # gone with its folder


def _is_unfinished(root: str, path: str, now: float) -> bool:
    """True if the file may still be written. Raises `InvalidInputError` if it is invalid."""
    status = os.lstat(os.path.join(root, path))
    if _is_recent(status, now):
        return True
    data = files.read(root, path, _MAX_READ_BYTES)
    if path == SETTINGS_FILE and (wrong := settings.load(root).problems):
        raise InvalidInputError(wrong[0].message, wrong[0].hint)
    if path.lower().endswith(".md"):
        check_complete(path, data)
    return False


def check_complete(path: str, data: bytes) -> None:
    """Raise `InvalidInputError` unless a note is complete. Conflict markers are left to
    `commit_changes`."""
    if len(data) == _MAX_READ_BYTES:  # read in part: to the end of a line
        data = data[: data.rfind(b"\n") + 1]
    note = notes.read(data, path)
    if note.problems:
        raise InvalidInputError(note.problems[0].message, note.problems[0].hint)
    if is_event_path(path) or is_given_path(path):  # such a note needs an id
        if not note.get("id"):
            hint = "write one into its frontmatter, or move it to another folder"
            raise InvalidInputError("it has no id", hint)
    elif (
        not note.opening_fence
        and data.removeprefix(notes.BOM).startswith(b"---")
        and b"\n" not in data.partition(b"\n")[2]
    ):
        raise InvalidInputError("its frontmatter is only just begun", "finish it")


def _is_recent(status: os.stat_result, now: float) -> bool:
    """Written moments ago. A time in the future counts as old."""
    return abs(now - max(status.st_mtime, status.st_ctime)) < SETTLED_SECONDS
