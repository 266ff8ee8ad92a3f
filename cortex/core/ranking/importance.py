"""How much a record matters now, in three numbers: a score that orders lists, a rank that orders
recall, a confidence that fades. Nothing of it is stored; `docs/dev/importance.md` has each formula with
its source and worked examples.

The formulas are those of three systems that came before. What each of them forgot is mended here:
nothing that is merely unscored counts as unimportant, every use counts, and each number fades once,
by the time since the last touch. Which records a pass archives for it, and why, is said below.
"""

from __future__ import annotations

from math import log, log2

from cortex.core.text.value import NamedTuple

DAY_SECONDS = 86_400

# Seed 003 lets architecture, decisions and code not decay, seed 002 decisions and rejections.
NON_DECAYING_TYPES = frozenset(
    {"decision", "rejection", "architecture", "code-description", "code"}
)

# Days after which half of the confidence is left. Pattern, gotcha, context and progress are seed
# 003's; the others are ours, each as the one of these that it is most like. A kind that does not
# stand here does not fade.
HALF_LIFE_DAYS = {
    "pattern": 60.0, "gotcha": 45.0, "context": 30.0, "progress": 7.0,
    "learning": 60.0, "discovery": 60.0, "config": 60.0, "reference": 60.0, "bugfix": 45.0,
    "note": 30.0, "question": 30.0,
}  # fmt: skip

# What the kind adds to the score: seed 001's.
TYPE_WEIGHTS = {
    "decision": 0.5, "bugfix": 0.3, "pattern": 0.2, "discovery": 0.15, "config": 0.1,
    "learning": 0.1,
}  # fmt: skip

# How much stands out at first, by kind: seed 002's events, under our names; those from
# `architecture` on are ours, by likeness. They are also the default confidence.
TYPE_SALIENCE = {
    "decision": 0.9, "rejection": 0.9, "plan": 0.85, "preference": 0.8, "bugfix": 0.75,
    "progress": 0.7, "learning": 0.7, "action": 0.6,
    "architecture": 0.9, "gotcha": 0.75, "discovery": 0.7, "pattern": 0.7, "config": 0.7,
    "reference": 0.7,
}  # fmt: skip
DEFAULT_SALIENCE = 0.5
# What an hour leaves of it: seed 002, and its own later correction for knowledge.
HOURLY_DECAY, HOURLY_DECAY_OF_KNOWLEDGE = 0.995, 0.998
KNOWLEDGE_TYPES = frozenset({"learning", "discovery", "pattern", "gotcha", "config", "reference"})
USE_GAIN = 1.2  # by each use, up to 1: seed 002

DEFAULT_PRIORITY, MAX_PRIORITY = 5, 10  # for what says none; of 1 to 10
RECENCY_DAYS = 14.0  # days after which a rank is halved: seed 003
MAX_USES = 10**9  # more is a fault of the counting

# The rules by which a pass archives records that have lost their importance.
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


class Signals(NamedTuple):
    """What is known of a note. Times are seconds since the epoch; a future one counts as now."""

    type: str
    created: float
    changed: float  # the last change that the note tells of
    used: float | None = None  # the last time that somebody looked at it; None when nobody has
    uses: int = 0
    incoming: int = 0  # notes that point to it
    confidence: float | None = None  # 0 to 1, as somebody said it; None when nobody has
    priority: int | None = None  # 1 to 10, the same
    pinned: bool = False
    same_branch: bool = False
    most_incoming: int = 0  # of any note of the vault
    most_uses: int = 0  # the same


def score_parts(signals: Signals, now: float) -> dict[str, float]:
    """What the score at `now`, in seconds since the epoch, is computed from; also salience, rank and
    effective confidence, each with what it is made of: a person can do the sums again."""
    base, gain, left = _salience_factors(signals, now)
    ranked = zip(_RANK_TERMS, _rank_terms(signals, now), strict=True)
    life = half_life(signals)
    return {
        **_score_terms(signals, now),
        "salience_base": base,
        "salience_gain": gain,
        "salience_left": left,
        "salience": salience(signals, now),
        **{f"rank_{name}": value for name, value in ranked},
        "rank": rank(signals, now),
        **({"half_life": life} if life is not None else {}),
        "days": _days_since_touch(signals, now),
        "confidence": _confidence_or_default(signals),
        "effective_confidence": effective_confidence(signals, now),
    }


