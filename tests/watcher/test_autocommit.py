"""What the watcher commits, and what it waits with."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from cortex.operations.records.capture import capture
from cortex.vault.git import merging
from cortex.vault.git.changes import UncommittedChange
from cortex.vault.git.merging import MergeState
from cortex.watcher import autocommit
from tests.conftest import commit_all
from tests.watcher.conftest import note, old, until

RECORD = (
    "---\nid: use-flock-aaaaaa\ntype: decision\ntitle: Use flock\nstatus: active\n---\n\nBecause.\n"
)


def test_changes_are_sorted_by_what_can_be_told_of_them(vault):
    for path, text in [("records/a.md", RECORD), ("records/b.md", "---\nid: b\n"), ("records/c.md", RECORD), ("records/d.md", "")]:  # fmt: skip
        note(vault, path, text)
    os.mkfifo(f"{vault.root}/records/e.md")
    changed = [
        UncommittedChange(f"records/{name}.md", "A") for name in ("a", "b", "c", "d", "e", "f")
    ] + [UncommittedChange("gone/g.md", "D"), UncommittedChange("records/h.md", "D")]
    now = max(
        os.lstat(Path(vault.root, path)).st_ctime
        for path in ("records/a.md", "records/b.md", "records/c.md", "records/d.md", "records/e.md")
    )

    def names(found) -> tuple[str, ...]:
        return tuple("".join(Path(one.path).stem for one in some) for some in found)

    assert names(autocommit.classify_changes(vault.root, changed, now)) == ("g", "abcdefh")
    assert names(autocommit.classify_changes(vault.root, changed, now + 10)) == ("abcdegh", "f")


def _log(git, vault) -> list[str]:
    return git(vault.root, "log", "--format=%s").splitlines()


def test_ours_are_committed_and_a_persons_staged_file_stays_staged(repository, caller, watch, git):
    note(repository, "draft.md", "mine, not yet\n")
    git(repository.root, "add", "draft.md")
    watch("--quiet=1").ready()
    capture(repository, caller, "Decision: commit exactly our paths")
    until(lambda: len(_log(git, repository)) > 1)
    until(lambda: git(repository.root, "status", "--porcelain").splitlines() == ["A  draft.md"])
    assert _log(git, repository)[0] == "Commit exactly our paths (decision)"
    assert list(Path(repository.root, "records/decision").glob("*.md"))


def test_a_half_written_note_waits_until_it_is_whole(repository, watch, git):
    watcher = watch("--quiet=0").ready()
    path = note(repository, "records/decision/use-flock-aaaaaa.md", RECORD[:40])
    until(lambda: any("use-flock" in one for one in watcher.standing().held))
    assert "records" not in git(repository.root, "log", "--name-only", "--format=%s")
    for size in (60, 80):
        path.write_text(RECORD[:size])
    assert len(_log(git, repository)) == 1
    path.write_text(RECORD)
    until(lambda: "records" in git(repository.root, "log", "--name-only", "--format=%s"))
    until(lambda: watcher.standing().held == ())


def test_nothing_is_committed_while_git_is_in_the_middle_of_something(repository, watch, git):
    root = repository.root
    git(root, "switch", "-qc", "other")
    note(repository, "mine.md", "a\n")
    commit_all(root, "other")
    git(root, "switch", "-q", "main")
    git(root, "merge", "-q", "--no-commit", "--no-ff", "other")
    watcher = watch("--quiet=0").ready()
    old(note(repository, "records/decision/use-flock-aaaaaa.md", RECORD))
    until(lambda: "merge" in watcher.standing().autocommit)
    until(lambda: watcher.standing().notes == 2)
    assert not Path(root, "briefings").exists()  # a merge would stumble over what it does not know
    git(root, "commit", "-qm", "merged")
    until(lambda: "(decision)" in _log(git, repository)[0])
    assert Path(root, "briefings").exists()


@pytest.mark.parametrize(
    ("settings", "commits"), [("", False), ("[sync]\nautocommit = true\n", True)]
)
def test_inside_a_repository_of_code_it_commits_only_when_told_to(
    vault, watch, git, settings, commits
):
    top = os.path.dirname(vault.root)
    with open(os.path.join(vault.root, "cortex.toml"), "a") as file:
        file.write(settings)
    git(top, "init", "-q")
    git(top, "add", "vault")
    git(top, "commit", "-qm", "init")
    watcher = watch("--quiet=0").ready()
    assert watcher.standing().autocommit == ("on" if commits else "off")
    old(note(vault, "records/decision/use-flock-aaaaaa.md", RECORD))
    if commits:
        until(lambda: len(_log(git, vault)) > 1)
    else:
        until(lambda: Path(vault.root, "briefings").exists())
        watcher.signal(signal.SIGTERM)
        assert watcher.ended() == 0
        assert len(_log(git, vault)) == 1


def test_the_last_commit_is_made_at_the_end(repository, watch, git):
    watcher = watch("--quiet=600").ready()
    note(repository, "records/decision/use-flock-aaaaaa.md", RECORD)
    # The briefings of it are there.
    until(lambda: watcher.standing().notes > 1 and watcher.standing().waiting)
    time.sleep(autocommit.SETTLED_SECONDS)
    assert len(_log(git, repository)) == 1
    watcher.signal(signal.SIGTERM)
    assert watcher.ended() == 0
    assert len(_log(git, repository)) == 2


def test_a_lock_that_a_crash_left_is_named_with_the_command_that_moves_it(
    repository, caller, watch, git, cortex
):
    lock = Path(repository.root, ".git/index.lock")
    lock.touch()
    os.utime(lock, (0, 0))
    watcher = watch("--quiet=1").ready()
    capture(repository, caller, "Decision: say what is in the way")
    until(lambda: "index.lock was left by a git that is gone" in watcher.said)
    assert "; cortex doctor --fix" in watcher.said
    fixed = cortex("doctor", "--fix", cwd=repository.root)
    assert (
        "moved index.lock, a lock from before the machine was started, to .git/cortex-damaged"
        in fixed.stdout + fixed.stderr
    )
    until(lambda: len(_log(git, repository)) > 1, 60)


def test_what_a_crash_in_a_sync_took_is_not_committed_as_deleted(repository, caller, watch, git):
    path = "records/decision/theirs-aaaaaa.md"
    ours = git(repository.root, "rev-parse", "HEAD").strip()
    note(repository, path, RECORD)
    commit_all(repository.root, "theirs")
    merging.save_state(
        repository.root,
        MergeState("merge", git(repository.root, "rev-parse", "HEAD").strip(), {}, ours, "main"),
    )
    Path(repository.root, path).unlink()
    watch("--quiet=1").ready()
    capture(repository, caller, "Decision: look before a commit")
    until(lambda: len(_log(git, repository)) > 2)
    assert Path(repository.root, path).read_text() == RECORD
    assert git(repository.root, "log", "--diff-filter=D", "--format=%s", "--", "records") == ""


def test_a_folder_that_vanished_is_not_committed_before_somebody_was_asked(
    repository, watch, git, cortex
):
    for name in ("one-aaaaaa", "two-aaaaaa"):
        note(repository, f"records/decision/{name}.md", RECORD)
    commit_all(repository.root, "theirs")
    watcher = watch("--quiet=0").ready()
    shutil.rmtree(Path(repository.root, "records"))
    until(lambda: "all 2 notes in records/decision are gone from the vault" in watcher.said)
    assert "records" not in git(repository.root, "log", "--diff-filter=D", "--name-only")
    cortex("sync", "--yes", cwd=repository.root)
    assert "removed 2 decisions" in git(repository.root, "log", "--format=%s")
