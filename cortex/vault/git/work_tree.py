"""Make what git writes into the work tree durable, and put back what a power cut has taken of it.

Git syncs its own files (`core.fsync=all`), but none of the work tree: after a power cut index and
branch may name notes that are empty or missing, and the next commit would delete these.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from cortex.core.model.layout import BRIEFINGS_FOLDER
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.vault import files
from cortex.vault.git import checkout, git_cli, git_locks, objects
from cortex.vault.layout import layout_of

_MAX_SYNCED_FILES = 1_000  # files that are synced one by one; for more, the whole system is
_MAX_FILE_BYTES = 16_000_000  # bytes of a file that is compared
_BATCH_PATHS = 200  # paths whose versions are held in memory at once
_CLOUD_SUFFIXES = ("nextcloud", "owncloud", "cloud", "cloudf")  # of what stands for a file
_SECTOR_BYTES = 512  # bytes; a file that a power cut has cut off ends where one ends


def list_skipped(root: str) -> list[bytes]:
    """The records, sessions and pages that a sparse checkout leaves out of the work tree."""
    if add_words(root) == ["add"]:
        return []
    folders = map(layout_of(root).path, ("records", "sessions", BRIEFINGS_FOLDER))
    listed = git_cli.run(root, ["ls-files", "-t", "-z", "--", *folders]).split(b"\0")
    return [line[2:] for line in listed if line.startswith(b"S ")]


def add_words(root: str) -> list[str]:
    """The command of git that adds files, also where a sparse checkout has none."""
    repository = checkout.find_repository(root)
    rules = repository and os.path.join(repository.git_dir, "info", "sparse-checkout")
    return ["add", "--sparse"] if rules and os.path.lexists(rules) else ["add"]


def why_absent(root: str, path: str) -> str:
    """Why nobody has deleted a path that is gone; empty where somebody has."""
    folder, missing = os.path.split(path)
    while not os.path.lexists(at := os.path.join(root, folder)):
        folder, missing = os.path.split(folder)
    names = (f".{missing}.icloud", *(f"{missing}.{one}" for one in _CLOUD_SUFFIXES))
    if os.path.realpath(at) != os.path.normpath(at):
        return f"{folder} is a link; nobody has deleted what it hides"
    if any(os.path.lexists(os.path.join(at, name)) for name in names):
        return "a cloud has put it away"
    # When it changed last and on which device it was, as git saw it last.
    listed = (
        git_cli.run(root, ["ls-files", "--debug", "-z", "--", path]).partition(b"\0")[2].split()
    )
    seconds, _, nanoseconds = listed[1].partition(b":") if listed else (b"0", b"", b"0")
    is_elsewhere = listed and int(listed[5]) not in (0, os.lstat(at).st_dev)
    # A folder from which something was deleted has changed since.
    changed = max(os.lstat(at).st_ctime_ns, os.lstat(at).st_mtime_ns)
    is_unmounted = is_elsewhere and int(seconds) * 10**9 + int(nanoseconds) > changed
    return f"what was mounted at {folder} is not there" if is_unmounted else ""


def sync_merged_files(root: str, ours: str, theirs: str) -> None:
    """Sync every file, and its folder, that a merge or rebase of two commits may have written."""
    top = objects.toplevel(root)
    words = ["diff-index", "--name-only", "--no-renames", "-z", "HEAD", "--"]
    with suppress(CortexError, OSError):
        changed = git_cli.run(top, words, timeout=120.0).split(b"\0")
        paths = {*_changed_blobs(top, ours, theirs), *filter(None, changed)}
        if len(paths) <= _MAX_SYNCED_FILES:
            files.sync_files(top, map(os.fsdecode, paths))
            return
    os.sync()


def restore(root: str, ours: str, theirs: str) -> list[str]:
    """Make the work tree what the index says wherever git alone has written: files that are
    missing, cut off or not yet in the index. `ours` (empty before the first commit) and `theirs`
    are the commits that were merged. What a person has written since stays. Returns the changed
    paths, from the top; all are durable."""
    top = objects.toplevel(root)
    versions = _changed_blobs(top, ours, theirs)
    wrong: list[str] = []
    alien: list[str] = []
    for path, data, known, entry in _iter_compared(top, versions, _index_blobs(top)):
        if entry is None:
            if data is not None and _is_written_by_git(data, known):
                alien.append(path)
        elif data is None or (data != entry and _is_written_by_git(data, [*known, entry])):
            wrong.append(path)
    if wrong:
        words = ["checkout-index", "-f", "-u", "-z", "--stdin"]
        ran = git_locks.run_when_unlocked(top, words, stdin=objects.join_nul(wrong))
        if ran.code:
            raise git_cli.command_error("checkout-index", ran, root)
    for path in alien:
        files.remove(top, path)
    files.sync_files(top, wrong)
    return sorted(wrong + alien)


def _iter_compared(
    top: str, versions: Mapping[bytes, Collection[str]], index: Mapping[bytes, str]
) -> Iterator[tuple[str, bytes | None, list[bytes], bytes | None]]:
    """Each path with its bytes in the work tree, of its known versions, and in the index (None for
    missing). Unmerged paths, links and files that are too large are left out."""
    paths = [path for path in sorted(versions) if index.get(path) != ""]
    for some in objects.split_batches([os.fsdecode(path) for path in paths], _BATCH_PATHS):
        names = [os.fsencode(path) for path in some]
        blobs = {blob for name in names for blob in (*versions[name], index.get(name, ""))}
        texts = objects.read_blobs(top, blobs)
        for path, name in zip(some, names, strict=True):
            entry = index.get(name)
            if entry is not None and entry not in texts:
                continue  # its object is missing: a repair of the repository comes first
            try:
                data = files.read(top, path, _MAX_FILE_BYTES + 1)
            except NotFoundError:
                data = None
            except (InvalidInputError, OSError):
                continue
            if data is None or len(data) <= _MAX_FILE_BYTES:
                known = [texts[blob] for blob in versions[name] if blob in texts]
                yield path, data, known, None if entry is None else texts[entry]


def _is_written_by_git(data: bytes, versions: Collection[bytes]) -> bool:
    """True if a file holds one of these versions, or what a power cut has left of one: its
    beginning up to the end of a sector, perhaps with zeros behind it."""
    if data in versions:
        return True
    written = data.rstrip(b"\0")
    cut = len(data) % _SECTOR_BYTES == 0 or len(written) < len(data)
    return cut and any(version.startswith(written) for version in versions)


def _changed_blobs(top: str, ours: str, theirs: str) -> dict[bytes, set[str]]:
    """The regular files that differ between the commits or their merge base, with their blobs."""
    base = git_cli.line(top, ["merge-base", ours, theirs]) if ours else ""
    found: dict[bytes, set[str]] = {}
    for revision in filter(None, (ours, theirs)):
        for one in objects.changes_between(top, base or objects.empty_tree(top), revision):
            entries = (one.old_mode, one.old_blob), (one.new_mode, one.new_blob)
            if blobs := {blob for mode, blob in entries if mode.startswith(b"100")}:
                found.setdefault(one.path, set()).update(blobs)
    return found


def _index_blobs(top: str) -> dict[bytes, str]:
    """The blob of each path of the index; empty for one that is unmerged or no regular file."""
    return {
        entry.path: entry.blob if entry.number == 0 and entry.mode.startswith(b"100") else ""
        for entry in objects.list_index(top)
    }
