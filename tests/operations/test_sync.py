"""One vault in several clones: what sync commits, takes, merges and gives, and what stops it without harm."""

from __future__ import annotations

import os
import random
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError
from cortex.core.notes import note as notes
from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.care.status import status
from cortex.operations.records.capture import capture
from cortex.operations.records.revise import revise
from cortex.operations.share.sync import SyncResult, sync
from cortex.operations.upkeep.heal import heal
from cortex.vault.git import remotes
from cortex.vault.git.git_cli import GitResult
from cortex.vault.locate import Vault
from tests.conftest import caller_now, commit_all, run_git

pytestmark = pytest.mark.sampled(2)

SOAK = os.environ.get("CORTEX_SOAK") == "1"
RECORD = "---\nid: {id}\ntype: decision\ntitle: {title}\nstatus: active\ncreated: 2026-11-01T00:00:00Z\nupdated: {updated}\ntags: [{tags}]\n---\n\n{body}\n"
LINES = "\n\n".join(f"Paragraph {number}." for number in range(1, 8))


class Clone:
    """A clone of a vault, and a person who works in it."""

    def __init__(self, root: str) -> None:
        self.vault = Vault(os.path.realpath(root))
        self.root = self.vault.root

    def caller(self) -> Caller:
        return caller_now(self.root)

    def sync(self, **options: bool) -> SyncResult:
        return sync(self.vault, self.caller(), **options)

    def synced(self, **options: bool) -> SyncResult:
        """A sync that has nothing to complain about."""
        done = self.sync(**options)
        assert (done.trouble, done.problems, done.waiting) == ("", (), ())
        return done

    def capture(self, text: str) -> str:
        return capture(self.vault, self.caller(), text, project="p").id

    def write(self, path: str, text: str | bytes) -> str:
        file = Path(self.root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def record(
        self,
        name: str,
        body: str = LINES,
        *,
        path: str = "",
        updated: str = "2026-11-02T00:00:00Z",
        tags: str = "one",
        title: str = "A title",
    ) -> str:
        return self.write(
            path or f"records/decision/{name}.md",
            RECORD.format(id=name, body=body, updated=updated, tags=tags, title=title),
        )

    def read(self, path: str) -> str:
        return Path(self.root, path).read_text()

    def has(self, path: str) -> bool:
        return Path(self.root, path).exists()

    def remove(self, path: str) -> None:
        Path(self.root, path).unlink()

    def move(self, old: str, new: str) -> None:
        Path(self.root, new).parent.mkdir(parents=True, exist_ok=True)
        Path(self.root, old).rename(Path(self.root, new))

    def edit(self, path: str, old: str, new: str) -> None:
        text = self.read(path)
        assert old in text
        self.write(path, text.replace(old, new))

    def git(self, *words: str, code: int | None = 0) -> str:
        return run_git(self.root, *words, code=code)

    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    def tree(self) -> str:
        return self.git("rev-parse", "HEAD^{tree}").strip()

    def notes(self) -> set[str]:
        return set(self.git("ls-files", "-z").split("\0")) - {""}


Make = Callable[[str], Clone]


@pytest.fixture
def clone(tmp_path: Path) -> Make:
    """More clones of one bare remote, by name."""

    def make(name: str) -> Clone:
        run_git(tmp_path, "clone", "-q", "remote.git", name)
        return Clone(str(tmp_path / name))

    return make


def pair(folder: Path) -> None:
    """A vault `a` with a record, an event and a note of a person's, pushed to a bare remote, and a clone `b` of that."""
    run_git(folder, "init", "-q", "--bare", "remote.git")
    made = Clone(init(Clone(str(folder)).caller(), str(folder / "a")).root)
    made.git("init", "-q")
    made.git("remote", "add", "origin", str(folder / "remote.git"))
    made.record("note-aaaaaa")
    made.write(
        EVENT,
        "---\nid: 20261120t164512z-aaaaaaaaaa\ntype: manual\nat: 2026-11-20T16:45:12Z\n---\n\n## Raw Content\n\nIt was.\n",
    )
    made.write("mine.md", LINES + "\n")
    made.git("add", "mine.md")
    made.git("commit", "-qm", "mine")
    assert made.synced().push == "pushed"
    run_git(folder, "clone", "-q", "remote.git", "b")


@pytest.fixture
def first(tmp_path: Path, copied: Callable[..., None]) -> Clone:
    """The first clone of a pair, and its remote."""
    copied(pair, tmp_path, "remote.git", "a")
    return Clone(str(tmp_path / "a"))


@pytest.fixture(params=["merge", "rebase"])
def two(
    first: Clone, tmp_path: Path, copied: Callable[..., None], request: pytest.FixtureRequest
) -> tuple[Clone, Clone]:
    """Two clones; both merge, or both rebase."""
    if request.param == "rebase":
        run_git(first.root, "config", "--global", "pull.rebase", "true")
    copied(pair, tmp_path, "b")
    return first, Clone(str(tmp_path / "b"))


EVENT = "events/2026/11/20261120t164512z-aaaaaaaaaa.md"
NOTE = "records/decision/note-aaaaaa.md"


def no_markers(*clones: Clone) -> None:
    for each in clones:
        for path in each.notes():
            assert "<<<<<<<" not in each.read(path), path


def meet(*clones: Clone) -> list[SyncResult]:
    """Sync until everybody has everything; then all are equal, whole and fresh."""
    answers = [each.synced() for each in (*clones, *clones)]
    assert len({each.tree() for each in clones}) == 1
    for each in clones:
        assert each.git("status", "--porcelain") == ""
        each.git("fsck", "--strict")
        assert heal(each.vault, each.caller(), check=True).stale == ()
    no_markers(*clones)
    return answers


# --- who syncs first must not matter for what both have in the end -------------------------------------------------


def changed_the_same_field(a: Clone, b: Clone) -> None:
    a.record("note-aaaaaa", updated="2026-11-03T00:00:00Z", tags="one, two", title="New title of a")
    b.record(
        "note-aaaaaa", updated="2026-11-04T00:00:00Z", tags="one, three", title="New title of b"
    )


def deleted_and_changed(a: Clone, b: Clone) -> None:
    a.remove(NOTE)
    b.edit(NOTE, "Paragraph 4.", "Paragraph four.")


def renamed_twice(a: Clone, b: Clone) -> None:
    a.move(NOTE, "records/decision/alpha.md")
    a.edit("records/decision/alpha.md", "Paragraph 1.", "Paragraph one.")
    b.move(NOTE, "records/pattern/beta.md")
    b.edit("records/pattern/beta.md", "Paragraph 7.", "Paragraph seven.")


def renamed_and_deleted(a: Clone, b: Clone) -> None:
    a.move(NOTE, "records/decision/alpha.md")
    b.remove(NOTE)


def moved_beyond_recognition(a: Clone, b: Clone) -> None:
    a.remove(NOTE)
    a.record(
        "note-aaaaaa",
        "\n\n".join(f"{number} quite other words here" for number in range(40)) + "\n\n" + LINES,
        path="records/other.md",
    )
    b.edit(NOTE, "Paragraph 4.", "Paragraph four.")


def moved_beyond_recognition_twice(a: Clone, b: Clone) -> None:
    for each, name in ((a, "alpha"), (b, "beta")):
        each.remove(NOTE)
        words = "\n\n".join(f"{number} {name} {number * 7} words" for number in range(40))
        each.record(
            "note-aaaaaa",
            f"{LINES}\n\n{words}" if each is a else f"{words}\n\n{LINES}",
            path=f"records/{name}.md",
        )


def moved_out_of_our_folders(a: Clone, b: Clone) -> None:
    a.move(NOTE, "mine/Where I want it.md")
    b.edit(NOTE, "Paragraph 4.", "Paragraph four.")


def added_the_same(a: Clone, b: Clone) -> None:
    a.record("new-bbbbbb", "From a.")
    b.record("new-bbbbbb", "From b.")


def added_two_of_one_name(a: Clone, b: Clone) -> None:
    a.record("one-aaaaaa", "From a.", path="records/same.md")
    b.record("two-bbbbbb", "From b.", path="records/same.md")


def changed_an_event(a: Clone, b: Clone) -> None:
    a.edit(EVENT, "It was.", "It was not.")
    b.edit(EVENT, "It was.", "It was something else.")


def deleted_an_event(a: Clone, b: Clone) -> None:
    a.remove(EVENT)
    b.edit(EVENT, "It was.", "It was not.")


def added_an_event_twice(a: Clone, b: Clone) -> None:
    for each, text in ((a, "From a."), (b, "From b.")):
        each.write(
            "events/2026/11/20261120t164513z-bbbbbbbbbb.md",
            f"---\nid: 20261120t164513z-bbbbbbbbbb\n---\n\n## Raw Content\n\n{text}\n",
        )


def added_records_that_share_pages(a: Clone, b: Clone) -> None:
    for each, name in ((a, "first"), (b, "second")):
        for count in range(3):
            each.capture(f"Decision: {name} {count}, because of it")


def edited_a_briefing(a: Clone, b: Clone) -> None:
    page = "briefings/index.md"
    a.write(page, a.read(page) + "- by hand\n")
    b.write(page, b.read(page) + "- by another hand\n")
    a.capture("Decision: something, because of it")


EXPECTED: dict[Callable[[Clone, Clone], None], Callable[[Clone], bool]] = {
    changed_the_same_field: lambda c: all(word in c.read(NOTE) for word in ("two", "three", "New title of b", "2026-11-04")),
    deleted_and_changed: lambda c: "Paragraph four." in c.read(NOTE),
    renamed_twice: lambda c: "Paragraph one." in c.read("records/pattern/beta.md") and "Paragraph seven." in c.read("records/pattern/beta.md")
    and not c.has("records/decision/alpha.md") and not c.has(NOTE),
    renamed_and_deleted: lambda c: "Paragraph 4." in c.read("records/decision/alpha.md") and not c.has(NOTE),
    moved_beyond_recognition: lambda c: "Paragraph four." in c.read("records/other.md") and not c.has(NOTE),
    moved_beyond_recognition_twice: lambda c: all(c.read("records/beta.md").count(f"39 {name} 273 words") == 1 for name in ("alpha", "beta"))
    and c.read("records/beta.md").count("Paragraph 4.") == 1 and not c.has("records/alpha.md"),
    moved_out_of_our_folders: lambda c: "Paragraph four." in c.read("mine/Where I want it.md") and not c.has(NOTE),
    added_the_same: lambda c: "From a." in c.read("records/decision/new-bbbbbb.md") and "From b." in c.read("records/decision/new-bbbbbb.md"),
    added_two_of_one_name: lambda c: "From a." in c.read("records/same.md") and "From b." in c.read("records/two-bbbbbb.md"),
    changed_an_event: lambda c: c.read(EVENT).endswith("It was.\n"),
    deleted_an_event: lambda c: c.read(EVENT).endswith("It was.\n"),
    added_an_event_twice: lambda c: {"From a.\n", "From b.\n"} == {c.read(path)[-8:] for path in c.notes() if "20261120t164513z" in path},
    added_records_that_share_pages: lambda c: sum("first-" in path or "second-" in path for path in c.notes() if path.startswith("records/")) == 6,
    edited_a_briefing: lambda c: "by hand" not in c.read("briefings/index.md"),
}  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", EXPECTED, ids=lambda case: case.__name__)
@pytest.mark.parametrize("swapped", [False, True] if SOAK else [None])
def test_two_clones_agree_and_lose_nothing(two, case, swapped) -> None:
    """Both directions: the one that merges is the other one in a test that rebases."""
    a, b = two
    case(a, b)
    swapped = (
        a.git("config", "--default", "false", "pull.rebase") == "true\n"
        if swapped is None
        else swapped
    )
    meet(*((b, a) if swapped else (a, b)))
    assert EXPECTED[case](a), sorted(a.notes())


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "case", [changed_the_same_field, renamed_twice, added_the_same], ids=lambda case: case.__name__
)
def test_a_clone_whose_drivers_were_taken_out_merges_the_same(two, case) -> None:
    a, b = two
    for each in two:
        each.git("config", "cortex.drivers", "removed")
        each.git("config", "--remove-section", "merge.cortex-record", code=None)
        each.git("config", "--remove-section", "merge.cortex-briefing", code=None)
    case(a, b)
    meet(a, b)
    assert EXPECTED[case](a)


