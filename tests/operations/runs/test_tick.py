"""`cortex tick` with real runs: each schedule once, in the order of priorities, for the facets that were active."""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from cortex.core.model.layout import ACTIVE
from cortex.core.runs import schedule
from cortex.core.runs.run_note import RunRequest
from cortex.core.text.strings import format_time
from cortex.operations.records.capture import capture
from cortex.operations.runs import tick as tick_module
from cortex.operations.runs.schedule_state import LOCAL
from cortex.vault.runs import run_files, run_state
from cortex.vault.user_settings import settings_file
from tests.conftest import caller_at

YESTERDAY = datetime.now() - timedelta(days=1)


@pytest.fixture
def tick(cortex):
    def ask(*words: str, code: int = 0) -> dict:
        done = cortex("tick", *words, "--json")
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return ask


@pytest.fixture
def captured(vault):
    """Capture a text at a moment, in seconds before now."""

    def write(seconds_ago: float, text: str, **options) -> None:
        at = caller_at(format_time(time.time() - seconds_ago), vault.root)
        capture(vault, at._replace(wants_outcome=False), text, **options)

    return write


def of(answer: dict) -> list[tuple[str, str, str]]:
    return [(one["agent"], one["facet"], one["status"]) for one in answer["runs"]]


def test_what_is_due_runs_once(vault, agent, tick, cortex) -> None:
    agent("morning", "say:Good-morning", schedule="daily", priority=40)
    (due,) = tick("--dry-run")["due"]
    assert (due["agent"], due["period"]) == ("morning", f"{YESTERDAY:%Y-%m-%d}")
    (ran,) = tick()["runs"]
    assert (ran["status"], ran["period"], ran["agent"]) == ("finished", f"{YESTERDAY:%Y-%m-%d}", "morning")  # fmt: skip
    assert tick()["runs"] == []
    assert "requested_by: schedule\n" in Path(vault.root, ran["path"]).read_text()
    assert json.loads(cortex("run", "list", "morning", "--json").stdout)["runs"][0]["id"] == ran["id"]  # fmt: skip


def test_lower_priorities_first_and_equal_ones_at_the_same_time(agent, tick, tmp_path) -> None:
    log = tmp_path / "log"
    agent("late", f"log:{log}", schedule="daily", priority=90)
    agent("one", f"log:{log} sleep:1.5", schedule="daily", priority=40)
    agent("two", f"log:{log} sleep:1.5", schedule="daily", priority=40)
    agent("first", f"log:{log} sleep:0.3", schedule="daily", priority=10)
    tick()
    begun = {name: at for name, _, at in map(json.loads, log.read_text().splitlines())}
    assert min(begun, key=begun.__getitem__) == "first"
    assert abs(begun["one"] - begun["two"]) < 1.5
    assert begun["one"] > begun["first"] + 0.3
    assert begun["late"] > max(begun["one"], begun["two"]) + 1.5


def test_a_run_that_fails_is_tried_three_times_and_then_named(agent, tick, monkeypatch) -> None:
    agent("unlucky", "fail", schedule="daily", priority=40)
    assert of(tick()) == [("unlucky", "", "failed")]
    assert tick()["runs"] == []  # not at once: what failed may be back in ten minutes
    monkeypatch.setattr(schedule, "RETRY_SECONDS", (0, 0, 0))
    for _ in range(2):
        assert of(tick()) == [("unlucky", "", "failed")]
    (skipped,) = tick()["skipped"]
    assert (skipped["agent"], skipped["reason"]) == ("unlucky", "failed three times")


@pytest.mark.parametrize("at_once", [True, False])
def test_a_run_that_ends_while_it_is_looked_at_is_waited_for(vault, monkeypatch, at_once) -> None:
    id_, now = "run-20261120t164512z-0193ee", "2026-11-20T16:45:12Z"
    run_state.remember(vault, id_, {})
    run_files.add_request(vault, id_, RunRequest("news", "say:News"), now)
    find, active = run_files.find_run, run_files.claim(vault, id_)

    def find_before_it_ends(*given):
        run = find(*given)
        has_said = active.append({"event": "finish", "result": "News"}, now, str)
        if at_once or not has_said:
            active.seal("", "News")
        return run

    monkeypatch.setattr(run_files, "find_run", find_before_it_ends)
    with closing(active):
        (line,) = tick_module._wait(vault, caller_at(now), [id_])
    assert (line.status, line.path) == ("finished", f"runs/2026/11/{id_}.md")


