"""What is to be done: the actions that meetings, agents and people have left."""

from __future__ import annotations

import re
from typing import Annotated, NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import DONE_STATUSES, TIER_CURRENT
from cortex.core.model.parameters import Between
from cortex.core.model.problem import InvalidInputError
from cortex.index.catalogue import NoteRow
from cortex.index.filters import NoteFilter
from cortex.index.queries import ticked_ids
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.ensure_fresh import ensure_fresh, read_edited_minutes
from cortex.operations.find.hits import Hit, Listing, build_hit
from cortex.operations.find.project_context import canonical_project
from cortex.vault.locate import Vault

MAX_RESULTS = 1000
_DATE_RE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?=T|$)")
OVERDUE, DATED, INVALID_DATE, UNDATED = range(4)  # the order of open actions


class ActionHit(NamedTuple):
    """An action. Its status is `done`, too, when its task is ticked."""

    hit: Hit
    owner: str
    due: str  # as it stands in the note
    overdue: bool
    ticked: bool  # done by a tick in a note, and not yet in its own


def actions(
    vault: Vault,
    caller: Caller,
    *,
    project: str = "",
    owner: str = "",
    overdue: bool = False,
    done: bool = False,
    number: Annotated[int, Between(1, MAX_RESULTS)] = 50,
) -> Listing[ActionHit]:
    """List what is to be done: overdue first, then by date, then what has none.

    An action is done when its note says so, or when its task is ticked: the one in its meeting's
    minutes, or one in any note that is a link to it and nothing else. A due that is no date comes
    after those that are.

    project: only of this project; by default of all
    owner: only what this person has to do
    overdue: only what was due before today
    done: what is done instead, the newest first
    number: how many at the most

    Example: cortex actions
    Example: cortex actions --overdue --owner Ada
    """
    if overdue and done:
        raise InvalidInputError(
            "what is done is not overdue", "cortex actions --done, or --overdue"
        )
    named = canonical_project(vault, project)
    problems = [*ensure_fresh(vault, caller), *read_edited_minutes(vault, caller)]

    wanted = NoteFilter(
        tiers=(TIER_CURRENT,),
        projects=(named,) if named else None,
        state="done" if done else "to_do",
    )

    def find(now: IndexSession) -> tuple[list[NoteRow], frozenset[str]]:
        rows = now.catalogue.find(wanted, "-date")
        return rows, ticked_ids(now.catalogue) if done else frozenset()

    rows, ticked = query_index(vault, caller.progress, find)
    if who := owner.strip().casefold():
        rows = [row for row in rows if row.owner.casefold() == who]
    if overdue:
        rows = [row for row in rows if is_overdue(row.due, caller.now)]
    if not done:
        rows.sort(key=lambda row: (*due_sort_key(row.due, caller.now), row.created, row.path))
    hits = []
    for row in rows[:number]:
        is_ticked = row.status not in DONE_STATUSES and row.id in ticked
        hit = build_hit(vault, row)._replace(status="done" if is_ticked else row.status)
        late = not done and is_overdue(row.due, caller.now)
        hits.append(ActionHit(hit, row.owner, row.due, late, is_ticked))
    return Listing(hits, len(rows), problems)


def due_sort_key(due: str, now: str) -> tuple[int, str]:
    """The sort key of open actions: overdue, dated, with another due, without one."""
    if not due:
        return UNDATED, ""
    return (OVERDUE if is_overdue(due, now) else DATED if is_date(due) else INVALID_DATE), due


def is_overdue(due: str, now: str) -> bool:
    return is_date(due) and due[:10] < now[:10]


def is_date(due: str) -> bool:
    return _DATE_RE.match(due) is not None