def test_what_was_settled_is_said(two) -> None:
    a, b = two
    deleted_and_changed(a, b)
    a.synced()
    (settled,) = b.synced().settled
    assert settled.path == NOTE
    assert "kept" in settled.what


def test_a_value_that_lost_is_said_and_stays_in_the_history(two) -> None:
    a, b = two
    for each, title, day in ((a, "Newer", "04"), (b, "Older", "03")):
        each.record("note-aaaaaa", title=title, updated=f"2026-11-{day}T00:00:00Z")
    a.synced()
    done = b.synced()
    (settled,) = [one for one in done.settled if one.path == NOTE]
    assert 'kept "Newer"' in settled.what
    assert 'not "Older"' in settled.what
    assert "cortex history note-aaaaaa" in settled.what
    assert "title: Newer" in b.read(NOTE)
    assert 'merge_conflicts:\n  - "title: Older"\n' in b.read(NOTE)
    a.synced()
    for each in two:
        (told,) = status(each.vault, each.caller()).opposing.hits
        assert told.id == "note-aaaaaa"
        assert "## Conflicts" in each.read("briefings/index.md")
        assert any(
            "left out title: Older" in one.message
            for one in doctor(each.vault, each.caller()).problems
        )
    revise(b.vault, b.caller(), "note-aaaaaa", tags=["two"])
    assert status(b.vault, b.caller()).opposing.total == 1  # of another field
    revise(b.vault, b.caller(), "note-aaaaaa", title="Both")
    assert "merge_conflicts" not in b.read(NOTE)
    meet(b, a)
    assert status(a.vault, a.caller()).opposing.total == 0


