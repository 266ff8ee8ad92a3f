"""Links and relations that lead to no note, with what the vault and its history know of the target."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress

from cortex.core.model.problem import CortexError, Problem
from cortex.core.model.relation import Bearers, Called, end_of
from cortex.index import file_scan
from cortex.index.links import Links
from cortex.index.missing_targets import LookedUp, explained, looked_up
from cortex.index.refresh import Views
from cortex.vault.git import checkout, git

_PATIENCE = 2.0  # seconds for one walk over the history
_MOST_ASKED = 50  # names that git is asked about
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")


def dangling(root: str, now: Views) -> LookedUp:
    """Every relation, and every link of a record or session, whose target is no note."""
    missing = Links(now.catalogue).missing()
    if missing:
        # What the settings leave out of search is a note all the same.
        keys = {one.key for one in missing}
        there: dict[str, list[Called]] = {}
        for path in file_scan.take(root, file_scan.skip_of((), ()), time.time_ns()).stamps:
            if (key := end_of(path)) in keys:
                there.setdefault(key, []).append(Called(0, path, path))
        bearers = {key: Bearers(called) for key, called in there.items()}
        missing = [
            one
            for one in missing
            if one.key not in bearers
            or not bearers[one.key].choose(one.target, os.path.dirname(one.path))
        ]
    return looked_up(now.catalogue, missing)


def named(root: str, known: LookedUp) -> list[Problem]:
    """A problem for each of them. Asks git, which may take its time: not while others wait for the index."""
    return explained(known, _removed(root, known.keys))


def _removed(root: str, names: Sequence[str]) -> dict[str, str]:
    """Of names that are ids: the commit that took their file away, and when. Nothing where git cannot tell in time."""
    keys = [key for key in names if set(key) <= _PLAIN][:_MOST_ASKED]
    if not keys or checkout.git_folder(root) is None:
        return {}
    arguments = [
        "log", "--diff-filter=D", "--name-only", "--no-renames", "--relative", "-z", "--format=%x01%h %cs", "--end-of-options", "HEAD", "--",
        *(f":(glob)**/{key}.md" for key in keys),
    ]  # fmt: skip
    output = b""
    with suppress(CortexError):  # no git, or a history too long for a word of comfort
        output = git.attempt(
            root, arguments, timeout=_PATIENCE, extra={"GIT_LITERAL_PATHSPECS": "0"}
        ).output
    found: dict[str, str] = {}
    for commit in output.decode("utf-8", "replace").split("\x01")[1:]:
        head, *paths = (part for field in commit.split("\0") if (part := field.strip("\n")))
        short, _, day = head.partition(" ")
        for path in paths:
            found.setdefault(end_of(os.fsdecode(path)), f"in {short} on {day}")
    return found
