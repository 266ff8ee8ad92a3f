"""Which branches a repository has and what became of others, from its files alone: no git runs.

Where git keeps its refs otherwise than as files (reftable), nothing is known or said of them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from cortex.core.model.problem import InvalidInputError
from cortex.vault import files
from cortex.vault.git import checkout

_MAX_PACKED_REFS_BYTES, _MAX_LOG_BYTES = 8 << 20, 1 << 19  # the second of the end of a log
_MAX_LOGS = 300  # branches whose log is asked for a renaming
_BRANCH_RENAMED_RE = re.compile(
    rb"\tBranch: renamed refs/heads/(\S{1,250}) to refs/heads/(\S{1,250})$", re.MULTILINE
)
_CHECKOUT_RE = re.compile(
    rb"^([0-9a-f]{40,64}) [^\n]{0,500}\tcheckout: moving from (\S{1,250}) to (\S{1,250})$",
    re.MULTILINE,
)
_MERGED_RE = re.compile(rb"\tmerge (\S{1,250}): ", re.MULTILINE)


class RepositoryRefs(NamedTuple):
    """Where a work tree and its git folders lie."""

    top: str
    git_dir: str  # of this work tree: HEAD, index
    common_dir: str  # of all its work trees: refs, logs of branches

    @staticmethod
    def is_branch_name(name: str) -> bool:
        """True if this can be the name of a branch; it names no file outside the refs then."""
        words = name.replace("-", "").replace("_", "").split("/")
        starts = (part[:1] for part in name.split("/"))
        if all(map(str.isalnum, (*words, *starts))):
            return len(name) < 250  # most names
        from cortex.vault.git import git_cli  # noqa: PLC0415  `subprocess` costs 5 ms

        with suppress(InvalidInputError):
            return bool(git_cli.check_ref_name(name)) and len(name) < 250
        return False

    def head_files(self) -> list[str]:
        """What changes with the commit that `HEAD` names."""
        ref = checkout.read_head(self.git_dir).removeprefix("ref: ")
        names = ["packed-refs", "shallow", "reftable/tables.list", *([ref] if _is_ref(ref) else ())]
        shared = (os.path.join(self.common_dir, name) for name in names)
        return [os.path.join(self.git_dir, "HEAD"), *shared]

    def current_branch(self) -> str:
        """The branch that is checked out, even without a commit; empty on a detached HEAD."""
        head = checkout.read_head(self.git_dir)
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref: refs/heads/") else ""

    def has_commit(self) -> bool:
        """Whether `HEAD` names a commit."""
        head = checkout.read_head(self.git_dir)
        ref = head.removeprefix("ref: ")
        is_known = ref == head or self.uses_reftable() or (_is_ref(ref) and self._has_ref(ref))
        return bool(head) and is_known

    def uses_reftable(self) -> bool:
        """Whether the refs are kept in a way that cannot be read here."""
        return os.path.isdir(os.path.join(self.common_dir, "reftable"))

    def has_branch(self, name: str) -> bool:
        """Whether there is such a branch, here or as last seen on a remote."""
        if name == self.current_branch() or not RepositoryRefs.is_branch_name(name):
            return True
        if self._has_ref(f"refs/heads/{name}"):
            return True
        folder = os.path.join(self.common_dir, "refs", "remotes")
        remotes = files.list_folder(folder)
        if any(os.path.isfile(os.path.join(folder, remote, name)) for remote in remotes):
            return True
        packed = (ref.split("/", 3) for ref in self._iter_packed_refs())
        return any(parts[1:2] == ["remotes"] and parts[3:] == [name] for parts in packed)

    def branch_names(self) -> frozenset[str]:
        """The branches that there are, here or as last seen on a remote."""
        refs = [*self._iter_loose_refs("refs/heads"), *self._iter_loose_refs("refs/remotes")]
        if self.uses_reftable():
            from cortex.vault.git import git_cli  # noqa: PLC0415  `subprocess` costs 5 ms

            words = ["for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"]
            refs = os.fsdecode(git_cli.run(self.top, words)).split()
        found = set()
        for ref in (*refs, *self._iter_packed_refs()):
            _, kind, *rest = ref.split("/", 3 if ref.startswith("refs/remotes/") else 2)
            if kind in ("heads", "remotes") and rest[-1] != "HEAD":
                found.add(rest[-1])
        return frozenset(found)

    def renamed_branches(self) -> dict[str, str]:
        """Branches that got another name, from the logs that still tell of it."""
        found: dict[str, str] = {}
        folder = os.path.join(self.common_dir, "logs", "refs", "heads")
        logs = map(_read_tail, islice(_iter_files(folder), _MAX_LOGS))
        for log in (*logs, self._read_head_logs()):
            for old, new in _BRANCH_RENAMED_RE.findall(log):
                found[os.fsdecode(old)] = os.fsdecode(new)
        return found

    def last_head_by_branch(self) -> dict[str, str]:
        """Where `HEAD` was when it left each branch for the last time."""
        moves = _CHECKOUT_RE.finditer(self._read_head_logs())
        return {os.fsdecode(move[2]): move[1].decode() for move in moves}

    def merged_branches(self) -> frozenset[str]:
        """The branches that were merged into what was checked out."""
        return frozenset(os.fsdecode(name) for name in _MERGED_RE.findall(self._read_head_logs()))

    def head_logs(self) -> list[str]:
        """Where git writes down what `HEAD` was: in the first work tree, and in this one."""
        folders = dict.fromkeys((self.common_dir, self.git_dir))
        return [os.path.join(folder, "logs", "HEAD") for folder in folders]

    def _read_head_logs(self) -> bytes:
        return b"".join(_read_tail(path) for path in self.head_logs())

    def _has_ref(self, ref: str) -> bool:
        return os.path.isfile(os.path.join(self.common_dir, ref)) or ref in self._iter_packed_refs()

    def _iter_loose_refs(self, kind: str) -> Iterator[str]:
        folder = os.path.join(self.common_dir, kind)
        for path in _iter_files(folder):
            if not path.endswith(".lock"):
                yield os.path.relpath(path, self.common_dir).replace(os.sep, "/")

    def _iter_packed_refs(self) -> Iterator[str]:
        path = os.path.join(self.common_dir, "packed-refs")
        text = os.fsdecode(files.read_bounded(path, _MAX_PACKED_REFS_BYTES))
        for line in text.splitlines():
            if line[:1] not in ("#", "^", ""):
                yield line.partition(" ")[2].strip()


def _is_ref(ref: str) -> bool:
    return ref.startswith("refs/") and RepositoryRefs.is_branch_name(ref)


def _iter_files(folder: str, depth: int = 0) -> Iterator[str]:
    for name in files.list_folder(folder):
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            if depth < 6:
                yield from _iter_files(path, depth + 1)
        else:
            yield path


def _read_tail(path: str) -> bytes:
    return files.read_bounded(path, _MAX_LOG_BYTES, end=True)
