"""How the vault stands, in a screenful."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import SET_ASIDE_STATUSES
from cortex.core.text.iso_time import epoch_seconds
from cortex.index.catalogue import Catalogue, NoteMetadata
from cortex.index.refresh import IndexSession, query_index
from cortex.operations.find.ensure_fresh import heal_if_stale
from cortex.operations.plan.actions import DUE_IS_DATE_SQL, IS_OPEN_SQL, IS_TO_DO_SQL
from cortex.operations.sessions.live_sessions import IS_COUNTED_SESSION_SQL, list_live_sessions
from cortex.vault import files, layout
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state.spool import list_entries

_MAX_RECENT, _MAX_NOTES, _MAX_KINDS = 5, 5, 12  # notes, things that want a look, kinds of things
_MAX_FAILED = 20
_STALE_SECONDS = (
    30 * 24 * 3600
)  # seconds without a change after which what is open is asked about; seed 000 leaves the number open
_IS_OPEN_SQL = f"tier = 0 AND {IS_OPEN_SQL}"
_T = TypeVar("_T")


class StatusNote(NamedTuple):
    """A note that is worth naming."""

    id: str
    path: str
    title: str
    type: str
    date: int
    due: str = ""


class StatusResult(NamedTuple):
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
    recent: tuple[StatusNote, ...]
    problems: int
    statuses: dict[str, int]
    set_aside: int  # superseded, archived and deleted records
    topics: int  # current records that have one
    open: dict[str, int]  # project -> what is open there: actions, questions, plans
    overdue: tuple[StatusNote, ...]  # open actions that were due before today, the longest first
    stale: tuple[StatusNote, ...]  # open, and unchanged for 30 days; the longest first
    live: tuple[str, ...]  # ids of sessions that are going on, the last moved first
    orphans: tuple[
        str, ...
    ]  # those of them without an event for a day: cortex session end --orphans
    more: dict[str, int]


def status(vault: Vault, caller: Caller) -> StatusResult:
    """Say what the vault holds, what is open, overdue or stale, what waits, and what needs a look.

    Stale is what has been open and unchanged for 30 days. Sessions that are going on are listed with orphans, which had no
    event for a day, named apart.

    Example: cortex status --json
    """
    heal_if_stale(vault, caller)
    return query_index(vault, caller.progress, lambda now: _build_status(vault, now, caller.now))


def _build_status(vault: Vault, now: IndexSession, at: str) -> StatusResult:
    catalogue = now.catalogue
    more: dict[str, int] = {}
    recent = catalogue.metadata_rows("tier = 0 ORDER BY date DESC, path LIMIT ?", (_MAX_RECENT,))
    failed = [
        name.removesuffix(".md") for name in files.list_notes(vault.root, layout.FAILED_FOLDER)
    ]
    statuses = catalogue.count_by("status")
    living = list_live_sessions(catalogue, at)
    is_due = f"type = 'action' AND {DUE_IS_DATE_SQL} AND substr(due, 1, 10) < ?"
    return StatusResult(
        vault=vault.root,
        branch=checkout.branch_of(vault.root),
        notes=catalogue.count_notes(),
        pending=len(files.list_notes(vault.root, layout.PENDING_FOLDER))
        + len(list_entries(vault).unsent_events),
        failed=tuple(_truncate("failed", failed, _MAX_FAILED, more)),
        types=_most_frequent("types", catalogue.count_by("type"), more),
        projects=_most_frequent("projects", catalogue.count_by("project"), more),
        open_actions=_query_count(catalogue, f"SELECT count(*) FROM note WHERE {IS_TO_DO_SQL}"),
        sessions=_query_count(
            catalogue, f"SELECT count(*) FROM note WHERE {IS_COUNTED_SESSION_SQL}"
        ),
        recent=tuple(_status_note(row) for row in recent),
        problems=len(now.problems),
        statuses=_most_frequent("statuses", statuses, more),
        set_aside=sum(statuses.get(name, 0) for name in SET_ASIDE_STATUSES),
        topics=_query_count(
            catalogue,
            "SELECT count(DISTINCT project || char(10) || scope || char(10) || topic) FROM note WHERE tier = 0 AND topic != ''",
        ),
        open=_most_frequent(
            "open",
            dict(
                catalogue.select(
                    f"SELECT project, count(*) FROM note WHERE {_IS_OPEN_SQL} GROUP BY 1 ORDER BY 2 DESC, 1"
                )
            ),
            more,
        ),
        overdue=_list_notes(
            catalogue, "overdue", (f"{_IS_OPEN_SQL} AND {is_due}", "due, path", at[:10]), more
        ),
        stale=_list_notes(
            catalogue,
            "stale",
            (f"{_IS_OPEN_SQL} AND date < ?", "date, path", epoch_seconds(at) - _STALE_SECONDS),
            more,
        ),
        live=tuple(
            _truncate("live", [one.row.id for one in living if not one.is_orphan], _MAX_NOTES, more)
        ),
        orphans=tuple(
            _truncate("orphans", [one.row.id for one in living if one.is_orphan], _MAX_NOTES, more)
        ),
        more=more,
    )


def _list_notes(
    catalogue: Catalogue, name: str, condition: tuple[str, str, object], more: dict[str, int]
) -> tuple[StatusNote, ...]:
    """The first notes for which a condition of one value holds, in its order."""
    where, order, value = condition
    rows = list(catalogue.metadata_rows(f"{where} ORDER BY {order} LIMIT ?", (value, _MAX_NOTES)))
    if len(rows) == _MAX_NOTES and (
        left := _query_count(catalogue, f"SELECT count(*) FROM note WHERE {where}", value)
        - _MAX_NOTES
    ):
        more[name] = left
    return tuple(_status_note(row) for row in rows)


def _status_note(row: NoteMetadata) -> StatusNote:
    return StatusNote(row.id, row.path, row.title, row.type, row.date, row.due)


def _query_count(catalogue: Catalogue, query: str, *values: object) -> int:
    return int(next(catalogue.select(query, values))[0])


def _most_frequent(name: str, counts: dict[str, int], more: dict[str, int]) -> dict[str, int]:
    """The most frequent of them."""
    kept = _truncate(name, list(counts.items()), _MAX_KINDS, more)
    return {key or "(none)": count for key, count in kept}


def _truncate(name: str, all_: list[_T], most: int, more: dict[str, int]) -> list[_T]:
    if len(all_) > most:
        more[name] = len(all_) - most
    return all_[:most]
