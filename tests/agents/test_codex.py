"""What Codex 0.171.0 printed, as events."""

import pytest

from cortex.agents.codex import CodexEvents
from tests.agents.real_programs import events_of, recorded

SESSION = "00000000-0000-4000-8000-000000000001"


def told(name: str, before: dict[str, int] | None = None) -> list[dict]:
    return events_of("codex", recorded(f"codex-{name}"), before)


def test_an_answer():
    assert told("text") == [
        {"event": "start", "session_id": SESSION, "model": ""},
        {"event": "message", "text": "Hello from loopback."},
        {"event": "finish", "result": "Hello from loopback.", "session_id": SESSION,
         "usage": {"input": 120, "output": 7, "cached": 30}},
    ]  # fmt: skip


def test_a_command_has_a_beginning_and_an_end():
    _, begin, end, _, finish = told("tool")
    assert begin["tool"] == end["tool"] == "command_execution"
    assert begin["args"] == {"command": "/bin/bash -lc 'cat /home/u/vault/note.md'"}
    assert (begin["call_id"], end["ok"], end["result"]) == (end["call_id"], True, "loopback\n")
    assert finish["usage"] == {"input": 240, "output": 14, "cached": 60}


def test_usage_is_that_of_this_run_alone():
    """A thread that goes on counts from its beginning."""
    before = {"input": 120, "output": 7, "cached": 30}
    assert told("tool", before)[-1]["usage"] == {"input": 120, "output": 7, "cached": 30}
    assert told("text", {"input": 999})[-1]["usage"]["input"] == 0


def test_a_thought():
    assert {"event": "thinking", "summary": "They want a greeting."} in told("think")


@pytest.mark.parametrize(
    ("name", "reason", "says"),
    [
        ("refuse", "refusal", "the model gave no answer"),
        ("block", "refusal", "content_filter"),
        ("fail401", "login", "run `codex login`, or set CODEX_API_KEY"),
        ("fail429", "limit", "429 Too Many Requests"),
        ("bad-session", None, "no rollout found"),
    ],
)
def test_a_failure(name, reason, says):
    last = told(name)[-1]
    assert (last["event"], last.get("reason")) == ("error", reason)
    assert says in last["error"]


def test_each_new_try_is_told():
    kinds = [event["event"] for event in told("fail401")]
    assert kinds == ["start", *["progress"] * 6, "error"]


# As the sources of Codex have these; the model server cannot bring them about.
ITEMS = [
    ({"id": "1", "type": "mcp_tool_call", "server": "cortex", "tool": "search", "arguments": {"q": "x"},
      "result": None, "error": {"message": "no"}, "status": "failed"}, ("search", {"arguments": {"q": "x"}}, False)),
    ({"id": "2", "type": "web_search", "query": "word"}, ("web_search", {"query": "word"}, True)),
    ({"id": "3", "type": "file_change", "changes": [], "status": "completed"}, ("file_change", {"changes": []}, True)),
]  # fmt: skip


@pytest.mark.parametrize(("item", "expected"), ITEMS)
def test_a_tool_that_is_only_completed_begins_and_ends(item, expected):
    begin, end = CodexEvents({}).read({"type": "item.completed", "item": item})
    assert (begin["tool"], begin["args"], end["ok"]) == expected
    assert begin["call_id"] == end["call_id"] == item["id"]


def test_what_is_unknown_is_an_info():
    for value in ({}, {"type": "news"}, {"type": "item.completed"}, {"type": "item.completed", "item": {"type": "new"}},
                  {"type": "item.completed", "item": {"type": "error", "message": "odd"}}):  # fmt: skip
        assert [event["event"] for event in CodexEvents({}).read(value)] == ["info"]
    assert CodexEvents({}).read({"type": "item.updated", "item": {"type": "todo_list"}}) == []
