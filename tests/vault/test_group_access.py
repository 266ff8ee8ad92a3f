"""Vaults that a group shares: what doctor looks at may go while it looks."""

from __future__ import annotations

import os

from cortex.vault import group_access
from cortex.vault.locate import Vault


def test_a_file_that_a_git_removes_meanwhile_is_no_problem(vault: Vault, monkeypatch) -> None:
    gone = os.path.join(vault.root, ".git", "index.lock")
    monkeypatch.setattr(group_access, "_required_modes", lambda *_: [(gone, 0o060)])
    assert list(group_access._inaccessible_files(vault.root, vault.root, os.getgid(), "")) == []


def test_a_python_below_a_folder_that_nobody_else_may_enter_is_named(
    public_folder, as_user, monkeypatch
) -> None:
    shut = public_folder / "shut"
    (shut / "venv/bin").mkdir(parents=True)
    (shut / "venv/bin/python").touch()
    shut.chmod(0o700)
    monkeypatch.setattr("sys.executable", str(shut / "venv/bin/python"))
    assert as_user(65_431, lambda: group_access._unreachable_folder(65_431)) == str(shut)
