"""How the vault stands, in a screenful."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from cortex.core.model.caller import Caller
from cortex.core.model.status import ASIDE
from cortex.index.catalogue import Catalogue, Standing
from cortex.index.refresh import Views, look
from cortex.operations.find.ensure_fresh import heal_if_due
from cortex.operations.plan.actions import DUE_IS_DATE, IS_OPEN, IS_TO_DO
from cortex.operations.sessions.live_sessions import HELD, live
from cortex.vault import files, layout
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state.access_log import seconds
from cortex.vault.state.spool import waiting

_RECENT, _FEW, _MOST = 5, 5, 12  # notes, things that want a look, kinds of things
_FAILED = 20
STALE = (
    30 * 24 * 3600
)  # seconds without a change after which what is open is asked about; seed 000 leaves the number open
_OPEN = f"tier = 0 AND {IS_OPEN}"
_T = TypeVar("_T")


class Recent(NamedTuple):
    """A note that is worth naming."""

    id: str
    path: str
    title: str
    type: str
    date: int
    due: str = ""


class Status(NamedTuple):
    """The vault in figures. Every list is bounded; `more` says of each how much of it is left out."""

    vault: str
    branch: str
    notes: int
    pending: int
    failed: tuple[str, ...]
    types: dict[str, int]
    projects: dict[str, int]
    open_actions: int
    sessions: int
    recent: tuple[Recent, ...]
    problems: int
    statuses: dict[str, int]
    set_aside: int  # superseded, archived and deleted records
    topics: int  # current records that have one
    open: dict[str, int]  # project -> what is open there: actions, questions, plans
    overdue: tuple[Recent, ...]  # open actions that were due before today, the longest first
    stale: tuple[Recent, ...]  # open, and unchanged for 30 days; the longest first
    live: tuple[str, ...]  # ids of sessions that are going on, the last moved first
    orphans: tuple[
        str, ...
    ]  # those of them without an event for a day: cortex session end --orphans
    more: dict[str, int]


def status(vault: Vault, caller: Caller) -> Status:
    """Say what the vault holds, what is open, overdue or stale, what waits, and what needs a look.

    Stale is what has been open and unchanged for 30 days. Sessions that are going on are listed with orphans, which had no
    event for a day, named apart.

    Example: cortex status --json
    """
    heal_if_due(vault, caller)
    return look(vault, caller.progress, lambda now: _status(vault, now, caller.now))


def _status(vault: Vault, now: Views, at: str) -> Status:
    catalogue = now.catalogue
    more: dict[str, int] = {}
    recent = catalogue.standings("tier = 0 ORDER BY date DESC, path LIMIT ?", (_RECENT,))
    failed = [name.removesuffix(".md") for name in files.notes_in(vault.root, layout.FAILED)]
    statuses = catalogue.counts("status")
    living = live(catalogue, at)
    is_due = f"type = 'action' AND {DUE_IS_DATE} AND substr(due, 1, 10) < ?"
    return Status(
        vault=vault.root,
        branch=checkout.branch_of(vault.root),
        notes=catalogue.count(),
        pending=len(files.notes_in(vault.root, layout.PENDING)) + len(waiting(vault).unsent),
        failed=tuple(_bounded("failed", failed, _FAILED, more)),
        types=_most("types", catalogue.counts("type"), more),
        projects=_most("projects", catalogue.counts("project"), more),
        open_actions=_number(catalogue, f"SELECT count(*) FROM note WHERE {IS_TO_DO}"),
        sessions=_number(catalogue, f"SELECT count(*) FROM note WHERE {HELD}"),
        recent=tuple(_named(row) for row in recent),
        problems=len(now.problems),
        statuses=_most("statuses", statuses, more),
        set_aside=sum(statuses.get(name, 0) for name in ASIDE),
        topics=_number(
            catalogue,
            "SELECT count(DISTINCT project || char(10) || scope || char(10) || topic) FROM note WHERE tier = 0 AND topic != ''",
        ),
        open=_most(
            "open",
            dict(
                catalogue.asked(
                    f"SELECT project, count(*) FROM note WHERE {_OPEN} GROUP BY 1 ORDER BY 2 DESC, 1"
                )
            ),
            more,
        ),
        overdue=_listed(
            catalogue, "overdue", (f"{_OPEN} AND {is_due}", "due, path", at[:10]), more
        ),
        stale=_listed(
            catalogue, "stale", (f"{_OPEN} AND date < ?", "date, path", seconds(at) - STALE), more
        ),
        live=tuple(_bounded("live", [one.row.id for one in living if not one.orphan], _FEW, more)),
        orphans=tuple(
            _bounded("orphans", [one.row.id for one in living if one.orphan], _FEW, more)
        ),
        more=more,
    )


def _listed(
    catalogue: Catalogue, name: str, condition: tuple[str, str, object], more: dict[str, int]
) -> tuple[Recent, ...]:
    """The first notes for which a condition of one value holds, in its order."""
    where, order, value = condition
    rows = list(catalogue.standings(f"{where} ORDER BY {order} LIMIT ?", (value, _FEW)))
    if len(rows) == _FEW and (
        left := _number(catalogue, f"SELECT count(*) FROM note WHERE {where}", value) - _FEW
    ):
        more[name] = left
    return tuple(_named(row) for row in rows)


def _named(row: Standing) -> Recent:
    return Recent(row.id, row.path, row.title, row.type, row.date, row.due)


def _number(catalogue: Catalogue, query: str, *values: object) -> int:
    return int(next(catalogue.asked(query, values))[0])


def _most(name: str, counts: dict[str, int], more: dict[str, int]) -> dict[str, int]:
    """The most frequent of them."""
    kept = _bounded(name, list(counts.items()), _MOST, more)
    return {key or "(none)": count for key, count in kept}


def _bounded(name: str, all_: list[_T], most: int, more: dict[str, int]) -> list[_T]:
    if len(all_) > most:
        more[name] = len(all_) - most
    return all_[:most]
