"""Law 9: a note is known by its id. Whatever git takes for a rename, no note's text comes to stand under another note's id,
no two notes become one, and none is gone."""

from __future__ import annotations

import functools
import itertools
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.core.notes import note as notes
from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.share.heal import heal
from cortex.operations.share.sync import sync
from cortex.vault.git import drivers
from cortex.vault.locate import Vault

pytestmark = pytest.mark.sampled(3)

SOAK = os.environ.get("CORTEX_SOAK") == "1"
EVENT = "---\nid: {id}\ntype: stop\nat: 2026-11-20T10:00:00Z\nsession: s1\nproject: app\nbranch: main\nhost: claude\nsource: hook\n---\n\n## Raw Content\n\n{text}\n"
RECORD = (
    "---\nid: {id}\ntype: decision\ntitle: {title}\nstatus: active\nscope: project\nproject: app\nbranch: main\ntags: [storage]\n"
    "created: 2026-11-20T10:00:00Z\nupdated: 2026-11-20T10:00:00Z\nconfidence: 0.9\n---\n\n{title}.\n\nOne file is enough for a shop, and it is easy to copy.\n"
)
E1, E2, E3 = (f"20261120t10000{number}z-aaaaaaaaa{'bcd'[number]}" for number in range(3))
X, Y, Z = "use-files-k3f7q2", "use-sqlite-m4p2aa", "use-a-queue-q2q2aa"


def event_path(id_: str, folder: str = "events/2026/11") -> str:
    return f"{folder}/{id_}.md"


def record_path(id_: str) -> str:
    return f"records/decision/{id_}.md"


_NUMBERS = itertools.count(1)


class Clone:
    """A clone of a vault in which a person, git and Cortex work."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vault = Vault(str(root))
        self.number = itertools.count(1)

    def caller(self) -> Caller:
        number = next(self.number)
        return Caller(
            str(self.root),
            f"2026-11-21T10:{number // 60:02}:{number % 60:02}Z",
            lambda size: number.to_bytes(size, "big"),
            "test",
            no_progress,
        )

    def git(self, *words: str, code: int | None = 0, at: str = "") -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=os.environ | {"GIT_EDITOR": "true"} | ({"GIT_COMMITTER_DATE": at} if at else {}),
        )
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def event(self, id_: str, text: str = "A turn.", folder: str = "events/2026/11") -> None:
        self.write(event_path(id_, folder), EVENT.format(id=id_, text=text))

    def record(self, id_: str, title: str = "Use files") -> None:
        self.write(record_path(id_), RECORD.format(id=id_, title=title))

    def remove(self, path: str) -> None:
        (self.root / path).unlink()

    def add_line(self, path: str, line: str) -> None:
        with (self.root / path).open("a") as file:
            file.write(f"{line}\n")

    def commit(self, message: str = "") -> None:
        """Commit all. Of two commits with one subject within a second Cortex takes one for a copy of the other."""
        self.git("add", "-A")
        self.git("commit", "-qm", message or f"by hand {next(_NUMBERS)}")

    def commits(self) -> None:
        """Commit and push as a person does."""
        self.commit()
        self.git("push", "-q")

    def sync(self) -> None:
        done = sync(self.vault, self.caller())
        assert (done.trouble, done.waiting, done.problems) == ("", (), ())

    def texts(self) -> dict[str, str]:
        """The text of each note by the id that it says."""
        found: dict[str, str] = {}
        for path in sorted(self.root.rglob("*.md")):
            if ".git" in path.parts or "briefings" in path.parts:
                continue
            id_ = notes.read(path.read_bytes()).get("id")
            assert id_ not in found or not id_, f"{id_} stands in two files"
            if "events" in path.parts or "inbox" in path.parts:
                assert path.stem == id_, f"{path} holds the event {id_}"
            if id_:
                found[id_] = path.read_text()
        return found

    def problems(self) -> list[str]:
        return [f"{one.where}: {one.message}" for one in doctor(self.vault, self.caller()).problems]

    def fix(self) -> None:
        doctor(self.vault, self.caller(), fix=True)


@pytest.fixture(params=[True, False], ids=["drivers", "no drivers"])
def has_drivers(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def begun(folder: Path, *, has_drivers: bool) -> None:
    """Two clones of a vault that holds the record X, the event E1 and a person's own note."""
    subprocess.run(["git", "init", "-q", "--bare", "remote.git"], cwd=folder, check=True)
    a = Clone(folder / "a")
    init(a.caller(), str(a.root))
    a.git("init", "-q", "-b", "main")
    a.git("remote", "add", "origin", "../remote.git")
    a.record(X)
    a.event(E1)
    a.write("mine.md", "Shopping\n\n- milk\n")
    heal(a.vault, a.caller())
    a.commit()
    a.git("push", "-q", "-u", "origin", "main")
    subprocess.run(["git", "clone", "-q", "remote.git", "b"], cwd=folder, check=True)
    for name in ("a", "b"):
        drivers.register(str(folder / name)) if has_drivers else drivers.unregister(
            str(folder / name)
        )


