"""`kill -9` of watcher, sync and heal at random moments, alone or with the git that they had started: the next command
carries on, git finds nothing wrong, and two clones come to the same notes with everything that was acknowledged."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller
from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.records.capture import capture
from cortex.operations.share.sync import sync
from cortex.operations.upkeep.heal import heal
from cortex.vault.locate import Vault
from tests.conftest import caller_now, run_git

SOAK = os.environ.get("CORTEX_SOAK") == "1"
SEED = int(os.environ.get("CORTEX_SEED", "20261120"))
ROUNDS = 67 if SOAK else 1  # of three kills each
SHARED = "records/decision/shared-aaaaaa.md"
RECORD = "---\nid: {id}\ntype: decision\ntitle: {id}\nproject: p\nbranch: main\ntags: [{tags}]\ncreated: 2026-11-01T10:00:00Z\n---\n\n# {id}\n\nOurs.\n"
EARLIEST = {"sync": 0.05, "heal": 0.03, "watch": 0.2}  # seconds after which the victim is killed
LATEST = {"sync": 0.7, "heal": 0.25, "watch": 2.6}  # or sooner, where it has often ended by then
# What git is caught at when it is killed as well; nothing is any moment.
GITS = {
    "sync": [b"merge", b"rebase", b"commit", b"push", b"update-index", b""],
    "heal": [b""],
    "watch": [b"commit", b""],
}

pytestmark = pytest.mark.skipif(
    not os.path.isdir("/proc"), reason="not run: who is whose child is read from /proc"
)


class Clone:
    """A vault, who works in it, and what they were promised."""

    latest = LATEST.copy()  # of all clones

    def __init__(self, root: Path, name: str, chance: random.Random) -> None:
        self.vault, self.root, self.name, self.chance = (
            Vault(os.path.realpath(root)), Path(os.path.realpath(root)), name, chance,
        )  # fmt: skip
        self.acknowledged: list[str] = []
        self.tags: list[str] = []
        self.kills: Counter[str] = Counter()
        self.locks: Counter[str] = Counter()

    def caller(self) -> Caller:
        return caller_now(str(self.root))

    def git(self, *words: str) -> str:
        return run_git(self.root, *words)

    def work(self, turn: int) -> None:
        """Capture twice, tag the record that everybody tags, write one of one's own."""
        for n in range(2):
            text = f"Decision: {turn}.{n} of {self.name}, because"
            made = capture(self.vault, self.caller(), text, project="p", branch="main")
            self.acknowledged.append(made.id)
        self.tags.append(f"{self.name}{turn}x{len(self.tags)}")
        file = self.root / SHARED
        file.write_text(file.read_text().replace("tags: [", f"tags: [{self.tags[-1]}, ", 1))
        own = f"own-{self.tags[-1]}"
        (self.root / f"records/decision/{own}.md").write_text(RECORD.format(id=own, tags=""))

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.root.parent / f"{self.name}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "cortex", *words],
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def killed(self, victim: subprocess.Popen[bytes], kind: str, begun: float) -> None:
        """End it as nothing should be ended, alone or with the git that it runs; then do what is a person's to do."""
        moment = begun + self.chance.uniform(EARLIEST[kind], self.latest[kind])
        with contextlib.suppress(subprocess.TimeoutExpired):
            victim.wait(max(0.0, moment - time.monotonic()))
        whole = self.chance.random() < 0.5
        wanted = self.chance.choice(GITS[kind])
        while (
            whole
            and wanted
            and victim.poll() is None
            and not at_work(victim.pid, wanted)
            and time.monotonic() < moment + 1
        ):
            time.sleep(0.001)
        time.sleep(self.chance.uniform(0, 0.01))
        children = family(victim.pid, stop=whole) if victim.poll() is None else []
        for number in [victim.pid, *(children if whole else [])]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        ended = victim.wait() != -signal.SIGKILL
        self.latest[kind] = min(
            LATEST[kind], max(EARLIEST[kind], self.latest[kind] * (0.7 if ended else 1.15))
        )
        self.kills[
            f"{kind} had ended"
            if ended
            else f"{kind} and its git"
            if whole and children
            else f"{kind} alone"
        ] += 1
        until_gone(children)
        for path in self.left_locks():
            # Only a git that was killed itself leaves a lock behind. Nobody but a person can know that it is nobody's.
            assert whole, f"seed {SEED}: {path} was left though its git was not killed"
            self.locks[path.name] += 1
            os.utime(path, (time.time() - 1200, time.time() - 1200))
            named = [
                problem
                for problem in doctor(self.vault, self.caller()).problems
                if problem.where == str(path.relative_to(self.root))
            ]
            assert named, f"seed {SEED}: doctor does not name {path}"
            assert named[0].hint == f"rm {path}"
            path.unlink()

    def left_locks(self) -> list[Path]:
        """Git's locks that stop a next git. A partial commit's own index has its process's number in its name and stops nobody."""
        found = sorted((self.root / ".git").rglob("*.lock"))
        return [path for path in found if not path.name.startswith(("cortex", "next-index-"))]

    def synced(self) -> None:
        done = sync(self.vault, self.caller())
        assert (done.trouble, done.waiting, done.problems) == ("", (), ()), (
            f"seed {SEED}: {self.name}: {done}"
        )

    def tree(self) -> list[str]:
        return self.git("ls-tree", "-r", "HEAD").splitlines()


