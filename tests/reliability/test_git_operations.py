"""Whatever git does with two branches of a vault, the briefings are as the notes give them: at once where git asks the
driver, after the next command where it does not. Nothing is left blocked. Also run with each git in `$CORTEX_GITS`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.operations.care.init import init
from cortex.operations.upkeep.heal import heal
from cortex.vault.git import drivers
from cortex.vault.locate import Vault
from tests.conftest import run_cortex, run_git

pytestmark = pytest.mark.sampled(2)

GITS = [
    "",
    *filter(None, os.environ.get("CORTEX_GITS", "").split(os.pathsep)),
]  # folders that hold a git of their own
CALLER = Caller("/", "2026-11-20T16:45:12Z", lambda size: bytes(size), "test", no_progress)


class Repo:
    """A vault under git with a base commit and two branches, `main` and `side`, that each add and change records."""

    def __init__(self, root: Path, binary: str) -> None:
        self.environment = {"PATH": f"{binary}:{os.environ['PATH']}"} if binary else {}
        self.root = root
        self.vault = Vault(str(root))

    def begin(self) -> None:
        init(CALLER, str(self.root))
        self.git("init", "-q", "-b", "main")
        drivers.register(self.vault.root)
        self.decide("base one", "base two", "base three")
        self.commit("base")
        self.git("tag", "base")
        self.git("branch", "side")

    def git(self, *words: str, fails: bool = False) -> str:
        return run_git(self.root, *words, code=None if fails else 0, **self.environment)

    def record(self, name: str) -> Path:
        return self.root / "records/decision" / f"{name.replace(' ', '-')}-aaaaaa.md"

    def decide(self, *names: str, healed: bool = True, day: int = 0) -> None:
        for name in names:
            file = self.record(name)
            file.parent.mkdir(parents=True, exist_ok=True)
            day_made = day or sum(name.encode()) % 28 + 1
            file.write_text(
                f"---\nid: {file.stem}\ntype: decision\ntitle: {name}\nproject: app\nbranch: main\n"
                f"created: 2026-11-{day_made:02}T10:00:00Z\n---\n\n# {name}\n\nBecause of it.\n"
            )
        if healed:
            heal(self.vault, CALLER)

    def edit(self, name: str, old: str, new: str) -> None:
        file = self.record(name)
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))
        heal(self.vault, CALLER)

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", message)

    def set_aside(self, name: str = "side") -> None:
        """Make what was committed on main since the base another clone's, as the branch `name`:
        only commits of the default branch hold pages that meet."""
        self.git("branch", "-q", "-f", name)
        self.git("reset", "-q", "--hard", "base")

    def diverge(self, commits: int = 1) -> None:
        """Two clones of main add, change and supersede; `side` in several commits. Ends on main."""
        for number in range(commits):
            self.decide(f"side {number}")
            self.commit(f"side {number}")
        self.edit("base two", "# base two", "# base two of side")
        self.commit("side edits")
        self.set_aside()
        self.decide("main 0")
        self.edit("base one", "type: decision", "type: decision\nstatus: superseded")
        self.commit("main")

    @property
    def briefings(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("briefings/**/*.md")
        }

    def is_fresh(self) -> bool:
        """Whether the briefings equal a regeneration; the notes alone are looked at, no state of ours."""
        held = self.briefings
        again = run_cortex("heal", "--check", cwd=self.root)
        assert self.briefings == held
        return again.returncode == 0

    def assert_whole(self) -> None:
        assert self.git("ls-files", "-u") == ""
        assert not [path for path in self.root.rglob("*.md") if "<<<<<<<" in path.read_text()]
        assert not (self.root / ".git/rebase-merge").exists()

    def titles(self) -> set[str]:
        return {
            path.stem.removesuffix("-aaaaaa") for path in self.root.glob("records/decision/*.md")
        }


BEGUN = {
    binary: lambda folder, binary=binary: Repo(folder / "vault", binary).begin() for binary in GITS
}


@pytest.fixture(params=GITS, ids=lambda binary: binary or "git")
def repo(request, tmp_path, copied) -> Repo:
    copied(BEGUN[request.param], tmp_path)
    return Repo(tmp_path / "vault", request.param)


def merge(repo: Repo) -> None:
    repo.git("merge", "-q", "--no-edit", "side")


def squash(repo: Repo) -> None:
    repo.git("merge", "-q", "--squash", "side")


def rebase(repo: Repo) -> None:
    repo.git("rebase", "-q", "side")


def rebase_apply(repo: Repo) -> None:
    repo.git("checkout", "-q", "side")
    repo.git("rebase", "-q", "--apply", "main")
    repo.git("checkout", "-q", "-B", "main")


def cherry_pick(repo: Repo) -> None:
    repo.git("cherry-pick", "side~1")


def revert(repo: Repo) -> None:
    merge(repo)
    repo.decide("later")
    repo.commit("later")
    repo.git("revert", "--no-edit", "-m", "1", "HEAD~1")


def stash_pop(repo: Repo) -> None:
    repo.decide("stashed")
    repo.git("stash", "-q", "-u")
    merge(repo)
    repo.git("stash", "pop", "-q")


def criss_cross(repo: Repo) -> None:
    repo.git("branch", "main-before")
    merge(repo)
    repo.git("branch", "main-after")
    repo.git("reset", "-q", "--hard", "side")
    repo.git("merge", "-q", "--no-edit", "main-before")
    repo.decide("side after")
    repo.commit("side after")
    repo.git("branch", "-q", "-f", "side")
    repo.git("reset", "-q", "--hard", "main-after")
    repo.decide("main after")
    repo.commit("main after")
    merge(repo)


AT_ONCE = [merge, squash, rebase, rebase_apply, cherry_pick, revert, stash_pop, criss_cross]


@pytest.mark.parametrize("operation", AT_ONCE, ids=lambda operation: operation.__name__)
def test_where_git_asks_the_driver_the_briefings_are_right_at_once(
    repo, operation: Callable[[Repo], None]
) -> None:
    repo.diverge(commits=3)
    operation(repo)
    repo.assert_whole()
    assert repo.is_fresh()


def one_side_only(repo: Repo) -> None:
    """Only `side` touches the briefings; main adds a record as a phone does, without them."""
    repo.decide("side 0")
    repo.commit("side")
    repo.set_aside()
    repo.decide("from a phone", healed=False)
    repo.commit("a phone")
    merge(repo)


def octopus_of_phones(repo: Repo) -> None:
    for name in ("one", "two"):
        repo.git("checkout", "-q", "-b", name, "main")
        repo.decide(f"phone {name}", healed=False)
        repo.commit(name)
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-edit", "one", "two")


@pytest.mark.parametrize("command", [("status",), ("search", "base"), ("heal",)], ids=" ".join)
@pytest.mark.parametrize("operation", [one_side_only, octopus_of_phones])
def test_where_git_does_not_ask_they_are_right_after_the_next_command(
    repo, operation, command
) -> None:
    operation(repo)
    repo.assert_whole()
    run_cortex(*command, cwd=repo.root).check_returncode()
    assert repo.is_fresh()


@pytest.mark.parametrize(
    ("days", "waits"),
    [((20, 20, 20), False), ((20, 5, 20), True)],
    ids=["two conflicts", "one conflict"],
)
def test_an_octopus_never_asks_a_driver_and_still_nothing_is_blocked(repo, days, waits) -> None:
    """With a conflict before the last branch git takes all of it back. With one in the last it waits: healing ends that."""
    for name, day in zip(("one", "two"), days[1:], strict=True):
        repo.decide(f"from {name}", day=day)
        repo.commit(name)
        repo.set_aside(name)
    repo.decide("here", day=days[0])
    repo.commit("here")
    before = repo.git("rev-parse", "HEAD"), repo.git("status", "--porcelain"), repo.briefings
    repo.git("merge", "-q", "--no-edit", "one", "two", fails=True)
    assert repo.git("rev-parse", "HEAD") == before[0]
    assert (repo.root / ".git/MERGE_HEAD").exists() == waits
    if waits:
        heal(repo.vault, CALLER)
        repo.git("commit", "-q", "--no-edit")
    else:
        assert (repo.git("status", "--porcelain"), repo.briefings) == before[1:]
        for name in ("one", "two"):
            repo.git("merge", "-q", "--no-edit", name)
    repo.assert_whole()
    assert repo.is_fresh()
    assert repo.titles() >= {"from-one", "from-two", "here"}


def test_without_the_driver_the_same_merge_stops(repo) -> None:
    """The control: what the tests above would not notice if git merged such pages by itself."""
    drivers.unregister(repo.vault.root)
    repo.diverge()
    repo.git("merge", "-q", "side", fails=True)
    assert "briefings/app/decisions.md" in repo.git("ls-files", "-u")


def test_a_driver_whose_program_is_gone_stops_no_merge_and_the_page_is_healed(repo) -> None:
    repo.git(
        "config",
        "merge.cortex-briefing.driver",
        '"/nonexistent/python" -I -S "/nonexistent/merge_driver.py" briefing %O %A %B %L %P || true',
    )
    repo.diverge()
    merge(repo)
    repo.assert_whole()
    assert not repo.is_fresh()
    run_cortex("status", cwd=repo.root).check_returncode()
    assert repo.is_fresh()


def page_that_one_side_deleted(repo: Repo) -> None:
    """By hand, and the other side changed it: git stops, as it asks no driver."""
    repo.git("rm", "-q", "briefings/app/decisions.md")
    repo.git("commit", "-qm", "gone")
    repo.set_aside()
    repo.decide("company")
    repo.commit("company")


@pytest.mark.parametrize("command", [("status",), ("sync", "--no-push")], ids=" ".join)
@pytest.mark.parametrize("operation", ["merge", "rebase"])
@pytest.mark.parametrize("back", [False, True], ids=["and on", "and back"])
def test_a_page_that_holds_up_a_merge_is_healed_by_the_next_command_and_git_goes_on_or_back(
    repo, command, operation, back
) -> None:
    page_that_one_side_deleted(repo)
    before = repo.git("rev-parse", "HEAD"), repo.briefings
    repo.git(operation, "side", fails=True)
    assert "briefings/app/decisions.md" in repo.git("ls-files", "-u")
    run_cortex(*command, cwd=repo.root)
    if back:
        repo.git(operation, "--abort")
        assert (repo.git("rev-parse", "HEAD"), repo.briefings) == before
    else:
        repo.git(
            *(["commit", "-q", "--no-edit"] if operation == "merge" else ["rebase", "--continue"])
        )
        repo.assert_whole()
        assert repo.is_fresh()