def test_a_form_of_yaml_that_the_driver_does_not_know_stays_where_one_side_wrote_it(two) -> None:
    a, b = two
    for text in (
        "tags:\n  [\n    alpha,\n    beta\n  ]\n",
        'aliases: "one\n  two"\n',
        "anchored: &x y\n",
    ):
        key = text.partition(":")[0]
        if key == "tags":
            b.edit(NOTE, "tags: [one]\n", text)
        else:
            b.edit(NOTE, "title:", f"{text}title:")
        a.edit(
            NOTE,
            "status: active\n",
            f"status: active\npriority: of {key}\n"
            if key == "tags"
            else f"status: active\n{key}2: x\n",
        )
        b.synced()
        assert all(
            "cortex sync takes it" in one.what or one.what == "merged by its fields"
            for one in a.synced().settled
        )
        assert text in a.read(NOTE)
        assert "merge_conflicts" not in a.read(NOTE)
        assert notes.read(Path(a.root, NOTE).read_bytes()).problems == ()
        b.synced()


def test_what_one_clone_captures_while_the_other_empties_the_inbox_stays_in_the_inbox(
    first, clone
) -> None:
    """git takes a folder whose files have all moved for a folder that was renamed, and would move the new ones after:
    an event among the normalized ones that nobody has normalized."""
    a = first
    for count in range(4):
        a.capture(f"Note {count}: something to keep")
    a.git("add", "inbox")
    a.git("commit", "-qm", "by hand")
    a.git("push", "-q")
    b = clone("b")
    new = b.capture("Decision: yet another, because of it")
    b.git("add", "inbox")
    b.git("commit", "-qm", "by hand")
    b.git("push", "-q")
    assert a.synced().settled == ()
    assert a.has(f"inbox/pending/{new}.md")
    meet(b, a)
    assert [path for path in a.notes() if path.startswith("records/decision/yet-another")]
    assert not [path for path in b.notes() if path.startswith("inbox/")]


# --- lines that only a person can decide ---------------------------------------------------------------------------


def clash(a: Clone, b: Clone, path: str = NOTE) -> SyncResult:
    a.edit(path, "Paragraph 4.", "Paragraph A.")
    b.edit(path, "Paragraph 4.", "Paragraph B.")
    if path == "mine.md":
        for each in (a, b):
            each.git("commit", "-qam", "mine")
    a.synced()
    return b.sync()


@pytest.mark.parametrize("path", [NOTE, "mine.md"])
def test_body_markers_stop_a_sync_until_they_are_gone(two, path) -> None:
    a, b = two
    stopped = clash(a, b, path)
    assert [problem.where for problem in stopped.waiting] == [path]
    assert stopped.trouble
    assert "<<<<<<<" in b.read(path).partition("\n---\n")[2] or path == "mine.md"
    again = b.sync()  # nothing has changed: the same answer
    assert [problem.where for problem in again.waiting] == [path]
    text = b.read(path)
    start, end = text.index("<<<<<<<"), text.index(">>>>>>>")
    b.write(path, text[:start] + "Paragraph A and B." + text[text.index("\n", end) :])
    done = b.synced()
    assert done.push == "pushed"
    assert "merge_conflicts" not in b.read(path)
    meet(a, b)
    assert "Paragraph A and B." in a.read(path)


def test_git_add_is_an_answer_too_and_so_is_taking_it_back(two) -> None:
    a, b = two
    clash(a, b)
    b.git("rebase" if Path(b.root, ".git/rebase-merge").exists() else "merge", "--abort")
    assert clash_again(b).waiting
    b.record("note-aaaaaa", "Mended.")
    b.git("add", NOTE)
    b.synced()
    meet(a, b)
    assert "Mended." in a.read(NOTE)


def clash_again(b: Clone) -> SyncResult:
    assert "Paragraph B." in b.read(NOTE)
    return b.sync()


