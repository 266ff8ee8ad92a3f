"""Read git's objects, index and diffs. Paths are bytes from the top of the work tree, as git's."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from cortex.core.text.value import NamedTuple
from cortex.vault.git import checkout, git_cli

# Gives `diff-tree`, `diff-index` and `log` the output of `parse_raw`, whatever is configured.
RAW = ("--raw", "-z", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")


class RawChange(NamedTuple):
    """One entry of `--raw -z`. Modes are like b"100644"; a blob is "" where there is no file."""

    status: str  # A, D, M, R or T
    path: bytes
    new_path: bytes  # of a renamed file
    old_mode: bytes
    new_mode: bytes
    old_blob: str
    new_blob: str


class StagedChange(NamedTuple):
    """A path that differs between index and HEAD: `mode blob` of both."""

    path: bytes
    head_entry: bytes
    index_entry: bytes


class IndexEntry(NamedTuple):
    """A path of the index, or one version of an unmerged one."""

    path: bytes
    number: int  # 0: merged; 1 is the base, 2 ours, 3 theirs
    mode: bytes
    blob: str


def toplevel(root: str) -> str:
    """The top of the work tree around a vault; the vault itself outside a repository."""
    repository = checkout.find_repository(root)
    return repository.top if repository else root


def prefix(root: str) -> bytes:
    """What git puts before the vault's paths: empty when the vault is the whole repository."""
    below = os.path.relpath(root, toplevel(root))
    return b"" if below == "." else os.fsencode(below) + b"/"


def join_nul(paths: Iterable[str]) -> bytes:
    """Paths as git reads them from a pipe."""
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def parse_raw(output: bytes) -> Iterator[RawChange | bytes]:
    """The changes in an output made with `RAW`; other fields (headers of commits) as they are."""
    fields = iter(output.split(b"\0"))
    for field in fields:
        meta = field.lstrip(b"\n")
        if not meta.startswith(b":"):
            if meta:
                yield meta
            continue
        old_mode, new_mode, *blobs, status = meta[1:].split(b" ")
        path = next(fields, b"")
        new_path = next(fields, b"") if status[:1] in (b"R", b"C") else b""
        old, new = (blob.decode() if blob.strip(b"0") else "" for blob in blobs)
        yield RawChange(chr(status[0]), path, new_path, old_mode, new_mode, old, new)


def list_raw(output: bytes) -> list[RawChange]:
    """The changes alone in an output made with `RAW`."""
    return [one for one in parse_raw(output) if isinstance(one, RawChange)]


def changes_between(root: str, old: str, new: str, *paths: str) -> list[RawChange]:
    """The files that differ between two commits or trees (below `paths`), without renames."""
    words = ["diff-tree", "-r", *RAW, "--no-renames", "--end-of-options", old, new, "--", *paths]
    return list_raw(git_cli.run(toplevel(root), words, timeout=120.0))


def list_staged(root: str, index: str = "", *, intended: bool = True) -> list[StagedChange]:
    """What differs between index (or that file, a copy of it) and HEAD, in the whole repository."""
    tree = "HEAD" if git_cli.has_commit(root) else empty_tree(root)
    flags = [] if intended else ["--ita-invisible-in-index"]  # without what `git add -N` named
    words = ["diff-index", "--cached", *flags, *RAW, "--no-renames", tree, "--"]
    output = git_cli.run(root, words, extra={"GIT_INDEX_FILE": index} if index else None)
    found = []
    for one in list_raw(output):
        none = "0" * len(one.old_blob or one.new_blob)
        old = one.old_mode + b" " + (one.old_blob or none).encode()
        new = one.new_mode + b" " + (one.new_blob or none).encode()
        found.append(StagedChange(one.path, old, new))
    return found


def empty_tree(root: str) -> str:
    """The id of the empty tree, which depends on the repository's hash."""
    return git_cli.line(root, ["hash-object", "-t", "tree", "--stdin"])


def format_index_info(entries: Mapping[bytes, bytes]) -> bytes:
    """Input of `git update-index --index-info`; mode 000000 removes a path."""
    return b"".join(entry + b"\t" + path + b"\0" for path, entry in entries.items())


def list_index(root: str, which: str = "--stage") -> list[IndexEntry]:
    """The entries of the repository's index, or of those only what `which` selects."""
    found = []
    output = git_cli.run(toplevel(root), ["ls-files", which, "-z"], timeout=120.0)
    for line in output.split(b"\0"):
        meta, _, path = line.partition(b"\t")
        if path:
            mode, blob, stage = meta.split(b" ")
            found.append(IndexEntry(path, int(stage), mode, blob.decode()))
    return found


def list_unmerged_stages(root: str) -> list[IndexEntry]:
    """Every version of every unmerged path of the repository."""
    return list_index(root, "--unmerged")


def read_blobs(root: str, names: Iterable[str], max_bytes: int | None = None) -> dict[str, bytes]:
    """The content of blobs (up to `max_bytes`) by id, or by another name such as `HEAD:path`. What
    is no blob is left out."""
    wanted = list(dict.fromkeys(name for name in names if name.strip("0") and "\n" not in name))
    if wanted and max_bytes is not None:  # before git writes them out
        lines = b"".join(os.fsencode(name) + b"\n" for name in wanted)
        listed = git_cli.run(root, ["cat-file", "--batch-check"], stdin=lines, timeout=120.0)
        sizes = (line.rpartition(b" ")[2] for line in listed.split(b"\n"))
        pairs = zip(wanted, sizes, strict=False)
        wanted = [name for name, size in pairs if size.isdigit() and int(size) <= max_bytes]
    read = read_objects(root, wanted).items()
    return {name: data for name, (kind, data) in read if kind == "blob"}


