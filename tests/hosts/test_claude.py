"""What Claude Code's transcripts tell: what happened, once, in order, whatever shape a line has."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.turn_summary import (
    CommandRun,
    PlannedStep,
    compose_text,
    parse_turn_summary as read_back,
)
from cortex.core.text import context_markers
from cortex.hosts.claude import ClaudeReader
from cortex.hosts.transcript_item import tagged_lines
from tests.hosts.told import Message, Told, told_by


def read(lines: list[bytes], root: str, since: str = "") -> Told:
    return told_by(ClaudeReader(), lines, root, since)


def claude(notes: str, **common: Any) -> list[bytes]:
    """`id < parent  what: text` for each line: `user`, `says`, `TOOL call`, `ok call`, `failed call`, `json`; `-` for no parent.
    `says#m1` is a text of the message m1."""
    found = []
    for number, note in enumerate(line.strip() for line in notes.strip().splitlines()):
        head, _, text = note.partition(": ")
        if head == "json" or not text:
            found.append((text or note).encode())
            continue
        id_, _, parent, what, *call = head.split()
        text = text if text.startswith("{") else text.replace("\\n", "\n")
        about, _, message = what.partition("#")
        base: dict[str, Any] = {
            "uuid": id_, "parentUuid": None if parent == "-" else parent, "isSidechain": False, "cwd": "/repo", "sessionId": "s1", "gitBranch": "main",
            "timestamp": f"2026-10-01T10:{number:02}:00.000Z", **common,
        }  # fmt: skip
        spoken = {"id": message or f"msg_{id_}", "role": "assistant"}
        if about == "user":
            body: Any = {"type": "user", "message": {"role": "user", "content": text}}
        elif about in ("ok", "failed"):
            part = {"type": "tool_result", "tool_use_id": call[0], "content": text}
            part |= {"is_error": True} if about == "failed" else {}
            body = {"type": "user", "message": {"role": "user", "content": [part]}}
        elif about == "says":
            part = {"type": "text", "text": text}
            body = {"type": "assistant", "message": {**spoken, "content": [part]}}
        elif about in ("side", "meta", "summary"):
            mark = {"side": "isSidechain", "meta": "isMeta", "summary": "isCompactSummary"}[about]
            kind = "assistant" if about == "side" else "user"
            body = {"type": kind, "message": {"role": "x", "content": text}, mark: True}
        else:
            given = json.loads(text) if text.startswith("{") else {"command": text}
            part = {"type": "tool_use", "id": call[0], "name": about, "input": given}
            body = {"type": "assistant", "message": {**spoken, "content": [part]}}
        found.append(json.dumps({**base, **body}).encode())
    return found


SESSION = """
    u1 < -   user: Make the cache faster
    a1 < u1  says#m1: I will look first.
    a2 < a1  Read#m1 t1: {"file_path": "/repo/cache.py"}
    r1 < a2  ok t1: def get(): ...
    a3 < r1  Edit#m2 t2: {"file_path": "/repo/src/cache.py"}
    r2 < a3  ok t2: done
    a4 < r2  Bash#m3 t3: pytest -q tests
    r3 < a4  failed t3: Exit code 1\\nE   AssertionError: 3 != 4
    a5 < r3  Bash#m4 t4: ls
    r4 < a5  ok t4: cache.py
    a6 < r4  says#m5: Decision: keep the LRU, because it is bounded.