def test_a_merge_that_a_person_began_is_theirs(first, clone) -> None:
    a, b = first, clone("b")
    a.edit("mine.md", "Paragraph 4.", "Paragraph A.")
    b.edit("mine.md", "Paragraph 4.", "Paragraph B.")
    for each in (a, b):
        each.git("commit", "-qam", "mine")
    a.synced()
    b.git("pull", "-q", "--no-rebase", code=1)
    stopped = b.sync()
    assert [problem.where for problem in stopped.waiting] == ["mine.md"]
    assert "git commit concludes it" in stopped.hint
    assert "<<<<<<<" in b.read("mine.md")
    b.write("mine.md", "Mended.\n")
    b.git("add", "mine.md")
    assert "a merge is under way" in b.sync().trouble
    b.git("commit", "-q", "--no-edit")
    assert b.synced().push == "pushed"


def test_conflicts_of_code_around_the_vault_wait_for_their_owner(tmp_path) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "remote.git")
    run_git(tmp_path, "clone", "-q", "remote.git", "a")
    a = Clone(init(Clone(str(tmp_path)).caller(), str(tmp_path / "a/vault")).root)
    a.write("../code.py", "x = 1\n")
    commit_all(tmp_path / "a", "start")
    run_git(tmp_path / "a", "push", "-q", "-u", "origin", "HEAD")
    run_git(tmp_path, "clone", "-q", "remote.git", "b")
    b = Clone(str(tmp_path / "b/vault"))
    for each in (a, b):
        each.write("../code.py", f"x = '{each.root}'\n")
        run_git(each.root, "commit", "-qm", "code", "../code.py")
        each.record(f"note-{'a' if each is a else 'b'}aaaaa")
    a.synced()
    run_git(a.root, "push", "-q")
    stopped = b.sync()
    assert [problem.where for problem in stopped.waiting] == ["code.py"]
    b.write("../code.py", "x = 2\n")
    assert b.sync().waiting  # it is not ours to add
    run_git(b.root, "add", "../code.py")
    done = b.synced()
    assert done.push == "off"
    assert b.has("records/decision/note-aaaaaa.md")
    assert run_git(b.root, "status", "--porcelain") == ""


# --- what a person has going on stays as it is ---------------------------------------------------------------------


def test_staged_files_stay_staged_and_uncommitted(first, clone) -> None:
    a, b = first, clone("b")
    a.record("more-aaaaaa")
    a.synced()
    b.record("other-aaaaaa")
    b.write("mine.md", "Staged text.\n")
    b.write("new.md", "Staged and new.\n")
    b.git("add", "mine.md", "new.md")
    b.write("mine.md", "Changed again after that.\n")
    before = b.git("status", "--porcelain")
    staged = b.git("diff", "--cached", "--raw", "--", "mine.md", "new.md")
    done = b.synced()
    assert done.how == "merge"
    assert done.left == ("mine.md", "new.md")
    assert b.git("diff", "--cached", "--raw") == staged
    assert (
        b.git("status", "--porcelain")
        == "\n".join(line for line in before.splitlines() if "mine.md" in line or "new.md" in line)
        + "\n"
    )
    assert "Staged" not in b.git("log", "-p", "--format=")
    a.synced()
    assert a.tree() == b.tree()


def test_staged_files_come_back_after_a_crash_in_the_middle(first, clone) -> None:
    from cortex.vault.git import merging, objects

    b = clone("b")
    b.write("mine.md", "Staged text.\n")
    b.git("add", "mine.md")
    staged = b.git("diff", "--cached", "--raw")
    merging.unstage(b.root, objects.list_staged(b.root))
    assert b.git("diff", "--cached", "--raw") == ""
    b.synced()
    assert b.git("diff", "--cached", "--raw") == staged


@pytest.mark.parametrize("staged", [False, True])
def test_changes_that_a_merge_would_touch_are_named_and_nothing_is_done(
    first, clone, staged
) -> None:
    a, b = first, clone("b")
    a.edit("mine.md", "Paragraph 1.", "Paragraph one.")
    a.git("commit", "-qam", "mine")
    a.synced()
    b.record("other-aaaaaa")
    b.edit("mine.md", "Paragraph 7.", "Paragraph seven.")
    if staged:
        b.git("add", "mine.md")
    before = b.git("status", "--porcelain", "mine.md")
    done = b.sync()
    assert "mine.md" in done.trouble
    assert done.commits  # what is ours is safe
    assert b.git("status", "--porcelain") == before
    b.git("commit", "-qam", "mine")
    b.synced()
    assert "Paragraph one." in b.read("mine.md")
    assert "Paragraph seven." in b.read("mine.md")


def test_a_file_that_git_does_not_know_is_never_overwritten(first, clone) -> None:
    a, b = first, clone("b")
    a.write("new.md", "From a.\n")
    a.git("add", "new.md")
    a.git("commit", "-qm", "new")
    a.synced()
    b.write("new.md", "Mine.\n")
    assert "new.md" in b.sync(only_records=True).trouble
    assert b.read("new.md") == "Mine.\n"


@pytest.mark.parametrize("same_text", [True, False])
def test_a_note_that_came_by_another_way_too_is_merged(first, clone, same_text) -> None:
    """By a file sync beside git, or put back by Cortex where somebody had moved it to. A record is known by its id, any other
    note by its whole text."""
    a, b = first, clone("b")
    a.record("more-aaaaaa", path="Ideas/more.md")
    a.write("new.md", "From a.\n")
    a.git("add", ".")
    a.git("commit", "-qm", "new")
    a.synced()
    b.write(
        "Ideas/more.md", a.read("Ideas/more.md") + ("" if same_text else "\nAnd a line of b.\n")
    )
    b.write("new.md", "From a.\n")
    b.synced()
    a.synced()
    assert a.read("Ideas/more.md") == b.read("Ideas/more.md")
    assert ("And a line of b." in a.read("Ideas/more.md")) != same_text
    assert not b.git("status", "--porcelain")


def test_a_rebase_wants_a_clean_tree_unless_they_stash(first, clone) -> None:
    a, b = first, clone("b")
    b.git("config", "pull.rebase", "true")
    a.record("more-aaaaaa")
    a.synced()
    b.record("other-aaaaaa")
    b.write("mine.md", "Changed.\n")
    done = b.sync(only_records=True)
    assert "mine.md" in done.trouble
    assert "rebase.autoStash" in done.hint
    b.git("config", "rebase.autoStash", "true")
    assert b.synced(only_records=True).how == "rebase"
    assert b.git("status", "--porcelain") == " M mine.md\n"
    assert len(b.git("log", "--merges", "--format=%h")) == 0


