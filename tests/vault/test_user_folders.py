"""What of the environment says where a person's own files lie."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError
from cortex.vault import user_folders

VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR")


@pytest.mark.parametrize("value", [".", "", "home", "~", "./", "..", "\n/"])
def test_a_path_that_is_another_one_in_every_folder_is_passed_over(value, tmp_path, monkeypatch):
    for name in VARIABLES:
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path))
    for kind in ("config", "state", "cache", "data"):
        assert user_folders.user_folder(kind).startswith(f"{tmp_path}/")


@pytest.mark.parametrize("value", [".", "", "home", "./", "..", "\n/"])
def test_a_home_that_is_another_one_in_every_folder_is_refused(value, monkeypatch):
    monkeypatch.setenv("HOME", value)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False) if name != "HOME" else None
    for kind in ("config", "state", "cache", "data"):
        with pytest.raises(InvalidInputError, match="no absolute path") as error:
            user_folders.user_folder(kind)
        assert "unset it" in error.value.hint


@pytest.mark.parametrize("value", [".", "", None])
def test_a_folder_that_somebody_else_made_brings_no_settings_of_a_person(value, vault, tmp_path):
    """Neither for Cortex nor for its git, and nothing is written there."""
    touched, home = tmp_path / "touched", tmp_path / "person"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    root = Path(vault.root)
    subprocess.run(["git", "init", "-q", root], check=True)
    for folder in (".config/cortex", "cortex"):
        settings = root / folder / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'[distill]\ncommand = ["touch", "{touched}"]\n')
        settings.with_name("default-vault").write_text(f"{tmp_path}/elsewhere\n")
    program = f'[filter "evil"]\nclean = touch {touched}\n'
    (root / ".gitconfig").write_text(program)
    (root / "git").mkdir()
    (root / "git/config").write_text(program)
    (root / ".gitattributes").write_text("*.md filter=evil\n")
    before = sorted(root.glob("**/config.toml"))
    environ = {"PATH": os.environ["PATH"], "CORTEX_VAULT": vault.root}
    environ |= dict.fromkeys(VARIABLES, value or ".") | {
        "HOME": str(home) if value is None else value
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "cortex", *words]
        return subprocess.run(
            line, cwd=root, env=environ, capture_output=True, text=True, timeout=60, check=False
        )

    done = [run("save", "Carts expire after a day"), run("sync", "--no-push")]
    asked = run("distill", "--all")
    if value is None:
        assert [one.returncode for one in done] == [0, 0], done
        assert f"name it in {home}/.config/cortex/config.toml" in asked.stderr
    else:
        assert f"$HOME is {value!r}, no absolute path" in asked.stderr
    assert not touched.exists()
    assert sorted(root.glob("**/config.toml")) == before
    assert not (root / ".local").exists()
    assert not (root / ".cache").exists()
