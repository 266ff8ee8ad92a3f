"""Times as text: the same on every Python, though these differ in what they read."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given, strategies as st

from cortex.core.text.strings import format_time, parse_time


@given(st.integers(-62_135_596_800, 253_402_300_799))
def test_a_time_is_read_as_it_is_written(seconds: int) -> None:
    written = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None).isoformat()
    assert format_time(seconds) == f"{written}Z"
    assert parse_time(f"{written}Z") == seconds


@given(st.integers(0, 9999), st.integers(0, 13), st.integers(0, 32), st.integers(0, 23))
def test_a_time_that_no_calendar_has_is_none(year: int, month: int, day: int, hour: int) -> None:
    try:
        wanted = datetime(year, month, day, hour, tzinfo=UTC).timestamp()
    except ValueError:
        wanted = None
    assert parse_time(f"{year:04}-{month:02}-{day:02}T{hour:02}:00:00Z") == wanted


def test_an_hour_24_is_none_and_so_is_what_no_clock_shows() -> None:
    assert parse_time("2026-11-20T24:00:00Z") is None
    assert parse_time("2026-11-20T10:60:00Z") is None
    assert [format_time(odd) for odd in (float("nan"), float("inf"), 1e18, -1e18)] == [""] * 4
