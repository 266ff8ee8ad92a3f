"""What `status` and the briefing of a session say of runs, and what Python waits for."""

import time
from pathlib import Path

import pytest

import cortex as api
from cortex.core.model.problem import CortexError, NotFoundError
from cortex.core.runs.run_event import complete
from cortex.core.runs.run_note import (
    RunRequest,
    compose_request,
    compose_sealed,
    make_run_id,
    sealed_path,
)
from cortex.operations.care.status import status
from cortex.operations.sessions.brief import brief
from cortex.vault import private
from cortex.vault.runs import run_files, run_state

NOW = "2026-11-20T16:45:12Z"


@pytest.fixture
def past(vault):
    """The note of a run that has ended, as it is kept."""

    def write(number: int, day: str, status: str = "failed", agent: str = "weekly", **fields: str) -> str:  # fmt: skip
        id_ = make_run_id(f"{day}T10:00:00Z", bytes([0, 0, number]))
        request = RunRequest(agent, **fields)
        kinds = {"failed": {"event": "error", "error": "no luck"}, "finished": {"event": "finish", "result": "x"}}  # fmt: skip
        now = f"{day}T10:00:00Z"
        events = [complete(one, id_, seq, now) for seq, one in enumerate(({"event": "request", **request._asdict()}, kinds[status]))]  # fmt: skip
        data = compose_sealed(compose_request(id_, request, events[0], now), events, "", "")
        path = Path(vault.root, sealed_path(id_))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return id_

    return write


def failed(vault) -> list[tuple[str, str]]:
    return run_files.list_failed(vault, NOW)


def test_what_failed_is_named_until_it_succeeds_or_a_week_has_gone(vault, past) -> None:
    past(1, "2026-11-12", period="2026-W46")
    assert failed(vault) == []
    first = past(2, "2026-11-19", period="2026-W47")
    assert failed(vault) == [(first, "weekly (2026-W47)")]
    other = past(3, "2026-11-20", period="2026-11-19", facet="garden", agent="daily")
    assert failed(vault) == [(other, "daily (garden 2026-11-19)"), (first, "weekly (2026-W47)")]
    past(4, "2026-11-20", "finished", period="2026-W47")
    assert failed(vault) == [(other, "daily (garden 2026-11-19)")]


def test_one_that_failed_three_times_is_a_gap(vault, past) -> None:
    ids = [past(number, "2026-11-20", period="2026-W47") for number in range(3)]
    assert failed(vault) == [(ids[-1], "weekly (2026-W47) three times, which left a gap")]


def test_what_somebody_asked_for_stands_for_itself(vault, past) -> None:
    one, other = past(1, "2026-11-20", agent="default"), past(2, "2026-11-20", agent="default")
    assert failed(vault) == [(other, f"default ({other})"), (one, f"default ({one})")]


def test_a_damaged_note_of_a_run_hinders_nothing(vault, past) -> None:
    Path(vault.root, sealed_path(past(1, "2026-11-19"))).write_bytes(b"\xff---\n:")
    Path(vault.root, sealed_path(past(2, "2026-11-19"))).write_bytes(b"")
    id_ = past(3, "2026-11-20", period="2026-W47")
    assert failed(vault) == [(id_, "weekly (2026-W47)")]


def test_status_says_nothing_of_runs_where_there_are_none(vault, caller, cortex) -> None:
    assert status(vault, caller).runs is None
    assert "runs" not in cortex("status").stdout


def test_status_says_how_runs_stand(vault, caller, agent, past, cortex) -> None:
    agent("weekly", schedule="weekly", priority=10)
    found = status(vault, caller).runs
    assert (found.schedules, found.watcher, found.tick, found.failed) == (True, False, "", ())
    past(1, "2026-11-20", period="2026-W47")
    past(2, "2026-11-18", agent="daily", period="2026-11-17")
    run_state.folder(vault)
    run_state.TICK.write(
        vault, {"at": "2026-11-20T16:44:02Z", "fault": "agents/daily.md: it has no priority"}
    )
    found = status(vault, caller).runs
    assert (found.tick, found.failed_today, len(found.failed)) == ("2026-11-20T16:44:02Z", 1, 2)
    with private.lock(f"{vault.state_folder()}/{private.WATCHER_LOCK}", "watcher"):
        assert status(vault, caller).runs.watcher
    shown = cortex("status").stdout
    assert "runs: 0 running, 0 waiting, " in shown
    assert "schedules on, last looked at 2026-11-20 16:44; no watcher runs" in shown
    assert "agents/daily.md: it has no priority" in shown


