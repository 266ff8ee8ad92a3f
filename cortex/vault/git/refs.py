"""Which branches a repository has and what became of others, read from its files alone: no git runs.

Where git keeps its refs in another way than as files (reftable), nothing is known of them, and nothing is said.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.git.branches import is_name

_MOST_PACKED, _MOST_LOG, _MOST_HEAD = (
    8 << 20,
    1 << 19,
    4096,
)  # bytes read of packed-refs, of the end of a log, of HEAD
_MOST_LOGS = 300  # branches whose log is asked for a renaming
_RENAMED = re.compile(
    rb"\tBranch: renamed refs/heads/(\S{1,250}) to refs/heads/(\S{1,250})$", re.MULTILINE
)
_MOVING = re.compile(
    rb"^([0-9a-f]{40,64}) [^\n]{0,500}\tcheckout: moving from (\S{1,250}) to (\S{1,250})$",
    re.MULTILINE,
)
_MERGED = re.compile(rb"\tmerge (\S{1,250}): ", re.MULTILINE)


class Repository(NamedTuple):
    """Where a work tree and its git folders lie."""

    top: str
    folder: str  # of this work tree: HEAD, index
    common: str  # of all its work trees: refs, logs of branches

    def files(self) -> list[str]:
        """What changes with the commit that `HEAD` names."""
        ref = _text(os.path.join(self.folder, "HEAD"), _MOST_HEAD).removeprefix("ref: ")
        named = ["packed-refs", "shallow", "reftable/tables.list", *([ref] if _is_ref(ref) else ())]
        return [
            os.path.join(self.folder, "HEAD"),
            *(os.path.join(self.common, name) for name in named),
        ]

    def head(self) -> str:
        """The branch that is checked out, whether it has a commit or not; empty on a detached HEAD."""
        text = _text(os.path.join(self.folder, "HEAD"), _MOST_HEAD)
        return text.removeprefix("ref: refs/heads/") if text.startswith("ref: refs/heads/") else ""

    def begun(self) -> bool:
        """Whether `HEAD` names a commit."""
        text = _text(os.path.join(self.folder, "HEAD"), _MOST_HEAD)
        ref = text.removeprefix("ref: ")
        return bool(text) and (ref == text or self.foreign() or (_is_ref(ref) and self._has(ref)))

    def foreign(self) -> bool:
        """Whether the refs are kept in a way that cannot be read here."""
        return os.path.isdir(os.path.join(self.common, "reftable"))

    def has_branch(self, name: str) -> bool:
        """Whether there is such a branch, here or as last seen on a remote."""
        if name == self.head() or not is_name(name) or self._has(f"refs/heads/{name}"):
            return True
        remotes = os.path.join(self.common, "refs", "remotes")
        if any(
            os.path.isfile(os.path.join(remotes, remote, name)) for remote in files.listed(remotes)
        ):
            return True
        return any(
            ref.startswith("refs/remotes/") and ref.split("/", 3)[3:] == [name]
            for ref in self._packed()
        )

    def renamed(self) -> dict[str, str]:
        """Branches that got another name, from the logs that still tell of it."""
        found: dict[str, str] = {}
        for number, path in enumerate(_logs(os.path.join(self.common, "logs", "refs", "heads"))):
            if number < _MOST_LOGS:
                _learn(_end(path), found)
        _learn(self._log(), found)
        return found

    def left(self) -> dict[str, str]:
        """Where `HEAD` was when it left each branch for the last time."""
        return {os.fsdecode(found[2]): found[1].decode() for found in _MOVING.finditer(self._log())}

    def merged(self) -> frozenset[str]:
        """The branches that were merged into what was checked out."""
        return frozenset(os.fsdecode(name) for name in _MERGED.findall(self._log()))

    def logs(self) -> list[str]:
        """Where git writes down what `HEAD` was: in the first work tree, and in this one."""
        return list(
            dict.fromkeys(
                os.path.join(folder, "logs", "HEAD") for folder in (self.common, self.folder)
            )
        )

    def _log(self) -> bytes:
        return b"".join(_end(path) for path in self.logs())

    def _has(self, ref: str) -> bool:
        return os.path.isfile(os.path.join(self.common, ref)) or ref in self._packed()

    def _packed(self) -> Iterator[str]:
        for line in _text(os.path.join(self.common, "packed-refs"), _MOST_PACKED).splitlines():
            if line[:1] not in ("#", "^", ""):
                yield line.partition(" ")[2]


def _is_ref(ref: str) -> bool:
    return ref.startswith("refs/") and is_name(ref)


def _learn(log: bytes, found: dict[str, str]) -> None:
    for old, new in _RENAMED.findall(log):
        found[os.fsdecode(old)] = os.fsdecode(new)


def _logs(folder: str, depth: int = 0) -> Iterator[str]:
    for name in files.listed(folder):
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            if depth < 6:
                yield from _logs(path, depth + 1)
        else:
            yield path


def _text(path: str, most: int) -> str:
    return os.fsdecode(files.read_small(path, most)).strip()


def _end(path: str) -> bytes:
    return files.read_small(path, _MOST_LOG, end=True)
