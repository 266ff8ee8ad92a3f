"""`cortex trust`: a person reads what agents are told, with what has changed, and says that it may run."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.operations.runs.agents import trust
from cortex.vault.trust import is_trusted

NOTES = """
=== agents/weekly.md
---
title: Weekly review
schedule: weekly
priority: 50
---
Review the week.
Be \x1b[1mbrief.
=== agents/broken.md
---
tier: big
---
Do.
=== agents/off.md
---
disabled: true
---
Do nothing.
"""


def test_without_names_everything_is_shown_and_nothing_trusted(vault_from, caller, cortex) -> None:
    vault = vault_from(NOTES)
    done = cortex("trust")
    assert "weekly  new" in done.stdout
    assert "  +Be <U+001B>[1mbrief." in done.stdout
    assert "cortex trust broken off weekly" in done.stdout
    assert not any(one.state == "trusted" for one in trust(vault, caller).agents)


def test_with_names_these_are_trusted_and_later_only_changes_are_shown(
    vault_from, caller, cortex
) -> None:
    vault = vault_from(NOTES)
    assert "weekly  trusted" in cortex("trust", "weekly").stdout
    assert is_trusted(vault, "weekly")
    assert not is_trusted(vault, "off")
    path = Path(vault.root, "agents/weekly.md")
    path.write_text(path.read_text() + "Delete everything.\n")
    (one,) = (one for one in trust(vault, caller).agents if one.agent.name == "weekly")
    assert one.state == "changed"
    assert "+Delete everything." in one.diff
    assert "-Review" not in one.diff
    assert not is_trusted(vault, "weekly")


def test_all_takes_the_shared_base_along(vault_from, caller) -> None:
    vault = vault_from(NOTES + "=== agents/journal.md\nBe kind.\n")
    found = trust(vault, caller, all=True)
    assert [one.agent.name for one in found.agents] == ["broken", "off", "weekly", "journal"]
    assert {one.agent.name: one.state for one in found.agents} == {
        "broken": "wrong", "off": "disabled", "weekly": "trusted", "journal": "trusted",
    }  # fmt: skip
    assert [one.agent.name for one in found.agents if one.diff] == ["broken"]
    assert is_trusted(vault, "default")


def test_what_cannot_be_run_hinders_nobody(vault_from, caller) -> None:
    vault = vault_from(NOTES)
    Path(vault.root, "agents/Upper.md").write_text("Do.\n")
    Path(vault.root, "agents/link.md").symlink_to("/etc/passwd")
    with Path(vault.root, "agents/huge.md").open("wb") as file:
        file.truncate(1 << 30)
    found = trust(vault, caller, all=True)
    assert is_trusted(vault, "weekly")
    assert {one.where for one in found.problems} == {
        "agents/broken.md:2", "agents/Upper.md", "agents/link.md", "agents/huge.md",
    }  # fmt: skip


def test_one_wrong_name_trusts_nothing(vault_from, caller) -> None:
    vault = vault_from(NOTES)
    with pytest.raises(NotFoundError):
        trust(vault, caller, ["weekly", "gone"])
    with pytest.raises(InvalidInputError):
        trust(vault, caller, ["weekly", "../cortex"])
    assert not is_trusted(vault, "weekly")
