"""What a person wrote beside Cortex's folders goes along with sync, whole or not at all, and code never does."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.operations.care.init import init
from cortex.operations.share import people_notes
from cortex.vault.git import git_locks
from tests.conftest import run_git
from tests.operations.test_sync import LINES, Clone, pair


@pytest.fixture
def a(tmp_path: Path, copied: Callable[..., None]) -> Clone:
    """A clone of a vault with a record, an event and a note of a person's."""
    copied(pair, tmp_path, "remote.git", "a")
    return Clone(str(tmp_path / "a"))


@pytest.fixture
def b(a: Clone, tmp_path: Path, copied: Callable[..., None]) -> Clone:
    """Another clone of the same remote."""
    copied(pair, tmp_path, "b")
    return Clone(str(tmp_path / "b"))


def age(*clones: Clone, seconds: float = 60) -> None:
    """Have every file and folder look as if nobody had touched it for a while."""
    then = time.time() - seconds
    for each in clones:
        for parent, folders, names in os.walk(each.root):
            folders[:] = [name for name in folders if name != ".git"]
            for name in (*names, "."):
                os.utime(os.path.join(parent, name), (then, then), follow_symlinks=False)


def sync_at_once(one: Clone, **options: bool):  # type: ignore[no-untyped-def]
    age(one)
    return one.synced(**options)


def files_of(one: Clone) -> dict[str, bytes]:
    """Every file of the vault that is not git's."""
    root = Path(one.root)
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


ODD = ["With space.md", "Füße/Übung.md", "two\nlines.md", "-dash.md", ":(top)x.md", "q'uo\"te.md"]


def test_two_clones_share_what_people_wrote_by_sync_alone(a, b):
    for name in ODD:
        a.write(name, f"{name}\n{LINES}\n")
    a.write("crlf.md", b"one\r\ntwo\r\n")
    a.write("empty.md", b"")
    a.write("template.md", "---\ncreated: {{date}}\ntags: [\n---\n")
    a.write("img/photo.PNG", b"\x89PNG\0\1\2")
    a.write("Case.md", "case\n" + LINES)
    done = sync_at_once(a)
    assert done.left == ()
    assert "10 notes, 1 attachment" in done.commits
    b.synced()
    assert files_of(a) == files_of(b)
    b.edit("With space.md", "Paragraph 2.", "Paragraph two.")
    b.remove("Füße/Übung.md")
    b.move("two\nlines.md", "moved/two lines.md")
    a.move("Case.md", "case.md")
    a.edit("With space.md", "Paragraph 6.", "Paragraph six.")
    for each in (a, b, a):
        sync_at_once(each)
    assert files_of(a) == files_of(b)
    text = a.read("With space.md")
    assert "Paragraph two." in text
    assert "Paragraph six." in text
    assert not a.has("Füße/Übung.md")
    assert a.has("moved/two lines.md")
    assert {"case.md", "Case.md"} & a.notes() == {"case.md"}
    assert a.read("crlf.md") == "one\ntwo\n"
    assert Path(a.root, "crlf.md").read_bytes() == b"one\r\ntwo\r\n"
    assert a.git("status", "--porcelain") == b.git("status", "--porcelain") == ""
    a.git("fsck", "--strict")


@pytest.fixture
def without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


def test_init_makes_a_repository_and_commits_nothing(tmp_path, cortex):
    run_git(tmp_path, "config", "--global", "init.defaultBranch", "trunk")
    made = cortex("init", "new", cwd=tmp_path)
    assert "rm -r .git takes that back" in made.stdout
    new = Clone(str(tmp_path / "new"))
    assert new.git("symbolic-ref", "HEAD") == "refs/heads/trunk\n"
    assert run_git(new.root, "log", code=128) == ""
    assert not [line for line in new.git("status", "--porcelain").splitlines() if line[0] != "?"]
    age(new)
    done = cortex("sync", cwd=new.root)
    assert (done.returncode, "git remote add origin URL" in done.stdout) == (0, True)
    assert new.git("status", "--porcelain") == ""
    assert "nothing to do" not in cortex("sync", cwd=new.root).stdout
    inside = cortex("init", "new/inner", cwd=tmp_path)
    assert "git" not in inside.stdout.replace(".gitattributes", "")
    assert not (tmp_path / "new/inner/.git").exists()
    assert "made it" not in cortex("init", "other", "--no-git", cwd=tmp_path).stdout
    assert not (tmp_path / "other/.git").exists()
    done = cortex("sync", cwd=tmp_path / "other")
    assert f"git init {tmp_path / 'other'}" in done.stderr


