"""The documented formulas are the ones that run, and they keep the laws that the documents promise."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.record import RECORD_TYPES
from cortex.core.ranking import importance
from cortex.core.ranking.importance import (
    DAY_SECONDS,
    HALF_LIFE_DAYS,
    NON_DECAYING_TYPES,
    TYPE_SALIENCE,
    TYPE_WEIGHTS,
    Signals,
)

DOCS = (Path(__file__).parents[2] / "docs/dev/importance.md").read_text()
NOW = 1_800_000_000


def days_ago(days: float) -> float:
    return NOW - days * DAY_SECONDS


def example(block: str) -> tuple[Signals, dict[str, str]]:
    given_ = dict(line.split(": ") for line in block.splitlines() if ": " in line)
    wanted = dict(line.split(" = ") for line in block.splitlines() if " = " in line)
    assert len(given_) + len(wanted) == len(block.splitlines())
    numbers = {
        key: float(value) if "." in value else int(value)
        for key, value in given_.items()
        if value[0].isdigit()
    }
    changed = days_ago(numbers.pop("changed"))
    used = days_ago(numbers.pop("used")) if "used" in numbers else None
    flags = {key: value == "true" for key, value in given_.items() if value in ("true", "false")}
    return Signals(
        type=given_["type"], created=changed, changed=changed, used=used, **numbers, **flags
    ), wanted


@pytest.mark.parametrize(
    "block", re.findall(r"^```example\n(.*?)\n```", DOCS, re.MULTILINE | re.DOTALL)
)
def test_every_example_of_the_documents_is_what_comes_out(block: str) -> None:
    signals, wanted = example(block)
    score = importance.total_score(signals, NOW)
    numbers = importance.score_parts(signals, NOW) | {"score": score}
    assert {key: f"{numbers[key]:.3f}" for key in wanted} == wanted


def test_the_sums_in_the_prose_are_right() -> None:
    sums = re.findall(r": ([^:\n]*\d[^:\n]*)\.\n\n```example\n(.*?)\n```", DOCS, re.DOTALL)
    checked = 0
    for written, block in sums:
        text = written.partition(", and")[0].replace("−", "-").replace("·", "*")
        text = re.sub(
            r"[⁰¹²³⁴-⁹]+",
            lambda found: "**" + found[0].translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")),
            text,
        )
        if not re.fullmatch(r"[\d.+*/() -]+", text):
            continue
        checked += 1
        results = {
            float(number)
            for number in re.findall(
                r"^(?:score|salience|rank|effective_confidence) = (\S+)", block, re.MULTILINE
            )
        }
        assert any(math.isclose(eval(text), result, abs_tol=6e-4) for result in results), written
    assert checked == 6


def test_the_table_of_kinds_is_the_one_that_is_used() -> None:
    table = DOCS.partition("## The kinds")[2].partition("## ")[0]
    rows = [
        [cell.strip(" *") for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if line.startswith("| ")
    ][2:]
    assert {row[0]: float(row[1]) for row in rows if row[1]} == TYPE_WEIGHTS
    assert {row[0]: float(row[2]) for row in rows if row[2]} == TYPE_SALIENCE
    assert {row[0]: float(row[3]) for row in rows if row[3] not in ("", "none")} == HALF_LIFE_DAYS
    assert {row[0] for row in rows if row[3] == "none"} == NON_DECAYING_TYPES - {
        "code",
        "code-description",
    }
    for number in (
        importance.FADED_CONFIDENCE,
        importance.UNTOUCHED_DAYS,
        importance.OLD_DAYS,
        importance.LOW_SCORE,
        importance.PRUNE_AFTER_DAYS,
        importance.SMALL_VAULT_RECORDS,
    ):
        assert re.search(rf"\b{re.escape(str(number))}\b", DOCS.partition("## The lifecycle")[2])


# Numbers as a damaged file or a clock that was wrong may bring them.
times = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63),
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(0, 4000).map(lambda days: days_ago(days)),
)
moments = times.map(lambda when: 0 if when is None else when)
wild = st.builds(
    Signals,
    type=st.sampled_from([*RECORD_TYPES, "session", "", "our-own-kind", "code"]),
    created=moments,
    changed=moments,
    used=times,
    uses=st.one_of(st.integers(0, 50), st.integers(-(10**30), 10**30)),
    incoming=st.one_of(st.integers(0, 20), st.integers(-(10**30), 10**30)),
    confidence=st.one_of(st.none(), st.floats(0, 1), st.floats()),
    priority=st.one_of(st.none(), st.integers(-100, 100)),
    pinned=st.booleans(),
    same_branch=st.booleans(),
    most_incoming=st.integers(-5, 10**12),
    most_uses=st.integers(-5, 10**12),
)
NUMBERS = (
    (importance.total_score, 5),
    (importance.salience, 1),
    (importance.rank, 1),
    (importance.effective_confidence, 1),
)


@given(wild)
def test_every_number_stays_in_its_range_whatever_comes(signals: Signals) -> None:
    for number, most in NUMBERS:
        assert 0 <= number(signals, NOW) <= most, number.__name__
    parts = importance.score_parts(signals, NOW)
    assert all(math.isfinite(value) or name == "days" for name, value in parts.items())
    assert importance.judge_archiving(signals, NOW).reason


@given(wild, st.integers(1, 10**6), moments)
def test_more_use_never_lowers_a_number(signals: Signals, more: int, when: float) -> None:
    used = [time for time in (signals.used, when) if time is not None and not math.isnan(time)]
    again = signals._replace(uses=max(signals.uses, 0) + more, used=max(used, default=signals.used))
    for number, _ in NUMBERS:
        assert number(again, NOW) >= number(signals, NOW) - 1e-12, number.__name__


@given(wild, st.integers(0, 10**9))
def test_more_age_never_raises_a_number(signals: Signals, later: int) -> None:
    for number, _ in NUMBERS:
        assert number(signals, NOW + later) <= number(signals, NOW) + 1e-12, number.__name__


@given(wild, st.integers(0, 10**9))
def test_what_does_not_decay_does_not_decay(signals: Signals, later: int) -> None:
    for kept in (
        signals._replace(pinned=True),
        signals._replace(type="decision"),
        signals._replace(type="rejection"),
    ):
        kept = kept._replace(used=None)
        for number in (
            importance.total_score,
            importance.salience,
            importance.effective_confidence,
        ):
            assert number(kept, NOW + later) == number(kept, NOW)
        assert not importance.judge_archiving(kept, NOW + later).should_archive


@given(wild, st.integers(0, 10**9))
def test_a_default_archives_nothing(signals: Signals, later: int) -> None:
    unsaid = signals._replace(confidence=None, priority=None)
    assert not importance.judge_archiving(unsaid, NOW + later).should_archive


@pytest.mark.parametrize(("hours", "recent"), [(0, 0.5), (24, 0.5), (25, 0.0)])
def test_a_use_is_recent_for_a_day(hours: int, recent: float) -> None:
    used = Signals("gotcha", days_ago(9), days_ago(9), NOW - hours * 3600, 1)
    assert importance.score_parts(used, NOW)["recent"] == recent


def test_a_time_in_the_future_counts_as_now() -> None:
    now, later = (
        Signals("gotcha", NOW, NOW, NOW, 3),
        Signals("gotcha", NOW + 9 * DAY_SECONDS, NOW + 99 * DAY_SECONDS, NOW + 5 * DAY_SECONDS, 3),
    )
    assert importance.score_parts(later, NOW) == importance.score_parts(now, NOW)


@pytest.mark.parametrize(("changed", "archived"), [
    ({}, True),
    ({"confidence": 0.29, "changed": days_ago(14)}, True),
    ({"confidence": 0.29, "changed": days_ago(13.9)}, False),
    ({"confidence": 0.29, "used": days_ago(13), "uses": 1}, False),
    ({"confidence": 0.9, "changed": days_ago(60)}, False),
    ({"confidence": None}, False),
    ({"confidence": None, "priority": 4}, True),
    ({"confidence": None, "priority": 4, "type": "pattern"}, False),
    ({"confidence": None, "priority": 4, "type": "note"}, True),
    ({"confidence": None, "priority": 4, "type": "our-own-kind"}, True),
    ({"confidence": None, "priority": 5, "type": "note"}, False),
    ({"confidence": None, "priority": 4, "type": "note", "created": days_ago(90)}, False),
    ({"confidence": None, "priority": 4, "type": "note", "uses": 1, "used": days_ago(300)}, False),
    ({"confidence": None, "priority": 4, "type": "note", "incoming": 1, "most_incoming": 9}, False),
    ({"pinned": True}, False),
    ({"type": "decision"}, False),
    ({"type": "rejection"}, False),
    ({"type": "architecture"}, False),
    ({"type": "action"}, False),
    ({"type": "meeting"}, False),
    ({"type": "session"}, False),
    ({"type": "plan"}, False),
    ({"incoming": 3, "most_incoming": 5}, False),
    ({"incoming": 1, "most_incoming": 5}, True),
    ({"created": days_ago(2)}, False),
])  # fmt: skip
def test_what_a_pass_archives(changed: dict, archived: bool) -> None:
    faded = Signals("gotcha", days_ago(400), days_ago(400), confidence=0.6)
    assert importance.judge_archiving(faded._replace(**changed), NOW).should_archive is archived


@pytest.mark.parametrize("status", ["open", "done", "superseded", "archived", "deleted", "on hold"])
def test_another_status_than_active_is_left_alone(status: str) -> None:
    faded = Signals("gotcha", days_ago(400), days_ago(400), confidence=0.1)
    assert not importance.judge_archiving(faded, NOW, status).should_archive


@pytest.mark.parametrize(
    ("active", "most"), [(0, 0), (1, 1), (4, 1), (5, 2), (39, 10), (40, 500), (10_000, 500)]
)
def test_a_small_vault_gives_up_a_quarter(active: int, most: int) -> None:
    assert importance.max_archived(active, 500) == most
