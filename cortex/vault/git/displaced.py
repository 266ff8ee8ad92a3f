"""Notes that the merge driver has kept out of another note's file, until the next command brings them back.

Git gives its driver one path. Where it has taken two notes for one, the driver writes the note whose path that is and puts
the other one here: a file for each in `cortex-displaced` in the git folder of the work tree. Standard library only: the
driver is on this path.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from cortex.core.model.problem import CortexError
from cortex.core.text.strings import short_hash
from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.git import checkout

FOLDER = "cortex-displaced"
_MOST = 32_000_000  # bytes of one entry
_MOST_REFLOG = 1 << 20  # bytes that are read of what git did afterwards
# What the reflog says first when a merge, rebase or the like was taken back, or when it was not. A rebase is neither before its end.
_TAKEN_BACK = re.compile(rb"\t(?:reset: |am --abort|[^\n]*\(abort\))")
_MADE = re.compile(rb"\t(?![^\n]*\((?:start|pick|continue|skip|squash|fixup|reword|edit)\))[^\n]*")


class Displaced(NamedTuple):
    """A merge of two notes that was not made."""

    name: str  # of the entry
    path: str  # where git merged, from the top of the work tree
    base: bytes
    stays: bytes  # what was written there
    other: bytes  # what was not
    at: int  # bytes of the reflog of HEAD then


def keep(directory: str, path: str, base: bytes, stays: bytes, other: bytes) -> None:
    """Keep `other`, durably. Raises `CortexError` or `OSError` when that cannot be done: then the merge must not be made.
    `directory` lies in the work tree."""
    import json  # noqa: PLC0415  a driver that has nothing to keep does without

    place = checkout.git_folder(directory)
    if place is None:
        raise CortexError("there is no work tree here", "merge in a clone with a work tree")
    texts = {
        key: data.decode("latin-1")
        for key, data in (("base", base), ("stays", stays), ("other", other))
    }
    data = json.dumps({"path": path, "at": _reflog_size(place[1])} | texts).encode()
    with suppress(
        FileExistsError
    ):  # git merges the same versions again, as after `git merge --abort`
        files.publish(place[1], f"{FOLDER}/{short_hash(data.decode(), 20)}.json", data)


def is_any(root: str) -> bool:
    """Whether anything is kept."""
    place = checkout.git_folder(root)
    return bool(place and _names(place[1]))


def entries(root: str) -> list[Displaced]:
    """What is kept, by name; entries that cannot be read are left out. One listing of a folder that mostly is not there."""
    import json  # noqa: PLC0415  as above

    place = checkout.git_folder(root)
    found = []
    for name in _names(place[1]) if place else ():
        with suppress(CortexError, OSError, ValueError, KeyError, TypeError, AttributeError):
            held = json.loads(files.read(place[1] if place else "", f"{FOLDER}/{name}", _MOST))
            base, stays, other = (held[key].encode("latin-1") for key in ("base", "stays", "other"))
            found.append(
                Displaced(name, str(held["path"]), base, stays, other, int(held.get("at", 0)))
            )
    return found


def is_taken_back(root: str, entry: Displaced) -> bool:
    """Whether the merge, rebase, pick or the like in which a note was displaced has been aborted or reset since. False as well
    where no reflog tells of it: then the note is brought back."""
    place = checkout.git_folder(root)
    if place is None or entry.at > _reflog_size(place[1]):
        return False
    with suppress(OSError), open(os.path.join(place[1], "logs", "HEAD"), "rb") as file:
        file.seek(entry.at)
        for line in file.read(_MOST_REFLOG).splitlines():
            if _TAKEN_BACK.search(line):
                return True
            if _MADE.search(line):
                return False
    return False


def _reflog_size(git_folder: str) -> int:
    """Bytes of the reflog of HEAD; 0 where there is none."""
    try:
        return os.lstat(os.path.join(git_folder, "logs", "HEAD")).st_size
    except OSError:
        return 0


def forget(root: str, name: str) -> None:
    """The note of this entry is where it belongs."""
    place = checkout.git_folder(root)
    if place is not None:
        with suppress(FileNotFoundError):
            files.remove(place[1], f"{FOLDER}/{name}")


def _names(folder: str) -> list[str]:
    try:
        return sorted(
            name for name in os.listdir(os.path.join(folder, FOLDER)) if name.endswith(".json")
        )
    except OSError:
        return []
