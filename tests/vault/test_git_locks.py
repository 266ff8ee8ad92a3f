"""Locks that git left behind: which are named, by whom, and which are moved aside."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cortex.core.model.problem import ConflictError, CortexError
from cortex.operations.care.doctor import doctor
from cortex.operations.share.sync import sync
from cortex.vault.git import changes, checkout, commit, git_locks
from cortex.vault.git.checkout import Repository
from cortex.vault.git.git_locks import BOOT_MARGIN_SECONDS, DAY_SECONDS, Clock
from cortex.vault.locate import Vault
from cortex.vault.repair import fix
from tests.conftest import commit_all

pytestmark = pytest.mark.sampled(2)

WRITTEN = 1_800_000_000.0  # when every lock of these tests was written
NAMES = [
    "index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "packed-refs.new", "shallow.lock", "ORIG_HEAD.lock", "next-index-123.lock",
    "refs/heads/main.lock", "refs/heads/cortex/one.lock", "refs/remotes/origin/a/b.lock", "logs/HEAD.lock", "rebase-merge/done.lock",
    "objects/info/commit-graphs/commit-graph-chain.lock", "worktrees/side/index.lock", "worktrees/side/HEAD.lock",
]  # fmt: skip
AFTER_BOOT = Clock(
    WRITTEN + 60, WRITTEN + BOOT_MARGIN_SECONDS + 1
)  # a fast restart, a minute later
NEXT_DAY = Clock(WRITTEN + DAY_SECONDS + 1, WRITTEN - 1_000_000)
SOON = Clock(WRITTEN + 10, WRITTEN - 1_000_000)
LATER = Clock(WRITTEN + 1_000, WRITTEN - 1_000_000)


@pytest.fixture
def repository(vault, git, tmp_path) -> Path:
    """A vault of its own with a commit and another worktree."""
    root = Path(vault.root)
    commit_all(root, "one")
    git(root, "worktree", "add", "-q", "-b", "other", str(tmp_path / "side"))
    return root


def lock_at(root: Path, name: str, written: float = WRITTEN) -> Path:
    path = root / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (written, written))
    return path


def place_of(root: Path) -> Repository:
    place = checkout.find_repository(str(root))
    assert place
    return place


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("at", "crash"),
    [(AFTER_BOOT, "from before the machine was started"), (NEXT_DAY, "older than a day")],
)
def test_a_lock_that_a_crash_left_is_named_and_moved_aside(name, at, crash, repository) -> None:
    path = lock_at(repository, name)
    (problem,) = git_locks.problems(str(repository), at)
    assert (problem.where, problem.hint) == (f".git/{name}", "cortex doctor --fix")
    assert crash in problem.message
    with pytest.raises(ConflictError) as raised:
        git_locks.check_none_abandoned(str(repository), at)
    assert (str(path) in raised.value.message, raised.value.hint) == (True, "cortex doctor --fix")
    assert fix.repair(str(repository), at) == [
        f"moved {name}, a lock {crash}, to .git/cortex-damaged"
    ]
    assert not path.exists()
    assert (repository / ".git/cortex-damaged" / name).exists()
    assert git_locks.problems(str(repository), at) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_that_may_have_a_holder_stays(name, repository) -> None:
    path = lock_at(repository, name)
    assert git_locks.problems(str(repository), SOON) == []
    assert fix.repair(str(repository), SOON) == []
    (problem,) = git_locks.problems(str(repository), LATER)
    assert (problem.where, problem.hint) == (f".git/{name}", f"rm {path}")
    assert problem.message.startswith("is 17 minutes old and no git is seen at work here: ")
    assert fix.repair(str(repository), LATER) == []
    assert path.exists()


@pytest.mark.parametrize("after", [-1_000.0, 0.0, BOOT_MARGIN_SECONDS])
def test_a_lock_is_older_than_the_boot_only_beyond_the_margin(after, repository) -> None:
    """The kernel tells the boot time in whole seconds: a lock of this moment must not look older than it."""
    path = lock_at(repository, "index.lock")
    assert fix.repair(str(repository), Clock(WRITTEN + 60, WRITTEN + after)) == []
    assert path.exists()


@pytest.mark.parametrize("name", ["cortex.lock", "cortex-drivers.lock"])
def test_our_own_locks_are_the_kernels_and_stay(name, repository) -> None:
    path = lock_at(repository, name)
    assert git_locks.problems(str(repository), AFTER_BOOT) == []
    assert fix.repair(str(repository), AFTER_BOOT) == []
    assert path.exists()


def test_a_path_that_a_shell_would_split_is_quoted(tmp_path, caller, git) -> None:
    from cortex.operations.care.init import init

    root = Path(init(caller, str(tmp_path / "two words")).root)
    git(root, "init", "-q")
    path = lock_at(root, "index.lock")
    (problem,) = git_locks.problems(str(root), LATER)
    assert problem.hint == f"rm '{path}'"
    assert subprocess.run(problem.hint, shell=True, check=False).returncode == 0
    assert not path.exists()


needs_proc = pytest.mark.skipif(
    not os.path.isdir("/proc/self/fd"), reason="not run: this system does not show open files"
)


@needs_proc
def test_a_lock_that_a_process_has_open_stays_however_old_it_is(repository) -> None:
    """Not named git: an editor's own git, in Java or Python."""
    path = lock_at(repository, "index.lock")
    script = f"file = open({str(path)!r}); print(flush=True); import time; time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as holder:
        try:
            holder.stdout.readline()
            for at in (AFTER_BOOT, NEXT_DAY, LATER):
                (problem,) = git_locks.problems(str(repository), at)
                assert problem.message.startswith(f"process {holder.pid} has it open")
                assert problem.hint.startswith(f"ps -fp {holder.pid} ")
                assert fix.repair(str(repository), at) == []
            assert git_locks.problems(str(repository), SOON) == []
        finally:
            holder.kill()
    assert path.exists()
    assert fix.repair(str(repository), AFTER_BOOT)


