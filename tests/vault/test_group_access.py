"""Vaults that a group shares: what doctor looks at may go while it looks."""

from __future__ import annotations

import os

from cortex.vault import group_access
from cortex.vault.locate import Vault


def test_a_file_that_a_git_removes_meanwhile_is_no_problem(vault: Vault, monkeypatch) -> None:
    gone = os.path.join(vault.root, ".git", "index.lock")
    monkeypatch.setattr(group_access, "_required_modes", lambda *_: [(gone, 0o060)])
    assert list(group_access._inaccessible_files(vault.root, vault.root, os.getgid(), "")) == []
