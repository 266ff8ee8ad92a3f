"""What Gemini CLI 0.61.0 printed, as events."""

import json

import pytest

from cortex.agents.gemini import GeminiEvents
from tests.agents.real_programs import events_of, recorded

SESSION = "00000000-0000-4000-8000-000000000001"


def told(name: str) -> list[dict]:
    return events_of("gemini", recorded(f"gemini-{name}"))


def test_an_answer_in_pieces_is_one_message():
    assert told("text") == [
        {"event": "start", "session_id": SESSION, "model": "gemini-2.5-flash"},
        {"event": "message", "text": "Hello from loopback."},
        {"event": "finish", "result": "Hello from loopback.", "session_id": SESSION,
         "usage": {"input": 120, "output": 7, "cached": 30}},
    ]  # fmt: skip


def test_a_tool_ends_the_message_before_it():
    reader = GeminiEvents({})
    piece = {"type": "message", "role": "assistant", "content": "I look", "delta": True}
    use = {"type": "tool_use", "tool_name": "read_file", "tool_id": "1", "parameters": {}}
    assert reader.read(piece) == reader.read(piece | {"content": "."}) == []
    assert [event["event"] for event in reader.read(use)] == ["message", "tool_start"]
    assert reader.said == "I look."


def test_a_tool_has_a_beginning_and_an_end():
    _, begin, end, _, finish = told("tool")
    assert begin["tool"] == end["tool"] == "read_file"
    assert begin["args"] == {"file_path": "/home/u/vault/note.md"}
    assert begin["call_id"] == end["call_id"]
    assert end["ok"] is True
    assert finish["usage"] == {"input": 240, "output": 14, "cached": 60}


def test_what_lies_outside_of_the_vault_is_not_read():
    end = next(event for event in told("outside") if event["event"] == "tool_end")
    assert end["ok"] is False
    assert "Path not in workspace" in end["result"]
    assert "secret" not in json.dumps(told("outside"))


@pytest.mark.parametrize(
    ("name", "reason", "says"),
    [
        ("refuse", "refusal", "blocked due to safety settings"),
        (
            "fail401",
            "login",
            "[API Error: loopback says 401]; run `gemini` once and log in, or set GEMINI_API_KEY",
        ),
        ("no-login", "login", "run `gemini` once and log in"),
        ("bad-session", None, "Error resuming session"),
    ],
)
def test_a_failure(name, reason, says):
    last = told(name)[-1]
    assert (last["event"], last.get("reason")) == ("error", reason)
    assert says in last["error"]


def test_what_is_unknown_is_an_info():
    for value in ({}, {"type": "news"}, {"type": "message", "role": "system"}, {"type": "error"}):
        assert [event["event"] for event in GeminiEvents({}).read(value)] == ["info"]
