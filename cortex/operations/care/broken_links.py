"""Links and relations without a target note, and what the vault and git know of the target."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress

from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.relation import LinkCandidate, NameResolver, basename_key
from cortex.index import file_scan, missing_targets
from cortex.index.links import LinkGraph
from cortex.index.missing_targets import MissingTargetReport
from cortex.index.refresh import IndexSession
from cortex.vault.git import checkout, git_cli

_TIMEOUT_SECONDS = 2.0  # seconds for one walk over the history
_MAX_NAMES = 50  # names that git is asked about
_ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")


def find_broken_links(root: str, now: IndexSession) -> MissingTargetReport:
    """Every relation, and every link of a record or session, whose target is no note."""
    missing = LinkGraph(now.catalogue).list_missing_targets()
    if missing:
        # What the settings leave out of search is a note all the same.
        candidates: dict[str, list[LinkCandidate]] = {one.key: [] for one in missing}
        for path in file_scan.scan_vault(root, (), (), time.time_ns()).stamps:
            if (key := basename_key(path)) in candidates:
                candidates[key].append(LinkCandidate(0, path, path))
        resolvers = {key: NameResolver(named) for key, named in candidates.items() if named}
        missing = [
            one
            for one in missing
            if one.key not in resolvers
            or not resolvers[one.key].resolve(one.target, os.path.dirname(one.path))
        ]
    return missing_targets.report_missing_targets(now.catalogue, missing)


def broken_link_problems(root: str, known: MissingTargetReport) -> list[Problem]:
    """A problem for each of them. Runs git, so the caller must not hold the index lock."""
    return missing_targets.problems_of_report(known, _deleting_commits(root, known.keys))


def _deleting_commits(root: str, names: Sequence[str]) -> dict[str, str]:
    """Name -> the commit that deleted its file, and its day; empty if git takes too long."""
    keys = [key for key in names if set(key) <= _ID_CHARACTERS][:_MAX_NAMES]
    if not keys or checkout.find_repository(root) is None:
        return {}
    arguments = [
        "log", "--diff-filter=D", "--name-only", "--no-renames", "--relative", "-z",
        "--format=%x01%h %cs", "--end-of-options", "HEAD", "--",
        *(f":(glob)**/{key}.md" for key in keys),
    ]  # fmt: skip
    output = b""
    with suppress(CortexError):  # no git, or a long history: the answer goes without it
        output = git_cli.run_unchecked(
            root, arguments, timeout=_TIMEOUT_SECONDS, extra={"GIT_LITERAL_PATHSPECS": "0"}
        ).stdout
    found: dict[str, str] = {}
    for commit in output.decode("utf-8", "replace").split("\x01")[1:]:
        head, *paths = (part for field in commit.split("\0") if (part := field.strip("\n")))
        short, _, day = head.partition(" ")
        for path in paths:
            found.setdefault(basename_key(os.fsdecode(path)), f"in {short} on {day}")
    return found
