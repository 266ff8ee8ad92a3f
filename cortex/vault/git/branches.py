"""Which branches count as part of another one: default branches, and those merged into it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple

from cortex.core.model.problem import CortexError
from cortex.vault.git import checkout
from cortex.vault.git.refs import RepositoryRefs

DEFAULT_BRANCHES = ("main", "master", "trunk")
_MAX_MERGES = 500  # whose subjects are read for branches that are gone
_MAX_NAMES = 200  # branches that are asked about
_MAX_COMPARED = 20  # of these, by their changes
_MAX_CHANGED_FILES, _MAX_COMMITS = 500, 200
_GIT_SECONDS = 5.0


# What git, GitHub, GitLab and Bitbucket write as the subject of a merge.
_MERGE_SUBJECT_RE = re.compile(
    r"Merge(?:d in| pull request #\d{1,9} from [^\s/]{1,100}/"
    r"|d? (?:remote-tracking )?branch(?:es)?)\s{0,2}(\S.{0,400})",
    re.IGNORECASE,
)
_QUOTED_NAME_RE = re.compile(r"'([^']{1,200})'")


class BranchSet(NamedTuple):
    """Branches, and the files that would change if these did."""

    names: frozenset[str]
    depends_on: tuple[str, ...]
    unknown: frozenset[str] = frozenset()  # others of which the repository has no trace


def find_defaults(directory: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The default branches, with that of the remote, and the files that say so."""
    repository = checkout.find_repository(directory)
    if repository is None:
        return DEFAULT_BRANCHES, ()
    named, path = RepositoryRefs(*repository).remote_default()
    return (*DEFAULT_BRANCHES, *filter(None, [named])), (path,)


def head_files(directory: str, branch: str) -> tuple[str, ...]:
    """The files that change when another commit or branch is checked out."""
    repository = checkout.find_repository(directory)
    if repository is None:
        return ()
    is_name = RepositoryRefs.is_branch_name(branch)
    shared = ("packed-refs", *((f"refs/heads/{branch}",) if is_name else ()))
    return (
        *(os.path.join(repository.git_dir, name) for name in ("HEAD", "logs/HEAD")),
        *(os.path.join(repository.common_dir, name) for name in shared),
        *checkout.table_lists(repository),
    )


def find_included(directory: str, branch: str, names: Collection[str]) -> BranchSet:
    """The branches, `names` among them, whose notes hold on `branch`: itself, the default ones, and
    those whose changes it has, however they came. One without a commit of its own is not merged,
    though git says so; one that is gone is known by where `HEAD` left it, or by its merge."""
    defaults, default_files = find_defaults(directory)
    included = {*defaults, branch}
    others = {name for name in names if name and name not in included}
    repository = checkout.find_repository(directory)
    asked = {name for name in sorted(others)[:_MAX_NAMES] if RepositoryRefs.is_branch_name(name)}
    if repository is None or not asked or not RepositoryRefs.is_branch_name(branch):
        return BranchSet(frozenset(included), default_files, frozenset(others))
    refs = RepositoryRefs(*repository)
    common = repository.common_dir
    logs = {name: refs.branch_log(name) for name in sorted(asked)}
    used = (
        *(path for path, _ in logs.values()),
        *(os.path.join(common, "refs", "heads", name) for name in logs),
    )
    renamed = refs.renamed_branches()
    found = {name for name in asked if _current_name(name, renamed) in (branch, *DEFAULT_BRANCHES)}
    is_here = checkout.branch_of(directory) == branch
    if is_here:
        found |= {name for name in refs.merged_branches() & asked if _has_commits(logs[name][1])}
    tips = refs.last_head_by_branch()
    alive = {name for name in asked - found if refs.has_branch(name)}
    unknown = asked - found - alive - tips.keys()
    if asked - found:
        # `subprocess` costs 5 ms, and most projects' records name one branch.
        from cortex.vault.git.git_cli import check_ref_name  # noqa: PLC0415

        head = "HEAD" if is_here else f"refs/heads/{check_ref_name(branch)}"
        for name in sorted(asked - found - unknown)[:_MAX_COMPARED]:
            tip = _find_tip(directory, name) if name in alive else tips[name]
            if (name not in alive or _has_commits(logs[name][1])) and _contains(
                directory, head, tip
            ):
                found.add(name)
        if gone := asked - found - alive:
            found |= _names_in_subjects(_merge_subjects(directory, head)) & gone
    included |= found
    return BranchSet(frozenset(included), (*default_files, *used), frozenset(unknown - found))


def _merge_subjects(directory: str, head: str) -> str:
    from cortex.vault.git.git_cli import run_unchecked  # noqa: PLC0415

    words = ["log", "--merges", f"--max-count={_MAX_MERGES}", "--format=%s", "--end-of-options"]
    with suppress(CortexError, OSError):
        told = run_unchecked(directory, [*words, head], timeout=_GIT_SECONDS)
        return told.stdout.decode("utf-8", "replace")
    return ""


def find_in_head(root: str, directory: str, paths: Collection[str]) -> frozenset[str]:
    """Of the vault's notes those that the commit checked out in `directory` has, if the vault lies
    in that repository: they hold there, whatever branch they name."""
    here, of_vault = checkout.find_repository(directory), checkout.find_repository(root)
    if not paths or not here or not of_vault or here.common_dir != of_vault.common_dir:
        return frozenset()
    from cortex.vault.git import objects  # noqa: PLC0415  it imports `subprocess`

    before = os.fsdecode(objects.prefix(root))
    try:
        held = objects.list_files(directory, "HEAD", [before + path for path in sorted(paths)])
    except CortexError:  # a repository without a commit
        return frozenset()
    return frozenset(os.fsdecode(name).removeprefix(before) for name in held)


def _find_tip(directory: str, name: str) -> str:
    from cortex.vault.git.git_cli import line  # noqa: PLC0415

    refs = (f"refs/heads/{name}", f"refs/remotes/*/{name}")
    words = ["for-each-ref", "--format=%(objectname)", *refs]
    return line(directory, words, timeout=_GIT_SECONDS).partition("\n")[0]


def _contains(directory: str, head: str, tip: str) -> bool:
    """Whether `head` has the changes up to the commit `tip`: by a merge, or because the files that
    they changed are the same there, or as one commit or commit by commit."""
    from cortex.vault.git.git_cli import run  # noqa: PLC0415

    def git(*words: str, stdin: bytes = b"") -> bytes:
        return run(directory, words, timeout=_GIT_SECONDS, stdin=stdin)

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


def _current_name(name: str, renamed: dict[str, str]) -> str:
    """What a branch is called now, through however many names."""
    for _ in range(20):
        if name not in renamed:
            break
        name = renamed[name]
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
