"""What a conflict says: whose the sides are, where it is, and the one next step."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import run_git
from tests.operations.test_sync import NOTE, Clone, pair

TODAY_RE = r"(?:\d{4}-\d\d-\d\d )?\d\d:\d\d"

pytestmark = pytest.mark.sampled(3)


@pytest.fixture(params=["merge", "rebase"])
def two(
    tmp_path: Path, copied: Callable[..., None], request: pytest.FixtureRequest
) -> tuple[Clone, Clone]:
    """Ana's clone and Bob's; both merge, or both rebase."""
    copied(pair, tmp_path, "remote.git", "a", "b")
    if request.param == "rebase":
        run_git(tmp_path, "config", "--global", "pull.rebase", "true")
    a, b = (Clone(str(tmp_path / name)) for name in "ab")
    for each, name in ((a, "Ana\033[31m"), (b, "Bob")):
        each.git("config", "user.name", name)
        each.git("config", "user.email", f"{name[:3]}@example.org")
    return a, b


def settle(one: Clone) -> None:
    then = time.time() - 60
    for path in Path(one.root).rglob("*"):
        if ".git" not in path.parts:
            os.utime(path, (then, then), follow_symlinks=False)


@pytest.mark.parametrize("path", ["mine.md", NOTE])
def test_markers_say_whose_the_lines_are_and_the_message_where_they_stand(two, path):
    a, b = two
    a.edit(path, "Paragraph 4.", "Paragraph A.")
    b.edit(path, "Paragraph 4.", "Paragraph B.")
    settle(a)
    a.synced()
    settle(b)
    for _ in range(2):  # the second time nothing has changed
        done = b.sync()
        (problem,) = done.waiting
        text = b.read(path)
        found = re.search(r"(?m)^<{7,} (.*)\n(?s:(.*))\n={7,}\n(?s:(.*))\n>{7,} (.*)$", text)
        assert found
        sides = {found[1]: found[2], found[4]: found[3]}
        (other,) = sides.keys() - {"yours"}
        assert re.fullmatch(rf"Ana\[31m's of {TODAY_RE}", other)
        assert "Paragraph B." in sides["yours"]
        assert "Paragraph A." in sides[other]
        number = text[: found.start()].count("\n") + 1
        assert problem.message == f"you and Ana[31m changed the same lines: {path}:{number}"
        assert problem.hint == "choose the lines to keep and delete the markers, then cortex sync"
        assert done.hint.startswith(problem.hint)
    start, end = found.span()
    b.write(path, text[:start] + "Paragraph A and B." + text[end:])
    settle(b)
    b.synced()
    a.synced()
    assert "Paragraph A and B." in a.read(path)
    assert a.tree() == b.tree()
    assert "yours" not in b.git("log", "-p", "--format=", "--", path)


@pytest.mark.parametrize("deleted_by", ["Ana", "Bob"])
@pytest.mark.parametrize("keep", [True, False])
def test_deleted_here_and_changed_there_names_who_and_the_two_commands(two, deleted_by, keep):
    a, b = two
    deleter, editor = (a, b) if deleted_by == "Ana" else (b, a)
    deleter.remove("mine.md")
    editor.edit("mine.md", "Paragraph 4.", "Paragraph E.")
    settle(a)
    a.synced()
    settle(b)
    done = b.sync()
    (problem,) = done.waiting
    who = ("Ana[31m", "you") if deleted_by == "Ana" else ("you", "Ana[31m")
    assert problem.message == f"{who[0]} deleted it, and {who[1]} changed it"
    assert "markers" not in problem.hint + done.hint
    commands = re.fullmatch(r"(.*) keeps it, (.*) lets it go; then cortex sync", problem.hint)
    assert commands
    line = commands[1 if keep else 2]
    subprocess.run(shlex.split(line), check=True, capture_output=True, cwd="/")
    b.synced()
    a.synced()
    assert a.tree() == b.tree()
    assert a.has("mine.md") == b.has("mine.md") == keep
    assert not keep or "Paragraph E." in a.read("mine.md")


def test_of_an_attachment_that_both_changed_both_stay(two):
    a, b = two
    a.write("img/photo.png", b"\x89PNG\0base")
    settle(a)
    a.synced()
    b.synced()
    a.write("img/photo.png", b"\x89PNG\0of Ana")
    b.write("img/photo.png", b"\x89PNG\0of Bob")
    settle(a)
    a.synced()
    settle(b)
    done = b.synced()
    (copy,) = [path for path in b.notes() if path.startswith("img/photo (")]
    assert re.fullmatch(r"img/photo \(Ana31m \d{4}-\d\d-\d\d\)\.png", copy)
    assert any(copy in one.what for one in done.settled)
    a.synced()
    for each in (a, b):
        assert Path(each.root, "img/photo.png").read_bytes() == b"\x89PNG\0of Bob"
        assert Path(each.root, copy).read_bytes() == b"\x89PNG\0of Ana"
    assert a.tree() == b.tree()


@pytest.mark.parametrize("seen_by", ["a save", "an update", "--reviewed", "a plain pull"])
def test_of_two_texts_for_one_topic_the_lost_one_is_named_until_somebody_has_looked(
    two, cortex, seen_by
):
    a, b = two
    for each, word in ((a, "Postgres"), (b, "SQLite")):
        words = ("save", f"Use {word}", "--topic", "decision/store", "--project", "p")
        assert cortex(*words, "--body", f"{word} is enough.", cwd=each.root).returncode == 0
        time.sleep(1.1)  # their events must not be of one second
    settle(a)
    a.synced()
    if seen_by == "a plain pull":
        cortex("sync", "--no-push", cwd=b.root)
        b.git("pull", "-q", "--no-edit")
    said = cortex("sync", cwd=b.root).stdout
    (path,) = [path for path in b.notes() if path.startswith("records/") and path != NOTE]
    id_ = Path(path).stem
    if seen_by != "a plain pull":
        line = next(line for line in said.splitlines() if ": text: kept" in line)
        assert re.search(r'kept "Use SQLite" of 2\d.*, not "Use Postgres" of 2\d', line)
        assert not re.search(r"\d{8}t\d{6}z-", line)
    a.synced()
    for each in two:
        assert "SQLite is enough." in each.read(path)
        assert path in cortex("status", cwd=each.root).stdout.split("opposing")[1]
        status = json.loads(cortex("status", "--json", cwd=each.root).stdout)
        assert [one["path"] for one in status["opposing"]["hits"]] == [path]
        page = each.read("briefings/index.md")
        assert "## Conflicts" in page
        assert f"[[{id_}|" in page.partition("## Conflicts")[2].partition("## ")[0]
        problems = json.loads(cortex("doctor", "--json", cwd=each.root).stdout)["problems"]
        assert f"cortex revise {id_} --reviewed" in str(problems)
    if seen_by == "a save":
        cortex("save", "Use both", "--topic", "decision/store", "--project", "p", cwd=b.root)
    elif seen_by == "an update":
        cortex("revise", id_, "--body", "Both.", cwd=b.root)
    else:
        assert cortex("revise", id_, "--reviewed", cwd=b.root).returncode == 0
    b.synced()
    a.synced()
    assert a.tree() == b.tree()
    for each in two:
        assert "merge_conflicts" not in each.read(path)
        assert "Conflicts" not in each.read("briefings/index.md")
        status = json.loads(cortex("status", "--json", cwd=each.root).stdout)
        assert status["opposing"]["hits"] == []


def test_what_was_decided_about_one_file_stays_while_another_one_waits(two):
    a, b = two
    b.write("other.md", b.read("mine.md"))
    settle(b)
    b.synced()
    a.synced()
    for name in ("mine.md", "other.md"):
        b.remove(name)
        a.edit(name, "Paragraph 4.", "Paragraph E.")
    settle(a)
    a.synced()
    settle(b)
    assert len(b.sync().waiting) == 2
    run_git(b.root, "rm", "-q", "mine.md")
    assert len(b.sync().waiting) == 1
    run_git(b.root, "add", "other.md")
    b.synced()
    a.synced()
    assert a.tree() == b.tree()
    assert (b.has("mine.md"), b.has("other.md")) == (False, True)
