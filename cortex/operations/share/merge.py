"""A record merged by hand, as git's merge driver would merge it."""

from __future__ import annotations

import os
import stat
from typing import Annotated

from cortex.core.merge.merge_record import merge_record
from cortex.core.model.caller import Caller
from cortex.core.model.parameters import OUTSIDE_PATH
from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.core.text.value import NamedTuple

MAX_BYTES = 4 * 1024 * 1024  # of each version, as for the driver


class MergeResult(NamedTuple):
    """What three versions of a note come to."""

    text: str
    clean: bool
    decisions: tuple[str, ...]
    explain: bool  # show the decisions instead of the note


def merge(
    caller: Caller,
    base: Annotated[str, OUTSIDE_PATH],
    ours: Annotated[str, OUTSIDE_PATH],
    theirs: Annotated[str, OUTSIDE_PATH],
    *,
    explain: bool = False,
) -> MergeResult:
    """Merge three versions of a record as git would with Cortex.

    The note is printed. No file is changed.

    base: the file of the version that both sides began from; an empty file when both added the note
    ours: the file of one side
    theirs: the file of the other
    explain: print what was decided and which values lost, instead of the note

    Example: cortex merge --explain base.md ours.md theirs.md
    """
    first, one, other = (_read_version(caller.cwd, name) for name in (base, ours, theirs))
    merged = merge_record(first, one, other)
    text = merged.data.decode("utf-8", "replace")
    return MergeResult(text, merged.is_clean, merged.decisions, explain)


def _read_version(cwd: str, name: str) -> bytes:
    """The bytes of a regular file, or of a process substitution of the shell."""
    path = os.path.join(cwd, name)
    shown = name if len(name) <= 200 else f"{name[:200]}…"
    hint = "cortex merge --explain BASE OURS THEIRS takes the paths of three files"
    try:
        mode = os.stat(path).st_mode
        is_process_output = stat.S_ISFIFO(mode) and path.startswith("/dev/fd/")  # <(git show …)
        if not (stat.S_ISREG(mode) or is_process_output):
            raise InvalidInputError(f"{shown!r} is not a file", hint)
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise NotFoundError(f"there is no file {shown!r}", hint) from None
    except OSError as error:
        raise InvalidInputError(f"{shown!r} cannot be read: {error.strerror}", hint) from error
    if len(data) > MAX_BYTES:
        message = f"{shown!r} is larger than {MAX_BYTES // 1024 // 1024} MB"
        raise InvalidInputError(message, "git merge-file merges texts of any size")
    return data
