"""What git has mixed in a clone without drivers is found by the next command, whatever git command it was, and is put right
once: what people did since stays."""

from __future__ import annotations

import os
import shutil
import time

import pytest

from cortex.operations.share.copied_commits import copied_commits
from cortex.operations.share.heal import heal
from cortex.operations.share.sync import sync
from cortex.vault.git import displaced, drivers
from tests.reliability import test_identity
from tests.reliability.test_identity import (
    Clone,
    X,
    Y,
    Z,
    both_survive,
    meet,
    record_path,
    remove_and_save_alike,
)

two = test_identity.two
LINE = "measured on two machines"


@pytest.fixture
def has_drivers() -> bool:
    return False


def replace_x(clone: Clone) -> None:
    remove_and_save_alike(clone)
    clone.commit("one like it in its place")


def edit_x(clone: Clone, at: str = "") -> None:
    """As Cortex does: with another `updated`."""
    text = (clone.root / record_path(X)).read_text()
    text = text.replace("updated: 2026-11-20T10:00:00Z", "updated: 2026-11-20T10:05:00Z")
    clone.write(record_path(X), f"{text}{LINE}\n")
    clone.git("add", "-A")
    clone.git("commit", "-qm", "measured", *(["--date", at] if at else []), at=at)


def mix(a: Clone, b: Clone) -> None:
    """Git takes what a added to X for a line of Y, which b has saved in its place, and b shares that."""
    edit_x(a)
    a.git("push", "-q")
    replace_x(b)
    b.git("pull", "-q", "--no-rebase", "--no-edit")
    b.git("push", "-q")
    assert LINE in (b.root / record_path(Y)).read_text()
    assert not (b.root / record_path(X)).exists()


def another(b: Clone, name: str = "c") -> Clone:
    """One more clone, in which Cortex has looked at all merges so far."""
    shutil.copytree(b.root, b.root.parent / name)
    clone = Clone(b.root.parent / name)
    heal(clone.vault, clone.caller())
    return clone


# --- found


def by_a_revert(a: Clone, b: Clone) -> None:
    """What it takes back is that somebody took the line out of X."""
    edit_x(a)
    text = (a.root / record_path(X)).read_text()
    a.write(record_path(X), text.replace(f"{LINE}\n", ""))
    a.commits()
    b.git("pull", "-q")
    replace_x(b)
    b.git("revert", "--no-edit", "HEAD~1")


def by_a_squashed_merge(a: Clone, b: Clone) -> None:
    """The branch has merged main meanwhile."""
    edit_x(a)
    b.write("mine too.md", "other\n")
    b.commits()
    a.git("pull", "-q", "--no-rebase", "--no-edit")
    a.write("mine three.md", "third\n")
    a.commit()
    replace_x(b)
    b.git("fetch", "-q", "../a", "main:side")
    b.git("merge", "-q", "--squash", "side")
    b.git("commit", "-q", "--no-edit")


def by_a_long_rebase(a: Clone, b: Clone) -> None:
    edit_x(b)
    for day in range(51):
        b.write("diary.md", f"day {day}\n")
        b.commit()
    replace_x(a)
    a.git("push", "-q")
    b.git("pull", "-q", "--rebase")


def by_a_pick_of_what_a_fast_clock_made(a: Clone, b: Clone) -> None:
    edit_x(a, at=f"{int(time.time()) + 60} +0000")
    replace_x(b)
    b.git("fetch", "-q", "../a", "main:theirs")
    b.git("cherry-pick", "theirs")


def by_a_merge_in_which_somebody_chose_when_it_was_updated(a: Clone, b: Clone) -> None:
    for each, hour in ((a, "10:10"), (b, "10:20")):
        if each is a:
            a.add_line(record_path(X), LINE)
        else:
            remove_and_save_alike(b)
        path = record_path(X if each is a else Y)
        text = (each.root / path).read_text()
        each.write(path, text.replace("updated: 2026-11-20T10:00", f"updated: 2026-11-20T{hour}"))
        each.commit()
    a.git("push", "-q")
    b.git("pull", "-q", "--no-rebase", "--no-edit", "-X", "ours")