@pytest.mark.usefixtures("without_git")
def test_init_goes_on_without_git(tmp_path, cortex):
    made = cortex("init", "new", cwd=tmp_path)
    assert made.returncode == 0
    assert "in no git repository: git is not installed; git init makes one later" in made.stdout
    assert (tmp_path / "new/.cortex-project").read_text() == "new\n"


@pytest.mark.parametrize("adopted", [True, False])
def test_peoples_notes_of_an_adopted_folder_are_merged_as_git_merges_them(tmp_path, adopted):
    (tmp_path / "v").mkdir()
    if adopted:
        (tmp_path / "v/mine.md").write_text("Mine.\n")
    made = Clone(init(Clone(str(tmp_path)).caller(), str(tmp_path / "v")).root)
    folder = "cortex/" if adopted else ""
    said = made.git("check-attr", "merge", "mine.md", f"{folder}records/decision/x.md")
    assert ("mine.md: merge: unspecified" in said) == adopted
    assert "x.md: merge: cortex-record" in said


def test_broken_settings_are_not_committed_and_stop_no_sync_also_where_a_merge_brings_some(
    a, b, cortex
):
    settings = Path(a.root, "cortex.toml")
    whole = settings.read_text()
    for clone in (a, b):
        sync_at_once(clone)
    settings.write_text(whole + "[sync\n")
    a.write("new.md", "x\n")
    done = cortex("sync", cwd=a.root)
    assert done.returncode == 0
    assert "cortex.toml: is not committed" in done.stdout
    assert a.git("show", "--name-only", "--format=").split() == ["new.md"]
    a.git("commit", "-qam", "broken")
    a.git("push", "-q")
    b.write("other.md", "x\n")
    for _ in range(2):
        age(b)
        done = b.sync()
        assert done.trouble == ""
        assert [one.where for one in done.problems] == ["cortex.toml"]
    assert b.git("rev-parse", "HEAD") == b.git("rev-parse", "origin/HEAD")
    settings.write_text(whole)
    sync_at_once(a)
    assert sync_at_once(b).problems == ()


def test_what_is_not_taken_stays_as_it_is_and_is_named_with_the_reason(a):
    Path(a.root, ".gitignore").write_text("private/\n")
    a.write(".obsidian/app.json", "{}")
    a.write(".trash/old.md", "old\n")
    a.write("private/secret.md", "secret\n")
    a.write("script.py", "print()\n")
    a.write("draft.md~", "draft\n")
    a.write("~$plan.docx", "lock")
    a.write("#half.md", "half\n")
    a.write("mixed/notes.md", "taken\n")
    a.write("mixed/data.json", "{}")
    os.symlink("mine.md", Path(a.root, "link.md"))
    with Path(a.root, "film.mp4").open("wb") as file:
        file.truncate(50_000_001)
    a.write("torn.md", "<<<<<<< a\none\n=======\ntwo\n>>>>>>> b\n")
    run_git(a.root, "init", "-q", "nested")
    a.write("nested/inside.md", "inside\n")
    before = files_of(a)
    done = sync_at_once(a)
    assert done.commits[-1:] == ("notes (note)",)
    assert a.git("show", "--name-only", "--format=").split() == [".gitignore", "mixed/notes.md"]
    assert files_of(a) == before
    because = {path: reason for reason, paths in done.left_because.items() for path in paths}
    assert set(because) == set(done.left)
    for path, word in {
        ".obsidian/": "hidden",
        ".trash/": "hidden",
        "script.py": "neither a note",
        "draft.md~": "neither a note",
        "~$plan.docx": "neither a note",
        "#half.md": "neither a note",
        "mixed/data.json": "neither a note",
        "link.md": "a link",
        "film.mp4": "larger than 50 MB",
        "torn.md": "conflict markers",
        "nested/": "a repository of its own",
    }.items():
        assert word in because[path], path
    assert "private/" not in str(done.left)


