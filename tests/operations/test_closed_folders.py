"""Folders that may not be written: what a command says then names the folder and the next command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import run_cortex

USER = 65_431


@pytest.fixture
def closed(tmp_path, as_user, vault, cortex):
    """The command as a user who may read the vault and write nothing into it: code, stdout, stderr."""
    assert not cortex("save", "Use zebra", "--why", "it is one").returncode
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, USER, USER)
    for path in (tmp_path, *tmp_path.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.geteuid() and str(parent) not in ("/", "/tmp", "/dev/shm"):
            parent.chmod(parent.stat().st_mode | 0o011)

    def run(*words: str, **environ: str) -> list[Any]:
        def call() -> list[Any]:
            os.environ |= {"HOME": str(home), **environ}
            done = run_cortex(*words, cwd=vault.root)
            return [done.returncode, done.stdout, done.stderr]

        return as_user(USER, call)

    return run


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        (("update", "ID", "--priority", "3"), "records/note"),
        (("pin", "ID"), "records/note"),
        (("new", "decision", "Three"), "records"),
    ],
)
def test_a_folder_that_may_not_be_written_is_named(vault, closed, words, folder) -> None:
    (record,) = Path(vault.root, "records/note").iterdir()
    code, _, said = closed(*[record.stem if word == "ID" else word for word in words])
    assert code == 2
    assert f"Permission denied: {vault.root}/{folder}" in said
    assert f"ls -ld {vault.root}/{folder}" in said


def test_a_save_that_failed_is_repeated_as_it_was(vault, closed) -> None:
    code, _, said = closed("save", "Two", "--why", "because", "--topic", "topic/two")
    assert code == 2
    assert f"{vault.root}/inbox/pending" in said
    assert "run the same command again" in said
    assert "--id" not in said
    assert "--id 2" in closed("capture", "Two")[2]
