"""Which branches count as part of another one: default branches, and those merged into it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple

from cortex.core.model.problem import CortexError
from cortex.vault import files
from cortex.vault.git import checkout
from cortex.vault.git.refs import RepositoryRefs

DEFAULT_BRANCHES = ("main", "master", "trunk")
_MAX_MERGES = 500  # whose subjects are read for branches that are gone
_MAX_NAMES = 200  # branches that are asked about
# What git, GitHub, GitLab and Bitbucket write as the subject of a merge.
_MERGE_SUBJECT_RE = re.compile(
    r"Merge(?:d in| pull request #\d{1,9} from [^\s/]{1,100}/"
    r"|d? (?:remote-tracking )?branch(?:es)?)\s{0,2}(\S.{0,400})",
    re.IGNORECASE,
)
_QUOTED_NAME_RE = re.compile(r"'([^']{1,200})'")


class MergedBranches(NamedTuple):
    """Branches that were merged, and the files that would change if that did."""

    names: frozenset[str]
    depends_on: tuple[str, ...]


def find_defaults(directory: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The default branches, with that of the remote, and the files that say so."""
    repository = checkout.find_repository(directory)
    if repository is None:
        return DEFAULT_BRANCHES, ()
    path = os.path.join(repository.common_dir, "refs", "remotes", "origin", "HEAD")
    target = checkout.read_first_line(path)
    start = "ref: refs/remotes/origin/"
    named = (target.removeprefix(start),) if target.startswith(start) else ()
    return (*DEFAULT_BRANCHES, *named), (path,)


def head_files(directory: str, branch: str) -> tuple[str, ...]:
    """The files that change when another commit or branch is checked out."""
    repository = checkout.find_repository(directory)
    if repository is None:
        return ()
    shared = (
        "packed-refs",
        *((f"refs/heads/{branch}",) if RepositoryRefs.is_branch_name(branch) else ()),
    )
    return (
        *(os.path.join(repository.git_dir, name) for name in ("HEAD", "logs/HEAD")),
        *(os.path.join(repository.common_dir, name) for name in shared),
    )


def find_merged(directory: str, branch: str, names: Collection[str]) -> MergedBranches:
    """Those of the branches `names` whose commits are part of `branch`, or that were renamed to it.
    A branch without a commit of its own is none, though git calls it merged; one that is gone is
    known by the subject of its merge."""
    repository = checkout.find_repository(directory)
    asked = {name for name in sorted(names)[:_MAX_NAMES] if RepositoryRefs.is_branch_name(name)}
    if repository is None or not asked or not branch:
        return MergedBranches(frozenset(), ())
    # `subprocess` costs 5 ms, and most projects' records name one branch.
    from cortex.vault.git.git_cli import check_ref_name, run  # noqa: PLC0415

    refs = RepositoryRefs(*repository)
    common = repository.common_dir
    logs = {name: os.path.join(common, "logs", "refs", "heads", name) for name in sorted(asked)}
    used = (*logs.values(), *(os.path.join(common, "refs", "heads", name) for name in logs))
    renamed = refs.renamed_branches()
    found = {name for name in asked if _current_name(name, renamed) in (branch, *DEFAULT_BRANCHES)}
    is_here = checkout.branch_of(directory) == branch
    if is_here:
        found |= {name for name in refs.merged_branches() & asked if _has_commits(logs[name])}
    with suppress(CortexError, OSError):
        tip = "HEAD" if is_here else f"refs/heads/{check_ref_name(branch)}"
        alive = {name for name in asked - found if refs.has_branch(name)}
        if alive:
            words = ["for-each-ref", f"--merged={tip}", "--format=%(refname)"]
            listed = run(directory, [*words, "refs/heads", "refs/remotes"], timeout=5)
            parts = [ref.split("/", 3) for ref in listed.decode("utf-8", "replace").splitlines()]
            within = {"/".join(part[2:]) for part in parts if part[1] == "heads"}
            within |= {part[-1] for part in parts if part[1] == "remotes"}
            found |= {name for name in alive & within if _has_commits(logs[name])}
        if gone := asked - found - alive:
            words = ["log", "--merges", f"--max-count={_MAX_MERGES}", "--format=%s"]
            subjects = run(directory, [*words, "--end-of-options", tip], timeout=5)
            found |= _names_in_subjects(subjects.decode("utf-8", "replace")) & gone
    return MergedBranches(frozenset(found), used)


def _current_name(name: str, renamed: dict[str, str]) -> str:
    """What a branch is called now, through however many names."""
    for _ in range(20):
        if name not in renamed:
            break
        name = renamed[name]
    return name


def _has_commits(log: str) -> bool:
    """True if a branch's log has more than its creation; without a log it came from a remote."""
    held = files.read_bounded(log, 100_000)
    return held.count(b"\n") > 1 or not os.path.lexists(log)


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
