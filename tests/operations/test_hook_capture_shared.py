"""A transcript in which another session wrote, too: doctor names the path and both sessions, and what takes the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cortex.core.model.problem import Problem
from cortex.operations.capture.hook_capture import HookEvent, capture_hook_event
from cortex.operations.capture.workspace import find_workspace
from cortex.operations.care.doctor import doctor
from tests.conftest import caller_at

NOW = "2026-11-20T16:45:12Z"


def line(session: str, text: str, minute: int) -> str:
    table: dict[str, Any] = {
        "type": "assistant", "uuid": f"{session}-{minute}", "sessionId": session, "timestamp": f"2026-11-20T16:{minute:02}:00.000Z",
        "message": {"id": f"m-{session}-{minute}", "role": "assistant", "content": [{"type": "text", "text": text}]},
    }  # fmt: skip
    return f"{json.dumps(table)}\n"


def stop(vault, project: Path, session: str) -> None:
    told = HookEvent("stop", "claude", session, transcript=str(project / "t.jsonl"))
    here = caller_at(NOW, str(project))
    capture_hook_event(
        vault, here, told, find_workspace("claude", "", "", str(project), {})[1], 1.0
    )


def shared(vault, project: Path, now: str = NOW) -> list[Problem]:
    found = doctor(vault, caller_at(now, str(project))).problems
    return [one for one in found if one.where.endswith("t.jsonl")]


@pytest.fixture
def project(vault, tmp_path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / ".cortex-project").write_text("shop\n")
    (folder / "t.jsonl").write_text(line("a-1", "Decision: carts live in SQLite.", 1))
    stop(vault, folder, "a-1")
    assert shared(vault, folder) == []
    return folder


@pytest.mark.parametrize("over", [False, True])
def test_the_path_and_both_sessions_are_named_for_two_weeks(vault, project, cortex, over) -> None:
    """Whether the other session wrote behind the first or over it."""
    theirs = line("b-2", "Decision: prices are kept in cents.", 2)
    path = project / "t.jsonl"
    path.write_text(theirs if over else path.read_text() + theirs)
    stop(vault, project, "a-1")
    (problem,) = shared(vault, project)
    assert problem.where == str(path)
    assert "b-2" in problem.message
    assert "a-1" in problem.message
    assert problem.hint == f"cortex import claude --path {path}"
    assert shared(vault, project, "2026-12-03T16:00:00Z") == [problem]
    assert shared(vault, project, "2026-12-05T16:00:00Z") == []
    assert cortex(*problem.hint.split()[1:], cwd=str(project)).returncode == 0
    for words in ("cents", "carts"):  # each once
        found = cortex("search", words, "type:decision", "--json", cwd=str(project)).stdout
        assert len(json.loads(found)["hits"]) == 1
    assert shared(vault, project) == []


def test_a_session_that_was_captured_itself_is_no_problem(vault, project) -> None:
    with (project / "t.jsonl").open("a") as file:
        file.write(line("b-2", "Decision: prices are kept in cents.", 2))
    stop(vault, project, "a-1")
    stop(vault, project, "b-2")
    assert shared(vault, project) == []
