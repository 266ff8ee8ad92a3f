"""Nothing is acknowledged or let go before what came of it is on disk: under the least that POSIX promises.

ext4 keeps more than it must: one journal carries every folder's entries, so no power cut there can show a folder
that was forgotten. Here we keep the books ourselves: a file's bytes are safe when the file was synced, its name when
the folder of the name was. The books outlive a crash, as the disk does.
"""

from __future__ import annotations

import os
import stat
from typing import Any

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.operations.care.init import init
from cortex.operations.records.capture import capture
from cortex.operations.records.restore import retry
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import files
from cortex.vault.locate import Vault

MEETING = "# Review\n\n## Decisions\n\n- We keep one file\n\n## Action items\n\n- [ ] @anna measures by 2026-12-01\n"


class Crash(BaseException):
    """The process is gone."""


PAGES = {"active-plan.md", "decisions.md", "decisions-archive.md", "index.md"}


class Books:
    """The system as `cortex.vault.files` sees it, with what is not yet safe on disk."""

    def __init__(self) -> None:
        self.names: dict[
            int, set[str]
        ] = {}  # folder -> names made in it since its last sync; a dropped one may come back
        self.contents: set[int] = set()  # files written since their last sync
        self.wrong: list[str] = []
        self.changes = 0
        self.crash_at = -1

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, fd: int, data: Any) -> int:
        self._change()
        self.contents.add(os.fstat(fd).st_ino)
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        self._change()
        status = os.fstat(fd)
        if stat.S_ISDIR(status.st_mode):
            self.names.pop(status.st_ino, None)
        else:
            self.contents.discard(status.st_ino)

    def mkdir(self, name: str, mode: int, *, dir_fd: int) -> None:
        self._change()
        os.mkdir(name, mode, dir_fd=dir_fd)
        self._named(name, dir_fd)

    def link(self, source: str, name: str, *, dst_dir_fd: int, **more: Any) -> None:
        self._change()
        os.link(source, name, dst_dir_fd=dst_dir_fd, **more)
        self._named(name, dst_dir_fd)

    def rename(self, source: str, name: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        self._change()
        os.rename(source, name, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        self._named(name, dst_dir_fd)

    def unlink(self, name: str, *, dir_fd: int) -> None:
        self._change()
        folder = os.fstat(dir_fd).st_ino
        open_ends = {key: value for key, value in self.names.items() if value and key != folder}
        if open_ends and not name.endswith(files.TEMP_SUFFIX):
            self.wrong.append(
                f"{name} is let go while {sorted(set().union(*open_ends.values()))} may still be lost"
            )
        os.unlink(name, dir_fd=dir_fd)
        if name in self.names.get(folder, set()):
            self.names[folder].discard(name)

    def settle(self, what: str) -> None:
        """Somebody is told that all went well. A briefing may be lost: it is made again."""
        if lost := sorted(set().union(*self.names.values()) - PAGES):
            self.wrong.append(f"{what} while {lost} may still be lost")

    def _named(self, name: str, folder: int) -> None:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if status.st_ino in self.contents:
            self.wrong.append(f"{name} is named before its bytes are safe")
        self.names.setdefault(os.fstat(folder).st_ino, set()).add(name)

    def _change(self) -> None:
        if self.changes == self.crash_at:
            raise Crash
        self.changes += 1


def caller_of(start: int) -> Caller:
    return Caller(
        "/", "2026-11-20T16:45:12Z", lambda size: start.to_bytes(size, "big"), "test", no_progress
    )


def inbox_of(root: str) -> Vault:
    """A vault with a record and a session, and one event of each kind waiting."""
    vault = Vault(init(caller_of(0), root, no_git=True).root)
    capture(vault, caller_of(1), "Decision: keep notes in git")
    capture(vault, caller_of(2), "looked around", type="pre_compact", session="s1")
    normalize(vault, caller_of(0))
    capture(vault, caller_of(3), "Decision: keep notes in git")
    capture(vault, caller_of(4), "went on", type="stop", session="s1")
    capture(vault, caller_of(5), "Gotcha: fsync the folder, too")
    capture(vault, caller_of(6), MEETING, type="meeting")
    files.create(vault.root, "inbox/pending/broken.md", b"---\nid: [\n---\n")
    return vault


@pytest.fixture
def books(monkeypatch: pytest.MonkeyPatch) -> Books:
    return Books()


def seen_by(books: Books, monkeypatch: pytest.MonkeyPatch, act: Any) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(files, "os", books)
        act()


@pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed", "named"])
def test_a_capture_is_acknowledged_when_its_bytes_its_name_and_its_folders_are_safe(
    unnamed, ram, monkeypatch, homes, books
):
    if not unnamed:
        monkeypatch.setattr(files, "_O_TMPFILE", None)
    root = ram / "vault"
    root.mkdir()
    seen_by(
        books,
        monkeypatch,
        lambda: capture(Vault(str(root)), caller_of(1), "Decision: sync the new folders"),
    )
    books.settle("acknowledged")
    assert books.changes > 5
    assert not books.wrong


def test_a_repeated_capture_makes_the_first_one_safe_before_it_says_so(
    ram, monkeypatch, homes, books
):
    root = ram / "vault"
    root.mkdir()
    again = lambda: capture(
        Vault(str(root)), caller_of(1), "once", id="20261120t164512z-aaaaaaaaab"
    )
    seen_by(books, monkeypatch, again)
    for at in range(books.changes):
        books.crash_at = at
        (root / "inbox/pending/20261120t164512z-aaaaaaaaab.md").unlink()
        books.changes = 0
        with pytest.raises(Crash):
            seen_by(books, monkeypatch, again)
        books.crash_at = -1
        seen_by(books, monkeypatch, again)
        books.settle("acknowledged")
    assert not books.wrong


def test_no_event_is_let_go_before_its_records_are_safe_whatever_run_made_them(
    ram, monkeypatch, homes, soak
):
    """A crash at every change of a run, in CI at every sixteenth one, then a run to the end: the first may have named what the
    second finds."""
    found: dict[str, int] = {}
    changes = 1_000
    points = crashes = 0
    while points < changes:
        books = Books()
        vault = inbox_of(str(ram / f"vault-{points}"))
        books.crash_at = points or -1
        try:
            seen_by(books, monkeypatch, lambda: normalize(vault, caller_of(0)))
            changes = books.changes
        except Crash:
            books.crash_at = -1
            seen_by(books, monkeypatch, lambda: normalize(vault, caller_of(0)))
        if not points:
            seen_by(books, monkeypatch, lambda: retry(vault, caller_of(0), "broken"))
        books.settle("the run ends")
        for what in books.wrong:
            found.setdefault(what, points)
        points += 1 if soak or not points else 16
        crashes += 1
    print(f"\n{crashes} crashes, {len(found)} kinds of unsafe ends")
    assert not found, "\n".join(f"crash at change {at}: {what}" for what, at in found.items())