def test_a_facet_is_active_if_an_event_of_the_day_before_has_it(vault_from, agent, tick, captured) -> None:  # fmt: skip
    vault_from("""
=== facets/work.md
---
title: Work
---
=== facets/garden.md
---
title: Garden
---
=== facets/secret.md
---
title: Secret
muted: true
---
""")
    agent("news", "say:News", schedule="daily", priority=40, facets="active")
    agent("audit", "say:Audit", schedule="daily", priority=50, facets="active", always="true")
    noon = YESTERDAY.replace(hour=12).timestamp()
    captured(time.time() - noon, "The build is green", tags=("work",))
    captured(time.time() - noon, "Nobody may know", tags=("secret",))
    captured(0, "Planted quinces today", tags=("garden",))
    assert of(tick()) == [("news", "work", "finished"), ("audit", "garden", "finished"), ("audit", "work", "finished")]  # fmt: skip
    assert tick()["runs"] == []


def test_segment_agents_follow_the_facets_that_a_generator_finds(vault_from, agent, tick, captured) -> None:  # fmt: skip
    vault = vault_from("=== facets/work.md\n---\ntitle: Work\n---\n=== facets/garden.md\n---\ntitle: Garden\n---\n")  # fmt: skip
    captured(1200, "Reviewed the merge")
    captured(1100, "And merged it")
    agent("facets", "object", schedule="segment", priority=10, output="json")
    agent("tracker", "say:Tracked", schedule="segment", priority=50, facets="active")
    answer = tick()
    assert of(answer) == [("facets", "", "finished"), ("tracker", "work", "finished")]
    assert {one["period"] for one in answer["runs"]} == {answer["runs"][0]["period"]}
    segment = answer["runs"][0]["period"]
    assert segment.endswith("_100")
    assert Path(vault.root, "runs/output", segment, "facets.json").exists()
    assert tick()["runs"] == []  # what runs leave behind is no segment