BEGUN = {known: functools.partial(begun, has_drivers=known) for known in (True, False)}


@pytest.fixture
def two(tmp_path: Path, has_drivers: bool, copied: Callable[..., None]) -> tuple[Clone, Clone]:
    """The two clones of `begun`."""
    copied(BEGUN[has_drivers], tmp_path)
    return Clone(tmp_path / "a"), Clone(tmp_path / "b")


def meet(*clones: Clone) -> None:
    """Sync until all have everything; then all are equal, and doctor has nothing to say but of drivers that were taken out."""
    for turn in range(3 * len(clones)):
        clones[turn % len(clones)].sync()
        trees = {each.git("rev-parse", "HEAD^{tree}") for each in clones}
        if turn >= len(clones) and len(trees) == 1:
            break
    assert len(trees) == 1
    for each in clones:
        assert [
            one
            for one in each.problems()
            if "driver" not in one and "merged without Cortex" not in one
        ] == []


# --- events


def empty_an_inbox_that_was_committed(a: Clone, b: Clone) -> None:
    """A crash has left E1 in the inbox and among the normalized events, and somebody committed it so. Then each clone empties
    the inbox and captures an event: git takes that for a rename."""
    a.event(E1, folder="inbox/pending")
    a.commits()
    b.git("pull", "-q")
    for each, id_, text in ((a, E2, "The second turn."), (b, E3, "The third turn.")):
        each.remove(event_path(E1, "inbox/pending"))
        each.event(id_, text)


def test_an_event_in_two_places_is_never_written_into_another_events_file(two) -> None:
    a, b = two
    empty_an_inbox_that_was_committed(a, b)
    meet(a, b)
    for each in (a, b):
        held = each.texts()
        assert [held[id_].splitlines()[-1] for id_ in (E1, E2, E3)] == [
            "A turn.",
            "The second turn.",
            "The third turn.",
        ]


@pytest.mark.parametrize("by", ["sync", "git pull"])
@pytest.mark.parametrize("swapped", [False, True])
def test_an_event_that_both_sides_have_is_not_mixed_with_a_record_that_is_like_it(
    two, swapped, by
) -> None:
    """git takes the event for a new name of the record that one side deleted and the other edited,
    and commits the text with markers as if it were merged."""
    deleting, editing = two if swapped else two[::-1]
    lines = "\n".join(
        f"Line {number} of a text that the event and the record share." for number in range(40)
    )
    two[0].write(record_path(Y), RECORD.format(id=Y, title="Use SQLite") + lines + "\n")
    two[0].commits()
    two[1].git("pull", "-q")
    for each in two:  # as an import of one transcript on two machines
        each.event(E2, f"Use SQLite.\n\n{lines}")
    deleting.remove(record_path(Y))
    text = (editing.root / record_path(Y)).read_text()
    editing.write(record_path(Y), text.replace("tags: [storage]", "tags: [disk]\nowner: ada"))
    two[0].commits()
    two[1].commit()
    if by == "git pull":
        two[1].git("pull", "-q", "--no-rebase")
    meet(*two)
    for each in two:
        assert each.texts()[E2] == EVENT.format(id=E2, text=f"Use SQLite.\n\n{lines}")
        assert "tags: [disk]" in each.texts()[Y]


_SHARED_LINES = "\n".join(
    f"Line {number} of a text that the event and the record share." for number in range(40)
)


def test_an_event_in_the_inbox_does_not_keep_the_file_of_a_record(two) -> None:
    """Both sides merged the other's commit. In one of these git takes the event, which a crash has
    left in the inbox, for a new name of the record: then its base in the inbox says the record."""
    a, b = two
    text = f"Use SQLite.\n\n{_SHARED_LINES}"
    a.write(record_path(Y), RECORD.format(id=Y, title="Use SQLite") + _SHARED_LINES + "\n")
    a.event(E2, text)
    a.commits()
    b.git("pull", "-q")
    a.add_line(record_path(Y), "measured on two machines")
    a.commit()
    b.remove(record_path(Y))
    b.event(E2, text, "inbox/pending")
    b.commit()
    for clone, other in ((a, b), (b, a)):
        clone.git("fetch", "-q", str(other.root), "main:theirs")
    for clone in (a, b):
        clone.git("merge", "-q", "-s", "ours", "theirs")
    a.add_line(record_path(Y), "and on a third")
    a.commit()
    b.git("push", "-q")
    a.git("pull", "-q", "--no-rebase", "--no-edit", code=None)
    a.fix()
    a.git("commit", "-q", "--no-edit", code=None)
    meet(a, b)
    for clone in (a, b):
        assert clone.texts()[E2] == EVENT.format(id=E2, text=text)
        assert clone.texts()[Y].endswith("measured on two machines\nand on a third\n")
        assert (clone.root / record_path(Y)).exists()


