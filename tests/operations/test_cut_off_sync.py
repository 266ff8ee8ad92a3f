"""What a power cut leaves of a sync, made by hand: notes that git had written and the disk had not, and git's own notes of a merge.
The real cuts are in `tests/reliability/test_power_cut_sync.py`."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.share.resolve_conflicts import recover_interrupted_merge
from cortex.vault.git import git_locks, merging
from cortex.vault.git.merging import MergeState
from tests.conftest import make_lock, run_git
from tests.operations.test_sync import SOAK, Clone

pytestmark = pytest.mark.sampled(2)

TEXT = "".join(
    f"Line {number} of a text that fills more than one sector of a disk.\n" for number in range(40)
)
THEIRS = [f"records/decision/theirs-{name}-aaaaaa.md" for name in "abc"]
BOTH = "records/decision/both-aaaaaa.md"


_MADE: dict[str, tuple[Path, str, str]] = {}  # by how the clone merges: what `make` copies


@pytest.fixture
def make(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Clone, str, str]]:
    """A clone whose last sync took what another clone had pushed, by merge, rebase or fast-forward; and the two commits that were brought
    together."""

    def copy(how: str) -> tuple[Clone, str, str]:
        if how not in _MADE:
            folder = tmp_path_factory.mktemp("made")
            _MADE[how] = (folder, *_made(folder, how))
        folder, ours, theirs = _MADE[how]
        for name in ("remote.git", "b"):
            shutil.copytree(folder / name, tmp_path / name, symlinks=True)
        b = Clone(str(tmp_path / "b"))
        b.git("remote", "set-url", "origin", str(tmp_path / "remote.git"))
        b.git("status", "--short")
        return b, ours, theirs

    return copy


@pytest.fixture(params=["merge", "rebase", "fast-forward"])
def cut(request: pytest.FixtureRequest, make) -> tuple[Clone, str, str]:
    return make(request.param)


def _made(folder: Path, how: str) -> tuple[str, str]:
    run_git(folder, "init", "-q", "--bare", "remote.git")
    a = Clone(init(Clone(str(folder)).caller(), str(folder / "a")).root)
    a.git("init", "-q")
    a.git("remote", "add", "origin", str(folder / "remote.git"))
    a.record("both-aaaaaa", TEXT)
    a.record("old-aaaaaa", TEXT)
    a.write("mine.md", TEXT)
    a.git("add", "mine.md")
    a.git("commit", "-qm", "mine")
    a.synced()
    run_git(folder, "clone", "-q", "remote.git", "b")
    b = Clone(str(folder / "b"))
    for path in THEIRS:
        a.record(Path(path).stem, TEXT)
    a.edit(BOTH, "Line 1 of", "Line one of")
    a.remove("records/decision/old-aaaaaa.md")
    a.edit("mine.md", "Line 3 of", "Line three of")
    a.git("commit", "-qm", "mine", "--", "mine.md")
    a.synced()
    if how != "fast-forward":
        b.record("ours-aaaaaa", TEXT)
        b.edit(BOTH, "Line 38 of", "Line 38 by b of")
        b.git("config", "pull.rebase", "true" if how == "rebase" else "false")
    ours = _committed(b)
    b.synced()
    return ours, a.head()


def _committed(b: Clone) -> str:
    """Commit without a merge; the commit that is checked out then."""
    remote = b.git("config", "remote.origin.url").strip()
    b.git("remote", "remove", "origin")
    assert b.sync().push == "no remote"
    b.git("remote", "add", "origin", remote)
    b.git("config", "branch.main.remote", "origin")
    b.git("config", "branch.main.merge", "refs/heads/main")
    return b.head()


def begin(b: Clone, ours: str, theirs: str) -> None:
    """What a sync writes down before git begins."""
    merging.save_state(b.root, MergeState("merge", theirs, {}, ours, "main"))


def back(b: Clone, ours: str, theirs: str) -> None:
    """Before the merge, here and at the remote."""
    b.git("reset", "--hard", "-q", ours)
    run_git(b.git("config", "remote.origin.url").strip(), "update-ref", "refs/heads/main", theirs)


def text_of(b: Clone, path: str) -> str:
    return b.git("show", f"HEAD:{path}")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "cut at a sector": lambda path: path.write_bytes(path.read_bytes()[:1024]),
    "zeros": lambda path: path.write_bytes(bytes(len(path.read_bytes()))),
    "zeros at the end": lambda path: path.write_bytes(
        path.read_bytes()[:700] + bytes(len(path.read_bytes()) - 700)
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_a_cut_took_of_the_work_tree_comes_back_and_is_not_committed_as_deleted(damage, cut):
    b, ours, theirs = cut
    before = b.tree()
    begin(b, ours, theirs)
    for path in (*THEIRS, BOTH, "mine.md"):
        DAMAGES[damage](Path(b.root, path))
    (problem,) = [
        one for one in doctor(b.vault, b.caller()).problems if one.where == ".git/cortex-sync"
    ]
    assert problem.hint == "cortex sync"
    done = b.sync()
    assert (done.trouble, done.problems) == ("", ())
    assert {one.path for one in done.settled} == {*THEIRS, BOTH, "mine.md"}
    assert (b.tree(), b.git("status", "--porcelain")) == (before, "")
    assert all(b.read(path) == text_of(b, path) for path in (*THEIRS, BOTH, "mine.md"))
    assert not merging.is_unfinished(b.root)


def test_a_folder_that_is_missing_whole_comes_back(cut):
    b, ours, theirs = cut
    begin(b, ours, theirs)
    before = b.tree()
    shutil.rmtree(Path(b.root, "records"))
    assert b.sync().trouble == ""
    assert (b.tree(), b.git("status", "--porcelain")) == (before, "")


def test_a_note_that_git_had_removed_and_that_is_back_is_not_committed_anew(cut):
    b, ours, theirs = cut
    before = b.tree()
    begin(b, ours, theirs)
    b.write(
        "records/decision/old-aaaaaa.md", text_of_commit(b, ours, "records/decision/old-aaaaaa.md")
    )
    assert b.sync().trouble == ""
    assert (b.tree(), b.has("records/decision/old-aaaaaa.md")) == (before, False)


def text_of_commit(b: Clone, commit: str, path: str) -> str:
    return b.git("show", f"{commit}:{path}")


def test_before_git_had_written_its_index_the_merge_begins_anew(cut):
    """The work tree has some of the other side's notes, whole and in part; index and branch are as they were."""
    b, ours, theirs = cut
    whole = b.tree()
    back(b, ours, theirs)
    b.write(THEIRS[0], text_of_commit(b, theirs, THEIRS[0]))
    b.write(THEIRS[1], text_of_commit(b, theirs, THEIRS[1])[:512])
    b.write(THEIRS[2], "")
    b.write("mine.md", "")
    begin(b, ours, theirs)
    done = b.sync()
    assert (done.trouble, done.problems) == ("", ())
    assert (b.tree(), b.git("status", "--porcelain")) == (whole, "")


