"""What a briefing takes from the person's own vault: what is theirs in this project, and everywhere."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.briefing.compose import DECISIONS, EVERYWHERE, KNOWLEDGE, PINNED, TRAPS
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Problem
from cortex.index.catalogue import NoteRow
from cortex.index.queries import briefing_dependencies
from cortex.index.refresh import IndexSession, query_index
from cortex.index.state_file import state_path
from cortex.operations.sessions.brief_select import (
    BriefingRequest,
    BriefingSelection,
    select_candidates,
)
from cortex.vault.locate import (
    Vault,
    default_vault_file,
    find_personal_vault,
    personal_vault_problem,
)
from cortex.vault.state import briefing_cache

_MAX_NOTES = 30  # of each kind
_KINDS = (PINNED, EVERYWHERE, DECISIONS, TRAPS, KNOWLEDGE)


class PersonalNotes(NamedTuple):
    """Notes of the person's own vault, best first, and what they were read from."""

    pinned: list[NoteRow]
    others: list[NoteRow]
    vault: Vault | None
    stamps: dict[str, str]  # absolute paths, with a stamp where the index took one
    problems: tuple[Problem, ...] = ()


def load_personal_notes(vault: Vault, caller: Caller, request: BriefingRequest) -> PersonalNotes:
    """The notes of the person's own vault that a briefing of this project may tell. Their numbers
    are negative, so that none is a note of `vault`. Raises nothing."""
    stamps = {default_vault_file(): ""}
    own = find_personal_vault(vault)
    if own is None:
        problem = personal_vault_problem(vault)
        return PersonalNotes([], [], None, stamps, (problem,) if problem else ())

    def select(index: IndexSession) -> tuple[BriefingSelection, dict[str, str]]:
        paths = briefing_dependencies(index.catalogue, request.project_names)
        known, racy = index.snapshot.stamps, index.snapshot.racy
        held = {path: "" if path in racy else known.get(path, "") for path in paths}
        held |= {path.rpartition("/")[0]: "" for path in known}
        return select_candidates(index.catalogue, request), held

    try:
        chosen, held = query_index(own, caller.progress, select, words=False)
    except (CortexError, OSError) as error:
        problem = Problem(own.root, f"your own vault was not looked in: {error}", "cortex doctor")
        return PersonalNotes([], [], None, stamps, (problem,))
    rows = {
        kind: [row._replace(number=-row.number - 1) for row in chosen.parts.get(kind, ())]
        for kind in _KINDS
    }
    others = [row for kind in _KINDS[1:] for row in rows[kind][:_MAX_NOTES]]
    stamps |= {os.path.join(own.root, path).rstrip("/"): stamp for path, stamp in held.items()}
    stamps[state_path(own)] = briefing_cache.file_stamp(state_path(own))
    return PersonalNotes(rows[PINNED], others, own, stamps)