def test_each_hour_has_an_output_of_its_own(vault, agent, tick, monkeypatch) -> None:
    agent("hourly", "say:Done", schedule="hourly", priority=40, output="md", tools="read", catch_up="all")  # fmt: skip
    assert of(tick()) == [("hourly", "", "finished")]
    begun = datetime.now(UTC) - timedelta(hours=4)
    known = [schedule.PastRun("hourly", "", f"{begun:%Y-%m-%dT%H}Z", "finished")]
    read = tick_module.read_state
    monkeypatch.setattr(tick_module, "read_state", lambda *given: read(*given)._replace(past=known))
    monkeypatch.setattr(tick_module, "_MAX_ROUNDS", 1)
    assert {one["status"] for one in tick()["runs"]} == {"finished"}
    written = list(Path(vault.root, "runs/output").rglob("hourly-*.md"))
    assert len(written) == 3


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_the_zone_of_the_machine_has_the_offset_of_each_moment(zone: str, monkeypatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for moment in range(1767225600, 1798761600, 1800):  # each half hour of 2026
            here, there = (datetime.fromtimestamp(moment, one) for one in (LOCAL, ZoneInfo(zone)))
            assert here.replace(tzinfo=None) == there.replace(tzinfo=None)
            assert (here.utcoffset(), here.fold) == (there.utcoffset(), there.fold)
            assert int(here.timestamp()) == moment
        autumn = [1792818900, 1792818960]
        assert {one.key for one in schedule.segments(autumn, LOCAL)} == {one.key for one in schedule.segments(autumn, ZoneInfo(zone))}  # fmt: skip
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_meeting_that_begins_soon_is_prepared_once(vault, vault_from, agent, tick) -> None:
    soon, later = (datetime.now() + timedelta(minutes=one) for one in (20, 90))
    vault_from(f"""
=== meetings/soon.md
---
type: meeting
date: {soon:%Y-%m-%dT%H:%M}
---
# Planning
=== meetings/later.md
---
type: meeting
date: {later:%Y-%m-%dT%H:%M}
---
# Retrospective
""")
    agent("prepare", "show", schedule="30m before meeting", priority=40)
    (ran,) = tick()["runs"]
    assert ran["period"] == f"meetings/soon.md {soon:%Y-%m-%dT%H:%M}"
    assert "It is for the meeting meetings/soon.md 20" in Path(vault.root, ran["path"]).read_text()
    assert tick()["runs"] == []


def test_what_does_not_run_is_told_with_its_reason(vault, agent, tick) -> None:
    agent("off", schedule="daily", priority=40, disabled="true")
    agent("foreign", schedule="daily", priority=40)
    Path(vault.root, "agents/foreign.md").write_text("---\nschedule: daily\npriority: 1\n---\nOther\n")  # fmt: skip
    agent("elsewhere", schedule="daily", priority=40, provider="nobody")
    Path(vault.root, "agents/broken.md").write_text("---\nschedule: daily\n---\nNo priority\n")
    answer = tick()
    assert answer["runs"] == []
    assert {one["agent"]: one["reason"] for one in answer["skipped"]} == {
        "off": "disabled", "foreign": "not_trusted", "elsewhere": "no_provider",
    }  # fmt: skip
    assert any("priority" in one["message"] for one in answer["problems"])


def test_nothing_runs_unless_the_users_settings_say_so(agent, tick) -> None:
    agent("morning", schedule="daily", priority=40)
    file = Path(settings_file())
    file.write_text(file.read_text().replace("schedules = true", "schedules = false"))
    assert "let no schedules run" in tick(code=2)["error"]["message"]
    assert len(tick("--dry-run")["due"]) == 1


def test_two_ticks_at_once_are_one(agent, tick, cortex_process) -> None:
    agent("slow", "sleep:2", schedule="daily", priority=40)
    thread = threading.Thread(target=tick)
    thread.start()
    time.sleep(0.7)
    other = cortex_process("tick", "--json")
    thread.join()
    assert other.returncode == 2
    assert "busy with the schedules" in other.stdout


def test_old_runs_are_removed_as_the_agent_says_and_young_ones_stay(vault, agent, tick) -> None:
    agent("morning", schedule="daily", priority=40, keep=1)
    old = [f"run-202001{day:02}t000000z-00000{day}" for day in (1, 2)]
    for id_ in old:
        path = Path(vault.root, f"runs/2020/01/{id_}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\nid: {id_}\ntype: run\nagent: morning\ncreated: 2020-01-01T00:00:00Z\n---\n")  # fmt: skip
        path.with_suffix(".d").mkdir()
        (path.with_suffix(".d") / "3.json").write_text("{}")
    os.symlink(path, path.with_name("run-20200103t000000z-000003.md"))
    (ran,) = tick()["runs"]
    assert list(run_files.list_ended(vault)) == [ran["id"], "run-20200103t000000z-000003"]
    assert not list(Path(vault.root, "runs/2020").rglob("*.json"))


def test_a_tick_that_is_killed_leaves_its_run_and_the_next_one_does_the_rest(vault, agent, tick) -> None:  # fmt: skip
    agent("first", "sleep:1.5", schedule="daily", priority=10)
    agent("second", "say:ok", schedule="daily", priority=40)
    line = [sys.executable, "-m", "cortex", "tick"]
    with subprocess.Popen(line, cwd=vault.root, stdout=subprocess.DEVNULL) as process:
        while not run_files.list_runs(vault, ACTIVE):
            time.sleep(0.01)
        process.kill()
    assert of(tick()) == [("second", "", "finished")]
    runs = [run_files.find_run(vault, id_) for id_ in run_files.list_ended(vault)]
    assert sorted((one.request.agent, one.state.status) for one in runs) == [("first", "finished"), ("second", "finished")]  # fmt: skip
