"""Folders that may not be written: what a command says then names the folder and the next command."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from cortex.operations.care.init import init
from cortex.vault import templates
from cortex.vault.locate import Vault
from tests.conftest import run_cortex

USER = 65_431
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def vault(public_folder, caller) -> Vault:
    return Vault(init(caller, str(public_folder / "vault")).root)


@pytest.fixture
def closed(public_folder, as_user, vault, cortex, monkeypatch):
    """The command as a user who may read the vault and write nothing into it: code, stdout, stderr."""
    assert not cortex("save", "Use zebra", "--why", "it is one").returncode
    # Where the clone lies the user may not be able to go.
    shutil.copytree(REPOSITORY / "templates", public_folder / "templates")
    monkeypatch.setattr(templates, "_SEARCH_FOLDERS", (str(public_folder / "templates"),))
    home = public_folder / "home"
    home.mkdir()
    os.chown(home, USER, USER)
    for path in public_folder.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)

    def run(*words: str, **environ: str) -> list[Any]:
        def call() -> list[Any]:
            os.environ |= {"HOME": str(home), **environ}
            done = run_cortex(*words, cwd=vault.root)
            return [done.returncode, done.stdout, done.stderr]

        return as_user(USER, call)

    return run


@pytest.mark.parametrize(
    ("words", "folder"),
    [(("revise", "ID", "--priority", "3"), "records/note"), (("pin", "ID"), "records/note"), (("new", "decision", "Three"), "records")],
)  # fmt: skip
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


@pytest.mark.parametrize("kind", ["XDG_CACHE_HOME", "XDG_STATE_HOME"])
def test_reading_needs_no_folder_of_the_user(closed, public_folder, kind) -> None:
    shut = public_folder / "shut"
    shut.mkdir(mode=0o555)
    temporary = public_folder / "home/tmp"
    temporary.mkdir()
    os.chown(temporary, USER, USER)
    environ = {kind: str(shut), "TMPDIR": str(temporary)}
    for _ in range(2):
        code, out, err = closed("search", "zebra", **environ)
        assert code == 0, err
        assert "Use zebra" in out
        assert out.count(f"{shut}/cortex/vault-") == 1
        assert f"ls -ld {shut} shows whose it is" in out
    for words in (("show", "use-zebra"), ("brief",), ("status",), ("recall", "zebra")):
        assert closed(*words, **environ)[0] == 0, words
    code, out, _ = closed("doctor", **environ)
    assert code == 1
    assert f"{shut}/cortex/vault-" in out


def test_a_temporary_cache_of_somebody_else_is_refused(closed, public_folder) -> None:
    shut, temporary = public_folder / "shut", public_folder / "tmp"
    shut.mkdir(mode=0o555)
    temporary.mkdir()
    temporary.chmod(0o1777)
    (temporary / f"cortex-{USER}").mkdir()
    done = closed("search", "zebra", XDG_CACHE_HOME=str(shut), TMPDIR=str(temporary))
    assert done[0] == 2
    assert "is not a folder of yours" in done[2]
