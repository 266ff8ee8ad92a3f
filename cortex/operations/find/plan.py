"""The plans that are worked on, with what is done of them."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from cortex.core.briefing.excerpt import PlanStep, plan_steps
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import TIER_CURRENT
from cortex.core.model.parameters import Between
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import KNOWLEDGE_TIERS, NoteFilter
from cortex.index.refresh import IndexSession
from cortex.operations.capture.project_context import branch_filter, project_names, resolve_project
from cortex.operations.find.hits import Hit, Listing, make_hit, read_text
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault.locate import Vault


class PlanHit(NamedTuple):
    """A plan and its steps, in their order."""

    hit: Hit
    branch: str
    done: int  # steps
    steps: tuple[PlanStep, ...]


def plan(
    vault: Vault,
    caller: Caller,
    *,
    project: str = "",
    branch: tuple[str, ...] = (".",),
    all: bool = False,
    number: Annotated[int, Between(1, 100)] = 5,
) -> Listing[PlanHit]:
    """Show plans, and which of their steps are done.

    A plan is a record of the type plan: an agent's list of steps becomes one for each branch, and
    any note with `type: plan` and tasks is one. The last changed comes first.

    project: by default the one of the working directory; of all in a folder without one
    branch: by default `.`, the one that is checked out, with what belongs to none; `*` for all
    all: plans that are superseded, archived or deleted too
    number: how many at the most

    Example: cortex plan
    Example: cortex plan --branch '*' --json
    """
    project = resolve_project(vault, caller, project)
    wanted = NoteFilter(
        tiers=KNOWLEDGE_TIERS if all else (TIER_CURRENT,),
        types=("plan",),
        projects=[*project_names(vault, project), ""] if project else None,
        query=branch_filter(caller, branch),
    )

    def find(index: IndexSession) -> tuple[list[NoteRow], int]:
        return index.catalogue.find(wanted, "-date", number), index.catalogue.count(wanted)

    (rows, total), problems = query_fresh(vault, caller, find)
    hits = []
    for row in rows:
        steps = tuple(plan_steps(read_text(vault, row)))
        done = sum(step.is_done for step in steps)
        left = next((step.text for step in steps if not step.is_done), "")
        hits.append(PlanHit(make_hit(vault, row, 1, left), row.branch, done, steps))
    hint = "" if hits else "cortex actions lists actions"
    if not hits and "*" not in branch:
        hint = f"cortex plan --branch '*' looks on every branch; {hint}"
    return Listing(hits, total, problems, hint)
