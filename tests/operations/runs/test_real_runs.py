"""Runs by the real Claude Code, Codex and Gemini CLI, from the command to the note, against the model server on this machine.
Skipped where CORTEX_REAL_CLI_BIN does not name their folder."""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.vault import trust, user_settings
from cortex.vault.runs import run_files, run_state
from tests.agents.loopback_model import TEXT, LoopbackServer, serve
from tests.agents.real_programs import find_program, user_of
from tests.operations.runs.test_run import events_of, has_ended, marked, runner_of, wait_for

PROTOCOLS = {"anthropic": "claude", "openai": "codex", "google": "gemini"}
# What the server does -> of each provider what the note says of it.
SAID = {
    "/fail401": {
        "anthropic": r"authentication_failed; run `claude` and type /login, or set ANTHROPIC_API_KEY",
        "openai": r"401 Unauthorized.*; run `codex login`, or set CODEX_API_KEY",
        "google": r"loopback says 401.*; run `gemini` once and log in, or set GEMINI_API_KEY",
    },
    "/fail429": {
        "anthropic": r"429.*; wait, then ask again, or another provider",
        "openai": r"429 Too Many Requests; wait, then ask again, or another provider",
        "google": r"it said nothing for 8 seconds \(idle in your settings\): Attempt \d failed with status 429",
    },
    "/refuse": {
        "anthropic": r"Usage Policy", "openai": r"the model gave no answer", "google": r"blocked due to safety",
    },
    "/slow": dict.fromkeys(PROTOCOLS, r"it said nothing for 8 seconds \(idle in your settings\)"),
}  # fmt: skip


@pytest.fixture(params=PROTOCOLS)
def provider(request: pytest.FixtureRequest) -> str:
    if not find_program(PROTOCOLS[request.param]):
        pytest.skip(f"there is no {PROTOCOLS[request.param]}: CORTEX_REAL_CLI_BIN names its folder")
    return str(request.param)


@pytest.fixture
def asked(vault: Any, monkeypatch: pytest.MonkeyPatch, provider: str) -> Iterator[Callable[[str], LoopbackServer]]:  # fmt: skip
    """Let the server do what a mode says. There is an agent `hello` that is trusted."""
    file = Path(user_settings.settings_file())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'[agents]\nidle = 8\nprovider = "{provider}"\n')
    note = Path(vault.root, "agents/hello.md")
    note.parent.mkdir()
    note.write_text("---\ntype: agent\ntitle: Greeter\n---\nSay hello.\n")
    trust.pin(vault, "hello", note.read_bytes())
    Path(vault.root, "note.md").write_text("loopback\n")
    with serve(file=f"{vault.root}/note.md", pause=60.0) as server:

        def ask(mode: str = "") -> LoopbackServer:
            home = Path(os.environ["HOME"])
            for name, value in user_of(home, Path(vault.root), server.url + mode).items():
                monkeypatch.setenv(name, value)
            return server

        yield ask


def test_a_chat_goes_on_in_one_folder(vault, asked, ended_in, provider) -> None:
    server = asked()
    first = ended_in(vault, "run", "start", "hello", "One.")
    second = ended_in(vault, "run", "continue", first["id"], "Two.")
    third = ended_in(vault, "run", "continue", second["id"], "Three.")
    assert {one["status"] for one in (first, second, third)} == {"finished"}
    assert {one["session_id"] for one in (first, second, third)} == {first["session_id"]}
    assert (second["chat_id"], third["chat_id"]) == (first["id"], first["id"])
    assert {(one["tokens_in"], one["tokens_out"]) for one in (first, second, third)} == {
        (first["tokens_in"], 7)
    }
    assert all(word in json.dumps(server.requests[-1][1]) for word in ("One.", "Two.", "Three."))
    assert not [one for one in os.listdir(run_state.folder(vault)) if one.startswith("run-")]


def test_the_note_says_what_came(vault, asked, ended_in, provider) -> None:
    asked("/tool" if provider == "anthropic" else "")  # others name it by the model
    done = ended_in(vault, "run", "start", "hello", "Now.")
    text = Path(vault.root, done["path"]).read_text()
    assert text.endswith(f"## Result\n\n{TEXT}\n")
    kinds = [one["event"] for one in done["answer"]["events"]]
    assert (kinds[:2], kinds[-2:]) == (["request", "start"], ["message", "finish"])
    assert ("tool_start" in kinds) == (provider == "anthropic")
    assert done["seconds"] > 0.2


@pytest.mark.parametrize("mode", SAID)
def test_a_failure_is_said_with_what_to_do(vault, asked, ended_in, provider, mode) -> None:
    asked(mode)
    done = ended_in(vault, "run", "start", "hello", "Now.")
    assert done["status"] == "failed"
    error = done["answer"]["events"][-1]["error"]
    assert re.search(SAID[mode][provider], error), error
    assert not marked(done["id"])
    assert error[:40] in Path(vault.root, done["path"]).read_text()


def test_a_run_is_stopped_in_the_middle(vault, asked, cortex, provider) -> None:
    asked("/slow")
    id_ = json.loads(cortex("run", "start", "hello", "Now.", "--json").stdout)["runs"][0]["id"]
    wait_for(lambda: any(one["event"] == "start" for one in events_of(vault, id_)))
    begun = time.monotonic()
    done = json.loads(cortex("run", "stop", id_, "--reason", "enough", "--json").stdout)["runs"][0]
    assert (done["status"], done["error"]) == ("stopped", "enough")
    assert time.monotonic() - begun < 12
    assert not marked(id_)
    assert run_files.list_open(vault) == []


def test_a_runner_that_is_killed_leaves_no_program(vault, asked, cortex, provider) -> None:
    asked("/slow")
    id_ = json.loads(cortex("run", "start", "hello", "Now.", "--json").stdout)["runs"][0]["id"]
    wait_for(lambda: any(one["event"] == "start" for one in events_of(vault, id_)))
    before = events_of(vault, id_)
    runner = wait_for(lambda: runner_of(id_))
    os.kill(runner, signal.SIGKILL)
    wait_for(lambda: has_ended(runner))
    assert cortex("status").returncode == 0
    assert not marked(id_)
    assert [one["event"] for one in events_of(vault, id_)] == [*(one["event"] for one in before), "error"]  # fmt: skip