def test_a_persons_hook_runs_and_may_decline(first, clone) -> None:
    a, b = first, clone("b")
    hook = Path(b.root, ".git/hooks/pre-commit")
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    event = b.capture("Note: something to keep")
    done = b.sync()
    assert "not today" in done.trouble
    hook.unlink()
    assert b.synced().push == "pushed"
    merge = Path(b.root, ".git/hooks/pre-merge-commit")
    merge.write_text("#!/bin/sh\necho no merges >&2\nexit 1\n")
    merge.chmod(0o755)
    a.record("more-aaaaaa")
    a.synced()
    b.record("other-aaaaaa")
    a.record("yet-aaaaaa")
    a.synced()
    assert "no merges" in b.sync().trouble
    assert b.git("status", "--porcelain") == ""
    merge.unlink()
    meet(a, b)
    assert any(event in path for path in a.notes())


def test_a_hook_that_mends_what_it_commits_leaves_nothing_behind(first) -> None:
    a = first
    hook = Path(a.root, ".git/hooks/pre-commit")
    hook.write_text(
        "#!/bin/sh\nfor f in $(git diff --cached --name-only --diff-filter=AM -- '*.md'); do\n"
        'sed -i.bak s/colour/color/g "$f" && rm "$f.bak" && git add "$f"; done\n'
    )
    hook.chmod(0o755)
    a.record("more-aaaaaa", "a colour")
    a.synced()
    assert a.git("status", "--porcelain") == ""
    assert "a color\n" in a.git("show", "HEAD:records/decision/more-aaaaaa.md")
    assert a.synced().push == "nothing"


def test_a_rebase_that_cannot_be_signed_is_taken_back(first, clone) -> None:
    """It would sign with what it began with, whatever is configured since."""
    a, b = first, clone("b")
    for each in (a, b):
        each.record(f"{each.root[-1]}-aaaaaa")
    a.synced()
    heal(b.vault, b.caller())
    b.git("add", ".")
    b.git("commit", "-qm", "by hand")
    for key, value in (
        ("pull.rebase", "true"),
        ("commit.gpgSign", "true"),
        ("gpg.program", "false"),
    ):
        b.git("config", key, value)
    assert b.sync().trouble
    assert b.git("status", "--porcelain=v2", "--branch").splitlines()[1] == "# branch.head main"
    program = Path(b.root, ".git/sign")  # asks for a word, while they write
    program.write_text(
        "#!/bin/sh\necho written meanwhile >> ../mine.md\nexit 1\n".replace("../", f"{b.root}/")
    )
    program.chmod(0o755)
    b.git("config", "gpg.program", str(program))
    assert b.sync().trouble
    assert "written meanwhile" in b.read("mine.md")
    b.git("checkout", "-q", "mine.md")
    b.git("rebase", "--abort")
    b.git("config", "commit.gpgSign", "false")
    assert b.synced().how == "rebase"


@pytest.mark.parametrize("rebase", ["false", "true"])
def test_what_a_watcher_writes_in_the_middle_is_taken_along(first, clone, rebase) -> None:
    """A hook stands for it: after the first commit of the sync, or in the middle of its rebase, a record is written that
    the other side has changed as well."""
    a, b = first, clone("b")
    b.git("config", "pull.rebase", rebase)
    a.record("note-aaaaaa", tags="one, two")
    a.synced()
    for count in range(2):
        b.record(f"mine{count}-aaaaaa")
        b.git("add", ".")
        b.git("commit", "-qm", "mine")
    b.record("note-aaaaaa", tags="one, three")
    b.git("commit", "-qam", "mine")
    Path(b.root, ".git/once").touch()
    hook = Path(b.root, ".git/hooks/post-commit")
    when = "-d .git/rebase-merge" if rebase == "true" else "-f .git/index"
    hook.write_text(
        f"#!/bin/sh\n[ {when} ] && rm .git/once 2>/dev/null && sed -i 's/^tags: .one/&, four/' '{NOTE}'\nexit 0\n"
    )
    hook.chmod(0o755)
    if rebase == "false":
        b.record(
            "mine2-aaaaaa"
        )  # so that the sync itself commits, and the hook comes between that and the merge
    b.synced()
    assert not Path(b.root, ".git/once").exists()
    meet(a, b)
    assert {"one", "two", "three", "four"} <= set(re.findall(r"\w+", a.read(NOTE)))


# --- their git decides how -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("configured", "how"), [
    ({}, "merge"),
    ({"pull.rebase": "true"}, "rebase"),
    ({"pull.rebase": "merges"}, "rebase"),
    ({"pull.rebase": "true", "branch.main.rebase": "false"}, "merge"),
    ({"branch.main.rebase": "true"}, "rebase"),
])  # fmt: skip
def test_merge_or_rebase_as_their_git_is_configured(first, clone, configured, how) -> None:
    a, b = first, clone("b")
    for key, value in configured.items():
        b.git("config", key, value)
    a.record("more-aaaaaa")
    a.synced()
    b.record("other-aaaaaa")
    assert b.synced().how == how
    assert bool(b.git("log", "--merges", "--format=%h")) == (how == "merge")


def test_pull_ff_only_forbids_and_pull_ff_false_always_merges(first, clone) -> None:
    a, b = first, clone("b")
    b.git("config", "pull.ff", "only")
    a.record("more-aaaaaa")
    a.synced()
    assert b.synced().how == "fast-forward"
    a.record("yet-aaaaaa")
    a.synced()
    b.record("other-aaaaaa")
    head = b.head
    done = b.sync()
    assert "pull.ff" in done.trouble
    b.git("config", "--unset", "pull.ff")
    b.git("config", "merge.ff", "only")
    assert "merge.ff" in b.sync().trouble
    assert done.commits
    b.git("config", "pull.ff", "false")
    assert b.synced().how == "merge"
    a.synced()
    a.record("last-aaaaaa")
    a.synced()
    b.synced()
    assert b.git("log", "-1", "--merges", "--format=%s") == "cortex: merge main of origin\n"
    b.git("config", "--unset", "pull.ff")
    b.git("config", "pull.rebase", "true")  # merge.ff = only is about merges
    a.record("one-more-aaaaaa")
    a.synced()
    b.record("mine-aaaaaa")
    assert b.synced().how == "rebase"
    assert head


