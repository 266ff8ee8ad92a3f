"""The history of the whole vault, and that what it names as undo undoes it; on real repositories."""

from __future__ import annotations

import shlex
import subprocess
import time
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.core.text.iso_time import epoch_seconds
from cortex.interfaces.cli import render
from cortex.operations.find.history import history
from cortex.operations.records.restore import restore
from tests.operations.test_git_and_history import ONE, note

TWO = "records/decision/two-m5d2xa.md"
EVENT = "events/2026/11/20261110t101500z-aaaaaaaaaa.md"
ALL = epoch_seconds("2026-01-01T00:00:00Z")


def read(vault, path: str) -> str:
    return Path(vault.root, path).read_text()


def told(vault, caller, **options) -> list[tuple[str, list[tuple[str, str]]]]:
    found = history(vault, caller, since=ALL, **options).commits
    return [(one.subject, [(note.change, note.id) for note in one.notes]) for one in found]


def undo_of(vault, caller, id_: str) -> str:
    commits = history(vault, caller, since=ALL).commits
    return next(note.undo for one in commits for note in one.notes if note.id == id_)


def test_each_commit_says_what_it_did_to_which_notes(vault, caller, kept, git):
    kept(
        "write", **{ONE: note("one-k3f7q2", "a"), "mine.md": "# Mine\n", "briefings/index.md": "x"}
    )
    kept("capture", **{EVENT: "---\nid: 20261110t101500z-aaaaaaaaaa\n---\n"})
    git(vault.root, "mv", ONE, TWO)
    kept("rename", **{"a.txt": "x"})
    git(vault.root, "rm", "-q", TWO)
    kept("remove")
    Path(vault.root, "mine.md").write_text("# Mine\nmore\n")
    Path(vault.root, "new.md").write_text("new\n")
    assert told(vault, caller) == [
        ("not committed yet", [("changed", "mine.md"), ("added", "new.md")]),
        ("remove", [("removed", "one-k3f7q2")]),
        ("rename", [("renamed", "one-k3f7q2")]),
        ("capture", []),
        ("write", [("added", "mine.md"), ("added", "one-k3f7q2")]),
    ]
    waiting, removed, renamed, captured, first = history(vault, caller, since=ALL).commits
    assert (waiting.commit, waiting.author, waiting.at) == ("", "you", "")
    assert (removed.author, removed.at) == ("Test", "2026-09-21T14:17:20Z")
    assert (renamed.notes[0].path, renamed.notes[0].before, renamed.others) == (TWO, ONE, 1)
    assert (captured.events, first.briefings) == (1, 1)
    assert removed.notes[0][:4] == ("one-k3f7q2", "one-k3f7q2", "decision", TWO)
    assert removed.notes[0].undo == "cortex restore one-k3f7q2"
    assert [one.undo for one in (*waiting.notes, *renamed.notes, *first.notes)] == [""] * 5
    assert (waiting.notes[0].title, waiting.notes[0].file) == ("Mine", f"{vault.root}/mine.md")


def test_what_is_named_as_undo_undoes_it(vault, caller, kept, cortex, git):
    kept("write", **{ONE: note("one-k3f7q2", "first"), TWO: note("two-m5d2xa", "a")})
    kept("more", **{ONE: note("one-k3f7q2", "second")})
    undo = undo_of(vault, caller, "one-k3f7q2")
    assert undo == f"cortex restore one-k3f7q2 --at {git(vault.root, 'rev-parse', 'HEAD~1')[:12]}"
    said = cortex(*shlex.split(undo)[1:])
    assert read(vault, ONE).endswith("first\n")
    back = said.stdout.partition("undo: ")[2].strip()
    cortex(*shlex.split(back)[1:])
    assert read(vault, ONE).endswith("second\n")
    Path(vault.root, ONE).write_text(note("one-k3f7q2", "by hand"))
    undo = undo_of(vault, caller, "one-k3f7q2")
    assert undo == "cortex restore one-k3f7q2 --at HEAD"
    said = cortex(*shlex.split(undo)[1:])
    assert read(vault, ONE).endswith("second\n")
    assert "was in no commit" in said.stdout
    undo = undo_of(vault, caller, "two-m5d2xa")
    cortex(*shlex.split(undo)[1:])
    assert "status: archived\n" in read(vault, TWO)
    assert undo_of(vault, caller, "two-m5d2xa") == "cortex restore two-m5d2xa --at HEAD"
    Path(vault.root, TWO).unlink()
    cortex(*shlex.split(undo_of(vault, caller, "two-m5d2xa"))[1:])
    assert read(vault, TWO).endswith("a\n")