def test_an_event_that_a_patch_adds_keeps_its_file_where_git_takes_it_for_a_record_renamed(
    two, has_drivers
) -> None:
    """`git am` gives the driver the old name of what it takes for renamed."""
    if not has_drivers:
        pytest.skip("only the driver is told a name")
    a, b = two
    text = f"Use SQLite.\n\n{_SHARED_LINES}"
    a.write(record_path(Y), RECORD.format(id=Y, title="Use SQLite") + _SHARED_LINES + "\n")
    a.commits()
    b.git("pull", "-q")
    a.remove(record_path(Y))
    a.event(E2, text)
    a.commit()
    record = (b.root / record_path(Y)).read_text().replace("tags: [storage]", "tags: [disk]")
    b.write(record_path(Y), record)
    b.commit()
    b.git("fetch", "-q", str(a.root), "main")
    b.write("patch", b.git("format-patch", "-1", "--stdout", "FETCH_HEAD"))
    b.git("am", "-q", "-3", "patch", code=None)
    b.remove("patch")
    b.fix()
    assert b.texts()[E2] == EVENT.format(id=E2, text=text)
    assert b.texts()[Y] == record
    assert not any("edited after" in one for one in b.problems())


# --- records


def remove_and_save_alike(clone: Clone) -> None:
    clone.remove(record_path(X))
    clone.record(Y, "Use files, in a way")


def both_survive(clone: Clone) -> None:
    held = clone.texts()
    assert "measured on two machines" in held[X]
    assert "Use files, in a way." in held[Y]
    assert "measured" not in held[Y]


@pytest.mark.parametrize("new", [False, True], ids=["moved there", "written there"])
def test_a_record_in_a_persons_folder_that_comes_back_is_committed_for_all(two, new) -> None:
    """Where a record was committed before, sync commits it again; a new one waits for its person."""
    a, b = two
    elsewhere = "Ideas/files.md"
    for each in (a, b):
        each.git("pull", "-q")
        (each.root / "Ideas").mkdir(exist_ok=True)
        if each is a:
            a.git("mv", record_path(X), elsewhere)
            a.commits()
    a.remove(elsewhere)
    a.record(Y, "Use files, in a way")
    a.commits()
    b.add_line(elsewhere, "measured on two machines")
    if new:
        b.write("Ideas/new.md", RECORD.format(id=Z, title="Use a queue"))
        b.git("add", "Ideas/new.md")
    b.git("commit", "-qm", "measured", "--", elsewhere)
    b.git("pull", "-q", "--no-rebase", "--no-edit", code=None)
    b.fix()
    if (b.root / ".git/MERGE_HEAD").exists():
        b.git("commit", "-q", "--no-edit")
    b.sync()
    a.sync()
    assert b.git("status", "--porcelain") == ("A  Ideas/new.md\n" if new else "")
    assert a.git("status", "--porcelain") == ""
    for each in (a, b):
        assert "measured on two machines" in (each.root / elsewhere).read_text()
        assert "measured" not in (each.root / record_path(Y)).read_text()


def test_an_edit_of_a_moved_record_that_git_does_not_know_outlives_a_stash(two) -> None:
    """The stash tells of a deletion, the other clone of another move; the file itself is untracked."""
    a, b = two
    (a.root / record_path(X)).rename(a.root / "records/moved.md")
    a.commits()
    (b.root / "Ideas").mkdir()
    (b.root / record_path(X)).rename(b.root / "Ideas/mine.md")
    b.add_line("Ideas/mine.md", "measured on two machines")
    b.git("stash", "push", "-q")
    b.git("pull", "-q", "--no-rebase")
    b.git("stash", "pop", "-q", code=None)
    b.fix()
    assert "measured on two machines" in b.texts()[X]


def test_a_file_in_a_folder_that_git_takes_for_renamed_leaves_the_ids_of_all_others_alone(
    two,
) -> None:
    """Git makes up a place for it, which is in no commit; and puts one text with markers into both of the others."""
    a, b = two
    drivers.unregister(str(b.root))
    for name in ("one", "two"):
        a.write(f"notes/{name}.md", f"My note {name}, which says something.\n")
    a.record(Z, "Queue")
    a.write(f"ideas/{Z}.md", (a.root / record_path(Z)).read_text())
    a.remove(record_path(Z))
    a.commits()
    b.git("pull", "-q")
    for each, folder, id_ in ((a, "notizen", Y), (b, "", "use-a-cloud-q3q3aa")):
        each.remove(record_path(X))
        each.record(id_, f"Use files as {id_} does")
        if folder:
            each.git("mv", "notes", folder)
            each.git("mv", "ideas", "plans")
            each.commits()
    b.write("notes/three.md", "My note three.\n")
    b.write("ideas/use-a-list-q4q4aa.md", RECORD.format(id="use-a-list-q4q4aa", title="List"))
    b.commit()
    b.git("-c", "merge.directoryRenames=conflict", "pull", "-q", "--no-rebase", "--no-edit", code=1)
    assert b.git("ls-files", "-u", "--", "notizen", "plans")
    b.fix()
    assert (
        b.git("diff", "--name-only", "--diff-filter=U") == "notizen/three.md\n"
    )  # a person's own, without an id
    b.git("add", "notizen/three.md")
    b.git("commit", "-q", "--no-edit")
    meet(b, a)
    held = a.texts()
    assert {Y, Z, "use-a-cloud-q3q3aa", "use-a-list-q4q4aa"} <= held.keys()
    assert all("<<<<" not in text for text in held.values())
    assert f"as {Y} does" in held[Y]
    assert "as use-a-cloud-q3q3aa does" in held["use-a-cloud-q3q3aa"]
    assert [path.read_text() for path in a.root.rglob("three.md")] == ["My note three.\n"]


