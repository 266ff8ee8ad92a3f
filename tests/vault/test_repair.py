"""What a power cut does to a repository, done by hand, and mended: git works, every note is as it was, nothing is gone."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.problem import CortexError
from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.vault.git.git_locks import (  # itself, whatever a soak puts in its place
    Clock,
    read_clock,
)
from cortex.vault.locate import Vault
from cortex.vault.repair import diagnose, fix
from tests.conftest import NOW, caller_at

COMMITS = 4


def files_of(root: Path) -> dict[str, tuple[bytes, int]]:
    """The work tree: path -> bytes and modification time."""
    found = {}
    for path in root.rglob("*"):
        inside = path.relative_to(root)
        if path.is_file() and not inside.parts[0].startswith(".git.") and inside.parts[0] != ".git":
            found[str(inside)] = path.read_bytes(), path.stat().st_mtime_ns
    return found


def contents(root: Path) -> set[str]:
    """The contents of all git's files but branches and their logs, which grow, wherever they lie now."""
    found = (path for folder in root.glob(".git*") for path in folder.rglob("*") if path.is_file())
    return {
        hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
        if not {"refs", "logs"} & set(path.parts)
    }


def write(root: Path, number: int) -> None:
    """A new note, and another text in an older one."""
    folder = root / f"records/decision/{number % 2}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"note-{number}.md").write_text(f"---\nid: note-{number}\n---\ntext {number}\n")
    (root / "records/living.md").write_text(f"---\nid: living\n---\nas of {number}\n")


def begun(folder: Path) -> None:
    """A vault with a few commits."""
    root = Path(init(caller_at(NOW, str(folder)), str(folder / "vault")).root)
    for words in (["init", "-q"], ["config", "gc.auto", "0"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    for number in range(COMMITS):
        write(root, number)
        for words in (["add", "."], ["commit", "-qm", f"commit {number}"]):
            subprocess.run(["git", *words], cwd=root, check=True)


@pytest.fixture
def kept(tmp_path, copied) -> Path:
    """A vault of its own with a few commits."""
    copied(begun, tmp_path)
    return tmp_path / "vault"


def empty(path: Path) -> None:
    path.chmod(0o644)
    path.write_bytes(b"")


def object_of(root: Path, revision: str, git: Callable[..., str]) -> Path:
    id_ = git(root, "rev-parse", revision).strip()
    return root / ".git/objects" / id_[:2] / id_[2:]


def packed(root: Path, git: Callable[..., str]) -> Path:
    git(root, "repack", "-qad")
    return next((root / ".git/objects/pack").glob("*.pack"))


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


def _garbage(root, git):
    path = object_of(root, "HEAD^{tree}", git)
    path.chmod(0o644)
    path.write_bytes(b"\0" * 100)


def _pack_cut(root, git):
    path = packed(root, git)
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-40])


def _pack_index_cut(root, git):
    path = packed(root, git).with_suffix(".idx")
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:200])


def _branch_and_log(root, git):
    empty(root / ".git/refs/heads/main")
    log = root / ".git/logs/refs/heads/main"
    lines = log.read_text().splitlines(keepends=True)
    for path in (log, root / ".git/logs/HEAD"):
        path.write_text("".join(lines[:-1]))


