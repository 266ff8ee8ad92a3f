"""A watcher as what looks after runs: schedules each minute, one tick at a time, again after a failure; what was
left of runs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cortex.core.model.layout import ACTIVE
from cortex.core.runs.run_note import RunRequest
from cortex.operations.runs import request
from cortex.vault import private
from cortex.vault.runs import run_files, run_state
from cortex.watcher import loop as loop_module
from cortex.watcher.loop import WatcherLoop
from cortex.watcher.scan_memory import ScanMemory
from tests.operations.runs.conftest import agent, settings
from tests.operations.runs.test_run import is_working, runner_of
from tests.watcher.conftest import ask_watch, is_fresh, note, until

__all__ = ["agent", "settings"]
REAL_TIME = "2026-11-20T16:45:12Z"


def ended(vault) -> list:
    return [run_files.find_run(vault, one) for one in run_files.list_ended(vault)]


def test_a_watcher_runs_what_is_due_once_and_without_a_command(vault, agent, watch) -> None:
    agent("journal-of-the-day", "say:Good", schedule="daily", priority=10, tier="flash")
    watcher = watch()
    until(lambda: ended(vault))
    until(lambda: run_state.TICK.read(vault)[0])
    (run,) = ended(vault)
    assert (run.request.agent, run.state.status, run.request.requested_by) == ("journal-of-the-day", "finished", "schedule")  # fmt: skip
    assert run_state.TICK.read(vault)[1] == ""
    assert watcher.standing().problems == ()


@pytest.mark.parametrize("why", ["they run nowhere", "there are no agents"])
def test_no_tick_is_started_where_there_is_nothing_to_run(vault, agent, settings, watch, why) -> None:  # fmt: skip
    if why == "they run nowhere":
        agent("daily", schedule="daily", priority=10)
        path = Path(os.environ["HOME"], ".config/cortex/config.toml")
        path.write_text(path.read_text().replace("schedules = true", "schedules = false"))
    watch().ready()
    note(vault, "a.md", "a\n")
    until(lambda: is_fresh(vault))
    assert not os.path.exists(run_state.TICK.path(vault))
    assert not os.path.exists(os.path.join(run_state.folder(vault), run_state.TICK_LOCK))


@contextmanager
def ticking(vault) -> Iterator[None]:
    """While a `cortex tick` runs."""
    with private.lock(os.path.join(run_state.folder(vault), run_state.TICK_LOCK), "schedules"):
        yield


@pytest.fixture
def loop(vault, caller, agent, monkeypatch):
    """A loop that is not run, whose clock stands, with what it starts and says."""
    agent("daily", schedule="daily", priority=10)
    said, started, clock = list[str](), list[tuple[str, ...]](), [0.0]
    made = WatcherLoop(vault, caller, said.append, ScanMemory(), quiet=0, poll=True)
    monkeypatch.setattr(loop_module, "start_detached", lambda _vault, *words: started.append(words))
    monkeypatch.setattr(loop_module.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(loop_module, "_utc_now", lambda: at(len(started)))

    def look(seconds: float = 0.0) -> int:
        """Look at the schedules after so many seconds; how often a tick was started by then."""
        clock[0] += seconds
        made._run_step("schedules", made._run_schedules)
        return len(started)

    made.look, made.said, made.started = look, said, started
    return made


def at(second: int) -> str:
    return f"2026-11-28T10:00:{second:02}Z"


def test_one_tick_runs_at_a_time(vault, loop) -> None:
    with ticking(vault):
        assert loop.look() == 0
    assert loop.look() == 1
    assert loop.started == [("tick",)]
    with ticking(vault):
        assert loop.look() == 1
    run_state.TICK.write(vault, {"at": at(1), "fault": ""})
    assert loop.look() == 2
    assert not loop.failures


def test_what_fails_is_started_again_with_growing_pauses_and_is_said(vault, loop) -> None:
    assert loop.look() == 1
    run_state.TICK.write(vault, {"at": at(9), "fault": "agents/daily.md: no luck"})
    assert loop.look() == 2
    for pause, count in ((1.0, 2), (1.5, 3), (3.0, 3), (1.5, 4), (7.5, 4), (1.0, 5)):
        assert loop.look(pause) == count, pause
    assert loop.status().problems == ("schedules: cortex tick: agents/daily.md: no luck",)
    run_state.TICK.write(vault, {"at": at(59), "fault": ""})
    assert loop.look(60) == 6
    assert not loop.failures
    assert loop.said[-1] == "schedules works again"


def test_a_tick_that_dies_is_a_failure(vault, loop) -> None:
    loop.look()
    run_state.TICK.write(vault, {"at": at(0), "fault": ""})
    loop.look()
    assert not loop.failures
    loop.look()
    assert "did not come to its end" in loop.failures["schedules"].message


def test_a_new_minute_of_the_clock_is_a_look_at_the_schedules(vault, loop, monkeypatch) -> None:
    """Local midnight begins one."""
    monkeypatch.setattr(loop_module.signal, "signal", lambda *_: None)
    clock = [time.mktime((2026, 11, 28, 23, 58, 30, 0, 0, -1))]
    monkeypatch.setattr(loop_module.time, "time", lambda: clock[0])
    looks = list[float]()
    monkeypatch.setattr(loop, "_run_schedules", lambda: loop.__dict__.update(_minute=int(clock[0]) // 60) or looks.append(clock[0]))  # fmt: skip
    monkeypatch.setattr(loop, "_is_pass_due", lambda: False)
    monkeypatch.setattr(loop, "_is_commit_due", lambda: False)

    def wait(_seconds: float) -> None:
        clock[0] += 10
        loop.is_ending = len(looks) == 3

    monkeypatch.setattr(loop.debouncer, "wait", wait)
    loop.run(lambda: True)
    assert [time.strftime("%H:%M:%S", time.localtime(look)) for look in looks] == ["23:58:40", "23:59:00", "00:00:00"]  # fmt: skip


def test_a_tick_that_can_start_nothing_is_shown_by_status(vault, agent, watch, cortex) -> None:
    agent("daily", "say:x", schedule="daily", priority=10, tier="flash")
    in_its_way = Path(vault.root, "runs")
    in_its_way.write_text("a file")
    cortex("tick")
    assert run_state.TICK.read(vault)[1].startswith("agents/daily.md: ")
    watcher = watch("--poll").ready()
    until(
        lambda: "schedules: cortex tick: agents/daily.md: " in ask_watch(vault, "--status").stdout
    )
    in_its_way.unlink()
    until(lambda: ended(vault))
    until(lambda: "schedules works again" in watcher.said)
    assert len(ended(vault)) == 1


def test_what_a_run_appends_starts_no_pass(vault, watch) -> None:
    written = note(vault, "runs/active/run-20261120t171643z-0193ee.md", "# x\n")
    watcher = watch().ready()
    time.sleep(1)
    before = watcher.standing().passes
    for _ in range(30):
        with written.open("a") as file:
            file.write("- a line\n")
        time.sleep(0.05)
    time.sleep(1)
    assert watcher.standing().passes == before
    note(vault, "runs/2026/11/run-20261120t171643z-0193ee.md", "# x\n")
    until(lambda: watcher.standing().passes > before)


def test_a_run_whose_process_is_gone_is_closed(vault, settings, caller, watch) -> None:
    id_, _ = request.request_run(vault, caller, RunRequest("default", "sleep:60", tier="flash"), {})
    until(lambda: is_working(vault, id_))
    os.kill(runner_of(id_), signal.SIGKILL)
    watch()
    until(lambda: not run_files.list_runs(vault, ACTIVE))
    (run,) = ended(vault)
    assert (run.state.status, "Recovered" in run.state.error) == ("failed", True)


def test_a_request_that_nobody_took_is_started(vault, settings, caller, watch, monkeypatch) -> None:
    monkeypatch.setattr(request, "start_detached", lambda *_: None)
    request.request_run(vault, caller._replace(now=REAL_TIME), RunRequest("default", "say:x", tier="flash"), {})  # fmt: skip
    watch()
    until(lambda: ended(vault))
    assert ended(vault)[0].state.status == "finished"


def test_who_looks_whether_a_file_is_locked_keeps_nobody_out(tmp_path) -> None:
    path = str(tmp_path / "lock")
    assert not private.is_locked(path)
    with private.lock(path, "test"):
        assert private.is_locked(path)
    assert not private.is_locked(path)
    with private.lock(path, "test", wait=0.0):
        pass