def test_what_is_staged_stays_staged_byte_for_byte(a, b):
    a.write("theirs.md", "From a.\n")
    sync_at_once(a)
    b.write("staged.md", "Staged and new.\n")
    b.write("mine.md", "Staged text.\n")
    b.write("gone.md", "x\n")
    b.git("add", "gone.md")
    b.git("commit", "-qm", "gone")
    b.git("add", "staged.md", "mine.md")
    b.git("rm", "-q", "--cached", "gone.md")
    b.write("mine.md", "Changed again after that.\n")
    b.write("free.md", "Taken.\n")
    before = b.git("diff", "--cached", "--raw"), files_of(b)
    done = sync_at_once(b)
    assert done.how == "merge"
    assert (b.git("diff", "--cached", "--raw"), files_of(b)) == (
        before[0],
        {**before[1], "theirs.md": b"From a.\n"},
    )
    assert done.left_because == {
        "staged by you; git commit takes it": ("gone.md", "mine.md", "staged.md")
    }
    assert b.git("log", "-1", "--format=", "--name-only", "--diff-filter=A", "--", "free.md")
    assert "Staged" not in b.git("log", "-p", "--format=")


def test_only_records_and_the_setting_leave_them(a):
    a.write("new.md", "New.\n")
    assert sync_at_once(a, only_records=True).left == ("new.md",)
    settings = Path(a.root, "cortex.toml")
    settings.write_text(settings.read_text() + "\n[sync]\nnotes = false\n")
    done = sync_at_once(a)
    assert done.left_because == {"yours to commit: [sync] notes = false": ("new.md",)}
    settings.write_text(settings.read_text().replace("false", "true"))
    a.write("package.json", "{}")
    assert "new (note)" in sync_at_once(a).commits


@pytest.mark.parametrize("kind", ["below", "manifest", "sources"])
def test_in_a_repository_of_code_nothing_of_others_is_ever_committed(tmp_path, kind):
    top = tmp_path / "code"
    run_git(tmp_path, "init", "-q", "code")
    (top / "src").mkdir()
    for number in range(6):
        (top / f"src/m{number}.py").write_text("x = 1\n")
    (top / "README.md").write_text("# Code\n")
    if kind == "manifest":
        (top / "pyproject.toml").write_text("[project]\n")
        run_git(top, "add", "README.md", "pyproject.toml")
    else:
        run_git(top, "add", ".")
    run_git(top, "commit", "-qm", "code")
    start = run_git(top, "rev-parse", "HEAD").strip()
    root = top / "notes" if kind == "below" else top
    made = Clone(init(Clone(str(tmp_path)).caller(), str(root)).root)
    made.record("note-aaaaaa")
    made.write("mine.md", "Mine.\n")
    (top / "README.md").write_text("# Changed\n")
    (top / "other.py").write_text("y = 2\n")
    age(made)
    done = made.sync()
    assert (done.push, done.trouble) == ("no remote", "")
    assert "mine.md" in done.left
    names = set(run_git(top, "log", f"{start}..", "--format=", "--name-only").split())
    folder = "notes/" if kind == "below" else ""
    ours = (
        "cortex/",
        "records/",
        "briefings/",
        "views/",
        "cortex.toml",
        ".gitattributes",
        ".cortex-project",
    )
    assert names
    assert all(name.removeprefix(folder).startswith(ours) for name in names), names
    assert " M README.md" in run_git(top, "status", "--porcelain")


def test_plugins_of_obsidian_are_no_code(a):
    for number in range(9):
        a.write(f".obsidian/plugins/p{number}/main.js", "x")
    a.git("add", ".obsidian")
    a.git("commit", "-qm", "plugins")
    a.write("new.md", "New.\n")
    assert "new (note)" in sync_at_once(a).commits


