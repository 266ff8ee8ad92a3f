"""Law 9 between clones that people share by git: no note's text comes to stand under another note's id, no two notes become one,
none is gone, and none comes back that a person took away. Which merges git stops is in test_renames_of_git.py."""

from __future__ import annotations

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
from cortex.operations.share.sync import sync
from cortex.operations.upkeep.heal import heal
from cortex.vault.git import drivers
from cortex.vault.locate import Vault

pytestmark = pytest.mark.sampled(3)

EVENT = "---\nid: {id}\ntype: stop\nat: 2026-11-20T10:00:00Z\nsession: s1\nproject: app\nbranch: main\nhost: claude\nsource: hook\n---\n\n## Raw Content\n\n{text}\n"
RECORD = (
    "---\nid: {id}\ntype: decision\ntitle: {title}\nstatus: active\nscope: project\nproject: app\nbranch: main\ntags: [storage]\n"
    "created: 2026-11-20T10:00:00Z\nupdated: 2026-11-20T10:00:00Z\nconfidence: 0.9\n---\n\n{title}.\n\nOne file is enough for a shop, and it is easy to copy.\n"
)
E1, E2, E3 = (f"20261120t10000{number}z-aaaaaaaaa{'bcd'[number]}" for number in range(3))
X, Y, Z = "use-files-k3f7q2", "use-sqlite-m4p2aa", "use-a-queue-q2q2aa"
MARKERS = ("<<<<<<<", "=======", ">>>>>>>")


def event_path(id_: str, folder: str = "events/2026/11") -> str:
    return f"{folder}/{id_}.md"


def record_path(id_: str) -> str:
    return f"records/decision/{id_}.md"


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

    def git(self, *words: str, code: int | None = 0) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=os.environ | {"GIT_EDITOR": "true"},
        )
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def write(self, path: str, text: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def text(self, path: str) -> str:
        return (self.root / path).read_text()

    def mend(self, path: str) -> None:
        """Keep all the lines of a conflict."""
        lines = self.text(path).splitlines(keepends=True)
        self.write(path, "".join(line for line in lines if not line.startswith(MARKERS)))

    def event(self, id_: str, text: str = "A turn.", folder: str = "events/2026/11") -> None:
        self.write(event_path(id_, folder), EVENT.format(id=id_, text=text))

    def record(self, id_: str, title: str = "Use files") -> None:
        self.write(record_path(id_), RECORD.format(id=id_, title=title))

    def remove(self, path: str) -> None:
        (self.root / path).unlink()

    def add_line(self, path: str, line: str) -> None:
        with (self.root / path).open("a") as file:
            file.write(f"{line}\n")

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "by hand")

    def push(self) -> None:
        """Commit all and push, as a person does."""
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


def begun(folder: Path) -> None:
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


@pytest.fixture
def two(tmp_path: Path, has_drivers: bool, copied: Callable[..., None]) -> tuple[Clone, Clone]:
    """The two clones of `begun`."""
    copied(begun, tmp_path)
    clones = Clone(tmp_path / "a"), Clone(tmp_path / "b")
    for each in clones:
        (drivers.register if has_drivers else drivers.unregister)(str(each.root))
    return clones


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


def test_an_event_in_two_places_is_never_written_into_another_events_file(two) -> None:
    """A crash has left E1 in the inbox and among the normalized events, and somebody committed it so. Then each clone empties
    the inbox and captures an event: git takes that for a rename."""
    a, b = two
    a.event(E1, folder="inbox/pending")
    a.push()
    b.git("pull", "-q")
    for each, id_, text in ((a, E2, "The second turn."), (b, E3, "The third turn.")):
        each.remove(event_path(E1, "inbox/pending"))
        each.event(id_, text)
    meet(a, b)
    for each in (a, b):
        held = each.texts()
        assert [held[id_].splitlines()[-1] for id_ in (E1, E2, E3)] == [
            "A turn.",
            "The second turn.",
            "The third turn.",
        ]


