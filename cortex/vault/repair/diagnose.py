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
from cortex.vault.git import checkout, git_cli

FIX_COMMAND = "cortex doctor --fix"
_MANUAL_HINT = "git fsck --full names what is missing; fetch it again, or clone the repository anew beside this one"
_MAX_LINE_BYTES = 4096  # bytes of a file of which a line is read
_OBJECT_ID_RE = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_DAMAGED_FOLDER_RE = re.compile(
    r"\.git\.damaged-([0-9]{1,6})"
)  # the name that a repair gives to a .git which it makes anew
BUILD_FOLDER = ".git.cortex-new"  # the folder in which it makes it


class RepositoryPaths(NamedTuple):
    """A repository on the disk."""

    root: str  # the vault
    top: str  # the work tree
    git_dir: str  # its git folder
    common_dir: str  # what all its worktrees share
    is_vault_only: (
        bool  # the work tree is the vault, and the git folder lies in it: all of it is ours to mend
    )


def locate_repository(root: str) -> RepositoryPaths | None:
    """The repository that the vault lies in, however damaged."""
    found = checkout.find_repository(root)
    if found is None:
        return None
    top, folder, common = found
    alone = (
        os.path.realpath(root) == top
        and folder == os.path.join(top, ".git")
        and not _uses_reftable(common)
    )
    return RepositoryPaths(root, top, folder, common, alone)


def _uses_reftable(common: str) -> bool:
    """Whether refs are kept in a format of their own, in which we mend nothing."""
    return os.path.isdir(os.path.join(common, "reftable"))


def run_in_repository(
    place: RepositoryPaths, arguments: list[str], *, stdin: bytes = b"", timeout: float = 120.0
) -> git_cli.GitResult:
    """Run git in exactly this repository: where its HEAD is broken, git would take the one around it."""
    own = (
        os.stat(place.git_dir).st_uid == os.geteuid()
    )  # a stranger's repository stays behind git's own question of trust
    extra = {"GIT_DIR": place.git_dir, "GIT_WORK_TREE": place.top} if own else {}
    return git_cli.run_unchecked(place.root, arguments, stdin=stdin, timeout=timeout, extra=extra)


def find_problems(root: str) -> list[Problem]:
    """What is broken in the repository around the vault; nothing outside one. Runs a few short gits."""
    if taken := interrupted_repair(root):
        return [
            Problem(
                ".git",
                f"is gone: a repair that was ended half-way has left it as {taken}",
                FIX_COMMAND,
            )
        ]
    pointer = os.path.join(root, ".git")
    if os.path.isfile(pointer) and not read_first_line(pointer).startswith("gitdir:"):
        return [
            Problem(
                ".git",
                "does not say where the repository is",
                "in the main worktree: git worktree repair; or write `gitdir: PATH` into it",
            )
        ]
    place = locate_repository(root)
    path, why = checkout.find_fault(root)
    if path:
        mendable = (
            place is not None and place.is_vault_only and path.startswith(place.git_dir + os.sep)
        )
        return [
            Problem(
                os.path.relpath(path, root),
                why,
                FIX_COMMAND if mendable else git_cli.fault_hint(path),
            )
        ]
    if place is None:
        return []
    try:
        run_in_repository(
            place, ["rev-parse", "--git-dir"], timeout=3.0
        )  # a pipe among git's own files would hold every question
        return find_damage(place)
    except (CortexError, OSError) as error:
        return [
            Problem(
                ".git",
                f"cannot be examined: {error}",
                (isinstance(error, CortexError) and error.hint) or "git fsck",
            )
        ]


def interrupted_repair(root: str) -> str:
    """The name under which a repair that was killed in its last moment has left the repository; empty otherwise."""
    if os.path.lexists(os.path.join(root, ".git")) or not os.path.isdir(
        os.path.join(root, BUILD_FOLDER, ".git")
    ):
        return ""
    found = {
        int(name[1]): name[0]
        for each in files.list_folder(root)
        if (name := _DAMAGED_FOLDER_RE.fullmatch(each))
    }
    return found[max(found)] if found else ""


