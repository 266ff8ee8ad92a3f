"""Merges, stashes and picks as git makes them in corners: ones that it does not name, on a branch that is not checked out,
with a person's own settings; none of them loses a note, or brings back what somebody took away."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.share import sync as syncs
from cortex.operations.share.heal import heal
from cortex.operations.share.sync import sync
from cortex.vault.git import displaced, drivers
from tests.reliability import test_identity
from tests.reliability.test_identity import (
    E2,
    EVENT,
    RECORD,
    Clone,
    X,
    Y,
    Z,
    both_survive,
    event_path,
    meet,
    record_path,
    remove_and_save_alike,
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


def merge_on_a_branch(b) -> None:
    """A branch deletes X and saves one alike; git's merge of an edit of X is left to the driver."""
    b.git("switch", "-qc", "side")
    b.add_line(record_path(X), "measured on two machines")
    b.commit()
    b.git("switch", "-qc", "feature", "main")
    remove_and_save_alike(b)
    b.commit()


def replace_on_both_sides(b) -> None:
    """A branch and main each put another record in place of X; that on main is not committed yet."""
    b.git("switch", "-qc", "side")
    b.remove(record_path(X))
    b.record(Z, "Use files there")
    b.commit()
    b.git("switch", "-q", "main")
    remove_and_save_alike(b)


def test_a_note_displaced_on_another_branch_waits_for_it(two) -> None:
    _, b = two
    merge_on_a_branch(b)
    b.git("merge", "-q", "--no-edit", "side")
    b.git("switch", "-q", "main")
    b.sync()
    assert "measured" not in b.texts()[X]
    (told,) = doctor(b.vault, b.caller()).problems
    assert told.hint == "git switch feature, then cortex heal"
    reflog = b.root / ".git/logs/HEAD"
    for damaged in (b"\0" * 600, reflog.read_bytes()[:150], b""):
        reflog.write_bytes(damaged)  # as a power cut, or git's expiry, leaves it
        heal(b.vault, b.caller())
        assert "measured" not in b.texts()[X]
    b.git("switch", "-q", "feature")
    heal(b.vault, b.caller())
    both_survive(b)


@pytest.mark.parametrize("how", ["squashed", "reset"])
def test_a_note_displaced_on_a_branch_that_is_no_more_comes_back_where_its_commits_went(
    two, how
) -> None:
    _, b = two
    merge_on_a_branch(b)
    b.git("merge", "-q", "--no-edit", "side")
    if how == "squashed":
        b.git("switch", "-q", "main")
        b.git("merge", "-q", "--squash", "feature")
    else:
        b.git("switch", "-qC", "main")
        b.git("reset", "-q", "--soft", "origin/main")
    b.git("commit", "-qm", "what feature had")
    b.git("branch", "-q", "-D", "feature")
    b.sync()
    both_survive(b)


def test_a_merge_that_only_shows_what_would_come_of_it_brings_nothing_back(two) -> None:
    _, b = two
    merge_on_a_branch(b)
    b.git("merge-tree", "--write-tree", "feature", "side")
    assert displaced.list_entries(str(b.root))
    heal(b.vault, b.caller())
    assert displaced.list_entries(str(b.root)) == []
    assert X not in b.texts()


def test_a_displaced_note_of_another_vault_in_the_repository_is_left_to_that(
    tmp_path,
) -> None:
    repository, one, other = (Clone(tmp_path / name) for name in ("q", "q/one", "q/other"))
    repository.root.mkdir()
    repository.git("init", "-q")
    for vault in (one, other):
        init(vault.caller(), str(vault.root))
        drivers.register(str(vault.root))
    other.record(X)
    repository.commit()
    other.add_line(record_path(X), "measured on two machines")
    other.git("stash", "-q")
    remove_and_save_alike(other)
    repository.commit()
    other.git("stash", "pop", "-q")
    heal(one.vault, one.caller())
    assert not any("left it out" in each for each in one.problems())
    assert any("left it out" in each for each in other.problems())
    heal(other.vault, other.caller())
    both_survive(other)


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


def test_a_subject_with_any_separator_stops_no_command(two) -> None:
    a, b = two
    a.git("commit", "-q", "--allow-empty", "-m", "take\u2028this\x0b\x1cover")
    a.git("push", "-q")
    b.sync()
    assert b.problems() == []


