"""What sharing costs: the merge drivers, briefings, commits, a sync, a search through the watcher."""

from __future__ import annotations

import itertools
import os
import shutil
import statistics
import subprocess
import sys
import time

from benchmarks.measure import QUICK, RUNS, cpu_of, median_cpu, row, timed
from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.record import Record, compose_record
from cortex.index.refresh import query_index
from cortex.operations.care.init import init
from cortex.operations.records.capture import capture
from cortex.operations.share.sync import sync
from cortex.operations.upkeep.heal import heal
from cortex.vault.git import commit
from cortex.vault.git.changes import UncommittedChange
from cortex.vault.git.drivers import DRIVER_SCRIPT
from cortex.vault.locate import Vault

RECORD = Record(
    "a-record-aaaaaa",
    "decision",
    "Use SQLite",
    "One.\n\nTwo.\n\nThree.\n\nFour.\n",
    "2026-11-20T10:00:00Z",
    ("20261120t100000z-aaaaaaaaaa",),
    tags=("a",),
)


def tables(root: str, work: str) -> None:
    _drivers(work)
    _watched(root)
    _briefings(work)
    _git(work)


def _caller() -> Caller:
    return Caller(
        "/", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), os.urandom, "bench", no_progress
    )


def _git_in(folder: str, *words: str) -> None:
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def _drivers(work: str) -> None:
    print(f"\nThe merge drivers, CPU of the whole process with its children, median of {RUNS}\n")
    row("driver", "ms", "× bare Python", "budget")
    row("---", "---:", "---:", "---:")
    text = compose_record(RECORD)
    versions = {
        "base": text,
        "ours": text.replace("[a]", "[a, b]").replace("One.", "One, changed."),
        "theirs": text.replace("[a]", "[a, c]").replace("Four.", "Four, changed."),
    }
    page = "---\ntype: briefing\npage: decisions\nproject: app\ngenerator: 1\n---\n# x\n" + "".join(
        f"- Decision {n} <!-- cx id-{n} {n} -->\n" for n in range(200)
    )
    pages = {
        "base": page,
        "ours": page + "- Mine <!-- cx mine 999 -->\n",
        "theirs": page + "- Yours <!-- cx yours 999 -->\n",
    }
    bare = median_cpu([sys.executable, "-c", "pass"], work)
    row("`python -c pass`", f"{bare:.1f}", "1.0", "")
    for kind, held in (("record", versions), ("briefing", pages)):
        for name, data in held.items():
            with open(os.path.join(work, name), "w", encoding="utf-8") as file:
                file.write(data)
        # Every run merges what the run before left: the result once more with theirs, which is the same work.
        cpu = median_cpu(
            [
                sys.executable,
                "-I",
                "-S",
                DRIVER_SCRIPT,
                kind,
                "base",
                "ours",
                "theirs",
                "7",
                "x.md",
            ],
            work,
        )
        row(f"{kind}, both sides changed it", f"{cpu:.1f}", f"{cpu / bare:.1f}", "2.5")


def _watched(root: str) -> None:
    print("\nA search while the watcher runs\n")
    row("command", "client, CPU ms", "watcher, CPU ms", "both, × bare Python", "budget", "wall ms", "× bare Python", "budget")  # fmt: skip
    row("---", *["---:"] * 7)
    cortex = [sys.executable, os.path.join(os.path.dirname(sys.executable), "cortex")]
    with subprocess.Popen(
        [*cortex, "watch", "--quiet", "600"],
        cwd=root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as watcher:
        try:
            while subprocess.run(
                [*cortex, "watch", "--status"], cwd=root, capture_output=True, check=False
            ).returncode:
                time.sleep(0.1)
            time.sleep(3)
            for words in (["storage"], ["merge", "decision", "folder"]):
                search = [*cortex, "search", *words]
                rounds = [
                    (
                        *_cost([sys.executable, "-c", "pass"], root, watcher.pid)[:2],
                        *_cost(search, root, watcher.pid),
                    )
                    for _ in range(RUNS)
                ]
                bare, bare_wall, client, wall, helper = map(
                    statistics.median, zip(*rounds, strict=True)
                )
                row(
                    f"`cortex search {' '.join(words)}`", f"{client:.1f}", f"{helper:.1f}",
                    f"{(client + helper) / bare:.1f}", "3.5",
                    f"{wall:.0f}", f"{wall / bare_wall:.1f}", "3",
                )  # fmt: skip
        finally:
            subprocess.run([*cortex, "watch", "--stop"], cwd=root, capture_output=True, check=False)
            watcher.wait()


def _cost(command: list[str], root: str, helper: int) -> tuple[float, float, float]:
    """Of one process in ms: its CPU, its wall time, and the CPU of a process that helps it."""
    clock = ~helper << 3 | 2  # the CPU clock of another process, as the C library numbers it
    before, begun = time.clock_gettime(clock), time.perf_counter()
    cpu = cpu_of(command, root)
    wall = 1000 * (time.perf_counter() - begun)
    time.sleep(0.02)  # what the helper still does once it has answered
    return cpu, wall, 1000 * (time.clock_gettime(clock) - before)


def _records(root: str, count: int) -> Vault:
    vault = Vault(init(_caller(), root).root)
    for number in range(count):
        type_ = ("decision", "gotcha", "pattern", "action")[number % 4]
        record = RECORD._replace(
            id=f"note-{number:05}-aaaaaa", type=type_, title=f"Note {number}", body=f"Note {number}\n\n**Why.** Reason {number}.\n" + "word " * 100,
            project="app", branch=f"b{number % 5}", created=f"2026-{number % 12 + 1:02}-{number % 28 + 1:02}T10:00:00Z", events=(), status="open" if type_ == "action" else "active",
        )  # fmt: skip
        folder = os.path.join(root, "records", type_)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"{record.id}.md"), "w", encoding="utf-8") as file:
            file.write(compose_record(record))
    return vault