def test_a_conflict_in_a_note_that_both_sides_have_renamed_waits_for_its_person(two) -> None:
    """Sync left the text with the markers out of its commit, and lost it when it merged the two new names."""
    a, b = two
    for each, name in ((a, "moved.md"), (b, "elsewhere.md")):
        each.git("mv", record_path(X), f"records/decision/{name}")
        each.commit()
    a.git("push", "-q")
    b.add_line(
        "records/decision/elsewhere.md",
        "<<<<<<< ours\nOne file.\n=======\nTwo files.\n>>>>>>> theirs",
    )
    text = b.texts()[X]
    done = sync(b.vault, b.caller())
    assert (
        done.trouble
        == "records/decision/elsewhere.md is not committed, and origin has changed that note, too"
    )
    assert done.hint == "mend records/decision/elsewhere.md, then cortex sync"
    assert b.texts()[X] == text
    kept = [
        line
        for line in text.splitlines(keepends=True)
        if line[:7] not in ("<<<<<<<", "=======", ">>>>>>>")
    ]
    b.write("records/decision/elsewhere.md", "".join(kept))
    meet(b, a)
    for each in (a, b):
        assert "One file.\nTwo files.\n" in each.texts()[X]


@pytest.mark.parametrize("by", ["sync", "git"])
def test_a_field_that_both_added_in_different_lines_stands_once(two, by) -> None:
    """Outside of Cortex's folders git merges line by line, drivers or not."""
    a, b = two
    a.git("mv", record_path(X), "mine too.md")
    a.commits()
    b.git("pull", "-q")
    text = (a.root / "mine too.md").read_text()
    a.write("mine too.md", text.replace("tags:", "due: 2026-12-19\ntags:"))
    a.commits()
    b.write("mine too.md", text.replace("confidence: 0.9\n", "confidence: 0.9\ndue: 2026-12-19\n"))
    b.commit()
    if by == "git":
        b.git("pull", "-q", "--no-rebase")
        heal(b.vault, b.caller())
        b.commit()
    b.sync()
    meet(a, b)
    for clone in (a, b):
        assert clone.texts()[X].count("due: 2026-12-19") == 1


def test_three_records_in_place_of_one(two) -> None:
    a, b = two
    for each, id_ in ((a, Y), (b, Z)):
        each.remove(record_path(X))
        each.record(id_, f"Use files as {id_} does")
    meet(a, b)
    assert {X, Y, Z} & a.texts().keys() == {Y, Z}
    assert "as use-sqlite-m4p2aa does" in a.texts()[Y]
    assert "as use-a-queue-q2q2aa does" in a.texts()[Z]


@pytest.mark.parametrize("kind", ["record for a person's note", "person's note for a record"])
def test_a_persons_own_note_is_never_taken_for_a_record(two, kind) -> None:
    a, b = two
    text = RECORD.format(id="", title="Use files").replace("id: \n", "")
    if kind == "record for a person's note":
        a.remove(record_path(X))
        a.write("Like it.md", text)
        b.add_line(record_path(X), "measured on two machines")
    else:
        a.write("Like it.md", text)
        a.commits()
        b.git("pull", "-q")
        a.remove("Like it.md")
        a.record(Y, "Use files")
        b.add_line("Like it.md", "measured on two machines")
    for each in (a, b):
        each.git("add", "Like it.md", code=None)
        each.git("commit", "-qm", "mine", "--", "Like it.md", code=None)
    a.sync()
    done = sync(b.vault, b.caller())
    for problem in (
        done.waiting
    ):  # a person's own note that one deleted and the other changed is theirs to decide
        assert problem.where == "Like it.md"
        b.git("add", "Like it.md")
    meet(b, a)
    held = b.texts()
    if kind == "record for a person's note":
        assert "measured on two machines" in held[X]
        assert (b.root / "Like it.md").read_text() == text
    else:
        assert "measured" not in held[Y]
        assert "measured on two machines" in (b.root / "Like it.md").read_text()


# --- cherry-pick, revert, stash, am


