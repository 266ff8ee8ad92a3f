"""Programs of the user's own: their events are taken as they are."""

import json

import pytest

from cortex.agents.ndjson import NdjsonEvents
from cortex.agents.provider import new_reader, stdin_of
from cortex.vault.agent_settings import ProviderSettings
from tests.agents.real_programs import CONFIG

MINE = ProviderSettings("mine", "ndjson", ("my-agent", "--model={model}"))


def test_the_program_is_given_the_whole_run_as_one_line():
    config = CONFIG._replace(prompt="two\nlines \u2028", span=("101500_300",), facet="work")
    line = stdin_of(MINE, config).decode()
    assert line.count("\n") == 1
    given = json.loads(line)
    assert given["prompt"] == "two\nlines \u2028"
    assert given["span"] == ["101500_300"]
    assert set(given) == set(config._fields)


EVENTS = [
    {"event": "start", "model": "m", "session_id": "s", "ts": 1234567890123},
    {"event": "thinking", "summary": "hm"},
    {"event": "tool_start", "tool": "t", "args": {"a": [1]}, "call_id": "1"},
    {"event": "tool_end", "tool": "t", "call_id": "1", "ok": True, "result": "r"},
    {"event": "agent_updated", "agent": "other"},
    {"event": "finish", "result": "done", "usage": {"input": 3, "output": 4, "cached": 0}},
]


def test_events_stay_as_they_are():
    reader = new_reader(MINE, {})
    assert [event for one in EVENTS for event in reader.read(one)] == EVENTS
    assert reader.read({"event": "finish", "result": "again"}) == []


@pytest.mark.parametrize(
    "value",
    [{"event": "dance"}, {"event": "request"}, {"event": ["finish"]}, {"a": 1}, "text", 5, None],
)
def test_anything_else_is_an_info(value):
    (event,) = NdjsonEvents({}).read(value)
    assert event["event"] == "info"
    assert event["message"] is not None


def test_a_finish_may_be_a_skip_and_its_numbers_are_numbers():
    (event,) = NdjsonEvents({}).read(
        {"event": "finish", "skipped": "no_input", "usage": {"input": "3", "output": 4}}
    )
    assert event["skipped"] == "no_input"
    assert event["result"] == ""
    assert event["usage"] == {"input": 0, "output": 4, "cached": 0}


def test_an_error_holds_no_key():
    key = "sk-ant-api03-" + "abcDEF123456" * 8
    (event,) = NdjsonEvents({}).read(
        {"event": "error", "error": f"key {key} is bad", "reason": "quota", "retry": 3}
    )
    assert key not in json.dumps(event)
    assert (event["reason"], event["retry"]) == ("quota", 3)
    assert NdjsonEvents({}).read({"event": "error"})[0]["error"]


def test_a_program_that_says_nothing_has_failed():
    event = NdjsonEvents({}).end(3, "Traceback\nValueError: no such day\n")
    assert event == {
        "event": "error", "error": "the program ended with code 3 and no result: ValueError: no such day",
        "trace": "Traceback\nValueError: no such day",
    }  # fmt: skip