# name -> (the damage, how many commits behind the newest HEAD is without a remote; None: it depends)
CASES: dict[str, tuple[Callable, int | None]] = {
    "the index is empty": (lambda root, git: empty(root / ".git/index"), 0),
    "the index is half": (_index_cut, 0),
    "the index is zeros": (_index_zeros, 0),
    "HEAD is empty": (lambda root, git: empty(root / ".git/HEAD"), 0),
    "HEAD is zeros": (lambda root, git: (root / ".git/HEAD").write_bytes(bytes(21)), 0),
    "HEAD is gone": (lambda root, git: (root / ".git/HEAD").unlink(), 0),
    "the branch is empty": (lambda root, git: empty(root / ".git/refs/heads/main"), 0),
    "the branch is gone": (lambda root, git: (root / ".git/refs/heads/main").unlink(), 0),
    "the branch is empty and its log short": (_branch_and_log, 0),
    "the branch and all logs are gone": (
        lambda root, git: (empty(root / ".git/refs/heads/main"), shutil.rmtree(root / ".git/logs")),
        0,
    ),
    "packed-refs is gone": (_packed_refs_gone, 0),
    "the newest commit is empty": (lambda root, git: empty(object_of(root, "HEAD", git)), 1),
    "the newest tree is empty": (lambda root, git: empty(object_of(root, "HEAD^{tree}", git)), 0),
    "the newest tree is garbage": (_garbage, 0),
    "a tree below it is empty": (
        lambda root, git: empty(object_of(root, "HEAD:records/decision", git)),
        0,
    ),
    "the newest note is empty": (
        lambda root, git: empty(object_of(root, "HEAD:records/living.md", git)),
        0,
    ),
    "all that is new is empty": (_every_newest_object, 1),
    "an older text is empty": (
        lambda root, git: empty(object_of(root, "HEAD~1:records/living.md", git)),
        2,
    ),
    "the first commit is empty": (
        lambda root, git: empty(object_of(root, f"HEAD~{COMMITS - 1}", git)),
        None,
    ),
    "the configuration is empty": (lambda root, git: empty(root / ".git/config"), 0),
    "the configuration is garbage": (
        lambda root, git: (root / ".git/config").write_bytes(b"[core\n\0\0"),
        0,
    ),
    "the pack is cut": (_pack_cut, None),
    "the pack's index is cut": (_pack_index_cut, 0),
    "refs is gone": (lambda root, git: shutil.rmtree(root / ".git/refs"), 0),
    "objects is gone": (lambda root, git: shutil.rmtree(root / ".git/objects"), None),
}
GIVEN = [
    *(("none", case) for case in CASES),
    *(("with all", case) for case in ("the branch is empty and its log short", "packed-refs is gone", "the newest commit is empty", "all that is new is empty",
                                      "an older text is empty", "the first commit is empty", "the pack is cut", "objects is gone")),
    *(("behind", case) for case in ("the newest commit is empty", "objects is gone")),
    *(("unreachable", case) for case in ("the newest commit is empty", "objects is gone")),
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
    if kind == "unreachable":
        remote.rename(root.parent / "elsewhere.git")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("remote", "case"), GIVEN)
def test_after_the_repair_git_works_and_every_note_is_as_it_was(
    remote, case, kept, git, monkeypatch
):
    given_remote(remote, kept, git)
    monkeypatch.setenv("CORTEX_GIT_SILENCE", "5")
    ids = git(kept, "rev-list", "HEAD").split()
    harm, behind = CASES[case]
    harm(kept, git)
    before, held = files_of(kept), contents(kept)
    assert diagnose.find_problems(str(kept)), "the damage is not seen"
    said = fix.repair(str(kept))
    assert said
    assert files_of(kept) == before
    assert contents(kept) >= held, "something was deleted"
    check_works(kept, git)
    if remote == "with all":
        behind = 0
    if remote == "behind" and case == "objects is gone":
        behind = 2
    if behind is not None:
        assert git(kept, "rev-parse", "HEAD").strip() == ids[behind], said
    assert diagnose.find_problems(str(kept)) == []
    assert fix.repair(str(kept)) == []


def check_works(root: Path, git: Callable[..., str]) -> None:
    """Everything that a person does next, without a complaint of git."""
    for words in (("fsck",), ("status", "--porcelain")):
        done = subprocess.run(
            ["git", *words], cwd=root, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, "error" in done.stderr) == (0, False), done.stderr
    copy = root.parent / "copy"
    shutil.copytree(root, copy, symlinks=True)
    write(copy, 99)
    git(copy, "add", ".")
    git(copy, "commit", "-qm", "the next")
    assert git(copy, "status", "--porcelain") == ""
    git(copy, "fsck")
    shutil.rmtree(copy)


@pytest.mark.parametrize("folder", ["objects", "refs"])
@pytest.mark.parametrize("remote", ["none", "with all"])
def test_beyond_repair_git_is_made_anew_and_the_old_one_kept(folder, remote, kept, git):
    given_remote(remote, kept, git)
    (kept / ".git/hooks").mkdir(exist_ok=True)
    (kept / ".git/hooks/pre-commit").write_text("#!/bin/sh\nexit 0\n")
    head = git(kept, "rev-parse", "HEAD").strip()
    shutil.rmtree(kept / ".git" / folder)
    (kept / ".git" / folder).write_text("a file\n")
    before, held = files_of(kept), contents(kept)
    assert fix.repair(str(kept))[-1] == "made .git anew; the old one is whole in .git.damaged-1"
    assert files_of(kept) == before
    assert contents(kept) >= held
    assert sorted(path.name for path in kept.glob(".git*")) == [
        ".git",
        ".git.damaged-1",
        ".gitattributes",
    ]
    assert (kept / ".git/hooks/pre-commit").exists()
    check_works(kept, git)
    if remote == "with all":
        assert git(kept, "rev-parse", "HEAD").strip() == head
        assert git(kept, "status", "--porcelain") == ""
        assert git(kept, "remote").strip() == "origin"
    assert diagnose.find_problems(str(kept)) == []