def test_a_fifth_of_peoples_notes_does_not_go_unasked_on_either_side(a, b):
    for number in range(20):
        a.write(f"own/{number}.md", f"Note {number}.\n{LINES}\n")
    for number in range(40):  # many records do not make it right
        a.record(f"rec{number}-aaaaaa")
    sync_at_once(a)
    b.synced()
    for number in range(8):
        a.move(f"own/{number}.md", f"moved/renamed {number}.md")
    sync_at_once(a)
    b.synced()
    for number in range(8):
        a.remove(f"moved/renamed {number}.md")
    age(a)
    done = a.sync()
    assert "8 of 21 notes are gone" in done.trouble
    assert "git restore" in done.hint
    assert sync_at_once(a, yes=True).push == "pushed"
    stopped = b.sync()
    assert "would remove 8 of 21 notes" in stopped.trouble
    assert b.has("moved/renamed 3.md")
    b.synced(yes=True)
    assert files_of(a) == files_of(b)


def test_a_file_that_changes_again_is_left_for_the_next_sync_and_a_clock_ahead_does_no_harm(
    a, monkeypatch
):
    a.write("busy.md", "1\n")
    a.write("ahead.md", "from the future\n")
    a.write("old.md", "five seconds ago\n")
    now = time.time()
    os.utime(Path(a.root, "busy.md"), (now, now))
    os.utime(Path(a.root, "ahead.md"), (now + 9000, now + 9000))
    os.utime(Path(a.root, "old.md"), (now - 5, now - 5))
    waited = []

    def write_meanwhile(seconds: float) -> None:
        if seconds == people_notes._WAIT_SECONDS:
            waited.append(seconds)
            a.write("busy.md", "12\n")
            os.utime(Path(a.root, "busy.md"), (now, now))

    monkeypatch.setattr(time, "sleep", write_meanwhile)
    done = a.synced()
    monkeypatch.undo()
    assert waited == [1.0]
    assert done.left_because == {people_notes.BUSY: ("busy.md",)}
    assert "2 notes" in done.commits
    assert "busy (note)" in sync_at_once(a).commits


def test_a_new_name_that_is_still_written_keeps_the_old_one(a, monkeypatch):
    a.move("mine.md", "renamed.md")
    a.edit("renamed.md", "Paragraph 1.", "Paragraph one.")
    renamed = Path(a.root, "renamed.md")
    now = time.time()

    def write_meanwhile(_: float) -> None:
        a.write("renamed.md", a.read("renamed.md") + "x")
        os.utime(renamed, (now, now))

    os.utime(renamed, (now, now))
    monkeypatch.setattr(time, "sleep", write_meanwhile)
    done = a.synced()
    monkeypatch.undo()
    assert not [message for message in done.commits if "note" in message]
    assert "mine.md" in a.notes()
    sync_at_once(a)
    assert {"mine.md", "renamed.md"} & a.notes() == {"renamed.md"}


def test_what_a_killed_commit_left_in_the_index_is_put_right(a):
    """Killed between the commit and the index: the index still says what was there before."""
    a.write("new.md", "New.\n")
    sync_at_once(a)
    a.git("rm", "-q", "--cached", "new.md")
    folder = Path(a.root, ".git")
    assert a.git("status", "--porcelain") == "D  new.md\n?? new.md\n"
    a.git("read-tree", f"--index-output={folder}/cortex-index.abc", "HEAD")
    os.utime(folder / "cortex-index.abc", (now := time.time(), now))
    assert sync_at_once(a).left == ()
    assert a.git("status", "--porcelain") == ""
    then = now - 1000
    os.utime(folder / "cortex-index.abc", (then, then))
    sync_at_once(a)
    assert not list(folder.glob("cortex-index*"))


