"""`cortex init` says as JSON what wires Claude Code; `--setup` writes its rules, `--wire` its settings."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from cortex.hosts.hook_command import parse_handler

RULES = [".claude/rules/cortex-briefing.md", ".claude/rules/cortex-memory-instructions.md"]


@pytest.fixture
def shop(tmp_path_factory, git) -> Path:
    root = tmp_path_factory.mktemp("world") / "shop"
    root.mkdir()
    git(root, "init", "-q")
    return root


def test_the_printed_json_wires_every_event_by_commands_that_are_known_as_ours(shop, cortex):
    said = cortex("init", "vault", cwd=str(shop)).stdout
    printed = json.loads(said[said.index("{") :])
    handlers = {name: group[0]["hooks"][0] for name, group in printed["hooks"].items()}
    events = {
        name: command.event for name, one in handlers.items() if (command := parse_handler(one))
    }
    assert events["Stop"] == "stop"
    assert events["UserPromptSubmit"] == "user-prompt-submit"
    assert len(events) == len(handlers) == 7
    assert printed["mcpServers"] == {"cortex": {"command": "cortex", "args": ["mcp"]}}
    (shop / ".claude").mkdir()
    (shop / ".claude/settings.json").write_text(json.dumps({"hooks": printed["hooks"]}))
    status = json.loads(cortex("hooks", "status", "claude", "--json", cwd=str(shop)).stdout)
    assert {hook["event"] for hook in status["hosts"][0]["hooks"]} >= {"stop", "session-start"}


def test_setup_writes_the_rules_of_the_project_and_nothing_of_anybody_else(shop, cortex):
    mine, other = (shop / path for path in RULES)
    mine.parent.mkdir(parents=True)
    mine.write_text("mine\n")
    done = cortex("init", "vault", "--setup", cwd=str(shop))
    assert done.returncode == 1
    assert f"{RULES[0]} is there, and cortex did not write it" in done.stdout
    assert mine.read_text() == "mine\n"
    assert "[MEMORY: decision]" in other.read_text()
    assert cortex("init", "vault", "--setup", "--force", cwd=str(shop)).returncode == 0
    assert "cortex-contract" in mine.read_text()
    assert cortex("init", "vault", "--setup", cwd=str(shop)).returncode == 0  # ours now
    assert not (shop / ".mcp.json").exists()
    cortex("brief", "--into", "none", cwd=str(shop))
    assert not mine.exists()
    assert not other.exists()


def test_setup_in_a_folder_that_becomes_the_vault_and_with_wire_the_settings_too(
    tmp_path_factory, cortex, monkeypatch
):
    folder = tmp_path_factory.mktemp("notes")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    done = cortex("init", "--setup", "--wire", cwd=str(folder))
    assert done.returncode == 0, done.stdout
    assert [path for path in RULES if (folder / path).exists()] == RULES
    assert "cortex" in json.loads((folder / ".mcp.json").read_text())["mcpServers"]
    assert "Stop" in json.loads((folder / ".claude/settings.local.json").read_text())["hooks"]
    assert re.search(r"claude: hooks wired in .*settings\.local\.json, and it \w", done.stdout)
    assert re.search(r"claude: server wired in .*\.mcp\.json, and it answers in", done.stdout)
    assert "mcpServers" not in done.stdout
    assert "by hand" not in done.stdout
    again = cortex("init", "--setup", "--wire", cwd=str(folder))
    assert "written" not in again.stdout
    assert "nothing to do" in again.stdout
    assert "nothing to do" not in done.stdout
    monkeypatch.setenv("PATH", "/nowhere")
    told = cortex("init", "--setup", "--wire", cwd=str(folder))  # it is run once, too
    assert told.returncode == 1
    assert ".mcp.json: its server cortex does not start" in told.stdout


def test_force_and_wire_belong_to_setup(shop, cortex):
    for option in ("--force", "--wire"):
        assert cortex("init", "vault", option, cwd=str(shop)).returncode == 2
    assert not (shop / "vault").exists()
