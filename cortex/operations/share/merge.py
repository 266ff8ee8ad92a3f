"""A record merged by hand, as git's merge driver would merge it."""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from cortex.core.merge.merge_record import merge_record
from cortex.core.model.caller import Caller
from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.vault.git.merge_file import merge_file

MAX_BYTES = 4 * 1024 * 1024  # of each version, as for the driver


class MergeResult(NamedTuple):
    """What three versions of a note come to."""

    text: str
    clean: bool
    decisions: tuple[str, ...]
    explain: bool  # show the decisions instead of the note


def merge(
    caller: Caller, base: str, ours: str, theirs: str, *, explain: bool = False
) -> MergeResult:
    """Merge three versions of a record as git would with Cortex, and print the note; no file is changed.

    base: the file of the version that both sides began from; an empty file when both added the note
    ours: the file of one side
    theirs: the file of the other
    explain: print what was decided and which values lost, instead of the note

    Example: cortex merge --explain base.md ours.md theirs.md
    """
    merged = merge_record(
        _read_version(caller.cwd, base),
        _read_version(caller.cwd, ours),
        _read_version(caller.cwd, theirs),
        merge_file,
    )
    return MergeResult(
        merged.data.decode("utf-8", "replace"), merged.is_clean, merged.decisions, explain
    )


def _read_version(cwd: str, name: str) -> bytes:
    """A file of the person's own, anywhere; not one that never ends, and none that waits for a writer."""
    path = os.path.join(cwd, name)
    shown = name if len(name) <= 200 else f"{name[:200]}…"
    try:
        mode = os.stat(path).st_mode
        if not (
            stat.S_ISREG(mode) or (stat.S_ISFIFO(mode) and path.startswith("/dev/fd/"))
        ):  # <(git show HEAD~1:note.md)
            raise InvalidInputError(f"{shown!r} is not a file", "give the paths of three files")
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise NotFoundError(
            f"there is no file {shown!r}",
            "cortex merge --explain BASE OURS THEIRS takes the paths of three files",
        ) from None
    except OSError as error:
        raise InvalidInputError(
            f"{shown!r} cannot be read: {error.strerror}", "give the paths of three files"
        ) from error
    if len(data) > MAX_BYTES:
        raise InvalidInputError(
            f"{shown!r} is larger than {MAX_BYTES // 1024 // 1024} MB",
            "git merge-file merges texts of any size",
        )
    return data