def test_a_record_in_a_persons_folder_that_comes_back_is_committed_for_all(two) -> None:
    """Where a record was committed before, sync commits it again; a new one waits for its person."""
    a, b = two
    elsewhere = "Ideas/files.md"
    for each in (a, b):
        each.git("pull", "-q")
        (each.root / "Ideas").mkdir(exist_ok=True)
        if each is a:
            a.git("mv", record_path(X), elsewhere)
            a.push()
    a.remove(elsewhere)
    a.record(Y, "Use files, in a way")
    a.push()
    b.add_line(elsewhere, "measured on two machines")
    b.write("Ideas/new.md", RECORD.format(id=Z, title="Use a queue"))
    b.git("add", "Ideas/new.md")
    b.git("commit", "-qm", "measured", "--", elsewhere)
    b.git("pull", "-q", "--no-rebase", "--no-edit", code=None)
    b.fix()
    if (b.root / ".git/MERGE_HEAD").exists():
        b.git("commit", "-q", "--no-edit")
    b.sync()
    a.sync()
    assert b.git("status", "--porcelain") == "A  Ideas/new.md\n"
    assert a.git("status", "--porcelain") == ""
    for each in (a, b):
        assert "measured on two machines" in each.text(elsewhere)
        assert "measured" not in each.text(record_path(Y))


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
    b.mend("records/decision/elsewhere.md")
    meet(b, a)
    for each in (a, b):
        assert "One file.\nTwo files.\n" in each.texts()[X]


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
        a.push()
        b.git("pull", "-q")
        a.remove("Like it.md")
        a.record(Y, "Use files")
        b.add_line("Like it.md", "measured on two machines")
    for each in (a, b):
        each.git("add", "Like it.md", code=None)
        each.git("commit", "-qm", "mine", "--", "Like it.md", code=None)
    a.sync()
    done = sync(b.vault, b.caller())
    for (
        problem
    ) in done.waiting:  # one deleted their own note, the other changed it: theirs to decide
        assert problem.where == "Like it.md"
        b.git("add", "Like it.md")
    meet(b, a)
    held = b.texts()
    if kind == "record for a person's note":
        assert "measured on two machines" in held[X]
        assert b.text("Like it.md") == text
    else:
        assert "measured" not in held[Y]
        assert "measured on two machines" in b.text("Like it.md")


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


def test_a_revert_that_stops_is_known_by_its_name_and_resolved(two) -> None:
    a, _ = two
    a.add_line(record_path(X), "measured on two machines")
    a.commit()
    text = a.text(record_path(X)).replace("One file is", "Two files are")
    a.write(record_path(X), text.replace("measured on", "measured again on"))
    a.commit()
    a.git("revert", "--no-edit", "HEAD~1", code=1)
    done = sync(a.vault, a.caller())
    assert [one.where for one in done.waiting] == [record_path(X)]
    assert "git revert --continue" in done.hint
    a.mend(record_path(X))
    a.git("add", "-A")
    a.git("revert", "--continue")
    a.sync()
    assert "merge_conflicts" not in a.texts()[X]
    assert a.problems() == [] or all("driver" in one for one in a.problems())


def test_what_a_person_made_of_a_conflict_is_taken_and_not_marked_again(two) -> None:
    """A note that was moved and rewritten on one side; git takes it for two, and Cortex leaves its lines to a person."""
    a, b = two
    old = a.text(record_path(X))
    a.remove(record_path(X))
    a.write("Topics/Files.md", old.replace("One file is enough", "Many files are enough"))
    a.git("add", "-A")
    a.push()
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


def test_one_record_that_three_clones_moved_deleted_and_edited_is_one_file(two, tmp_path) -> None:
    a, b = two
    subprocess.run(["git", "clone", "-q", "remote.git", "c"], cwd=tmp_path, check=True)
    c = Clone(tmp_path / "c")
    drivers.register(str(c.root))
    a.write("Ideas/Files.md", a.text(record_path(X)))
    a.remove(record_path(X))
    b.remove(record_path(X))
    c.add_line(record_path(X), "measured on two machines")
    b.push()
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
    text = a.text(record_path(X)).replace("tags:", f"{topic}tags:")
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
    old = a.text(record_path(X))
    a.add_line(record_path(X), "A second line.")
    a.commit()
    a.write("Ideas/moved.md", a.text(record_path(X)))
    a.remove(record_path(X))
    a.commit()
    a.write(record_path(X), f"{old}A line of the new file.\n")
    a.commit()
    a.fix()
    assert not (a.root / record_path(X)).exists()
    for line in ("A second line.", "A line of the new file."):
        assert line in a.texts()[X]


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
        a.text(record_path(X)).replace("[storage]", "[storage, copy]"),
    )
    a.fix()
    assert "[storage, copy]" in a.text(record_path(X))
    assert not (a.root / f"records/decision/{X} 1.md").exists()


