"""Merges, stashes and picks as git makes them in corners: ones that it does not name, on a branch that is not checked out,
with a person's own settings; none of them loses a note, or brings back what somebody took away."""

from __future__ import annotations

import subprocess

import pytest

from cortex.operations.share.heal import heal
from cortex.operations.share.sync import sync
from cortex.vault.git import drivers
from tests.reliability import test_identity
from tests.reliability.test_identity import (
    E2,
    RECORD,
    X,
    Y,
    Z,
    both_survive,
    event_path,
    meet,
    record_path,
)

two = test_identity.two


@pytest.fixture
def has_drivers() -> bool:
    return True


@pytest.mark.parametrize("how", ["checkout -m", "merge --squash", "an older stash"])
def test_a_forgotten_stash_is_no_side_of_what_git_does_not_name(two, how) -> None:
    _, b = two
    path = record_path(X)
    lines = (b.root / path).read_text()

    def edit(old: str, new: str) -> None:
        b.write(path, lines.replace(old, new))

    edit("Use files.", "Use files, says an OLD stash.")
    if how == "an older stash":
        edit("One file", "MY WORK, one file")
    b.git("stash", "-q")
    b.git("switch", "-qc", "side")
    edit("One file", "SIDE, one file")
    b.commit()
    b.git("switch", "-q", "main")
    if how == "an older stash":
        edit("Use files.", "Use files, says an OLD stash.")
        b.git("stash", "-q")
        b.git("merge", "-q", "side")
        b.git("stash", "pop", "-q", "stash@{1}", code=1)
    else:
        edit("One file", "MY WORK, one file")
        if how == "checkout -m":
            b.git("checkout", "-q", "-m", "side")
        else:
            b.commit()
            b.git("merge", "-q", "--squash", "side", code=1)
    sync(b.vault, b.caller())
    text = b.texts()[X]
    assert "MY WORK" in text
    assert "SIDE" in text
    assert "OLD" not in text


def test_a_pick_against_the_second_parent_is_merged_with_what_it_changes(two) -> None:
    a, _ = two
    path = record_path(X)
    lines = (a.root / path).read_text()
    a.git("switch", "-qc", "side")
    a.write(path, lines.replace("Use files.", "Use files, says SIDE."))
    a.commit()
    a.git("switch", "-qc", "other", "main")
    a.write(path, lines.replace("copy.", "copy by the OTHER."))
    a.commit()
    a.git("merge", "-q", "--no-edit", "side")
    a.git("switch", "-q", "main")
    a.write(path, lines.replace("copy.", "copy LATER."))
    a.commit()
    a.git("cherry-pick", "-m", "2", "other", code=1)
    sync(a.vault, a.caller())
    text = a.texts()[X]
    assert "SIDE" not in text
    assert "OTHER" in text
    assert "LATER" in text


def replace_on_both_sides(b) -> None:
    """A branch and main each put another record in place of X; that on main is not committed yet."""
    b.git("switch", "-qc", "side")
    b.remove(record_path(X))
    b.record(Z, "Use files there")
    b.commit()
    b.git("switch", "-q", "main")
    b.remove(record_path(X))
    b.record(Y, "Use files, in a way")


@pytest.mark.parametrize("how", ["sync", "git pull"])
def test_an_event_that_a_person_took_out_of_a_commit_of_their_own_stays_out(two, how) -> None:
    a, b = two
    b.git("config", "pull.rebase", "true")
    b.event(E2, "The customer is called Smith.")
    b.add_line("mine.md", "- bread")
    b.commit()
    b.git("rm", "-q", event_path(E2))
    b.git("commit", "-q", "--amend", "--no-edit")
    a.add_line(record_path(X), "measured")
    a.commits()
    if how == "git pull":
        b.git("pull", "-q")
    b.sync()
    assert E2 not in b.texts()
    assert b.git("log", "--oneline", "origin/main", "--", event_path(E2)) == ""


def test_a_stash_that_is_put_back_twice_leaves_what_was_staged_in_between(two) -> None:
    """The stash deletes a note; git leaves untracked the file that it was moved to, and edited in."""
    a, b = two
    a.git("mv", record_path(X), record_path(Z))
    a.commits()
    b.git("mv", record_path(X), "records/decision/moved.md")
    b.git("reset", "-q")
    b.add_line("records/decision/moved.md", "measured")
    b.git("stash", "-q")
    b.git("pull", "-q", "--no-rebase")
    for _ in range(2):
        b.git("stash", "apply", "-q", code=1)
        b.fix()
        assert "measured" in b.texts()[X]


def test_what_a_person_takes_out_of_a_squashed_merge_stays_out(two) -> None:
    _, b = two
    b.git("switch", "-qc", "side")
    b.event(E2, "The customer is called Smith.")
    b.add_line(record_path(X), "measured")
    b.commit()
    b.git("switch", "-q", "main")
    b.git("merge", "-q", "--squash", "side")
    b.git("rm", "-q", "--cached", event_path(E2))
    b.remove(event_path(E2))
    b.git("commit", "-q", "--no-edit")
    b.sync()
    assert E2 not in b.texts()


