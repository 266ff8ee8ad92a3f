"""Which branches count as part of another one: default branches, and those that were merged into it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from contextlib import suppress

from cortex.core.model.problem import CortexError, InvalidInputError
from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.git import checkout

DEFAULT_BRANCHES = ("main", "master", "trunk")
_MAX_MERGES = 500  # whose subjects are read for branches that are gone
_MAX_NAMES = 200  # branches that are asked about
# What git, GitHub, GitLab and Bitbucket write as the subject of a merge.
_MERGE_SUBJECT_RE = re.compile(
    r"Merge(?:d in| pull request #\d{1,9} from [^\s/]{1,100}/|d? (?:remote-tracking )?branch(?:es)?)\s{0,2}(\S.{0,400})",
    re.IGNORECASE,
)
_QUOTED_NAME_RE = re.compile(r"'([^']{1,200})'")


class MergedBranches(NamedTuple):
    """Branches that were merged, and the files that would change if that did."""

    names: frozenset[str]
    depends_on: tuple[str, ...]


def is_branch_name(name: str) -> bool:
    """Whether a text can be the name of a branch: then it names no file outside the folder of refs either."""
    if all(
        part[:1].isalnum() and part.replace("-", "").replace("_", "").isalnum()
        for part in name.split("/")
    ):
        return len(name) < 250  # most names; nobody else has to be asked
    from cortex.vault.git import git_cli  # noqa: PLC0415  `subprocess` costs 5 ms

    with suppress(InvalidInputError):
        return bool(git_cli.check_ref_name(name)) and len(name) < 250
    return False


def find_defaults(directory: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of branches that everything builds on, the remote's own default among them, and the files that say so."""
    git = checkout.find_repository(directory)
    if git is None:
        return DEFAULT_BRANCHES, ()
    path = os.path.join(git[2], "refs", "remotes", "origin", "HEAD")
    said = files.read_bounded(path, 1000).decode("utf-8", "replace").strip()
    head = "ref: refs/remotes/origin/"
    return (*DEFAULT_BRANCHES, *([said.removeprefix(head)] if said.startswith(head) else [])), (
        path,
    )


def head_files(directory: str, branch: str) -> tuple[str, ...]:
    """The files that change when another commit or branch is checked out."""
    git = checkout.find_repository(directory)
    if git is None:
        return ()
    own = [os.path.join(git[1], name) for name in ("HEAD", "logs/HEAD")]
    return (
        *own,
        os.path.join(git[2], "packed-refs"),
        *([os.path.join(git[2], "refs", "heads", branch)] if is_branch_name(branch) else []),
    )


def find_merged(directory: str, branch: str, names: Collection[str]) -> MergedBranches:
    """Those of the branches `names` whose commits are part of `branch`, or that were renamed to it. One on which nothing was ever committed is none, though git calls
    it merged from the moment it is made; one that is gone is known by the subject of its merge."""
    git = checkout.find_repository(directory)
    asked = {name for name in sorted(names)[:_MAX_NAMES] if is_branch_name(name)}
    if git is None or not asked or not branch:
        return MergedBranches(frozenset(), ())
    from cortex.vault.git.git_cli import check_ref_name, run  # noqa: PLC0415  6 ms, and most projects' records name one branch
    from cortex.vault.git.refs import RepositoryRefs  # noqa: PLC0415

    repository = RepositoryRefs(*git)
    logs = {name: os.path.join(git[2], "logs", "refs", "heads", name) for name in sorted(asked)}
    used = (*logs.values(), *(os.path.join(git[2], "refs", "heads", name) for name in logs))
    renamed = repository.renamed_branches()
    found = {name for name in asked if _current_name(name, renamed) in (branch, *DEFAULT_BRANCHES)}
    here = checkout.branch_of(directory) == branch
    if here:
        found |= {name for name in repository.merged_branches() & asked if _has_commits(logs[name])}
    try:
        tip = "HEAD" if here else f"refs/heads/{check_ref_name(branch)}"
        alive = {name for name in asked - found if repository.has_branch(name)}
        if alive:
            listed = run(
                directory,
                [
                    "for-each-ref",
                    f"--merged={tip}",
                    "--format=%(refname)",
                    "refs/heads",
                    "refs/remotes",
                ],
                timeout=5,
            )
            refs = listed.decode("utf-8", "replace").splitlines()
            within = {
                ref.removeprefix("refs/heads/") for ref in refs if ref.startswith("refs/heads/")
            }
            within |= {
                ref.removeprefix("refs/remotes/").partition("/")[2]
                for ref in refs
                if ref.startswith("refs/remotes/")
            }
            found |= {name for name in alive & within if _has_commits(logs[name])}
        if gone := asked - found - alive:
            subjects = run(
                directory,
                [
                    "log",
                    "--merges",
                    f"--max-count={_MAX_MERGES}",
                    "--format=%s",
                    "--end-of-options",
                    tip,
                ],
                timeout=5,
            )
            found |= _names_in_subjects(subjects.decode("utf-8", "replace")) & gone
    except (CortexError, OSError):
        return MergedBranches(frozenset(found), used)
    return MergedBranches(frozenset(found), used)


def _current_name(name: str, renamed: dict[str, str]) -> str:
    """What a branch is called now, through however many names."""
    for _ in range(20):
        if name not in renamed:
            break
        name = renamed[name]
    return name


def _has_commits(log: str) -> bool:
    """Whether anything happened on a branch after it was made, as far as its log tells; without a log it came from a remote."""
    held = files.read_bounded(log, 100_000)
    return held.count(b"\n") > 1 or not os.path.lexists(log)


def _names_in_subjects(subjects: str) -> set[str]:
    """The branches that the subjects of merges name."""
    found: set[str] = set()
    for line in subjects.splitlines():
        if match := _MERGE_SUBJECT_RE.match(line):
            rest = match[1]
            names = (
                _QUOTED_NAME_RE.findall(rest.partition("' into ")[0] + "'")
                if rest.startswith("'")
                else [rest.split()[0]]
            )
            found.update(names)
            found.update(name.partition("/")[2] for name in names if "/" in name)
    return found
