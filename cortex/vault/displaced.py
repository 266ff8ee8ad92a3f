"""Notes that the merge driver has kept out of another note's file, until the next command brings them back.

Git gives its driver one path. Where it has taken two notes for one, the driver writes the note whose path that is and puts
the other one here: a file for each in `cortex-displaced` in the git folder of the work tree. Standard library only: the
driver is on this path.
"""

from __future__ import annotations

import os
from contextlib import suppress

from cortex.core.problem import CortexError
from cortex.core.text import short_hash
from cortex.core.value import NamedTuple
from cortex.vault import checkout, files

FOLDER = "cortex-displaced"
_MOST = 32_000_000  # bytes of one entry


class Displaced(NamedTuple):
    """A merge of two notes that was not made."""

    name: str  # of the entry
    path: str  # where git merged, from the top of the work tree
    base: bytes
    stays: bytes  # what was written there
    other: bytes  # what was not


def keep(directory: str, path: str, base: bytes, stays: bytes, other: bytes) -> None:
    """Keep `other`, durably. Raises `CortexError` or `OSError` when that cannot be done: then the merge must not be made.
    `directory` lies in the work tree."""
    import json  # noqa: PLC0415  a driver that has nothing to keep does without

    texts = {"path": path} | {key: data.decode("latin-1") for key, data in (("base", base), ("stays", stays), ("other", other))}
    data = json.dumps(texts).encode()
    place = checkout.git_folder(directory)
    if place is None:
        raise CortexError("there is no work tree here", "merge in a clone with a work tree")
    with suppress(FileExistsError):  # git merges the same versions again, as after `git merge --abort`
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
            found.append(Displaced(name, str(held["path"]), base, stays, other))
    return found


def forget(root: str, name: str) -> None:
    """The note of this entry is where it belongs."""
    place = checkout.git_folder(root)
    if place is not None:
        with suppress(FileNotFoundError):
            files.remove(place[1], f"{FOLDER}/{name}")


def _names(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(os.path.join(folder, FOLDER)) if name.endswith(".json"))
    except OSError:
        return []