def test_what_a_person_wrote_or_removed_since_stays(cut):
    b, ours, theirs = cut
    begin(b, ours, theirs)
    b.edit(THEIRS[0], "Line 7 of", "Line seven, as I see it, of")
    # The last lines are gone, and that is no sector's end.
    Path(b.root, THEIRS[1]).write_text(b.read(THEIRS[1])[:-100])
    b.write("draft.md", "mine\n")
    b.remove("cortex.toml")
    b.write("cortex.toml", "format = 1\n\n[sync]\npush = false\n")
    texts = {path: b.read(path) for path in (THEIRS[0], THEIRS[1], "draft.md", "cortex.toml")}
    done = b.sync()
    assert (done.trouble, done.settled) == ("", ())
    assert {path: b.read(path) for path in texts} == texts


def test_a_link_in_the_place_of_a_folder_is_not_written_through(cut, tmp_path):
    b, ours, theirs = cut
    begin(b, ours, theirs)
    shutil.move(Path(b.root, "records/decision"), tmp_path / "elsewhere")
    for path in (tmp_path / "elsewhere").iterdir():
        path.write_bytes(b"")
    os.symlink(tmp_path / "elsewhere", Path(b.root, "records/decision"))
    b.sync()
    assert {path.read_bytes() for path in (tmp_path / "elsewhere").iterdir()} == {b""}


