"""When agents run: schedules, the periods they name, and the runs that are due. What has run is read
from the runs themselves, so there is no state to lose, and no clock that goes back runs one twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal, TypeAlias

from cortex.core.model.problem import InvalidInputError
from cortex.core.runs.run_note import FAILED
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

SCHEDULES = 'daily, weekly, hourly, segment, "cron: 30 2 * * *", "30m before meeting"'
MAX_TRIES = 3  # of a run that fails
RETRY_SECONDS = (0, 600, 3600)  # before each of them: what failed may be back by then
SEGMENT_GAP = 300  # seconds without an event that end a segment

_HOUR, _DAY, _WEEK = 3600, 86400, 7 * 86400  # seconds
_WINDOW = 4 * _DAY  # how far back missed periods are caught up with; weeks: four, hours: 24
_MOST = 100  # characters of a cron, and times of it within the window
_BEFORE_MEETING_RE = lazy_re(r"([0-9]{1,6}) ?([mhd]) before meeting")
_TIME_RE = lazy_re(r"\d{4}-(?:W\d\d|\d\d-\d\d(?:T[\d:]+Z?)?)|\d{8}(?:/\d{6}_\d+)?")
_SECONDS_PER_UNIT = {"m": 60, "h": _HOUR, "d": _DAY}
Kind: TypeAlias = Literal["daily", "weekly", "hourly", "segment", "cron", "meeting"]
_PLAIN_KINDS: tuple[Kind, ...] = ("daily", "weekly", "hourly", "segment")
SkipReason: TypeAlias = Literal[
    "not_trusted", "disabled", "no_active_facets", "muted", "no_provider", "failed three times"
]


class Schedule(NamedTuple):
    kind: Kind
    cron: str = ""  # its five fields
    lead: int = 0  # seconds before a meeting


class ScheduledAgent(NamedTuple):
    name: str
    schedule: Schedule
    priority: int
    facets: str = "none"  # all, active or none
    always: bool = False  # as if every facet were active; not in a segment
    muted: tuple[str, ...] = ()  # facets that it does not run for
    catch_up: str = "one"  # none, one or all
    barred: SkipReason | None = None  # why it does not run at all


class PastRun(NamedTuple):
    agent: str
    facet: str
    period: str
    status: str  # a failed one is tried again; every other one counts
    at: int = 0  # seconds since the epoch


class FacetState(NamedTuple):
    name: str
    muted: bool = False
    active_days: frozenset[str] = frozenset()  # YYYYMMDD, local, of events that carry it
    active_segments: frozenset[str] = frozenset()  # keys of those in which a generator found it


class Segment(NamedTuple):
    """A stretch of events, each less than five minutes after the one before it."""

    day: str  # YYYYMMDD, local, of its first event
    name: str  # HHMMSS_seconds: local time of its first event, and how long until its last
    start: int  # seconds since the epoch
    end: int  # of its last event

    @property
    def key(self) -> str:
        """The period of a run on it: `20261120/101500_1260`."""
        return f"{self.day}/{self.name}"


class Meeting(NamedTuple):
    id: str  # its own for each one of a series
    start: int  # seconds since the epoch


class Period(NamedTuple):
    """What a run is about. Keys of one schedule are in the order of time."""

    key: str
    at: int  # seconds since the epoch; due from then on
    days: tuple[str, ...]  # YYYYMMDD, latest first; a facet active on one is active in the period
    segment: str = ""  # HHMMSS_seconds


class DueRun(NamedTuple):
    agent: str
    facet: str  # empty: of none
    period: str
    priority: int
    day: str  # YYYYMMDD, local; the last one of a week
    segment: str


class SkippedRun(NamedTuple):
    """A run that is not started, and why; a gap is one that failed as often as it is tried."""

    agent: str
    facet: str
    period: str
    reason: SkipReason


Found: TypeAlias = list[DueRun | SkippedRun]


def segments(times: Iterable[int], tz: tzinfo) -> list[Segment]:
    """The segments of events at `times` (seconds since the epoch, in any order), oldest first."""
    spans: list[tuple[int, int]] = []
    for time in sorted(times):
        if spans and time - spans[-1][1] < SEGMENT_GAP:
            spans[-1] = spans[-1][0], time
        else:
            spans.append((time, time))
    found = []
    for start, end in spans:
        local = datetime.fromtimestamp(start, tz)
        found.append(Segment(f"{local:%Y%m%d}", f"{local:%H%M%S}_{end - start}", start, end))
    return found


def parse_schedule(text: str) -> Schedule:
    """The schedule that a note names. Raises `InvalidInputError` where it names none."""
    words = " ".join(text.split())
    for kind in _PLAIN_KINDS:
        if words == kind:
            return Schedule(kind)
    if words.startswith("cron:"):
        return Schedule("cron", cron=_check_cron(words[5:].strip()))
    if before := _BEFORE_MEETING_RE.fullmatch(words):
        lead = int(before[1]) * _SECONDS_PER_UNIT[before[2]]
        if 60 <= lead <= _WEEK:
            return Schedule("meeting", lead=lead)
        raise InvalidInputError(f"{words!r} is out of bounds", "from 1m to 7d before meeting")
    raise InvalidInputError(f"{text!r} is no schedule", f"use one of {SCHEDULES}")


def due(  # noqa: PLR0917  all that a schedule depends on
    agents: Iterable[ScheduledAgent],
    past: Iterable[PastRun],
    facets: Sequence[FacetState],
    segments: Sequence[Segment],
    meetings: Sequence[Meeting],
    now: int,
    tz: tzinfo,
) -> Found:
    """What is to be started at `now` (seconds since the epoch), what is not and why, and what is
    given up. A run is due once for an agent, a facet and a period, and again while it has failed
    less than three times. A skip that stands among `past`, without a facet, is not told again."""
    taken: set[tuple[str, str, str]] = set()
    failures: Counter[tuple[str, str, str]] = Counter()
    firsts: dict[str, str] = {}  # agent -> earliest period
    last_tries: dict[tuple[str, str, str], int] = {}
    for name, facet, period_key, status, at in past:
        if status == FAILED:
            failures[name, facet, period_key] += 1
            last_tries[name, facet, period_key] = max(
                at, last_tries.get((name, facet, period_key), 0)
            )
        else:
            taken.add((name, facet, period_key))
        if period_key and not period_key.isdecimal():  # a day alone: somebody asked for it
            firsts[name] = min(period_key, firsts.get(name, period_key))
    found: Found = []
    for agent in agents:
        known = list(_periods(agent.schedule, segments, meetings, now, tz))
        missed = _missed(agent, known, firsts.get(agent.name, ""), now)
        for period in missed[:1] if agent.barred else missed:
            names, reason = _choose_facets(agent, period, facets)
            runs = [(agent.name, facet, period.key) for facet in names]
            left = [run for run in runs if run not in taken and failures[run] < MAX_TRIES]
            left = [
                run
                for run in left
                if now - last_tries.get(run, now) >= RETRY_SECONDS[failures[run]]
            ]
            if reason := reason or (agent.barred if left else None):
                if (agent.name, "", period.key) not in taken:
                    found.append(SkippedRun(agent.name, "", period.key, reason))
            else:
                taken.update(left)
                more = agent.priority, period.days[0], period.segment
                found += [DueRun(*run, *more) for run in left]
        keys = {period.key for period in known}
        for run, tries in failures.items():
            if run[0] == agent.name and run[2] in keys and tries >= MAX_TRIES and run not in taken:
                found.append(SkippedRun(*run, "failed three times"))
    return found


def is_meeting(period: str) -> bool:
    """Whether a period is a meeting's, and not a time's."""
    return bool(period) and not _TIME_RE.fullmatch(period)


def plan_bands(found: Iterable[DueRun | SkippedRun]) -> list[list[DueRun]]:
    """The runs of what is due by ascending priority, those of equal priority together. Ask again
    what is due when a band has ended: which facets a segment has may be known only then."""
    bands: dict[int, list[DueRun]] = {}
    for one in found:
        if isinstance(one, DueRun):
            bands.setdefault(one.priority, []).append(one)
    return [bands[priority] for priority in sorted(bands)]


def _choose_facets(
    agent: ScheduledAgent, period: Period, facets: Sequence[FacetState]
) -> tuple[list[str], SkipReason | None]:
    """The facets that an agent runs for, the empty one where there are none; or why for none."""
    if agent.facets == "none" or not facets:
        return [""], None
    heard = [facet for facet in facets if not (facet.muted or facet.name in agent.muted)]
    if period.segment:
        active = [facet for facet in heard if period.key in facet.active_segments]
    elif agent.facets == "all" or agent.always:
        active = heard
    else:
        active = [facet for facet in heard if not facet.active_days.isdisjoint(period.days)]
    why: SkipReason = "no_active_facets" if heard else "muted"
    return [facet.name for facet in active], None if active else why


def _missed(agent: ScheduledAgent, known: list[Period], first: str, now: int) -> list[Period]:
    """Of the periods `known`, newest first, those that an agent catches up with. `first` is the
    earliest one that it ran for: it misses none before."""
    if agent.schedule.kind == "meeting":
        return known
    if agent.catch_up == "all" and first:
        return known[:1] + [period for period in known[1:] if period.key >= first]
    if agent.catch_up == "none" and first:
        return [period for period in known[:1] if now - period.at <= _HOUR]
    return known[:1]


def _periods(
    schedule: Schedule,
    segments: Iterable[Segment],
    meetings: Iterable[Meeting],
    now: int,
    tz: tzinfo,
) -> Iterator[Period]:
    """The periods that a schedule may run for, newest first."""
    if schedule.kind in ("daily", "weekly"):
        today = datetime.fromtimestamp(now, tz).date()
        count = 1 if schedule.kind == "daily" else 7
        end = today if count == 1 else today - timedelta(today.weekday())
        for _ in range(4):
            # Where clocks skip midnight, this is the moment of that.
            at = int(datetime(end.year, end.month, end.day, tzinfo=tz).timestamp())
            last = end - timedelta(1)
            key = f"{last:%Y-%m-%d}" if count == 1 else f"{last:%G-W%V}"
            yield Period(key, at, _days(at - 1, count, tz))
            end -= timedelta(count)
    elif schedule.kind == "hourly":
        for at in range(now - now % _HOUR, now - _DAY, -_HOUR):
            key = f"{datetime.fromtimestamp(at - _HOUR, UTC):%Y-%m-%dT%H}Z"
            yield Period(key, at, _days(at - _HOUR, 2, tz))
    elif schedule.kind == "cron":
        yield from _cron_periods(schedule.cron, now, tz)
    elif schedule.kind == "segment":
        for one in sorted(segments, key=lambda one: one.start, reverse=True):
            if now - _WINDOW < (at := one.end + SEGMENT_GAP) <= now:
                yield Period(one.key, at, (one.day,), one.name)
    else:
        for meeting in meetings:
            if (at := meeting.start - schedule.lead) <= now < meeting.start:
                yield Period(meeting.id, at, _days(meeting.start, 2, tz))


def _cron_periods(cron: str, now: int, tz: tzinfo) -> list[Period]:
    """The times of `cron` by local minute, the latest one however long ago it was. One that stands
    twice because clocks are set back is one period."""
    from cronsim import CronSim  # noqa: PLC0415  30 ms, for those who use it

    periods: dict[str, Period] = {}
    # From later on: in the second of two equal hours, a time of the first one may be ahead.
    for time in CronSim(cron, datetime.fromtimestamp(now + 3 * _HOUR, tz), reverse=True):
        at = int(time.timestamp())
        if periods and (at <= now - _WINDOW or len(periods) == _MOST):
            break
        if at <= now:
            key = f"{time:%Y-%m-%dT%H:%M}"
            periods[key] = Period(key, at, _days(at, 2, tz))
    return list(periods.values())


def _check_cron(text: str) -> str:
    from cronsim import CronSim, CronSimError  # noqa: PLC0415  as above

    try:
        if len(text) > _MOST or len(text.split()) != 5:
            raise CronSimError("not five fields")
        next(CronSim(text, datetime(2026, 1, 1, tzinfo=UTC)))
    except (CronSimError, StopIteration) as error:
        message = f"cron {text!r}: {str(error) or 'it never comes'}"
        raise InvalidInputError(message, "minute, hour, day, month, weekday: 30 2 * * *") from error
    return text


def _days(time: int, count: int, tz: tzinfo) -> tuple[str, ...]:
    last = datetime.fromtimestamp(time, tz)
    return tuple(f"{last - timedelta(back):%Y%m%d}" for back in range(count))