def test_notes_of_a_persons_own_with_one_id_are_left_alone(two) -> None:
    a, _ = two
    for name in ("One.md", "Two.md"):
        a.write(name, "---\nid: 5\n---\n\nMine.\n")
    a.fix()
    assert a.text("One.md") == a.text("Two.md") == "---\nid: 5\n---\n\nMine.\n"
    problems = doctor(a.vault, a.caller()).problems
    assert any("give one of the two another id" in one.hint for one in problems)


@pytest.mark.parametrize("how", ["checkout -m", "an older stash"])
def test_a_forgotten_stash_is_no_side_of_what_git_does_not_name(two, how) -> None:
    b = two[1]
    path, lines = record_path(X), b.text(record_path(X))
    b.write(path, lines.replace("Use files.", "Use files, says an OLD stash."))
    if how == "an older stash":
        b.write(path, lines.replace("One file", "MY WORK, one file"))
    b.git("stash", "-q")
    b.git("switch", "-qc", "side")
    b.write(path, lines.replace("One file", "SIDE, one file"))
    b.commit()
    b.git("switch", "-q", "main")
    if how == "an older stash":
        b.write(path, lines.replace("Use files.", "Use files, says an OLD stash."))
        b.git("stash", "-q")
        b.git("merge", "-q", "side")
        b.git("stash", "pop", "-q", "stash@{1}", code=None)
    else:
        b.write(path, lines.replace("One file", "MY WORK, one file"))
        b.git("checkout", "-q", "-m", "side", code=None)
    sync(b.vault, b.caller())
    text = b.texts()[X]
    assert ("MY WORK" in text, "SIDE" in text, "OLD" in text) == (True, True, False)


def test_an_event_that_a_person_took_out_of_a_commit_of_their_own_stays_out(two) -> None:
    a, b = two
    b.git("config", "pull.rebase", "true")
    b.event(E2, "The customer is called Smith.")
    b.add_line("mine.md", "- bread")
    b.commit()
    b.git("rm", "-q", event_path(E2))
    b.git("commit", "-q", "--amend", "--no-edit")
    a.add_line(record_path(X), "measured")
    a.push()
    b.sync()
    assert E2 not in b.texts()
    assert b.git("log", "--oneline", "origin/main", "--", event_path(E2)) == ""


def test_a_sparse_checkout_makes_no_pages_of_what_it_has_not(two) -> None:
    a, b = two
    b.git("status")  # git takes away only what it knows to be unchanged
    b.git("sparse-checkout", "set", "--no-cone", "/*", "!/records/")
    pages = {path: path.read_text() for path in (b.root / "briefings").rglob("*.md")}
    b.add_line("mine.md", "- bread")
    b.sync()
    assert pages == {path: path.read_text() for path in (b.root / "briefings").rglob("*.md")}
    assert any("sparse checkout leaves out 1 note" in one for one in b.problems())
    b.git("sparse-checkout", "disable")
    meet(a, b)


@pytest.mark.parametrize("words", [["--index-version", "4"], ["--split-index"]])
def test_any_form_of_the_index_tells_what_is_unmerged(two, words) -> None:
    b = two[1]
    b.git("update-index", *words)
    b.git("switch", "-qc", "side")
    b.write("mine.md", "theirs\n")
    b.commit()
    b.git("switch", "-q", "main")
    b.write("mine.md", "ours\n")
    b.commit()
    b.git("merge", "-q", "side", code=1)
    assert "mine.md: git could not merge it" in b.problems()
