"""When agents are due: one run for each period, day and facet, whatever the clock does."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.problem import InvalidInputError
from cortex.core.runs.schedule import (
    MAX_TRIES,
    DueRun,
    FacetState,
    Meeting,
    PastRun,
    ScheduledAgent,
    Segment,
    SkippedRun,
    due,
    parse_schedule,
    plan_bands,
    segments,
)

BERLIN = ZoneInfo("Europe/Berlin")
# Each with the local days on which its clocks change: forward, back.
ZONES = {
    "Europe/Berlin": ("2026-03-29", "2026-10-25"),
    "America/New_York": ("2026-03-08", "2026-11-01"),
    "Australia/Lord_Howe": ("2026-10-04", "2026-04-05"),  # by half an hour
    "Africa/Cairo": ("2026-04-24", "2026-10-30"),  # from midnight to one o'clock
}
CHANGES = [(zone, day) for zone, days in ZONES.items() for day in days]
WORK = FacetState("work", active_days=frozenset({"20261120"}))
HOME = FacetState("home")


def at(text, tz=BERLIN):
    return int(datetime.fromisoformat(text).replace(tzinfo=tz).timestamp())


def agent(schedule="daily", name="review", priority=40, **asked):
    return ScheduledAgent(name, parse_schedule(schedule), priority, **asked)


def ran(period, status="finished", facet="", name="review"):
    return PastRun(name, facet, period, status)


def gap(period):
    return SkippedRun("review", "", period, "failed three times")


def ask(one, now, past=(), facets=(), stretches=(), meetings=(), tz=BERLIN):
    return due([one], past, facets, stretches, meetings, at(now, tz), tz)


def periods(found):
    return [one.period for one in found if isinstance(one, DueRun)]


def facets_of(found):
    return [one.facet for one in found if isinstance(one, DueRun)]


# Segments


def test_a_gap_of_five_minutes_ends_a_segment() -> None:
    start = at("2026-11-20T10:15:00")
    assert segments([start + 1199, start, start + 300, start + 599, start + 899], BERLIN) == [
        Segment("20261120", "101500_0", start, start),
        Segment("20261120", "102000_299", start + 300, start + 599),
        Segment("20261120", "102959_0", start + 899, start + 899),
        Segment("20261120", "103459_0", start + 1199, start + 1199),
    ]


def test_a_segment_belongs_to_the_local_day_of_its_first_event() -> None:
    start = at("2026-11-20T23:58:00")
    [one] = segments([start, start + 240], BERLIN)
    assert one.key == "20261120/235800_240"
    assert segments([start, start + 240], UTC)[0].key == "20261120/225800_240"
    assert segments([], BERLIN) == []


@given(st.lists(st.integers(1_700_000_000, 1_700_020_000)))
def test_segments_hold_every_event_once_and_no_gap(times) -> None:
    found = segments(times, BERLIN)
    for before, after in pairwise(found):
        assert after.start - before.end >= 300
    held = [[time for time in sorted(times) if one.start <= time <= one.end] for one in found]
    assert sorted(times) == [time for one in held for time in one]
    for one, inside in zip(found, held, strict=True):
        assert (one.start, one.end) == (inside[0], inside[-1])
        assert all(b - a < 300 for a, b in pairwise(inside))


# Schedules


@pytest.mark.parametrize(
    ("text", "kind", "cron", "lead"),
    [
        (" daily ", "daily", "", 0),
        ("cron: 30  2 * * *", "cron", "30 2 * * *", 0),
        ("cron:0 9 * * MON-FRI", "cron", "0 9 * * MON-FRI", 0),
        ("1m before meeting", "meeting", "", 60),
        ("2 h before meeting", "meeting", "", 7200),
        ("7d before  meeting", "meeting", "", 604_800),
    ],
)
def test_schedules(text, kind, cron, lead) -> None:
    assert parse_schedule(text) == (kind, cron, lead)


@pytest.mark.parametrize(
    "text",
    [
        "", "Daily", "monthly", "30 2 * * *", "@daily", "cron:", "cron: @daily", "cron: 61 2 * * *",
        "cron: 0 30 2 * * *", "cron: 0 0 30 2 *", "cron: 0 0 31 2,4 1#6", "cron: x * * * *",
        "0m before meeting", "8d before meeting", "169h before meeting", "-5m before meeting",
        "30m before lunch", "30m after meeting", "½h before meeting", "9999999m before meeting",
        "cron: " + "1" * 9_000 + " * * * *", "cron: *" + "/1" * 4_000 + " * * * *",
    ],
)  # fmt: skip
def test_everything_else_is_no_schedule(text) -> None:
    with pytest.raises(InvalidInputError) as raised:
        parse_schedule(text)
    assert raised.value.hint


@given(st.text("0123456789*/,-#LW MON", max_size=30))
def test_a_cron_is_read_or_refused(fields) -> None:
    try:
        schedule = parse_schedule(f"cron: {fields}")
    except InvalidInputError:
        return
    one = ScheduledAgent("review", schedule, 1)
    assert len(periods(ask(one, "2026-11-20T12:00:00"))) <= 1


# Periods


def test_a_day_is_due_from_midnight_on() -> None:
    yesterday = ask(agent(), "2026-11-20T23:59:59")
    assert yesterday == [DueRun("review", "", "2026-11-19", 40, "20261119", "")]
    assert periods(ask(agent(), "2026-11-21T00:00:00", [ran("2026-11-19")])) == ["2026-11-20"]


def test_a_week_is_due_from_monday_on_and_named_as_iso_does() -> None:
    [sunday] = ask(agent("weekly"), "2026-11-22T23:59:59")
    [monday] = ask(agent("weekly"), "2026-11-23T00:00:00")
    assert (sunday.period, monday.period) == ("2026-W46", "2026-W47")
    assert monday.day == "20261122"
    assert periods(ask(agent("weekly"), "2027-01-04T08:00:00")) == ["2026-W53"]
    assert periods(ask(agent("weekly"), "2025-01-06T08:00:00")) == ["2025-W01"]


def test_an_hour_is_due_when_it_has_ended_and_named_in_utc() -> None:
    assert periods(ask(agent("hourly"), "2026-11-20T16:59:59")) == ["2026-11-20T14Z"]
    assert periods(ask(agent("hourly"), "2026-11-20T17:00:00")) == ["2026-11-20T15Z"]


def test_a_cron_is_named_by_its_local_minute() -> None:
    nightly = agent("cron: 30 2 * * *")
    assert periods(ask(nightly, "2026-11-20T02:29:59")) == ["2026-11-19T02:30"]
    assert periods(ask(nightly, "2026-11-20T02:30:00")) == ["2026-11-20T02:30"]


def test_the_latest_time_of_a_cron_is_due_however_long_ago_it_was() -> None:
    assert periods(ask(agent("cron: 0 9 1 * *"), "2026-11-20T12:00:00")) == ["2026-11-01T09:00"]


def test_a_meeting_is_due_from_its_lead_until_its_start_and_each_one_is() -> None:
    meetings = [
        Meeting("m-1", at("2026-11-20T10:00:00")),
        Meeting("m-2", at("2026-11-20T10:15:00")),
    ]
    prepare = agent("30m before meeting", catch_up="none")
    for now, expected in [
        ("09:29:59", []),
        ("09:30:00", ["m-1"]),
        ("09:50:00", ["m-1", "m-2"]),
        ("10:00:00", ["m-2"]),
        ("10:15:00", []),
    ]:
        assert periods(ask(prepare, f"2026-11-20T{now}", meetings=meetings)) == expected
    assert periods(ask(prepare, "2026-11-20T09:50:00", [ran("m-1")], meetings=meetings)) == ["m-2"]


def test_a_segment_is_due_once_five_minutes_have_passed() -> None:
    stretches = segments([at("2026-11-20T10:15:00"), at("2026-11-20T10:17:00")], BERLIN)
    watch = agent("segment")
    assert ask(watch, "2026-11-20T10:21:59", stretches=stretches) == []
    assert ask(watch, "2026-11-20T10:22:00", stretches=stretches) == [
        DueRun("review", "", "20261120/101500_120", 40, "20261120", "101500_120")
    ]


# What was missed


DAYS = ["2026-11-20", "2026-11-19", "2026-11-18", "2026-11-17"]


@pytest.mark.parametrize(
    ("catch_up", "now", "expected"),
    [
        ("one", "2026-11-21T15:00:00", DAYS[:1]),
        ("all", "2026-11-21T15:00:00", DAYS),
        ("none", "2026-11-21T15:00:00", []),
        ("none", "2026-11-21T01:00:00", DAYS[:1]),
        ("none", "2026-11-21T01:00:01", []),
    ],
)
def test_what_was_missed_is_caught_up_with_as_the_agent_says(catch_up, now, expected) -> None:
    assert periods(ask(agent(catch_up=catch_up), now, [ran("2026-11-01")])) == expected


@pytest.mark.parametrize(
    ("schedule", "first", "count"),
    [
        ("weekly", "2026-W20", 4),
        ("hourly", "2026-11-01T00Z", 24),
        ("cron: 0 */6 * * *", "2026-11-01T00:00", 16),
        ("cron: * * * * *", "2026-11-01T00:00", 100),
    ],
)
def test_all_that_is_caught_up_with_lies_in_a_window_and_comes_newest_first(
    schedule, first, count
) -> None:
    found = periods(ask(agent(schedule, catch_up="all"), "2026-11-20T12:00:00", [ran(first)]))
    assert len(found) == count
    assert found == sorted(found, reverse=True)


def test_segments_are_caught_up_with_for_four_days() -> None:
    times = [at(f"2026-11-{day}T10:00:00") for day in range(14, 21)]
    stretches = segments(times, BERLIN)
    watch = agent("segment", catch_up="all")
    assert periods(ask(watch, "2026-11-20T12:00:00", [ran("20261101/0_0")], (), stretches)) == [
        f"202611{day}/100000_0" for day in (20, 19, 18, 17)
    ]


@pytest.mark.parametrize("catch_up", ["none", "one", "all"])
def test_a_new_agent_is_due_for_the_latest_period_and_missed_none_before(catch_up) -> None:
    new, now = agent(catch_up=catch_up), "2026-11-21T15:00:00"
    assert periods(ask(new, now, [ran("")])) == DAYS[:1]
    assert periods(ask(new, now, [ran(DAYS[0])])) == []


def test_an_earlier_period_waits_for_none_when_the_latest_has_run() -> None:
    assert periods(ask(agent(), "2026-11-21T15:00:00", [ran(DAYS[3]), ran(DAYS[0])])) == []


# Tries


@pytest.mark.parametrize("status", ["queued", "active", "finished", "skipped"])
def test_a_run_that_is_there_counts(status) -> None:
    assert ask(agent(), "2026-11-21T15:00:00", [ran(DAYS[0], status)]) == []


def test_three_tries_and_then_a_gap() -> None:
    now, failed = "2026-11-21T15:00:00", ran(DAYS[0], "failed")
    assert periods(ask(agent(), now, [failed] * 2)) == DAYS[:1]
    assert ask(agent(), now, [failed] * 3) == [gap(DAYS[0])]
    assert ask(agent(), now, [*[failed] * 3, ran(DAYS[0])]) == [], "run by hand since"
    assert ask(agent(), now, [failed, ran(DAYS[0], "active")]) == [], "being tried"


def test_a_gap_is_told_while_it_could_be_caught_up_with() -> None:
    past = [*[ran(DAYS[2], "failed")] * 3, ran(DAYS[0])]
    assert ask(agent(), "2026-11-21T15:00:00", past) == [gap(DAYS[2])]
    assert gap(DAYS[2]) not in ask(agent(), "2026-11-24T15:00:00", past)


def test_what_is_named_twice_is_due_once() -> None:
    meeting = Meeting("m-1", at("2026-11-20T10:00:00"))
    both = [agent("1h before meeting")] * 2
    now = at("2026-11-20T09:30:00")
    assert len(due(both, (), (), (), [meeting] * 2, now, BERLIN)) == 1


# Facets


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, [""]),
        ({"facets": "all"}, ["work", "home"]),
        ({"facets": "active"}, ["work"]),
        ({"facets": "active", "always": True}, ["work", "home"]),
        ({"facets": "all", "muted": ("work", "gone")}, ["home"]),
    ],
)
def test_facets_of_a_day(asked, expected) -> None:
    facets = [WORK, HOME, FacetState("old", muted=True, active_days=frozenset({"20261120"}))]
    assert facets_of(ask(agent(**asked), "2026-11-21T15:00:00", facets=facets)) == expected


@pytest.mark.parametrize("facets", ["all", "active", "none"])
def test_a_vault_without_facets_has_one(facets) -> None:
    assert facets_of(ask(agent(facets=facets), "2026-11-21T15:00:00")) == [""]


@pytest.mark.parametrize(
    ("schedule", "now", "is_active"),
    [
        ("daily", "2026-11-21T15:00:00", True),
        ("daily", "2026-11-22T15:00:00", False),
        ("weekly", "2026-11-23T15:00:00", True),
        ("weekly", "2026-11-16T15:00:00", False),
        ("hourly", "2026-11-20T15:00:00", True),
        ("hourly", "2026-11-22T00:59:00", True),
        ("hourly", "2026-11-22T01:00:00", False),
        ("cron: 0 * * * *", "2026-11-21T23:00:00", True),
        ("cron: 0 * * * *", "2026-11-22T00:00:00", False),
    ],
)
def test_a_facet_is_active_in_a_period(schedule, now, is_active) -> None:
    found = ask(agent(schedule, facets="active"), now, facets=[WORK, HOME])
    assert facets_of(found) == ["work"] * is_active
    assert is_active or found[0].reason == "no_active_facets"


@pytest.mark.parametrize("asked", [{"facets": "all"}, {"facets": "active", "always": True}])
def test_in_a_segment_run_the_facets_that_were_found_in_it(asked) -> None:
    stretches = segments([at("2026-11-20T10:15:00")], BERLIN)
    found_in = frozenset({stretches[0].key})
    watch, now = agent("segment", **asked), "2026-11-20T11:00:00"
    muted = FacetState("old", muted=True, active_segments=found_in)
    assert facets_of(ask(watch, now, (), [WORK, HOME._replace(active_segments=found_in), muted], stretches)) == ["home"]  # fmt: skip
    assert ask(watch, now, (), [WORK, HOME, muted], stretches) == [
        SkippedRun("review", "", stretches[0].key, "no_active_facets")
    ]


def test_a_facet_found_after_a_skip_still_runs() -> None:
    past = [ran(DAYS[0], "skipped")]
    one, now = agent(facets="active"), "2026-11-21T15:00:00"
    assert ask(one, now, past, [HOME]) == []
    assert facets_of(ask(one, now, past, [WORK, HOME])) == ["work"]


def test_a_facet_is_active_for_a_meeting_on_its_day_or_the_day_before() -> None:
    prepare, now = agent("2d before meeting", facets="active"), "2026-11-20T15:00:00"
    for day, expected in [("2026-11-21", ["work"]), ("2026-11-22", [])]:
        meetings = [Meeting("m-1", at(f"{day}T10:00:00"))]
        assert facets_of(ask(prepare, now, (), [WORK], (), meetings)) == expected


# Skips


@pytest.mark.parametrize(
    ("asked", "facets", "reason"),
    [
        ({"barred": "disabled"}, [WORK], "disabled"),
        ({}, [HOME], "no_active_facets"),
        ({}, [WORK._replace(muted=True)], "muted"),
        ({"muted": ("work",)}, [WORK], "muted"),
    ],
)
def test_a_skip_is_told_once_for_an_agent_and_a_period(asked, facets, reason) -> None:
    one, now = agent(facets="active", **asked), "2026-11-21T15:00:00"
    assert ask(one, now, (), facets) == [SkippedRun("review", "", DAYS[0], reason)]
    assert ask(one, now, [ran(DAYS[0], "skipped")], facets) == []


def test_an_agent_that_is_barred_is_told_for_its_latest_period_and_only_if_it_is_due() -> None:
    one = agent("hourly", catch_up="all", barred="not_trusted")
    assert len(ask(one, "2026-11-20T12:00:00", [ran("2026-11-01T00Z")])) == 1
    assert ask(agent(barred="not_trusted"), "2026-11-21T15:00:00", [ran(DAYS[0])]) == []


# Clocks


@pytest.mark.parametrize(("zone", "day"), CHANGES)
def test_when_clocks_change_a_day_has_one_run_for_each_agent_and_facet(zone, day) -> None:
    tz, past = ZoneInfo(zone), []
    agents = [agent(facets="all"), agent("cron: 30 2 * * *", "nightly"), agent("hourly", "hours")]
    begin = at(day, tz) - 86400
    for now in range(begin, begin + 4 * 86400, 600):
        for run in due(agents, past, [WORK, HOME], (), (), now, tz):
            past.append(PastRun(run.agent, run.facet, run.period, "finished"))
    runs = Counter(past)
    assert set(runs.values()) == {1}
    for facet in ("work", "home"):
        assert PastRun("review", facet, day, "finished") in runs
    assert len([run for run in runs if run.agent == "review"]) == 2 * len(
        {run.period for run in runs if run.agent == "review"}
    )
    nights = [run.period for run in runs if run.agent == "nightly" and run.period.startswith(day)]
    assert len(nights) == 1
    hours = sorted(run.period for run in runs if run.agent == "hours")
    ended = range(begin // 3600 - 1, now // 3600)
    assert hours == [f"{datetime.fromtimestamp(one * 3600, UTC):%Y-%m-%dT%H}Z" for one in ended]


def test_a_time_that_clocks_skip_is_due_after_it_and_one_that_they_repeat_at_first() -> None:
    nightly = agent("cron: 30 2 * * *")
    utc = lambda text: due([nightly], (), (), (), (), at(text, UTC), BERLIN)[0].period
    assert utc("2026-03-29T00:59:59") == "2026-03-28T02:30"
    assert utc("2026-03-29T01:00:00") == "2026-03-29T03:00"
    assert utc("2026-10-25T00:29:59") == "2026-10-24T02:30"
    for again in ("00:30:00", "01:10:00", "01:30:00", "02:30:00"):
        assert utc(f"2026-10-25T{again}") == "2026-10-25T02:30"


SCHEDULES = ["daily", "weekly", "hourly", "segment", "cron: 30 2 * * *", "cron: */20 * * * *", "1d before meeting"]  # fmt: skip


@st.composite
def clocks(draw):
    """A zone, and moments around one of its changes: mostly forward, at times back."""
    zone, day = draw(st.sampled_from(CHANGES))
    now, moments = at(day, ZoneInfo(zone)), []
    for step in draw(st.lists(st.integers(-2 * 86400, 4 * 86400), min_size=1, max_size=25)):
        now += draw(st.sampled_from([1, 60, 3600, 86400 * 30])) if step % 5 == 0 else step
        moments.append(now)
    return ZoneInfo(zone), moments


@given(
    clocks(),
    st.lists(
        st.tuples(
            st.sampled_from(SCHEDULES),
            st.sampled_from(["none", "one", "all"]),
            st.sampled_from(["all", "active", "none"]),
        ),
        min_size=1,
        max_size=3,
    ),
    st.randoms(use_true_random=False),
)
def test_whatever_the_clock_does_each_run_is_due_once_and_tried_three_times(
    clock, asked, random
) -> None:
    tz, moments = clock
    agents = [
        agent(schedule, f"a{at}", facets=facets, catch_up=catch_up)
        for at, (schedule, catch_up, facets) in enumerate(asked)
    ]
    days = [datetime.fromtimestamp(moments[0], tz) + timedelta(one) for one in range(-9, 9)]
    active = frozenset(f"{day:%Y%m%d}" for day in days if random.random() < 0.5)
    stretches = segments([moments[0] + random.randrange(-3 * 86400, 86400) for _ in range(20)], tz)
    facets = [
        FacetState("work", active_days=active),
        FacetState("home", active_segments=frozenset(one.key for one in stretches[::2])),
    ]
    meetings = [Meeting(f"m{one % 5}", moments[0] + one * 40_000) for one in range(-2, 7)]
    past, failures = set(), Counter()
    for now in moments:
        known = past | {PastRun(*key, "failed") for key in failures}
        found = due(
            agents,
            [*past, *(PastRun(*key, "failed") for key in failures.elements())],
            facets, stretches, meetings, now, tz,
        )  # fmt: skip
        told = Counter((one.agent, one.period) for one in found if isinstance(one, SkippedRun))
        assert all(count == 1 for count in told.values())
        runs = [one for band in plan_bands(found) for one in band]
        assert len({one[:3] for one in runs}) == len(runs)
        for run in runs:
            assert not any(one[:3] == run[:3] and one.status != "failed" for one in known)
            status = random.choice(["queued", "active", "finished", "skipped", "failed"])
            if status == "failed":
                failures[run[:3]] += 1
            else:
                past.add(PastRun(*run[:3], status))
    assert all(tries <= MAX_TRIES for tries in failures.values())
    assert len({run[:3] for run in past}) == len(past)


# Bands


@given(st.lists(st.integers(0, 99)))
def test_a_band_holds_all_of_one_priority_and_lower_numbers_come_first(priorities) -> None:
    runs = [DueRun(f"a{at}", "", "2026-11-20", one, "20261120", "") for at, one in enumerate(priorities)]  # fmt: skip
    bands = plan_bands([*runs, SkippedRun("a", "", "p", "muted")])
    assert [{run.priority for run in band} for band in bands] == [{one} for one in sorted(set(priorities))]  # fmt: skip
    assert sorted(run for band in bands for run in band) == sorted(runs)
