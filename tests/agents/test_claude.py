"""What Claude Code 2.1.197 printed, as events."""

import json

import pytest

from cortex.agents.claude import ClaudeEvents
from tests.agents.real_programs import events_of, recorded

SESSION = "00000000-0000-4000-8000-000000000001"


def told(name: str) -> list[dict]:
    return events_of("claude", recorded(f"claude-{name}"))


def test_an_answer():
    start, message, finish = told("text")
    assert start == {"event": "start", "session_id": SESSION, "model": "claude-sonnet-5"}
    assert message == {"event": "message", "text": "Hello from loopback."}
    # What the cache held counts as read, too.
    assert finish == {
        "event": "finish", "result": "Hello from loopback.", "session_id": SESSION,
        "usage": {"input": 150, "output": 7, "cached": 30}, "cost_usd": pytest.approx(0.000474),
    }  # fmt: skip


def test_a_tool_has_a_beginning_and_an_end_of_one_call():
    _, begin, end, _, finish = told("tool")
    assert begin["tool"] == end["tool"] == "Read"
    assert begin["call_id"] == end["call_id"]
    assert begin["args"] == {"file_path": "/home/u/vault/note.md"}
    assert (end["ok"], end["result"]) == (True, "1\tloopback\n2\t")
    assert finish["usage"]["input"] == 300


def test_what_lies_outside_of_the_vault_is_not_read():
    end = next(event for event in told("outside") if event["event"] == "tool_end")
    assert end["ok"] is False
    assert "secret" not in json.dumps(told("outside"))


def test_a_thought():
    assert {"event": "thinking", "summary": "They want a greeting."} in told("think")


@pytest.mark.parametrize(
    ("name", "reason", "says"),
    [
        ("refuse", "refusal", "unable to respond to this request"),
        ("fail401", "login", "authentication_failed; run `claude` and type /login"),
        ("no-login", "login", "Not logged in"),
        ("fail529", "limit", "API Error: 529"),
        ("bad-session", None, "No conversation found"),
        ("budget", None, "Reached maximum budget"),
    ],
)
def test_a_failure(name, reason, says):
    last = told(name)[-1]
    assert (last["event"], last.get("reason")) == ("error", reason)
    assert says in last["error"]


def test_tokens_count_where_a_budget_ended_it():
    assert told("budget")[-1]["usage"] == {"input": 150, "output": 7, "cached": 30}


def test_a_login_that_is_missing_ends_it_at_the_first_try():
    assert [event["event"] for event in told("fail401")] == ["start", "error"]
    assert [event["event"] for event in told("fail529")] == [
        "start",
        "progress",
        "progress",
        "error",
    ]


def test_after_the_end_nothing_counts():
    reader = ClaudeEvents({})
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "done"}
    assert [event["event"] for event in reader.read(result)] == ["finish"]
    assert reader.read(result) == []
    assert reader.end(1, "error: late") is None


def test_an_end_without_a_result_is_a_failure_whatever_the_code():
    reader = ClaudeEvents({})
    key = "sk-ant-api03-" + "abcDEF123456" * 8
    error = reader.end(0, f"note\nError: bad key {key}\n")
    assert error is not None
    assert error["error"].startswith("the program ended with code 0 and no result: Error: bad key")
    assert key not in json.dumps(error)
    assert reader.end(0, "") is None


def test_a_long_answer_shows_that_it_lives():
    reader = ClaudeEvents({})
    piece = {"type": "stream_event", "event": {"delta": {"type": "text_delta", "text": "x" * 1500}}}
    events = [event for _ in range(6) for event in reader.read(piece)]
    assert [event["message"] for event in events] == ["4,500 characters", "9,000 characters"]


def test_what_is_unknown_is_an_info():
    deep: dict = {}
    for _ in range(100_000):
        deep = {"a": deep}
    values = ["text", None, 7, [], {}, {"type": "news"}, {"type": ["list"]}, deep, {"type": "x" * 10**6},
              {"type": "system", "subtype": "fresh"}, {"type": "assistant", "message": {"content": [{"type": "new"}]}}]  # fmt: skip
    for value in values:
        (event,) = ClaudeEvents({}).read(value)
        assert event["event"] == "info"
        assert len(event["message"]) <= 500


@pytest.mark.parametrize("kind", ["system", "assistant", "user", "stream_event", "result"])
def test_other_types_than_expected_do_no_harm(kind):
    for subtype in ("init", "api_retry", "thinking_tokens", "success", None):
        for value in (
            None,
            3,
            "text",
            [1],
            {"content": 5},
            {"content": [3, {"type": "text", "text": 4}]},
        ):
            fields = dict.fromkeys(
                ("message", "event", "usage", "modelUsage", "errors", "session_id", "error"), value
            )
            ClaudeEvents({}).read({"type": kind, "subtype": subtype, **fields})
