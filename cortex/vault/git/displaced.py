"""Notes that the merge driver has kept out of another note's file, until the next command brings
them back.

Git gives its driver one path. Where it has taken two notes for one, the driver writes the note
whose path that is and puts the other one here: a file for each in `cortex-displaced` in the git
folder of the work tree. So it does with the version of a topic whose text does not stand, as that of
a stash is in no commit. Standard library only: the driver is on this path.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress

from cortex.core.model.problem import CortexError
from cortex.core.text.strings import short_hash
from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.git import checkout

DISPLACED_FOLDER = "cortex-displaced"
_RESTORED_FOLDER = "cortex-restored"  # a file for each path that `mark_restored` was told
_MAX_PATH_BYTES = 10_000
_MAX_ENTRY_BYTES = 32_000_000  # bytes of one entry
_MAX_REFLOG_LINE_BYTES = 4096
_REFLOG_END_RE = re.compile(rb" ([0-9a-f]{40,64}) [^\n]*\n\Z")
_MAX_REFLOG_BYTES = 1 << 20  # bytes that are read of what git did afterwards
# The first reflog entry after an operation that was aborted, or completed; neither matches a rebase
# that goes on.
_ABORTED_RE = re.compile(rb"\t(?:reset: |am --abort|[^\t\n]*\(abort\))")
_COMPLETED_RE = re.compile(
    rb"\t(?![^\n]*\((?:start|pick|continue|skip|squash|fixup|reword|edit)\))[^\n]*"
)


class DisplacedNote(NamedTuple):
    """A merge of two notes that was not made."""

    name: str  # of the entry
    path: str  # where git merged, from the top of the work tree
    base: bytes
    written_text: bytes  # what was written there
    displaced_text: bytes  # what was not
    reflog_offset: int  # bytes of the reflog of HEAD then
    head: str  # the commit that HEAD named then; empty where no reflog told
    was_tried: bool  # git held no lock of its index: it merged to show what would come of it


def save(directory: str, path: str, base: bytes, stays: bytes, other: bytes) -> None:
    """Keep `other`, durably. Raises `CortexError` or `OSError`; then the merge must not be made.
    `directory` lies in the work tree."""
    repository = checkout.find_repository(directory)
    if repository is None:
        raise CortexError("there is no work tree here", "merge in a clone with a work tree")
    texts = {"base": base, "stays": stays, "other": other}
    size = _reflog_size(repository.git_dir)
    fields = {"path": path, "at": size, "head": _last_commit(repository.git_dir, size)}
    if not os.path.lexists(os.path.join(repository.git_dir, "index.lock")):
        fields["tried"] = True  # as `git merge-tree` and `git log --remerge-diff` do
    fields |= {key: text.decode("latin-1") for key, text in texts.items()}
    data = json.dumps(fields).encode()
    name = f"{DISPLACED_FOLDER}/{short_hash(data.decode(), 20)}.json"
    # Git merges the same versions again, as after `git merge --abort`.
    with suppress(FileExistsError):
        files.create(repository.git_dir, name, data)


def has_entries(root: str) -> bool:
    """True if anything is kept."""
    return bool(_list_names(_git_dir(root)))


def list_entries(root: str) -> list[DisplacedNote]:
    """The entries, by name; unreadable ones are left out."""
    folder = _git_dir(root)
    found = []
    for name in _list_names(folder):
        with suppress(CortexError, OSError, ValueError, KeyError, TypeError, AttributeError):
            data = json.loads(files.read(folder, f"{DISPLACED_FOLDER}/{name}", _MAX_ENTRY_BYTES))
            keys = ("base", "stays", "other")
            base, stays, other = (data[key].encode("latin-1") for key in keys)
            at = int(data.get("at", 0))
            head, tried = str(data.get("head", "")), bool(data.get("tried"))
            found.append(
                DisplacedNote(name, str(data["path"]), base, stays, other, at, head, tried)
            )
    return found


def is_aborted(root: str, entry: DisplacedNote) -> bool:
    """True if the merge, rebase or pick in which a note was displaced has been aborted or reset
    since. False where no reflog tells: then the note is brought back."""
    folder = _git_dir(root)
    if not folder or entry.reflog_offset > _reflog_size(folder):
        return False
    with suppress(OSError), open(os.path.join(folder, "logs", "HEAD"), "rb") as file:
        file.seek(entry.reflog_offset)
        for line in file.read(_MAX_REFLOG_BYTES).splitlines():
            if _ABORTED_RE.search(line):
                return True
            if _COMPLETED_RE.search(line):
                return False
    return False


def delete_entry(root: str, name: str) -> None:
    """Forget an entry whose note is where it belongs."""
    if folder := _git_dir(root):
        with suppress(FileNotFoundError):
            files.remove(folder, f"{DISPLACED_FOLDER}/{name}")


def mark_restored(root: str, path: str) -> None:
    """Have commits by Cortex take along a note that was brought back to a path of this vault, though
    it lies in a person's folder and git does not know it."""
    if folder := _git_dir(root):
        with suppress(FileExistsError):
            files.create(folder, f"{_RESTORED_FOLDER}/{short_hash(path, 20)}", os.fsencode(path))


def restored_paths(root: str) -> list[str]:
    """The paths that `mark_restored` was told."""
    folder = _git_dir(root)
    names = files.list_folder(os.path.join(folder, _RESTORED_FOLDER)) if folder else []
    found = []
    for name in names:
        with suppress(CortexError, OSError):
            data = files.read(folder, f"{_RESTORED_FOLDER}/{name}", _MAX_PATH_BYTES)
            found.append(os.fsdecode(data))
    return found


def _git_dir(root: str) -> str:
    """The git folder of the work tree; empty outside a repository."""
    repository = checkout.find_repository(root)
    return repository.git_dir if repository else ""


def _last_commit(git_dir: str, reflog_size: int) -> str:
    """The commit that the last line of HEAD's reflog names; empty without one."""
    with suppress(OSError), open(os.path.join(git_dir, "logs", "HEAD"), "rb") as file:
        file.seek(max(0, reflog_size - _MAX_REFLOG_LINE_BYTES))
        if found := _REFLOG_END_RE.search(file.read()):
            return found[1].decode()
    return ""


def _reflog_size(git_dir: str) -> int:
    """Bytes of the reflog of HEAD; 0 where there is none."""
    try:
        return os.lstat(os.path.join(git_dir, "logs", "HEAD")).st_size
    except OSError:
        return 0


def _list_names(git_dir: str) -> list[str]:
    names = files.list_folder(os.path.join(git_dir, DISPLACED_FOLDER)) if git_dir else []
    return [name for name in names if name.endswith(".json")]