def picked(a: Clone, b: Clone) -> tuple[str, ...]:
    b.git("fetch", "-q")
    b.git("cherry-pick", "origin/main", code=None)
    return ("cherry-pick", "--continue")


def reverted(a: Clone, b: Clone) -> tuple[str, ...]:
    b.git("fetch", "-q")
    b.git("cherry-pick", "origin/main~1", code=None)
    return ("cherry-pick", "--continue")


def mailed(a: Clone, b: Clone) -> tuple[str, ...]:
    b.git("fetch", "-q")
    mail = a.git("format-patch", "-1", "--stdout")
    (b.root.parent / "mail").write_text(mail)
    b.git("am", "-q", "-3", "../mail", code=None)
    return ("am", "--continue")


def stashed(a: Clone, b: Clone) -> tuple[str, ...]:
    b.git("reset", "-q", "--soft", "HEAD~1")
    b.git("stash", "push", "-q", "-u")
    b.git("pull", "-q")
    b.git("stash", "pop", "-q", code=None)
    return ()


def merged(a: Clone, b: Clone) -> tuple[str, ...]:
    b.git("fetch", "-q")
    b.git("merge", "--no-edit", "origin/main", code=None)
    return ("commit", "--no-edit")


def rebased(a: Clone, b: Clone) -> tuple[str, ...]:
    b.git("fetch", "-q")
    b.git("rebase", "origin/main", code=None)
    return ("rebase", "--continue")


