"""What a sync leaves behind is said once, then in one line, and again where it changes; JSON has all of it each time."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.operations.test_people_notes import age
from tests.operations.test_refused_files import hook
from tests.operations.test_sync import Clone, pair

# In two parts, so that this file holds none.
KEY = "AKIA" + "IOSFODNN7EXAMPLF"


@pytest.fixture
def a(tmp_path: Path, copied: Callable[..., None]) -> Clone:
    copied(pair, tmp_path, "remote.git", "a", "b")
    return Clone(str(tmp_path / "a"))


@pytest.fixture
def says(a: Clone, cortex: Callable[..., object]) -> Callable[..., tuple[int, list[str]]]:
    """The exit code of a sync, and its lines of what was left behind."""

    def sync(*words: str) -> tuple[int, list[str]]:
        age(a)
        done = cortex("sync", *words, cwd=a.root)
        lines = [line for line in done.stdout.splitlines() if not line.startswith(("committed ", "sent ", "nothing to do"))]  # fmt: skip
        return done.returncode, lines

    return sync


def test_it_is_said_once_and_again_only_where_it_changes(a, says):
    a.write("script.py", "print()\n")
    a.write(".obsidian/app.json", "{}")
    a.write("keys.md", f"one\n{KEY}\n")
    code, (hidden, script, keys, way_on) = says()
    assert code == 1
    assert hidden == "left .obsidian: hidden"
    assert script.startswith("left script.py: neither a note nor an attachment")
    assert keys.startswith("keys.md: is not published: line 2 looks like a secret")
    assert "--publish keys.md" in way_on
    for _ in range(2):
        assert says() == (1, ["3 files left as before: cortex doctor and git status"])
    a.write("keys.md", f"one\ntwo\n{KEY}\n")
    a.write("other.py", "print()\n")
    told = [script.replace("script", "other"), keys.replace("2", "3", 1), way_on]
    assert says() == (1, [*told, "2 files left as before: git status"])
    a.remove("keys.md")
    assert says() == (0, ["3 files left as before: git status"])
    a.write("keys.md", f"one\ntwo\n{KEY}\n")  # as it was, but it had been mended
    assert keys.replace("2", "3", 1) in says()[1]


def test_json_doctor_and_status_say_it_each_time(a, says, cortex):
    hook(a, 'git diff --cached | grep -q draft && echo "no drafts" >&2 && exit 1; exit 0')
    a.write("plan.md", "A draft.\n")
    a.write("other.md", "Not one.\n")
    assert "no drafts" in "".join(says()[1])
    assert says() == (1, ["1 file left as before: cortex doctor"])
    for _ in range(2):
        code, lines = says("--json")
        answer = json.loads("\n".join(lines))
        assert (code, answer["told_before"]) == (1, ["plan.md"])
        assert [one["where"] for one in answer["refused"]] == ["plan.md"]
    for verb in ("doctor", "status"):
        assert "no drafts" in cortex(verb, cwd=a.root).stdout


def test_a_sync_that_stops_forgets_nothing(a, says):
    a.write("script.py", "print()\n")
    assert "script.py" in says()[1][0]
    away = Path(a.root).parent / "remote.git"
    away.rename(away.with_suffix(".away"))
    assert says()[0] == 1
    away.with_suffix(".away").rename(away)
    assert says() == (0, ["1 file left as before: git status"])


def test_what_neither_doctor_nor_git_names_is_in_the_json(a, says):
    a.write("cortex.toml", f"{a.read('cortex.toml')}\n[remind]\nlines = 70\n")
    assert "[remind] lines is not a number from 0 to 20" in "".join(says()[1])
    assert says() == (0, ["1 file left as before: cortex sync --json"])


def test_what_lost_in_another_clones_merge_is_told_once_where_it_is_received(a, says, tmp_path):
    b = Clone(str(tmp_path / "b"))
    path = a.record("act-aaaaaa")
    a.synced()
    b.synced()
    for one, owner in ((a, "Abe"), (b, "Zoe")):
        one.edit(path, "title:", f"owner: {owner}\ntitle:")
    a.synced()
    (merged,) = [one for one in b.synced().settled if one.path == path]
    assert merged.what.startswith('owner: kept "Zoe", not "Abe"')  # no editor says when
    _, (received, told) = says()
    assert received.startswith("received")
    assert told.startswith(f"merged {path}: a merge left out owner: Abe; cortex history act-aaaaaa")
    assert says() == (0, [])


def test_of_many_that_lost_their_number_is_told(a, says, tmp_path):
    b = Clone(str(tmp_path / "b"))
    paths = [a.record(f"act{number}-aaaaaa") for number in range(6)]
    a.synced()
    b.synced()
    for one, owner in ((a, "Abe"), (b, "Zoe")):
        for path in paths:
            one.edit(path, "title:", f"owner: {owner}\ntitle:")
        one.synced()
    lines = "\n".join(says()[1])
    assert "merges left something out of 6 notes" in lines
    assert "cortex status" in lines


def test_a_broken_record_is_left_to_doctor(a, says, cortex):
    a.write("records/decision/broken-aaaaaa.md", "---\nid: broken-aaaaaa\ntitle: [\n---\n\nText.\n")
    assert "is not committed" in "".join(says()[1])
    assert says() == (0, ["1 file left as before: cortex doctor"])
    assert "broken-aaaaaa" in cortex("doctor", cwd=a.root).stdout


def test_no_commit_of_a_sync_is_told_as_another(a):
    a.write("cortex.toml", a.read("cortex.toml") + "\n[sync]\nobsidian = true\n")
    a.write(".gitignore", "x\n")
    a.write(".obsidian/app.json", "{}")
    age(a)
    assert a.synced().commits == ("cortex: settings", "cortex: 2 own settings")


@pytest.mark.parametrize("what", ["a", "a record and b"])
def test_a_hook_that_declines_all_is_told_once_and_by_doctor(a, says, cortex, what):
    script = hook(a, "echo not on Fridays >&2; exit 1")
    for name in range(33) if "b" in what else "a":
        a.write(f"n{name}.md", f"Note {name}.\n")
    if "record" in what:
        a.record("rec-aaaaaa")
    age(a)
    said = cortex("sync", cwd=a.root).stdout
    assert said.count("not on Fridays") == 1
    assert "still being written" not in said
    assert "sync stopped before" in said
    assert "pre-commit" in cortex("doctor", cwd=a.root).stdout
    script.unlink()
    assert says()[0] == 0
    assert "not on Fridays" not in cortex("doctor", cwd=a.root).stdout


def test_what_was_deleted_just_now_is_not_being_written(a):
    a.write("x/a.md", "a\n")
    a.write("x/b.md", "b\n")
    age(a)
    a.synced()
    a.remove("x/a.md")
    a.remove("x/b.md")
    assert set(a.sync().left_because) == {"yours to commit: sync stopped before"}