# --- remotes --------------------------------------------------------------------------------------------------------


def test_a_new_empty_remote_gets_the_branch_and_it_is_remembered(tmp_path) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "remote.git")
    a = Clone(init(Clone(str(tmp_path)).caller(), str(tmp_path / "a")).root)
    a.git("init", "-q", "-b", "-evil", code=None)
    a.git("symbolic-ref", "HEAD", "refs/heads/-evil")
    assert a.synced().push == "no remote"  # committed all the same
    a.git("remote", "add", "elsewhere", str(tmp_path / "remote.git"))
    assert a.synced().push == "pushed"
    assert run_git(tmp_path / "remote.git", "rev-parse", "refs/heads/-evil").strip() == a.head()
    assert a.git("config", "branch.-evil.remote") == "elsewhere\n"
    assert a.synced().push == "nothing"
    a.record("more-aaaaaa")
    assert a.synced(no_push=True).push == "off"


def test_a_branch_that_is_gone_from_the_remote_is_not_made_again(tmp_path, first, clone) -> None:
    a, b = first, clone("b")
    a.git("branch", "-m", "main", "trunk")
    a.git("push", "-q", "-u", "origin", "trunk")
    run_git(tmp_path / "remote.git", "symbolic-ref", "HEAD", "refs/heads/trunk")
    a.git("push", "-q", "origin", ":main")
    b.record("more-aaaaaa")
    done = b.sync()
    assert done.trouble == "origin has no branch main any more; it has trunk"
    b.git("fetch", "-q")
    b.git("branch", "-q", "--set-upstream-to", "origin/trunk")
    b.synced()
    a.synced()
    assert a.has("records/decision/more-aaaaaa.md")


@pytest.mark.parametrize("how", ["pushRemote", "pushurl"])
def test_a_push_that_goes_elsewhere_than_what_is_fetched_is_told(
    tmp_path, first, clone, how, monkeypatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    a, b = first, clone("b")
    run_git(tmp_path, "clone", "-q", "--bare", "remote.git", "fork.git")
    for each in (a, b):
        each.git("remote", "add", "fork", "../fork.git")
        key = "branch.main.pushRemote" if how == "pushRemote" else "remote.origin.pushurl"
        each.git("config", key, "fork" if how == "pushRemote" else "../fork.git")
        each.record(f"{each.root[-1]}-aaaaaa")
    a.synced()
    done = b.sync()
    if how == "pushRemote":
        assert done.trouble == "fork has commits that origin has not"
        assert "git pull fork main" in done.hint
        b.git("pull", "-q", "--no-rebase", "--no-edit", "fork", "main")
        b.synced()
    else:
        assert done.trouble == "origin takes no push, and nothing new can be fetched from it"


def refuses(tmp_path: Path, a: Clone) -> str:
    hook = tmp_path / "remote.git/hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho the gate is shut >&2\nexit 1\n")
    hook.chmod(0o755)
    return "the gate is shut"


def is_not_there(tmp_path: Path, a: Clone) -> str:
    (tmp_path / "remote.git").rename(tmp_path / "gone.git")
    return "origin"


def is_not_reachable(tmp_path: Path, a: Clone) -> str:
    a.git("remote", "set-url", "origin", "git://127.0.0.1:1/vault.git")
    return "origin"


def keeps_its_password_to_itself(tmp_path: Path, a: Clone) -> str:
    a.git("remote", "set-url", "origin", "http://me:secret@127.0.0.1:1/vault.git")
    return "origin"


def runs_a_program(tmp_path: Path, a: Clone) -> str:
    a.git("remote", "set-url", "origin", "ext::sh -c touch% PWN")
    return "origin"


@pytest.mark.parametrize(
    "fault",
    [refuses, is_not_there, is_not_reachable, keeps_its_password_to_itself, runs_a_program],
    ids=lambda fault: fault.__name__,
)
def test_a_remote_that_fails_is_named_and_everything_local_is_safe(tmp_path, first, fault) -> None:
    said = fault(tmp_path, first)
    event = first.capture("Decision: keep it, because it is worth it")
    done = first.sync()
    assert said in done.trouble
    assert "secret" not in done.trouble + done.hint
    assert done.hint
    assert done.commits
    assert any(event in path for path in first.notes())
    assert first.git("status", "--porcelain") == ""
    assert not first.has("PWN")


def test_no_password_of_an_address_is_repeated() -> None:
    ran = GitResult(
        128,
        b"",
        "remote: hello\nfatal: unable to access 'https://me:secret@example.org/v.git/': no route\n",
    )
    assert (
        remotes.failure_message(ran)
        == "remote: hello; fatal: unable to access 'https://example.org/v.git/': no route"
    )


def test_a_switch_that_is_no_switch_is_named_and_off_unless_it_was_sound_before(first) -> None:
    first.write("cortex.toml", 'format = 1\n[sync]\npush = "no"\nautocommit = false\n')
    assert first.sync().push == "off"
    first.write("cortex.toml", "format = 1\n[sync]\npush = true\n")
    assert first.sync().push == "pushed"
    first.write("cortex.toml", 'format = 1\n[sync]\npush = "no"\nautocommit = false\n')
    first.record("less-aaaaaa")
    done = first.sync()
    assert done.push == "pushed"
    assert [problem.where for problem in done.problems] == ["cortex.toml"]
    first.write("cortex.toml", "format = 1\n[sync]\npush = false\n")
    first.record("more-aaaaaa")
    assert first.synced().push == "off"


def test_a_silent_remote_ends_with_a_message(first, monkeypatch) -> None:
    monkeypatch.setenv("CORTEX_GIT_SILENCE", "0.5")
    with socket.create_server(("127.0.0.1", 0)) as server:
        first.git(
            "remote", "set-url", "origin", f"git://127.0.0.1:{server.getsockname()[1]}/vault.git"
        )
        first.record("more-aaaaaa")
        begun = time.monotonic()
        done = first.sync()
    assert time.monotonic() - begun < 20
    assert "said nothing" in done.trouble
    assert done.commits


