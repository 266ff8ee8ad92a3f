"""`cortex sync --every 10m` prints what syncs by itself, in the form of this platform, and does nothing."""

from __future__ import annotations

import json
import os
import plistlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.operations.share.units import render_unit
from cortex.vault.git import drivers
from cortex.vault.locate import Vault
from tests.conftest import commit_all

AWKWARD = '/v/100% "of" $it & <more>'


@pytest.fixture
def on(vault: Vault, git, cortex, monkeypatch) -> Callable[..., str]:
    """What `cortex sync --every` prints on a platform, in a vault that has something to commit."""
    git(vault.root, "init", "-q", "-b", "main")
    drivers.register(vault.root)
    commit_all(vault.root)
    Path(vault.root, "Rota.md").write_text("Monday: Ana\n")

    def ask(platform: str, *words: str) -> str:
        has_systemd = platform == "linux"
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setattr(shutil, "which", lambda _: "/bin/systemctl" if has_systemd else None)
        answer = cortex("sync", "--every", *words)
        monkeypatch.undo()
        assert (answer.returncode, answer.stderr) == (0, "")
        return answer.stdout

    return ask


def test_on_linux_a_shell_installs_a_timer_that_systemd_reads(
    on, cortex, vault, git, tmp_path
) -> None:
    cortex("capture", "Decision: use SQLite")
    before = git(vault.root, "status", "--porcelain"), git(vault.root, "log", "--oneline")
    said = on("linux", "10m", "--no-push", "--only-records")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "systemctl").write_text('#!/bin/sh\necho "$@" >> "$HOME/asked"\n')
    (programs / "systemctl").chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"HOME": str(tmp_path), "PATH": path}
    subprocess.run(["sh"], input=said, text=True, env=environment, check=True)
    service, timer = sorted((tmp_path / ".config/systemd/user").iterdir())
    assert (service.suffix, timer.suffix, service.stem) == (".service", ".timer", timer.stem)
    assert "OnUnitActiveSec=10min\n" in timer.read_text()
    (command,) = (line for line in service.read_text().split("\n") if line.startswith("ExecStart="))
    words = [sys.executable, "-m", "cortex", "sync", "--vault", vault.root, "--no-push", "--only-records"]  # fmt: skip
    assert shlex.split(command.removeprefix("ExecStart=")) == words
    assert f"restart {timer.name}\n" in (tmp_path / "asked").read_text()
    assert before == (git(vault.root, "status", "--porcelain"), git(vault.root, "log", "--oneline"))
    done = subprocess.run(words, cwd="/", capture_output=True, text=True, check=True)
    assert "there is no remote" in done.stdout
    assert git(vault.root, "log", "-1", "--format=%s") == "Use SQLite (decision)\n"
    assert "Rota.md" in git(vault.root, "status", "--porcelain")  # --only-records
    if shutil.which("systemd-analyze"):
        done = subprocess.run(
            ["systemd-analyze", "--user", "verify", str(service), str(timer)],
            env=os.environ | {"XDG_RUNTIME_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "cortex" not in done.stderr, done.stderr


def test_on_macos_it_is_a_property_list(on, vault) -> None:
    said = plistlib.loads(on("darwin", "2h").encode())
    assert said["StartInterval"] == 7200
    assert "KeepAlive" not in said  # a sync that ends has not failed
    answer = json.loads(on("darwin", "2h", "--json"))
    assert (plistlib.loads(answer["unit"].encode()), answer["commits"]) == (said, [])
    assert said["ProgramArguments"] == [sys.executable, "-m", "cortex", "sync", "--vault", vault.root]  # fmt: skip


@pytest.mark.parametrize(
    ("every", "times"),
    [("1m", "*/1 * * * *"), ("59min", "*/59 * * * *"), ("60m", "0 */1 * * *"), ("23h", "0 */23 * * *")],
)  # fmt: skip
def test_elsewhere_it_is_a_line_for_cron(on, vault, every, times) -> None:
    how, line = on("freebsd14", every).splitlines()
    assert how.startswith("# crontab -e")
    assert line == f"{times} {sys.executable} -m cortex sync --vault {vault.root}"


def test_paths_are_quoted() -> None:
    line = render_unit("cron", AWKWARD, "sync", (), 10).splitlines()[1]
    assert line.endswith(" '/v/100\\% \"of\" $it & <more>'")  # cron makes a line end of a bare %
    assert f'"{sys.executable}"' in render_unit("timer", AWKWARD, "sync", (), 10)
    assert '"/v/100%% \\"of\\" $$it & <more>"' in render_unit("timer", AWKWARD, "sync", (), 10)
    said = plistlib.loads(render_unit("launchd", AWKWARD, "sync", (), 10).encode())
    assert said["ProgramArguments"][-1] == AWKWARD
    for kind in ("cron", "timer"):  # no path ends a line, and begins a command with that
        assert "\nEND\n touch" not in render_unit(kind, "/v/\nEND\n touch x", "sync", (), 10)


@pytest.mark.parametrize(
    "every", ["", "0m", "x", "10", "-5m", "1.5h", "30s", "24h", "1440m", "10m\n"]
)
def test_what_is_no_time_is_refused_with_an_example(on, cortex, every) -> None:
    answer = cortex("sync", f"--every={every}")
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "at least 1m and less than 24h" in answer.stderr
    assert "cortex sync --every 10m" in answer.stderr


@pytest.mark.parametrize("words", [["--yes"], ["--follow"], ["--publish", "Rota.md"]])
def test_what_is_decided_for_one_sync_is_in_no_unit(on, cortex, words) -> None:
    answer = cortex("sync", "--every", "10m", *words)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert "for one sync alone" in answer.stderr
