"""Rank notes by what the catalogue, the links and the use on this machine say of them, and actions
by their due."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter

from cortex.core.model.caller import Caller
from cortex.core.ranking import importance
from cortex.core.ranking.importance import Signals
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.lazy_re import lazy_re
from cortex.index.catalogue import NoteRow
from cortex.index.filters import NoteFilter
from cortex.index.in_degree import in_degree
from cortex.index.refresh import IndexSession
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

# Of more records than these only some are ranked: half of them the last changed, half those from
# which time takes nothing, and those that were used last. About 20 µs a record.
MAX_RANKED, MAX_RECENTLY_USED = 1000, 200
_DATE_RE = lazy_re(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?=T|$)")


def select_for_ranking(
    vault: Vault, index: IndexSession, wanted: NoteFilter, total: int
) -> Iterable[NoteRow]:
    """Of the `total` notes of a filter those that may rank highest. Pinned ones are always
    included, then the newest of types that do not decay."""
    if total <= MAX_RANKED:
        return index.catalogue.find(wanted)
    used = access_log.read_counts(vault)
    recently = sorted(used, key=lambda id_: (-used[id_].last_seconds, id_))[:MAX_RECENTLY_USED]
    enduring = wanted._replace(enduring_types=importance.NON_DECAYING_TYPES)
    parts = (
        index.catalogue.find(wanted, "-date", MAX_RANKED // 2),
        index.catalogue.find(enduring, "-pinned", MAX_RANKED // 2),
        index.catalogue.find(wanted._replace(ids=recently)),
    )
    return {row.number: row for rows in parts for row in rows}.values()


def signals_of_notes(
    vault: Vault, index: IndexSession, rows: Iterable[NoteRow], branch: str = ""
) -> dict[int, Signals]:
    """The signals of notes, by number. `branch` is the one that counts as current."""
    # What has no date was made at its last change, as far as is known.
    signals = _iter_signals(
        vault, index, rows, branch, lambda row: timestamp_of(row.created) or row.date
    )
    return {row.number: one for row, one in signals}


def rank_notes(
    vault: Vault,
    index: IndexSession,
    caller: Caller,
    rows: Iterable[NoteRow],
    branch: str = "",
    *,
    rank: Callable[[Signals, float], float] = importance.rank,
) -> list[tuple[NoteRow, float]]:
    """Notes with their rank, 0 to 1, best first; `branch` is the one that counts as current."""
    moment = epoch_seconds(caller.now)
    # A rank does not ask when a note was made.
    scored = [
        (-rank(signals, moment), -min(row.date, moment), row.path, row)
        for row, signals in _iter_signals(vault, index, rows, branch, attrgetter("date"))
    ]
    scored.sort()
    return [(row, -negative) for negative, _, _, row in scored]


def _iter_signals(
    vault: Vault,
    index: IndexSession,
    rows: Iterable[NoteRow],
    branch: str,
    created: Callable[[NoteRow], int],
) -> Iterator[tuple[NoteRow, Signals]]:
    used, incoming = access_log.read_counts(vault), in_degree(index.catalogue)
    most_incoming = max(incoming.values(), default=0)
    most_uses = max((one.count for one in used.values()), default=0)
    for row in rows:
        use = used.get(row.id)
        last_use, uses = (use.last_seconds, use.count) if use else (None, 0)
        signals = Signals(
            row.type, created(row), row.date, last_use, uses, incoming.get(row.number, 0),
            row.confidence, row.priority, row.pinned, row.branch == branch != "", most_incoming,
            most_uses,
        )  # fmt: skip
        yield row, signals


def timestamp_of(text: str) -> int:
    """A time as Cortex writes it, or a leading day, in seconds since the epoch; 0 for others."""
    if len(text) == 20 and text.endswith("Z"):
        return epoch_seconds(text)
    return epoch_seconds(f"{text[:10]}T00:00:00Z") if text[4:8:3] == "--" else 0


def due_sort_key(due: str, now: str) -> tuple[int, str]:
    """The sort key of open actions: overdue, dated, with another due, without one."""
    if not due:
        return 3, ""
    return (0 if is_overdue(due, now) else 1 if _DATE_RE.match(due) else 2), due


def is_overdue(due: str, now: str) -> bool:
    """Whether a due is a day that is over."""
    return bool(_DATE_RE.match(due)) and due[:10] < now[:10]
