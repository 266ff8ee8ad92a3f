"""What goes wrong around a run: full disks, clocks, facets that go, programs that print anything. It ends as a note, once."""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from cortex.core.model.layout import ACTIVE
from cortex.core.runs.run_event import TERMINAL, parse_line
from cortex.core.runs.run_note import RunRequest
from cortex.vault.runs import run_files, run_state
from tests.operations.runs.test_run import marked

HEAD = "import json, os, sys, time\nsys.stdin.readline()\n"
NASTY = r"""
lines = [
    b'{"event": "start", "model": "m", "seq": 99, "agent_id": "run-20261120t171643z-0193ee", "ts": "yesterday"}',
    b'{"event": "message", "text": "a --> b <!-- cx {} --> \u2028 \ud800 \u001b[2J"}',
    b'{"event": "message", "text": NaN}', b'{"event": "message"}', b'{"event": "message", "text": {"a": [1]}}',
    b'[' * 100_000, b'{"a":' * 50_000, b'{"event": "message", "n": ' + b'9' * 5_000 + b'}', b'1e999', b'null', b'"x"',
    b'{"event": "tool_end", "call_id": [1], "ok": "no", "result": 1e400}', b'{"event": "request", "prompt": "no"}',
    b'{"event": "' + b'k' * 1000 + b'"}', b'{"event": ["x"]}', b'{"event": "start", "model": 5}', bytes(range(1, 256)),
    b'{"event": "progress", "ts": 1e300}', b'{"event": "message", "text": "' + b'- 1 <!-- cx {} -->\\n' * 5_000 + b'"}',
    b'{"event": "agent_updated", "agent": null}', b'{"event": "finish", "result": {"a": 1}, "usage": [1], "cost_usd": "x"}',
    b'{"event": "finish", "result": "again"}', b'{"event": "error", "error": "late"}',
]
os.write(1, b"\n".join(lines) + b"\n")
"""


@pytest.fixture
def program(settings: object, tmp_path: Path) -> Callable[[str], None]:
    """Put another program in the place of the provider's."""

    def write(text: str) -> None:
        (tmp_path / "agent.py").write_text(HEAD + dedent(text))

    return write


