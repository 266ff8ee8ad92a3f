"""Conflicts that wait for a person in a note's text: whose the two sides are, in words (`yours`, and
`Ana's of 14:02`), and the end of them.

Only what waits in a work tree says so, and is not committed before a person has looked: what two
clones merge by themselves knows of no names, and comes out the same in both.
"""

from __future__ import annotations

import re
import time

from cortex.core.merge.body import marked_conflicts
from cortex.core.merge.conflicts import without_conflicts_field
from cortex.core.merge.fields import CONFLICTS_KEY
from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.merge.note_versions import MergeSides
from cortex.core.model.caller import Caller
from cortex.core.model.problem import Problem
from cortex.core.notes import note as notes
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import shell_quote
from cortex.core.text.value import NamedTuple
from cortex.index.refresh import query_index
from cortex.vault import files
from cortex.vault.git import git_cli, merging
from cortex.vault.git.merging import MergeState
from cortex.vault.locate import Vault

LABELS = (b"ours", b"theirs")  # in a merged note, until `with_names`
_MARKER_RE = lazy_re(rb"(?m)^([<>]{7,}) [^\r\n]*")
_MAX_NAME_CHARS = 40


class OtherSide(NamedTuple):
    """The side of a merge or rebase that is not this clone's."""

    root: str
    commit: str  # its last one
    is_ours: bool  # git calls it ours, as in a rebase

    def label(self, path: str) -> str:
        """`Ana's of 14:02`: who changed a path there last; with the day unless it is today."""
        name, day, clock = self._author(path)
        today = time.strftime("%Y-%m-%d")
        return f"{name}'s of {clock}" if day == today else f"{name}'s of {day} {clock}"

    def name_and_day(self, path: str) -> str:
        """`Ana 2026-11-25`, for a file's name."""
        name, day, _ = self._author(path)
        return re.sub(r'[\\/:*?"<>|#^\[\]]', "", f"{name} {day}").lstrip(".")

    def with_names(self, path: str, data: bytes, versions: MergeSides) -> bytes:
        """The text, with its new conflict markers saying whose lines they are."""
        before = [tree[path] for tree in versions if path in tree]
        new = marked_conflicts(data) - marked_conflicts(b"\n".join(before))
        lines = {line for pair in new for line in pair}
        git_ours, git_theirs = self.label(path).encode(), b"yours"
        if not self.is_ours:
            git_ours, git_theirs = git_theirs, git_ours
        swapped = any(opening.endswith(b" theirs") for opening, _ in new)

        def named(found: re.Match[bytes]) -> bytes:
            is_first = found[1].startswith(b"<")
            label = git_ours if is_first != swapped else git_theirs
            return found[1] + b" " + label if found[0] in lines else found[0]

        return _MARKER_RE.sub(named, data)

    def question(self, path: str, text: bytes | None, versions: MergeSides) -> Problem | None:
        """What a person has to decide about a file, and how; None if it is neither of these."""
        name = self._author(path)[0]
        before = marked_conflicts(b"\n".join(tree[path] for tree in versions if path in tree))
        if text and (new := marked_conflicts(text) - before):
            openings = {opening for opening, _ in new}
            lines = (number for number, line in enumerate(text.splitlines(), 1) if line in openings)
            where = ", ".join(f"{path}:{number}" for number in lines)
            hint = "choose the lines to keep and delete the markers, then cortex sync"
            return Problem(path, f"you and {name} changed the same lines: {where}", hint)
        in_base, in_ours, in_theirs = (path in tree for tree in versions)
        if not in_base or in_ours == in_theirs:
            return None
        deleter, editor = (name, "you") if in_ours != self.is_ours else ("you", name)
        git = f"git -C {shell_quote(self.root)}"
        keep, drop = f"{git} add -- {shell_quote(path)}", f"{git} rm -- {shell_quote(path)}"
        message = f"{deleter} deleted it, and {editor} changed it"
        return Problem(path, message, f"{keep} keeps it, {drop} lets it go; then cortex sync")

    def _author(self, path: str) -> tuple[str, str, str]:
        words = ["log", "-1", "--format=%an%x00%ad", "--date=format-local:%Y-%m-%d %H:%M"]
        ran = git_cli.run_unchecked(self.root, [*words, self.commit, "--", path])
        if not ran.stdout:
            ran = git_cli.run_unchecked(self.root, [*words, self.commit, "--"])
        name, _, when = ran.stdout.decode("utf-8", "replace").strip().rpartition("\0")
        shown = "".join(sign for sign in name if sign.isprintable())[:_MAX_NAME_CHARS].strip()
        day, _, clock = when.partition(" ")
        return shown or "somebody else", day, clock


def other_side(root: str, mine: MergeState) -> OtherSide | None:
    """The other side of a merge or rebase under way; None in another operation."""
    if mine.how not in ("merge", "rebase"):
        return None
    commits = merging.revisions_of(root, mine.how)
    is_rebase = mine.how == "rebase"
    found = mine.theirs or (commits and (commits.ours if is_rebase else commits.theirs))
    return OtherSide(root, found, is_rebase) if found else None


def clear_conflicts(vault: Vault, caller: Caller) -> list[MergeResolution]:
    """Remove the field that names a conflict from notes in which it names only the text, once that has
    no markers."""
    done = []
    wrong = query_index(vault, caller.progress, lambda index: index.catalogue.problems())
    for path in [one.where for one in wrong if CONFLICTS_KEY in one.hint]:
        before = files.read(vault.root, path)
        after = without_conflicts_field(before)
        if after != before and _is_resolved(before):
            files.replace(vault.root, path, after, before)
            done.append(MergeResolution(path, f"has no markers left; {CONFLICTS_KEY} is gone"))
    return done


def _is_resolved(data: bytes) -> bool:
    named = notes.read(data).fields.get(CONFLICTS_KEY)
    only_text = isinstance(named, list) and all(one in ("body", {"field": "body"}) for one in named)
    return only_text and not marked_conflicts(data)