@needs_proc
@pytest.mark.parametrize("tree", ["vault", "side"])
def test_while_a_git_is_at_work_here_no_lock_is_moved(tree, repository) -> None:
    """It may hold a lock that it has closed, while an editor or a hook runs. Another worktree's git counts as well."""
    path = lock_at(repository, "index.lock")
    with subprocess.Popen(
        ["git", "hash-object", "--stdin"],
        cwd=repository.parent / tree,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as at_work:
        deadline = time.monotonic() + 20
        while not git_locks.find_running_git(place_of(repository)) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert git_locks.find_running_git(place_of(repository)) == f"git (process {at_work.pid})"
        (problem,) = git_locks.problems(str(repository), AFTER_BOOT)
        assert problem.hint == f"when git (process {at_work.pid}) has ended: cortex doctor --fix"
        assert git_locks.problems(str(repository), LATER) == []
        git_locks.check_none_abandoned(
            str(repository), AFTER_BOOT
        )  # whoever waits for a lock waits on
        with pytest.raises(CortexError, match=f"process {at_work.pid}"):
            fix.repair(str(repository), AFTER_BOOT)
        at_work.stdin.close()
        at_work.wait(20)
    assert path.exists()
    assert fix.repair(str(repository), AFTER_BOOT)


def test_no_link_is_followed_to_a_lock(repository, tmp_path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "refs").mkdir(parents=True)
    os.symlink(elsewhere / "refs", repository / ".git/refs/linked")
    os.symlink(elsewhere, repository / ".git/rebase-apply")
    for path in (elsewhere / "refs/x.lock", elsewhere / "y.lock"):
        path.touch()
        os.utime(path, (WRITTEN, WRITTEN))
    assert git_locks.problems(str(repository), AFTER_BOOT) == []
    assert fix.repair(str(repository), AFTER_BOOT) == []


def test_where_no_process_can_be_seen_only_a_boot_tells(repository, tool) -> None:
    """A real system without /proc: hidden from this process and its children by a mount of their own."""
    if os.geteuid() != 0:
        pytest.skip("not run: hiding /proc needs root")
    path = lock_at(repository, "index.lock")
    script = f"""
from cortex.vault.git import git_locks
from cortex.vault.repair import fix as repair
from cortex.vault.git.git_locks import Clock
root = {str(repository)!r}
print(git_locks.read_clock().booted)
(problem,) = git_locks.problems(root, Clock(*{tuple(NEXT_DAY)!r}))
print(problem.message, problem.hint, sep="|")
print(repair.repair(root, Clock(*{tuple(NEXT_DAY)!r})))
"""
    hidden = ['mount -t tmpfs tmpfs /proc && exec "$@"', "sh", sys.executable, "-c", script]
    done = subprocess.run(
        [tool("unshare"), "--mount", "sh", "-c", *hidden],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"not run: a mount of its own was refused: {done.stderr.strip()}")
    booted, problem, mended = done.stdout.splitlines()
    assert float(booted) == 0.0
    assert problem.endswith(f"|rm {path}")
    assert "this system does not show which files a process has open" in problem
    assert mended == "[]"
    assert path.exists()


def test_a_lock_of_another_user_is_moved_only_if_the_machine_was_started_since(
    repository, as_user
) -> None:
    """Whether that user's processes have it open cannot be seen; none outlives a boot."""
    root = str(repository)
    for parent in repository.parents:
        if parent.stat().st_mode & 0o005 != 0o005:
            parent.chmod(parent.stat().st_mode | 0o005)
    subprocess.run(["chmod", "-R", "a+rwX", root], check=True)
    lock_at(repository, "index.lock")

    def look() -> list[tuple[str, str]]:
        return [
            (one.message, one.hint)
            for at in (NEXT_DAY, AFTER_BOOT)
            for one in git_locks.problems(root, at)
        ]

    (day, day_hint), (_, boot_hint) = as_user(12_345, look)
    assert "it belongs to the user 0, whose processes cannot be looked into" in day
    assert day_hint.startswith("rm ")
    assert boot_hint == "cortex doctor --fix"


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_a_commit_says_at_once_which_lock_a_crash_has_left(name, repository) -> None:
    path = lock_at(repository, name, 0.0)
    (repository / "records").mkdir(exist_ok=True)
    (repository / "records/a.md").write_text("---\nid: a\ntitle: A\n---\n")
    begun = time.monotonic()
    with pytest.raises(ConflictError) as raised:
        commit.commit_changes(str(repository), changes.list_changes(str(repository)))
    assert time.monotonic() - begun < git_locks.LOCK_WAIT_SECONDS / 3
    assert (str(path) in raised.value.message, raised.value.hint) == (True, "cortex doctor --fix")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("rebase-merge/")])
