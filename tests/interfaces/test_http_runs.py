"""Runs of agents over HTTP: asked for, listed, stopped, gone on with; their events as they come."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cortex.vault.runs import run_state
from tests.interfaces.test_http import Server, serving
from tests.operations.runs import conftest as runs

settings = runs.settings


@pytest.fixture
def server(vault, settings) -> Iterator[Server]:
    settings('requests = ["http"]')
    with serving(vault.root) as running:
        yield running


def start(server: Server, prompt: str, **given: Any) -> str:
    answer = server.ask("POST", "/api/runs", {"agent": "default", "prompt": prompt, **given})
    assert answer.status == 201, answer.text
    return answer.json["runs"][0]["id"]


def ended(server: Server, id_: str) -> Any:
    """How a run stands when it has ended."""
    deadline = time.monotonic() + 60
    while (found := server.ask("GET", f"/api/runs/{id_}").json)["runs"][0]["path"][:6] != "runs/2":  # fmt: skip
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


@contextmanager
def following(server: Server, id_: str, query: str = "", last_seen: str = "") -> Iterator[Any]:
    headers = {"authorization": f"Bearer {server.token}"}
    headers |= {"last-event-id": last_seen} if last_seen else {}
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)) as link:
        link.request("GET", f"/api/runs/{id_}/live{query}", headers=headers)
        with closing(link.getresponse()) as stream:
            yield stream


def messages(stream: Any) -> Iterator[tuple[int, Any]]:
    """Id and event of each message, to the end of the stream."""
    last = ""
    for line in iter(lambda: stream.readline().decode(), ""):
        if line.startswith("id: "):
            last = line[4:]
        if line.startswith("data: "):
            yield int(last), json.loads(line[6:])


def test_nobody_starts_a_run_whose_settings_do_not_say_so(vault, settings):
    settings()
    with serving(vault.root) as server:
        for path in ("/api/runs", "/api/verbs/run"):
            body = {"agent": "default"} if path == "/api/runs" else {"action": "start"}
            refused = server.ask("POST", path, {**body, "prompt": "say:ok"})
            assert refused.status == 409
            assert 'requests = ["http"] below [agents]' in refused.json["hint"]
        assert server.ask("GET", "/api/runs").json["runs"] == []
        assert server.ask("GET", "/api/server").json["takes_runs"] is False
    assert not Path(vault.root, "runs/queue").exists()


def test_a_run_is_asked_for_listed_shown_and_gone_on_with(server):
    id_ = start(server, "say:**bold**", facet="")
    assert ended(server, id_)["result"] == "**bold**"
    shown = server.ask("GET", f"/api/runs/{id_}/rendered").json
    assert shown["html"] == "<p><strong>bold</strong></p>\n"
    assert (shown["prompt"], shown["runs"][0]["prompt"]) == ("say:**bold**",) * 2
    (tail,) = server.ask("GET", f"/api/runs/{id_}?from=4").json["events"]
    assert (tail["seq"], tail["event"]) == (4, "finish")
    more = server.ask("POST", f"/api/runs/{id_}/continue", {"prompt": "fail"})
    assert more.status == 201
    next_ = more.json["runs"][0]["id"]
    assert ended(server, next_)["runs"][0]["status"] == "failed"
    listed = server.ask("GET", "/api/runs?agent=default&limit=5").json["runs"]
    assert {one["id"] for one in listed} == {id_, next_}
    (failed,) = server.ask("GET", "/api/runs?status=failed").json["runs"]
    assert (failed["id"], failed["session_id"]) == (next_, "session-1")
    costs = server.ask("GET", "/api/costs?by=model").json["costs"]
    assert [(one["key"], one["runs"]) for one in costs] == [("m-1", 2)]
    assert server.ask("GET", "/api/agents").json["agents"] == []
    assert server.ask("GET", "/api/server").json["takes_runs"] is True


def test_a_run_is_stopped(server):
    id_ = start(server, "sleep:60")
    with following(server, id_) as stream:
        for _, event in messages(stream):
            if event["event"] == "tool_start":
                stopped = server.ask("POST", f"/api/runs/{id_}/stop", {"reason": "enough"})
                assert stopped.json["outcome"] == "stopped"
        assert (event["event"], event["error"]) == ("error", "enough")
    assert server.ask("POST", f"/api/runs/{id_}/stop", {}).status == 409


def test_each_listener_has_every_event_once_and_goes_on_where_it_was(server):
    id_ = start(server, "sleep:2 say:ok")
    with following(server, id_) as one, following(server, id_) as other:
        first = []
        for number, event in messages(one):
            first.append((number, event))
            if event["event"] == "tool_start":  # it is here while the tool runs
                assert server.ask("GET", f"/api/runs/{id_}").json["runs"][0]["running_tools"] == ["search"]  # fmt: skip
        assert list(messages(other)) == first
    assert [number for number, _ in first] == list(range(len(first)))
    assert first[-1][1]["event"] == "finish"
    assert [event for _, event in first] == ended(server, id_)["events"]
    for query, last_seen, begin in (("?from=3", "", 3), ("", "2", 3), ("?from=1", "3", 4), ("", "x", 0)):  # fmt: skip
        with following(server, id_, query, last_seen) as stream:
            assert list(messages(stream)) == first[begin:], (query, last_seen)
    with following(server, id_, last_seen=str(len(first) - 1)) as stream:
        assert stream.status == 204  # nothing follows: a browser asks no more
    with following(server, id_, "?from=x") as stream:
        assert stream.status == 422
    with following(server, "run-20200101t000000z-000000") as stream:
        assert stream.status == 404


def test_listeners_who_read_nothing_or_go_away_hold_nobody_up(server, vault):
    id_ = start(server, "sleep:8 say:ok")

    def waiting() -> int:
        return len([*Path(run_state.folder(vault)).glob("*.sock")])

    def wait_for(number: int) -> None:
        deadline = time.monotonic() + 20
        while waiting() != number:
            assert time.monotonic() < deadline, waiting()
            time.sleep(0.05)

    before = waiting()
    with following(server, id_) as idle:
        for _ in range(30):
            with following(server, id_) as stream:
                assert next(messages(stream))[0] == 0
        begun = time.monotonic()
        assert server.ask("GET", "/api/actions").status == 200
        assert time.monotonic() - begun < 3
        if waiting():  # else the state folder's path is too long for a socket
            wait_for(before + 1)
        assert [number for number, _ in messages(idle)] == [0, 1, 2, 3, 4]
    assert ended(server, id_)["runs"][0]["status"] == "finished"
    wait_for(0)
