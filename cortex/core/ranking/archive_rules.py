"""Which records have lost their importance, and why: the rules by which a pass archives.

Nothing here follows from a default. A record about which nobody has said a confidence or a priority
stays as it is, however old: what is merely unscored is not unimportant.
"""

from __future__ import annotations

from cortex.core.ranking import importance
from cortex.core.ranking.importance import DAY_SECONDS, Signals
from cortex.core.text.value import NamedTuple

FADED_CONFIDENCE = 0.3  # effective confidence below which a record is archived: seed 003
UNTOUCHED_DAYS = 14  # days without change or use before it is: seed 003
OLD_DAYS = 90  # days after which a low score is enough: seed 001
LOW_SCORE = 0.1  # the score that is low: seed 001
DOUBTED_CONFIDENCE = 0.5  # a confidence below this was said as a doubt
CENTRAL_SHARE = 0.5  # what more of the vault's links point to is kept: seed 003
YOUNG_DAYS = 3  # days in which nothing is archived: seed 003
_TOLERANCE = 1e-9  # what sums of decimal fractions are apart when they are the same
SMALL_VAULT_RECORDS = 40  # records below which a pass takes a quarter of them at the most
PRUNE_AFTER_DAYS = 90  # days in the archive before a record may be pruned: seeds 000 and 003

_CENTRAL = "central: it is among the notes that most others point to"
# They have a state of their own (open, done), or are what others come from.
NEVER_ARCHIVED_TYPES = frozenset({"action", "meeting", "session", "plan", "briefing"})


class ArchiveVerdict(NamedTuple):
    """Whether a pass archives a record, and in a few words why or why not."""

    should_archive: bool
    reason: str


def judge(signals: Signals, now: float, status: str = "active") -> ArchiveVerdict:
    """What a pass does with a record at `now`, in seconds since the epoch."""
    if reason := _keep_reason(signals, now, status):
        return ArchiveVerdict(False, reason)
    untouched = importance.age_seconds(importance.last_touched(signals), now) / DAY_SECONDS
    left = importance.effective_confidence(signals, now)
    since = f"untouched for {untouched // 1:.0f} days"
    if signals.confidence is not None and left < FADED_CONFIDENCE and untouched >= UNTOUCHED_DAYS:
        reason = f"confidence {signals.confidence:.2f} has faded to {left:.2f}, {since}"
        return ArchiveVerdict(True, reason)
    old = importance.age_seconds(signals.created, now) / DAY_SECONDS
    score = importance.total_score(signals, now)
    if _is_minor(signals) and old > OLD_DAYS and score < LOW_SCORE - _TOLERANCE:
        reason = f"{old // 1:.0f} days old with a score of {score:.2f}, and said to be minor"
        return ArchiveVerdict(True, reason)
    if signals.confidence is None and signals.priority is None:
        reason = "nothing says its confidence or priority, so it is never archived by itself"
    else:
        reason = f"effective confidence {left:.2f}, {since}, score {score:.2f}"
    return ArchiveVerdict(False, reason)


def is_recently_used(signals: Signals, now: float) -> bool:
    """Whether somebody has looked at it in the last two weeks."""
    if signals.used is None:
        return False
    return importance.age_seconds(signals.used, now) < UNTOUCHED_DAYS * DAY_SECONDS


def max_archived(active: int, number: int) -> int:
    """How many of `active` records a pass may archive: in a small vault a quarter, rounded up."""
    return number if active >= SMALL_VAULT_RECORDS else min(number, (active + 3) // 4)


def _keep_reason(signals: Signals, now: float, status: str) -> str:
    """Why a record is never archived by itself; empty when it may be."""
    kind = signals.type or "note"
    one = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    is_young = importance.age_seconds(signals.created, now) < YOUNG_DAYS * DAY_SECONDS
    reasons = (
        (signals.pinned, "pinned"),
        (importance.is_non_decaying(signals), f"{one} does not decay"),
        (kind in NEVER_ARCHIVED_TYPES, f"{one} is never archived by itself"),
        (status not in ("", "active"), f"its status is {status}"),
        (importance.centrality(signals) > CENTRAL_SHARE, _CENTRAL),
        (is_young, f"younger than {YOUNG_DAYS} days"),
        (is_recently_used(signals, now), f"used within {UNTOUCHED_DAYS} days"),
    )
    return next((reason for holds, reason in reasons if holds), "")


def _is_minor(signals: Signals) -> bool:
    """Whether somebody has said that it matters little: the score alone never archives."""
    return (signals.priority is not None and signals.priority < importance.DEFAULT_PRIORITY) or (
        signals.confidence is not None and signals.confidence < DOUBTED_CONFIDENCE
    )
