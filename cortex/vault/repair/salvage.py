"""What can still be had when a repository is damaged: objects from the notes themselves, history from the remote."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress

from cortex.core.model.problem import CortexError
from cortex.vault.git import git_cli
from cortex.vault.repair import diagnose
from cortex.vault.repair.diagnose import RepositoryPaths, run_in_repository
from cortex.vault.state import store

_MISSING_RE = re.compile(r"^missing (blob|tree) ([0-9a-f]{40,64})$", re.MULTILINE)
_COPIED_FILES = ("config", "description", "info/exclude", "info/attributes")


def restore_from_work_tree(place: RepositoryPaths) -> int:
    """Write the missing objects again that the files of the work tree make; answers how many there were. A note that
    was committed and then left alone is its own copy of what the cut took."""
    written = 0
    while missing := _missing_objects(
        place
    ):  # a tree that is back may name what is missing below it
        _write_objects(place, missing)
        found = len(missing - _missing_objects(place))
        written += found
        if not found:
            break
    return written


def _write_objects(place: RepositoryPaths, missing: set[tuple[str, str]]) -> None:
    index = os.path.join(place.git_dir, "cortex-salvage-index")
    with suppress(FileNotFoundError):
        os.unlink(index)
    extra = {"GIT_DIR": place.git_dir, "GIT_WORK_TREE": place.top, "GIT_INDEX_FILE": index}
    try:
        listed = git_cli.run_unchecked(
            place.top,
            ["ls-files", "--others", "--exclude-standard", "-z"],
            extra=extra,
            timeout=120,
        ).stdout
        names = [
            name
            for name in listed.split(b"\0")
            if name and b"\n" not in name and name[:1] != b'"' and _is_regular_file(place.top, name)
        ]
        paths = b"".join(name + b"\n" for name in names)
        ids = git_cli.run_unchecked(
            place.top, ["hash-object", "--stdin-paths"], stdin=paths, extra=extra, timeout=120
        ).stdout.split()
        wanted = [
            name for name, id_ in zip(names, ids, strict=False) if ("blob", id_.decode()) in missing
        ]
        if wanted:
            git_cli.run_unchecked(
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
            git_cli.run_unchecked(
                place.top, ["update-index", "-z", "--index-info"], stdin=entries, extra=extra
            )
            git_cli.run_unchecked(place.top, ["write-tree", "--missing-ok"], extra=extra)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(index)


def _missing_objects(place: RepositoryPaths) -> set[tuple[str, str]]:
    """(kind, id) of the objects that the history leads to and that are not there."""
    return set(
        _MISSING_RE.findall(
            run_in_repository(
                place, ["fsck", "--no-progress", "--no-dangling", "--connectivity-only"]
            ).stdout.decode("ascii", "replace")
        )
    )


def _is_regular_file(top: str, name: bytes) -> bool:
    path = os.path.join(os.fsencode(top), name)
    return os.path.isfile(path) and not os.path.islink(path)


def rebuild_repository(place: RepositoryPaths) -> list[str]:
    """Make the repository anew beside the old one, which is kept whole, and fetch the remote's history into it. The
    work tree stays as it is: what it holds beyond that history shows as changed."""
    damaged = _free_path(os.path.join(place.top, ".git.damaged-"))
    build = os.path.join(place.top, diagnose.BUILD_FOLDER)
    store.remove(build)  # what a repair that was killed has left
    target = diagnose.read_head_target(place.git_dir) or "refs/heads/main"
    branch = target.removeprefix("refs/heads/") if target.startswith("refs/heads/") else "main"
    try:
        git_cli.run(place.top, ["init", "-q", "-b", git_cli.check_ref_name(branch), build])
        fresh = os.path.join(build, ".git")
        for name in _COPIED_FILES:
            with suppress(OSError):
                shutil.copyfile(
                    os.path.join(place.git_dir, *name.split("/")),
                    os.path.join(fresh, *name.split("/")),
                    follow_symlinks=False,
                )
        with suppress(OSError):
            shutil.copytree(
                os.path.join(place.git_dir, "hooks"),
                os.path.join(fresh, "hooks"),
                dirs_exist_ok=True,
                symlinks=True,
            )
        with open(os.path.join(fresh, "info", "exclude"), "ab") as file:
            file.write(f"/.git.damaged-*/\n/{diagnose.BUILD_FOLDER}/\n".encode())
        done = _fetch_all(build, branch)
        os.rename(place.git_dir, damaged)
        os.rename(fresh, place.git_dir)
    except OSError as error:
        raise CortexError(
            f".git cannot be made anew: {error.strerror}",
            "make room, or allow writing there, then cortex doctor --fix",
        ) from error
    finally:
        store.remove(build)  # ours, and of no use half-made
    return [*done, f"made .git anew; the old one is whole in {os.path.basename(damaged)}"]


def _fetch_all(build: str, branch: str) -> list[str]:
    done = []
    for remote in git_cli.run(build, ["remote"]).decode("utf-8", "replace").split("\n"):
        if not remote:
            continue
        try:
            ran = git_cli.run_remote(build, ["fetch", git_cli.check_ref_name(remote)])
        except CortexError as error:
            done.append(f"could not fetch from {remote}: {error.message}")
            continue
        if ran.code:
            done.append(f"could not fetch from {remote}: {ran.reason}")
            continue
        done.append(f"fetched the history of {remote}")
        if not git_cli.has_commit(build):
            remote_branch = f"refs/remotes/{remote}/{branch}"
            if not git_cli.run_unchecked(
                build, ["rev-parse", "--verify", "--quiet", remote_branch]
            ).code:
                git_cli.run(build, ["update-ref", f"refs/heads/{branch}", remote_branch])
                git_cli.run(build, ["read-tree", "HEAD"])
    return done


def _free_path(start: str) -> str:
    number = 1
    while os.path.lexists(f"{start}{number}"):
        number += 1
    return f"{start}{number}"