@pytest.mark.parametrize("text", ["[]", "[1]", '"ab"', "{", "null", '{"at": 1}'])
def test_what_is_no_word_of_a_tick_counts_for_nothing(vault, caller, agent, text) -> None:
    agent("weekly", schedule="weekly", priority=10)
    run_state.folder(vault)
    Path(run_state.TICK.path(vault)).write_text(text)
    found = status(vault, caller).runs
    assert (found.tick, found.fault) == ("", "")


def test_status_names_what_runs_and_waits(vault, caller, run, settings) -> None:
    settings("slots = 1")
    first = run("start", "default", "sleep:30")["id"]
    deadline = time.monotonic() + 30
    while run("show", first)["status"] != "running":
        assert time.monotonic() < deadline
    second = run("start", "default", "say:x")["id"]
    assert status(vault, caller).runs.going_on == (("runs/queue", second), ("runs/active", first))
    for id_ in (second, first):
        run("stop", id_)


def test_a_session_is_told_what_failed_in_a_line(vault, caller, past) -> None:
    before = brief(vault, caller).text
    assert "Runs" not in before
    for number in range(3):
        past(number, "2026-11-20", period="2026-W47")
    id_ = past(9, "2026-11-20", agent="daily", period="2026-11-19")
    answer = brief(vault, caller)
    (section,) = [one for one in answer.sections if one.kind == "runs"]
    (line,) = section.lines
    assert line.id == id_
    assert (
        "2 runs failed: daily (2026-11-19), weekly (2026-W47) three times, which left a gap"
        in line.text
    )
    assert brief(vault, caller, why=True).sections[0].lines[0].why == "of the last seven days"
    past(10, "2026-11-20", "finished", period="2026-W47")
    assert "1 run failed: daily" in brief(vault, caller, print=True).text
    past(11, "2026-11-20", "finished", agent="daily", period="2026-11-19")
    assert brief(vault, caller, print=True).text == before


def test_committed_pages_say_nothing_of_runs(vault, caller, past, cortex) -> None:
    cortex("capture", "Decision: jars are boiled first")
    cortex("normalize")
    pages = {path: path.read_bytes() for path in Path(vault.root, "briefings").rglob("*.md")}
    assert pages
    past(1, "2026-11-20", period="2026-W47")
    cortex("normalize")
    cortex("rebuild")
    assert {path: path.read_bytes() for path in Path(vault.root, "briefings").rglob("*.md")} == pages  # fmt: skip


def test_python_asks_three_at_once_and_loses_none(vault, settings) -> None:
    settings("slots = 2")
    ids = [api.cortex_request(vault.root, f"sleep:0.2 say:{number}", tier="flash") for number in range(3)]  # fmt: skip
    assert len(set(ids)) == 3
    assert api.wait_for_runs(vault.root, ids, timeout=60) == dict.fromkeys(ids, "finished")
    results = [run_files.find_run(vault, id_).state.result for id_ in ids]
    assert results == ["0", "1", "2"]
    assert {run_files.find_run(vault, id_).request.requested_by for id_ in ids} == {"python"}


def test_python_is_told_what_has_not_ended_and_what_is_wrong(vault, settings, agent) -> None:
    opened = api.Vault(vault.root)
    agent("gone", "sleep:30", tier="flash")
    id_ = api.cortex_request(opened, "and more", "gone")
    assert api.wait_for_runs(opened, [id_], timeout=0.5)[id_] in ("requested", "running")
    opened.run("stop", id_)
    assert api.wait_for_runs(opened, iter([id_]), timeout=0) == {id_: "stopped"}
    assert api.wait_for_runs(opened, []) == {}
    with pytest.raises(NotFoundError):
        api.wait_for_runs(opened, ["run-20200101t000000z-000000"])
    with pytest.raises(CortexError):
        api.cortex_request(opened, "x", "no-such-agent")