def test_a_merge_without_a_subject_hides_no_other(two) -> None:
    a, b = two
    drivers.unregister(str(a.root))
    merge_on_a_branch(a)
    a.git("merge", "-q", "--no-edit", "side")
    a.git("switch", "-qc", "empty", "HEAD^")
    a.git("commit", "-q", "--allow-empty", "-m", "nothing")
    a.git("switch", "-q", "feature")
    a.git("merge", "-q", "--no-ff", "--no-commit", "empty")
    a.git("commit", "-q", "--allow-empty-message", "-m", "")
    a.git("push", "-q", "origin", "feature:main")
    assert "measured" in (a.root / record_path(Y)).read_text()  # as git mixed it
    b.sync()
    both_survive(b)


def test_git_answers_as_it_does_without_the_settings_of_a_person(two) -> None:
    a, b = two
    for name, value in (
        ("log.showSignature", "true"), ("log.diffMerges", "combined"), ("log.showRoot", "false"), ("log.follow", "true"),
        ("color.ui", "always"), ("i18n.logOutputEncoding", "UTF-16"),
    ):  # fmt: skip
        b.git("config", name, value)
    remove_and_save_alike(a)
    a.commits()
    b.add_line(record_path(X), "measured on two machines")
    b.commit()
    b.git("pull", "-q", "--no-edit", "--no-rebase")
    b.sync()
    both_survive(b)
    doctor(b.vault, b.caller(), fix=True)
    meet(a, b)


@pytest.mark.parametrize("marked", [False, True])
def test_two_notes_that_git_put_into_one_file_of_a_moved_folder_are_two_again(two, marked) -> None:
    """The file lies where neither side had one; its markers, if any, are longer than usual."""
    a, b = two
    drivers.unregister(str(b.root))
    b.git("mv", "records/decision", "Ideas")
    b.git("mv", f"Ideas/{X}.md", "Ideas/moved.md")
    b.add_line("Ideas/moved.md", "measured on two machines")
    if marked:
        text = (b.root / "Ideas/moved.md").read_text()
        (b.root / "Ideas/moved.md").write_bytes(text.replace("\n", "\r\n").encode())
    b.commit()
    remove_and_save_alike(a)
    a.commits()
    b.git("fetch", "-q")
    b.git("-c", "merge.directoryRenames=conflict", "merge", "-q", "origin/main", code=1)
    mixed = (b.root / f"Ideas/{Y}.md").read_text()
    assert "measured" in mixed
    assert ("<<<<<<<<" in mixed) == marked
    b.fix()
    assert b.git("diff", "--name-only", "--diff-filter=U") == ""
    b.git("commit", "-q", "--no-edit")
    meet(b, a)
    both_survive(a)


def test_an_event_and_a_record_that_git_put_into_one_file_of_a_moved_folder_are_two_again(
    two,
) -> None:
    """Git takes the pending event and the new record for new names of the note that is gone on both sides."""
    a, b = two
    drivers.unregister(str(b.root))
    alike = "".join(f"What both of them say, line {number}.\n" for number in range(20))
    a.write("records/bugfix/gone.md", RECORD.format(id="gone", title="Gone") + alike)
    a.commits()
    b.git("pull", "-q")
    b.remove("records/bugfix/gone.md")
    b.event(E2, alike, "inbox/pending")
    b.git("mv", record_path(X), "records/moved.md")
    b.commit()
    a.remove("records/bugfix/gone.md")
    a.write(record_path(Y), RECORD.format(id=Y, title="Use files, in a way") + alike)
    a.commits()
    event, record = b.texts()[E2], a.texts()[Y]
    b.git("fetch", "-q")
    b.git("merge", "-q", "origin/main", code=1)
    assert E2 in (b.root / f"records/{Y}.md").read_text()
    b.fix()
    assert b.git("diff", "--name-only", "--diff-filter=U") == ""
    b.git("commit", "-q", "--no-edit")
    meet(b, a)
    for each in two:
        assert (each.texts()[E2], each.texts()[Y]) == (event, record)
        assert list(each.root.rglob(f"{Y}.md")) == [each.root / record_path(Y)]