def by_a_pick_of_a_pick(a: Clone, b: Clone) -> None:
    """Where both are made stays what they are copies of, too: another clone picks on."""
    edit_x(a, at="2026-11-21T10:00:00Z")
    b.record(Y, "Use files, in a way")
    b.commits()
    c = another(b)
    b.remove(record_path(X))
    b.commit("gone")
    b.git("fetch", "-q", "../a", "main:theirs")
    b.git("cherry-pick", "theirs", at="2026-11-21T10:01:00Z")
    for name in ("a", "b"):
        c.git("fetch", "-q", f"../{name}", f"main:{name}")
    c.git("cherry-pick", "b", at="2026-11-21T10:02:00Z")
    heal(c.vault, c.caller())
    both_survive(c)
    b.git("reset", "-q", "--hard", "origin/main")
    c.commit()
    b.git("pull", "-q", "--no-rebase", "--no-edit", "../c", "main")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "mixed",
    [
        by_a_revert,
        by_a_squashed_merge,
        by_a_long_rebase,
        by_a_pick_of_what_a_fast_clock_made,
        by_a_merge_in_which_somebody_chose_when_it_was_updated,
        by_a_pick_of_a_pick,
    ],
    ids=lambda one: one.__name__,
)
def test_a_line_that_git_put_into_another_note_is_back_in_its_own(two, mixed) -> None:
    a, b = two
    for each in two:
        heal(each.vault, each.caller())
    mixed(a, b)
    meet(b, a)
    for each in two:
        both_survive(each)


def test_a_revert_that_git_applied_to_another_note_takes_nothing_out_of_it(two) -> None:
    """The commit that is taken back had put Y in the place of X; Y was edited since."""
    a, b = two
    before = (b.root / record_path(X)).read_text()
    replace_x(b)
    b.add_line(record_path(Y), LINE)
    b.commits()
    b.git("revert", "--no-edit", "HEAD~1")
    assert LINE in (b.root / record_path(X)).read_text()
    meet(b, a)
    for each in two:
        assert each.texts()[X] == before
        assert LINE in each.texts()[Y]


def test_what_was_taken_back_before_it_was_mixed_stays_away(two) -> None:
    """A rebase has written both commits into another note: the one with the line, and the one that takes it back."""
    a, b = two
    heal(b.vault, b.caller())
    before = (b.root / record_path(X)).read_text()
    edit_x(b, at="2026-11-21T10:00:00Z")
    b.git("revert", "--no-edit", "HEAD", at="2026-11-21T10:00:01Z")
    replace_x(a)
    a.git("push", "-q")
    b.git("pull", "-q", "--rebase")
    assert not (b.root / record_path(X)).exists()
    meet(b, a)
    for each in two:
        assert LINE not in each.texts()[Y]
        assert each.texts().get(X, before) == before


def test_a_field_that_an_octopus_has_written_twice_stands_once(two) -> None:
    _, b = two
    heal(b.vault, b.caller())
    text = (b.root / record_path(X)).read_text()
    places = {"one": "type: decision\n", "other": "tags: [storage]\n"}
    for branch, line in places.items():
        b.git("switch", "-qc", branch, "main")
        b.write(record_path(X), text.replace(line, f"{line}due: 2026-12-19\n"))
        b.commit()
    b.git("switch", "-q", "main")
    b.write("mine too.md", "x\n")
    b.commit()
    b.git("merge", "-q", "--no-edit", *places)
    assert b.texts()[X].count("due: 2026-12-19") == 2
    heal(b.vault, b.caller())
    assert b.texts()[X].count("due: 2026-12-19") == 1
    b.sync()


def test_a_line_of_a_note_that_a_third_clone_has_deleted_too_is_back(two) -> None:
    a, b = two
    c = another(b)
    heal(a.vault, a.caller())
    mix(a, b)
    drivers.register(str(c.root))
    c.remove(record_path(X))
    meet(c, a)
    for each in (a, c):
        both_survive(each)