def family(pid: int, *, stop: bool) -> list[int]:
    """All children of a process and theirs; with `stop` none of them goes on meanwhile."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        if stop:
            with contextlib.suppress(ProcessLookupError):
                os.kill(parent, signal.SIGSTOP)
        for task in list_or_none(f"/proc/{parent}/task"):
            with contextlib.suppress(OSError):
                children = [
                    int(word)
                    for word in Path(f"/proc/{parent}/task/{task}/children").read_text().split()
                ]
                found += children
                waiting += children
    return found


def at_work(pid: int, verb: bytes) -> bool:
    """Whether the process has a git at this verb below it."""
    for number in family(pid, stop=False):
        with contextlib.suppress(OSError):
            if verb in Path(f"/proc/{number}/cmdline").read_bytes().split(b"\0"):
                return True
    return False


def list_or_none(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def until_gone(processes: list[int]) -> None:
    deadline = time.monotonic() + 20
    while any(state(number) not in ("", "Z") for number in processes):
        assert time.monotonic() < deadline, f"{processes} live on"
        time.sleep(0.01)


def state(number: int) -> str:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@pytest.fixture
def two(tmp_path: Path, caller: Caller) -> tuple[Clone, Clone]:
    """Two clones of a bare remote, one that merges and one that rebases."""
    chance = random.Random(SEED)
    first = Clone(Path(init(caller, str(tmp_path / "a")).root), "a", chance)
    (first.root / "records/decision").mkdir(parents=True)
    (first.root / SHARED).write_text(RECORD.format(id="shared-aaaaaa", tags="first"))
    first.git("init", "-q")
    assert sync(first.vault, caller).commits
    first.git("clone", "-q", "--bare", ".", str(tmp_path / "remote.git"))
    first.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    first.synced()
    first.git("clone", "-q", str(tmp_path / "remote.git"), str(tmp_path / "b"))
    second = Clone(tmp_path / "b", "b", chance)
    second.git("config", "pull.rebase", "true")
    second.synced()
    return first, second


def test_killed_at_any_moment_the_next_command_carries_on(two, tmp_path) -> None:
    for turn in range(ROUNDS):
        here, there = two if turn % 2 else two[::-1]
        there.work(turn)
        there.synced()  # so that the other has something to merge
        there.work(turn)
        begun = time.monotonic()
        watcher = there.start("watch", "--quiet", "0")
        try:
            here.work(turn)
            here.killed(here.start("sync"), "sync", time.monotonic())
            here.synced()
            here.work(turn)
            here.killed(here.start("heal"), "heal", time.monotonic())
            heal(here.vault, here.caller())
            assert not heal(here.vault, here.caller(), check=True).stale
        finally:
            there.killed(watcher, "watch", begun)
        there.synced()

    for each in (*two, two[0]):
        each.synced()
    a, b = two
    assert a.tree() == b.tree()
    paths = [line.partition("\t")[2] for line in a.tree()]
    places = Counter(
        path.rpartition("/")[2] for path in paths if path.startswith(("events/", "inbox/"))
    )
    acknowledged = a.acknowledged + b.acknowledged
    assert {id_: places[f"{id_}.md"] for id_ in acknowledged} == dict.fromkeys(acknowledged, 1), (
        f"seed {SEED}"
    )
    assert not [path for path in paths if path.startswith("inbox/") and path.endswith(".md")]
    for each in two:
        tags = re.findall(r"\w+", (each.root / SHARED).read_text())
        assert [tag for tag in a.tags + b.tags if tag not in tags] == [], f"seed {SEED}"
        assert {f"own-{tag}.md" for tag in a.tags + b.tags} <= {
            path.rpartition("/")[2] for path in paths
        }
        assert not [
            path
            for path in each.root.rglob("*.md")
            if re.search(r"^(<<<<<<<|>>>>>>>)", path.read_text(), re.MULTILINE)
        ]
        assert each.git("status", "--porcelain") == ""
        assert each.left_locks() == []
        assert not (each.root / ".git/MERGE_HEAD").exists()
        assert not (each.root / ".git/rebase-merge").exists()
        assert not (each.root / ".git/cortex-sync").exists()
        assert each.git("fsck", "--strict", "--no-dangling") == ""
        assert [
            problem
            for problem in doctor(each.vault, each.caller()).problems
            if not problem.where.endswith(".cx-tmp")
        ] == []
    subprocess.run(
        ["git", "fsck", "--strict"], cwd=tmp_path / "remote.git", capture_output=True, check=True
    )
    kills, locks = a.kills + b.kills, a.locks + b.locks
    assert sum(kills.values()) == 3 * ROUNDS
    assert sum(count for kind, count in kills.items() if "ended" not in kind) >= ROUNDS, kills
    print(
        f"\n{dict(sorted(kills.items()))}; locks for a person to remove: {dict(locks) or 'none'}; {len(acknowledged)} events, all there"
    )
