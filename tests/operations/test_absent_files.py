"""A file that is absent, and that nobody has deleted, is never committed as deleted: it is named, and the rest goes along."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.operations.test_people_notes import age
from tests.operations.test_sync import Clone, pair


@pytest.fixture
def a(tmp_path: Path, copied: Callable[..., None]) -> Clone:
    """A clone with two folders of a person's, one of them named `photos`."""
    copied(pair, tmp_path, "remote.git", "a")
    return Clone(str(tmp_path / "a"))


@pytest.fixture
def disk(a: Clone) -> Iterator[Path]:
    """A disk that is mounted in the vault."""
    folder = Path(a.root, "photos")
    folder.mkdir()
    if not shutil.which("mount") or os.geteuid():
        pytest.skip("nobody may mount here")
    if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], check=False).returncode:
        pytest.skip("nothing can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False, capture_output=True)


def share(a: Clone, *paths: str) -> None:
    for path in paths:
        a.write(path, f"{path}\n")
    age(a)
    a.synced()
    assert {*paths} <= a.notes()


def told(a: Clone) -> dict[str, str]:
    """What a sync leaves, and why; a note of this moment goes along."""
    name = a.write(f"n{time.monotonic_ns()}.md", "x\n")
    os.utime(Path(a.root, name), (0, 0))
    done = a.sync()
    assert done.trouble == ""
    assert name in a.notes()
    because = {path: why for why, paths in done.left_because.items() for path in paths}
    return because | {one.where: one.message for one in (*done.problems, *done.refused)}


def test_a_folder_that_vanished_whole_is_asked_about_also_in_a_small_vault(a, cortex):
    share(a, "x/a.md", "x/b/c.md", "d.md", "e/f.md")
    for number in range(2):
        a.record(f"rec{number}-aaaaaa", path=f"records/gotcha/rec{number}-aaaaaa.md")
    a.synced()
    shutil.rmtree(Path(a.root, "x"))
    age(a)
    done = a.sync()
    assert done.trouble == "all 2 notes in x are gone from the vault; they were not committed"
    assert done.hint.endswith("cortex sync --yes if that is right")
    assert {"x/a.md", "x/b/c.md"} <= a.notes()
    done = cortex("sync", "--yes", cwd=a.root)
    assert "\nremoved 2 notes\n" in f"\n{done.stdout}"
    assert a.git("log", "-1", "--format=%s") == "removed 2 notes\n"
    shutil.rmtree(Path(a.root, "records/gotcha"))
    assert "all 2 notes in records/gotcha are gone" in a.sync().trouble
    a.git("restore", "records")
    shutil.rmtree(Path(a.root, "records"))
    assert "notes in records are gone" in a.sync().trouble
    a.git("restore", "records")
    shutil.rmtree(Path(a.root, "e"))  # of one note alone nobody asks
    a.remove("records/gotcha/rec0-aaaaaa.md")
    age(a)
    a.synced()
    assert not {"e/f.md", "records/gotcha/rec0-aaaaaa.md"} & a.notes()


def test_a_disk_that_is_not_mounted_takes_nothing_out(a, disk):
    share(a, "photos/a.png", "photos/2026/b.png", *(f"photos/{n}.md" for n in range(9)))
    subprocess.run(["umount", disk], check=True)
    assert not os.listdir(disk)
    left = told(a)
    assert len(left) == 11
    assert {*left.values()} == {"what was mounted at photos is not there"}
    assert "photos/2026/b.png" in a.notes()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], check=True)
    a.git("checkout", "--", "photos")
    age(a)
    a.remove("photos/a.png")
    assert told(a) == {}
    assert "photos/a.png" not in a.notes()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_folder_that_has_become_a_link_takes_nothing_out(a, tmp_path, is_there):
    share(a, "photos/a.png", "photos/2026/b.png")
    shutil.move(Path(a.root, "photos"), tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", Path(a.root, "photos"))
    if not is_there:
        shutil.rmtree(tmp_path / "elsewhere")
    assert {"photos/a.png", "photos/2026/b.png"} <= {*told(a)}
    assert {"photos/a.png", "photos/2026/b.png"} <= a.notes()


@pytest.mark.parametrize("sign", ["photos/.a.md.icloud", "photos/a.md.nextcloud", "photos.cloudf"])
def test_what_a_cloud_has_put_away_is_still_there_for_the_others(a, sign):
    share(a, "photos/a.md", "b.md")
    if sign.startswith("photos."):
        shutil.rmtree(Path(a.root, "photos"))
    else:
        a.remove("photos/a.md")
    a.write(sign, "")
    a.remove("b.md")
    assert told(a)["photos/a.md"] == "a cloud has put it away"
    assert "photos/a.md" in a.notes()
    assert "b.md" not in a.notes()


def test_a_record_that_a_cloud_has_put_away_is_named_too(a):
    a.record("another-aaaaaa")
    share(a, "b.md")
    path = "records/decision/another-aaaaaa.md"
    a.move(path, "records/decision/.another-aaaaaa.md.icloud")
    assert told(a)[path] == "a cloud has put it away"
    assert path in a.notes()
    a.move("records/decision/.another-aaaaaa.md.icloud", path)
    assert told(a) == {}


def test_a_sparse_checkout_takes_nothing_out(a):
    share(a, "photos/a.png", "drafts/b.md")
    a.git("sparse-checkout", "set", "--no-cone", "/*", "!/photos/")
    assert not a.has("photos/a.png")
    a.git("update-index", "--skip-worktree", "drafts/b.md")
    a.remove("drafts/b.md")
    assert told(a) == {}
    assert {"photos/a.png", "drafts/b.md"} <= a.notes()


def test_what_a_person_deletes_is_deleted(a):
    share(a, "photos/a.png", "photos/2026/b.png", "photos/kept.png", "c.md")
    shutil.rmtree(Path(a.root, "photos/2026"))
    a.remove("photos/a.png")
    a.remove("c.md")
    age(a)
    assert told(a) == {}
    assert not {"photos/a.png", "photos/2026/b.png", "c.md"} & a.notes()


def test_a_sparse_checkout_adds_what_lies_elsewhere_and_makes_no_pages(a, cortex):
    assert cortex("save", "Keep it small", "--type", "decision", cwd=a.root).returncode == 0
    share(a, "drafts/b.md")
    for cone in (("records", "drafts"), ("records/decision", "events", "briefings")):
        a.record(f"{len(cone)}-aaaaaa", path=f"records/gotcha/{len(cone)}-aaaaaa.md")
        a.synced()
        pages = a.git("ls-tree", "-r", "HEAD", "briefings")
        assert pages
        a.git("sparse-checkout", "set", *cone)
        said = cortex("save", f"Keep {cone}", "--type", "decision", cwd=a.root)
        assert "created" in said.stdout
        a.write("elsewhere/c.md", f"{cone}\n")
        age(a)
        done = a.sync()
        assert (done.trouble, done.refused, done.problems) == ("", (), ())
        assert a.git("status", "--porcelain") == ""
        assert "elsewhere/c.md" in a.git("ls-tree", "-r", "--name-only", "HEAD")
        assert a.git("ls-tree", "-r", "HEAD", "briefings") == pages
        a.git("sparse-checkout", "disable")
