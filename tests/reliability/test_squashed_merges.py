"""What git has lost or mixed on a branch, or in squashing it, is put right where `git merge --squash` takes it; what people
decided there stays."""

from __future__ import annotations

import subprocess

import pytest

from cortex.operations.share.heal import heal
from cortex.vault.git import drivers
from tests.reliability import test_identity
from tests.reliability.test_checked_merges import LINE, another, replace_x
from tests.reliability.test_identity import Clone, X, Y, both_survive, meet, record_path

two = test_identity.two
LIST = "Shopping\n\n- {}\n"


@pytest.fixture
def has_drivers() -> bool:
    return False


def damage_a_branch(b: Clone) -> None:
    """On the branch `side` a merge of main has lost X, and put its new line into Y."""
    b.git("switch", "-qc", "side")
    replace_x(b)
    b.git("switch", "-q", "main")
    b.add_line(record_path(X), LINE)
    b.commit()
    b.git("switch", "-q", "side")
    b.git("merge", "-q", "--no-edit", "main")
    assert LINE in (b.root / record_path(Y)).read_text()


def squash(b: Clone, other: str = "side") -> None:
    b.git("merge", "-q", "--squash", other)
    b.git("commit", "-q", "--no-edit")


def test_what_a_merge_among_the_squashed_commits_had_lost_is_brought_back(two) -> None:
    """It is there alone: since the branch had merged main, that the note is gone looks like a deletion."""
    a, b = two
    damage_a_branch(b)
    b.git("switch", "-q", "main")
    squash(b)
    assert X not in b.texts()
    meet(b, a)
    both_survive(a)


def test_what_was_put_right_and_then_deleted_on_a_squashed_branch_stays_away(two) -> None:
    a, b = two
    damage_a_branch(b)
    heal(b.vault, b.caller())
    b.commit("put right")
    b.git("rm", "-q", record_path(X))
    b.commit("on purpose")
    b.git("switch", "-q", "main")
    squash(b)
    meet(b, a)
    assert X not in a.texts()


def test_a_line_that_somebody_moved_on_purpose_on_a_squashed_branch_stays_where_it_is(two) -> None:
    _, b = two
    damage_a_branch(b)
    heal(b.vault, b.caller())
    b.commit("put right")
    b.add_line(record_path(Y), LINE)
    b.commit("here, too")
    b.git("switch", "-q", "main")
    squash(b)
    heal(b.vault, b.caller())
    assert LINE in b.texts()[Y]


def test_a_line_is_back_though_its_note_came_back_without_it_on_a_squashed_branch(two) -> None:
    a, b = two
    before = (b.root / record_path(X)).read_text()
    damage_a_branch(b)
    b.write(record_path(X), before)
    b.commit("the deletion taken back")
    b.git("switch", "-q", "main")
    squash(b)
    meet(b, a)
    both_survive(a)


def test_a_branch_that_is_squashed_again_brings_back_nothing_that_was_taken_out(two) -> None:
    _, b = two
    damage_a_branch(b)
    b.git("switch", "-q", "main")
    squash(b)
    heal(b.vault, b.caller())
    both_survive(b)
    b.commit("put right")
    b.git("rm", "-q", record_path(X))
    heal(b.vault, b.caller())
    b.commit("on purpose")
    b.git("switch", "-q", "side")
    b.write("mine.md", LIST.format("bread"))
    b.git("commit", "-qm", "bread", "--", "mine.md")
    b.git("switch", "-q", "main")
    b.git("merge", "-q", "--squash", "side", code=None)
    b.fix()
    b.git("commit", "-q", "--no-edit")
    heal(b.vault, b.caller())
    assert X not in b.texts()


@pytest.mark.parametrize("stops", [False, True])
def test_a_squashed_merge_that_sync_commits_is_checked(two, stops) -> None:
    a, b = two
    damage_a_branch(b)
    if stops:
        b.write("mine.md", LIST.format("bread"))
        b.commit()
    b.git("switch", "-q", "main")
    if stops:
        b.write("mine.md", LIST.format("tea"))
        b.commit()
    b.git("merge", "-q", "--squash", "side", code=int(stops))
    if stops:
        b.write("mine.md", LIST.format("tea\n- bread"))
        b.git("add", "mine.md")
        b.fix()
    meet(b, a)
    both_survive(a)


@pytest.mark.parametrize("way", ["cherry-pick", "am"])
def test_what_a_squashed_merge_lost_is_kept_where_that_is_picked(two, way) -> None:
    """In the clone that picks it, what was lost is put right already, so that git sees a deletion."""
    a, b = two
    b.add_line(record_path(X), LINE)
    b.commits()
    replace_x(a)
    b.git("fetch", "-q", str(a.root), "+main:refs/remotes/a/main")
    squash(b, "a/main")
    drivers.register(str(a.root))
    a.sync()
    c = another(a)
    c.git("fetch", "-q", str(b.root), "+main:refs/remotes/b/main")
    mail = subprocess.check_output(["git", "format-patch", "-1", "--stdout"], cwd=b.root)
    (c.root.parent / "mail").write_bytes(mail)
    words = ("cherry-pick", "FETCH_HEAD") if way == "cherry-pick" else ("am", "-q", "-3", "../mail")
    c.git(*words, code=None)
    c.fix()
    c.git(way, "--continue", code=None)
    meet(c, b, a)
    both_survive(a)