def test_a_note_that_git_mixed_and_then_took_for_another_is_back_with_its_own_text(two) -> None:
    """Nobody has looked in between: git mixed Y with X, then a pick put Z in its place."""
    a, b = two
    heal(b.vault, b.caller())
    mix(a, b)
    b.git("switch", "-qc", "side", "HEAD^1")
    b.remove(record_path(Y))
    b.record(Z, "Use files, in a way")
    b.commit("another in its place")
    b.git("switch", "-q", "main")
    b.git("cherry-pick", "side")
    assert LINE in (b.root / record_path(Z)).read_text()
    assert not (b.root / record_path(Y)).exists()
    heal(b.vault, b.caller())
    both_survive(b)
    b.commit("as it was brought back")
    # What was picked comes along once more, and what was mixed is older by now.
    b.git("merge", "-q", "-s", "ours", "--no-edit", "side")
    heal(b.vault, b.caller())
    both_survive(b)
    meet(b, a)
    for each in two:
        both_survive(each)
        assert LINE not in each.texts()[Z]


@pytest.mark.parametrize("is_there", [False, True])
def test_a_note_that_git_mixed_and_the_driver_kept_elsewhere_is_back_with_its_own_text(
    two, is_there: bool
) -> None:
    """The mixture was looked at before; from it, git's driver is asked to merge Y with Z."""
    a, b = two
    heal(b.vault, b.caller())
    mix(a, b)
    mixed = b.git("rev-parse", "HEAD").strip()
    c = another(b)
    c.commit("put right")
    heal(c.vault, c.caller())
    own = c.texts()[Y]
    drivers.register(str(c.root), again=True)
    c.git("switch", "-qc", "side", f"{mixed}^1")
    c.remove(record_path(Y))
    c.record(Z, "Use files, in a way")
    c.commit("another in its place")
    c.git("switch", "-qc", "older", mixed)
    c.git("merge", "-q", "--no-edit", "side")
    (kept,) = displaced.list_entries(str(c.root))
    assert LINE.encode() in kept.displaced_text
    if is_there:
        c.write(record_path(Y), own)
    heal(c.vault, c.caller())
    assert c.texts()[Y] == own


def test_all_that_one_merge_has_lost_is_brought_back_with_one_look_at_its_history(two) -> None:
    """Each look starts dozens of gits."""
    a, b = two
    numbers = [f"{number:02}-aaaaaa" for number in range(8)]
    for number in numbers:
        a.record(f"old-{number}", f"Use {number}")
    a.commits()
    b.git("pull", "-q")
    heal(b.vault, b.caller())
    for number in numbers:
        a.add_line(record_path(f"old-{number}"), LINE)
        b.remove(record_path(f"old-{number}"))
        b.record(f"new-{number}", f"Use {number}")
    a.commits()
    b.commit()
    b.git("pull", "-q", "--no-rebase", "--no-edit")
    trace = b.root.parent / "gits"
    b.git("config", "--global", "trace2.normalTarget", str(trace))
    heal(b.vault, b.caller())
    b.git("config", "--global", "--unset", "trace2.normalTarget")
    assert {f"old-{number}" for number in numbers} <= b.texts().keys()
    started = trace.read_text().count(" start ")
    assert 0 < started < 20 * len(numbers)


def test_a_copy_of_a_copy_is_known_as_such_after_both_are_merged(two) -> None:
    a, b = two
    b.write("mine too.md", "other\n")
    b.commit()
    before = b.git("rev-parse", "HEAD").strip()
    edit_x(a, at="2026-11-21T10:00:00Z")
    b.git("fetch", "-q", "../a", "main:theirs")
    b.git("switch", "-qc", "side")
    b.git("cherry-pick", "theirs", at="2026-11-21T10:01:00Z")
    first = b.git("rev-parse", "HEAD").strip()
    b.git("switch", "-q", "main")
    b.write("mine three.md", "third\n")
    b.commit()
    b.git("cherry-pick", "side", at="2026-11-21T10:02:00Z")
    second = b.git("rev-parse", "HEAD").strip()
    b.git("merge", "-q", "--no-edit", "side")
    copies = copied_commits(str(b.root), "--max-count=9", second, f"^{before}")
    assert {(one.copy, one.in_history) for one in copies} == {(first, second), (second, second)}


# --- put right once


def test_a_note_that_was_deleted_after_it_was_brought_back_stays_away(two) -> None:
    a, b = two
    for each in two:
        heal(each.vault, each.caller())
    mix(a, b)
    b.write("mine too.md", "x\n")
    b.commit()  # so that its next merge begins on the side that knows nothing of the repair
    a.sync()
    both_survive(a)
    a.remove(record_path(X))
    a.sync()
    b.git("pull", "-q", "--no-rebase", "--no-edit")
    b.git("push", "-q")
    meet(b, a)
    for each in two:
        assert X not in each.texts()
        assert LINE not in each.texts()[Y]