def test_a_pick_of_a_squashed_merge_brings_nothing_else_along(two) -> None:
    _, b = two
    b.git("switch", "-qc", "release")
    b.git("switch", "-q", "main")
    b.event(E2, "Of main alone.")
    b.commit()
    b.git("switch", "-qc", "side")
    b.add_line(record_path(X), "measured")
    b.commit()
    b.git("switch", "-q", "main")
    b.git("merge", "-q", "--squash", "side")
    b.git("commit", "-q", "--no-edit")
    b.git("switch", "-q", "release")
    heal(b.vault, b.caller())
    b.git("cherry-pick", "main")
    heal(b.vault, b.caller())
    assert E2 not in b.texts()


def test_a_squashed_merge_that_stops_is_resolved_as_the_merge_that_it_is(two) -> None:
    """Both sides replace one record by another that is like it; git stages one text for both."""
    _, b = two
    drivers.unregister(str(b.root))
    replace_on_both_sides(b)
    b.add_line(record_path(Y), "measured on two machines")
    b.commit()
    b.git("merge", "-q", "--squash", "side", code=1)
    b.fix()
    assert b.git("diff", "--name-only", "--diff-filter=U") == ""
    b.git("commit", "-q", "--no-edit")
    held = b.texts()
    assert X not in held
    assert "measured" in held[Y]
    assert "Use files there." in held[Z]
    assert "measured" not in held[Z]


def test_a_sparse_checkout_makes_no_pages_of_what_it_has_not(two) -> None:
    a, b = two
    b.git("status")  # git takes away only what it knows to be unchanged
    b.git("sparse-checkout", "set", "--no-cone", "/*", "!/records/")
    pages = sorted((path, path.read_text()) for path in (b.root / "briefings").rglob("*.md"))
    b.add_line("mine.md", "- bread")
    b.sync()
    assert pages == sorted(
        (path, path.read_text()) for path in (b.root / "briefings").rglob("*.md")
    )
    assert any("sparse checkout leaves out 1 note" in one for one in b.problems())
    b.git("sparse-checkout", "disable")
    meet(a, b)


@pytest.mark.parametrize("version", ["4", "split"])
def test_any_form_of_the_index_tells_what_is_unmerged(two, version) -> None:
    _, b = two
    words = ["--split-index"] if version == "split" else ["--index-version", version]
    b.git("update-index", *words)
    assert b.problems() == []
    b.git("switch", "-qc", "side")
    b.write("mine.md", "theirs\n")
    b.commit()
    b.git("switch", "-q", "main")
    b.write("mine.md", "ours\n")
    b.commit()
    b.git("merge", "-q", "side", code=1)
    assert "mine.md: git could not merge it" in b.problems()


def test_a_merge_of_what_is_no_text_leaves_both_versions(two) -> None:
    a, b = two
    for each in (a, b):
        each.write(record_path(Y), f"\0 of {each.root.name}\n")
        each.commit()
    a.git("push", "-q")
    b.git("fetch", "-q")
    command = b.git("config", "merge.cortex-record.driver").strip()
    for letter, name in (("O", "base"), ("A", "ours"), ("B", "theirs")):
        (b.root / f".git/{name}").write_bytes(b"\0" + name.encode())
        command = command.replace(f"%{letter}", f".git/{name}")
    command = command.replace("%L", "7").replace("%P", "note.md")
    assert subprocess.run(command, shell=True, cwd=b.root, capture_output=True).returncode <= 127


@pytest.mark.parametrize("by", ["sync", "doctor"])
def test_a_note_that_git_does_not_know_stays_where_both_sides_deleted_one(two, by) -> None:
    """Each side put another note in place of the first, which is back here and not committed yet."""
    _, b = two
    text = (b.root / record_path(X)).read_text()
    replace_on_both_sides(b)
    b.commit()
    b.write(record_path(X), f"{text}measured on two machines\n")
    b.git("merge", "-q", "side", code=1)
    assert b.git("status", "--porcelain", record_path(X)).startswith("DD")
    if by == "sync":
        sync(b.vault, b.caller())
    else:
        b.fix()
    b.git("commit", "-q", "--no-edit")
    both_survive(b)
    assert b.git("status", "--porcelain", record_path(X)).startswith("??")
    assert "Use files there." in b.texts()[Z]


def test_of_crossed_merges_the_side_that_went_back_on_purpose_is_right(two) -> None:
    """Both sides of the merge are as one of its two bases has the note."""
    a, _ = two
    record = RECORD.format(id=Y, title="Use SQLite")
    a.git("switch", "-qc", "one")
    a.write(record_path(Y), record)
    a.commit()
    a.git("switch", "-qc", "other", "main")
    a.write(record_path(Y), record + "measured on two machines\n")
    a.commit()
    a.git("switch", "-qc", "with-it")
    a.git("merge", "-q", "--no-edit", "-X", "ours", "one")
    a.git("switch", "-q", "one")
    a.git("merge", "-q", "--no-edit", "-X", "theirs", "other")
    a.write(record_path(Y), record)
    a.commit("taken out")
    a.git("push", "-q", "origin", "with-it:main")
    a.git("switch", "-q", "main")
    a.git("reset", "-q", "--hard", "one")
    a.sync()
    assert "measured" not in a.texts()[Y]
