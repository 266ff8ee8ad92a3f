"""A whole session of an agent, as its host tells of it: what mattered is kept unasked, and the next session starts knowing it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cortex.core.briefing.injected import CONTRACT
from tests.conftest import run_cortex

SESSION = "5f0c7a52-6d3f-4f6b-9a51-0f3e6c1b2a44"
DECISIONS = [
    "Decision: the cart lives in SQLite, because it is one file.",
    "Decision: idempotency keys over locks, because the client retries anyway.",
    "Rejected: a message queue, since one worker is enough.",
]


class Host:
    """Claude Code, as far as its hooks can see it: it writes the transcript, and calls a hook on every event."""

    def __init__(self, project: Path, home: Path) -> None:
        self.project = project
        self.transcript = home / ".claude" / "projects" / "-shop" / f"{SESSION}.jsonl"
        self.transcript.parent.mkdir(parents=True)
        self.last = None
        self.count = 0

    def line(self, role: str, content: Any, **more: Any) -> None:
        self.count += 1
        uuid = f"u{self.count}"
        message = {"role": role, "content": content} | (
            {"id": f"msg_{self.count}", "model": "m"} if role == "assistant" else {}
        )
        base = {"type": role, "uuid": uuid, "parentUuid": self.last, "isSidechain": False, "userType": "external", "cwd": str(self.project)}  # fmt: skip
        at = f"2026-11-20T10:{self.count // 60:02}:{self.count % 60:02}.000Z"
        base |= {"sessionId": SESSION, "version": "2.1.240", "timestamp": at, "message": message}
        with self.transcript.open("a") as file:
            file.write(json.dumps(base | more) + "\n")
        self.last = uuid

    def turn(self, prompt: str, answer: str, *tools: tuple[str, dict[str, Any], str]) -> None:
        """The user asks, the agent uses tools and answers."""
        self.hook("UserPromptSubmit", prompt=prompt)
        self.line("user", prompt)
        for name, arguments, result in tools:
            id_ = f"toolu_{self.count}"
            used = {"type": "tool_use", "id": id_, "name": name, "input": arguments}
            self.line("assistant", [used])
            failed = result.startswith("Exit code")
            told = {
                "type": "tool_result", "tool_use_id": id_, "content": result, "is_error": failed,
            }  # fmt: skip
            self.line("user", [told])
        self.line("assistant", [{"type": "text", "text": answer}])
        self.hook("Stop", stop_hook_active=False, last_assistant_message=answer)

    def hook(self, event: str, **fields: Any) -> str:
        told = {"session_id": SESSION, "transcript_path": str(self.transcript)}
        told |= {"cwd": str(self.project), "hook_event_name": event} | fields
        words = "".join(f"-{sign.lower()}" if sign.isupper() else sign for sign in event).lstrip(
            "-"
        )
        done = subprocess.run(
            [sys.executable, "-m", "cortex", "hook", words, "--host", "claude"],
            input=json.dumps(told), cwd=self.project, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


def start_host(folder: Path) -> Host:
    """A host in the project `shop`, in which nothing was said yet."""
    root = folder / "shop"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (root / ".cortex-project").write_text("shop\n")
    run_cortex("init", "vault", cwd=root).check_returncode()
    return Host(root, folder)


def whole(folder: Path) -> Host:
    """A session of twenty turns with a compaction in the middle."""
    host = start_host(folder)
    project = host.project
    told = json.loads(host.hook("SessionStart", source="startup"))
    assert told["hookSpecificOutput"]["additionalContext"] == CONTRACT  # nothing is known yet
    for number in range(20):
        tools = [("Edit", {"file_path": str(project / "src" / f"part{number}.py")}, "done")]
        if number == 4:
            tools.append(("Bash", {"command": "pytest -q"}, "Exit code 1\n2 failed, 7 passed"))
        if number == 5:
            todos = [
                {"content": "choose a store", "status": "completed"},
                {"content": "write the cart", "status": "pending"},
            ]
            tools.append(("TodoWrite", {"todos": todos}, "ok"))
        said = (
            f"Part {number} is done.\n\n{DECISIONS[number // 7]}"
            if number % 7 == 0
            else f"Part {number} is done."
        )
        host.turn(f"please do part {number}", said, *tools)
        if number == 10:
            host.hook("PreCompact", trigger="auto", custom_instructions="")
            summary = "The user builds a shop. Parts 0 to 10 are done."
            host.line("user", summary, isCompactSummary=True)
            host.hook("PostCompact", trigger="auto", compact_summary=summary)
            host.hook("SessionStart", source="compact")
    host.hook("SessionEnd", reason="prompt_input_exit")
    return host


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Host, Path]:
    """A whole session that no test goes on with, and the home of its user."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        return whole(tmp_path_factory.mktemp("told")), home


