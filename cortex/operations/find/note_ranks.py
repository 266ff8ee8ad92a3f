"""What is known of notes that decides how much they matter: from the catalogue, the links between them, and their use here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter

from cortex.core.model.caller import Caller
from cortex.core.ranking import importance
from cortex.core.ranking.importance import Signals
from cortex.index.catalogue import Standing
from cortex.index.in_degree import in_degree
from cortex.index.refresh import Views
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

# Of more records than these only some are ranked: half of them the last changed, half those from which time takes nothing,
# and those that were used last. About 20 µs a record.
MOST_RANKED, MOST_USED = 1000, 200
_ENDURING = (
    f"(pinned = 1 OR type IN {tuple(sorted(importance.IMMORTAL))})"  # SQL, as `importance.endures`
)
_DATE = attrgetter("date")


def candidates(
    vault: Vault, now: Views, where: str, values: Sequence[object], total: int
) -> Iterator[Standing]:
    """Of the `total` notes for which a condition holds those that may matter most, to be ranked. What is pinned is always among
    them, then the newest of what endures. `where` is never a user's text."""
    if total <= MOST_RANKED:
        return now.catalogue.standings(where, values)
    first = "number IN (SELECT number FROM note WHERE {} ORDER BY {} date DESC, path LIMIT ?)"
    used = sorted(access_log.counts(vault).items(), key=lambda one: (-one[1].last, one[0]))[
        :MOST_USED
    ]
    half = MOST_RANKED // 2
    parts = (
        (first.format(where, ""), half),
        (first.format(f"{where} AND {_ENDURING}", "pinned DESC,"), half),
        (f"({where} AND id IN ({','.join('?' * len(used))}))", *(id_ for id_, _ in used)),
    )
    return now.catalogue.standings(
        f"({' OR '.join(part for part, *_ in parts)})",
        [one for _, *more in parts for one in (*values, *more)],
    )


def signals(
    vault: Vault,
    now: Views,
    where: str = "tier < 2",
    values: Sequence[object] = (),
    *,
    branch: str = "",
) -> dict[int, Signals]:
    """The signals of the notes for which an SQL condition over `Standing` holds, by number. `branch` is the one that counts as
    current. `where` is never a user's text."""
    return signals_of(vault, now, now.catalogue.standings(where, values), branch)


def signals_of(
    vault: Vault, now: Views, standings: Iterable[Standing], branch: str = ""
) -> dict[int, Signals]:
    """As `signals`, of notes that somebody has in hand already."""
    return {one.number: held for one, held in _known(vault, now, standings, branch, created_of)}


def ranked(
    vault: Vault, now: Views, caller: Caller, standings: Iterable[Standing], branch: str = ""
) -> list[tuple[Standing, float]]:
    """Notes with their rank, 0 to 1, best first; `branch` is the one that counts as current."""
    moment, rank = access_log.seconds(caller.now), importance.rank
    # A rank does not ask when a note was made.
    scored = [
        (-rank(held, moment), -min(one.date, moment), one.path, one)
        for one, held in _known(vault, now, standings, branch, _DATE)
    ]
    scored.sort()
    return [(one, -negative) for negative, _, _, one in scored]


def _known(
    vault: Vault,
    now: Views,
    standings: Iterable[Standing],
    branch: str,
    created: Callable[[Standing], int],
) -> Iterator[tuple[Standing, Signals]]:
    used, incoming = access_log.counts(vault), in_degree(now.catalogue)
    most_incoming = max(incoming.values(), default=0)
    most_uses = max((one.count for one in used.values()), default=0)
    for one in standings:
        use = used.get(one.id)
        yield (
            one,
            Signals(
                one.type, created(one), one.date, use.last if use else None, use.count if use else 0, incoming.get(one.number, 0),
                one.confidence, one.priority, one.pinned, one.branch == branch != "", most_incoming, most_uses,
            ),
        )  # fmt: skip


def created_of(one: Standing) -> int:
    """When a note was made, in seconds since the epoch; when it does not say, its last change."""
    return moment_of(one.created) or one.date


def moment_of(text: str) -> int:
    """A time as Cortex writes it, or the day with which another form begins, in seconds since the epoch; 0 when it is none."""
    if len(text) == 20 and text.endswith("Z"):
        return access_log.seconds(text)
    return access_log.seconds(f"{text[:10]}T00:00:00Z") if text[4:8:3] == "--" else 0
