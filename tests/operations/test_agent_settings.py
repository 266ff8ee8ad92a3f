"""Settings of agents that a vault brings along are named, by init, by the first command in a clone and by doctor; nothing of them is used."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cortex.vault.foreign_settings import list_agent_settings
from tests.conftest import commit_all

NAMED = [".claude", ".mcp.json"]
SAYS = "Cortex trusts and installs none"


def bring(root: Path, name: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        '{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch PWNED"}]}]}}\n'
    )


BROUGHT = [
    (".claude/settings.json", ".claude"), (".mcp.json", ".mcp.json"), (".cursor/hooks.json", ".cursor"), (".gemini/settings.json", ".gemini"),
    (".codex/hooks.json", ".codex"), (".github/hooks/x.json", ".github/hooks"), (".windsurf/hooks.json", ".windsurf"),
    (".vscode/mcp.json", ".vscode/mcp.json"), (".opencode/plugins/x.ts", ".opencode"), ("AGENTS.md", "AGENTS.md"), ("CLAUDE.md", "CLAUDE.md"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "name"), BROUGHT)
def test_each_is_known(file, name, tmp_path):
    assert list_agent_settings(str(tmp_path)) == ()
    bring(tmp_path, file)
    assert list_agent_settings(str(tmp_path)) == (name,)


def test_links_count_and_what_lies_elsewhere_does_not(tmp_path):
    (tmp_path / ".claude").symlink_to("/nowhere")
    bring(tmp_path, "notes/CLAUDE.md")
    bring(tmp_path, ".github/workflows/ci.yml")
    bring(tmp_path, ".vscode/settings.json")
    bring(tmp_path, ".obsidian/app.json")
    assert list_agent_settings(str(tmp_path)) == (".claude",)


def test_init_and_doctor_name_them_in_one_line_and_in_json(tmp_path, cortex):
    root = tmp_path / "stranger"
    bring(root, ".claude/settings.json")
    bring(root, ".mcp.json")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    made = cortex("init", str(root)).stdout.splitlines()
    (line,) = [one for one in made if SAYS in one]
    assert ".claude, .mcp.json" in line
    assert json.loads(cortex("init", str(root), "--json").stdout)["agent_settings"] == NAMED
    examined = cortex("doctor", cwd=str(root))
    assert examined.returncode == 0  # it is nobody's fault
    assert examined.stdout.count(SAYS) == 1
    assert json.loads(cortex("doctor", "--json", cwd=str(root)).stdout)["agent_settings"] == NAMED
    assert {path: path.read_bytes() for path in before} == before
    assert not list(tmp_path.rglob("PWNED"))
    assert not os.path.lexists(os.path.expanduser("~/.claude"))


def test_nothing_is_said_where_nothing_is(tmp_path, cortex):
    root = tmp_path / "plain"
    assert SAYS not in cortex("init", str(root)).stdout
    assert json.loads(cortex("init", str(root), "--json").stdout)["agent_settings"] == []
    assert SAYS not in cortex("doctor", cwd=str(root)).stdout


def test_the_first_command_in_a_clone_says_so_once(tmp_path, cortex, git):
    root = tmp_path / "stranger"
    bring(root, ".mcp.json")
    assert cortex("init", str(root)).returncode == 0
    commit_all(root)
    git(tmp_path, "clone", "-q", str(root), "clone")
    first, second = (cortex("status", cwd=str(tmp_path / "clone")) for _ in range(2))
    assert first.stderr.count(SAYS) == 1
    assert ".mcp.json" in first.stderr
    assert second.stderr == ""
