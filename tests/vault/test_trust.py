"""Trust: what a user has read stays trusted to the byte, in that vault, and nothing else does."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.vault import trust
from cortex.vault.locate import Vault


@pytest.fixture
def agents(vault) -> Path:
    folder = Path(vault.root, "agents")
    folder.mkdir()
    (folder / "weekly.md").write_text("Review the week.\n")
    return folder


def test_an_agent_is_trusted_as_it_was_read(vault, agents) -> None:
    assert not trust.is_trusted(vault, "weekly")
    trust.pin(vault, "weekly", trust.read_agent_file(vault, "weekly"))
    assert trust.is_trusted(vault, "weekly")
    (agents / "weekly.md").write_text("Review the week. \n")
    assert not trust.is_trusted(vault, "weekly")
    assert trust.trusted_text(vault, "weekly") == b"Review the week.\n"
    (agents / "weekly.md").write_text("Review the week.\n")
    assert trust.is_trusted(vault, "weekly")
    (agents / "weekly.md").unlink()
    assert not trust.is_trusted(vault, "weekly")


def test_the_shared_base_has_to_be_trusted_too(vault, agents) -> None:
    trust.pin(vault, "weekly", b"Review the week.\n")
    (agents / "journal.md").write_text("Obey me.\n")
    assert not trust.is_trusted(vault, "weekly")
    assert not trust.is_trusted(vault, "default")
    trust.pin(vault, "journal", b"Obey me.\n")
    assert trust.is_trusted(vault, "weekly")
    (agents / "journal.md").write_text("Obey me now.\n")
    assert not trust.is_trusted(vault, "weekly")
    (agents / "journal.md").unlink()
    assert trust.is_trusted(vault, "default")


def test_the_same_bytes_in_another_vault_are_not_trusted(vault, agents, tmp_path) -> None:
    trust.pin(vault, "weekly", b"Review the week.\n")
    shutil.copytree(vault.root, tmp_path / "clone")
    assert not trust.is_trusted(Vault(str(tmp_path / "clone")), "weekly")


def test_one_name_does_not_vouch_for_another(vault, agents) -> None:
    trust.pin(vault, "weekly", b"Review the week.\n")
    (agents / "other.md").write_text("Review the week.\n")
    assert not trust.is_trusted(vault, "other")


def test_no_link_is_followed_and_no_folder_left(vault, agents, tmp_path) -> None:
    (tmp_path / "out.md").write_text("Review the week.\n")
    (agents / "linked.md").symlink_to(tmp_path / "out.md")
    trust.pin(vault, "linked", b"Review the week.\n")
    assert not trust.is_trusted(vault, "linked")
    with pytest.raises(InvalidInputError):
        trust.read_agent_file(vault, "linked")
    for name in ("../cortex", "..", "", "A", "a/b", "a\0b"):
        with pytest.raises(InvalidInputError):
            trust.read_agent_file(vault, name)
        with pytest.raises(InvalidInputError):
            trust.pin(vault, name, b"x")
        assert not trust.is_trusted(vault, name)
    agents.rename(tmp_path / "elsewhere")
    Path(vault.root, "agents").symlink_to(tmp_path / "elsewhere")
    trust.pin(vault, "weekly", b"Review the week.\n")
    assert not trust.is_trusted(vault, "weekly")


def test_a_file_of_any_size_costs_little(vault, agents) -> None:
    with (agents / "huge.md").open("wb") as file:
        file.truncate(1 << 40)
    assert len(trust.read_agent_file(vault, "huge")) == 256 * 1024 + 1
    assert not trust.is_trusted(vault, "huge")
    with pytest.raises(InvalidInputError, match="larger"):
        trust.pin(vault, "huge", b"x" * (256 * 1024 + 1))
    with pytest.raises(InvalidInputError, match="empty"):
        trust.pin(vault, "empty", b"")


def test_an_empty_note_is_not_trusted(vault, agents) -> None:
    (agents / "weekly.md").write_text("")
    assert not trust.is_trusted(vault, "weekly")


def test_pins_are_for_nobody_else_to_write(vault, agents) -> None:
    trust.pin(vault, "weekly", b"Review the week.\n")
    (found,) = Path(vault.state_folder()).glob("trust/*.md")
    assert found.stat().st_mode & 0o777 == 0o600
    os.chmod(vault.state_folder(), 0o777)
    assert not trust.is_trusted(vault, "weekly")


def test_agents_are_listed_without_the_base(vault, agents) -> None:
    for name in ("journal.md", "Upper.md", ".hidden.md", "notes.txt"):
        (agents / name).write_text("x")
    assert trust.list_agents(vault) == ["Upper", "weekly"]
    shutil.rmtree(agents)
    assert trust.list_agents(vault) == []
    with pytest.raises(NotFoundError):
        trust.read_agent_file(vault, "weekly")
