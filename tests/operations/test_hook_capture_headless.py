"""Runs of agents that a program asks: one note a day and project, and in no list of sessions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cortex.core.notes import note as notes
from cortex.operations.capture.hook_capture import HookEvent, capture_hook_event
from cortex.operations.capture.workspace import find_workspace
from cortex.vault.locate import Vault
from tests.conftest import caller_at

RUNS = {
    "0aaaaaaa-0000-4000-8000-000000000001": ("Sum up the tickets of the week", "Eleven tickets came in this week, four of them about the checkout of carts."),
    "0aaaaaaa-0000-4000-8000-000000000002": ("Check the changelog of this month", "Decision: the changelog names versions, since shops ask for them. Nothing else is missing in it."),
}  # fmt: skip


@pytest.fixture
def project(tmp_path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / ".cortex-project").write_text("shop\n")
    return folder


def transcript(folder: Path, run: str, entrypoint: str = "sdk-py") -> Path:
    asked, said = RUNS[run]
    about: dict[str, Any] = {"sessionId": run, "cwd": str(folder), "entrypoint": entrypoint}
    lines = (
        {"type": "user", "uuid": f"u{run}", "timestamp": "2026-11-20T16:01:00.000Z", "message": {"role": "user", "content": asked}} | about,
        {"type": "assistant", "uuid": f"a{run}", "timestamp": "2026-11-20T16:02:00.000Z", "message": {"id": run, "role": "assistant", "content": [{"type": "text", "text": said}]}} | about,
    )  # fmt: skip
    path = folder / f"{run}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def through_hooks(vault: Vault, project: Path, run: str) -> None:
    path, place = transcript(project, run), find_workspace("claude", "", "", str(project), {})[1]
    for name in ("session-start", "user-prompt-submit", "stop", "session-end"):
        told = HookEvent(name, "claude", run, str(project), str(path), RUNS[run][0])
        now = f"2026-11-20T16:45:1{run[-1]}Z"  # of which the ids of these tests are made
        capture_hook_event(vault, caller_at(now, str(project)), told, place, 1.0)


@pytest.mark.parametrize("way", ["hooks", "import", "one of each"])
def test_the_runs_of_a_day_are_one_note(vault, project, cortex, way) -> None:
    first, second = RUNS
    if way == "import":
        transcript(project, first)
    else:
        through_hooks(vault, project, first)
    if way == "hooks":
        through_hooks(vault, project, second)
    else:
        transcript(project, second)
        assert cortex("import", "claude", "--path", str(project), "--all").returncode == 0
    assert cortex("normalize").returncode == 0
    (path,) = Path(vault.root, "sessions").rglob("*.md")
    note = notes.read(path.read_bytes(), str(path))
    assert note.get("title") == "Headless runs of 2026-11-20"
    assert {f"- {ask}" for ask, _ in RUNS.values()} <= set(note.text.splitlines())
    events = [one.read_text() for one in Path(vault.root, "events").rglob("*.md")]
    assert all("session: headless-shop-2026-11-20\n" in one for one in events)
    assert {run for run in RUNS for one in events if f'run: "{run}"' in one} == set(RUNS)
    (record,) = Path(vault.root, "records", "decision").glob("*.md")
    assert "Shops ask for them" in record.read_text()


def test_they_stand_in_no_list_of_recent_sessions_and_are_found(vault, project, cortex) -> None:
    for run in RUNS:
        through_hooks(vault, project, run)
    assert cortex("session", "list").returncode == 1
    for verb in ("brief --print", "context"):
        assert "Headless" not in cortex(*verb.split(), cwd=str(project)).stdout
    assert "session session-headless" in cortex("search", "tickets of the week").stdout


def test_a_session_that_a_person_leads_is_its_own(vault, project, cortex) -> None:
    transcript(project, next(iter(RUNS)), "cli")
    assert cortex("import", "claude", "--path", str(project), "--all").returncode == 0
    (path,) = Path(vault.root, "sessions").rglob("*.md")
    assert "Sum up the tickets" in notes.read(path.read_bytes(), str(path)).get("title")
