"""Which branches a repository has and what became of others, from its files alone: no git runs.

Only where git keeps its refs in tables, git is asked for what the files would say.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice

from cortex.core.model.problem import InvalidInputError
from cortex.vault import files
from cortex.vault.git import checkout

_MAX_PACKED_REFS_BYTES, _MAX_LOG_BYTES = 8 << 20, 1 << 19  # the second of the end of a log
_MAX_LOG_LINES = 2_000
_MAX_LOGS = 300  # branches whose log is asked for a renaming
_BRANCH_RENAMED_RE = re.compile(
    rb"\tBranch: renamed refs/heads/(\S{1,250}) to refs/heads/(\S{1,250})$", re.MULTILINE
)
_CHECKOUT_RE = re.compile(
    rb"^([0-9a-f]{40,64}) [^\n]{0,500}\tcheckout: moving from (\S{1,250}) to (\S{1,250})$",
    re.MULTILINE,
)
_MERGED_RE = re.compile(rb"\tmerge (\S{1,250}): ", re.MULTILINE)


class RepositoryRefs(checkout.Repository):
    """A repository, asked for its branches."""

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
        ref = checkout.read_head(self).removeprefix("ref: ")
        names = ["packed-refs", "shallow", *([ref] if _is_ref(ref) else ())]
        shared = (os.path.join(self.common_dir, name) for name in names)
        tables = checkout.table_lists(self)
        return [os.path.join(self.git_dir, "HEAD"), *shared, *tables]

    def current_branch(self) -> str:
        """The branch that is checked out, even without a commit; empty on a detached HEAD."""
        return checkout.head_branch(self)

    def has_commit(self) -> bool:
        """Whether `HEAD` names a commit."""
        head = checkout.read_head(self)
        ref = head.removeprefix("ref: ")
        return bool(head) and (ref == head or (_is_ref(ref) and self._has_ref(ref)))

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
        refs = [*self.iter_loose_refs("refs/heads"), *self.iter_loose_refs("refs/remotes")]
        found = set()
        for ref in (*refs, *self._iter_packed_refs()):
            _, kind, *rest = ref.split("/", 3 if ref.startswith("refs/remotes/") else 2)
            if kind in ("heads", "remotes") and rest[-1] != "HEAD":
                found.add(rest[-1])
        return frozenset(found)

    def remote_default(self) -> tuple[str, str]:
        """The branch that `origin/HEAD` names, empty without one, and the file that says so. Git
        keeps no symbolic ref among the packed ones."""
        path = os.path.join(self.common_dir, "refs", "remotes", "origin", "HEAD")
        target, start = checkout.read_first_line(path), "ref: refs/remotes/origin/"
        if checkout.uses_reftable(self):
            path = checkout.table_lists(self)[-1]
            words = ("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
            target = f"ref: {checkout.ask_git(self.top, *words)}"
        return target.removeprefix(start) if target.startswith(start) else "", path

    def renamed_branches(self) -> dict[str, str]:
        """Branches that got another name, from the logs that still tell of it."""
        found: dict[str, str] = {}
        for log in (*self._read_branch_logs(), self._read_head_logs()):
            for old, new in _BRANCH_RENAMED_RE.findall(log):
                found[os.fsdecode(old)] = os.fsdecode(new)
        return found

    def last_head_by_branch(self) -> dict[str, str]:
        """Where `HEAD` was when it left each branch for the last time."""
        moves = _CHECKOUT_RE.finditer(self._read_head_logs())
        return {os.fsdecode(move[2]): move[1].decode() for move in moves}

    def checked_out_branches(self) -> list[str]:
        """The branches that were checked out, the last one last."""
        return [os.fsdecode(move[3]) for move in _CHECKOUT_RE.finditer(self._read_head_logs())]

    def merged_branches(self) -> frozenset[str]:
        """The branches that were merged into what was checked out."""
        return frozenset(os.fsdecode(name) for name in _MERGED_RE.findall(self._read_head_logs()))

    def head_logs(self) -> list[str]:
        """Where git writes down what `HEAD` was: in the first work tree, and in this one."""
        if checkout.uses_reftable(self):
            return checkout.table_lists(self)
        folders = dict.fromkeys((self.common_dir, self.git_dir))
        return [os.path.join(folder, "logs", "HEAD") for folder in folders]

    def branch_log(self, name: str) -> tuple[str, bytes]:
        """Where the log of a branch lies, and its last part; nothing where there is no log."""
        if checkout.uses_reftable(self):
            return self.head_logs()[-1], self._ask_log(f"refs/heads/{name}")
        path = os.path.join(self.common_dir, "logs", "refs", "heads", name)
        return path, _read_tail(path)

    def _read_head_logs(self) -> bytes:
        if checkout.uses_reftable(self):
            return self._ask_log("main-worktree/HEAD") + self._ask_log("HEAD")
        return b"".join(_read_tail(path) for path in self.head_logs())

    def _read_branch_logs(self) -> Iterable[bytes]:
        if checkout.uses_reftable(self):
            return [self._ask_log("--branches")]
        folder = os.path.join(self.common_dir, "logs", "refs", "heads")
        return map(_read_tail, islice(_iter_files(folder), _MAX_LOGS))

    def _ask_log(self, which: str) -> bytes:
        """The log of refs as its file would have it: old id, new id, message; the oldest first."""
        words = ("log", "--walk-reflogs", "--format=%H %gs", f"-n{_MAX_LOG_LINES}", which, "--")
        entries = [line.partition(" ") for line in checkout.ask_git(self.top, *words).splitlines()]
        before = [new for new, _, _ in entries[1:]] + ["0" * 40]
        pairs = zip(before, entries, strict=False)
        lines = [f"{old} {new}\t{message}\n" for old, (new, _, message) in pairs]
        return os.fsencode("".join(reversed(lines)))

    def _has_ref(self, ref: str) -> bool:
        return os.path.isfile(os.path.join(self.common_dir, ref)) or ref in self._iter_packed_refs()

    def iter_loose_refs(self, kind: str) -> Iterator[str]:
        folder = os.path.join(self.common_dir, kind)
        for path in _iter_files(folder):
            if not path.endswith(".lock"):
                yield os.path.relpath(path, self.common_dir).replace(os.sep, "/")

    def _iter_packed_refs(self) -> Iterator[str]:
        path = os.path.join(self.common_dir, "packed-refs")
        text = os.fsdecode(files.read_bounded(path, _MAX_PACKED_REFS_BYTES))
        if checkout.uses_reftable(self):
            text = checkout.ask_git(self.top, "for-each-ref", "--format=%(objectname) %(refname)")
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