WAYS = [picked, mailed, stashed, merged, rebased]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("verb", ["doctor", "sync"] if SOAK else ["either"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_whatever_git_is_in_the_middle_of_is_resolved_by_the_same_rules(
    two, has_drivers, way: Callable[[Clone, Clone], tuple[str, ...]], verb
) -> None:
    """A record that one changed and the other deleted, and one that is like it; a field that both changed."""
    if verb == "either":
        verb = "sync" if has_drivers else "doctor"
    a, b = two
    a.record(Z, "Use a queue")
    a.commits()
    b.git("pull", "-q")
    remove_and_save_alike(a)
    a.write(
        record_path(Z),
        (a.root / record_path(Z))
        .read_text()
        .replace("[storage]", "[storage, queue]")
        .replace("21", "22"),
    )
    a.commits()
    b.add_line(record_path(X), "measured on two machines")
    b.write(
        record_path(Z),
        (b.root / record_path(Z)).read_text().replace("[storage]", "[storage, shop]"),
    )
    b.commit()
    then = way(a, b)
    if b.git("ls-files", "-u") or "rebase in progress" in b.git("status"):
        if verb == "doctor":
            b.fix()
        else:
            done = sync(b.vault, b.caller())
            assert done.waiting == ()
            assert bool(done.trouble) == bool(then)
            assert not then or f"git {then[0]}" in done.hint, done.hint
        assert b.git("ls-files", "-u") == ""
        if then:
            b.git(*then)
    if b.git("stash", "list"):
        b.git("stash", "drop", "-q")
    meet(b, a)
    for each in (a, b):
        both_survive(each)
        assert (
            "tags: [storage, queue, shop]" in each.texts()[Z]
            or "tags: [storage, shop, queue]" in each.texts()[Z]
        )


def test_a_patch_to_a_note_that_is_gone_changes_no_other_note(two) -> None:
    """`git am -3` merges with a tree of the patched notes alone: any note that is like one of them is a new one there."""
    a, b = two
    a.record(Y, "Use SQLite")
    a.record(Z, "Use a queue")
    a.commits()
    b.git("pull", "-q")
    a.add_line(record_path(Y), "added to Y")
    a.add_line("mine.md", "- bread")
    a.commit("added")
    (a.root.parent / "mail").write_text(a.git("format-patch", "-1", "--stdout"))
    b.remove(record_path(Y))
    b.commit("removed")
    b.git("fetch", "-q", "../a", "main:refs/remotes/a/main")
    before = b.texts()
    b.git("am", "-q", "-3", "../mail", code=None)
    if b.git("ls-files", "-u"):
        b.fix()
        b.git("am", "--continue", code=None)
    heal(b.vault, b.caller())
    after = b.texts()
    assert {X: before[X], Z: before[Z]} == {id_: after[id_] for id_ in (X, Z)}


def test_a_new_note_that_git_moves_with_a_folder_is_not_lost(two, has_drivers) -> None:
    """Both sides delete one record and add another that is like it, one of them in another folder: git takes the folder for
    renamed, and the index holds one side's new note under the names of both."""
    a, b = two
    for clone, id_, folder in ((a, Y, "decision"), (b, Z, "gotcha")):
        clone.remove(record_path(X))
        clone.write(f"records/{folder}/{id_}.md", RECORD.format(id=id_, title="Use files"))
        clone.commit()
    a.git("push", "-q")
    b.git("fetch", "-q")
    for name, value in (("merge.directoryRenames", "conflict"), ("cortex.drivers", "removed")):
        b.git("config", name, value)
    b.git("merge", "--no-edit", "origin/main", code=1)
    b.fix()
    b.git("commit", "-q", "--no-edit")
    heal(b.vault, b.caller())
    assert {Y, Z} <= b.texts().keys()


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_a_new_event_that_git_moves_with_the_inbox_stays_in_the_inbox(two, how) -> None:
    """Git takes an event that was normalized for moved to the record made of it, and the inbox with it."""
    a, b = two
    text = f"Use SQLite.\n\n{_SHARED_LINES}"
    a.event(E2, text, folder="inbox/pending")
    a.commits()
    b.git("pull", "-q")
    b.remove(event_path(E2, "inbox/pending"))
    b.write(record_path(Y), RECORD.format(id=Y, title="Use SQLite") + _SHARED_LINES + "\n")
    b.commit()
    a.event(E3, folder="inbox/pending")
    a.commits()
    b.git("fetch", "-q")
    b.git("config", "merge.directoryRenames", "conflict")
    b.git("merge", *(["--squash"] if how == "squash" else ["--no-edit"]), "origin/main", code=1)
    assert "records/decision" in b.git("ls-files", "-u")
    b.fix()
    assert b.git("ls-files", "-u") == ""
    assert b.texts()[E3] == EVENT.format(id=E3, text="A turn.")
    assert "Use SQLite." in b.texts()[Y]


def test_a_revert_that_stops_is_known_by_its_name_and_resolved(two) -> None:
    a, _ = two
    a.add_line(record_path(X), "measured on two machines")
    a.commit("measured")
    a.write(
        record_path(X),
        (a.root / record_path(X))
        .read_text()
        .replace("One file is", "Two files are")
        .replace("measured on", "measured again on"),
    )
    a.commit("again")
    a.git("revert", "--no-edit", "HEAD~1", code=1)
    done = sync(a.vault, a.caller())
    assert [one.where for one in done.waiting] == [record_path(X)]
    assert "git revert --continue" in done.hint
    text = "".join(
        line
        for line in (a.root / record_path(X)).read_text().splitlines(keepends=True)
        if line[:7] not in ("<<<<<<<", "=======", ">>>>>>>")
    )
    a.write(record_path(X), text)
    a.git("add", "-A")
    a.git("revert", "--continue")
    a.sync()
    assert "merge_conflicts" not in a.texts()[X]
    assert a.problems() == [] or all("driver" in one for one in a.problems())


def test_a_note_that_moved_takes_no_other_note_along_that_has_come_to_its_old_place(two) -> None:
    """Git takes its new place for a second new name of a third note, and stops; at its old place,
    where both sides have the other note, it does not. Of that there is a copy, so that the check
    of the whole merge need not miss it."""
    a, b = two
    moved, other = (a.root / record_path(X)).read_text(), RECORD.format(id=Y, title="Use SQLite")
    a.record(Z)
    a.commits()
    b.git("pull", "-q")
    b.write("Ideas/moved.md", moved)
    for clone in (a, b):
        clone.remove(record_path(Z))
        clone.write(record_path(X), f"{other}measured by {clone.root.name}\n")
        clone.write("Ideas/copy.md", f"{other}{_SHARED_LINES}\n")
    a.record("use-queues-q3q3aa")
    a.commits()
    b.sync()
    assert (b.root / "Ideas/moved.md").read_text() == moved
    held = (b.root / record_path(X)).read_text()
    assert "measured by a" in held
    assert "measured by b" in held


@pytest.mark.parametrize("kind", ["event", "record"])
def test_a_place_that_one_of_several_bases_alone_has_holds_up_no_merge(two, kind) -> None:
    """Both sides merged the other's commit, so git merges two bases first; in one of them the note stands in two places. Then
    git takes its second place for the old name of what either side added, and neither side knows the place."""
    a, b = two
    note, old = (
        (event_path(E2), event_path(E2, "inbox/pending"))
        if kind == "event"
        else (record_path(Y), f"records/note/{Y}.md")
    )
    for clone in (a, b):
        clone.event(E2) if kind == "event" else clone.record(Y)
    b.write(old, (b.root / note).read_text())
    for clone in (a, b):
        clone.commit()
    for clone, other in ((a, b), (b, a)):
        clone.git("fetch", "-q", str(other.root), "main:theirs")
    for clone, added in ((a, Z), (b, X)):
        clone.git("merge", "-q", "-s", "ours", "theirs")
        (clone.root / old).unlink(missing_ok=True)
        clone.event(E3 if clone is a else E3[:-1] + "z") if kind == "event" else clone.record(
            f"use-more-{added[-6:]}"
        )
        clone.commit()
    b.git("push", "-q")
    before = a.texts() | b.texts()
    a.sync()
    assert not (a.root / old).exists()
    meet(a, b)
    for clone in (a, b):
        assert clone.texts() == before
    assert a.git("status", "--short") == ""


def test_a_note_of_ones_own_that_is_in_one_of_several_bases_may_be_moved_here_and_edited_there(
    two,
) -> None:
    a, b = two
    a.write("shopping.md", "- bread\n- milk\n- honey, the dark one\n")
    b.write("reading.md", "A list that has nothing to do with it.\n")
    for clone in (a, b):
        clone.commit()
    for clone, other in ((a, b), (b, a)):
        clone.git("fetch", "-q", str(other.root), "main:theirs")
    for clone in (a, b):
        clone.git("merge", "-q", "theirs")
    (a.root / "shopping.md").rename(a.root / "groceries.md")
    b.add_line("shopping.md", "- more 51")
    for clone in (a, b):
        clone.commit()
    b.git("push", "-q")
    a.sync()
    assert (a.root / "groceries.md").read_text().endswith("- honey, the dark one\n- more 51\n")
    assert a.git("status", "--short") == ""


def test_a_note_that_both_sides_have_alike_and_one_of_several_bases_has_not_holds_up_no_merge(
    two,
) -> None:
    """Here git takes what one base alone had for the old name of that note on one side, and of another note on the other."""
    a, b = two
    old = record_path("use-queues-q3q3aa")
    for clone in (a, b):
        clone.record(Y)
        clone.commit("both")
    b.git("reset", "-q", "--hard", "HEAD~")
    b.git("pull", "-q", "--no-rebase", str(a.root), "main")
    a.add_line("mine.md", "- bread")
    a.commit()
    b.remove(record_path(Y))
    b.record("use-queues-q3q3aa", "Use queues for all that is slow, and for all that may fail")
    b.commit()
    for clone, other in ((a, b), (b, a)):
        clone.git("fetch", "-q", str(other.root), "main:theirs")
    text = (a.root / record_path(Y)).read_text()
    for clone in (a, b):
        clone.git("merge", "-q", "-s", "ours", "theirs")
        clone.write(record_path(Y), text)
        clone.write("mine.md", (a.root / "mine.md").read_text())
        (clone.root / old).unlink(missing_ok=True)
    b.record(Z, "Use queues for all that is slow, and for all that may fail")
    a.add_line(record_path(X), "A second line.")
    for clone in (a, b):
        clone.commit()
    b.git("push", "-q")
    before = b.texts() | a.texts()
    a.sync()
    meet(a, b)
    for clone in (a, b):
        assert clone.texts() == before
    assert a.git("status", "--short") == ""


def test_what_a_person_made_of_a_conflict_is_taken_and_not_marked_again(two) -> None:
    """A note that was moved and rewritten on one side; git takes it for two, and Cortex leaves its lines to a person."""
    a, b = two
    old = (a.root / record_path(X)).read_text()
    a.remove(record_path(X))
    a.write("Topics/Files.md", old.replace("One file is enough", "Many files are enough"))
    a.git("add", "-A")
    a.commits()
    b.write(record_path(X), old.replace("One file is enough", "Two files are enough"))
    b.commit()
    b.git("-c", "merge.renames=false", "pull", "-q", "--no-edit", "--no-rebase", code=None)
    done = sync(b.vault, b.caller())
    assert [one.where for one in done.waiting] == ["Topics/Files.md"]
    b.write("Topics/Files.md", old.replace("One file is enough", "Some files are enough"))
    b.fix()
    assert b.git("ls-files", "-u") == ""
    assert any("under way" in one for one in b.problems())
    b.git("commit", "-q", "--no-edit")
    meet(b, a)
    for each in (a, b):
        assert "Some files are enough" in each.texts()[X]
        assert (each.root / "Topics/Files.md").exists()


# --- one id in two files


def test_one_record_that_three_clones_moved_deleted_and_edited_is_one_file(two, tmp_path) -> None:
    a, b = two
    subprocess.run(["git", "clone", "-q", "remote.git", "c"], cwd=tmp_path, check=True)
    c = Clone(tmp_path / "c")
    drivers.register(str(c.root))
    a.write("Ideas/Files.md", (a.root / record_path(X)).read_text())
    a.remove(record_path(X))
    b.remove(record_path(X))
    c.add_line(record_path(X), "measured on two machines")
    b.commits()
    for each in (c, a):
        each.commit()
        each.git("pull", "-q", "--no-edit", "--no-rebase", code=None)
        if each.git("ls-files", "-u"):
            each.fix()
            each.git("commit", "-q", "--no-edit")
        each.git("push", "-q")
    for each in (a, b, c):
        each.sync()
        each.fix()
    meet(a, b, c)
    for each in (a, b, c):
        assert "measured on two machines" in each.texts()[X]
        assert (each.root / "Ideas/Files.md").exists()


@pytest.mark.parametrize("topic", ["", "topic: decision/storage\n"])
def test_two_files_of_one_id_are_named_and_made_one(two, topic) -> None:
    a, b = two
    text = (a.root / record_path(X)).read_text().replace("tags:", f"{topic}tags:")
    a.write(record_path(X), text)
    a.write(
        "records/decision/Use files (copy).md",
        text.replace("[storage]", "[storage, copy]") + "and a line of the copy\n",
    )
    a.add_line(record_path(X), "and a line of the first")
    (hint,) = [
        one.hint for one in doctor(a.vault, a.caller()).problems if "has the id" in one.message
    ]
    assert hint.startswith("cortex doctor --fix keeps one file")
    assert ("another id" in hint or "delete the id" in hint) == (not topic)
    fixed = doctor(a.vault, a.caller(), fix=True).fixed
    assert any("one file is kept" in line for line in fixed)
    held = a.texts()[X]
    assert "and a line of the first" in held
    assert "and a line of the copy" in held
    assert "[storage, copy]" in held
    meet(a, b)


def test_a_file_that_was_written_anew_takes_no_line_from_the_note_that_was_moved_from_there(
    two,
) -> None:
    """As the note of a session that went on in a clone that did not know of the move."""
    a, _ = two
    old = (a.root / record_path(X)).read_text()
    a.add_line(record_path(X), "A second line.")
    a.commit()
    a.write("Ideas/moved.md", (a.root / record_path(X)).read_text())
    a.remove(record_path(X))
    a.commit()
    a.write(record_path(X), f"{old}A line of the new file.\n")
    a.commit()
    a.fix()
    assert not (a.root / record_path(X)).exists()
    for line in ("A second line.", "A line of the new file."):
        assert line in a.texts()[X]


@pytest.mark.parametrize("is_committed", [True, False])
def test_an_older_version_that_came_back_and_was_edited_takes_nothing_from_its_note(
    two, is_committed
) -> None:
    a = two[0]
    old = (a.root / record_path(X)).read_text()
    a.add_line(record_path(X), "A second line.")
    a.commit()
    a.write("Ideas/moved.md", (a.root / record_path(X)).read_text())
    a.remove(record_path(X))
    a.commit()
    a.write(record_path(X), old)
    a.commit()
    a.write(record_path(X), old.replace("status: active", "status: active\npinned: true"))
    if is_committed:
        a.commit()
    a.fix()
    assert not (a.root / record_path(X)).exists()
    assert "A second line." in a.texts()[X]
    assert "pinned: true" in a.texts()[X]


def test_an_edit_made_on_another_branch_than_a_move_stays_when_the_two_files_are_made_one(
    two,
) -> None:
    """Git lists commits by their time: what was made later in one branch may stand behind what is older in another."""
    a = two[0]
    text = (a.root / record_path(X)).read_text()
    a.git("switch", "-q", "-c", "edits")
    a.add_line(record_path(X), "A second line.")
    a.commit()
    a.git("switch", "-q", "main")
    for change in ("one", "two"):
        a.add_line(record_path(X), change)
        a.commit()
        a.write(record_path(X), text)
        a.commit()
    a.remove(record_path(X))
    a.write("Ideas/moved.md", text)
    a.commit()
    a.git("merge", "-q", "-s", "ours", "edits")
    a.write(record_path(X), text + "A second line.\n")
    a.commit()
    a.fix()
    assert "A second line." in a.texts()[X]


# Git names the newer one of several bases first.
_OLDER, _NEWER = "2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z"


def test_of_a_topic_in_two_files_the_text_that_goes_and_was_never_committed_is_an_event(
    two,
) -> None:
    a = two[0]
    first = RECORD.format(id=X, title="Use files").replace("tags:", "topic: storage\ntags:")
    a.write(record_path(X), first)
    a.commit()
    a.write(
        "Ideas/moved.md",
        first.replace("10:00:00Z\nconf", "11:00:00Z\nconf")
        .replace("One file", "Two files")
        .replace("for a shop", "for two"),
    )
    a.commit()
    a.add_line(record_path(X), "A line by hand.")
    a.fix()
    a.sync()
    assert "Two files" in a.texts()[X]
    assert [id_ for id_, text in a.texts().items() if "A line by hand." in text]
    assert a.problems() == []


def test_a_copy_beside_a_record_does_not_take_its_name(two) -> None:
    a, _ = two
    a.write(
        f"records/decision/{X} 1.md",
        (a.root / record_path(X)).read_text().replace("[storage]", "[storage, copy]"),
    )
    a.fix()
    assert "[storage, copy]" in (a.root / record_path(X)).read_text()
    assert not (a.root / f"records/decision/{X} 1.md").exists()


def test_notes_of_a_persons_own_with_one_id_are_left_alone(two) -> None:
    a, _ = two
    for name in ("One.md", "Two.md"):
        a.write(name, "---\nid: 5\n---\n\nMine.\n")
    a.fix()
    assert (a.root / "One.md").exists()
    assert (a.root / "Two.md").exists()
    assert any(
        "give one of the two another id" in one.hint for one in doctor(a.vault, a.caller()).problems
    )