@pytest.mark.parametrize("other", [f"inbox/pending/{E2}.md", record_path(Y), "Other/own.md"])
def test_a_persons_new_note_that_git_moved_and_mixed_is_back_where_it_was_written(
    two, other
) -> None:
    """Git takes it and another new one for new names of a note that is gone, and its folder for renamed."""
    a, b = two
    drivers.unregister(str(b.root))
    alike = "".join(f"What all of them say, line {number}.\n" for number in range(20))
    a.write("Ideas/gone.md", f"Gone\n{alike}")
    a.write("Plans/old.md", "Another\n")
    a.commits()
    b.git("pull", "-q")
    b.remove("Ideas/gone.md")
    texts = {
        f"inbox/pending/{E2}.md": EVENT.format(id=E2, text=alike),
        record_path(Y): RECORD.format(id=Y, title="Use files") + alike,
        "Other/own.md": f"Own\n{alike}",
    }
    b.write(other, texts[other])
    b.git("mv", "Plans", "Done")
    b.commit()
    a.remove("Ideas/gone.md")
    a.write("Plans/new.md", f"New\n{alike}")
    a.commits()
    b.git("fetch", "-q")
    b.git("merge", "-q", "origin/main", code=1)
    assert "<<<<<<<<" in (b.root / "Done/new.md").read_text()
    b.fix()
    assert b.git("diff", "--name-only", "--diff-filter=U") == ""
    b.git("commit", "-q", "--no-edit")
    assert (b.root / other).read_text() == texts[other]
    meet(b, a)
    for each in two:
        assert (each.root / "Plans/new.md").read_text() == f"New\n{alike}"
        assert not (each.root / "Done/new.md").exists()


def test_a_clone_made_anew_in_its_place_is_checked_from_its_beginning(two) -> None:
    """Its state names a commit that it has not got."""
    a, b = two
    a.sync()
    b.add_line(record_path(X), "lost with the clone")
    b.commit()
    heal(b.vault, b.caller())
    shutil.rmtree(b.root)
    a.git("clone", "-q", "../remote.git", str(b.root))
    merge_on_a_branch(b)
    b.git("merge", "-q", "--no-edit", "side")  # without drivers
    assert "measured" in (b.root / record_path(Y)).read_text()
    heal(b.vault, b.caller())
    both_survive(b)


@pytest.mark.parametrize(
    "damage", [b"", b"\0" * 60, b"garbage-x\n"], ids=["empty", "zeros", "garbage"]
)
def test_a_state_that_a_power_cut_has_spoiled_stops_no_command(two, damage) -> None:
    _, b = two
    b.sync()
    Path(b.vault.state_folder(), "merges-checked").write_bytes(damage)
    merge_on_a_branch(b)
    b.git("merge", "-q", "--no-edit", "side")
    heal(b.vault, b.caller())
    both_survive(b)


def test_what_a_squashed_merge_has_mixed_is_put_right(two) -> None:
    a, b = two
    b.git("config", "grep.patternType", "fixed")
    drivers.unregister(str(b.root))
    merge_on_a_branch(b)
    b.git("merge", "-q", "--squash", "side")
    b.git("commit", "-q", "--no-edit")
    b.git("switch", "-q", "main")
    b.git("merge", "-q", "feature")
    assert "measured" in (b.root / record_path(Y)).read_text()
    meet(b, a)
    both_survive(a)


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


def test_events_that_a_person_refused_with_the_strategy_ours_stay_out(two) -> None:
    _, b = two
    b.git("switch", "-qc", "side")
    b.event(E2)
    b.commit()
    b.git("switch", "-q", "main")
    b.git("merge", "-q", "-s", "ours", "--no-edit", "side")
    b.sync()
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


def test_what_a_merge_without_a_change_has_lost_is_brought_back_by_others(two) -> None:
    """The clone that merged is gone, and with it the note that its driver kept there."""
    a, b = two
    remove_and_save_alike(b)
    b.commit()
    a.add_line(record_path(X), "measured on two machines")
    a.commits()
    b.git("pull", "-q", "--no-rebase", "--no-edit")
    b.git("push", "-q")
    shutil.rmtree(b.root / ".git/cortex-displaced")
    a.sync()
    both_survive(a)


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