def test_doctor_fix_and_the_watcher_bring_it_back_too(cut):
    b, ours, theirs = cut
    for recovered in (
        lambda: doctor(b.vault, b.caller(), fix=True).fixed,
        lambda: recover_interrupted_merge(b.root),
    ):
        begin(b, ours, theirs)
        b.remove(THEIRS[0])
        b.write(THEIRS[1], "")
        assert (
            len([one for one in recovered() if THEIRS[0] in str(one) or THEIRS[1] in str(one)]) == 2
        )
        assert b.git("status", "--porcelain") == ""
        assert doctor(b.vault, b.caller()).problems == ()


@pytest.mark.parametrize("damage", [b"", bytes(41)], ids=["empty", "zeros"])
@pytest.mark.parametrize(
    "names",
    [["MERGE_HEAD"], ["MERGE_MSG"], ["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE"]],
    ids="+".join,
)
def test_a_merge_of_ours_whose_notes_a_cut_emptied_begins_anew(names, damage, make):
    b, ours, theirs = make("merge")
    whole = b.tree()
    back(b, ours, theirs)
    begin(b, ours, theirs)
    b.git("merge", "--no-commit", "--no-ff", "-q", theirs)
    for name in names:
        Path(b.root, ".git", name).write_bytes(damage)
    done = b.sync()
    assert (done.trouble, done.problems) == ("", ())
    assert (b.tree(), b.git("status", "--porcelain")) == (whole, "")
    assert not Path(b.root, ".git/MERGE_HEAD").exists()


@pytest.mark.parametrize(
    ("names", "damage"),
    [
        (names, damage)
        for number, names in enumerate(
            (
                "onto",
                "head-name",
                "orig-head",
                "author-script message",
                "onto head-name orig-head git-rebase-todo done message",
            )
        )
        for damage in (b"", bytes(41))
        if SOAK or bool(damage) == bool(number % 2)
    ],
)
def test_a_rebase_of_ours_whose_notes_a_cut_emptied_begins_anew(names, damage, make):
    b, ours, theirs = make("rebase")
    back(b, ours, theirs)
    b.edit(BOTH, "Line 2 of", "Line 2, said otherwise, of")  # beside the line that they changed
    b.git("commit", "-qam", "more")
    merging.save_state(b.root, MergeState("rebase", theirs, {}, b.head(), "main"))
    b.git("-c", "merge.cortex-record.driver=false", "rebase", "-q", theirs, code=None)
    for name in names.split():
        Path(b.root, ".git/rebase-merge", name).write_bytes(damage)
    done = b.sync()
    assert (done.trouble, done.problems) == ("", ())
    for (
        wait
    ) in done.waiting:  # lines that touch are a person's to choose, and here both sides are right
        lines = b.read(wait.where).splitlines(keepends=True)
        b.write(
            wait.where,
            "".join(
                line
                for line in lines
                if not line.startswith(("<<<<<<<", "=======", ">>>>>>>", "|||||||"))
            ),
        )
    assert b.sync().trouble == ""
    assert (b.git("branch", "--show-current"), b.git("status", "--porcelain")) == ("main\n", "")
    assert all(b.has(path) for path in (*THEIRS, "records/decision/ours-aaaaaa.md"))
    text = b.read(BOTH)
    assert all(
        line in text for line in ("Line one of", "Line 2, said otherwise, of", "Line 38 by b of")
    )


def test_a_rebase_that_was_cut_off_in_the_middle_of_a_commit_does_not_lose_it(make):
    """Git has noted the commit as done and not begun to merge it: `git rebase --continue` would end without it."""
    b, ours, theirs = make("rebase")
    whole = b.tree()
    back(b, ours, theirs)
    merging.save_state(b.root, MergeState("rebase", theirs, {}, ours, "main"))
    b.git(
        "-c",
        "merge.cortex-record.driver=false",
        "-c",
        "merge.cortex-briefing.driver=false",
        "rebase",
        "-q",
        theirs,
        code=None,
    )
    assert Path(b.root, ".git/rebase-merge/git-rebase-todo").read_bytes() == b""
    b.git("reset", "--hard", "-q")
    for name in ("stopped-sha", "message", "patch"):
        Path(b.root, ".git/rebase-merge", name).unlink(missing_ok=True)
    b.git("update-ref", "-d", "REBASE_HEAD")
    done = b.sync()
    assert (done.trouble, done.waiting) == ("", ())
    assert b.has("records/decision/ours-aaaaaa.md")
    assert (b.tree(), b.git("status", "--porcelain")) == (whole, "")