@pytest.fixture
def waiting(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Ask for a run that nothing starts by itself; its id."""

    def ask(*words: str) -> str:
        with monkeypatch.context() as patch:
            patch.setattr("cortex.operations.runs.request.start_detached", lambda *_: None)
            return str(run("start", *words)["id"])

    return ask


def work(vault: Any, id_: str, largest: int = 0) -> int:
    """Be the runner of a run, which can write files of at most so many bytes, if given."""

    done = limited(vault, ("run", "work", id_), largest)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode


def limited(vault: Any, words: tuple[str, ...], largest: int) -> subprocess.CompletedProcess[str]:
    """`cortex`, which can write files of at most so many bytes, if given."""

    def limit() -> None:
        if largest:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}  # a half one would be left
    line = [sys.executable, "-m", "cortex", *words]
    return subprocess.run(line, cwd=vault.root, env=env, capture_output=True, text=True, preexec_fn=limit, timeout=60, check=False)  # fmt: skip


def assert_sound(vault: Any, id_: str) -> list[dict[str, Any]]:
    """Numbers without a gap, one end; the events."""
    run = run_files.find_run(vault, id_)
    lines = Path(vault.root, run.path).read_text().splitlines()
    events = [event for line in lines if (event := parse_line(line))]
    assert [one["seq"] for one in events] == list(range(len(events)))
    assert [one["event"] in TERMINAL for one in events] == [*[False] * (len(events) - 1), True]
    assert {one["agent_id"] for one in events} == {id_}
    assert run.path.startswith("runs/2")
    assert run_files.list_open(vault) == []
    assert not marked(id_)
    return events


def test_a_disk_that_is_full_loses_no_event_and_the_next_command_closes_the_run(vault, program, waiting, cortex) -> None:  # fmt: skip
    program("for count in range(500): print(json.dumps({'event': 'message', 'text': f'{count} ' + 'x' * 100}), flush=True)\n")  # fmt: skip
    id_ = waiting("default", "x")
    assert work(vault, id_, largest=30_000) != 0
    before = run_files.find_run(vault, id_).events
    assert 20 < len(before) < 500
    still = limited(vault, ("run", "list", "--json"), largest=30_000)
    assert "Traceback" not in still.stderr, still.stderr
    (said,) = json.loads(still.stdout)["problems"]
    assert said["where"] == f"runs/active/{id_}.md"
    assert run_files.list_runs(vault, ACTIVE) == [id_]
    assert cortex("status").returncode == 0
    events = assert_sound(vault, id_)
    assert events[: len(before)] == list(before)
    assert events[-1]["reason"] == "recovered"


def test_a_disk_without_room_for_the_request_acknowledges_none(vault, program) -> None:
    program("")
    done = limited(vault, ("run", "start", "default", "x" * 20_000), 8_000)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert run_files.list_open(vault) == []
    assert not list(Path(run_state.folder(vault)).glob("run-*"))


def test_a_clock_that_goes_back_changes_no_order(vault) -> None:
    id_, times = "run-20261120t171643z-0193ee", ("17:16:44.000", "17:10:00.000", "16:00:00.000")
    run_state.remember(vault, id_, {})
    run_files.add_request(vault, id_, RunRequest("default", "x"), "2026-11-20T17:16:43Z")
    active = run_files.claim(vault, id_)
    assert active
    said = ({"event": "start"}, {"event": "tool_start", "call_id": "c"}, {"event": "tool_end", "call_id": "c"}, {"event": "finish", "result": "done"})  # fmt: skip
    for at, event in zip((*times, times[0]), said, strict=True):
        active.append(event, f"2026-11-20T{at}Z", str)
    active.seal("", "done")
    state = run_files.find_run(vault, id_).state
    assert (state.status, state.seconds, state.tool_seconds) == ("finished", 0.0, {"c": 0.0})
    assert [one["event"] for one in assert_sound(vault, id_)] == ["request", *(one["event"] for one in said)]  # fmt: skip


def test_a_facet_that_is_deleted_meanwhile_is_named(vault, program, waiting) -> None:
    note = Path(vault.root, "facets/work.md")
    note.parent.mkdir()
    note.write_text("---\ntitle: Work\n---\n")
    id_ = waiting("default", "x", "--facet", "work")
    note.unlink()
    work(vault, id_)
    assert "there is no facets/work.md" in assert_sound(vault, id_)[-1]["error"]


def test_20_mb_without_a_line_end_are_an_event_of_their_beginning(vault, program, waiting) -> None:
    program("for _ in range(20): os.write(1, b'x' * (1 << 20))\nprint()\nprint(json.dumps({'event': 'finish', 'result': 'done'}))")  # fmt: skip
    id_, begun = waiting("default", "x"), time.monotonic()
    work(vault, id_)
    kinds = [one["event"] for one in assert_sound(vault, id_)]
    assert kinds == ["request", "start", "info", "finish"]
    path = run_files.find_run(vault, id_).path
    assert Path(vault.root, path).stat().st_size < 20_000
    assert time.monotonic() - begun < 20


def test_whatever_a_program_prints_is_in_its_place(vault, program, waiting, cortex) -> None:
    program(NASTY)
    id_ = waiting("default", "x")
    work(vault, id_)
    events = assert_sound(vault, id_)
    assert len(events) > 15
    text = Path(vault.root, run_files.find_run(vault, id_).path).read_text()
    assert "\x1b" not in text
    assert max(map(len, text.partition("## Result")[0].splitlines())) < 20_000
    for words in (("run", "show", id_), ("run", "follow", id_), ("run", "list"), ("costs",), ("run", "show", id_, "--json")):  # fmt: skip
        said = cortex(*words)
        assert "Traceback" not in said.stdout + said.stderr, words
        assert "\x1b" not in said.stdout, words
    json.loads(cortex("run", "show", id_, "--json").stdout)


def test_a_program_that_forks_and_goes_leaves_nothing(vault, program, waiting) -> None:
    program("""
        print(json.dumps({"event": "start", "model": "m"}), flush=True)
        for _ in range(5):
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0: time.sleep(600)
                os._exit(0)
        print(json.dumps({"event": "finish", "result": "done"}), flush=True)
    """)
    id_, begun = waiting("default", "x"), time.monotonic()
    work(vault, id_)
    assert assert_sound(vault, id_)[-1]["result"] == "done"
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("text", ["", "print('{}')", "print('{\"event\": \"finish\"}')", "raise SystemExit(0)"])  # fmt: skip
def test_a_program_without_an_answer_has_failed_or_says_nothing(vault, program, waiting, text) -> None:  # fmt: skip
    program(text)
    id_ = waiting("default", "x")
    work(vault, id_)
    end = assert_sound(vault, id_)[-1]
    assert (end["event"], end.get("result", "")) in (("error", ""), ("finish", ""))
