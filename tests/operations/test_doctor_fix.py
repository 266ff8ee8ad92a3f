"""`cortex doctor` names what would make a merge, a commit or a pull go wrong; `--fix` does what is safe and says so."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.operations.care.doctor import doctor
from cortex.operations.upkeep.heal import heal
from cortex.vault.git import drivers, git_locks
from cortex.vault.locate import Vault
from tests.conftest import commit_all

RECORD = """
=== records/decision/use-sqlite-k3f9q2.md
---
id: use-sqlite-k3f9q2
type: decision
title: Use SQLite
tags: [a]
project: app
branch: main
created: 2026-11-20T10:00:00Z
updated: 2026-11-20T10:00:00Z
---
One file.
"""
PATH = "records/decision/use-sqlite-k3f9q2.md"
EVENT = "events/2026/11/20261120t100000z-aaaaaaaaaa.md"


@pytest.fixture
def shared(vault_from, caller, git) -> Vault:
    """A vault under git in good order."""
    vault = vault_from(
        f"{RECORD}=== {EVENT}\n---\nid: 20261120t100000z-aaaaaaaaaa\ntype: manual\nat: 2026-11-20T10:00:00Z\n---\n\n## Raw Content\n\nx\n"
    )
    git(vault.root, "init", "-q", "-b", "main")
    drivers.register(vault.root)
    heal(vault, caller)
    commit_all(vault.root)
    assert doctor(vault, caller).problems == ()
    return vault


def named(vault: Vault, caller) -> dict[str, str]:
    """What doctor finds: where -> message."""
    return {
        problem.where: f"{problem.message} | {problem.hint}"
        for problem in doctor(vault, caller).problems
    }


def test_missing_drivers_are_named_and_registered(shared, caller, git) -> None:
    git(shared.root, "config", "--remove-section", "merge.cortex-record")
    assert "cortex doctor --fix" in named(shared, caller)[".git/config"]
    assert doctor(shared, caller, fix=True).fixed == ("git knows Cortex's merge drivers now",)
    assert named(shared, caller) == {}


def test_a_stale_briefing_is_named_and_healed(shared, caller) -> None:
    page = Path(shared.root, "briefings/app/decisions.md")
    page.write_text("---\ntype: briefing\n---\nstale\n")
    assert "cortex heal" in named(shared, caller)["briefings/app/decisions.md"]
    assert doctor(shared, caller, fix=True).fixed == (
        "briefings/app/decisions.md is as the notes give it",
    )


def test_a_briefing_that_nobody_committed_is_named_when_all_else_is(shared, caller, git) -> None:
    record = Path(shared.root, PATH)
    record.write_text(record.read_text().replace("Use SQLite", "Use files"))
    heal(shared, caller)
    assert named(shared, caller) == {}
    git(shared.root, "commit", "-qm", "without the briefing", "--", PATH)
    assert set(named(shared, caller)) == {
        "briefings/app/decisions.md", "briefings/app/main.md", "briefings/index.md",
    }  # fmt: skip


def test_an_event_that_was_edited_is_named_with_what_it_said_and_not_when_it_is_restored(
    shared, caller, git
) -> None:
    event = Path(shared.root, EVENT)
    before = event.read_text()
    event.write_text(before.replace("\nx\n", "\ny\n"))
    message = named(shared, caller)[EVENT]
    assert "was edited after it was captured" in message
    assert f"git checkout HEAD -- {EVENT} brings its text back" in message
    git(shared.root, "checkout", "HEAD", "--", EVENT)
    assert EVENT not in named(shared, caller)
    assert event.read_text() == before


def test_a_secret_may_be_taken_out_of_an_event(shared, caller, git) -> None:
    event = Path(shared.root, EVENT)
    before = event.read_text()
    secret = "ghp_" + "a1B2c3D4e5" * 4
    event.write_text(before.replace("\nx\n", f"\nthe token is {secret[:40]}\n"))
    git(shared.root, "commit", "-qam", "as an older version captured it", "--amend")
    assert EVENT not in named(shared, caller)
    event.write_text(before.replace("\nx\n", "\nthe token is gone\n"))
    assert EVENT not in named(shared, caller)


def test_an_automatic_stash_that_never_came_back_is_named(shared, caller, git) -> None:
    Path(shared.root, PATH).write_text("changed")
    git(shared.root, "stash", "push", "-q", "-m", "autostash")
    assert any("automatic stash" in message for message in named(shared, caller).values())


def test_a_lock_that_a_killed_git_left_since_the_boot_is_named_and_stays(
    shared, caller, monkeypatch
) -> None:
    now = time.time()
    monkeypatch.setattr(git_locks, "read_clock", lambda: git_locks.Clock(now, now - 7200))
    lock = Path(shared.root, ".git/index.lock")
    lock.touch()
    os.utime(lock, (now - 3600, now - 3600))
    assert any(
        "index.lock" in f"{where} {message}" for where, message in named(shared, caller).items()
    )
    doctor(shared, caller, fix=True)
    assert lock.exists()


def test_what_a_merge_left_for_a_person_is_named(shared, caller) -> None:
    record = Path(shared.root, PATH)
    record.write_text(
        record.read_text().replace(
            "tags: [a]", "merge_conflicts:\n  - {field: id, kept: a, other: b}"
        )
    )
    assert "merge_conflicts" in named(shared, caller)[PATH]


def test_a_damaged_index_is_named_and_made_anew_and_no_note_changes(shared, caller, git) -> None:
    before = {path: path.read_bytes() for path in Path(shared.root).rglob("*.md")}
    Path(shared.root, ".git/index").write_bytes(b"DIRC\0\0\0")
    assert named(shared, caller)
    assert doctor(shared, caller, fix=True).fixed
    assert named(shared, caller) == {}
    assert git(shared.root, "status", "--porcelain") == ""
    assert {path: path.read_bytes() for path in Path(shared.root).rglob("*.md")} == before


def test_a_merge_that_stopped_without_our_drivers_is_merged_again_by_field(
    shared, caller, git, cortex: Callable
) -> None:
    """As in a fresh clone in which git was first."""
    drivers.unregister(shared.root)
    record = Path(shared.root, PATH)
    text = record.read_text()
    git(shared.root, "checkout", "-q", "-b", "side")
    record.write_text(text.replace("tags: [a]", "tags: [a, b]"))
    heal(shared, caller)
    git(shared.root, "commit", "-qam", "side")
    git(shared.root, "checkout", "-q", "main")
    record.write_text(text.replace("tags: [a]", "tags: [a, c]").replace("Use SQLite", "Use a file"))
    heal(shared, caller)
    git(shared.root, "commit", "-qam", "main")
    subprocess.run(["git", "merge", "side"], cwd=shared.root, capture_output=True, check=False)
    assert "tags: [a, c]" in record.read_text(), "git stops, and leaves this side's text"
    assert "cortex doctor --fix" in named(shared, caller)[PATH]
    fixed = cortex("doctor", "--fix")
    assert f"mended: {PATH}" in fixed.stdout
    assert "tags: [a, b, c]" in record.read_text()
    assert git(shared.root, "ls-files", "-u") == ""
    git(shared.root, "commit", "-q", "--no-edit")
    assert named(shared, caller).keys() == {"cortex.toml"}  # with two branches one is to be named
    assert "shared pages are written on main" in cortex("doctor", "--fix").stdout
    git(shared.root, "commit", "-qam", "named")
    assert named(shared, caller) == {}


def test_without_git_doctor_says_so(shared, cortex, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = cortex("doctor")
    assert "git is not installed" in done.stdout
    assert "Traceback" not in done.stderr


def test_a_driver_whose_python_is_gone_is_mended_by_the_next_command(shared, cortex, git) -> None:
    git(
        shared.root,
        "config",
        "merge.cortex-record.driver",
        '"/gone/python" -I -S "/gone/merge_driver.py" record %O %A %B %L %P',
    )
    assert "cortex git remove undoes that" in cortex("status").stderr
    assert "/gone" not in git(shared.root, "config", "--get", "merge.cortex-record.driver")
    assert cortex("status").stderr == ""
