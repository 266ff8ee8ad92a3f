"""A clone brings no configuration along. The first command makes it whole and says so once; from then on git merges
briefings and records by our drivers, wherever the clone's git folder lies. Who takes the drivers out is left alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller
from cortex.operations.care.init import init
from cortex.operations.records.capture import capture
from cortex.operations.share.sync import sync
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.normalize import normalize
from cortex.vault.locate import Vault
from tests.conftest import caller_at, run_cortex, run_git

pytestmark = pytest.mark.sampled(2)

SAYS = "in this clone git now merges Cortex's notes field by field"
BOTH = {"merge.cortex-briefing.driver", "merge.cortex-record.driver"}
FIRST = [
    ("status",), ("search", "base"), ("capture", "Decision: captured first"), ("normalize",), ("heal",), ("sync", "--no-push"),
    ("new", "decision", "A new one"),
]  # fmt: skip


class Clone:
    """A work tree of the vault's repository, as git left it."""

    def __init__(self, top: Path, below: str = "") -> None:
        self.top = top
        self.root = top / below

    def git(self, *words: str, fails: bool = False) -> str:
        return run_git(self.top, *words, code=None if fails else 0)

    def cortex(self, *words: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """In this process, or behind the words `before` in one of its own."""
        if not before:
            return run_cortex(*words, cwd=self.root)
        line = [*before, sys.executable, "-m", "cortex", *words]
        return subprocess.run(
            line,
            cwd=self.root,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def drivers(self) -> set[str]:
        """What git itself finds configured here."""
        return set(
            self.git(
                "config", "--name-only", "--get-regexp", r"^merge\.cortex-", fails=True
            ).split()
        )

    def config(self) -> bytes:
        return Path(
            self.top, self.git("rev-parse", "--git-common-dir").strip(), "config"
        ).read_bytes()

    def merges_cleanly(self, caller: Caller) -> None:
        """Two clones decide on one branch, and both edit one record and supersede; plain git merges them without a word."""
        vault = Vault(str(self.root))
        record = next(self.root.glob("records/decision/base-two*.md"))
        for branch, old, new in (
            ("one", "tags: []", "tags: [one]"),
            ("two", "status: active", "status: superseded"),
        ):
            capture(
                vault, caller, f"Decision: only on {branch}, because", project="app", branch="main"
            )
            normalize(vault, caller)
            text = record.read_text()
            record.write_text(
                text.replace(old, new) if old in text else text.replace("---\n", f"---\n{new}\n", 1)
            )
            heal(vault, caller)
            self.git("add", "-A", ".")
            self.git("commit", "-qm", branch)
            if branch == "one":
                self.git("branch", "-f", "one")
                self.git("reset", "-q", "--hard", "HEAD~1")
        self.git("merge", "-q", "--no-edit", "one")
        assert self.git("ls-files", "-u") == ""
        assert "status: superseded" in record.read_text()
        assert "tags: [one]" in record.read_text()
        assert not heal(vault, caller, check=True).stale
        page = (self.root / "briefings/app/decisions.md").read_text()
        assert "Only on one" in page
        assert "Only on two" in page


def begun(folder: Path) -> None:
    """A vault `origin` with decisions, pages and a commit, and a clone of it; its configuration does not travel."""
    caller = caller_at("2026-11-20T16:45:11Z")  # ids of other events than those that the tests make
    vault = Vault(init(caller, str(folder / "origin")).root)
    for name in ("one", "two", "three"):
        capture(
            vault, caller, f"Decision: base {name}, because of it", project="app", branch="main"
        )
    subprocess.run(["git", "init", "-q", vault.root], check=True)
    assert sync(vault, caller).commits
    subprocess.run(["git", "clone", "-q", vault.root, str(folder / "clone")], check=True)


@pytest.fixture
def origin(tmp_path: Path, copied: Callable[..., None]) -> Path:
    """A vault with decisions, pages and a commit."""
    copied(begun, tmp_path, "origin")
    return tmp_path / "origin"


@pytest.fixture
def clone(origin: Path, tmp_path: Path, copied: Callable[..., None]) -> Clone:
    """A clone of it as git makes one."""
    copied(begun, tmp_path, "clone")
    return Clone(tmp_path / "clone")


def test_without_a_command_the_same_merge_stops(clone, caller) -> None:
    """The control: what the merges below would look like if the drivers were not there."""
    with pytest.raises(AssertionError, match=r"CONFLICT.*briefings/app/decisions\.md"):
        clone.merges_cleanly(caller)
    assert not clone.drivers()


@pytest.mark.parametrize("words", FIRST, ids=lambda words: words[0])
def test_the_first_command_makes_it_whole_and_says_so_once(clone, caller, words) -> None:
    first = clone.cortex(*words, "--json")
    assert first.returncode == 0, first.stderr
    assert first.stderr.count("\n") == 1
    assert SAYS in first.stderr
    assert json.loads(first.stdout)
    assert clone.drivers() == BOTH

    held = clone.config()
    second = clone.cortex(*words, "--json")
    assert second.returncode == 0, second.stderr
    assert second.stderr == ""
    assert json.loads(second.stdout)
    assert clone.config() == held
    if words[0] in ("status", "capture", "sync"):
        clone.cortex("sync", "--no-push")
        clone.merges_cleanly(caller)


def test_what_only_looks_at_the_repository_registers_nothing(clone) -> None:
    held = clone.config()
    for words in (
        ("git", "status"),
        ("history", "base"),
        ("doctor",),
        ("merge", "--help"),
        ("--help",),
        ("status", "--help"),
    ):
        assert SAYS not in clone.cortex(*words).stderr
    assert clone.config() == held


def test_doctor_reports_and_doctor_fix_registers(clone, caller) -> None:
    held = clone.config()
    looked = clone.cortex("doctor")
    assert looked.returncode == 1
    assert looked.stdout.count("git does not know the merge driver") == 2
    assert "cortex doctor --fix" in looked.stdout
    assert clone.config() == held

    fixed = clone.cortex("doctor", "--fix")
    assert fixed.returncode == 0, fixed.stdout
    assert "mended: git knows Cortex's merge drivers now" in fixed.stdout
    assert fixed.stderr == ""
    assert clone.drivers() == BOTH
    assert clone.cortex("doctor").returncode == 0
    clone.merges_cleanly(caller)


def test_once_taken_out_they_stay_out_until_asked_for(clone, caller) -> None:
    assert clone.cortex("status").returncode == 0
    assert clone.cortex("git", "remove").returncode == 0
    assert not clone.drivers()
    held = clone.config()
    for words in (*FIRST, ("doctor",), ("watch", "--status"), ("git", "status")):
        done = clone.cortex(*words)
        assert SAYS not in done.stderr, words
        assert "merge driver" not in done.stdout, words  # doctor has nothing to say of them either
        if words in FIRST:
            assert done.returncode == 0, done.stdout + done.stderr
        assert clone.config() == held, words
    assert "cortex git install" in clone.cortex("git", "status").stdout
    assert clone.cortex("git", "install").returncode == 0
    assert clone.drivers() == BOTH
    clone.merges_cleanly(caller)


def test_a_git_folder_that_cannot_be_written_stops_no_command(clone, tool) -> None:
    without_root = (tool("setpriv"), "--bounding-set=-dac_override") if os.geteuid() == 0 else ()
    folder = clone.root / ".git"
    held = clone.config()
    (folder / "config").chmod(0o400)
    folder.chmod(0o500)
    try:
        refused = subprocess.run(
            [*without_root, "touch", str(folder / "x")], capture_output=True, check=False
        )
        assert refused.returncode, (
            "the folder can be written after all: the test would show nothing"
        )
        for words in FIRST:
            done = clone.cortex(*words, before=without_root)
            assert SAYS not in done.stderr
            assert "Traceback" not in done.stderr
            if words[0] == "sync":  # it needs git's folder for itself
                assert done.returncode in (1, 2), done.stdout
            else:
                assert (done.returncode, done.stderr) == (0, ""), words
        looked = clone.cortex("doctor", before=without_root)
        assert (looked.returncode, looked.stdout.count("git does not know the merge driver")) == (
            1,
            2,
        )
    finally:
        folder.chmod(0o700)
        (folder / "config").chmod(0o600)
    assert clone.config() == held
    assert SAYS in clone.cortex("status").stderr


def test_a_linked_worktree_and_its_clone_are_one(clone, caller, tmp_path) -> None:
    """Made whole from the worktree, and the clone itself has nothing more to say; nothing in it names the worktree."""
    clone.git("checkout", "-q", "-b", "side")
    clone.git("worktree", "add", "-q", str(tmp_path / "linked"), "main")
    linked = Clone(tmp_path / "linked")
    first = linked.cortex("status")
    assert (first.returncode, SAYS in first.stderr) == (0, True)
    assert linked.drivers() == clone.drivers() == BOTH
    assert clone.cortex("status").stderr == linked.cortex("search", "base").stderr == ""
    assert str(linked.top).encode() not in clone.config()
    linked.merges_cleanly(caller)
    clone.git("worktree", "remove", "--force", str(linked.top))
    clone.git("checkout", "-q", "-B", "main", "origin/main")
    clone.merges_cleanly(caller)


def test_a_vault_in_a_submodule_and_one_below_the_top(origin, caller, tmp_path) -> None:
    above = tmp_path / "above"
    subprocess.run(["git", "init", "-q", str(above)], check=True)
    allowed = ("-c", "protocol.file.allow=always")
    subprocess.run(
        ["git", *allowed, "submodule", "--quiet", "add", str(origin), "memory"],
        cwd=above,
        check=True,
        capture_output=True,
    )
    (above / "code").mkdir()
    init(caller, str(above / "code/vault"))
    Clone(above).git("add", "-A")
    Clone(above).git("commit", "-qm", "code, a vault and a submodule")
    copy = tmp_path / "copy"
    subprocess.run(
        ["git", *allowed, "clone", "-q", "--recurse-submodules", str(above), str(copy)],
        check=True,
        capture_output=True,
    )

    module, below = Clone(copy / "memory"), Clone(copy, "code/vault")
    held = below.config()
    first = module.cortex("status")
    assert (first.returncode, SAYS in first.stderr) == (0, True)
    assert module.drivers() == BOTH
    assert below.config() == held  # the repository around it is another one
    assert module.cortex("status").stderr == ""
    module.git("checkout", "-q", "main")
    module.merges_cleanly(caller)

    for name in ("one", "two"):
        capture(
            Vault(str(below.root)),
            caller,
            f"Decision: base {name} below, because of it",
            project="app",
            branch="main",
        )
    first = below.cortex("normalize")
    assert (first.returncode, SAYS in first.stderr) == (0, True)
    assert below.drivers() == BOTH
    below.git("add", "-A", "code")
    below.git("commit", "-qm", "base")
    below.merges_cleanly(caller)
