"""What a power cut has done to a repository: found by looking, nothing is changed.

git syncs little of what it writes, so a cut may leave empty files where objects, the index or a branch were. The notes
themselves are files that Cortex has synced; they are never in question here.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from typing import NamedTuple

from cortex.core.model.problem import CortexError, Problem
from cortex.vault import files
from cortex.vault.git import checkout, git

FIX = "cortex doctor --fix"
_ELSEWHERE = "git fsck --full names what is missing; fetch it again, or clone the repository anew beside this one"
_MOST_LINE = 4096  # bytes of a file of which a line is read
_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_TAKEN = re.compile(
    r"\.git\.damaged-([0-9]{1,6})"
)  # the name that a repair gives to a .git which it makes anew
BUILD = ".git.cortex-new"  # the folder in which it makes it


class Place(NamedTuple):
    """A repository on the disk."""

    root: str  # the vault
    top: str  # the work tree
    git: str  # its git folder
    common: str  # what all its worktrees share
    alone: (
        bool  # the work tree is the vault, and the git folder lies in it: all of it is ours to mend
    )


def place_of(root: str) -> Place | None:
    """The repository that the vault lies in, however damaged."""
    found = checkout.git_folder(root)
    if found is None:
        return None
    top, folder, common = found
    alone = (
        os.path.realpath(root) == top
        and folder == os.path.join(top, ".git")
        and not _reftable(common)
    )
    return Place(root, top, folder, common, alone)


def _reftable(common: str) -> bool:
    """Whether refs are kept in a format of their own, in which we mend nothing."""
    return os.path.isdir(os.path.join(common, "reftable"))


def ask(
    place: Place, arguments: list[str], *, stdin: bytes = b"", timeout: float = 120.0
) -> git.Ran:
    """Run git in exactly this repository: where its HEAD is broken, git would take the one around it."""
    own = (
        os.stat(place.git).st_uid == os.geteuid()
    )  # a stranger's repository stays behind git's own question of trust
    extra = {"GIT_DIR": place.git, "GIT_WORK_TREE": place.top} if own else {}
    return git.attempt(place.root, arguments, stdin=stdin, timeout=timeout, extra=extra)


def examine(root: str) -> list[Problem]:
    """What is broken in the repository around the vault; nothing outside one. Runs a few short gits."""
    if taken := taken_away(root):
        return [
            Problem(
                ".git", f"is gone: a repair that was ended half-way has left it as {taken}", FIX
            )
        ]
    pointer = os.path.join(root, ".git")
    if os.path.isfile(pointer) and not read_line(pointer).startswith("gitdir:"):
        return [
            Problem(
                ".git",
                "does not say where the repository is",
                "in the main worktree: git worktree repair; or write `gitdir: PATH` into it",
            )
        ]
    place = place_of(root)
    path, why = checkout.fault(root)
    if path:
        mendable = place is not None and place.alone and path.startswith(place.git + os.sep)
        return [Problem(os.path.relpath(path, root), why, FIX if mendable else git.way_out(path))]
    if place is None:
        return []
    try:
        ask(
            place, ["rev-parse", "--git-dir"], timeout=3.0
        )  # a pipe among git's own files would hold every question
        return broken(place)
    except (CortexError, OSError) as error:
        return [
            Problem(
                ".git",
                f"cannot be examined: {error}",
                (isinstance(error, CortexError) and error.hint) or "git fsck",
            )
        ]


def taken_away(root: str) -> str:
    """The name under which a repair that was killed in its last moment has left the repository; empty otherwise."""
    if os.path.lexists(os.path.join(root, ".git")) or not os.path.isdir(
        os.path.join(root, BUILD, ".git")
    ):
        return ""
    found = {
        int(name[1]): name[0] for each in files.listed(root) if (name := _TAKEN.fullmatch(each))
    }
    return found[max(found)] if found else ""


def broken(place: Place) -> list[Problem]:
    """The damage that `repair` mends or, in a repository that is not the vault's alone, names."""
    hint = FIX if place.alone else _ELSEWHERE

    def problem(path: str, message: str, advice: str = hint) -> Problem:
        return Problem(os.path.relpath(path, place.root), message, advice)

    found = []
    config = os.path.join(place.common, "config")
    if (
        not _size(config)
        or git.attempt(place.common, ["config", "--file", config, "--list", "-z"]).code
    ):
        found.append(problem(config, "is empty or cannot be read"))
    head = os.path.join(place.git, "HEAD")
    if not head_target(place.git):
        return [*found, problem(head, "is empty or damaged: git does not see a repository here")]
    if index_fault(place):
        found.append(
            problem(
                os.path.join(place.git, "index"), "is damaged: git cannot say what is staged", FIX
            )
        )
    refs = broken_refs(place)
    found += [
        problem(
            os.path.join(place.common, ref),
            "is empty or damaged: git does not know this branch's commit",
        )
        for ref in refs
    ]
    if empty := empty_objects(place.common):
        more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        found.append(
            problem(empty[0], f"is an empty object{more}: part of the history cannot be read")
        )
    if not refs and (why := head_fault(place)):
        found.append(problem(head, why))
    return found


