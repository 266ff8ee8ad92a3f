"""What is wired is run once, as a host runs it: by the install, by `hooks status` and by `doctor`."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from pathlib import Path

import pytest

from cortex.hosts.hook_settings import HOSTS
from cortex.operations.care import trial
from cortex.operations.care.trial import try_hook, try_servers

ANSWERS = re.compile(r"answers in \d+ ms with \d+ tools")


@pytest.fixture
def shop(vault, monkeypatch) -> Path:
    """A project around the vault, and a `cortex` on the PATH."""
    place = Path(vault.root).parent
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    return place


def program(path: Path, does: str) -> str:
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def tried(root: Path) -> list[tuple[str, str, str]]:
    return [(one.host, one.seen, one.fault) for one in try_servers(str(root))]


def test_an_install_says_what_the_server_did(shop, cortex):
    hosts = ("claude", "codex", "gemini", "copilot", "opencode")
    done = cortex("mcp", "install", *hosts, cwd=str(shop))
    assert done.returncode == 0
    assert len(ANSWERS.findall(done.stdout)) == len(hosts)
    again = cortex("mcp", "install", *hosts, cwd=str(shop))
    assert again.stdout.count("unchanged") == len(hosts)  # two of them have one file
    own = cortex("mcp", "install", "cursor", "windsurf", "claude-desktop", "--user", cwd=str(shop))
    assert len(ANSWERS.findall(own.stdout)) == 3


def test_doctor_and_hooks_status_start_the_servers_again(shop, cortex):
    cortex("mcp", "install", "claude", cwd=str(shop))
    cortex("mcp", "install", "codex", "--user", cwd=str(shop))
    told = cortex("hooks", "status", cwd=str(shop)).stdout
    assert re.search(r"claude +server  \.mcp\.json  answers in", told)
    assert re.search(r"codex +server  ~/\.codex/config\.toml  answers in", told)
    assert "server" not in cortex("hooks", "status", "gemini", cwd=str(shop)).stdout
    settings = Path.home() / ".codex/config.toml"
    settings.write_text(settings.read_text().replace(sys.executable, "/gone/python"))
    for words in (("doctor",), ("hooks", "status")):
        done = cortex(*words, cwd=str(shop))
        assert done.returncode == 1
        assert "its server cortex does not start: /gone/python: No such file" in done.stdout
        assert "then cortex mcp install codex --user" in done.stdout


def test_without_a_cortex_on_the_path_the_projects_entry_stays_and_says_so(
    shop, cortex, monkeypatch
):
    monkeypatch.setenv("PATH", "/nowhere")
    done = cortex("mcp", "install", "claude", cwd=str(shop))
    assert done.returncode == 1
    assert "does not start: cortex: No such file or directory" in done.stdout
    assert (
        f"export PATH={Path(sys.executable).parent}:$PATH, or cortex mcp install claude --user"
        in done.stdout
    )
    assert (
        json.loads((shop / ".mcp.json").read_text())["mcpServers"]["cortex"]["command"] == "cortex"
    )


def test_what_fails_in_ones_own_settings_is_taken_out_again(shop, cortex, monkeypatch, tmp_path):
    own = Path.home() / ".claude.json"
    own.write_text('{"theme": "dark"}')
    broken = program(tmp_path / "python", "echo 'no module named cortex' >&2; exit 1")
    monkeypatch.setattr(sys, "executable", broken)
    done = cortex("mcp", "install", "claude", "--user", cwd=str(shop))
    assert done.returncode == 1
    assert f"not installed: {own}\n  does not answer: no module named cortex\n" in done.stdout
    assert own.read_text() == '{"theme": "dark"}'


@pytest.mark.parametrize(
    ("prefix", "hint"),
    [
        ("/home/a/.local/share/pipx/venvs/cortex-vault", "pipx reinstall cortex-vault"),
        ("/home/a/.local/share/uv/tools/cortex-vault", "uv tool upgrade --reinstall cortex-vault"),
        ("/home/a/shop/.venv", "-m pip install --force-reinstall ./cortex"),
    ],
)
def test_the_hint_fits_how_cortex_was_installed(shop, cortex, monkeypatch, prefix, hint):
    cortex("mcp", "install", "claude", "--user", cwd=str(shop))
    settings = Path.home() / ".claude.json"
    settings.write_text(settings.read_text().replace(sys.executable, "/bin/false"))
    monkeypatch.setattr(sys, "prefix", prefix)
    (one,) = try_servers(str(shop))
    assert one.fault == "does not answer: it ends without a word"
    assert hint in one.hint


def test_of_a_projects_settings_only_what_cortex_writes_there_is_run(shop):
    ran = shop / "ran"
    evil = program(shop / "evil", f"touch {ran}")
    (shop / "cortex").mkdir()  # a package of the project is no part of Cortex
    (shop / "cortex/__init__.py").write_text(f"open({str(ran)!r}, 'w')")
    for entry in (
        {"command": evil, "args": ["cortex", "mcp"]},
        {"command": f"{shop}/cortex", "args": ["mcp"]},
        {"command": "cortex", "args": ["mcp", "--http", "127.0.0.1:0"]},
        {"command": sys.executable, "args": ["-m", "cortex", "mcp"]},
    ):
        (shop / ".mcp.json").write_text(json.dumps({"mcpServers": {"cortex": entry}}))
        ((host, seen, fault),) = tried(shop)
        assert (host, seen) == ("claude", "")
        assert fault.startswith(f"was not tried: {entry['command']} ")
    entry = {
        "command": "cortex",
        "args": ["mcp"],
        "env": {"PYTHONPATH": str(shop), "PATH": str(shop)},
    }
    (shop / ".mcp.json").write_text(json.dumps({"mcpServers": {"cortex": entry}}))
    assert [bool(ANSWERS.fullmatch(seen)) for _, seen, _ in tried(shop)] == [True]
    assert not ran.exists()


def test_a_module_of_the_project_is_not_imported_by_ones_own_server(shop, cortex):
    (shop / "json.py").write_text("raise SystemExit('somebody else')")
    done = cortex("mcp", "install", "claude", "--user", cwd=str(shop))
    assert ANSWERS.search(done.stdout), done.stdout


def test_servers_that_hang_are_waited_for_together(shop, monkeypatch, tmp_path):
    monkeypatch.setattr(trial, "_SECONDS", 0.5)
    sleeper = program(tmp_path / "cortex", "exec sleep 60")
    (Path.home() / ".cursor").mkdir()
    for path in (Path.home() / ".claude.json", Path.home() / ".cursor/mcp.json"):
        entry = {"command": sleeper, "args": ["mcp", "--tools", path.name]}
        path.write_text(json.dumps({"mcpServers": {"cortex": entry}}))
    fault = "does not answer within 0.5 s"
    assert tried(shop) == [("claude", "", fault), ("cursor", "", fault)]


@pytest.mark.parametrize("host", HOSTS)
def test_the_hook_of_each_host_is_seen_to_keep_a_turn_and_leaves_no_trace(shop, cortex, host):
    before = sorted(Path.home().rglob("*"))
    if HOSTS[host].events:
        cortex("hooks", "install", host, cwd=str(shop))
    state = [path for path in Path.home().rglob("*.md") if path not in before]
    assert state == []
    pending = list((shop / "vault/inbox/pending").iterdir())
    assert pending == []
    (hook,) = [
        one
        for one in json.loads(cortex("hooks", "status", host, "--json", cwd=str(shop)).stdout)[
            "hosts"
        ][0]["hooks"]
        if one["seen"]
    ][:1]
    assert hook["seen"] == "keeps a turn"


def test_a_hook_that_fails_says_its_last_words(shop, tmp_path):
    assert try_hook(HOSTS["claude"], ["/nowhere/python"])[1].startswith("does not start: /nowhere")
    crashed = program(tmp_path / "hook", "echo Traceback >&2; echo 'no space left' >&2")
    assert try_hook(HOSTS["gemini"], [crashed])[1] == "keeps nothing of a turn: no space left"


def test_where_nothing_can_be_tried_the_rest_is_told(shop, cortex, monkeypatch):
    cortex("hooks", "install", "claude", cwd=str(shop))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(trial.tempfile, "TemporaryDirectory", full)
    done = cortex("doctor", cwd=str(shop))
    assert done.returncode == 0, done.stdout + done.stderr
