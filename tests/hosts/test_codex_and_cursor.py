"""What Codex's and Cursor's transcripts tell."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.turn_summary import CommandRun, PlannedStep, compose_text
from cortex.hosts import HOST_NAMES, has_transcripts, new_reader
from cortex.hosts.codex import CodexReader, tool_output
from cortex.hosts.cursor import CursorReader
from cortex.hosts.transcript_item import normalize_timestamp
from tests.hosts.told import told_by

PATCH = "*** Begin Patch\n*** Add File: new.py\n+x\n*** Update File: src/old.py\n*** Move to: src/moved.py\n*** Delete File: /etc/passwd\n*** End Patch"


def rollout(*items: tuple[str, dict[str, Any]]) -> list[bytes]:
    return [
        json.dumps(
            {"timestamp": f"2026-10-01T10:00:{number:02}.5Z", "type": type_, "payload": item}
        ).encode()
        for number, (type_, item) in enumerate(items)
    ]


def said(text: str, role: str = "assistant") -> tuple[str, dict[str, Any]]:
    return "response_item", {"type": "message", "role": role, "content": [{"type": "output_text", "text": text}]}  # fmt: skip


def event(text: str, kind: str = "agent_message") -> tuple[str, dict[str, Any]]:
    return "event_msg", {"type": kind, "message": text}


def call(name: str, given: Any, id_: str, output: Any) -> list[tuple[str, dict[str, Any]]]:
    asked = given if isinstance(given, str) else json.dumps(given)
    about = {"name": name, "arguments": asked, "call_id": id_}
    return [
        ("response_item", {"type": "function_call", **about}),
        ("response_item", {"type": "function_call_output", "call_id": id_, "output": output}),
    ]


META = ("session_meta", {"id": "s1", "cwd": "/repo", "git": {"branch": "dev"}})


def test_a_rollout_tells_each_thing_once_though_it_says_it_twice():
    told = told_by(CodexReader(),
        rollout(
            META, ("turn_context", {"cwd": "/repo"}), said("<environment_context>[MEMORY: decision] no</environment_context>", "user"),
            event("Go\n[MEMORY: decision] WAL", "user_message"), said("Go\n[MEMORY: decision] WAL", "user"), event("One."), said("One."), said("Two."), event("Two."),
            said("Two."), event("Two."), event("Only an event."), said("Only an item."), ("response_item", {"type": "reasoning", "summary": []}),
        ),
        "/repo",
    )  # fmt: skip
    assert told.turn_summary.message == "One.\n\nTwo.\n\nTwo.\n\nOnly an event.\n\nOnly an item."
    assert told.turn_summary.tagged_lines == ("[MEMORY: decision] WAL",)
    assert (
        told.reader.session,
        told.reader.cwd,
        told.reader.branch,
        told.reader.skipped_lines,
    ) == ("s1", "/repo", "dev", 0)
    assert (told.reader.first_time, told.reader.last_time) == (
        "2026-10-01T10:00:00.500Z",
        "2026-10-01T10:00:13.500Z",
    )


def test_what_was_done():
    plan = {"plan": [{"step": "Measure", "status": "completed"}, {"step": "Mend", "status": "in_progress"}]}  # fmt: skip
    here = f"apply_patch <<'EOF'\n{PATCH.replace('new.py', 'here.py')}\nEOF"
    patched = {"type": "custom_tool_call_output", "call_id": "5", "output": [{"type": "output_text", "text": "Done!"}]}  # fmt: skip
    lines = rollout(
        META,
        *call("shell", {"command": ["bash", "-lc", "pytest -q"]}, "1", '{"output": "E  boom error", "metadata": {"exit_code": 2}}'),
        *call("exec_command", {"cmd": "make"}, "2", "Chunk ID: 1\nWall time: 1\nProcess exited with code 0\nOutput:\nbuilt"),
        *call("shell_command", {"command": "ls"}, "3", "Exit code: 0\nOutput:\nx"),
        *call("update_plan", plan, "4", "Plan updated"),
        ("response_item", {"type": "custom_tool_call", "name": "apply_patch", "input": PATCH, "call_id": "5"}),
        ("response_item", patched),
        *call("shell", {"command": ["apply_patch", PATCH.replace("new.py", "failed.py")]}, "6", "Exit code: 1\nOutput:\nno such hunk"),
        *call("shell", {"command": ["bash", "-lc", here], "workdir": "sub"}, "7", "Exit code: 0"),
    )  # fmt: skip
    told = told_by(CodexReader(), lines, "/repo")
    assert told.turn_summary.commands == (
        CommandRun("pytest -q", "failed: exit code 2, E boom error"),
        CommandRun("make"),
    )
    assert told.turn_summary.plan == (PlannedStep("Measure", True), PlannedStep("Mend", False))
    changed = "new.py src/old.py src/moved.py sub/here.py sub/src/old.py sub/src/moved.py"
    assert told.turn_summary.changed_files == tuple(changed.split())


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("plain", ("plain", "")), ({"output": "x", "metadata": {"exit_code": 1}}, ("x", "1")), ('{"output": "x", "metadata": {}}', ("x", "")),
        ("Exit code: 7\nWall time: 1\nOutput:\nwhy", ("why", "7")), ([{"text": "a"}, {"text": "b"}], ("a\nb", "")), (None, ("", "")), (7, ("", "")),
        ({"content": "x", "success": False}, ("x", "1")), ("{not json", ("{not json", "")), ('{"output": "{\\"output\\": 1}"}', ('{"output": 1}', "")),
    ],
)  # fmt: skip
def test_an_answer_and_its_exit_code(output, told):
    assert tool_output(output) == told


def test_turns_that_were_taken_back_did_not_happen():
    back = ("event_msg", {"type": "thread_rolled_back", "num_turns": 2})
    lines = rollout(
        event("1", "user_message"), event("One."), said("2", "user"), event("2", "user_message"), said("Two."), event("3", "user_message"), event("Three."),
        back, event("4", "user_message"), event("Four."), ("event_msg", {**back[1], "num_turns": 9}), event("Five."),
        ("event_msg", {**back[1], "num_turns": "x"}), event("Six."),
    )  # fmt: skip
    assert (
        told_by(CodexReader(), lines, "/repo").turn_summary.message
        == "One.\n\nFour.\n\nFive.\n\nSix."
    )
    assert (
        told_by(CodexReader(), lines[:7], "/repo").turn_summary.message == "One.\n\nTwo.\n\nThree."
    )


def test_a_subagent_s_rollout_and_a_fork_know_what_they_are():
    aside = new_reader("codex")
    aside.feed(
        rollout(("session_meta", {"id": "s2", "source": {"subagent": {"thread_spawn": {}}}}), META)
    )
    assert (aside.is_sidechain, aside.session) == (True, "s2")


def copilot_line(number: int, type_: str, **data: Any) -> bytes:
    about = {"id": f"e{number}", "timestamp": f"2026-10-01T10:00:{number:02}.5Z", "parentId": None}
    return json.dumps({"type": type_, "data": data, **about}).encode()


def test_copilot_s_events():
    make = {"toolCallId": "1", "toolName": "bash", "arguments": {"command": "make", "description": "Build"}}  # fmt: skip
    test = {"toolCallId": "2", "toolName": "bash", "arguments": {"command": "pytest -q"}}
    edit = {"toolCallId": "3", "toolName": "edit", "arguments": {"path": "/repo/src/a.py", "old_str": "a", "new_str": "b"}}  # fmt: skip
    refused_ = {"toolCallId": "4", "toolName": "create", "arguments": {"path": "/repo/no.py"}}
    lines = [
        copilot_line(0, "session.start", sessionId="s1", context={"cwd": "/repo", "gitRoot": "/repo", "branch": "dev"}),
        copilot_line(1, "system.message", role="system", content="Decision: no"),
        copilot_line(2, "user.message", content="Go\n[MEMORY: gotcha] port", transformedContent="<x>[MEMORY: gotcha] no</x>"),
        copilot_line(3, "assistant.message", messageId="m1", content="Looking.", toolRequests=[make], reasoningText="Decision: no"),
        copilot_line(4, "tool.execution_start", **make),
        copilot_line(5, "tool.execution_complete", toolCallId="1", success=True, result={"content": "built\n<exited with exit code 0>"}),
        copilot_line(6, "tool.execution_start", **test),
        copilot_line(7, "tool.execution_complete", toolCallId="2", success=True, result={"content": "E  boom error\n<exited with exit code 1>"}),
        copilot_line(8, "tool.execution_start", **edit),
        copilot_line(9, "tool.execution_complete", toolCallId="3", success=True, result={"content": "ok"}),
        copilot_line(10, "tool.execution_start", **refused_),
        copilot_line(11, "tool.execution_complete", toolCallId="4", success=False, error={"code": "denied", "message": "Permission denied"}),
        copilot_line(12, "assistant.message", messageId="m2", content="Decision: of a subagent", parentToolCallId="9"),
        copilot_line(13, "assistant.message", messageId="m3", content="Decision: use WAL"),
        b'{"type": "assistant.message"}',
    ]  # fmt: skip
    told = told_by(new_reader("copilot"), lines, "/repo")
    assert told.turn_summary.message == "Looking.\n\nDecision: use WAL"
    assert told.turn_summary.tagged_lines == ("[MEMORY: gotcha] port",)
    assert told.turn_summary.changed_files == ("src/a.py",)
    assert told.turn_summary.commands == (
        CommandRun("make"),
        CommandRun("pytest -q", "failed: exit code 1, E  boom error".replace("  ", " ")),
    )
    assert (
        told.reader.session,
        told.reader.cwd,
        told.reader.branch,
        told.reader.first_time,
        told.reader.skipped_lines,
    ) == ("s1", "/repo", "dev", "2026-10-01T10:00:00.500Z", 1)
    assert [
        piece.sidechain for piece in new_reader("copilot").feed(lines) if "subagent" in piece.text
    ] == ["9"]


def test_cursor_s_transcripts_have_no_times():
    prompt = "<attached>x</attached><user_query>\nGo\n[MEMORY: gotcha] port\n</user_query>"
    wrote = {"type": "tool_use", "name": "Write", "input": {"path": "/repo/a.py"}}
    lines = [
        {"role": "user", "message": {"content": [{"type": "text", "text": prompt}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "Done."}, wrote]}},
        {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "StrReplace", "input": {"path": "/elsewhere/a.py"}}, 7, None]}},
        {"role": "assistant", "message": {"content": 7}},
    ]  # fmt: skip
    told = told_by(
        CursorReader(),
        [json.dumps(line).encode() for line in lines],
        "/repo",
        "2026-10-01T10:00:00.000Z",
    )
    assert (
        told.turn_summary.message,
        told.turn_summary.tagged_lines,
        told.turn_summary.changed_files,
        told.reader.skipped_lines,
    ) == ("Done.", ("[MEMORY: gotcha] port",), ("a.py",), 1)
    assert [message.text for message in told.messages] == ["Go\n[MEMORY: gotcha] port", "Done."]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
WORDS = [
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "message", "function_call",
    "custom_tool_call", "apply_patch", "shell", "update_plan",
]  # fmt: skip
KEYS = "type role content name arguments input call_id output message cwd git id payload timestamp".split()
LINE = st.dictionaries(
    st.sampled_from(KEYS),
    st.sampled_from(WORDS)
    | JSON
    | st.dictionaries(st.sampled_from(KEYS), st.sampled_from(WORDS) | JSON, max_size=6),
    max_size=6,
)


@pytest.mark.parametrize("host", list(filter(has_transcripts, HOST_NAMES)))
@given(
    lines=st.lists(
        st.binary(max_size=40) | LINE.map(lambda line: json.dumps(line).encode()), max_size=6
    )
)
def test_no_bytes_are_an_error_to_any_reader(host, lines):
    compose_text(told_by(new_reader(host), lines, "/repo").turn_summary).encode()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("2026-06-15T10:00:01.000Z", "2026-06-15T10:00:01.000Z"), ("2026-06-15T10:00:01Z", "2026-06-15T10:00:01.000Z"),
        ("2026-06-15T10:00:01.123456Z", "2026-06-15T10:00:01.123Z"), ("2026-06-15T10:00:01.5+02:00", "2026-06-15T08:00:01.500Z"),
        (1_781_517_601_000, "2026-06-15T10:00:01.000Z"), (1999.9999, "1970-01-01T00:00:01.999Z"), ("2026-13-15T10:00:01Z", ""), ("yesterday", ""), (None, ""), (True, ""), (-1, ""), (1e300, ""), ([], ""),
        ("0001-01-01T00:00:00+14:00", ""), ("", ""),
    ],
)  # fmt: skip
def test_times_in_one_form(value, told):
    assert normalize_timestamp(value) == told


def test_codex_s_questions_are_answered_editors_say_what_is_open_and_a_thread_has_a_name():
    asked = {"questions": [{"id": "store", "question": "Which store?"}, {"id": "n", "question": "How many?"}]}  # fmt: skip
    open_files = "# Context from my IDE setup:\n\n## Open tabs:\n- cart.py: src/cart.py\n\n## My request for Codex:\nKeep the cart"
    lines = rollout(
        META,
        ("event_msg", {"type": "thread_name_updated", "thread_name": "Carts that stay"}),
        said(open_files, "user"),
        event(open_files, "user_message"),
        *call("request_user_input", asked, "c1", json.dumps({"answers": {"store": {"answers": ["SQLite", "user_note: one file"]}, "n": None}})),
        *call("request_user_input", asked, "c2", "aborted by user"),
        *call("shell", {"command": "ls"}, "c3", json.dumps({"answers": {"store": {"answers": ["no"]}}})),
    )  # fmt: skip
    filed = "## User Input\n\n```text\nname the cart\n```\n\nYou **MUST** consider the user input. Always write tests."
    told = CodexReader().parse(rollout(META, said(filed, "user"))).turn_summary("/repo", "full")
    assert told.message == "> [!user] name the cart"
    told = CodexReader().parse(lines).turn_summary("/repo", "full")
    assert told.message == "> [!user] Keep the cart\n\n> [!answer] Which store?\n> SQLite, user_note: one file"  # fmt: skip
    assert told.title == "Carts that stay"
