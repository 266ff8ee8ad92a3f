"""What git holds of a repository: blobs, entries of the index, unmerged stages. Paths are bytes from the top of the
work tree here, as git writes them; `prefix` is what stands before the vault's own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from cortex.vault.git import checkout, git_cli

NONE = b"000000"  # the mode of what is not there


class StagedChange(NamedTuple):
    """A path that differs between the index and the last commit: `mode blob` of both."""

    path: bytes
    head_entry: bytes
    index_entry: bytes  # of the index


class UnmergedStage(NamedTuple):
    """One version of a path that git could not merge: 1 is the base, 2 ours, 3 theirs."""

    path: bytes
    number: int
    mode: bytes
    blob: str


def toplevel(root: str) -> str:
    """The top of the work tree around a vault; the vault itself outside a repository."""
    place = checkout.find_repository(root)
    return place[0] if place else root


def prefix(root: str) -> bytes:
    """What git puts before the vault's paths: empty when the vault is the whole repository."""
    below = os.path.relpath(root, toplevel(root))
    return b"" if below == "." else os.fsencode(below) + b"/"


def join_nul(paths: Iterable[str]) -> bytes:
    """Paths as git reads them from a pipe."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def list_staged(root: str) -> list[StagedChange]:
    """What differs between the index and the last commit, in the whole repository."""
    tree = "HEAD"
    if not git_cli.has_commit(root):
        tree = git_cli.run(root, ["hash-object", "-t", "tree", "--stdin"]).decode().strip()
    raw = git_cli.run(
        root,
        [
            "diff-index",
            "--cached",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            "--ignore-submodules=none",
            "-z",
            tree,
            "--",
        ],
    )
    fields = raw.split(b"\0")
    found = []
    for meta, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, mode, old, new, _ = meta.removeprefix(b":").split(b" ")
        found.append(StagedChange(path, old_mode + b" " + old, mode + b" " + new))
    return found


def format_index_info(entries: Mapping[bytes, bytes]) -> bytes:
    """The lines that make `git update-index --index-info` put `mode blob` for each path; mode 000000 takes it out."""
    return b"".join(entry + b"\t" + path + b"\0" for path, entry in entries.items())


def list_unmerged_stages(root: str) -> list[UnmergedStage]:
    """Every version of every path of the repository that git could not merge."""
    found = []
    for line in git_cli.run(toplevel(root), ["ls-files", "--unmerged", "-z"]).split(b"\0"):
        if line:
            meta, _, path = line.partition(b"\t")
            mode, blob, number = meta.split(b" ")
            found.append(UnmergedStage(path, int(number), mode, blob.decode()))
    return found


def read_blobs(root: str, ids: Iterable[str]) -> dict[str, bytes]:
    """The content of blobs, by id; what is no blob is left out."""
    wanted = sorted({id_ for id_ in ids if id_.strip("0")})
    if not wanted:
        return {}
    output = memoryview(
        git_cli.run(
            root,
            ["cat-file", "--batch"],
            timeout=120.0,
            stdin="".join(f"{id_}\n" for id_ in wanted).encode(),
        )
    )
    held: dict[str, bytes] = {}
    at = 0
    while at < len(output):
        end = at + bytes(output[at : at + 200]).index(b"\n")
        fields = bytes(output[at:end]).split(b" ")
        at = end + 1
        if fields[1] == b"missing":
            continue
        size = int(fields[2])
        if fields[1] == b"blob":
            held[fields[0].decode()] = bytes(output[at : at + size])
        at += size + 1
    return held


def list_files(root: str, revision: str, paths: Sequence[str] = ()) -> dict[bytes, str]:
    """The regular files of a commit with their blobs, below the paths (from the top) or all of them."""
    found: dict[bytes, str] = {}
    for some in split_batches(paths) if paths else [()]:
        listed = git_cli.run_unchecked(
            toplevel(root), ["ls-tree", "-r", "-z", "--full-tree", revision, "--", *some]
        )
        if listed.code:
            raise git_cli.command_error(
                "ls-tree", listed, root, "git fsck shows whether the repository is whole"
            )
        for line in listed.stdout.split(b"\0"):
            meta, _, path = line.partition(b"\t")
            if path and meta.startswith(b"100"):
                found[path] = meta.split(b" ")[2].decode()
    return found


def read_committed(root: str, paths: Sequence[str], revision: str = "HEAD") -> dict[str, bytes]:
    """What a commit, by default git's last one, has for the vault's paths; what it does not have is left out. Nothing
    before the first commit."""
    if not paths or not checkout.is_in_repository(root) or not git_cli.has_commit(root):
        return {}
    before = prefix(root)
    wanted = {before + os.fsencode(path): path for path in paths}
    listed = {
        wanted[name]: blob
        for name, blob in list_files(root, revision, [os.fsdecode(name) for name in wanted]).items()
        if name in wanted
    }
    held = read_blobs(root, listed.values())
    return {path: held[blob] for path, blob in listed.items() if blob in held}


def list_untracked(root: str) -> list[str]:
    """The files below the vault that git neither knows nor ignores."""
    listed = git_cli.run(
        root, ["ls-files", "--others", "--exclude-standard", "-z", "--", "."], timeout=60.0
    )
    return [os.fsdecode(name) for name in listed.split(b"\0") if name]


def read_at_revision(root: str, revision: str, path: str) -> bytes | None:
    """The text of a vault path in a commit; None where it has none."""
    ran = git_cli.run_unchecked(root, ["cat-file", "blob", f"{revision}:./{path}"], timeout=30.0)
    return None if ran.code else ran.stdout


def read_first_version(root: str, path: str) -> bytes | None:
    """The text with which a vault path first came into the repository, on any branch or in the reflog; None when it never did."""
    words = [
        "log",
        "--all",
        "--reflog",
        "--format=",
        "--raw",
        "-z",
        "--no-abbrev",
        "--no-renames",
        "--diff-filter=A",
        "-m",
        "--",
        path,
    ]
    fields = git_cli.run_unchecked(root, words, timeout=60.0).stdout.split(b"\0")
    metas = [field.strip().split(b" ") for field in fields[::2] if field.strip().startswith(b":")]
    if not metas:
        return None
    blob = metas[-1][3].decode()  # git lists the newest first
    return read_blobs(root, [blob]).get(blob)


def list_blob_changes(root: str, path: str) -> list[tuple[str, str]]:
    """The changes of a vault path in the commits leading to HEAD, the newest first, as (old blob, new blob); empty where there was no
    file. A merge gives one for each parent that differs. An empty list outside a repository."""
    if not checkout.is_in_repository(root) or not git_cli.has_commit(root):
        return []
    words = [
        "log",
        "--format=",
        "--raw",
        "-z",
        "--no-abbrev",
        "--no-renames",
        "-m",
        "HEAD",
        "--",
        path,
    ]
    fields = git_cli.run_unchecked(root, words, timeout=30.0).stdout.split(b"\0")
    rows = [
        meta.decode().split(" ") for meta in map(bytes.strip, fields[::2]) if meta.startswith(b":")
    ]
    return [(row[2].strip("0") and row[2], row[3].strip("0") and row[3]) for row in rows]


def filter_ignored(root: str, paths: Iterable[str]) -> set[str]:
    """Those of the vault-relative paths that git ignores and does not know."""
    # This command takes no literal paths; with `./` before it, no name is read as a pattern's magic.
    lines = join_nul(f"./{path}" for path in paths)
    if not lines:
        return set()
    ran = git_cli.run_unchecked(
        root, ["check-ignore", "-z", "--stdin"], stdin=lines, extra={"GIT_LITERAL_PATHSPECS": "0"}
    )
    if ran.code > 1 or ran.code < 0:
        raise git_cli.command_error("check-ignore", ran, root)
    return {os.fsdecode(name.removeprefix(b"./")) for name in ran.stdout.split(b"\0") if name}


def split_batches(paths: Sequence[str], most: int = 500) -> Iterator[Sequence[str]]:
    """So many paths at a time that a command line holds them."""
    for start in range(0, len(paths), most):
        yield paths[start : start + most]
