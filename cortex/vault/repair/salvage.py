"""What can still be had when a repository is damaged: objects from the notes themselves, history from the remote."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress

from cortex.core.model.problem import CortexError
from cortex.vault.git import git
from cortex.vault.repair import diagnose
from cortex.vault.repair.diagnose import Place, ask
from cortex.vault.state import store

_MISSING = re.compile(r"^missing (blob|tree) ([0-9a-f]{40,64})$", re.MULTILINE)
_KEPT = ("config", "description", "info/exclude", "info/attributes")


def from_work_tree(place: Place) -> int:
    """Write the missing objects again that the files of the work tree make; answers how many there were. A note that
    was committed and then left alone is its own copy of what the cut took."""
    written = 0
    while missing := _missing(place):  # a tree that is back may name what is missing below it
        _write_again(place, missing)
        found = len(missing - _missing(place))
        written += found
        if not found:
            break
    return written


def _write_again(place: Place, missing: set[tuple[str, str]]) -> None:
    index = os.path.join(place.git, "cortex-salvage-index")
    with suppress(FileNotFoundError):
        os.unlink(index)
    extra = {"GIT_DIR": place.git, "GIT_WORK_TREE": place.top, "GIT_INDEX_FILE": index}
    try:
        listed = git.attempt(
            place.top,
            ["ls-files", "--others", "--exclude-standard", "-z"],
            extra=extra,
            timeout=120,
        ).output
        names = [
            name
            for name in listed.split(b"\0")
            if name and b"\n" not in name and name[:1] != b'"' and _is_file(place.top, name)
        ]
        paths = b"".join(name + b"\n" for name in names)
        ids = git.attempt(
            place.top, ["hash-object", "--stdin-paths"], stdin=paths, extra=extra, timeout=120
        ).output.split()
        wanted = [
            name for name, id_ in zip(names, ids, strict=False) if ("blob", id_.decode()) in missing
        ]
        if wanted:
            git.attempt(
                place.top,
                ["hash-object", "-w", "--stdin-paths"],
                stdin=b"".join(name + b"\n" for name in wanted),
                extra=extra,
            )
        if any(kind == "tree" for kind, _ in missing) and len(ids) == len(names):
            modes = [
                b"100755"
                if os.access(os.path.join(os.fsencode(place.top), name), os.X_OK)
                else b"100644"
                for name in names
            ]
            entries = b"".join(
                mode + b" " + id_ + b"\t" + name + b"\0"
                for mode, id_, name in zip(modes, ids, names, strict=True)
            )
            git.attempt(
                place.top, ["update-index", "-z", "--index-info"], stdin=entries, extra=extra
            )
            git.attempt(place.top, ["write-tree", "--missing-ok"], extra=extra)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(index)


def _missing(place: Place) -> set[tuple[str, str]]:
    """(kind, id) of the objects that the history leads to and that are not there."""
    return set(
        _MISSING.findall(
            ask(
                place, ["fsck", "--no-progress", "--no-dangling", "--connectivity-only"]
            ).output.decode("ascii", "replace")
        )
    )


def _is_file(top: str, name: bytes) -> bool:
    path = os.path.join(os.fsencode(top), name)
    return os.path.isfile(path) and not os.path.islink(path)


def anew(place: Place) -> list[str]:
    """Make the repository anew beside the old one, which is kept whole, and fetch the remote's history into it. The
    work tree stays as it is: what it holds beyond that history shows as changed."""
    damaged = _free(os.path.join(place.top, ".git.damaged-"))
    build = os.path.join(place.top, diagnose.BUILD)
    store.remove(build)  # what a repair that was killed has left
    target = diagnose.head_target(place.git) or "refs/heads/main"
    branch = target.removeprefix("refs/heads/") if target.startswith("refs/heads/") else "main"
    try:
        git.run(place.top, ["init", "-q", "-b", git.ref_name(branch), build])
        fresh = os.path.join(build, ".git")
        for name in _KEPT:
            with suppress(OSError):
                shutil.copyfile(
                    os.path.join(place.git, *name.split("/")),
                    os.path.join(fresh, *name.split("/")),
                    follow_symlinks=False,
                )
        with suppress(OSError):
            shutil.copytree(
                os.path.join(place.git, "hooks"),
                os.path.join(fresh, "hooks"),
                dirs_exist_ok=True,
                symlinks=True,
            )
        with open(os.path.join(fresh, "info", "exclude"), "ab") as file:
            file.write(f"/.git.damaged-*/\n/{diagnose.BUILD}/\n".encode())
        done = _fetched(build, branch)
        os.rename(place.git, damaged)
        os.rename(fresh, place.git)
    except OSError as error:
        raise CortexError(
            f".git cannot be made anew: {error.strerror}",
            "make room, or allow writing there, then cortex doctor --fix",
        ) from error
    finally:
        store.remove(build)  # ours, and of no use half-made
    return [*done, f"made .git anew; the old one is whole in {os.path.basename(damaged)}"]


def _fetched(build: str, branch: str) -> list[str]:
    done = []
    for remote in git.run(build, ["remote"]).decode("utf-8", "replace").split("\n"):
        if not remote:
            continue
        try:
            ran = git.talk(build, ["fetch", git.ref_name(remote)])
        except CortexError as error:
            done.append(f"could not fetch from {remote}: {error.message}")
            continue
        if ran.code:
            done.append(f"could not fetch from {remote}: {ran.reason}")
            continue
        done.append(f"fetched the history of {remote}")
        if not git.has_commit(build):
            remote_branch = f"refs/remotes/{remote}/{branch}"
            if not git.attempt(build, ["rev-parse", "--verify", "--quiet", remote_branch]).code:
                git.run(build, ["update-ref", f"refs/heads/{branch}", remote_branch])
                git.run(build, ["read-tree", "HEAD"])
    return done


def _free(start: str) -> str:
    number = 1
    while os.path.lexists(f"{start}{number}"):
        number += 1
    return f"{start}{number}"