@pytest.mark.parametrize("how", ["late clone", "other branch"])
def test_a_line_that_somebody_moved_on_purpose_since_stays_where_it_is(two, how) -> None:
    a, b = two
    a.git("branch", "old")
    c = another(b)
    mix(a, b)
    a.sync()
    text = (a.root / record_path(X)).read_text()
    a.write(record_path(X), text.replace(f"{LINE}\n", ""))
    a.add_line(record_path(Y), LINE)
    a.sync()
    if how == "other branch":
        a.git("switch", "-q", "old")
        heal(a.vault, a.caller())
        a.git("clean", "-fdq")
        a.git("checkout", "-q", ".")
        a.git("switch", "-q", "main")
    meet(c, a)
    for each in (a, c):
        assert LINE in each.texts()[Y]
        assert LINE not in each.texts()[X]


def test_a_repair_that_was_thrown_away_before_it_was_committed_is_made_again(two) -> None:
    a, b = two
    heal(a.vault, a.caller())
    mix(a, b)
    a.git("pull", "-q")
    heal(a.vault, a.caller())
    both_survive(a)
    a.git("stash", "-q", "-u")
    a.git("stash", "drop", "-q")
    heal(a.vault, a.caller())
    both_survive(a)
    meet(a, b)
    for each in two:
        both_survive(each)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seconds", ["00000", "11111", "00001", "11112"])
def test_a_pick_within_the_second_of_its_original_is_not_taken_for_the_original(
    two, seconds, monkeypatch
) -> None:
    """a's commit, b's, the pick, its end and the syncs at these seconds."""
    a, b = two

    def at(number: int, *, of_a_pick: bool = False) -> None:
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{1795600000 + int(seconds[number])} +0000")
        if of_a_pick:
            monkeypatch.delenv("GIT_AUTHOR_DATE")
        else:
            monkeypatch.setenv("GIT_AUTHOR_DATE", os.environ["GIT_COMMITTER_DATE"])

    a.record(Z, "Use a queue")
    a.commits()
    b.git("pull", "-q")
    text = (a.root / record_path(Z)).read_text()
    at(0)
    a.write(record_path(Z), text.replace("[storage]", "[queue]"))
    replace_x(a)
    a.git("push", "-q")
    at(1)
    b.write(record_path(Z), text.replace("[storage]", "[shop]"))
    edit_x(b)
    at(2, of_a_pick=True)
    b.git("fetch", "-q")
    b.git("cherry-pick", "origin/main", code=1)
    b.fix()
    at(3)
    b.git("cherry-pick", "--continue", code=None)
    at(4)
    meet(b, a)
    for each in two:
        both_survive(each)


def test_a_pick_within_the_second_of_its_original_takes_back_no_line_that_was_changed(
    two, monkeypatch
) -> None:
    """Compared the other way round, what the line said before is the change."""
    a, b = two
    c = another(b)
    monkeypatch.setenv("GIT_COMMITTER_DATE", "1795600000 +0000")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "1795600000 +0000")
    replace_x(a)
    a.git("push", "-q")
    text = (b.root / record_path(X)).read_text()
    b.write(record_path(X), text.replace("One file is enough", "Two files are enough"))
    edit_x(b)
    b.git("fetch", "-q")
    b.git("cherry-pick", "origin/main")
    b.fix()
    b.sync()
    c.sync()
    meet(a, b, c)
    for each in (a, b, c):
        both_survive(each)
        held = each.texts()
        assert "Two files are enough" in held[X]
        assert LINE in held[X]
        assert "One file is enough" in held[Y]


def test_a_repair_is_told_once(two) -> None:
    """Also if somebody edits the note since."""
    a, b = two
    c = another(b)
    mix(a, b)
    for each in (a, c):
        each.sync()
        for number in range(2):
            each.add_line(record_path(Y), f"an edit {number} in {each.root.name}")
            each.commits()
            done = sync(each.vault, each.caller())
            assert (done.settled, done.problems) == ((), ())
    both_survive(c)


