"""What a power cut does to a repository, done by hand: mended by `doctor --fix`, or by the commands that it names; every note stays as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.problem import CortexError
from cortex.operations.care.init import init
from cortex.vault.git.git_locks import (  # itself, whatever a soak puts in its place
    Clock,
    read_clock,
)
from cortex.vault.repair import diagnose, fix
from tests.conftest import NOW, caller_at, commit_all

COMMITS = 4


def files_of(root: Path) -> dict[str, tuple[bytes, int]]:
    """The work tree: path -> bytes and modification time."""
    found = {}
    for path in root.rglob("*"):
        inside = path.relative_to(root)
        if path.is_file() and not inside.parts[0].startswith(".git.") and inside.parts[0] != ".git":
            found[str(inside)] = path.read_bytes(), path.stat().st_mtime_ns
    return found


def write(root: Path, number: int) -> None:
    """A new note, and another text in an older one."""
    folder = root / f"records/decision/{number % 2}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"note-{number}.md").write_text(f"---\nid: note-{number}\n---\ntext {number}\n")
    (root / "records/living.md").write_text(f"---\nid: living\n---\nas of {number}\n")


def build_repository(folder: Path) -> None:
    """A vault with a few commits."""
    root = Path(init(caller_at(NOW, str(folder)), str(folder / "vault")).root)
    for words in (["init", "-q"], ["config", "gc.auto", "0"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    for number in range(COMMITS):
        write(root, number)
        for words in (["add", "."], ["commit", "-qm", f"commit {number}"]):
            subprocess.run(["git", *words], cwd=root, check=True)


@pytest.fixture
def repository(tmp_path, copied) -> Path:
    """A vault of its own with a few commits."""
    copied(build_repository, tmp_path)
    return tmp_path / "vault"


def empty(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(b"")


def object_of(root: Path, revision: str, git: Callable[..., str]) -> Path:
    id_ = git(root, "rev-parse", revision).strip()
    return root / ".git/objects" / id_[:2] / id_[2:]


def _index_cut(root, git):
    path = root / ".git/index"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _index_zeros(root, git):
    path = root / ".git/index"
    path.write_bytes(bytes(path.stat().st_size))


def _every_newest_object(root, git):
    listed = git(root, "rev-list", "--objects", "HEAD", "--not", "HEAD~1").split("\n")
    for id_ in [line.split(" ")[0] for line in listed if line]:
        empty(root / ".git/objects" / id_[:2] / id_[2:])


def _packed_refs_gone(root, git):
    git(root, "pack-refs", "--all", "--prune")
    (root / ".git/packed-refs").unlink()


def _branch_and_log(root, git):
    empty(root / ".git/refs/heads/main")
    log = root / ".git/logs/refs/heads/main"
    lines = log.read_text().splitlines(keepends=True)
    for path in (log, root / ".git/logs/HEAD"):
        path.write_text("".join(lines[:-1]))


MENDED: dict[str, Callable] = {
    "the index is empty": lambda root, git: empty(root / ".git/index"),
    "the index is half": _index_cut,
    "the index is zeros": _index_zeros,
}
# name -> (the damage, how many commits behind the newest HEAD is without a remote; None: history begins anew)
NAMED: dict[str, tuple[Callable, int | None]] = {
    "HEAD is empty": (lambda root, git: empty(root / ".git/HEAD"), 0),
    "HEAD is zeros": (lambda root, git: (root / ".git/HEAD").write_bytes(bytes(21)), 0),
    "HEAD is gone": (lambda root, git: (root / ".git/HEAD").unlink(), 0),
    "the configuration is empty": (lambda root, git: empty(root / ".git/config"), 0),
    "the configuration is garbage": (lambda root, git: (root / ".git/config").write_bytes(b"[core\n\0\0"), 0),
    "the configuration and HEAD are empty": (lambda root, git: (empty(root / ".git/config"), empty(root / ".git/HEAD")), 0),
    "the branch is empty": (lambda root, git: empty(root / ".git/refs/heads/main"), 0),
    "the branch is gone": (lambda root, git: (root / ".git/refs/heads/main").unlink(), 0),
    "the branch is empty and its log short": (_branch_and_log, 1),
    "packed-refs is gone": (_packed_refs_gone, 0),
    "the newest commit is empty": (lambda root, git: empty(object_of(root, "HEAD", git)), 1),
    "the newest tree is empty": (lambda root, git: empty(object_of(root, "HEAD^{tree}", git)), 1),
    "the newest note is empty": (lambda root, git: empty(object_of(root, "HEAD:records/living.md", git)), 1),
    "all that is new is empty": (_every_newest_object, 1),
    "an older text is empty": (lambda root, git: empty(object_of(root, "HEAD~1:records/living.md", git)), 2),
    "the first commit is empty": (lambda root, git: empty(object_of(root, f"HEAD~{COMMITS - 1}", git)), None),
    "refs is gone": (lambda root, git: shutil.rmtree(root / ".git/refs"), 0),
    "objects is gone": (lambda root, git: shutil.rmtree(root / ".git/objects"), None),
}  # fmt: skip
GIVEN = [
    *(("none", case) for case in NAMED),
    *(("with all", case) for case in ("the branch is empty", "the newest commit is empty", "all that is new is empty", "an older text is empty",
                                      "the first commit is empty", "objects is gone")),
    ("behind", "the newest commit is empty"),
]  # fmt: skip


def given_remote(kind: str, root: Path, git: Callable[..., str]) -> None:
    if kind == "none":
        return
    remote = root.parent / "remote.git"
    git(root.parent, "init", "-q", "--bare", str(remote))
    git(root, "remote", "add", "origin", str(remote))
    git(
        root, "push", "-q", "-u", "origin", "HEAD~2:refs/heads/main" if kind == "behind" else "main"
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", MENDED)
def test_after_the_repair_git_works_and_every_note_is_as_it_was(case, repository, git):
    head = git(repository, "rev-parse", "HEAD").strip()
    MENDED[case](repository, git)
    before = files_of(repository)
    assert {one.hint for one in diagnose.find_problems(str(repository))} == {diagnose.FIX_COMMAND}
    assert fix.repair(str(repository))
    assert files_of(repository) == before
    check_works(repository, git)
    assert git(repository, "rev-parse", "HEAD").strip() == head
    assert diagnose.find_problems(str(repository)) == []
    assert fix.repair(str(repository)) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("remote", "case"), GIVEN)
def test_the_commands_that_are_named_make_git_work_and_touch_no_note(remote, case, repository, git):
    given_remote(remote, repository, git)
    ids = git(repository, "rev-list", "HEAD").split()
    harm, behind = NAMED[case]
    harm(repository, git)
    before = files_of(repository)
    assert diagnose.find_problems(str(repository)), "the damage is not seen"
    done = follow_hints(repository)
    assert files_of(repository) == before, done
    if remote == "with all":
        behind = 0
    check_works(repository, git, whole=behind == 0)
    if behind is not None:
        assert git(repository, "rev-parse", "HEAD").strip() == ids[behind], done
    assert fix.repair(str(repository)) == []


def follow_hints(root: Path) -> list[str]:
    """Run what doctor names, one command after another, until nothing is left; returns the commands."""
    done: list[str] = []
    while (problems := diagnose.find_problems(str(root))) and len(done) < 5:
        hint = problems[0].hint
        if hint == diagnose.FIX_COMMAND:
            fix.repair(str(root))
            done.append(hint)
            continue
        first, _, second = hint.partition("; if that is not enough: ")
        command = (second if first in done else first).partition("; without one: ")
        words = command[2] or command[0]
        subprocess.run(words, shell=True, cwd=root, capture_output=True, timeout=60, check=False)
        done.append(first if words == first else words)
    assert diagnose.find_problems(str(root)) == [], done
    return done


def check_works(root: Path, git: Callable[..., str], *, whole: bool = True) -> None:
    """Everything that a person does next, without a complaint of git; where a commit is lost for good, the reflog still
    names it, and `git fsck` says so."""
    for words in (*([("fsck",)] if whole else []), ("status", "--porcelain")):
        done = subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, "error" in done.stderr) == (0, False), done.stderr
    copy = root.parent / "copy"
    shutil.copytree(root, copy, symlinks=True)
    write(copy, 99)
    commit_all(copy, "the next")
    assert git(copy, "status", "--porcelain") == ""
    shutil.rmtree(copy)


def test_a_sound_repository_is_left_alone(repository, git):
    before = {
        str(path): path.read_bytes() for path in (repository / ".git").rglob("*") if path.is_file()
    }
    git(repository, "status")
    assert diagnose.find_problems(str(repository)) == []
    assert fix.repair(str(repository)) == []
    after = {
        str(path): path.read_bytes() for path in (repository / ".git").rglob("*") if path.is_file()
    }
    assert {path for path in before if before[path] != after.get(path)} <= {
        str(repository / ".git/index")
    }


def test_where_there_is_no_repository_or_no_commit_there_is_nothing_to_mend(vault, git):
    assert diagnose.find_problems(vault.root) == fix.repair(vault.root) == []
    git(vault.root, "init", "-q")
    assert diagnose.find_problems(vault.root) == fix.repair(vault.root) == []


def test_the_branch_that_was_checked_out_is_the_one_that_comes_back(repository, git):
    git(repository, "checkout", "-qb", "topic/one")
    write(repository, 50)
    commit_all(repository, "on the topic")
    empty(repository / ".git/HEAD")
    follow_hints(repository)
    assert git(repository, "log", "-1", "--format=%s").strip() == "on the topic"


def test_what_was_staged_is_in_the_work_tree(repository, git):
    write(repository, 60)
    git(repository, "add", ".")
    empty(repository / ".git/index")
    fix.repair(str(repository))
    assert git(repository, "status", "--porcelain").splitlines() == [
        " M records/living.md",
        "?? records/decision/0/note-60.md",
    ]


def test_an_object_that_nothing_needs_costs_no_history(repository, git):
    ids = git(repository, "rev-list", "HEAD")
    write(repository, 61)
    git(repository, "add", ".")
    empty(object_of(repository, ":records/living.md", git))
    git(repository, "read-tree", "HEAD")
    (command,) = follow_hints(repository)
    assert command == f"find {repository}/.git/objects -type f -empty -delete"
    assert git(repository, "rev-list", "HEAD") == ids


def test_a_branch_that_lost_its_commit_and_its_log_is_looked_for_with_fsck(repository, git):
    head = git(repository, "rev-parse", "HEAD").strip()
    empty(repository / ".git/refs/heads/main")
    shutil.rmtree(repository / ".git/logs")
    (problem,) = diagnose.find_problems(str(repository))
    assert problem.hint.startswith("git fsck --lost-found names commits for git update-ref")
    listed = subprocess.run(
        ["git", "fsck", "--lost-found"], cwd=repository, capture_output=True, text=True, check=False
    )
    assert head in listed.stdout


def test_a_head_that_is_a_link_is_sound(repository, git):
    """As git writes it with `core.preferSymlinkRefs`."""
    git(repository, "config", "core.preferSymlinkRefs", "true")
    git(repository, "checkout", "-qb", "topic")
    if not (repository / ".git/HEAD").is_symlink():
        pytest.skip("not run: this git writes no such link")
    assert diagnose.find_problems(str(repository)) == fix.repair(str(repository)) == []
    assert (repository / ".git/HEAD").is_symlink()


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_a_lock_in_the_way_of_a_repair_is_moved_only_when_a_crash_has_left_it(
    name, repository, git
):
    lock = repository / ".git" / name
    lock.write_text("")
    written = lock.stat().st_mtime
    empty(repository / ".git/index")
    alive = Clock(written + 60, written - 3_600)
    if name == "index.lock":
        with pytest.raises(CortexError, match="is in the way"):
            fix.repair(str(repository), alive)
        assert lock.exists()
    assert (
        f"moved {name}, a lock from before the machine was started, to .git/cortex-damaged"
        in fix.repair(str(repository), Clock(written + 60, written + 30))
    )
    assert not lock.exists()
    check_works(repository, git)


@pytest.mark.skipif(not os.path.exists("/proc/stat"), reason="not run: there is no /proc here")
def test_the_boot_time_is_now_less_the_uptime_by_the_clock_that_stamps_files(tmp_path):
    (tmp_path / "file").touch()
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    assert read_clock().booted == pytest.approx((tmp_path / "file").stat().st_mtime - uptime, abs=5)


def test_while_a_git_is_at_work_nothing_is_mended(repository):
    if not os.path.isdir("/proc/self"):
        pytest.skip("not run: there is no /proc here")
    running = subprocess.Popen(
        ["git", "cat-file", "--batch"],
        cwd=repository,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    empty(repository / ".git/index")
    with pytest.raises(CortexError, match=r"git \(process \d+\) is at work"):
        fix.repair(str(repository))
    running.communicate()
    assert fix.repair(str(repository))


def test_in_a_code_repository_only_the_index_is_mended(tmp_path, caller, git):
    from cortex.operations.care.init import init

    top = tmp_path / "code"
    root = Path(init(caller, str(top / "vault"), no_git=True).root)
    git(top, "init", "-q")
    (top / "main.c").write_text("int x;\n")
    commit_all(top, "one")
    head = git(top, "rev-parse", "HEAD").strip()
    empty(top / ".git/index")
    empty(top / ".git/refs/heads/main")
    assert fix.repair(str(root)) == []
    (index, branch) = diagnose.find_problems(str(root))
    assert (index.where, index.hint) == ("../.git/index", diagnose.FIX_COMMAND)
    assert branch.where == "../.git/refs/heads/main"
    assert f"git update-ref refs/heads/main {head} && git reset" in branch.hint
    (top / ".git/refs/heads/main").write_text(f"{head}\n")
    empty(top / ".git/index")
    assert fix.repair(str(root)) == [
        "made the index anew from HEAD; every change shows as not staged"
    ]
    assert git(top, "status", "--porcelain") == ""


def test_a_linked_worktrees_index_is_its_own(repository, git, tmp_path):
    other = tmp_path / "other"
    git(repository, "worktree", "add", "-q", str(other), "-b", "other")
    empty(repository / ".git/worktrees/other/index")
    assert [problem.where for problem in diagnose.find_problems(str(other))] == [
        "../vault/.git/worktrees/other/index"
    ]
    assert fix.repair(str(other)) == [
        "made the index anew from HEAD; every change shows as not staged"
    ]
    assert git(other, "status", "--porcelain") == git(repository, "status", "--porcelain") == ""
    empty(other / ".git")
    assert [problem.message for problem in diagnose.find_problems(str(other))] == [
        "does not say where the repository is"
    ]