def test_doctor_fix_frees_a_sync(name, repository, caller, git, tmp_path) -> None:
    """By the verbs themselves; the lock is aged, as the machine cannot be started anew."""
    vault = Vault(str(repository))
    git(repository, "clone", "-q", "--bare", ".", str(tmp_path / "remote.git"))
    git(repository, "remote", "add", "origin", str(tmp_path / "remote.git"))
    lock_at(repository, name, 0.0)
    (repository / "records").mkdir(exist_ok=True)
    (repository / "records/a.md").write_text("---\nid: a\ntitle: A\n---\n")
    named = [
        problem for problem in doctor(vault, caller).problems if problem.where == f".git/{name}"
    ]
    assert [problem.hint for problem in named] == ["cortex doctor --fix"]
    fixed = doctor(vault, caller, fix=True)
    assert (
        f"moved {name}, a lock from before the machine was started, to .git/cortex-damaged"
        in fixed.fixed
    )
    assert [
        problem for problem in fixed.problems if problem.where.endswith((".lock", ".new"))
    ] == []
    assert sync(vault, caller).push == "pushed"


def test_in_a_repository_that_holds_more_a_lock_is_moved_too(tmp_path, caller, git) -> None:
    from cortex.operations.care.init import init

    top = tmp_path / "code"
    top.mkdir()
    git(top, "init", "-q")
    root = init(caller, str(top / "vault")).root
    lock_at(top, "index.lock")
    (problem,) = git_locks.problems(root, AFTER_BOOT)
    assert problem.where == "../.git/index.lock"
    assert fix.repair(root, AFTER_BOOT)
    assert not (top / ".git/index.lock").exists()


def test_a_lock_that_another_git_took_meanwhile_stays(
    repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the move the old lock ended and a new one was taken."""
    path = lock_at(repository, "index.lock")
    found = git_locks.find_abandoned(place_of(repository), AFTER_BOOT)
    path.unlink()
    path.write_text("of a living git")
    fix._RepositoryRepair(str(repository), place_of(repository)).move_locks(found)
    assert path.read_text() == "of a living git"
