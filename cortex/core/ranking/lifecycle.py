"""Which records have lost their importance, and why: the rules by which a pass archives.

Nothing here follows from a default. A record about which nobody has said a confidence or a priority stays as it is,
however old: what is merely unscored is not unimportant.
"""

from __future__ import annotations

from typing import NamedTuple

from cortex.core.ranking.importance import (
    DAY,
    DEFAULT_PRIORITY,
    Signals,
    age,
    centrality,
    decayed,
    endures,
    importance,
    touched,
)

FADED = 0.3  # effective confidence below which a record is archived: seed 003
UNTOUCHED = 14  # days without change or use before it is: seed 003
OLD = 90  # days after which a low score is enough: seed 001
LOW = 0.1  # the score that is low: seed 001
DOUBTED = 0.5  # a confidence below this was said as a doubt
CENTRAL = 0.5  # what more of the vault's links point to is kept: seed 003
YOUNG = 3  # days in which nothing is archived: seed 003
_EQUAL = 1e-9  # what sums of decimal fractions are apart when they are the same
SMALL = 40  # records below which a pass takes a quarter of them at the most
PRUNED = 90  # days in the archive before a record may be deleted: seeds 000 and 003

# They have a state of their own (open, done), or are what others come from.
KEPT_TYPES = frozenset({"action", "meeting", "session", "plan", "briefing"})


class Verdict(NamedTuple):
    """Whether a pass archives a record, and in a few words why or why not."""

    archive: bool
    why: str


def verdict(signals: Signals, now: float, status: str = "active") -> Verdict:
    """What a pass does with a record at `now`, in seconds since the epoch."""
    if reason := _kept(signals, now, status):
        return Verdict(False, reason)
    untouched = age(touched(signals), now) / DAY
    left = decayed(signals, now)
    if signals.confidence is not None and left < FADED and untouched >= UNTOUCHED:
        return Verdict(
            True,
            f"confidence {signals.confidence:.2f} has faded to {left:.2f}, untouched for {untouched // 1:.0f} days",
        )
    old, scored = age(signals.created, now) / DAY, importance(signals, now)
    if _minor(signals) and old > OLD and scored < LOW - _EQUAL:
        return Verdict(
            True, f"{old // 1:.0f} days old with a score of {scored:.2f}, and said to be minor"
        )
    if signals.confidence is None and signals.priority is None:
        return Verdict(
            False, "nothing says its confidence or priority, so it is never archived by itself"
        )
    return Verdict(
        False,
        f"effective confidence {left:.2f}, untouched for {untouched // 1:.0f} days, score {scored:.2f}",
    )


def most_archived(active: int, number: int) -> int:
    """How many a pass may archive of so many active records: of a small vault a quarter, rounded up."""
    return number if active >= SMALL else min(number, (active + 3) // 4)


def _kept(signals: Signals, now: float, status: str) -> str:
    """Why a record is never archived by itself; empty when it may be."""
    kind = signals.type or "note"
    reasons = (
        (signals.pinned, "pinned"),
        (endures(signals), f"{_article(kind)} {kind} does not decay"),
        (kind in KEPT_TYPES, f"{_article(kind)} {kind} is never archived by itself"),
        (status not in ("", "active"), f"its status is {status}"),
        (centrality(signals) > CENTRAL, "central: it is among the notes that most others point to"),
        (age(signals.created, now) < YOUNG * DAY, f"younger than {YOUNG} days"),
    )
    return next((reason for holds, reason in reasons if holds), "")


def _minor(signals: Signals) -> bool:
    """Whether somebody has said that it matters little: the score alone never archives."""
    return (signals.priority is not None and signals.priority < DEFAULT_PRIORITY) or (
        signals.confidence is not None and signals.confidence < DOUBTED
    )


def _article(word: str) -> str:
    return "an" if word[:1] in "aeiou" else "a"
