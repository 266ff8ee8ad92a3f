"""A file that git refuses keeps nothing else back: it is found, named with git's own words until it is mended, and the rest goes along."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.operations.care.doctor import doctor
from cortex.operations.care.status import status
from tests.operations.test_people_notes import age, sync_at_once
from tests.operations.test_sync import Clone, pair


@pytest.fixture
def a(tmp_path: Path, copied: Callable[..., None]) -> Clone:
    copied(pair, tmp_path, "remote.git", "a", "b")
    return Clone(str(tmp_path / "a"))


@pytest.fixture
def b(a: Clone, tmp_path: Path) -> Clone:
    return Clone(str(tmp_path / "b"))


def hook(clone: Clone, script: str) -> Path:
    path = Path(clone.root, ".git/hooks/pre-commit")
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def without_lfs(clone: Clone) -> str:
    clone.git("config", "filter.lfs.clean", "no-such-program clean -- %f")
    clone.git("config", "filter.lfs.required", "true")
    text = clone.read(".gitattributes")
    clone.write(".gitattributes", f"{text}*.png filter=lfs -text\n")
    clone.write("img/p.png", b"\x89PNG\0\1\2")
    return "img/p.png"


def safe_line_ends(clone: Clone) -> str:
    clone.git("config", "core.autocrlf", "input")
    clone.git("config", "core.safecrlf", "true")
    return clone.write("from windows.md", b"one\r\ntwo\r\n")


def size_hook(clone: Clone) -> str:
    hook(
        clone,
        "git diff --cached --name-only --diff-filter=AM | while read -r f; do\n"
        '[ "$(wc -c < "$f")" -lt 100000 ] || { echo "a file is too large" >&2; exit 1; }; done',
    )
    return clone.write("large.md", "word " * 30_000)


def name_of_windows(clone: Clone) -> str:
    clone.git("config", "core.protectNTFS", "true")
    return clone.write("git~1/x.md", "x\n")


CAUSES: dict[Callable[[Clone], str], str] = {
    without_lfs: "external filter",
    safe_line_ends: "CRLF would be replaced by LF",
    size_hook: "a file is too large",
    name_of_windows: "is not a path inside the vault",
}


@pytest.mark.parametrize("cause", CAUSES)
def test_it_keeps_nothing_back_and_is_named_until_it_is_mended(a, b, cause, cortex):
    path = cause(a)
    for number in range(9):
        a.write(f"n{number}.md", f"Note {number}.\n")
    a.record("another-aaaaaa")
    a.remove("mine.md")
    done = sync_at_once(a)
    assert (done.trouble, done.push) == ("", "pushed")
    (told,) = done.refused
    assert told.where == path
    assert CAUSES[cause] in told.message
    assert done.left_because == {}
    assert a.git("status", "--porcelain", "-z").count("\0") == 1
    b.synced()
    assert {"n0.md", "n8.md", "records/decision/another-aaaaaa.md"} <= b.notes()
    assert "mine.md" not in b.notes()
    a.write("later.md", "Later.\n")
    age(a)
    again = cortex("sync", cwd=a.root)
    assert again.returncode == 1
    assert "later.md" in a.notes()
    for shown in (doctor(a.vault, a.caller()).problems, status(a.vault, a.caller()).refused):
        assert {one.where for one in shown if CAUSES[cause] in one.message} == {path}
    a.remove(path)
    assert doctor(a.vault, a.caller()).problems == ()
    assert status(a.vault, a.caller()).refused == ()
    assert sync_at_once(a).refused == ()


def test_a_file_that_was_taken_before_and_is_refused_now_stays_as_it_was(a):
    a.write("p.png", b"\x89PNG")
    sync_at_once(a)
    without_lfs(a)
    a.write("p.png", b"\x89PNG and more")
    a.remove("mine.md")
    done = sync_at_once(a)
    assert {one.where for one in done.refused} == {"p.png", "img/p.png"}
    assert a.git("status", "--porcelain") == " M p.png\n?? img/\n"


def test_a_refused_new_name_keeps_the_old_one(a):
    a.write("img/old.png", b"\x89PNG")
    sync_at_once(a)
    without_lfs(a)
    a.remove("img/p.png")
    a.move("img/old.png", "img/new.png")
    a.write("n.md", "x\n")
    done = sync_at_once(a)
    assert {one.where for one in done.refused} == {"img/old.png", "img/new.png"}
    assert {"img/old.png", "n.md"} <= a.notes()


def test_a_record_that_a_hook_declines_keeps_neither_records_nor_notes_back(a):
    hook(a, 'git diff --cached | grep -q "draft word" && echo "no drafts" >&2 && exit 1; exit 0')
    a.record("good-aaaaaa")
    a.record("draft-aaaaaa", "A draft word.")
    a.write("n.md", "x\n")
    done = sync_at_once(a)
    names = {one.where for one in done.refused if not one.where.startswith("briefings/")}
    assert names == {"records/decision/draft-aaaaaa.md"}  # pages tell of it
    assert {"records/decision/good-aaaaaa.md", "n.md"} <= a.notes()
    a.record("draft-aaaaaa", "A draft word again.")
    a.write("m.md", "x\n")
    assert sync_at_once(a).push == "pushed"
    assert "m.md" in a.notes()


def test_what_declines_every_commit_is_said_once_and_asked_little(a):
    count = Path(a.root, ".git/asked")
    hook(a, f'echo asked >> "{count}"; echo "not on Fridays" >&2; exit 1')
    for number in range(100):
        a.write(f"n{number}.md", f"Note {number}.\n")
    before = a.head()
    age(a)
    done = a.sync()
    assert "not on Fridays" in done.trouble
    assert (a.head(), done.refused) == (before, ())
    assert a.git("diff", "--cached", "--name-only") == ""
    assert count.read_text().count("asked") < 20


def test_what_cannot_be_read_is_refused(a):
    if not os.geteuid():
        pytest.skip("root reads everything")
    a.write("closed.md", "x\n")
    a.write("n.md", "x\n")
    age(a)
    Path(a.root, "closed.md").chmod(0)
    done = a.sync()
    assert [one.where for one in done.refused] == ["closed.md"]
    assert "n.md" in a.notes()