def test_a_merge_that_git_only_noted_is_never_concluded(make):
    """Where git cannot lock the index it leaves MERGE_HEAD and merges nothing: to commit that would drop the other side."""
    b, ours, theirs = make("merge")
    whole = b.tree()
    back(b, ours, theirs)
    lock = Path(b.root, ".git/index.lock")
    make_lock(lock)
    b.git("merge", "--no-ff", "-q", "--no-edit", theirs, code=None)
    lock.unlink()
    assert b.git("diff-index", "--cached", "HEAD") == ""
    if not Path(b.root, ".git/MERGE_HEAD").exists():
        pytest.skip("not run: this git notes nothing when the index is locked")
    begin(b, ours, theirs)
    done = b.sync()
    assert done.trouble == ""
    assert b.tree() == whole
    assert b.git("merge-base", "--is-ancestor", theirs, "HEAD") == ""


def test_a_person_may_choose_our_side_everywhere(make):
    """Then nothing is staged, as if nothing had been merged."""
    b, ours, theirs = make("merge")
    back(b, ours, theirs)
    for path in b.git("diff", "--name-only", "--no-renames", f"{ours}...{theirs}").split():
        if path != BOTH:
            b.git("rm", "-rqf", path) if b.git("ls-tree", theirs, path) == "" else b.git(
                "checkout", "-q", theirs, "--", path
            )
    b.edit(BOTH, "Line 1 of", "Line 1 by b of")
    b.git("commit", "-qam", "the same, but for one line")
    mine = b.read(BOTH)
    (wait,) = b.sync().waiting
    b.write(wait.where, mine)
    b.git("add", wait.where)
    done = b.synced()
    assert (done.push, b.read(BOTH)) == ("pushed", mine)
    assert b.git("merge-base", "--is-ancestor", theirs, "HEAD") == ""


def test_an_index_that_another_git_holds_for_a_moment_costs_no_merge(cut):
    b, ours, theirs = cut
    whole = b.tree()
    back(b, ours, theirs)
    lock = Path(b.root, ".git/index.lock")
    make_lock(lock)
    # A Timer never ends under faketime.
    other = threading.Thread(target=lambda: (time.sleep(2.0), lock.unlink()))
    other.start()
    done = b.sync()
    other.join()
    assert (done.trouble, b.tree()) == ("", whole)


def test_an_index_that_stays_locked_leaves_no_merge_behind(cut, monkeypatch):
    b, ours, theirs = cut
    back(b, ours, theirs)
    monkeypatch.setattr(git_locks, "LOCK_WAIT_SECONDS", 0.3)
    make_lock(Path(b.root, ".git/index.lock"))
    assert f"rm {b.root}/.git/index.lock" in b.sync().hint
    assert not Path(b.root, ".git/MERGE_HEAD").exists()
    assert b.head() == ours


def test_doctor_fix_in_a_merge_of_ours_leaves_it_to_sync(make):
    b, ours, theirs = make("merge")
    whole = b.tree()
    back(b, ours, theirs)
    begin(b, ours, theirs)
    b.git("merge", "--no-commit", "--no-ff", "-q", theirs)
    doctor(b.vault, b.caller(), fix=True)
    assert b.sync().trouble == ""
    assert b.tree() == whole


def test_all_that_git_wrote_is_synced_before_the_merge_is_forgotten(cut, monkeypatch):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("not run: this system does not tell the name of an open file")
    b, ours, theirs = cut
    back(b, ours, theirs)
    synced: list[str] = []
    fsync, unlink = os.fsync, os.unlink
    forgotten: list[int] = []

    def record(fd: int) -> None:
        synced.append(os.path.relpath(os.readlink(f"/proc/self/fd/{fd}"), b.root))
        fsync(fd)

    def forget(path: str, **options: int) -> None:
        if str(path).endswith("cortex-sync"):
            forgotten.append(len(synced))
        unlink(path, **options)

    monkeypatch.setattr(os, "fsync", record)
    monkeypatch.setattr(os, "unlink", forget)
    b.synced()
    assert {*THEIRS, BOTH, "mine.md", "records/decision", "."} <= set(synced[: forgotten[-1]])
