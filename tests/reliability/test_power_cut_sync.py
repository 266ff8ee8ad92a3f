"""Real power cuts around `cortex sync`: the next sync works, after one `cortex doctor --fix` at most.

The vault, the caches and the state folder lie on the disk whose power is cut; the remote and the other clone are another
machine's. A disk that lies about its flush is not covered.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.record import Record, compose_record
from cortex.operations.care.init import init
from cortex.operations.records.capture import capture
from cortex.operations.share.sync import sync
from cortex.vault.locate import Vault
from tests.conftest import run_git

pytestmark = [
    pytest.mark.power,
    pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="not run: there is no /proc here"),
]
SEED = int(os.environ.get("CORTEX_SEED", "20261120"))
SHARED = "records/decision/shared-aaaaaa.md"
# What the sync's git is caught at when the power goes; nothing is any moment of the sync.
GITS = [b"merge", b"rebase", b"commit", b"push", b"fetch", b"update-index", b"", b""]
BEFORE_BOOT = 1_000_000_000.0  # a time before any machine that runs this was started


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def caller_in(folder: Path) -> Caller:
    return Caller(str(folder), now(), os.urandom, "test", no_progress)


class Clones:
    """A clone on the disk that loses power, `here`, and one on another machine."""

    def __init__(self, disk, elsewhere: Path, chance: random.Random) -> None:
        self.disk, self.chance, self.remote = disk, chance, elsewhere / "remote.git"
        self.there = Path(init(caller_in(elsewhere), str(elsewhere / "there")).root)
        self.here = Path(os.path.realpath(disk.at)) / "vault"
        self.acknowledged: list[str] = []
        self.tags: list[str] = []
        self.took = 1.0  # seconds, the last whole sync
        self.environment = os.environ | dict.fromkeys(
            ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"), str(disk.at / "home")
        )
        (self.there / "records/decision").mkdir(parents=True)
        record = Record(
            "shared-aaaaaa",
            "decision",
            "Shared",
            "Ours.",
            "2026-11-01T10:00:00Z",
            (),
            project="p",
            branch="main",
        )
        (self.there / SHARED).write_text(
            compose_record(record).replace("created:", "tags: [first]\ncreated:")
        )
        run_git(self.there, "init", "-q")
        sync(Vault(str(self.there)), caller_in(self.there))
        run_git(self.there, "clone", "-q", "--bare", ".", str(self.remote))
        run_git(self.there, "remote", "add", "origin", str(self.remote))
        run_git(elsewhere, "clone", "-q", str(self.remote), str(self.here))
        assert self.cortex("sync")[0] == 0
        os.sync()

    def work(self, root: Path, turn: int) -> None:
        """Capture twice, and tag the record that both tag."""
        for n in range(2):
            text = f"Decision: {turn}.{n} of {root.name}, because"
            self.acknowledged.append(
                capture(Vault(str(root)), caller_in(root), text, project="p", branch="main").id
            )
        self.tags.append(f"{root.name}{turn}")
        text = (root / SHARED).read_text().replace("tags: [", f"tags: [{self.tags[-1]}, ", 1)
        with (root / SHARED).open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def cortex(self, *words: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "cortex", *words]
        done = subprocess.run(
            command,
            cwd=self.here,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def lose_power_in_a_sync(self) -> str:
        """Start a sync and cut the power in it, at any moment or a little after one of its gits has begun; answers when."""
        command = [sys.executable, "-m", "cortex", "sync"]
        null = subprocess.DEVNULL
        process = subprocess.Popen(
            command, cwd=self.here, env=self.environment, stdin=null, stdout=null, stderr=null
        )
        wanted = self.chance.choice(GITS)
        deadline = time.monotonic() + (self.chance.uniform(0.1, self.took) if not wanted else 60.0)
        while (
            process.poll() is None
            and time.monotonic() < deadline
            and not (wanted and at_work(process.pid, wanted))
        ):
            time.sleep(0.001)
        time.sleep(self.chance.choice([0, 0.002, 0.005, 0.01, 0.02, 0.05]))
        self.disk.cut()
        ended = process.poll() is not None
        for number in [process.pid, *children(process.pid)]:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        process.wait()
        return (
            "after its end" if ended else f"at git {wanted.decode()}" if wanted else "at any moment"
        )

    def restart(self) -> list[str]:
        """Mount the disk again as after a boot; answers what git has left of an unfinished command."""
        deadline = time.monotonic() + 20
        while True:
            try:
                self.disk.restart()
                break
            except OSError:  # a child of git that is not gone yet
                assert time.monotonic() < deadline
        folder = self.here / ".git"
        locks = [
            path
            for path in folder.rglob("*.lock")
            if "cortex-damaged" not in path.parts and not path.name.startswith("cortex")
        ]
        for path in locks:
            os.utime(path, (BEFORE_BOOT, BEFORE_BOOT))  # the machine itself was not started anew
        names = [re.sub(r"\d+", "N", str(path.relative_to(folder))) for path in locks]
        return names + [
            name
            for name in ("MERGE_HEAD", "rebase-merge", "cortex-sync")
            if (folder / name).exists()
        ]

    def lost(self) -> list[str]:
        """Acknowledged events that are not in the last commit exactly once, and tags that are gone."""
        paths = run_git(self.here, "ls-tree", "-r", "-z", "--name-only", "HEAD").split("\0")
        places = Counter(
            path.rpartition("/")[2] for path in paths if path.startswith(("events/", "inbox/"))
        )
        tags = re.findall(r"\w+", (self.here / SHARED).read_text())
        return [id_ for id_ in self.acknowledged if places[f"{id_}.md"] != 1] + [
            tag for tag in self.tags if tag not in tags
        ]


def children(number: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{number}/task").glob("*/children"):
        with suppress(OSError):
            below = [int(word) for word in task.read_text().split()]
            found += below + [inner for one in below for inner in children(one)]
    return found


def at_work(number: int, verb: bytes) -> bool:
    """Whether the process has a git at this verb below it."""
    for child in children(number):
        with suppress(OSError):
            if verb in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"):
                return True
    return False


def test_a_sync_after_a_power_cut_in_a_sync_works_after_one_repair_at_most(
    disk, homes, soak, tmp_path
) -> None:
    cycles = int(os.environ.get("CYCLES", 150 if soak else 2))
    chance = random.Random(SEED)
    clones = Clones(disk, tmp_path, chance)
    there = Vault(str(clones.there))
    seen: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for turn in range(cycles):
        where = f"seed {SEED}, cycle {turn}"
        run_git(clones.here, "config", "pull.rebase", chance.choice(["true", "false"]))
        clones.work(clones.there, turn)
        assert sync(there, caller_in(clones.there)).trouble == ""
        clones.work(clones.here, turn)
        when = clones.lose_power_in_a_sync()
        found = clones.restart()
        seen[when] += 1
        left.update(found)
        begun = time.monotonic()
        code, said = clones.cortex("sync")
        if code:
            seen["repaired"] += 1
            assert "cortex doctor --fix" in said, f"{where}, {when}, {found}: {said}"
            assert time.monotonic() - begun < 20, f"{where}, {when}, {found}: {said}"
            fixed = clones.cortex("doctor", "--fix")[1]
            code, again = clones.cortex("sync")
            said += fixed + again
            assert code == 0, f"{where}, {when}, {found}:\n{said}\n{fixed}\n{again}"
        clones.took = (
            time.monotonic() - begun if code == 0 and "repaired" not in seen else clones.took
        )
        seen["restored"] += "was cut off by a crash" in said
        # The files in which git hands three versions to a merge driver: git itself leaves them.
        for stray in clones.here.glob(".merge_file_*"):
            stray.unlink()
        assert run_git(clones.here, "status", "--porcelain") == "", f"{where}, {when}, {found}"
        assert run_git(clones.here, "rev-parse", "HEAD") == run_git(
            clones.remote, "rev-parse", "main"
        ), f"{where}, {when}, {found}"
        assert [path for path in clones.here.rglob("*.md") if not path.stat().st_size] == [], (
            f"{where}, {when}, {found}"
        )
        assert clones.lost() == [], f"{where}, {when}, {found}: {said}"
    assert sync(there, caller_in(clones.there)).trouble == ""
    assert clones.cortex("doctor")[0] == 0, clones.cortex("doctor")
    assert run_git(clones.here, "ls-tree", "-r", "HEAD") == run_git(
        clones.there, "ls-tree", "-r", "HEAD"
    )
    assert clones.lost() == []
    print(
        f"\n{cycles} power cuts in a sync: {dict(seen)}; left behind: {dict(left)}; {len(clones.acknowledged)} events, all there"
    )


WITHOUT = "from cortex.vault.git import work_tree; work_tree.sync_merged_files = lambda *_: None; from cortex.interfaces.cli.main import console; console()"


@pytest.mark.parametrize("durable", [True, False], ids=["as it is", "control"])
def test_what_a_sync_took_is_on_the_disk_when_it_ends(durable, disk, homes, soak, tmp_path) -> None:
    """The power goes right after the end of a sync. The control does not sync the work tree, as git does not."""
    clones = Clones(disk, tmp_path, random.Random(SEED))
    damaged = 0
    cycles = 20 if soak else 2
    for turn in range(cycles):
        clones.work(clones.there, turn)
        assert sync(Vault(str(clones.there)), caller_in(clones.there)).trouble == ""
        command = [sys.executable, *(["-m", "cortex"] if durable else ["-c", WITHOUT]), "sync"]
        done = subprocess.run(
            command,
            cwd=clones.here,
            env=clones.environment,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        disk.cut()
        clones.restart()
        damaged += run_git(clones.here, "status", "--porcelain") != ""
        run_git(clones.here, "reset", "--hard", "-q")
        os.sync()
    print(f"\n{'as it is' if durable else 'control'}: {damaged} of {cycles} work trees damaged")
    assert damaged == 0 if durable else damaged >= cycles // 3
