"""The real programs against the model server on this machine: what they print is what was recorded, and they keep to what a
run allows them. Skipped where npm has not brought them (`real_programs`)."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.agents.real_programs import CASES, events_of, find_program, record, recorded, run_real

FIRST = (
    "claude-text",
    "claude-tool",
    "claude-refuse",
    "codex-tool",
    "codex-fail429",
    "gemini-tool",
)
RECORDS = os.environ.get("CORTEX_UPDATE") == "1"


def needs(protocol: str) -> None:
    if not find_program(protocol):
        pytest.skip(f"there is no {protocol}: CORTEX_REAL_CLI_BIN names the folder of it")


@pytest.fixture
def home():
    """Not in /dev/shm, of which the sandbox of Codex has one of its own."""
    with TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def outline(events: list[dict]) -> list[tuple[object, ...]]:
    """What does not change from run to run."""
    keys = ("event", "tool", "text", "ok", "reason", "usage")
    return [
        tuple(event.get(key) for key in keys) for event in events if event["event"] != "progress"
    ]


@pytest.mark.parametrize("name", CASES if RECORDS else FIRST)
def test_it_prints_what_was_recorded(name, home):
    protocol, (mode, changes) = name.partition("-")[0], CASES[name]
    needs(protocol)
    answer = run_real(protocol, mode, home, **changes)
    if RECORDS:
        record(name, answer, home)
    assert outline(events_of(protocol, answer)) == outline(events_of(protocol, recorded(name)))


@pytest.mark.parametrize("protocol", ["claude", "codex", "gemini"])
def test_a_session_goes_on_in_the_same_folder(protocol, home):
    needs(protocol)
    first = events_of(protocol, run_real(protocol, "", home))[-1]
    answer = run_real(protocol, "/tool", home, session_id=first["session_id"])
    last = events_of(protocol, answer, first["usage"])[-1]
    assert last["event"] == "finish"
    assert last["session_id"] == first["session_id"]
    assert last["usage"] == {key: 2 * count for key, count in first["usage"].items()}  # two calls


@pytest.mark.parametrize("protocol", ["claude", "codex", "gemini"])
def test_without_tools_none_runs(protocol, home):
    needs(protocol)
    answer = run_real(protocol, "/tool", home, tools="none")
    events = events_of(protocol, answer)
    assert [event["event"] for event in events if event["event"].startswith("tool")] == []
    assert events[-1]["event"] == "finish"
    body = answer.server.requests[0][1]
    offered = {tool.get("name") for tool in body.get("tools", [])}
    assert offered & {"Read", "Bash", "exec_command", "view_image", "read_file"} == set()


def test_codex_writes_nothing_in_the_vault(home):
    needs("codex")
    run_real("codex", "/tool", home, file="vault/note.md; touch ../vault/made")
    assert not (home / "vault/made").exists()


@pytest.mark.parametrize("protocol", ["claude", "codex", "gemini"])
def test_hooks_and_servers_of_a_vault_are_not_run(protocol, home):
    """What a vault that was cloned brings for each program would leave a file."""
    needs(protocol)
    canary = f"touch {home}/canary"
    hook = {"hooks": [{"type": "command", "command": canary, "name": "c"}]}
    hooks = {"hooks": {"SessionStart": [hook], "UserPromptSubmit": [hook], "BeforeAgent": [hook]}}
    servers = {"mcpServers": {"c": {"command": "sh", "args": ["-c", canary]}}}
    for path, settings in {
        ".claude/settings.json": hooks | {"enableAllProjectMcpServers": True},
        ".mcp.json": servers,
        ".gemini/settings.json": hooks | servers,
        ".codex/hooks.json": hooks,
    }.items():
        file = home / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    (home / "vault/.codex/config.toml").write_text(
        f'[mcp_servers.c]\ncommand = "sh"\nargs = ["-c", "{canary}"]\n'
    )
    assert events_of(protocol, run_real(protocol, "", home))[-1]["event"] == "finish"
    assert not (home / "canary").exists()
    run_real(protocol, "", home, by_hand=True)
    assert (home / "canary").exists()  # the vault is as dangerous as it is meant to be


def test_a_prompt_that_begins_with_a_slash_is_a_prompt(home):
    needs("claude")
    empty = {"system_instruction": "", "extra_context": "", "prompt": "/context"}
    answer = run_real("claude", "", home, **empty)
    assert events_of("claude", answer)[-1]["result"] == "Hello from loopback."
