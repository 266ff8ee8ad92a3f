"""What is known of notes that decides how much they matter: from the catalogue, the links between them, and their use here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter

from cortex.core.model.caller import Caller
from cortex.core.ranking import importance
from cortex.core.ranking.importance import Signals
from cortex.core.text.iso_time import epoch_seconds
from cortex.index.catalogue import NoteMetadata
from cortex.index.in_degree import in_degree
from cortex.index.refresh import IndexSession
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

# Of more records than these only some are ranked: half of them the last changed, half those from which time takes nothing,
# and those that were used last. About 20 µs a record.
MAX_RANKED, MAX_RECENTLY_USED = 1000, 200
_IS_ENDURING_SQL = f"(pinned = 1 OR type IN {tuple(sorted(importance.NON_DECAYING_TYPES))})"  # SQL, as `importance.is_non_decaying`
_date_of = attrgetter("date")


def select_for_ranking(
    vault: Vault, now: IndexSession, where: str, values: Sequence[object], total: int
) -> Iterator[NoteMetadata]:
    """Of the `total` notes for which a condition holds those that may matter most, to be ranked. What is pinned is always among
    them, then the newest of what endures. `where` is never a user's text."""
    if total <= MAX_RANKED:
        return now.catalogue.metadata_rows(where, values)
    first = "number IN (SELECT number FROM note WHERE {} ORDER BY {} date DESC, path LIMIT ?)"
    used = sorted(
        access_log.read_counts(vault).items(), key=lambda one: (-one[1].last_seconds, one[0])
    )[:MAX_RECENTLY_USED]
    half = MAX_RANKED // 2
    parts = (
        (first.format(where, ""), half),
        (first.format(f"{where} AND {_IS_ENDURING_SQL}", "pinned DESC,"), half),
        (f"({where} AND id IN ({','.join('?' * len(used))}))", *(id_ for id_, _ in used)),
    )
    return now.catalogue.metadata_rows(
        f"({' OR '.join(part for part, *_ in parts)})",
        [one for _, *more in parts for one in (*values, *more)],
    )


def signals_where(
    vault: Vault,
    now: IndexSession,
    where: str = "tier < 2",
    values: Sequence[object] = (),
    *,
    branch: str = "",
) -> dict[int, Signals]:
    """The signals of the notes for which an SQL condition over `NoteMetadata` holds, by number. `branch` is the one that counts as
    current. `where` is never a user's text."""
    return signals_of_notes(vault, now, now.catalogue.metadata_rows(where, values), branch)


def signals_of_notes(
    vault: Vault, now: IndexSession, standings: Iterable[NoteMetadata], branch: str = ""
) -> dict[int, Signals]:
    """As `signals`, of notes that somebody has in hand already."""
    return {
        one.number: held
        for one, held in _iter_signals(vault, now, standings, branch, created_timestamp)
    }


def rank_notes(
    vault: Vault,
    now: IndexSession,
    caller: Caller,
    standings: Iterable[NoteMetadata],
    branch: str = "",
) -> list[tuple[NoteMetadata, float]]:
    """Notes with their rank, 0 to 1, best first; `branch` is the one that counts as current."""
    moment, rank = epoch_seconds(caller.now), importance.rank
    # A rank does not ask when a note was made.
    scored = [
        (-rank(held, moment), -min(one.date, moment), one.path, one)
        for one, held in _iter_signals(vault, now, standings, branch, _date_of)
    ]
    scored.sort()
    return [(one, -negative) for negative, _, _, one in scored]


def _iter_signals(
    vault: Vault,
    now: IndexSession,
    standings: Iterable[NoteMetadata],
    branch: str,
    created: Callable[[NoteMetadata], int],
) -> Iterator[tuple[NoteMetadata, Signals]]:
    used, incoming = access_log.read_counts(vault), in_degree(now.catalogue)
    most_incoming = max(incoming.values(), default=0)
    most_uses = max((one.count for one in used.values()), default=0)
    for one in standings:
        use = used.get(one.id)
        yield (
            one,
            Signals(
                one.type, created(one), one.date, use.last_seconds if use else None, use.count if use else 0, incoming.get(one.number, 0),
                one.confidence, one.priority, one.pinned, one.branch == branch != "", most_incoming, most_uses,
            ),
        )  # fmt: skip


def created_timestamp(one: NoteMetadata) -> int:
    """When a note was made, in seconds since the epoch; when it does not say, its last change."""
    return timestamp_of(one.created) or one.date


def timestamp_of(text: str) -> int:
    """A time as Cortex writes it, or the day with which another form begins, in seconds since the epoch; 0 when it is none."""
    if len(text) == 20 and text.endswith("Z"):
        return epoch_seconds(text)
    return epoch_seconds(f"{text[:10]}T00:00:00Z") if text[4:8:3] == "--" else 0
