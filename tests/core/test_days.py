"""Which day a moment is, in zones of the whole world; what was written keeps its day."""

from __future__ import annotations

import itertools
from datetime import UTC as utc, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from cortex.core.text.days import UTC, clock, first_moment
from cortex.core.text.strings import format_time
from cortex.vault import zones

# From UTC-12 to UTC+14, with half hours, and summer time at two hours, at midnight and of half an hour.
ZONES = (
    "Etc/GMT+12", "Pacific/Pago_Pago", "Pacific/Honolulu", "Pacific/Marquesas", "America/Anchorage",
    "America/Los_Angeles", "America/Denver", "America/Chicago", "America/New_York", "America/St_Johns",
    "America/Havana", "America/Sao_Paulo", "Atlantic/Azores", "UTC", "Europe/London", "Europe/Berlin",
    "Africa/Cairo", "Asia/Beirut", "Asia/Tehran", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Adelaide",
    "Australia/Lord_Howe", "Pacific/Chatham", "Pacific/Kiritimati",
)  # fmt: skip


@pytest.mark.parametrize("name", ZONES)
def test_a_moment_has_the_day_of_the_zone_and_each_day_begins_once(name):
    zone, known = zones.find(name), ZoneInfo(name)
    begins = []
    for day in (date(2026, 1, 1) + timedelta(n) for n in range(366)):
        midnight = datetime(day.year, day.month, day.day, tzinfo=utc)
        begins.append(first := first_moment(int(midnight.timestamp()), zone))
        shown = [clock(format_time(at), zone) for at in (first - 1, first)]
        assert [one[:10] for one in shown] == [f"{day - timedelta(1)}", f"{day}"]
        assert shown[1] == f"{datetime.fromtimestamp(first, known):%Y-%m-%dT%H:%M:%S}"
    hours = {(after - before) / 3600 for before, after in itertools.pairwise(begins)}
    assert hours <= {23, 23.5, 24, 24.5, 25}


def test_summer_time_that_leaves_out_midnight_and_a_day_that_never_was():
    beirut, samoa = zones.find("Asia/Beirut"), zones.find("Pacific/Apia")
    at = first_moment(int(datetime(2026, 3, 29, tzinfo=utc).timestamp()), beirut)
    assert clock(format_time(at), beirut) == "2026-03-29T01:00:00"
    gone, after = (first_moment(int(datetime(2011, 12, day, tzinfo=utc).timestamp()), samoa) for day in (30, 31))  # fmt: skip
    assert gone == after == int(datetime(2011, 12, 30, 10, tzinfo=utc).timestamp())


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("2026-11-10T20:00:00-05:00", "2026-11-10T20:00:00"),
        ("2026-11-10T20:00-0500", "2026-11-10T20:00"),
        ("2026-11-10 20:00:00.25+13:45", "2026-11-10T20:00:00"),
        ("2026-11-10T20:00:00", "2026-11-10T20:00:00"),
        ("2026-11-10", "2026-11-10"),
        ("next week", "next week"),
        ("2026-99-99T00:00:00Z", "2026-99-99T00:00:00Z"),
        ("twen-ty-siTx :nt:eenZ", "twen-ty-siTx :nt:eenZ"),
        ("", ""),
    ],
)
@pytest.mark.parametrize("name", ["Pacific/Kiritimati", "Etc/GMT+12"])
def test_what_was_written_keeps_its_day_for_every_reader(written, shown, name):
    assert clock(written, zones.find(name)) == shown


def test_a_moment_of_utc_is_shown_without_its_mark():
    assert clock("2026-11-10T20:00:00Z", UTC) == "2026-11-10T20:00:00"
    assert clock("2026-11-10T20:00:00.123Z", zones.find("Asia/Tokyo")) == "2026-11-11T05:00:00"


@pytest.mark.parametrize("folder", ["/usr/share/zoneinfo", "/nowhere"])
def test_a_zone_is_known_by_its_name_alone(folder, monkeypatch):
    monkeypatch.setattr(zones, "_FOLDER", folder)
    for name in (
        "Europe/Atlantis",
        "leapseconds",
        "Europe",
        "../UTC",
        "/etc/passwd",
        "x" * 999,
        "",
    ):
        assert zones.find(name) is None
    berlin = zones.find("Europe/Berlin")
    assert (berlin.name, berlin.offset(1_784_000_000)) == ("Europe/Berlin", 7200)
    assert berlin.offset(10**15) == 0  # no year has it


@pytest.mark.parametrize(
    ("said", "name"),
    [(":America/New_York", "America/New_York"), ("", "UTC"), ("EST5EDT,M3.2.0", "EST5EDT,M3.2.0")],
)
def test_the_readers_zone_is_that_of_the_environment(said, name, monkeypatch):
    monkeypatch.setenv("TZ", said)
    assert zones.local().name == name


def test_else_it_is_that_of_the_machine(monkeypatch):
    monkeypatch.delenv("TZ")
    monkeypatch.setattr("os.readlink", lambda _path: "../usr/share/zoneinfo/Asia/Kolkata")
    assert zones.local().name == "Asia/Kolkata"
    assert zones.local().offset(10**20) == 0
