"""Which branches a repository has, what became of others, and which count as part of another one.

Read from the repository's files; git is asked where it keeps refs in tables, and for what commits hold.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice

from cortex.core.model.problem import CortexError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.git import checkout, git_cli, objects

DEFAULT_BRANCHES = ("main", "master", "trunk")
_MAX_MERGES = 500  # whose subjects are read for branches that are gone
_MAX_NAMES = 200  # branches that are asked about
_MAX_COMPARED = 20  # of these, by their changes
_MAX_CHANGED_FILES, _MAX_COMMITS = 500, 200
_GIT_SECONDS = 5.0
_MAX_PACKED_REFS_BYTES, _MAX_LOG_BYTES = 8 << 20, 1 << 19  # the second of the end of a log
_MAX_LOG_LINES = 2_000
_MAX_LOGS = 300  # branches whose log is asked for a renaming
_BRANCH_RENAMED_RE = lazy_re(
    rb"\tBranch: renamed refs/heads/(\S{1,250}) to refs/heads/(\S{1,250})$", re.MULTILINE
)
_CHECKOUT_RE = lazy_re(
    rb"^([0-9a-f]{40,64}) [^\n]{0,500}\tcheckout: moving from (\S{1,250}) to (\S{1,250})$",
    re.MULTILINE,
)
_MERGED_RE = lazy_re(rb"\tmerge (\S{1,250}): ", re.MULTILINE)
# What git, GitHub, GitLab and Bitbucket write as the subject of a merge.
_MERGE_SUBJECT_RE = lazy_re(
    r"Merge(?:d in| pull request #\d{1,9} from [^\s/]{1,100}/"
    r"|d? (?:remote-tracking )?branch(?:es)?)\s{0,2}(\S.{0,400})",
    re.IGNORECASE,
)
_QUOTED_NAME_RE = lazy_re(r"'([^']{1,200})'")


class RepositoryRefs(checkout.Repository):
    """A repository, asked for its branches."""

    @staticmethod
    def is_branch_name(name: str) -> bool:
        """True if this can be the name of a branch; it names no file outside the refs then."""
        return len(name) < 250 and checkout.is_ref_name(name)

    @cached_property
    def names(self) -> frozenset[str]:
        """The refs of branches, here and as last seen on remotes, as `refs/heads/main`."""
        kinds = ("refs/heads/", "refs/remotes/")
        if checkout.uses_reftable(self):
            words = ("for-each-ref", "--format=%(refname)", *kinds)
            return frozenset(checkout.ask_git(self.top, *words).splitlines())
        folders = (os.path.join(self.common_dir, kind) for kind in kinds)
        paths = (path for folder in folders for path in _iter_files(folder))
        loose = (os.path.relpath(path, self.common_dir).replace(os.sep, "/") for path in paths)
        packed = files.read_bounded(
            os.path.join(self.common_dir, "packed-refs"), _MAX_PACKED_REFS_BYTES
        )
        lines = os.fsdecode(packed).splitlines()
        names = (line.partition(" ")[2].strip() for line in lines if line[:1] not in ("#", "^"))
        return frozenset(
            name for name in (*loose, *names) if name.startswith(kinds) and name[-5:] != ".lock"
        )

    def head_files(self, branch: str = "") -> list[str]:
        """What changes when another commit or branch is checked out, or `branch` has another one."""
        refs = [*filter(_is_ref, [checkout.read_head(self).removeprefix("ref: ")])]
        refs += [f"refs/heads/{branch}"] if RepositoryRefs.is_branch_name(branch) else []
        shared = ("packed-refs", "shallow", *dict.fromkeys(refs))
        return [
            *(os.path.join(self.git_dir, name) for name in ("HEAD", "logs/HEAD")),
            *(os.path.join(self.common_dir, name) for name in shared),
            *checkout.table_lists(self),
        ]

    def has_commit(self) -> bool:
        """Whether `HEAD` names a commit."""
        head = checkout.read_head(self)
        ref = head.removeprefix("ref: ")
        return bool(head) and (ref == head or (_is_ref(ref) and ref in self.names))

    def has_branch(self, name: str) -> bool:
        """Whether there is such a branch, here or as last seen on a remote."""
        is_known = name == checkout.head_branch(self) or not RepositoryRefs.is_branch_name(name)
        return is_known or name in self.branch_names()

    def branch_names(self) -> frozenset[str]:
        """The branches that there are, here or as last seen on a remote."""
        parts = (ref.split("/", 3 if ref.startswith("refs/remotes/") else 2) for ref in self.names)
        return frozenset(part[-1] for part in parts if part[-1] != "HEAD")

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
        if checkout.uses_reftable(self):
            logs = [self._ask_log("--branches")]
        else:
            folder = os.path.join(self.common_dir, "logs", "refs", "heads")
            logs = [_read_tail(path) for path in islice(_iter_files(folder), _MAX_LOGS)]
        pairs = [pair for log in (*logs, self.head_log) for pair in _BRANCH_RENAMED_RE.findall(log)]
        return {os.fsdecode(old): os.fsdecode(new) for old, new in pairs}

    def last_head_by_branch(self) -> dict[str, str]:
        """Where `HEAD` was when it left each branch for the last time."""
        moves = _CHECKOUT_RE.finditer(self.head_log)
        return {os.fsdecode(move[2]): move[1].decode() for move in moves}

    def checked_out_branches(self) -> list[str]:
        """The branches that were checked out, the last one last."""
        return [os.fsdecode(move[3]) for move in _CHECKOUT_RE.finditer(self.head_log)]

    def merged_branches(self) -> frozenset[str]:
        """The branches that were merged into what was checked out."""
        return frozenset(os.fsdecode(name) for name in _MERGED_RE.findall(self.head_log))

    def log_files(self, ref: str = "HEAD") -> list[str]:
        """Where git writes down what a ref was; of `HEAD` in the first work tree, and in this one."""
        if checkout.uses_reftable(self):
            return checkout.table_lists(self)
        folders = (self.common_dir, self.git_dir) if ref == "HEAD" else (self.common_dir,)
        return [os.path.join(folder, "logs", ref) for folder in dict.fromkeys(folders)]

    @cached_property
    def head_log(self) -> bytes:
        """The last part of what `HEAD` was."""
        if checkout.uses_reftable(self):
            return self._ask_log("main-worktree/HEAD") + self._ask_log("HEAD")
        return b"".join(map(_read_tail, self.log_files()))

    def branch_log(self, name: str) -> bytes:
        """The last part of what a branch was; empty where there is no log."""
        ref = f"refs/heads/{name}"
        is_asked = checkout.uses_reftable(self)
        return self._ask_log(ref) if is_asked else _read_tail(self.log_files(ref)[0])

    def _ask_log(self, which: str) -> bytes:
        """The log of refs as its file would have it: old id, new id, message; the oldest first."""
        words = ("log", "--walk-reflogs", "--format=%H %gs", f"-n{_MAX_LOG_LINES}", which, "--")
        entries = [line.partition(" ") for line in checkout.ask_git(self.top, *words).splitlines()]
        before = [new for new, _, _ in entries[1:]] + ["0" * 40]
        pairs = zip(before, entries, strict=False)
        lines = [f"{old} {new}\t{message}\n" for old, (new, _, message) in pairs]
        return os.fsencode("".join(reversed(lines)))


class BranchSet(NamedTuple):
    """Branches, and the files that would change if these did."""

    names: frozenset[str]
    depends_on: tuple[str, ...]
    unknown: frozenset[str] = frozenset()  # others of which the repository has no trace


def find_included(directory: str, branch: str, names: Collection[str]) -> BranchSet:
    """The branches, `names` among them, whose notes hold on `branch`: itself, the default ones, and
    those whose changes it has, however they came. One without a commit of its own is not merged,
    though git says so; one that is gone is known by where `HEAD` left it, or by its merge."""
    repository = checkout.find_repository(directory)
    refs = RepositoryRefs(*repository) if repository else None
    named, *default_files = refs.remote_default() if refs else ("",)
    included = {*DEFAULT_BRANCHES, *filter(None, [named]), branch}
    others = {name for name in names if name and name not in included}
    candidates = {
        name for name in sorted(others)[:_MAX_NAMES] if RepositoryRefs.is_branch_name(name)
    }
    if refs is None or not candidates or not RepositoryRefs.is_branch_name(branch):
        return BranchSet(frozenset(included), tuple(default_files), frozenset(others))
    common = refs.common_dir
    logs = {name: refs.branch_log(name) for name in sorted(candidates)}
    used = (
        *(refs.log_files(f"refs/heads/{name}")[-1] for name in logs),
        *(os.path.join(common, "refs", "heads", name) for name in logs),
    )
    renamed = refs.renamed_branches()
    merged = {
        name for name in candidates if _current_name(name, renamed) in (branch, *DEFAULT_BRANCHES)
    }
    is_here = checkout.branch_of(directory) == branch
    if is_here:
        merged |= {name for name in refs.merged_branches() & candidates if _has_commits(logs[name])}
    tips = refs.last_head_by_branch()
    alive = {name for name in candidates - merged if refs.has_branch(name)}
    unknown = candidates - merged - alive - tips.keys()
    if candidates - merged:
        head = "HEAD" if is_here else f"refs/heads/{branch}"
        for name in sorted(candidates - merged - unknown)[:_MAX_COMPARED]:
            with suppress(CortexError, IndexError):
                tip = list_tips(directory, name)[0] if name in alive else tips[name]
                is_own = name not in alive or _has_commits(logs[name])
                merged |= {name} if is_own and _contains(directory, head, tip) else set()
        if gone := candidates - merged - alive:
            merged |= _names_in_subjects(_merge_subjects(directory, head)) & gone
    included |= merged
    return BranchSet(frozenset(included), (*default_files, *used), frozenset(unknown - merged))


def _run_git(directory: str, words: Sequence[str], stdin: bytes = b"") -> bytes:
    return git_cli.run(directory, words, timeout=_GIT_SECONDS, stdin=stdin)


def _merge_subjects(directory: str, head: str) -> str:
    words = ["log", "--merges", f"--max-count={_MAX_MERGES}", "--format=%s", "--end-of-options"]
    with suppress(CortexError, OSError):
        return _run_git(directory, [*words, head]).decode("utf-8", "replace")
    return ""


def find_in_head(root: str, directory: str, paths: Collection[str]) -> frozenset[str]:
    """Of the vault's notes those that the commit checked out in `directory` has, if the vault lies
    in that repository: they hold there, whatever branch they name."""
    here, of_vault = checkout.find_repository(directory), checkout.find_repository(root)
    if not paths or not here or not of_vault or here.common_dir != of_vault.common_dir:
        return frozenset()
    before = os.fsdecode(objects.prefix(root))
    try:
        blobs = objects.list_files(directory, "HEAD", [before + path for path in sorted(paths)])
    except CortexError:  # a repository without a commit
        return frozenset()
    return frozenset(os.fsdecode(name).removeprefix(before) for name in blobs)


def list_tips(directory: str, branch: str, *conditions: str) -> list[str]:
    """The commits at which a branch ends, here and as last seen on remotes."""
    if not RepositoryRefs.is_branch_name(branch):
        return []
    patterns = (f"refs/heads/{branch}", f"refs/remotes/*/{branch}")
    words = ["for-each-ref", "--format=%(objectname)", *conditions, *patterns]
    return list(dict.fromkeys(_run_git(directory, words).decode().split()))


def _contains(directory: str, head: str, tip: str) -> bool:
    """Whether `head` has the changes up to the commit `tip`: by a merge, or because the files that
    they changed are the same there, or as one commit or commit by commit."""

    def git(*words: str, stdin: bytes = b"") -> bytes:
        return _run_git(directory, words, stdin)

    def patch_ids(*words: str) -> set[bytes]:
        patches = git(*words, "--no-ext-diff", "--no-color")
        return {line.split()[0] for line in git("patch-id", "--stable", stdin=patches).splitlines()}

    with suppress(CortexError, OSError, IndexError):  # a commit that is gone, no common one
        base = git("merge-base", head, tip).decode().split()[0]
        if base == tip:
            return True
        changed = git("diff", "--name-only", "--no-renames", "-z", base, tip).split(b"\0")
        paths = [os.fsdecode(path) for path in changed if path][:_MAX_CHANGED_FILES]
        if not paths:
            return False
        if not git("diff", "--name-only", "--no-renames", tip, head, "--", *paths):
            return True
        log = ("log", "-p", "--no-merges", f"--max-count={_MAX_COMMITS}", "--format=commit %H")
        there = patch_ids(*log, f"{base}..{head}", "--", *paths)
        return patch_ids("diff", base, tip) <= there or patch_ids(*log, f"{base}..{tip}") <= there
    return False


def _current_name(name: str, new_names: dict[str, str]) -> str:
    """The name that a branch has after up to 20 renames."""
    for _ in range(20):
        if name not in new_names:
            break
        name = new_names[name]
    return name


def _has_commits(log: bytes) -> bool:
    """True if a branch's log has more than its creation; without a log it came from a remote."""
    return log.count(b"\n") != 1


def _names_in_subjects(subjects: str) -> set[str]:
    """The branches that the subjects of merges name."""
    found: set[str] = set()
    for line in subjects.splitlines():
        if match := _MERGE_SUBJECT_RE.match(line):
            rest = match[1]
            names = [rest.split()[0]]
            if rest.startswith("'"):
                names = _QUOTED_NAME_RE.findall(rest.partition("' into ")[0] + "'")
            found.update(names)
            found.update(name.partition("/")[2] for name in names if "/" in name)
    return found


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
