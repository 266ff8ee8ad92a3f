"""An answer may skip the scan only when nothing can have changed: many changes, each asked for at once."""

from __future__ import annotations

import json
import mmap
import os
import random
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cortex.index.file_scan import Snapshot, scan_vault
from cortex.watcher import event_support, protocol, scan_memory
from cortex.watcher.scan_memory import ScanMemory
from tests.watcher.conftest import SOAK, note, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is of Linux")


def _without_links(seen: Snapshot) -> Snapshot:
    """What a link leads to may change unseen; then only the problem that tells of it is late."""
    kept = [one for one in seen.problems if "is a link" not in one.message]
    return seen._replace(problems=tuple(kept))


class Asker:
    """Looks through a memory, and at the files."""

    def __init__(self, root: str) -> None:
        self.root, self.memory, self.scan_count = root, ScanMemory(), 0

    def remembered(self, key: object = "") -> Snapshot:
        def scan(entering) -> Snapshot:
            self.scan_count += 1
            # A note that has just changed is not trusted by itself; here it is, to test the events alone.
            seen = scan_vault(self.root, (), (), entering)
            return seen._replace(racy=frozenset())

        seen = self.memory.recall_or_scan(self.root, key, scan)
        assert seen is not None
        return seen

    def is_looked_again(self) -> bool:
        before = self.scan_count
        self.remembered()
        return self.scan_count > before

    def check(self, after: object) -> None:
        there = scan_vault(self.root, (), ())._replace(racy=frozenset())
        assert _without_links(self.remembered()) == _without_links(there), after


@pytest.fixture
def ask(monkeypatch) -> Iterator[Callable[[Path], Asker]]:
    """Askers on a file system that tells everything, whatever the tests run on."""
    monkeypatch.setattr(event_support, "is_local", lambda _root: True)
    # Another test may mount something meanwhile.
    monkeypatch.setattr(scan_memory, "_MOUNTS_FILE", "/proc/self/stat")
    with ExitStack() as made:

        def start(root: Path) -> Asker:
            asker = Asker(str(root))
            made.callback(asker.memory.close)
            return asker

        yield start


