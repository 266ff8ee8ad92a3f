"""What the watcher commits by itself: only files that somebody has finished writing, and only while git has time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from cortex.core.model.problem import CortexError, Invalid, Problem
from cortex.core.notes import note as notes
from cortex.vault import files, settings
from cortex.vault.git import checkout
from cortex.vault.git.commit import Change
from cortex.vault.layout import RECORDS, SETTINGS

SETTLED = 2.0  # seconds that a file has to lie untouched
_MOST_READ = 4 * 1024 * 1024
_KEPT = ("events/", f"{RECORDS}/", "sessions/")  # notes of ours: without an id they are not whole


class Sorted(NamedTuple):
    """The changes of a vault: what can be committed, what is still being written, what has to be mended first."""

    ready: tuple[Change, ...]
    young: tuple[Change, ...]
    held: tuple[Problem, ...]


def wanted(root: str) -> bool:
    """Whether the watcher commits here: as the vault's settings say, else where the vault is a repository of its own."""
    if (around := checkout.git_folder(root)) is None:
        return False
    chosen = settings.load(root).autocommit
    return around[0] == root if chosen is None else chosen


def sort(root: str, changed: Iterable[Change], now: float) -> Sorted:
    """Look at every changed file as it lies there at `now` (seconds since the epoch)."""
    ready: list[Change] = []
    young: list[Change] = []
    held: list[Problem] = []
    for change in changed:
        try:
            fresh = (
                _gone_lately(root, change.path, now)
                if change.kind == "D"
                else _unfinished(root, change.path, now)
            )
        except FileNotFoundError:
            fresh = True  # gone since git looked
        except CortexError as error:
            held.append(Problem(change.path, error.message, error.hint))
            continue
        except OSError as error:
            held.append(Problem(change.path, error.strerror or str(error), "check its permissions"))
            continue
        (young if fresh else ready).append(change)
    return Sorted(tuple(ready), tuple(young), tuple(held))


def _gone_lately(root: str, path: str, now: float) -> bool:
    """A deletion counts when its folder is settled: some editors save by deleting and writing anew."""
    try:
        return _fresh(os.stat(os.path.join(root, os.path.dirname(path))), now)
    except FileNotFoundError:
        return False  # gone with its folder


def _unfinished(root: str, path: str, now: float) -> bool:
    """Whether somebody seems to be writing the file. `Invalid` when it has to be mended before it is committed."""
    status = os.lstat(os.path.join(root, path))
    if _fresh(status, now):
        return True
    data = files.read(root, path, _MOST_READ)
    if path == SETTINGS and (wrong := settings.load(root).problems):
        raise Invalid(wrong[0].message, wrong[0].hint)
    if path.lower().endswith(".md"):
        check_whole(path, data)
    return False


def check_whole(path: str, data: bytes) -> None:
    """Raise `Invalid` unless a note reads as if somebody had finished writing it. Markers that git left in its text
    are looked for where commits are made."""
    if len(data) == _MOST_READ:
        data = data[: data.rfind(b"\n") + 1]
    note = notes.read(data, path)
    if note.problems:
        raise Invalid(note.problems[0].message, note.problems[0].hint)
    if path.startswith(_KEPT):
        if not note.get("id"):
            raise Invalid(
                "it has no id", "write one into its frontmatter, or move it to another folder"
            )
    elif (
        not note.opening
        and data.removeprefix(notes.BOM).startswith(b"---")
        and b"\n" not in data.partition(b"\n")[2]
    ):
        raise Invalid("its frontmatter is only just begun", "write on")


def _fresh(status: os.stat_result, now: float) -> bool:
    """Written moments ago. A future that some clock believes in passes as old after all."""
    return abs(now - max(status.st_mtime, status.st_ctime)) < SETTLED