@pytest.fixture
def project(told: tuple[Host, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project after that session."""
    host, home = told
    monkeypatch.setenv("HOME", str(home))
    return host.project


def asked(project: Path, *words: str) -> Any:
    done = run_cortex(*words, "--json", cwd=project)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def shown(project: Path, id_: str) -> str:
    return run_cortex("show", id_, cwd=project).stdout


def test_it_is_one_session(project):
    (session,) = asked(project, "session", "list")["hits"]
    assert session["status"] == "done"
    note = shown(project, session["id"])
    assert "src/part19.py" in note
    assert "pytest" in note
    assert note.count(" stop: ") == 20
    assert note.count(" session_start: ") == 1
    assert note.count(" session_end: ") == 1


def test_its_decisions_are_records(project):
    hits = asked(project, "search", "type:decision,rejection", "--number", "50")["hits"]
    assert sorted(hit["type"] for hit in hits) == ["decision", "decision", "rejection"]
    text = "\n".join(shown(project, hit["id"]) for hit in hits)
    for words in ("the cart lives in SQLite", "idempotency keys", "message queue", "layer: keyword", SESSION):  # fmt: skip
        assert words.casefold() in text.casefold()


def test_its_plan_is_one_record(project):
    (hit,) = asked(project, "search", "type:plan")["hits"]
    note = shown(project, hit["id"])
    assert "- [x] choose a store" in note
    assert "- [ ] write the cart" in note


def test_the_next_session_starts_knowing_them_and_says_none_of_it_again(tmp_path):
    host = whole(tmp_path)
    told = json.loads(host.hook("SessionStart", source="startup", session_id="another"))
    assert set(told) == {"hookSpecificOutput"}
    assert told["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    briefing = told["hookSpecificOutput"]["additionalContext"].casefold()
    for words in ("the cart lives in sqlite", "idempotency keys", "message queue", "write the cart"):  # fmt: skip
        assert words in briefing
    assert len(briefing) <= 9_500 + len(f"\n\n{CONTRACT}")
    told = told["hookSpecificOutput"]["additionalContext"]
    before = asked(host.project, "search", "type:decision,rejection", "--number", "50")["hits"]
    host.line("user", told)
    host.turn("go on", f"As I was told:\n\n{told}")
    after = asked(host.project, "search", "type:decision,rejection", "--number", "50")["hits"]
    assert {hit["id"] for hit in after} == {hit["id"] for hit in before}


def test_what_the_user_asked_is_found(project):
    hits = asked(project, "search", "please do part 1", "--all")["hits"]
    assert any("part 1" in f"{hit['title']} {hit['snippet']}" for hit in hits)


def test_a_session_that_was_ended_before_an_answer_is_told_nowhere(tmp_path):
    host = start_host(tmp_path)
    host.hook("SessionStart", source="startup")
    host.hook("UserPromptSubmit", prompt="please move the cart into SQLite")
    host.line("user", "please move the cart into SQLite")
    host.line("user", [{"type": "text", "text": "[Request interrupted by user]"}])
    host.hook("SessionEnd", reason="other")
    assert asked(host.project, "session", "list")["hits"] == []
    assert "Last sessions" not in run_cortex("brief", "--print", cwd=host.project).stdout
    assert not [*host.project.glob("vault/briefings/**/*.md")]
    assert asked(host.project, "search", "cart SQLite")["hits"]  # it is lost to nobody


def test_a_session_in_which_nothing_happened_leaves_nothing(tmp_path):
    host = start_host(tmp_path)
    host.hook("SessionStart", source="startup")
    host.hook("SessionEnd", reason="other")
    assert asked(host.project, "session", "list")["hits"] == []
    assert not list((host.project / "vault").rglob("2*z-*.md"))