@pytest.mark.parametrize("moment", ["git init", "first rename", "second rename"])
def test_a_repair_that_was_killed_while_it_made_git_anew_is_begun_again(
    moment, kept, git, caller, monkeypatch
):
    shutil.rmtree(kept / ".git/refs")
    (kept / ".git/refs").write_text("a file\n")
    before, held = files_of(kept), contents(kept)

    class Killed(BaseException):
        pass

    renames = 0
    rename = os.rename

    def killed(source, target):
        nonlocal renames
        if target.endswith((".git", ".git.damaged-1")) and "cortex-damaged" not in target:
            renames += 1
            if renames == ("first rename", "second rename").index(moment) + 1:
                raise Killed
        rename(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", lambda *_, **__: None)  # nobody tidies up after a kill
        if moment == "git init":
            patched.setattr(
                "cortex.vault.repair.salvage._fetch_all", lambda *_: (_ for _ in ()).throw(Killed)
            )
        else:
            patched.setattr(os, "rename", killed)
        with pytest.raises(Killed):
            fix.repair(str(kept))
    assert (kept / ".git").exists() == (moment != "second rename")
    assert diagnose.find_problems(str(kept))
    assert doctor(Vault(str(kept)), caller).problems[0].hint == diagnose.FIX_COMMAND
    said = fix.repair(str(kept))
    assert said[-1].startswith("made .git anew")
    assert files_of(kept) == before
    assert contents(kept) >= held
    check_works(kept, git)
    assert not (kept / diagnose.BUILD_FOLDER).exists()


def test_who_takes_git_away_is_not_given_it_back(kept):
    (kept / ".git").rename(kept / ".git.damaged-1")
    assert diagnose.find_problems(str(kept)) == fix.repair(str(kept)) == []


def test_the_log_of_a_branch_that_cannot_be_saved_is_kept(kept, git):
    git(kept, "branch", "other", "HEAD~3")
    tree = git(kept, "rev-parse", "other^{tree}").strip()
    git(kept, "commit-tree", "-m", "odd", tree)
    lost = git(kept, "commit-tree", "-m", "odd", tree).strip()
    git(kept, "update-ref", "refs/heads/lost", lost)
    log = (kept / ".git/logs/refs/heads/lost").read_bytes()
    empty(kept / ".git/objects" / lost[:2] / lost[2:])
    fix.repair(str(kept))
    assert [
        path.read_bytes()
        for path in (kept / ".git/cortex-damaged").rglob("lost*")
        if path.is_file()
    ] == [log]


def test_a_sound_repository_is_left_alone(kept, git):
    before = {str(path): path.read_bytes() for path in (kept / ".git").rglob("*") if path.is_file()}
    git(kept, "status")
    assert diagnose.find_problems(str(kept)) == []
    assert fix.repair(str(kept)) == []
    after = {str(path): path.read_bytes() for path in (kept / ".git").rglob("*") if path.is_file()}
    assert {path for path in before if before[path] != after.get(path)} <= {
        str(kept / ".git/index")
    }


def test_where_there_is_no_repository_or_no_commit_there_is_nothing_to_mend(vault, git):
    assert diagnose.find_problems(vault.root) == fix.repair(vault.root) == []
    git(vault.root, "init", "-q")
    assert diagnose.find_problems(vault.root) == fix.repair(vault.root) == []


def test_what_was_cut_off_goes_on_being_there(kept, git):
    """A branch that had to go back keeps what it had ahead, in a pack that git does not throw away."""
    tip = git(kept, "rev-parse", "HEAD").strip()
    empty(object_of(kept, "HEAD~1:records/living.md", git))
    said = fix.repair(str(kept))
    assert any(line.startswith("kept ") for line in said)
    assert tip in (kept / ".git/cortex-damaged/refs-before").read_text()
    git(kept, "gc", "-q", "--prune=now")
    listed = subprocess.run(
        ["git", "cat-file", "-t", tip],
        cwd=kept,
        env=os.environ
        | {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(kept / ".git/cortex-damaged/objects")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert listed.stdout == "commit\n"


def test_a_stash_is_no_newest_commit_of_the_branch(kept, git):
    (kept / "records/living.md").write_text("put away\n")
    git(kept, "stash", "-q")
    (kept / ".git/refs/stash").unlink()
    shutil.rmtree(kept / ".git/logs")
    head = git(kept, "rev-parse", "HEAD").strip()
    empty(kept / ".git/refs/heads/main")
    fix.repair(str(kept))
    assert git(kept, "rev-parse", "HEAD").strip() == head


def test_the_branch_that_was_checked_out_is_the_one_that_comes_back(kept, git):
    git(kept, "checkout", "-qb", "topic/one")
    write(kept, 50)
    git(kept, "add", ".")
    git(kept, "commit", "-qm", "on the topic")
    empty(kept / ".git/HEAD")
    assert "HEAD is on the branch topic/one again" in fix.repair(str(kept))
    assert git(kept, "log", "-1", "--format=%s").strip() == "on the topic"


def test_what_was_staged_is_in_the_work_tree(kept, git):
    write(kept, 60)
    git(kept, "add", ".")
    empty(kept / ".git/index")
    fix.repair(str(kept))
    assert git(kept, "status", "--porcelain").splitlines() == [
        " M records/living.md",
        "?? records/decision/0/note-60.md",
    ]


def test_an_object_that_nothing_needs_costs_no_history(kept, git):
    ids = git(kept, "rev-list", "HEAD")
    write(kept, 61)
    git(kept, "add", ".")
    empty(object_of(kept, ":records/living.md", git))
    git(kept, "read-tree", "HEAD")
    assert fix.repair(str(kept)) == ["moved 1 damaged object to .git/cortex-damaged"]
    assert git(kept, "rev-list", "HEAD") == ids


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_a_lock_in_the_way_of_a_repair_is_moved_only_when_a_crash_has_left_it(name, kept, git):
    lock = kept / ".git" / name
    lock.write_text("")
    written = lock.stat().st_mtime
    empty(kept / ".git/refs/heads/main")
    alive = Clock(written + 60, written - 3_600)
    if name == "index.lock":
        with pytest.raises(CortexError, match="is in the way"):
            fix.repair(str(kept), alive)
        assert lock.exists()
    assert (
        f"moved {name}, a lock from before the machine was started, to .git/cortex-damaged"
        in fix.repair(str(kept), Clock(written + 60, written + 30))
    )
    assert not lock.exists()
    check_works(kept, git)


@pytest.mark.skipif(not os.path.exists("/proc/stat"), reason="not run: there is no /proc here")
def test_the_boot_time_is_now_less_the_uptime_by_the_clock_that_stamps_files(tmp_path):
    (tmp_path / "file").touch()
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    assert read_clock().booted == pytest.approx((tmp_path / "file").stat().st_mtime - uptime, abs=5)


def test_while_a_git_is_at_work_nothing_is_mended(kept, git):
    if not os.path.isdir("/proc/self"):
        pytest.skip("not run: there is no /proc here")
    running = subprocess.Popen(
        ["git", "cat-file", "--batch"], cwd=kept, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    empty(kept / ".git/refs/heads/main")
    with pytest.raises(CortexError, match=r"git \(process \d+\) is at work"):
        fix.repair(str(kept))
    running.communicate()
    assert fix.repair(str(kept))


def test_in_a_code_repository_only_the_index_is_mended(tmp_path, caller, git):
    from cortex.operations.care.init import init

    top = tmp_path / "code"
    root = Path(init(caller, str(top / "vault")).root)
    git(top, "init", "-q")
    (top / "main.c").write_text("int x;\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "one")
    head = git(top, "rev-parse", "HEAD").strip()
    empty(top / ".git/index")
    empty(top / ".git/refs/heads/main")
    said = fix.repair(str(root))
    assert "../.git/refs/heads/main is empty or damaged" in said[-1]
    assert (top / ".git/refs/heads/main").read_bytes() == b""
    (top / ".git/refs/heads/main").write_text(f"{head}\n")
    empty(top / ".git/index")
    assert fix.repair(str(root)) == [
        "made the index anew from HEAD; every change shows as not staged"
    ]
    assert git(top, "status", "--porcelain") == ""


def test_a_linked_worktrees_index_is_its_own(kept, git, tmp_path):
    other = tmp_path / "other"
    git(kept, "worktree", "add", "-q", str(other), "-b", "other")
    empty(kept / ".git/worktrees/other/index")
    assert [problem.where for problem in diagnose.find_problems(str(other))] == [
        "../vault/.git/worktrees/other/index"
    ]
    assert fix.repair(str(other)) == [
        "made the index anew from HEAD; every change shows as not staged"
    ]
    assert git(other, "status", "--porcelain") == git(kept, "status", "--porcelain") == ""
    empty(other / ".git")
    assert [problem.message for problem in diagnose.find_problems(str(other))] == [
        "does not say where the repository is"
    ]


def test_refs_of_another_format_are_not_taken_for_damage(tmp_path, git):
    done = subprocess.run(
        ["git", "init", "-q", "--ref-format=reftable", "x"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("not run: this git knows one format of refs")
    (tmp_path / "x/cortex.toml").write_text("")
    git(tmp_path / "x", "add", ".")
    git(tmp_path / "x", "commit", "-qm", "one")
    assert diagnose.find_problems(str(tmp_path / "x")) == []
    assert fix.repair(str(tmp_path / "x")) == []