def read_objects(root: str, names: Iterable[str]) -> dict[str, tuple[str, bytes]]:
    """The kind and content of each of these objects that there is."""
    wanted = list(names)
    lines = b"".join(os.fsencode(name) + b"\n" for name in wanted)
    ran = git_cli.run(root, ["cat-file", "--batch"], stdin=lines, timeout=600.0) if wanted else b""
    output = memoryview(ran)
    found: dict[str, tuple[str, bytes]] = {}
    at = 0
    for name in wanted:  # git answers in the order in which it was asked
        line = bytes(output[at : at + len(name) * 4 + 200]).partition(b"\n")[0]
        at += len(line) + 1
        *_, kind, size = line.split(b" ")
        if size.isdigit():
            found[name] = kind.decode(), bytes(output[at : at + int(size)])
            at += int(size) + 1
    return found


def list_files(root: str, revision: str, paths: Sequence[str] = ()) -> dict[bytes, str]:
    """The regular files of a commit with their blobs, below the paths (from the top) or all."""
    found: dict[bytes, str] = {}
    for some in split_batches(paths) if paths else [()]:
        words = ["ls-tree", "-r", "-z", "--full-tree", revision, "--", *some]
        listed = git_cli.run_unchecked(toplevel(root), words)
        if listed.code:
            hint = "git fsck shows whether the repository is whole"
            raise git_cli.command_error("ls-tree", listed, root, hint)
        for line in listed.stdout.split(b"\0"):
            meta, _, path = line.partition(b"\t")
            if path and meta.startswith(b"100"):
                found[path] = meta.split(b" ")[2].decode()
    return found


def find_blobs(root: str, revision: str, blobs: Container[str]) -> dict[str, str]:
    """The vault's files of which a commit has one of these blobs: path -> blob."""
    before = prefix(root)
    there = list_files(root, revision, [os.fsdecode(before)] if before else ())
    found = ((path, blob) for path, blob in there.items() if blob in blobs)
    return {os.fsdecode(path.removeprefix(before)): blob for path, blob in found}


def read_committed(root: str, paths: Sequence[str], revision: str = "HEAD") -> dict[str, bytes]:
    """The regular files that a commit has at the vault's paths, or below those that are folders.
    Empty before the first commit."""
    if not paths or not checkout.is_in_repository(root) or not git_cli.has_commit(root):
        return {}
    before = os.fsdecode(prefix(root))
    blobs = list_files(root, revision, [before + path for path in paths])
    texts = read_blobs(root, blobs.values())
    named = {os.fsdecode(name).removeprefix(before): blob for name, blob in blobs.items()}
    return {path: texts[blob] for path, blob in named.items() if blob in texts}


def list_untracked(root: str) -> list[str]:
    """The files below the vault that git neither knows nor ignores."""
    words = ["ls-files", "--others", "--exclude-standard", "-z", "--", "."]
    listed = git_cli.run(root, words, timeout=60.0)
    return [os.fsdecode(name) for name in listed.split(b"\0") if name]


def read_at_revision(root: str, revision: str, path: str) -> bytes | None:
    """The text of a vault path in a commit; None where it has none."""
    ran = git_cli.run_unchecked(root, ["cat-file", "blob", f"{revision}:./{path}"], timeout=30.0)
    return None if ran.code else ran.stdout


def added_texts(root: str, paths: Sequence[str]) -> dict[str, list[bytes]]:
    """By vault path the texts with which commits, but merges, on any branch or in the reflog have
    added it, the oldest first; without paths that none has."""
    words = ["log", "--all", "--reflog", "--reverse", "--no-merges", "--format=", *RAW]
    words += ["--no-renames", "--diff-filter=A", "--"]
    logs = (git_cli.run(root, [*words, *some], timeout=60.0) for some in split_batches(paths))
    added = [one for log in logs for one in list_raw(log)]
    texts, before = read_blobs(root, [one.new_blob for one in added]), prefix(root)
    found: dict[str, list[bytes]] = {}
    for one in added:
        if one.new_blob in texts:
            path = os.fsdecode(one.path.removeprefix(before))
            found.setdefault(path, []).append(texts[one.new_blob])
    return found


def list_blob_changes(root: str, path: str) -> list[tuple[str, str]]:
    """(old blob, new blob) of a vault path in the commits leading to HEAD, the newest first, empty
    where there was no file; a merge gives one for each parent that differs."""
    if not checkout.is_in_repository(root) or not git_cli.has_commit(root):
        return []
    words = ["log", "--format=", *RAW, "--no-renames", "-m", "HEAD", "--", path]
    changes = list_raw(git_cli.run_unchecked(root, words, timeout=30.0).stdout)
    return [(one.old_blob, one.new_blob) for one in changes]


def filter_ignored(root: str, paths: Iterable[str]) -> set[str]:
    """Those of the vault-relative paths that git ignores and does not know."""
    # This command takes no literal paths; `./` keeps git from reading a name as a pattern.
    lines = join_nul(f"./{path}" for path in paths)
    if not lines:
        return set()
    environment = {"GIT_LITERAL_PATHSPECS": "0"}
    words = ["check-ignore", "-z", "--stdin"]
    ran = git_cli.run_unchecked(root, words, stdin=lines, extra=environment)
    if ran.code > 1 or ran.code < 0:
        raise git_cli.command_error("check-ignore", ran, root)
    return {os.fsdecode(name.removeprefix(b"./")) for name in ran.stdout.split(b"\0") if name}


def split_batches(paths: Sequence[str], most: int = 500) -> Iterator[Sequence[str]]:
    """So many paths at a time that a command line holds them."""
    for start in range(0, len(paths), most):
        yield paths[start : start + most]