def total_score(signals: Signals, now: float) -> float:
    """The score by which lists are ordered, 0 to 5."""
    return _clamp(sum(_score_terms(signals, now).values()), 0.0, 5.0)


def salience(signals: Signals, now: float) -> float:
    """Salience, 0 to 1, by seed 002. Halves in under six days, of knowledge in fourteen."""
    base, gain, left = _salience_factors(signals, now)
    return min(base * gain, 1.0) * left


def rank(signals: Signals, now: float) -> float:
    """Its place among what a session is given, 0 to 1: seed 003."""
    *terms, recency = _rank_terms(signals, now)
    return _clamp(sum(terms) * recency, 0.0, 1.0)


def effective_confidence(signals: Signals, now: float) -> float:
    """Confidence, 0 to 1, less what has faded since the last touch. Seed 003."""
    life, confidence = half_life(signals), _confidence_or_default(signals)
    left = 1.0 if life is None else 0.5 ** (_days_since_touch(signals, now) / life)
    return confidence * left


def half_life(signals: Signals) -> float | None:
    """Days until confidence is halved, longer with uses and centrality; None: it does not fade."""
    days = None if is_non_decaying(signals) else HALF_LIFE_DAYS.get(signals.type or "note")
    if days is None:
        return None
    return days * (1.0 + log2(1.0 + _clamp_count(signals.uses)) * 0.3) * (1.0 + centrality(signals))


def centrality(signals: Signals) -> float:
    """Incoming links, as a share of those of the note with the most."""
    incoming, most = signals.incoming, signals.most_incoming
    return 0.0 if incoming <= 0 else 1.0 if incoming >= most else incoming / most


def is_non_decaying(signals: Signals) -> bool:
    """True if it does not fade: decisions, rejections, architecture, and what is pinned."""
    return signals.pinned or signals.type in NON_DECAYING_TYPES


def last_touched(signals: Signals) -> float:
    """When it was last changed or used."""
    used, changed = signals.used, signals.changed
    return changed if used is None or not used > changed else used


def age_seconds(since: float, now: float) -> float:
    """Seconds from a time to now; none when the time is to come or is no number."""
    passed = now - since
    return passed if passed > 0 else 0.0


def _score_terms(signals: Signals, now: float) -> dict[str, float]:
    """The terms of the importance score by name (seed 001 in docs/dev/importance.md)."""
    uses, incoming = _clamp_count(signals.uses), _clamp_count(signals.incoming)
    recent = uses > 0 and signals.used is not None and age_seconds(signals.used, now) <= DAY_SECONDS
    decay = 0.0 if is_non_decaying(signals) else min(0.01 * _days_since_touch(signals, now), 0.5)
    return {
        "base": 0.5,
        "access": min(0.1 * uses, 1.0),
        "recent": 0.5 if recent else 0.0,
        "incoming": min(0.2 * incoming, 1.0),
        "type": TYPE_WEIGHTS.get(signals.type, 0.0),
        "age": 0.0 - decay,
    }


def _salience_factors(signals: Signals, now: float) -> tuple[float, float, float]:
    """Initial salience, the gain by uses, and the share left after the hours since last touch."""
    gain = USE_GAIN ** min(_clamp_count(signals.uses), 50)  # 1.2 to the 50 raises anything above 1
    rate = HOURLY_DECAY_OF_KNOWLEDGE if signals.type in KNOWLEDGE_TYPES else HOURLY_DECAY
    hours = 0.0 if is_non_decaying(signals) else _days_since_touch(signals, now) * 24
    return TYPE_SALIENCE.get(signals.type, DEFAULT_SALIENCE), gain, rate**hours


_RANK_TERMS = ("confidence", "priority", "centrality", "access", "branch", "recency")