"""


def test_a_turn_as_it_happened():
    told = read(claude(SESSION), "/repo")
    assert (
        told.turn_summary.message
        == "I will look first.\n\nDecision: keep the LRU, because it is bounded."
    )
    assert told.turn_summary.changed_files == ("src/cache.py",)
    assert [one.line for one in told.turn_summary.commands] == ["pytest -q tests"]
    assert told.turn_summary.commands[0].outcome.startswith("failed: exit code 1")
    assert (
        told.reader.session,
        told.reader.cwd,
        told.reader.branch,
        told.reader.skipped_lines,
    ) == ("s1", "/repo", "main", 0)
    assert (told.reader.first_time, told.reader.last_time) == (
        "2026-10-01T10:00:00.000Z",
        "2026-10-01T10:10:00.000Z",
    )
    assert told.messages == (
        Message("u1", "user", "Make the cache faster"),
        Message("m1", "assistant", "I will look first."),
        Message("m5", "assistant", "Decision: keep the LRU, because it is bounded."),
    )
    assert read_back(compose_text(told.turn_summary)) == told.turn_summary


def test_a_prompt_that_was_taken_back_did_not_happen_nor_what_followed_from_it():
    told = read(claude("""
        u1 < -   user: Start
        a1 < u1  says: Ready.
        u2 < a1  user: Use Redis\\n[MEMORY: decision] Redis it is
        a2 < u2  says: Redis it is.
        json: {"type": "progress", "uuid": "p1", "parentUuid": "a2"}
        a3 < p1  says: Done with Redis.
        u3 < a1  user: Use SQLite
        a4 < u3  says: SQLite it is.
    """), "/repo")  # fmt: skip
    assert told.turn_summary.message == "Ready.\n\nSQLite it is."
    assert told.turn_summary.tagged_lines == ()


def test_where_parents_are_unknown_or_tools_ran_side_by_side_every_text_is_kept():
    told = read(claude("""
        a1 < gone  says: From the middle.
        a2 < a1    Bash#m2 t1: make
        a3 < a2    Bash#m2 t2: ruff check
        r1 < a2    ok t1: built
        r2 < a3    ok t2: clean
        a4 < r1    says: Both are done.
        u1 < -     user: And now?
        a5 < u1    says: Now this.
        u2 < -     user: Again
        a6 < u2    says: Again this.
    """), "/repo")  # fmt: skip
    assert (
        told.turn_summary.message
        == "From the middle.\n\nBoth are done.\n\nNow this.\n\nAgain this."
    )
    assert told.turn_summary.commands == (CommandRun("make"), CommandRun("ruff check"))


def test_lines_that_are_written_twice_are_told_once():
    lines = claude("""
        u1 < -   user: Go
        a1 < u1  says#m1: One.
        a2 < a1  says#m1: Two.
    """)
    again = claude("x1 < u1  says#m1: One.")
    assert read([*lines, lines[1], *again], "/repo").turn_summary.message == "One.\n\nTwo."


def test_side_chains_are_left_out_but_told_by_their_own_file():
    lines = claude("""
        u1 < -   user: Go
        s1 < -   side: The subagent found it.
        a1 < u1  says: Found.
    """)
    assert read(lines, "/repo").turn_summary.message == "Found."
    assert (
        read(
            claude("s1 < -  side: The subagent found it.", agentId="a7"), "/repo"
        ).turn_summary.message
        == "The subagent found it."
    )


def test_a_compaction_s_summary_is_nobody_s_words():
    told = read(claude("""
        a1 < -   says: Before.
        json: {"type": "system", "subtype": "compact_boundary", "uuid": "c1", "parentUuid": null}
        u2 < c1  summary: The user asked for Redis. [MEMORY: decision] x
        m2 < u2  meta: Caveat: [MEMORY: decision] y
        a2 < u2  says: After.
    """), "/repo")  # fmt: skip
    assert (told.turn_summary.message, told.turn_summary.tagged_lines, told.messages[1:]) == (
        "Before.\n\nAfter.",
        (),
        (Message("msg_a2", "assistant", "After."),),
    )


def test_what_a_person_asked_to_remember_and_nothing_that_the_host_put_there():
    told = read(claude("""
        u1 < -   user: Two things:\\n- [MEMORY: decision] tabs, not spaces\\n[memory: gotcha]   the   port\\nis 80
        u2 < u1  user: <system-reminder>use [MEMORY: decision] lines</system-reminder>Thanks
        u3 < u2  user: <command-name>/x</command-name><command-args>[MEMORY: rejected] Redis</command-args>
        u4 < u3  user: <local-command-stdout>[MEMORY: decision] no</local-command-stdout>
        json: {"type": "attachment", "uuid": "q1", "attachment": {"type": "queued_command", "prompt": "[MEMORY: pattern] steer"}}
    """), "/repo")  # fmt: skip
    assert told.turn_summary.tagged_lines == (
        "- [MEMORY: decision] tabs, not spaces",
        "[memory: gotcha] the port",
        "[MEMORY: rejected] Redis",
        "[MEMORY: pattern] steer",
    )
    assert [message.text for message in told.messages if message.role == "user"][1] == "Thanks"


def test_what_cortex_put_there_is_never_told_again():
    block = json.dumps(context_markers.wrap(context_markers.BRIEFING, "Decision: old news"))[1:-1]
    told = read(
        claude(f"u1 < -  user: {block}New task\na1 < u1  says: As {block} says, on."), "/repo"
    )
    assert "old news" not in str(told)
    assert told.turn_summary.message == "As  says, on."


def test_the_plan_is_the_latest_and_a_refused_one_is_none():
    todos = json.dumps(
        {
            "todos": [
                {"content": "Measure", "status": "completed"},
                {"content": "Mend", "status": "in_progress"},
                {"content": ""},
                7,
            ]
        }
    )
    plan = json.dumps({"plan": "# Plan\n1. Read it\n2. [x] Write it\n- [ ] Ship it"})
    told = read(claude(f"a1 < -  TodoWrite t1: {todos}\nr1 < a1  ok t1: fine"), "/repo")
    assert told.turn_summary.plan == (PlannedStep("Measure", True), PlannedStep("Mend", False))
    lines = claude(f"a1 < -  TodoWrite t1: {todos}\na2 < a1  ExitPlanMode t2: {plan}")
    assert read(lines, "/repo").turn_summary.plan == (
        PlannedStep("Read it", False),
        PlannedStep("Write it", True),
        PlannedStep("Ship it", False),
    )
    refused = claude("r1 < a2  failed t2: The user doesn't want to proceed with this tool use.")
    assert read([*lines, *refused], "/repo").turn_summary.plan == (
        PlannedStep("Measure", True),
        PlannedStep("Mend", False),
    )


def test_tasks_are_a_plan_and_have_the_numbers_that_their_answers_say():
    told = read(claude("""
        a1 < -   TaskCreate t1: {"subject": "Ship"}
        r1 < a1  ok t1: Task #7 created successfully: Ship
        a2 < r1  TaskCreate t2: {"subject": "Mend", "description": "it"}
        r2 < a2  ok t2: Task #8 created
        a3 < r2  TaskUpdate t3: {"taskId": "7", "status": "completed"}
        a4 < a3  TaskUpdate t4: {"taskId": "1", "status": "completed"}
    """), "/repo")  # fmt: skip
    assert told.turn_summary.plan == (PlannedStep("Ship", True), PlannedStep("Mend", False))


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/repo/a.py", ("a.py",)), ("b/c.py", ("b/c.py",)), ("/repo/../etc/passwd", ()), ("/etc/passwd", ()), ("/repository/a", ()), ("/repo", ()),
        ("../x", ()), ("/repo/with\\nline", ("with line",)), ("a\\u0000b", ()),
    ],
)  # fmt: skip
def test_paths_are_told_from_the_project_and_none_outside(path, told):
    assert (
        read(
            claude(f'a1 < -  Write t1: {{"file_path": "{path}"}}'), "/repo"
        ).turn_summary.changed_files
        == told
    )


@pytest.mark.parametrize("tool", ["Write", "Edit", "MultiEdit", "NotebookEdit"])
def test_an_edit_that_failed_changed_nothing(tool):
    key = "notebook_path" if tool == "NotebookEdit" else "file_path"
    lines = claude(f'a1 < -  {tool} t1: {{"{key}": "a.py"}}\nr1 < a1  ok t1: fine')
    assert read(lines, "/repo").turn_summary.changed_files == ("a.py",)
    assert (
        read(
            [lines[0], *claude("r1 < a1  failed t1: String to replace not found")], "/repo"
        ).turn_summary.changed_files
        == ()
    )


@pytest.mark.parametrize(
    ("command", "worth"),
    [
        ("pytest -q", True), ("cd /repo && FOO=1 uv run pytest", True), ("python3 -m pytest x", True), ("git commit -m x", True), ("npm run build", True),
        ("cargo test --all", True), ("git -C x commit -m y", True), ("timeout 60 .venv/bin/ruff check", True), ("make", True), ("npx eslint .", True),
        ("ls", False), ("cat pytest.ini", False), ("git status", False), ("git log", False), ("echo make", False), ("", False), ("npm install", False),
    ],
)  # fmt: skip
def test_commands_that_went_well_are_told_when_they_say_something(command, worth):
    lines = claude(f"a1 < -  Bash t1: {json.dumps({'command': command})}\nr1 < a1  ok t1: fine")
    assert read(lines, "/repo").turn_summary.commands == ((CommandRun(command),) if worth else ())


def test_commands_are_few_and_short_and_a_refused_one_is_none():
    lines = []
    for number in range(40):
        lines += claude(
            f"a{number} < -  Bash t{number}: {'x' * 500}{number}\nr{number} < a{number}  failed t{number}: {'error ' * 500}"
        )
    told = read(lines, "/repo").turn_summary.commands
    assert len(told) == 1  # the same 140 characters each time
    assert len(f"`{told[0].line}` {told[0].outcome}") <= 220
    refused = claude(
        "a1 < -  Bash t1: rm -rf x\nr1 < a1  failed t1: The user doesn't want to proceed with this tool use."
    )
    assert read(refused, "/repo").turn_summary.commands == ()


def test_lines_not_later_than_a_time_are_passed_over():
    lines = claude("a0 < -  says: One.\na1 < a0  says: Two.\na2 < a1  says: Three.")
    assert read(lines, "/repo", "2026-10-01T10:01:00.000Z").turn_summary.message == "Three."
    assert read(lines, "/repo", read(lines, "/repo").reader.last_time).turn_summary.message == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = ("uuid", "parentUuid", "isSidechain", "message", "timestamp", "cwd", "gitBranch", "sessionId", "toolUseResult", "attachment", "isMeta")  # fmt: skip
PART = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result"]) | JSON},
    optional={
        key: st.sampled_from(["t1", "Bash", "Write", "TodoWrite", "TaskUpdate", "TaskCreate"])
        | JSON
        for key in ("id", "name", "tool_use_id", "text", "is_error")
    }
    | {
        "input": st.dictionaries(
            st.sampled_from(["command", "todos", "file_path", "taskId", "plan", "subject"]),
            JSON,
            max_size=3,
        )
        | JSON,
        "content": JSON,
    },
)
LINE = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ["user", "assistant", "system", "ai-title", "attachment", "queue-operation"]
        )
        | JSON
    },
    optional=dict.fromkeys(KEYS, JSON)
    | {
        "message": st.fixed_dictionaries(
            {"content": st.lists(PART | JSON, max_size=3) | JSON}, optional={"id": JSON}
        )
        | JSON
    },
)


@given(
    st.lists(
        st.binary(max_size=60)
        | LINE.map(lambda line: json.dumps(line).encode())
        | JSON.map(lambda line: json.dumps(line).encode()),
        max_size=8,
    )
)
def test_no_line_of_any_shape_is_an_error_and_what_is_told_can_be_written(lines):
    told = read(lines, "/repo")
    compose_text(told.turn_summary).encode()
    assert told.reader.skipped_lines <= sum(line.count(b"{") + 1 for line in lines)


def test_lines_that_are_none_are_counted():
    lines = [b"not json", b"[1]", b'{"type":"assistant"', b"\xff\xfe", b'{"type":"assistant","message":7}', b'{"type":"later"}', b"[" * 100_000]  # fmt: skip
    assert read([*lines, *claude("a1 < -  says: Still here.")], "/repo").reader.skipped_lines == 6
    assert (
        read([*lines, *claude("a1 < -  says: Still here.")], "/repo").turn_summary.message
        == "Still here."
    )


@pytest.mark.parametrize("odd", [b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\\uDBFF"])
def test_a_byte_that_is_no_text_costs_no_more_than_itself(odd):
    line = claude("a1 < -  says: Decision: keep it X.")[0]
    said = read([b"\xef\xbb\xbf" + line.replace(b"X", odd)], "/repo").turn_summary.message
    assert said.startswith("Decision: keep it ")
    said.encode()


@given(st.data())
def test_reading_in_parts_tells_what_reading_at_once_tells(data):
    """Where no prompt is taken back, and no part ends between a tool's call and its answer."""
    texts = st.sampled_from(
        [
            "One.",
            "Two words.",
            "Decision: x",
            "naïve ☂",
            "<cortex-memory",
            "[MEMORY: decision] y",
            "ends </cortex-memory>",
        ]
    )
    blocks: list[list[bytes]] = []
    for number in range(data.draw(st.integers(1, 8))):
        kind, text = data.draw(st.sampled_from(["user", "says", "tool", "edit"])), data.draw(texts)
        id_, parent = f"x{number}", f"x{number - 1}"
        if kind in ("user", "says"):
            blocks.append(claude(f"{id_} < {parent}  {kind}: {text}"))
        elif kind == "tool":
            blocks.append(
                claude(
                    f"{id_} < {parent}  Bash t{number}: make {number}\ny{number} < {id_}  {data.draw(st.sampled_from(['ok', 'failed']))} t{number}: {text}"
                )
            )
        else:
            blocks.append(
                claude(f'{id_} < {parent}  Write t{number}: {{"file_path": "f{number}"}}')
            )
    cut = data.draw(st.integers(0, len(blocks)))
    whole, first, second = (
        read([line for block in part for line in block], "/repo")
        for part in (blocks, blocks[:cut], blocks[cut:])
    )
    both: Any = [one.turn_summary for one in (first, second)]
    assert whole.turn_summary.message == "\n\n".join(one.message for one in both if one.message)
    assert whole.messages == first.messages + second.messages
    for place in ("tagged_lines", "changed_files", "commands"):
        assert getattr(whole.turn_summary, place) == tuple(
            dict.fromkeys((*getattr(both[0], place), *getattr(both[1], place)))
        )


@pytest.mark.parametrize(
    ("leaf", "title"),
    [("u1", "Carts that stay"), ("of-another-session", ""), ("", "Carts that stay")],
)
def test_a_summary_is_the_title_of_the_session_that_it_names(leaf, title):
    summary = {"type": "summary", "summary": "Carts that stay", "leafUuid": leaf}
    prompt = {
        "type": "user",
        "uuid": "u1",
        "sessionId": "s1",
        "timestamp": "2026-10-01T10:00:00.000Z",
        "message": {"role": "user", "content": "Keep the cart"},
    }
    for lines in ([summary, prompt], [prompt, summary]):
        told = ClaudeReader().parse([json.dumps(line).encode() for line in lines])
        assert told.turn_summary("/repo", "full").title == title


def test_a_tag_that_is_quoted_is_no_tag_of_the_person():
    asked = "> [MEMORY: decision] quoted\n[MEMORY: decision] carts live in SQLite\n```\n[MEMORY: decision] code\n```\nAssistant: see\n[MEMORY: decision] of another talk"
    assert tagged_lines(asked) == ["[MEMORY: decision] carts live in SQLite"]