def test_somebody_who_pushes_in_between_is_taken_in(tmp_path, first, clone) -> None:
    """Another clone pushes at the moment of ours: its push runs inside our pre-push hook."""
    a, b, c = first, clone("b"), clone("c")
    c.record("racing-aaaaaa")
    c.git("add", ".")
    c.git("commit", "-qm", "racing")
    hook = Path(b.root, ".git/hooks/pre-push")
    hook.write_text(
        f"#!/bin/sh\nunset $(git rev-parse --local-env-vars)\ngit -C '{c.root}' push -q origin HEAD 2>/dev/null\nexit 0\n"
    )
    hook.chmod(0o755)
    b.record("mine-aaaaaa")
    done = b.synced()
    assert done.push == "pushed"
    assert (done.received, done.how) == (1, "merge")
    assert b.has("records/decision/racing-aaaaaa.md")
    a.synced()
    assert a.tree() == b.tree()


def test_clones_that_sync_at_the_same_time_all_get_through(first, clone) -> None:
    clones = [first, clone("b"), clone("c")]
    running = []
    for each in clones:
        each.capture(f"Decision: {each.root[-1]}, because of it")
        running.append(process(each))
    for each in running:
        assert each.wait(60) == 0
    meet(*clones)
    assert sum(path.startswith("records/") for path in first.notes()) == 4


# --- histories -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rebase", ["false", "true"])
def test_more_than_a_fifth_of_the_notes_does_not_go_unasked(first, clone, rebase) -> None:
    a = first
    for count in range(20):
        a.record(f"note{count:02}-aaaaaa")
    a.synced()
    b = clone("b")
    b.git("config", "pull.rebase", rebase)
    for count in range(12):
        a.remove(f"records/decision/note{count:02}-aaaaaa.md")
    done = a.sync()
    assert "12 of 22" in done.trouble
    assert "--yes" in done.hint
    command = done.hint.partition(" brings them back")[0]
    for staged in ("", "git rm -q -r records && "):
        subprocess.run(f"cd {shlex.quote(a.root)} && {staged}{command}", shell=True, check=True)
        assert a.has("records/decision/note00-aaaaaa.md")
    for count in range(12):
        a.remove(f"records/decision/note{count:02}-aaaaaa.md")
    a.git("checkout", "-q", "-b", "saved")
    a.git("checkout", "-q", "main")
    a.synced(yes=True)
    b.record("mine-aaaaaa")
    head = b.head()
    done = b.sync()
    assert "12 of 23" in done.trouble
    assert b.git("rev-parse", "HEAD~").strip() == head
    assert b.has("records/decision/note00-aaaaaa.md")
    b.synced(yes=True)
    assert not b.has("records/decision/note00-aaaaaa.md")
    meet(a, b)


def test_moved_notes_are_not_removed_notes(first, clone) -> None:
    a = first
    for count in range(10):
        a.record(f"note{count:02}-aaaaaa", f"{count} {LINES}")
    a.synced()
    b = clone("b")
    for count in range(10):
        a.move(
            f"records/decision/note{count:02}-aaaaaa.md", f"records/old/note{count:02}-aaaaaa.md"
        )
    a.synced()
    b.record("mine-aaaaaa")
    b.synced()


@pytest.mark.parametrize("rebase", ["false", "true"])
def test_a_remote_that_was_rewritten_stops_a_sync_and_is_followed_when_asked(
    tmp_path, first, clone, rebase
) -> None:
    a, b = first, clone("b")
    b.git("config", "pull.rebase", rebase)
    a.record("more-aaaaaa")
    a.synced()
    b.synced()
    a.git("reset", "-q", "--hard", "HEAD~")
    a.record("rewritten-aaaaaa")
    a.git("add", ".")
    a.git("commit", "-qm", "rewritten")
    a.git("push", "-qf", "origin", "main")
    b.record("mine-aaaaaa")
    for _ in range(2):  # what was fetched by the first one changes nothing
        done = b.sync()
        assert "was rewritten; nothing was merged" in done.trouble
        assert "cortex sync --follow" in done.hint
        assert {"records/decision/more-aaaaaa.md", "records/decision/mine-aaaaaa.md"} <= b.notes()
    assert not sync(b.vault, b.caller(), follow=True).trouble
    assert {f"records/decision/{name}-aaaaaa.md" for name in ("rewritten", "mine")} <= b.notes()
    assert "records/decision/more-aaaaaa.md" not in b.notes()  # as the remote has it
    b.synced()


def test_a_remote_that_was_rewritten_outside_the_vault_stops_nothing(
    tmp_path, first, clone
) -> None:
    a, b = first, clone("b")
    a.git("commit", "-q", "--allow-empty", "-m", "code")
    a.git("push", "-q")
    b.synced()
    a.git("commit", "-q", "--amend", "--allow-empty", "-m", "better code")
    a.git("push", "-qf", "origin", "main")
    b.record("mine-aaaaaa")
    b.synced()


def test_histories_without_a_common_beginning_are_not_mixed(tmp_path, first) -> None:
    other = Clone(init(first.caller(), str(tmp_path / "other")).root)
    other.git("init", "-q")
    other.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    other.record("mine-aaaaaa")
    done = other.sync()
    assert "no common history" in done.trouble
    assert done.commits
    assert other.git("status", "--porcelain") == ""


# --- repositories of other shapes ----------------------------------------------------------------------------------


def test_a_vault_in_no_repository_says_what_to_do(vault, caller) -> None:
    with pytest.raises(ConflictError) as caught:
        sync(vault, caller)
    assert "git init" in caught.value.hint


def test_a_detached_head_says_what_to_do(first) -> None:
    first.git("checkout", "-q", "--detach")
    assert "detached" in first.sync().trouble