def test_a_hook_of_theirs_sees_the_commit_and_may_decline(a):
    hook = Path(a.root, ".git/hooks/pre-commit")
    hook.write_text("#!/bin/sh\ngit diff --cached --name-only | grep -q draft && exit 1\nexit 0\n")
    hook.chmod(0o755)
    a.write("draft.md", "Draft.\n")
    age(a)
    done = a.sync()
    assert "a hook of this repository" in done.trouble
    assert a.git("status", "--porcelain") == "?? draft.md\n"
    a.move("draft.md", "done.md")
    assert "done (note)" in sync_at_once(a).commits


WRITER = """
import os, sys, time
root, count, pause = sys.argv[1], 0, float(sys.argv[2])
while not os.path.exists(os.path.join(root, ".git", "stop")):
    count += 1
    for name, atomic in (("in place.md", False), ("renamed over.md", True), ("both.md", False)):
        path = os.path.join(root, name)
        lines = "".join(f"line {n} of {name}\\n" for n in range(count))
        text = f"begin {count}\\n" + lines + f"end {count}\\n"
        if atomic:
            with open(path + ".tmp", "w") as file:
                file.write(text)
            os.replace(path + ".tmp", path)
        else:
            with open(path, "w") as file:
                file.write(text[: len(text) // 2])
                file.flush()
                file.write(text[len(text) // 2 :])
    time.sleep(pause)
print(count)
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("pause", [0.0, 0.02, 1.3])
def test_a_writer_that_never_rests_loses_nothing_and_nothing_torn_is_committed(
    a, b, pause, monkeypatch
):
    b.write("quiet.md", "From b.\n")
    sync_at_once(b)
    # Files may have another clock than processes (faketime), and a lock of now would be years old.
    written_now = Path(a.root, ".git", "written now")
    written_now.touch()
    clock = git_locks.Clock(written_now.stat().st_mtime, 0.0)
    monkeypatch.setattr(git_locks, "read_clock", lambda: clock)
    line = [sys.executable, "-c", WRITER, a.root, str(pause)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as writer:
        try:
            for number in range(3):
                a.write(f"round {number}.md", f"{number}\n")
                os.utime(Path(a.root, f"round {number}.md"), (1, 1))
                b.write(f"b {number}.md", f"{number}\n")
                sync_at_once(b)
                done = a.sync()
                assert not done.trouble
                b.synced()
        finally:
            Path(a.root, ".git", "stop").touch()
            count = int(writer.communicate(timeout=30)[0])
    sync_at_once(a)
    b.synced()
    for name in ("in place.md", "renamed over.md", "both.md"):
        assert a.read(name) == b.read(name)
        assert a.read(name).endswith(f"end {count}\n")
        for blob in a.git("log", "--format=%H", "--", name).split():
            text = a.git("show", f"{blob}:./{name}")
            number = int(text.split("\n", 1)[0].split()[1])
            assert text.endswith(f"end {number}\n")
            assert text.count("line ") == number
    assert {f"round {n}.md" for n in range(3)} | {"quiet.md"} <= b.notes()
    assert files_of(a) == files_of(b)


def test_a_file_that_git_ignores_here_is_not_overwritten_by_one_that_comes(a, b):
    a.write(".gitignore", "private/\n")
    assert sync_at_once(a).left == ()  # `.gitignore` goes along
    a.write("private/diary.md", "of Ana\n")
    b.write("private/diary.md", "of Ben\n")
    sync_at_once(b)  # Ben's clone ignored nothing yet
    done = a.sync()
    assert "has files that git ignores here, with another text: private/diary.md" in done.trouble
    assert a.read("private/diary.md") == "of Ana\n"
    Path(a.root, "private/diary.md").unlink()
    a.synced()
    assert a.read("private/diary.md") == "of Ben\n"


@pytest.mark.parametrize("name", ["app/package.json", ".github/workflows/ci.yml", "mkdocs.yml"])
def test_a_vault_at_the_root_of_code_pushes_nothing_by_itself(a, name):
    a.write(name, "{}\n")
    a.write("README.md", "of the code\n")
    run_git(a.root, "add", name)
    run_git(a.root, "commit", "-qm", "code")
    done = sync_at_once(a)
    assert done.push == "off"
    assert "README.md" in done.left
    assert "README.md" not in run_git(a.root, "ls-files").split()
