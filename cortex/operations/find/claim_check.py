"""What is asked of `verify_claims`, and what it answers: without its patterns and git's history."""

from __future__ import annotations

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
