"""Whatever happens to the files of a vault, the watcher has seen it a moment later, and nobody had to ask."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import pytest

from cortex.operations.records.capture import capture
from tests.conftest import commit_all
from tests.watcher.conftest import SOAK, is_fresh, note, rss, stamps, until


def test_a_captured_event_becomes_a_record_and_can_be_found(vault, caller, watch) -> None:
    watcher = watch().ready()
    capture(vault, caller, "Decision: use flock for the watcher")
    until(lambda: list(Path(vault.root, "records/decision").glob("*.md")))
    until(lambda: is_fresh(vault))
    assert not list(Path(vault.root, "inbox/pending").glob("*.md"))
    assert watcher.standing().problems == ()


def _as_vim_does(folder: Path) -> None:
    (folder / "4913").touch()
    (folder / "4913").unlink()
    (folder / "a.md").rename(folder / "a.md~")
    (folder / "a.md").write_text("saved by vim\n")
    (folder / "a.md~").unlink()


def _by_renaming(folder: Path) -> None:
    (folder / ".a.md.tmp").write_text("saved by renaming\n")
    (folder / ".a.md.tmp").rename(folder / "a.md")


def _from_outside(folder: Path) -> None:
    other = folder.parent / ".elsewhere"
    other.write_text("moved in\n")
    other.rename(folder / "a.md")


def _new_folders(folder: Path) -> None:
    (folder / "x/y/z").mkdir(parents=True)
    (folder / "x/y/z/deep.md").write_text("deep\n")


def _new_top_folder(folder: Path) -> None:
    (folder.parent / "top/below").mkdir(parents=True)
    time.sleep(0.6)  # until the folder is watched: what comes now is told by its own watch
    (folder.parent / "top/below/new.md").write_text("new\n")


def _top_folder_again(folder: Path) -> None:
    shutil.rmtree(folder.parent / "top")
    (folder.parent / "top").mkdir()
    time.sleep(0.6)
    (folder.parent / "top/again.md").write_text("again\n")


def _top_folder_renamed(folder: Path) -> None:
    (folder.parent / "top").rename(folder.parent / "moved")
    time.sleep(0.6)
    (folder.parent / "moved/more.md").write_text("more\n")


SAVES = {
    "in place": lambda folder: (folder / "a.md").write_text("in place\n"),
    "appended": lambda folder: (folder / "a.md").write_text(
        (folder / "a.md").read_text() + "more\n"
    ),
    "vim": _as_vim_does,
    "temporary file": _by_renaming,
    "from outside": _from_outside,
    "mkdir -p": _new_folders,
    "folder renamed": lambda folder: (folder / "x").rename(folder / "w"),
    "in the renamed folder": lambda folder: (folder / "w/y/z/deep.md").write_text("deeper\n"),
    "folder deleted": lambda folder: shutil.rmtree(folder / "w"),
    "in the root": lambda folder: (folder.parent / "top.md").write_text("top\n"),
    "new top folder": _new_top_folder,
    "top folder again": _top_folder_again,
    "top folder renamed": _top_folder_renamed,
    "deleted": lambda folder: (folder / "a.md").unlink(),
}


def test_every_way_to_save_is_seen_by_an_event(vault, watch) -> None:
    folder = note(vault, "notes/a.md", "first\n").parent
    watcher = watch().ready()
    until(lambda: is_fresh(vault))
    for name, save in SAVES.items():
        before = stamps(vault)
        save(folder)
        assert stamps(vault) != before, name
        # Below the half minute after which a scan comes without any hint.
        until(lambda: is_fresh(vault), 25)
    assert watcher.standing().how == "events"
    assert "Warning" not in watcher.said


def test_hidden_folders_cost_no_watch(repository, watch) -> None:
    note(repository, "notes/a.md", "a\n")
    pid = watch().ready().process.pid
    info = [
        Path(f"/proc/{pid}/fdinfo/{fd}")
        for fd in os.listdir(f"/proc/{pid}/fd")
        if "inotify" in os.readlink(f"/proc/{pid}/fd/{fd}")
    ]
    watches = sum(one.read_text().count("inotify wd") for one in info)
    folders = sum(
        1
        for place, below, _ in os.walk(repository.root)
        if not below.sort() and "/.git" not in place
    )
    assert watches == 2 * folders  # for hints, and for what is asked before an answer


def test_a_storm_of_checkouts_ends_in_what_is_there(repository, watch, git) -> None:
    root = repository.root
    count = 1000 if SOAK else 300
    for number in range(count):
        note(repository, f"notes/{number % 10}/{number}.md", f"first {number}\n")
    commit_all(root, "one")
    git(root, "switch", "-qc", "other")
    for number in range(count):
        note(repository, f"notes/{number % 10}/{number}.md", f"second {number}\n")
    git(root, "commit", "-qam", "two")
    watcher = watch("--quiet=600").ready()
    for _ in range(3):
        git(root, "switch", "-q", "main")
        git(root, "switch", "-q", "other")
    git(root, "switch", "-q", "main")
    until(lambda: is_fresh(repository))
    assert watcher.standing().problems == ()
    assert git(root, "status", "--porcelain", "notes") == ""


def test_files_made_while_the_watcher_slept_are_all_found(vault, watch, cortex) -> None:
    """The kernel's queue of events is full when they are made."""
    Path(vault.root, "notes").mkdir()
    watcher = watch().ready()
    watcher.signal(signal.SIGSTOP)
    queue = Path("/proc/sys/fs/inotify/max_queued_events")
    for _ in range((int(queue.read_text()) if queue.exists() else 16_384) // 2):
        Path(vault.root, "notes/no-note").touch()
        Path(vault.root, "notes/no-note").unlink()
    count = 20_000 if SOAK else 500
    for number in range(count):
        with open(f"{vault.root}/notes/n{number}.md", "wb") as file:
            file.write(b"zebra%d\n" % number)
    watcher.signal(signal.SIGCONT)
    until(lambda: is_fresh(vault))
    for number in (0, count // 2, count - 1):
        assert f"n{number}.md" in cortex("search", f"zebra{number}").stdout
    assert watcher.standing().notes == count


def test_memory_does_not_grow_with_changes(vault, watch) -> None:
    for number in range(100):
        note(vault, f"notes/{number}.md", "first\n")
    watcher = watch().ready()

    def churn(changes: int) -> int:
        for number in range(changes):
            with open(f"{vault.root}/notes/{number % 100}.md", "w") as file:
                file.write(f"change {number} {time.monotonic_ns()}\n")
            if number % 2000 == 1999:
                until(lambda: is_fresh(vault))
        return rss(watcher.process.pid)

    warm = churn(4_000 if SOAK else 2_000)
    assert churn(100_000 if SOAK else 4_000) < warm + 4_000, "kB"


@pytest.mark.parametrize(
    "broken", ["---\nid: [\n---\n", "---\n", "\xff\x00", "---\nid: a\n<<<<<<< ours\n"]
)
def test_one_bad_note_stops_nothing(vault, caller, watch, broken) -> None:
    note(vault, "notes/bad.md", broken)
    note(vault, "inbox/pending/20261120t164512z-aaaaaaaaaa.md", broken)
    watcher = watch().ready()
    capture(vault, caller, "Decision: go on")
    until(lambda: list(Path(vault.root, "records/decision").glob("*.md")))
    until(lambda: is_fresh(vault))
    assert watcher.process.poll() is None


def test_a_step_that_fails_is_told_tried_again_and_stops_no_other(vault, caller, watch) -> None:
    note(vault, "briefings", "a file where a folder has to be\n")
    watcher = watch().ready()
    capture(vault, caller, "Decision: heal later")
    until(lambda: list(Path(vault.root, "records/decision").glob("*.md")))
    until(lambda: any(one.startswith("heal: ") for one in watcher.standing().problems))
    note(vault, "notes/a.md", "found all the same\n")
    until(lambda: is_fresh(vault))
    Path(vault.root, "briefings").unlink()
    until(lambda: list(Path(vault.root, "briefings").rglob("*.md")))
    until(lambda: not watcher.standing().problems)


def test_a_lock_that_a_killed_git_left_is_waited_for_once(repository, watch) -> None:
    """Five seconds, and never again: then notes are fresh as ever."""
    watcher = watch().ready()
    Path(repository.root, ".git/index.lock").touch()
    note(repository, "notes/a.md", "a\n")
    time.sleep(1.5)
    assert not is_fresh(repository)
    until(lambda: is_fresh(repository))
    waited = []
    # A busy machine may be as slow as a wait for the lock, but not each time.
    while min(waited, default=5.0) > 4.0:
        assert len(waited) < 5
        note(repository, f"notes/b{len(waited)}.md", "b\n")
        began = time.monotonic()
        until(lambda: is_fresh(repository))
        waited.append(time.monotonic() - began)
    assert watcher.process.poll() is None
    assert Path(repository.root, ".git/index.lock").exists()
