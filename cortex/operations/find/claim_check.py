"""Whether notes claim what no longer holds: what is asked, and what is answered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from cortex.core.model.problem import Problem


class ClaimCheck(NamedTuple):
    """Contradictions by the ids of their claims. `file_stamps` has the files and folders that were
    looked at (an empty stamp: not there); `edited_files`, of claims without a contradiction, the
    files that commits have edited since."""

    contradictions: dict[str, str]  # reasons, which end a line that begins `was true on <day>:`
    file_stamps: tuple[tuple[str, str], ...] = ()
    problems: tuple[Problem, ...] = ()
    edited_files: dict[str, tuple[str, ...]] = {}  # noqa: RUF012  nobody writes to it


class ClaimingNote(NamedTuple):
    """What is read of a note to find its claims."""

    id: str
    title: str
    body: str
    branch: str
    created: str
    type: str


def find_contradictions_in(
    directory: str, notes: Iterable[ClaimingNote], *, changed: bool = False
) -> ClaimCheck:
    """As `verify_claims.find_contradictions`, of the claims that notes make."""
    # The patterns cost 4 ms, git's history and the readers of manifests 15: for claims alone.
    from cortex.core.claims import extract_claims  # noqa: PLC0415

    claims = [
        extract_claims(id_, title, body, branch, created, rejected=type_ == "rejection")
        for id_, title, body, branch, created, type_ in notes
    ]
    if not any(one.files or one.packages or one.branches or one.branch for one in claims):
        return ClaimCheck({})
    from cortex.operations.find.verify_claims import find_contradictions  # noqa: PLC0415

    return find_contradictions(directory, claims, changed=changed)
