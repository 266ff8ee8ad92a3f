"""A moment's day is the reader's day, what was written keeps its day, and committed pages are the same on all clones."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.days import UTC, clock
from cortex.interfaces.cli import text
from cortex.interfaces.cli.command import answer_command
from cortex.interfaces.declare import convert, declaration_of
from cortex.operations.care.calendar import calendar
from cortex.operations.care.status import status
from cortex.operations.find.actions import actions, meetings
from cortex.operations.find.recall import recall
from cortex.operations.find.search import search
from cortex.operations.find.timeline import timeline
from cortex.operations.records.capture import capture
from cortex.operations.sessions.brief import brief
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import settings, zones
from cortex.watcher.protocol import CommandRequest
from tests.core.test_days import ZONES


def record(id_, title="One", **fields):
    """A record as text for `vault_from`."""
    said = {
        "id": id_,
        "type": "decision",
        "project": "p",
        "created": "2026-11-20T12:30:00Z",
    } | fields
    lines = "".join(f"{key}: {value}\n" for key, value in said.items())
    return f"=== records/{said['type']}/{id_}.md\n---\n{lines}provenance:\n  events: [20261120t123000z-aaaaaaaaaa]\n---\n\n# {title}\n"


# On each a day begins or ends somewhere; on the last two clocks change.
MOMENTS = ("2026-11-20T00:10:00Z", "2026-11-20T10:30:00Z", "2026-11-20T23:50:00Z", "2026-11-01T05:30:00Z", "2026-03-28T22:30:00Z")  # fmt: skip


def reader_in(caller, name, now):
    return caller._replace(zone=zones.find(name), now=now)


def days_around(reader):
    today = date.fromisoformat(reader.today)
    return [f"{today + timedelta(n)}" for n in (-1, 0, 1)]


def found(vault, reader, query):
    return [one.path for one in search(vault, reader, query).hits]


@pytest.mark.parametrize("name", ZONES)
def test_a_capture_of_now_is_of_today(vault, caller, name):
    made = {}
    for moment in MOMENTS:
        reader = reader_in(caller, name, moment)
        word = f"marzipan{moment[5:13].lower().replace('-', '')}"
        capture(vault, reader, f"Decision: we bake {word}")
        normalize(vault, reader)
        (hit,) = search(vault, reader, f"{word} type:decision").hits
        yesterday, today, tomorrow = days_around(reader)
        assert clock(hit.date, reader.zone)[:10] == today
        for query in ("after:today", "before:tomorrow", "on:today", f"on:{today}", f"on:{today[:7]}", f"after:{today} before:{tomorrow}", "after:yesterday"):  # fmt: skip
            assert found(vault, reader, f"{word} type:decision {query}") == [hit.path], query
        for query in (
            "after:tomorrow",
            "before:today",
            "on:yesterday",
            f"on:{yesterday}",
            f"after:{tomorrow}",
        ):
            assert not found(vault, reader, f"{word} type:decision {query}"), query
        assert timeline(vault, reader, "today").focus == hit.id
        counted = calendar(vault, reader, since=None)
        assert counted.until == today
        made[today] = made.get(today, 0) + 1
        assert {day.date: day.decisions for day in counted.days if day.decisions} == {
            day: count for day, count in made.items() if day <= today
        }


@pytest.mark.parametrize("name", ZONES)
def test_what_was_due_yesterday_is_overdue_and_what_is_due_today_is_not(
    vault, vault_from, caller, name
):
    for moment in MOMENTS[:3]:
        reader = reader_in(caller, name, moment)
        due = dict(zip(("past", "now", "soon"), days_around(reader), strict=True))
        vault_from("\n".join(f"=== {one}.md\n- [ ] {one} 📅 {day}" for one, day in due.items()))
        vault_from(record("bread-aaaaaa", type="action", due=due["past"], status="open"))
        late = {one.hit.title: one.overdue for one in actions(vault, reader).hits}
        assert [late[one] for one in due] == [True, False, False]
        assert len(actions(vault, reader, overdue=True).hits) == 2
        assert status(vault, reader).overdue.total == 2
        later = reader._replace(now=f"{date.fromisoformat(reader.today) + timedelta(2)}T12:00:00Z")
        assert len(actions(vault, later, overdue=True).hits) >= 3


MEETINGS = """\
=== evening.md
---
type: meeting
date: 2026-11-10T20:00:00-05:00
---
# Board
=== night.md
---
type: meeting
date: 2026-10-24T23:30:00+02:00
---
# Night of the change, until 03:30
=== day.md
---
type: meeting
date: 2026-11-12
---
# Whole day
=== floating.md
---
type: meeting
date: 2026-11-13T00:30
---
# Where we are
"""
WRITTEN = {"floating.md": "2026-11-13", "day.md": "2026-11-12", "evening.md": "2026-11-10", "night.md": "2026-10-24"}  # fmt: skip


@pytest.mark.parametrize("name", ZONES)
def test_a_meeting_is_on_the_day_that_was_written_whoever_reads_it(vault_from, caller, name):
    vault, reader = vault_from(MEETINGS), reader_in(caller, name, "2026-11-20T00:10:00Z")
    shown = {
        one.hit.path: clock(one.hit.date, reader.zone)[:10] for one in meetings(vault, reader).hits
    }
    assert shown == WRITTEN
    for path, day in WRITTEN.items():
        for query in (f"on:{day}", f"after:{day} before:{date.fromisoformat(day) + timedelta(1)}"):
            assert found(vault, reader, f"type:meeting {query}") == [path]
    declared = declaration_of(meetings)
    since = convert(declared, {"since": "2026-11-12"}, reader.now, reader.zone)["since"]
    assert {one.hit.path for one in meetings(vault, reader, since=since).hits} == {
        "day.md",
        "floating.md",
    }


@pytest.mark.parametrize("name", ZONES)
def test_what_held_on_a_day_is_what_its_last_second_had(vault_from, caller, name):
    reader = reader_in(caller, name, "2026-11-20T12:00:00Z")
    vault = vault_from(
        record("evening-aaaaaa", created="2026-11-10T20:00:00-05:00")
        + record("moment-bbbbbb", created="2026-11-10T12:00:00Z")
        + record("next-cccccc", created="2026-11-11")
    )
    day = clock("2026-11-10T12:00:00Z", reader.zone)[:10]
    for as_of, expected in (("2026-11-09", set()), (day, {"moment-bbbbbb"}), ("2026-11-10", {"evening-aaaaaa"}), ("2026-11-12", {"evening-aaaaaa", "moment-bbbbbb", "next-cccccc"})):  # fmt: skip
        moment = convert(declaration_of(recall), {"as_of": as_of}, reader.now, reader.zone)["as_of"]
        held = {one.id for one in recall(vault, reader, as_of=moment).hits}
        assert expected <= held
        assert as_of == "2026-11-12" or "next-cccccc" not in held or as_of == "2026-11-11"


@pytest.mark.parametrize(("name", "due"), [("Pacific/Kiritimati", "2026-11-22"), ("Etc/GMT+12", "2026-11-20"), ("UTC", "2026-11-21")])  # fmt: skip
def test_tomorrow_is_counted_where_it_was_said_on_every_clone(vault, caller, name, due):
    moment = "2026-11-20T11:00:00Z" if name != "Etc/GMT+12" else "2026-11-20T10:00:00Z"
    made = capture(vault, reader_in(caller, name, moment), "buy milk tomorrow", type="action")
    before = Path(made.file).read_text()
    assert (f"day: {date.fromisoformat(due) - timedelta(1)}" in before) == (name != "UTC")
    normalize(vault, reader_in(caller, "Asia/Tokyo", moment))  # somebody else's machine
    (action,) = actions(vault, caller).hits
    assert action.due == due


def pages(vault):
    places = [
        path
        for folder in ("briefings", "sessions")
        for path in Path(vault.root, folder).rglob("*.md")
    ]
    return {str(path.relative_to(vault.root)): path.read_bytes() for path in places}


def fill(vault, reader, setting=""):
    file = Path(vault.root, "cortex.toml")
    file.write_text(f"{setting}\n{file.read_text()}")
    capture(vault, reader, "Decision: keep the cart for a day, because the table stays small", type="stop", session="s1", project="shop")  # fmt: skip
    normalize(vault, reader)
    Path(vault.root, "records/meeting").mkdir(parents=True, exist_ok=True)
    Path(vault.root, "records/meeting/board-aaaaaa.md").write_text(
        "---\nid: board-aaaaaa\ntype: meeting\nproject: shop\ncreated: 2026-11-11T01:00:00Z\n"
        "date: 2026-11-10T20:00:00-05:00\nprovenance:\n  events: [20261111t010000z-aaaaaaaaaa]\n---\n# Board\n"
    )
    heal(vault, reader)
    return pages(vault)


@pytest.mark.parametrize(
    ("setting", "day"),
    [('timezone = "Asia/Kolkata"', "2026-11-21"), ('timezone = "America/New_York"', "2026-11-20"), ("", "2026-11-20")],
)  # fmt: skip
def test_committed_pages_have_the_days_of_the_vault_whoever_writes_them(
    vault, caller, setting, day
):
    there = fill(vault, reader_in(caller, "Pacific/Kiritimati", "2026-11-20T22:45:12Z"), setting)
    (session,) = [path for path in there if path.startswith("sessions/")]
    assert session.startswith(f"sessions/2026/11/{day}-")
    clock_there = {"2026-11-21": "04:15", "": "22:45"}.get(day, "17:45" if setting else "22:45")
    assert f"- {day} {clock_there} stop: ".encode() in there[session]
    index = there["briefings/index.md"].decode()
    assert f"{day} [[" in index
    assert "2026-11-10 [[board-aaaaaa|Board]]" in index  # as it was written
    for name in ("Etc/GMT+12", "Asia/Tokyo"):
        for path in Path(vault.root, "briefings").rglob("*.md"):
            path.unlink()
        heal(vault, reader_in(caller, name, "2026-11-25T00:00:00Z"))
        assert pages(vault) == there


def test_other_days_are_asked_for_by_the_setting_alone(vault, caller):
    reader = reader_in(caller, "UTC", "2026-11-20T22:45:12Z")
    before = fill(vault, reader)
    file = Path(vault.root, "cortex.toml")
    file.write_text('timezone = "Asia/Kolkata"\n' + file.read_text())
    heal(vault, reader)
    after = pages(vault)
    assert b"2026-11-20 [[" in before["briefings/index.md"]
    assert b"2026-11-20 [[" not in after["briefings/index.md"]
    assert b"2026-11-21 [[" in after["briefings/index.md"]


def test_without_the_files_of_its_zone_a_clone_writes_no_page_until_it_has_them(
    vault, caller, monkeypatch
):
    reader = reader_in(caller, "UTC", "2026-11-20T22:45:12Z")
    before = fill(vault, reader, 'timezone = "Asia/Kolkata"')
    monkeypatch.setattr(zones, "find", lambda _name: None)
    file = Path(vault.root, "cortex.toml")
    os.utime(file)
    made = capture(vault, reader, "Decision: bake bread, because it is cheap", project="shop")
    with pytest.raises(InvalidInputError, match="timezone") as refused:
        heal(vault, reader)
    assert "tzdata" in refused.value.hint
    assert any("timezone" in one.message for one in search(vault, reader, "cart").problems)
    assert Path(made.file).is_file()  # a capture is kept
    assert pages(vault) == before
    monkeypatch.undo()
    monkeypatch.setattr(settings, "_load_at", lambda root, _: settings.load(root))  # a new process
    normalize(vault, reader)
    assert b"2026-11-21 [[bake-bread" in pages(vault)["briefings/index.md"]


@pytest.mark.parametrize(
    ("name", "day"), [("Pacific/Kiritimati", "2026-11-21"), ("Etc/GMT+12", "2026-11-20")]
)
def test_a_session_is_told_days_of_its_own_zone(vault_from, caller, name, day):
    vault = vault_from(
        record("keep-carts-aaaaaa", title="Keep carts", created="2026-11-20T12:30:00Z")
    )
    for _ in range(2):  # kept, it is another one for another zone
        told = brief(vault, reader_in(caller, name, "2026-11-25T00:00:00Z"), project="p")
        assert f"{day} Keep carts" in told.text
        assert told.newest == day
        assert "2026-11-20" in brief(vault, reader_in(caller, "UTC", "2026-11-25T00:00:00Z"), project="p").text  # fmt: skip


def test_the_watcher_answers_in_the_zone_of_whoever_asks(vault_from):
    vault = vault_from(
        record("keep-carts-aaaaaa", title="Keep carts", created="2026-11-20T12:30:00Z")
    )
    for zone, day in (
        ("Pacific/Kiritimati", "2026-11-21"),
        ("Etc/GMT+12", "2026-11-20"),
        ("", "2026-11-20"),
    ):
        asked = CommandRequest(
            vault.root, vault.root, "", "", zone, ("search", "carts", f"on:{day}")
        )
        assert f"decision  {day}" in answer_command(vault, asked).stdout.decode()
    assert (
        answer_command(vault, asked._replace(zone="CET-1CEST,M3.5.0")) is None
    )  # it has to do that itself
    text.READER.set(None)


@pytest.mark.parametrize(("zone", "day"), [("Pacific/Kiritimati", "2026-11-21"), ("Etc/GMT+12", "2026-11-20"), ("EST5EDT,M3.2.0,M11.1.0", "2026-11-20")])  # fmt: skip
def test_a_process_shows_the_days_of_its_environment_and_git_has_another(vault_from, zone, day):
    vault = vault_from(
        record("keep-carts-aaaaaa", title="Keep carts", created="2026-11-20T12:30:00Z")
    )
    environ = os.environ | {"TZ": zone, "GIT_COMMITTER_DATE": "2026-11-20T23:30:00+1300", "GIT_AUTHOR_DATE": "2026-11-20T23:30:00+1300"}  # fmt: skip

    def run(*words):
        return subprocess.run(words, cwd=vault.root, env=environ, capture_output=True, text=True, check=False).stdout  # fmt: skip

    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "notes")):
        run("git", *words)
    cortex = sys.executable, "-m", "cortex"
    assert f"decision  {day}" in run(*cortex, "search", "carts", f"on:{day}")
    assert f"{day}  Keep carts" in run(*cortex, "status")
    committed = {"Pacific/Kiritimati": "2026-11-21 00:30", "Etc/GMT+12": "2026-11-19 22:30"}
    assert committed.get(zone, "2026-11-20 05:30") in run(*cortex, "history", "keep-carts-aaaaaa")
    assert '"date": "2026-11-20T12:30:00Z"' in run(*cortex, "search", "carts", "--json")


def test_days_of_utc_are_shown_where_nobody_reads(caller):
    assert caller.zone == UTC
    assert caller.today == "2026-11-20"
