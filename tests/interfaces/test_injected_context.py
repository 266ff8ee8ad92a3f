"""What a hook says when a session starts: what is kept, else what the watcher says, else what is made here; and a context that was
emptied may be reminded anew."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cortex.core.briefing.injected import CONTRACT
from cortex.interfaces.hook import injected_context as speaking
from cortex.interfaces.hook.injected_context import context_for_agent
from cortex.operations.capture.hook_capture import HookEvent
from cortex.operations.capture.workspace import Workspace, find_workspace
from cortex.vault.locate import Vault
from cortex.vault.state import reminder_log
from cortex.watcher import protocol

FILE = str(Path(speaking.__file__).with_name("main.py"))
SESSION = "s-1"


@pytest.fixture
def project(tmp_path, git, cortex) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q")
    (root / ".cortex-project").write_text("shop\n")
    assert cortex("init", "vault", cwd=str(root)).returncode == 0
    assert (
        cortex(
            "capture", "Decision: sessions are kept in SQLite because it is one file", cwd=str(root)
        ).returncode
        == 0
    )
    assert cortex("search", "sessions", cwd=str(root)).returncode == 0
    return root


def start(project: Path, source: str = "startup") -> str:
    """The text for the agent, as a process of a host hears it."""
    told = {"session_id": SESSION, "cwd": str(project), "hook_event_name": "SessionStart", "source": source}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-I", "-S", FILE, "session-start", "--host", "claude"], cwd=project, env=os.environ, input=json.dumps(told).encode(),
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""


def test_what_is_kept_comes_first_then_the_watcher_and_else_it_is_made(
    project, caller, monkeypatch
):
    vault = Vault(str(project / "vault"))
    here = caller._replace(cwd=str(project), source="hook")
    asked: list[dict[str, str]] = []
    answer: list[str | None] = [None]

    def watcher(root: str, cwd: str, **names: str) -> str | None:
        asked.append({"root": root, "cwd": cwd, **names})
        return answer[0]

    # Another process, which here answers as it is told to.
    monkeypatch.setattr(protocol, "request_briefing", watcher)

    def said(**more: str) -> str:
        asked.clear()
        time.sleep(0.06)  # a tick of the file system's clock
        return context_for_agent(
            vault,
            here,
            HookEvent("session-start", "claude", SESSION, source="startup"),
            find_workspace("claude", "", "", str(project), os.environ)[1]._replace(**more),
        )

    made = said()
    assert "SQLite" in made
    assert asked == [{"root": vault.root, "cwd": str(project), "project": "shop", "branch": "main"}]
    assert said() == made
    assert asked == []
    for words in ("from the watcher", ""):  # also that there is nothing to say
        answer[0] = words
        assert said(branch="other") == "\n\n".join(filter(None, (words, CONTRACT)))
        assert len(asked) == 1
    assert said() == made


def test_of_a_folder_whose_name_is_a_secret_there_is_no_briefing(project, caller, monkeypatch):
    monkeypatch.setattr(protocol, "request_briefing", lambda *_, **__: pytest.fail("asked"))
    place = Workspace("/x/ghp_" + "a" * 36, str(project), "shop", "main", str(project))
    assert (
        context_for_agent(
            Vault(str(project / "vault")),
            caller,
            HookEvent("session-start", "claude", SESSION, source="startup"),
            place,
        )
        == CONTRACT
    )


@pytest.mark.parametrize(
    ("source", "forgotten"),
    [("startup", True), ("clear", True), ("compact", True), ("resume", False)],
)
def test_a_context_that_was_emptied_may_be_reminded_anew(project, source, forgotten):
    vault = Vault(str(project / "vault"))
    reminder_log.append(vault, SESSION, ["a-record"])
    reminder_log.append(vault, "another", ["a-record"])
    assert "SQLite" in start(project, source)
    assert ("a-record" in reminder_log.read_ids(vault, SESSION)) != forgotten
    assert "a-record" in reminder_log.read_ids(vault, "another")