def test_inside_a_code_repository_nothing_is_pushed_unless_asked_for(tmp_path) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "remote.git")
    run_git(tmp_path, "clone", "-q", "remote.git", "code")
    a = Clone(init(Clone(str(tmp_path)).caller(), str(tmp_path / "code/vault")).root)
    a.write("../code.py", "x = 1\n")
    run_git(a.root, "add", "..")
    run_git(a.root, "commit", "-qm", "start")
    run_git(a.root, "push", "-q", "-u", "origin", "HEAD")
    a.write("../code.py", "x = 2\n")
    a.write("../new.py", "x = 2\n")
    a.record("more-aaaaaa")
    done = a.synced()
    assert (done.push, done.unsent) == ("off", 1)
    assert run_git(a.root, "status", "--porcelain", "..") == " M code.py\n?? new.py\n"
    a.write("cortex.toml", a.read("cortex.toml") + "\n[sync]\npush = true\n")
    assert a.synced().push == "pushed"
    assert (
        run_git(tmp_path / "remote.git", "ls-tree", "-r", "--name-only", "HEAD").count(
            "more-aaaaaa"
        )
        == 1
    )


def test_a_vault_that_its_repository_ignores_has_nothing_to_sync(tmp_path) -> None:
    run_git(tmp_path, "init", "-q")
    a = Clone(init(Clone(str(tmp_path)).caller(), str(tmp_path / "vault")).root)
    Path(tmp_path, ".gitignore").write_text("vault/\n")
    done = a.sync()
    assert "ignores it" in done.trouble
    assert run_git(tmp_path, "status", "--porcelain") == "?? .cortex-project\n?? .gitignore\n"


def test_a_linked_worktree_syncs_its_own_branch(tmp_path, first, clone) -> None:
    first.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "tree"))
    linked = Clone(str(tmp_path / "tree"))
    linked.record("side-aaaaaa")
    assert linked.synced().push == "pushed"
    assert run_git(tmp_path / "remote.git", "rev-parse", "side").strip() == linked.head()
    assert not first.has("records/decision/side-aaaaaa.md")
    first.synced()


HOSTILE = ["-x.md", ":(exclude)a.md", "$(touch PWN).md", "*.md", "a\nb.md"]


def test_hostile_names_in_conflicts_are_only_names(two) -> None:
    a, b = two
    paths = [f"records/{name}" for name in HOSTILE]
    for number, path in enumerate(paths):
        a.record(f"odd{number}-aaaaaa", path=path)
    a.synced()
    b.synced()
    for number, path in enumerate(paths):
        text = a.read(path)
        a.remove(path)
        if number % 2:
            a.write(f"{path}.moved.md", text.replace("Paragraph 1.", "Paragraph one."))
        b.write(path, text.replace("Paragraph 4.", "Paragraph four."))
    assert a.sync(yes=True).trouble == ""
    meet(b, a)
    for number, path in enumerate(paths):
        assert "Paragraph four." in a.read(f"{path}.moved.md" if number % 2 else path)
    assert not any(Path(each.root, "PWN").exists() for each in (a, b))


# --- killed at any moment ------------------------------------------------------------------------------------------


SCRIPT = """
import os, sys, time
from cortex.core.model.caller import Caller, no_progress
from cortex.operations.share.sync import sync
from cortex.vault.locate import Vault
now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
done = sync(Vault(sys.argv[1]), Caller(sys.argv[1], now, os.urandom, "test", no_progress))
sys.exit(bool(done.trouble))
"""


def process(each: Clone) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SCRIPT, each.root], start_new_session=True)


@pytest.mark.parametrize("rebase", ["false", "true"])
def test_killed_at_any_moment_the_next_sync_carries_on(first, clone, rebase) -> None:
    """Three kills (a hundred in a soak) at random moments of a sync that commits, merges, settles and pushes. The git
    that it started lives on for a while, as it does when a terminal is closed."""
    chance = random.Random(rebase)
    a, b = first, clone("b")
    b.git("config", "pull.rebase", rebase)
    a.synced()
    b.capture("Decision: something to push, because of it")
    begun = time.monotonic()
    assert process(b).wait(120) == 0
    usual = time.monotonic() - begun
    kills = 0
    events: list[str] = []
    for turn in range(100 if SOAK else 3):
        a.record(f"turn{turn:03}-aaaaaa", "From a.")
        a.edit(NOTE, "tags: [", f"tags: [a{turn}, ")
        events.append(a.capture(f"Decision: turn {turn}, because of it"))
        a.synced()
        b.record(f"turn{turn:03}-aaaaaa", "From b.")
        b.edit(NOTE, "tags: [", f"tags: [b{turn}, ")
        events.append(b.capture(f"Note: turn {turn} of b"))
        killed = process(b)
        time.sleep(chance.uniform(0.1, 0.9) * usual)
        os.kill(killed.pid, signal.SIGKILL)
        kills += killed.wait() == -signal.SIGKILL
        b.synced()
        assert "From b." in b.read(f"records/decision/turn{turn:03}-aaaaaa.md")
    assert kills
    meet(a, b)
    paths = " ".join(a.notes())
    assert [event for event in events if event not in paths] == []
    tags = a.read(NOTE)
    assert [
        name
        for turn in range(len(events) // 2)
        for name in (f"a{turn}", f"b{turn}")
        if name not in re.findall(r"\w+", tags)
    ] == []
    assert "From a." in a.read("records/decision/turn002-aaaaaa.md")
    assert "From b." in a.read("records/decision/turn002-aaaaaa.md")


def test_line_ends_that_git_takes_off_are_nothing_to_commit_and_stop_no_sync(
    cortex, vault, tmp_path
) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "remote")
    run_git(vault.root, "init", "-q")
    run_git(vault.root, "remote", "add", "origin", str(tmp_path / "remote"))
    cortex("capture", "Decision: use links")
    assert cortex("sync").returncode == 0
    (record,) = Path(vault.root, "records/decision").iterdir()
    record.write_bytes(record.read_bytes().replace(b"\n", b"\r\n"))
    for _ in range(2):
        done = cortex("sync")
        assert (done.returncode, done.stderr) == (0, "")
    assert b"\r\n" in record.read_bytes()
    assert run_git(vault.root, "status", "--porcelain").strip() == ""