def take_an_edit_for_one_of_a_note_alike(a: Clone, b: Clone) -> None:
    """A rebase without drivers writes what b added to X into Y, which a saved when it removed X."""
    drivers.unregister(str(b.root))
    heal(b.vault, b.caller())
    remove_and_save_alike(a)
    a.commits()
    b.add_line(record_path(X), "measured on two machines")
    b.commit()
    b.git("-c", "merge.renames=true", "pull", "-q", "--rebase")
    assert "measured" in (b.root / record_path(Y)).read_text()


def test_an_edit_that_git_made_in_another_note_is_made_in_its_own_that_came_back_without_it(
    two,
) -> None:
    a, b = two
    old = (a.root / record_path(X)).read_text()
    take_an_edit_for_one_of_a_note_alike(a, b)
    a.write(record_path(X), old.replace("Use files.", "Use files, says A."))  # it changed that
    a.commits()
    b.git("pull", "-q", "--no-rebase", "--no-edit")
    healed = heal(b.vault, b.caller())
    assert {one.path for one in healed.brought_back} == {record_path(X), record_path(Y)}
    meet(b, a)
    for each in two:
        both_survive(each)
        assert "says A" in each.texts()[X]


def test_an_edit_that_came_back_and_was_taken_out_again_stays_out(two) -> None:
    a, b = two
    take_an_edit_for_one_of_a_note_alike(a, b)
    heal(b.vault, b.caller())
    both_survive(b)
    b.commit()
    text = b.texts()[X]
    b.write(record_path(X), text.replace("measured on two machines", "see the log"))
    b.write(record_path(Y), b.texts()[Y].replace("easy to copy.", "easy to keep."))
    b.commit()
    mended = b.texts()
    Path(b.vault.state_folder(), "merges-checked").unlink()  # as in a clone made anew
    heal(b.vault, b.caller())
    assert b.texts() == mended


def test_a_copy_is_compared_with_its_original_that_comes_after_it(two) -> None:
    """The patch came by mail: what it is a copy of is known only when both clones meet."""
    a, b = two
    drivers.unregister(str(b.root))
    b.add_line(record_path(X), "measured on two machines")
    b.commit()
    remove_and_save_alike(a)
    a.commit("one in its place")
    (a.root.parent / "mail").write_text(a.git("format-patch", "-1", "--stdout"))
    b.git("am", "-q", "-3", "../mail", at="2031-01-01T00:00:00Z")
    heal(b.vault, b.caller())
    assert X not in b.texts()  # git says nothing of it
    meet(b, a)
    for each in two:
        both_survive(each)


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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["commit", "rebase --continue", "pull -X ours", "killed"])
def test_what_is_committed_after_a_sync_that_stopped_is_no_part_of_its_merge(
    two, how, monkeypatch
) -> None:
    """A person ends it with git, or takes it back and merges in another way, and works on."""
    a, b = two
    a.record(Y, "Use SQLite")
    a.commits()
    b.git("pull", "-q")
    b.git("config", "pull.rebase", str(how == "rebase --continue").lower())
    text = (a.root / record_path(X)).read_text()
    a.add_line(record_path(Y), "a line of a")
    a.record(Z, "Use a queue")
    if how != "killed":
        a.write(record_path(X), text.replace("One file is", "One of a is"))
        b.write(record_path(X), text.replace("One file is", "One of b is"))
    a.sync()
    b.add_line("mine.md", "- bread")
    if how == "killed":
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(syncs, "verify_own_merge", killed)
            sync(b.vault, b.caller())
    else:
        assert sync(b.vault, b.caller()).waiting
    if how == "pull -X ours":
        b.git("merge", "--abort")
        drivers.unregister(str(b.root))
        b.git("pull", "-q", "--no-edit", "-X", "ours")
    elif how != "killed":
        lines = (b.root / record_path(X)).read_text().splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(("<<<<", "====", ">>>>"))]
        b.write(record_path(X), "".join(kept))
        b.git("add", "-A")
        b.git(*(how.split() if how.startswith("rebase") else ["commit", "-q", "--no-edit"]))
    later = (b.root / record_path(Y)).read_text().replace("a line of a", "a better line")
    b.write(record_path(Y), later)
    b.remove(record_path(Z))
    b.commit("later")
    meet(b, a)
    for each in two:
        assert "a better line" in each.texts()[Y]
        assert Z not in each.texts()


def killed(*_: object) -> None:
    raise KeyboardInterrupt