def head_target(folder: str) -> str:
    """What a git folder's HEAD says: `refs/heads/…`, or a commit's id; empty when it says neither."""
    line = read_line(os.path.join(folder, "HEAD"))
    target = line.removeprefix("ref:").strip() if line.startswith("ref:") else line
    return target if target.startswith("refs/") or _ID.fullmatch(target) else ""


def head_fault(place: Place) -> str:
    """Why the commit that is checked out cannot be used; empty when it can, or when nothing was ever committed."""
    target = head_target(place.git)
    if ask(place, ["rev-parse", "--verify", "--quiet", "HEAD"]).code:
        logged = any(
            _size(os.path.join(place.common, "logs", *name.split("/"))) for name in ("HEAD", target)
        )
        return f"names {target}, whose commit is gone" if logged else ""
    if ask(place, ["ls-tree", "-r", "-t", "-z", "--name-only", "HEAD"]).code:
        return "names a commit that cannot be read whole"
    return ""


def index_fault(place: Place) -> str:
    """Why the index cannot be read; empty when it can, or when there is none."""
    path = os.path.join(place.git, "index")
    if not os.path.lexists(path):
        return ""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return "is no file"
    if not _summed(
        path
    ):  # git itself looks at an index's checksum in fsck alone, and takes half of one for a whole
        return "does not match its checksum"
    ran = ask(place, ["ls-files", "-z", "--", "cortex.toml"])
    return ran.reason if ran.code else ""


def _summed(path: str) -> bool:
    """Whether an index ends with the checksum of what stands before it, or with none."""
    import hashlib  # noqa: PLC0415  loads OpenSSL, 4 ms

    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 32 or not data.startswith(b"DIRC"):
        return False
    sums = (
        hashlib.sha1(data[:-20], usedforsecurity=False).digest(),
        hashlib.sha256(data[:-32]).digest(),
    )
    return data.endswith((*sums, bytes(20)))


def broken_refs(place: Place) -> list[str]:
    """The names of refs whose files hold no commit's id."""
    found = []
    for path in () if _reftable(place.common) else _files(os.path.join(place.common, "refs")):
        line = read_line(path)
        if not path.endswith(".lock") and not _ID.fullmatch(line) and not line.startswith("ref:"):
            found.append(os.path.relpath(path, place.common))
    return sorted(found)


def loose_objects(common: str) -> Iterator[str]:
    """The paths of the objects that lie in files of their own."""
    objects = os.path.join(common, "objects")
    for two in files.listed(objects):
        if len(two) == 2:
            for name in files.listed(os.path.join(objects, two)):
                if _ID.fullmatch(two + name):
                    yield os.path.join(objects, two, name)


def empty_objects(common: str) -> list[str]:
    return [path for path in loose_objects(common) if not _size(path)]


def read_line(path: str) -> str:
    """The first line of a small file; empty when it cannot be read."""
    return os.fsdecode(files.read_small(path, _MOST_LINE).split(b"\n")[0]).strip()


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _files(folder: str) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(parent, name)