def find_damage(place: RepositoryPaths) -> list[Problem]:
    """The damage that `repair` mends or, in a repository that is not the vault's alone, names."""
    hint = FIX_COMMAND if place.is_vault_only else _MANUAL_HINT

    def problem(path: str, message: str, advice: str = hint) -> Problem:
        return Problem(os.path.relpath(path, place.root), message, advice)

    found = []
    config = os.path.join(place.common_dir, "config")
    if (
        not _file_size(config)
        or git_cli.run_unchecked(
            place.common_dir, ["config", "--file", config, "--list", "-z"]
        ).code
    ):
        found.append(problem(config, "is empty or cannot be read"))
    head = os.path.join(place.git_dir, "HEAD")
    if not read_head_target(place.git_dir):
        return [*found, problem(head, "is empty or damaged: git does not see a repository here")]
    if index_fault(place):
        found.append(
            problem(
                os.path.join(place.git_dir, "index"),
                "is damaged: git cannot say what is staged",
                FIX_COMMAND,
            )
        )
    refs = list_broken_refs(place)
    found += [
        problem(
            os.path.join(place.common_dir, ref),
            "is empty or damaged: git does not know this branch's commit",
        )
        for ref in refs
    ]
    if empty := list_empty_objects(place.common_dir):
        more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        found.append(
            problem(empty[0], f"is an empty object{more}: part of the history cannot be read")
        )
    if not refs and (why := head_fault(place)):
        found.append(problem(head, why))
    return found


def read_head_target(folder: str) -> str:
    """What a git folder's HEAD says: `refs/heads/…`, or a commit's id; empty when it says neither."""
    line = read_first_line(os.path.join(folder, "HEAD"))
    target = line.removeprefix("ref:").strip() if line.startswith("ref:") else line
    return target if target.startswith("refs/") or _OBJECT_ID_RE.fullmatch(target) else ""


def head_fault(place: RepositoryPaths) -> str:
    """Why the commit that is checked out cannot be used; empty when it can, or when nothing was ever committed."""
    target = read_head_target(place.git_dir)
    if run_in_repository(place, ["rev-parse", "--verify", "--quiet", "HEAD"]).code:
        logged = any(
            _file_size(os.path.join(place.common_dir, "logs", *name.split("/")))
            for name in ("HEAD", target)
        )
        return f"names {target}, whose commit is gone" if logged else ""
    if run_in_repository(place, ["ls-tree", "-r", "-t", "-z", "--name-only", "HEAD"]).code:
        return "names a commit that cannot be read whole"
    return ""


def index_fault(place: RepositoryPaths) -> str:
    """Why the index cannot be read; empty when it can, or when there is none."""
    path = os.path.join(place.git_dir, "index")
    if not os.path.lexists(path):
        return ""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return "is no file"
    if not _has_valid_checksum(
        path
    ):  # git itself looks at an index's checksum in fsck alone, and takes half of one for a whole
        return "does not match its checksum"
    ran = run_in_repository(place, ["ls-files", "-z", "--", "cortex.toml"])
    return ran.reason if ran.code else ""


def _has_valid_checksum(path: str) -> bool:
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


def list_broken_refs(place: RepositoryPaths) -> list[str]:
    """The names of refs whose files hold no commit's id."""
    found = []
    for path in (
        ()
        if _uses_reftable(place.common_dir)
        else _iter_files(os.path.join(place.common_dir, "refs"))
    ):
        line = read_first_line(path)
        if (
            not path.endswith(".lock")
            and not _OBJECT_ID_RE.fullmatch(line)
            and not line.startswith("ref:")
        ):
            found.append(os.path.relpath(path, place.common_dir))
    return sorted(found)


def iter_loose_objects(common: str) -> Iterator[str]:
    """The paths of the objects that lie in files of their own."""
    objects = os.path.join(common, "objects")
    for two in files.list_folder(objects):
        if len(two) == 2:
            for name in files.list_folder(os.path.join(objects, two)):
                if _OBJECT_ID_RE.fullmatch(two + name):
                    yield os.path.join(objects, two, name)


def list_empty_objects(common: str) -> list[str]:
    return [path for path in iter_loose_objects(common) if not _file_size(path)]


def read_first_line(path: str) -> str:
    """The first line of a small file; empty when it cannot be read."""
    return os.fsdecode(files.read_bounded(path, _MAX_LINE_BYTES).split(b"\n")[0]).strip()


def _file_size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _iter_files(folder: str) -> Iterator[str]:
    for parent, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(parent, name)
