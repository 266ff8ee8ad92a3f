"""Which branches a repository has and what became of others, read from its files alone: no git runs.

Where git keeps its refs in another way than as files (reftable), nothing is known of them, and nothing is said.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.git.branches import is_branch_name

_MAX_PACKED_REFS_BYTES, _MAX_LOG_BYTES, _MAX_HEAD_BYTES = (
    8 << 20,
    1 << 19,
    4096,
)  # bytes read of packed-refs, of the end of a log, of HEAD
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

    def head_files(self) -> list[str]:
        """What changes with the commit that `HEAD` names."""
        ref = _read_text(os.path.join(self.git_dir, "HEAD"), _MAX_HEAD_BYTES).removeprefix("ref: ")
        named = ["packed-refs", "shallow", "reftable/tables.list", *([ref] if _is_ref(ref) else ())]
        return [
            os.path.join(self.git_dir, "HEAD"),
            *(os.path.join(self.common_dir, name) for name in named),
        ]

    def current_branch(self) -> str:
        """The branch that is checked out, whether it has a commit or not; empty on a detached HEAD."""
        text = _read_text(os.path.join(self.git_dir, "HEAD"), _MAX_HEAD_BYTES)
        return text.removeprefix("ref: refs/heads/") if text.startswith("ref: refs/heads/") else ""

    def has_commit(self) -> bool:
        """Whether `HEAD` names a commit."""
        text = _read_text(os.path.join(self.git_dir, "HEAD"), _MAX_HEAD_BYTES)
        ref = text.removeprefix("ref: ")
        return bool(text) and (
            ref == text or self.uses_reftable() or (_is_ref(ref) and self._has_ref(ref))
        )

    def uses_reftable(self) -> bool:
        """Whether the refs are kept in a way that cannot be read here."""
        return os.path.isdir(os.path.join(self.common_dir, "reftable"))

    def has_branch(self, name: str) -> bool:
        """Whether there is such a branch, here or as last seen on a remote."""
        if (
            name == self.current_branch()
            or not is_branch_name(name)
            or self._has_ref(f"refs/heads/{name}")
        ):
            return True
        remotes = os.path.join(self.common_dir, "refs", "remotes")
        if any(
            os.path.isfile(os.path.join(remotes, remote, name))
            for remote in files.list_folder(remotes)
        ):
            return True
        return any(
            ref.startswith("refs/remotes/") and ref.split("/", 3)[3:] == [name]
            for ref in self._iter_packed_refs()
        )

    def renamed_branches(self) -> dict[str, str]:
        """Branches that got another name, from the logs that still tell of it."""
        found: dict[str, str] = {}
        for number, path in enumerate(
            _iter_log_files(os.path.join(self.common_dir, "logs", "refs", "heads"))
        ):
            if number < _MAX_LOGS:
                _add_renames(_read_tail(path), found)
        _add_renames(self._read_head_logs(), found)
        return found

    def last_head_by_branch(self) -> dict[str, str]:
        """Where `HEAD` was when it left each branch for the last time."""
        return {
            os.fsdecode(found[2]): found[1].decode()
            for found in _CHECKOUT_RE.finditer(self._read_head_logs())
        }

    def merged_branches(self) -> frozenset[str]:
        """The branches that were merged into what was checked out."""
        return frozenset(os.fsdecode(name) for name in _MERGED_RE.findall(self._read_head_logs()))

    def head_logs(self) -> list[str]:
        """Where git writes down what `HEAD` was: in the first work tree, and in this one."""
        return list(
            dict.fromkeys(
                os.path.join(folder, "logs", "HEAD") for folder in (self.common_dir, self.git_dir)
            )
        )

    def _read_head_logs(self) -> bytes:
        return b"".join(_read_tail(path) for path in self.head_logs())

    def _has_ref(self, ref: str) -> bool:
        return os.path.isfile(os.path.join(self.common_dir, ref)) or ref in self._iter_packed_refs()

    def _iter_packed_refs(self) -> Iterator[str]:
        for line in _read_text(
            os.path.join(self.common_dir, "packed-refs"), _MAX_PACKED_REFS_BYTES
        ).splitlines():
            if line[:1] not in ("#", "^", ""):
                yield line.partition(" ")[2]


def _is_ref(ref: str) -> bool:
    return ref.startswith("refs/") and is_branch_name(ref)


def _add_renames(log: bytes, found: dict[str, str]) -> None:
    for old, new in _BRANCH_RENAMED_RE.findall(log):
        found[os.fsdecode(old)] = os.fsdecode(new)


def _iter_log_files(folder: str, depth: int = 0) -> Iterator[str]:
    for name in files.list_folder(folder):
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            if depth < 6:
                yield from _iter_log_files(path, depth + 1)
        else:
            yield path


def _read_text(path: str, most: int) -> str:
    return os.fsdecode(files.read_bounded(path, most)).strip()


def _read_tail(path: str) -> bytes:
    return files.read_bounded(path, _MAX_LOG_BYTES, end=True)