class Writer:
    """Changes a vault at random, as editors, shells and git do."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.chance = root, random.Random(seed)
        self.outside = root.parent / "outside"
        self.outside.mkdir()
        for number in range(20):
            note_at(root / f"a{number % 3}/b{number % 2}/n{number}.md", f"first {number}\n")

    def change(self) -> str:
        """Make one change; its name."""
        names = [name for name in dir(self) if name.startswith("do_")]
        name = self.chance.choice(names)
        getattr(self, name)()
        return name

    def _note(self) -> Path:
        there = [one for one in self.root.rglob("*.md") if one.is_file() and not one.is_symlink()]
        return self.chance.choice(there or [self._new()])

    def _new(self) -> Path:
        return note_at(self._folder() / f"m{self.chance.randrange(30)}.md", "new\n")

    def _folder(self) -> Path:
        return self.chance.choice([one for one in self.root.rglob("*") if one.is_dir() and not one.is_symlink()] or [self.root])  # fmt: skip

    def _free(self) -> Path:
        return self._folder() / f"f{self.chance.randrange(10**9)}"

    def do_create(self) -> None:
        self._new()

    def do_edit(self) -> None:
        self._note().write_text(f"{self.chance.random()}\n")

    def do_append(self) -> None:
        with self._note().open("a") as file:
            file.write("more\n")

    def do_truncate(self) -> None:
        os.truncate(self._note(), self.chance.randrange(9))

    def do_keep_size_and_time(self) -> None:
        path = self._note()
        was = path.stat()
        with path.open("r+b") as file:
            file.write(bytes(self.chance.randrange(97, 122) for _ in range(was.st_size)))
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))

    def do_touch(self) -> None:
        os.utime(self._note())

    def do_chmod(self) -> None:
        self._note().chmod(self.chance.choice([0o600, 0o644]))

    def do_delete(self) -> None:
        self._note().unlink()

    def do_rename(self) -> None:
        self._note().rename(self._free().with_suffix(".md"))

    def do_replace(self) -> None:
        hidden = note_at(self._folder() / ".n.tmp", f"{self.chance.random()}\n")
        hidden.rename(self._note())

    def do_unname(self) -> None:
        self._note().rename(self._free().with_suffix(self.chance.choice([".txt", ".md"])))

    def do_hide(self) -> None:
        self._note().rename(self._folder() / ".hidden.md")

    def do_new_folders(self) -> None:
        note_at(self._free() / f"{self.chance.random()}/deep.md", "deep\n")

    def do_move_folder(self) -> None:
        one, other = self._folder(), self._free()
        if self.root != one and one not in other.parents:
            one.rename(other)

    def do_move_folder_out_and_in(self) -> None:
        one = self._folder()
        for there in self.outside.iterdir():
            note_at(there / "meanwhile.md", "meanwhile\n")
            there.rename(self._free())
        if one.is_dir() and one != self.root:
            one.rename(self.outside / f"{self.chance.random()}")

    def do_delete_folder(self) -> None:
        if (one := self._folder()) != self.root:
            shutil.rmtree(one)

    def do_hide_folder(self) -> None:
        if (one := self._folder()) != self.root:
            one.rename(one.parent / f".hidden{self.chance.random()}")

    def do_link(self) -> None:
        target = self.chance.choice([self._note(), self._folder()])
        self._free().with_suffix(self.chance.choice([".md", ""])).symlink_to(target)

    def do_ignore(self) -> None:
        (self._folder() / ".gitignore").write_text(f"{self.chance.random()}\n")

    def do_write_by_a_map(self) -> None:
        path = self._note()
        if path.stat().st_size:
            with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
                mapped[0:1] = b"%d" % self.chance.randrange(10)


def note_at(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("seed", range(20 if SOAK else 1))
def test_no_change_goes_unnoticed(tmp_path, ask, seed) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    asker, writer = ask(root), Writer(root, seed)
    for number in range(1500):
        asker.check((number, writer.change()))
        if number % 5 == 0:
            before = asker.scan_count
            for _ in range(5):
                asker.remembered()
            assert asker.scan_count == before  # nothing happened, and nothing is scanned
    assert asker.memory.skipped_count >= 1500


def test_what_no_event_tells_is_asked_of_the_files(tmp_path, ask) -> None:
    root = tmp_path / "vault"
    one = note_at(root / "notes/a.md", "a\n")
    asker = ask(root)
    assert asker.is_looked_again()
    assert not asker.is_looked_again()
    os.link(one, tmp_path / "other")  # its content can change by a name that nobody watches
    one.write_text("b\n")
    assert asker.is_looked_again()
    assert asker.is_looked_again()
    (tmp_path / "other").unlink()
    one.write_text("c\n")
    asker.remembered()
    assert not asker.is_looked_again()
    root.rename(tmp_path / "before")  # another vault in its place
    note_at(root / "notes/a.md", "d\n")
    asker.check("replaced")
    tmp_path.rename(tmp_path.with_name("gone"))
    note_at(root / "notes/a.md", "e\n")
    asker.check("replaced above")


def test_what_cannot_hold_a_note_costs_no_scan(tmp_path, ask) -> None:
    note_at(tmp_path / "notes/a.md", "a\n")
    note_at(tmp_path / ".git/index", "")
    asker = ask(tmp_path)
    asker.remembered()
    for name in (".git/HEAD", ".hidden.md", "notes/.a.md.swp"):
        note_at(tmp_path / name, "x")
    assert not asker.is_looked_again()
    note_at(tmp_path / "notes/picture.png", "x")  # it could be a link to a folder
    assert asker.is_looked_again()
    with (tmp_path / "notes/picture.png").open("a") as file:
        file.write("more")
    assert not asker.is_looked_again()


def test_it_is_scanned_where_events_are_not_relied_on(tmp_path, ask, monkeypatch) -> None:
    note_at(tmp_path / "notes/a.md", "a\n")
    asker = ask(tmp_path)
    assert [asker.is_looked_again() for _ in range(3)] == [True, False, False]
    asker.remembered("other settings")
    assert asker.is_looked_again()
    asker.memory.forget()
    assert asker.is_looked_again()
    with monkeypatch.context() as patch:
        patch.setattr(scan_memory, "_MAX_AGE_SECONDS", 0.0)
        assert [asker.is_looked_again() for _ in range(2)] == [True, True]
    monkeypatch.setattr(event_support, "is_local", lambda _root: False)
    asker.memory.forget()
    assert [asker.is_looked_again() for _ in range(2)] == [True, True]


def test_a_full_queue_is_a_reason_to_scan(tmp_path, ask) -> None:
    note_at(tmp_path / "notes/a.md", "a\n")
    asker = ask(tmp_path)
    asker.remembered()
    for _ in range(int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()) // 2 + 1):
        Path(tmp_path, "notes/.x").touch()
        Path(tmp_path, "notes/.x").unlink()
    note_at(tmp_path / "notes/b.md", "its event is lost\n")
    asker.check("overflow")


def _found(root: str, word: str) -> list[str]:
    reply = protocol.send_command(root, ["search", word, "--json"], root)
    assert reply is not None, "the watcher has to answer"
    return [one["path"] for one in json.loads(reply.stdout)["hits"]]


def test_the_watcher_is_right_after_every_change(vault, watch) -> None:
    """A change, and the question at once: with the same size and time, by renames, in new folders."""
    root = Path(vault.root)
    words = {f"notes/{one}.md": f"zebra{one:06d}" for one in range(20)}
    for path, word in words.items():
        note(vault, path, f"{word}\n")
    watcher = watch("--quiet=600").ready()
    chance = random.Random(4)
    for number in range(100, 2100 if SOAK else 175):
        path = chance.choice([*words])
        gone, new = words.pop(path), f"zebra{number:06d}"
        match chance.randrange(5):
            case 0:
                was = (root / path).stat()
                (root / path).write_text(f"{new}\n")
                os.utime(root / path, ns=(was.st_atime_ns, was.st_mtime_ns))
            case 1:
                note(vault, f"notes/{number}/new.md", f"{new}\n")
                (root / path).unlink()
                path = f"notes/{number}/new.md"
            case 2:
                note(vault, "notes/.saved", f"{new}\n").rename(root / path)
            case 3:
                (root / path).write_text(f"{new}\n")
                (root / path).rename(root / f"notes/moved{number}.md")
                path = f"notes/moved{number}.md"
            case 4:
                (root / path).unlink()
                assert _found(vault.root, gone) == []
                note(vault, path, f"{new}\n")
        words[path] = new
        assert _found(vault.root, new) == [path]
        assert _found(vault.root, gone) == []
    for path, word in words.items():
        assert _found(vault.root, word) == [path]
    assert watcher.standing().how == "events"


def test_the_watcher_scans_only_when_something_happened(vault, watch) -> None:
    if not event_support.is_local(vault.root):
        pytest.skip("it scans for every answer on this file system")
    for number in range(20):
        note(vault, f"notes/{number}.md", f"zebra{number}\n")
    watcher = watch("--quiet=600").ready()
    time.sleep(3)  # until it has looked at what it wrote itself
    before = watcher.standing()
    mounted_count = 0  # other tests mount file systems, which is a reason to scan
    with open("/proc/self/mountinfo", "rb") as mounts:
        poll = select.poll()
        poll.register(mounts, select.POLLPRI)
        for number in range(100):
            assert _found(vault.root, f"zebra{number % 20}") == [f"notes/{number % 20}.md"]
            mounted_count += bool(poll.poll(0))
    after = watcher.standing()
    assert after.answered - before.answered == 100
    assert after.scans_skipped - before.scans_skipped >= 95 - mounted_count


def test_after_an_overflow_the_first_answer_is_right(vault, watch) -> None:
    Path(vault.root, "notes").mkdir()
    watcher = watch("--quiet=600").ready()
    until(lambda: _found(vault.root, "zebra") == [])
    watcher.signal(signal.SIGSTOP)
    for _ in range(int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()) // 2 + 1):
        Path(vault.root, "notes/no-note").touch()
        Path(vault.root, "notes/no-note").unlink()
    note(vault, "notes/a.md", "zebra\n")
    watcher.signal(signal.SIGCONT)
    assert _found(vault.root, "zebra") == ["notes/a.md"]
