"""Which branches count as part of another one: default branches, and those that were merged into it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from contextlib import suppress

from cortex.core.model.problem import CortexError, Invalid
from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.git import checkout

DEFAULTS = ("main", "master", "trunk")
_MOST_MERGES = 500  # whose subjects are read for branches that are gone
_MOST_NAMED = 200  # branches that are asked about
# What git, GitHub, GitLab and Bitbucket write as the subject of a merge.
_SUBJECT = re.compile(
    r"Merge(?:d in| pull request #\d{1,9} from [^\s/]{1,100}/|d? (?:remote-tracking )?branch(?:es)?)\s{0,2}(\S.{0,400})",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"'([^']{1,200})'")


class Merged(NamedTuple):
    """Branches that were merged, and the files that would change if that did."""

    names: frozenset[str]
    used: tuple[str, ...]


def is_name(name: str) -> bool:
    """Whether a text can be the name of a branch: then it names no file outside the folder of refs either."""
    if all(
        part[:1].isalnum() and part.replace("-", "").replace("_", "").isalnum()
        for part in name.split("/")
    ):
        return len(name) < 250  # most names; nobody else has to be asked
    from cortex.vault.git import git  # noqa: PLC0415  `subprocess` costs 5 ms

    with suppress(Invalid):
        return bool(git.ref_name(name)) and len(name) < 250
    return False


def defaults(directory: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of branches that everything builds on, the remote's own default among them, and the files that say so."""
    git = checkout.git_folder(directory)
    if git is None:
        return DEFAULTS, ()
    path = os.path.join(git[2], "refs", "remotes", "origin", "HEAD")
    said = files.read_small(path, 1000).decode("utf-8", "replace").strip()
    head = "ref: refs/remotes/origin/"
    return (*DEFAULTS, *([said.removeprefix(head)] if said.startswith(head) else [])), (path,)


def head_files(directory: str, branch: str) -> tuple[str, ...]:
    """The files that change when another commit or branch is checked out."""
    git = checkout.git_folder(directory)
    if git is None:
        return ()
    own = [os.path.join(git[1], name) for name in ("HEAD", "logs/HEAD")]
    return (
        *own,
        os.path.join(git[2], "packed-refs"),
        *([os.path.join(git[2], "refs", "heads", branch)] if is_name(branch) else []),
    )


def merged(directory: str, branch: str, names: Collection[str]) -> Merged:
    """Those of the branches `names` whose commits are part of `branch`, or that were renamed to it. One on which nothing was ever committed is none, though git calls
    it merged from the moment it is made; one that is gone is known by the subject of its merge."""
    git = checkout.git_folder(directory)
    asked = {name for name in sorted(names)[:_MOST_NAMED] if is_name(name)}
    if git is None or not asked or not branch:
        return Merged(frozenset(), ())
    from cortex.vault.git.git import ref_name, run  # noqa: PLC0415  6 ms, and most projects' records name one branch
    from cortex.vault.git.refs import Repository  # noqa: PLC0415

    repository = Repository(*git)
    logs = {name: os.path.join(git[2], "logs", "refs", "heads", name) for name in sorted(asked)}
    used = (*logs.values(), *(os.path.join(git[2], "refs", "heads", name) for name in logs))
    renamed = repository.renamed()
    found = {name for name in asked if _last_name(name, renamed) in (branch, *DEFAULTS)}
    here = checkout.branch_of(directory) == branch
    if here:
        found |= {name for name in repository.merged() & asked if _has_commits(logs[name])}
    try:
        tip = "HEAD" if here else f"refs/heads/{ref_name(branch)}"
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
                    f"--max-count={_MOST_MERGES}",
                    "--format=%s",
                    "--end-of-options",
                    tip,
                ],
                timeout=5,
            )
            found |= _told(subjects.decode("utf-8", "replace")) & gone
    except (CortexError, OSError):
        return Merged(frozenset(found), used)
    return Merged(frozenset(found), used)


def _last_name(name: str, renamed: dict[str, str]) -> str:
    """What a branch is called now, through however many names."""
    for _ in range(20):
        if name not in renamed:
            break
        name = renamed[name]
    return name


def _has_commits(log: str) -> bool:
    """Whether anything happened on a branch after it was made, as far as its log tells; without a log it came from a remote."""
    held = files.read_small(log, 100_000)
    return held.count(b"\n") > 1 or not os.path.lexists(log)


def _told(subjects: str) -> set[str]:
    """The branches that the subjects of merges name."""
    found: set[str] = set()
    for line in subjects.splitlines():
        if match := _SUBJECT.match(line):
            rest = match[1]
            names = (
                _QUOTED.findall(rest.partition("' into ")[0] + "'")
                if rest.startswith("'")
                else [rest.split()[0]]
            )
            found.update(names)
            found.update(name.partition("/")[2] for name in names if "/" in name)
    return found