def _briefings(work: str) -> None:
    count = 1_000 if QUICK else 10_000
    print(f"\nBriefings of {count:,} records\n")
    row("what", "CPU ms", "budget")
    row("---", "---:", "---:")
    vault = _records(os.path.join(work, "records"), count)
    query_index(vault, no_progress, lambda _: None)
    row(
        "full heal, nothing there",
        f"{1000 * timed(lambda: heal(vault, _caller()))[0]:.0f}",
        "3,000",
    )
    changed = os.path.join(vault.root, "records", "decision", "note-00000-aaaaaa.md")
    spent = []
    for number in range(5):
        time.sleep(2.1)  # older than any tick of the clock, so that the look below settles it
        with open(changed, "r+", encoding="utf-8") as file:
            text = file.read()
            file.seek(0)
            file.write(text.replace("title: Note", f"title: Changed {number} Note", 1))
        time.sleep(0.1)
        query_index(vault, no_progress, lambda _: None)
        spent.append(timed(lambda: heal(vault, _caller()))[0])
    row("heal after one change, scan included", f"{1000 * statistics.median(spent):.0f}", "100")


def _git(work: str) -> None:
    print("\nGit\n")
    row("what", "wall", "CPU", "budget")
    row("---", "---:", "---:", "---:")
    root = os.path.join(work, "records")
    _git_in(root, "init", "-q", "-b", "main")
    for key, value in (("user.name", "bench"), ("user.email", "bench@example.org")):
        _git_in(root, "config", key, value)
    _git_in(root, "add", ".")
    _git_in(root, "commit", "-qm", "all")

    def note(number: int) -> str:
        path = f"records/decision/new-{number}.md"
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(f"---\nid: new-{number}-aaaaaa\n---\ntext\n")
        return path

    numbers = itertools.count()

    def plain() -> None:
        path = note(next(numbers))
        _git_in(root, "add", path)
        _git_in(root, "commit", "-qm", "one")

    def ours() -> None:
        commit.commit_changes(root, [UncommittedChange(note(next(numbers)), "A")], "one")

    by_git, by_cortex = ([timed(run) for _ in range(RUNS)] for run in (plain, ours))
    (cpu, wall), (our_cpu, our_wall) = (
        [statistics.median(figures) for figures in zip(*runs, strict=True)]
        for runs in (by_git, by_cortex)
    )
    row(
        "`git add` and `git commit` of one file",
        f"{1000 * wall:.0f} ms",
        f"{1000 * cpu:.0f} ms",
        "",
    )
    row(
        "the same by Cortex",
        f"{1000 * our_wall:.0f} ms ({our_wall / wall:.1f}×)",
        f"{1000 * our_cpu:.0f} ms ({our_cpu / cpu:.1f}×)",
        "2×",
    )
    events = 100 if QUICK else 1_000
    remote = os.path.join(work, "remote")
    _git_in(work, "clone", "-q", "--bare", "records", "remote")
    _git_in(root, "remote", "add", "origin", remote)
    _git_in(root, "fetch", "-q")
    _git_in(root, "branch", "-q", "--set-upstream-to=origin/main")
    for number in range(events):
        capture(
            Vault(root),
            _caller(),
            f"Decision: way {number}, because it is better",
            project="app",
            branch="main",
        )
    cpu, wall = timed(lambda: sync(Vault(root), _caller()))
    row(
        f"sync of {events:,} new events to a bare remote here",
        f"{wall:.1f} s",
        f"{cpu:.1f} s",
        "10 s",
    )
    shutil.rmtree(remote)