def test_a_note_that_a_person_deletes_before_its_repair_is_committed_stays_away(two) -> None:
    a, b = two
    heal(a.vault, a.caller())
    mix(a, b)
    a.git("pull", "-q")
    heal(a.vault, a.caller())
    a.remove(record_path(X))
    a.commit("without it")
    assert heal(a.vault, a.caller()).brought_back == ()
    a.write("mine too.md", "x\n")
    a.commit()
    assert heal(a.vault, a.caller()).brought_back == ()


def lose_a_change(a: Clone, b: Clone, changed: str, back: str) -> None:
    """a changes X, and git makes that change in Y; b brings X back with another change."""
    heal(a.vault, a.caller())
    a.write(record_path(X), changed)
    a.commits()
    replace_x(b)
    b.git("pull", "-q", "--no-rebase", "--no-edit")
    b.write(record_path(X), back)
    b.commits()
    meet(a, b)


def test_a_change_that_was_lost_is_brought_back_without_markers(two) -> None:
    """The note came back with another change of the same line."""
    old = (two[0].root / record_path(X)).read_text()
    texts = [old.replace("copy.", f"copy. {verb} twice.") for verb in ("Measured", "Weighed")]
    lose_a_change(*two, *texts)
    for each in two:
        assert "Measured twice." in each.texts()[X]
        assert "Weighed twice." in each.texts()[X]
        assert "<<<<" not in each.texts()[X]


def test_a_lost_change_that_holds_markers_is_brought_back_once(two) -> None:
    """Somebody had committed them."""
    old = (two[0].root / record_path(X)).read_text()
    changed = f"{old}<<<<<<< ours\n{LINE}\n=======\nweighed\n>>>>>>> theirs\n"
    lose_a_change(*two, changed, old.replace("Use files.", "Use files, says b."))
    for each in two:
        assert "Use files, says b." in each.texts()[X]
        assert f"{LINE}\nweighed\n" in each.texts()[X]
        assert "<<<<" not in each.texts()[X]


def test_a_log_that_git_has_shortened_hides_no_merge(two) -> None:
    """The place up to which it was read lies in the entry behind that of the merge then."""
    a, b = two
    for number in range(8):
        a.write("diary.md", f"day {number}\n")
        a.commit()
    a.git("push", "-q")
    b.git("pull", "-q")
    heal(a.vault, a.caller())
    read = len((a.root / ".git/logs/HEAD").read_bytes())
    mix(a, b)
    a.git("pull", "-q")
    a.write("diary.md", "later\n")
    a.commit()
    log = (a.root / ".git/logs/HEAD").read_bytes()
    last = len(log.splitlines(keepends=True)[-1])
    (a.root / ".git/logs/HEAD").write_bytes(log[len(log) - last - read + 20 :])
    heal(a.vault, a.caller())
    both_survive(a)


@pytest.mark.parametrize("log", [True, False])
def test_a_rebase_of_sync_is_checked_where_git_keeps_no_log(two, log) -> None:
    """The attributes of this clone keep git from asking the drivers."""
    a, b = two
    replace_x(a)
    a.git("push", "-q")
    edit_x(b)
    b.git("config", "pull.rebase", "true")
    b.write(".git/info/attributes", "* !merge\n")
    if not log:
        b.git("config", "core.logAllRefUpdates", "false")
        shutil.rmtree(b.root / ".git/logs")
    sync(b.vault, b.caller())
    both_survive(b)


def test_a_commit_without_a_date_stops_no_command(two) -> None:
    a, b = two
    heal(a.vault, a.caller())
    tree, parent = (b.git("rev-parse", name).strip() for name in ("HEAD^{tree}", "HEAD"))
    (b.root / "text").write_text(
        f"tree {tree}\nparent {parent}\nauthor A <a@example.org> never +0000\n"
        "committer A <a@example.org> 1700000000 +0000\n\nold\n"
    )
    words = ["hash-object", "-t", "commit", "-w", "--literally", "text"]
    b.git("update-ref", "HEAD", b.git(*words).strip())
    b.remove("text")
    b.git("push", "-q")
    a.git("pull", "-q")
    assert heal(a.vault, a.caller()).problems == ()
    a.sync()