def test_a_version_comes_back_with_its_fields_and_keeps_what_others_say_too(
    vault,
    caller,
    kept,
    cortex,
):
    path = "records/decision/deploy-by-hand.md"
    text = "---\nid: deploy-by-hand\ntype: decision\ntitle: Deploy by hand\nstatus: active\nowner: Ana\n{}---\n# Deploy by hand\n\nwhy\n"
    kept("write", **{path: text.format("project: shop\ntags: [a]\n")})
    other = text.replace("by hand", "by robot").replace("# Deploy by hand", "# Deploy by robot")
    other = other.replace("owner: Ana\n", "").replace("why", "why not")
    kept("more", **{path: other.format("project: till\npriority: 7\nprovenance:\n  events: [x]\n")})
    (done,) = restore(vault, caller, ["deploy-by-hand"], at="HEAD~1").hits
    assert (done.outcome, done.undo[:36]) == (
        "restored",
        "cortex restore deploy-by-hand --at " + done.undo[35],
    )
    now = read(vault, path)
    for line in ("title: Deploy by hand", "owner: Ana", "tags: [a]", "# Deploy by hand", "why"):
        assert f"\n{line}\n" in now
    assert "project: till\n" in now
    assert "events: [x]\n" in now
    assert "priority" not in now
    assert f"updated: {caller.now}\n" in now
    (same,) = restore(vault, caller, ["deploy-by-hand"], at="HEAD~1").hits
    assert (same.outcome, same.hint) == ("unchanged", "it says the same now")


def test_a_version_that_is_none_is_refused(vault, caller, kept):
    kept("write", **{ONE: note("one-k3f7q2", "a")})
    with pytest.raises(NotFoundError, match="there is no commit 'nope'"):
        restore(vault, caller, ["one-k3f7q2"], at="nope")
    with pytest.raises(NotFoundError):
        restore(vault, caller, ["one-k3f7q2"], at="20261110t101500z-aaaaaaaaaa")
    with pytest.raises(InvalidInputError, match="Cortex does not write there"):
        Path(vault.root, "mine.md").write_text("mine\n")
        kept("mine")
        restore(vault, caller, ["mine.md"], at="HEAD")


def test_a_record_that_is_gone_comes_back_as_a_commit_had_it(vault, caller, kept):
    first = kept("write", **{ONE: note("one-k3f7q2", "first")})
    kept("more", **{ONE: note("one-k3f7q2", "second")})
    Path(vault.root, ONE).unlink()
    kept("remove")
    restore(vault, caller, ["one-k3f7q2"], at=first)
    assert read(vault, ONE) == note("one-k3f7q2", "first")


def test_a_note_that_has_moved_since_is_told_by_its_name_of_now(vault, caller, kept, git):
    kept("write", **{ONE: note("one-k3f7q2", "first")})
    Path(vault.root, ONE).rename(Path(vault.root, "records/decision/moved.md"))
    assert told(vault, caller) == [
        ("not committed yet", [("renamed", "one-k3f7q2")]),
        ("write", [("added", "one-k3f7q2")]),
    ]
    first = history(vault, caller, since=ALL).commits[1].notes[0]
    assert (first.path, first.file, first.undo) == (
        ONE, f"{vault.root}/records/decision/moved.md", "cortex archive one-k3f7q2",
    )  # fmt: skip


def test_only_what_is_asked_for_is_told(vault, caller, kept):
    for number in range(4):
        kept(f"write {number}", **{ONE: note("one-k3f7q2", f"{number}")})
    found = history(vault, caller, since=ALL, number=1)
    assert ([one.subject for one in found.commits], found.more) == (["write 3"], 3)
    assert history(vault, caller._replace(now="2026-09-22T00:00:00Z")).more == 0
    assert len(history(vault, caller._replace(now="2026-09-22T00:00:00Z")).commits) == 4
    later = history(vault, caller)
    assert (later.commits, "looks further back" in later.hint) == ((), True)
    for words in ({"note": "one-k3f7q2", "since": ALL}, {"at": "HEAD"}):
        with pytest.raises(InvalidInputError, match="--since is for the whole vault"):
            history(vault, caller, **words)


def test_without_git_or_a_commit(vault, caller, git, vault_from):
    with pytest.raises(NotFoundError, match="is in no git repository"):
        history(vault, caller)
    git(vault.root, "init", "-q")
    vault_from("=== mine.md\nx\n")
    (waiting,) = history(vault, caller).commits
    assert ("added", "mine.md") in [(one.change, one.id) for one in waiting.notes]


def test_a_title_of_a_stranger_reaches_no_terminal(vault, caller, kept):
    evil = note("one-k3f7q2", "a").replace("title: one-k3f7q2", 'title: "\\e[31mred"')
    kept("write \x1b[31m", **{ONE: evil})
    Path(vault.root, ONE).unlink()
    shown = "\n".join(
        render.marked_text("history", history(vault, caller, since=ALL)).split("\x1b[1m")
    )
    assert "\x1b[31m" not in shown


def test_a_thousand_commits_take_less_than_a_second(vault, caller, git):
    git(vault.root, "init", "-q")
    lines = []
    for number in range(1000):
        text = note(f"note-{number % 50:04}", f"{number}")
        lines += [
            f"commit refs/heads/main\ncommitter Ana <a@b> {1_790_000_000 + number} +0000",
            "data 4\nsave", f"M 100644 inline records/decision/note-{number % 50:04}.md",
            f"data {len(text.encode())}\n{text}",
        ]  # fmt: skip
    Path(vault.root, "stream").write_text("\n".join(lines))
    with open(f"{vault.root}/stream", "rb") as stream:
        subprocess.run(
            ["git", "-C", vault.root, "fast-import", "--quiet"], stdin=stream, check=True
        )
    git(vault.root, "reset", "-q", "--hard")
    Path(vault.root, "stream").unlink()
    history(vault, caller, since=ALL)
    started = time.perf_counter()
    assert len(history(vault, caller, since=ALL, number=1000).commits) >= 1000
    assert time.perf_counter() - started < 2
