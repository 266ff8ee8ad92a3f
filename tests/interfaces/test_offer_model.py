"""`cortex hooks install` on a terminal offers the program of the host as the model that distills."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.operations.care.init import init


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault, and a program called claude on the PATH."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (tmp_path / "shop").mkdir()
    caller = Caller(str(tmp_path), "2026-11-20T10:00:00Z", os.urandom, "test", no_progress)
    init(caller, str(tmp_path / "shop"))
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def install(home: Path, said: str) -> str:
    """What a person sees who installs the hooks of Claude Code and types this."""
    terminal, side = pty.openpty()
    words = [sys.executable, "-m", "cortex", "hooks", "install", "claude"]
    with subprocess.Popen(
        words, cwd=home / "shop", stdin=side, stdout=side, stderr=side
    ) as process:
        os.close(side)
        os.write(terminal, said.encode())
        seen = b""
        while True:
            try:
                chunk = os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            seen += chunk
    os.close(terminal)
    assert process.returncode == 0
    return seen.decode()


def test_a_no_is_taken_and_remembered(home: Path) -> None:
    seen = install(home, "n\n")
    assert "May claude say of each session" in seen
    assert "2 dollars a day" in seen
    assert not (home / "config/cortex/config.toml").exists()
    assert "May claude" not in install(home, "y\n")


def test_a_yes_is_written_into_the_users_own_settings_beside_what_stands_there(home: Path) -> None:
    file = home / "config/cortex/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("# mine\n")
    install(home, "y\n")
    assert file.read_text().startswith('# mine\n\n[distill]\ncommand = ["claude", "-p"')
    assert "May claude" not in install(home, "\n")


def test_the_agent_of_the_next_session_may_be_asked_instead(home: Path) -> None:
    seen = install(home, "a\n")
    assert "reads up to 20,000 tokens" in " ".join(seen.split())
    file = home / "config/cortex/config.toml"
    assert file.read_text() == '[distill]\nby = "agent"\n'
    assert "May claude" not in install(home, "y\n")


def test_without_a_terminal_nothing_is_asked(home: Path) -> None:
    words = [sys.executable, "-m", "cortex", "hooks", "install", "claude"]
    done = subprocess.run(
        words, cwd=home / "shop", input="y\n", capture_output=True, text=True, check=True
    )
    assert "May claude" not in done.stdout
    assert not (home / "config/cortex/config.toml").exists()