def _rank_terms(signals: Signals, now: float) -> tuple[float, float, float, float, float, float]:
    """Seed 003: five addends and the recency factor. Hot: called for 10,000 notes at a time."""
    uses, priority = signals.uses, signals.priority
    age = age_seconds(last_touched(signals), now)
    return (
        0.5 * _confidence_or_default(signals),
        0.2 * DEFAULT_PRIORITY / 10 if priority is None else 0.02 * _clamp(priority, 1, 10),
        0.15 * centrality(signals) if signals.incoming else 0.0,
        0.15 * _use_share(uses, signals.most_uses) if uses else 0.0,
        0.1 if signals.same_branch else 0.0,
        1.0 if signals.pinned else 1.0 / (1.0 + age / (RECENCY_DAYS * DAY_SECONDS)),
    )


def _use_share(uses: int, most: int) -> float:
    uses = _clamp_count(uses)
    return log(uses + 1) / log(max(uses, _clamp_count(most), 1) + 1)


def _confidence_or_default(signals: Signals) -> float:
    """What somebody said, else what is usual for its kind."""
    said = signals.confidence
    if said is None or said != said:  # noqa: PLR0124  no number
        return TYPE_SALIENCE.get(signals.type, DEFAULT_SALIENCE)
    return _clamp(said, 0.0, 1.0)


def _days_since_touch(signals: Signals, now: float) -> float:
    return age_seconds(last_touched(signals), now) / DAY_SECONDS


def _clamp_count(number: int) -> int:
    return min(max(number, 0), MAX_USES)


def _clamp(value: float, low: float, high: float) -> float:
    return low if value < low else min(value, high)


def judge_archiving(signals: Signals, now: float, status: str = "active") -> ArchiveVerdict:
    """What a pass does with a record at `now`, in seconds since the epoch. Nothing here follows from a
    default: a record about which nobody has said a confidence or a priority stays as it is, however
    old; what is merely unscored is not unimportant."""
    if reason := _keep_reason(signals, now, status):
        return ArchiveVerdict(False, reason)
    untouched = age_seconds(last_touched(signals), now) / DAY_SECONDS
    left = effective_confidence(signals, now)
    since = f"untouched for {untouched // 1:.0f} days"
    if signals.confidence is not None and left < FADED_CONFIDENCE and untouched >= UNTOUCHED_DAYS:
        reason = f"confidence {signals.confidence:.2f} has faded to {left:.2f}, {since}"
        return ArchiveVerdict(True, reason)
    old = age_seconds(signals.created, now) / DAY_SECONDS
    score = total_score(signals, now)
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
    return age_seconds(signals.used, now) < UNTOUCHED_DAYS * DAY_SECONDS


def max_archived(active: int, number: int) -> int:
    """How many of `active` records a pass may archive: in a small vault a quarter, rounded up."""
    return number if active >= SMALL_VAULT_RECORDS else min(number, (active + 3) // 4)


def _keep_reason(signals: Signals, now: float, status: str) -> str:
    """Why a record is never archived by itself; empty when it may be."""
    kind = signals.type or "note"
    one = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    is_young = age_seconds(signals.created, now) < YOUNG_DAYS * DAY_SECONDS
    reasons = (
        (signals.pinned, "pinned"),
        (is_non_decaying(signals), f"{one} does not decay"),
        (kind in NEVER_ARCHIVED_TYPES, f"{one} is never archived by itself"),
        (status not in ("", "active"), f"its status is {status}"),
        (centrality(signals) > CENTRAL_SHARE, _CENTRAL),
        (is_young, f"younger than {YOUNG_DAYS} days"),
        (is_recently_used(signals, now), f"used within {UNTOUCHED_DAYS} days"),
    )
    return next((reason for holds, reason in reasons if holds), "")


def _is_minor(signals: Signals) -> bool:
    """Whether somebody has said that it matters little: the score alone never archives."""
    return (signals.priority is not None and signals.priority < DEFAULT_PRIORITY) or (
        signals.confidence is not None and signals.confidence < DOUBTED_CONFIDENCE
    )
