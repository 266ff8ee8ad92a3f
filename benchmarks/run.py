"""Measure what the design promises; print tables. Ratios are to bare Python of the same run: `python benchmarks/run.py [--quick]`."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks import agents, extraction, hooks, knowledge, reminders, sharing
from benchmarks.corpus import write_vault
from benchmarks.measure import QUICK, RUNS, SIZES, cpu_of, median_cpu, row, timed
from cortex.core.model.caller import Caller, no_progress
from cortex.index import file_scan
from cortex.operations.care.init import init
from cortex.operations.records.capture import capture
from cortex.operations.upkeep.normalize import normalize
from cortex.vault.locate import Vault


def whole_processes(root: str, notes: int) -> None:
    python = sys.executable
    cortex = [python, os.path.join(os.path.dirname(python), "cortex")]
    print(f"\nWhole processes, CPU, median of {RUNS}, vault of {notes:,} notes\n")
    row("command", "ms", "× bare Python", "budget")
    row("---", "---:", "---:", "---:")
    bare = median_cpu([python, "-c", "pass"], root)
    row("`python -c pass`", f"{bare:.1f}", "1.0", "")
    for command, budget in (
        (["capture", "Decision: measure it"], 4),
        (["search", "storage"], 14),
        (["search", "merge", "decision", "folder"], 14),
        (["search", "type:decision after:2026-06 storage"], 14),
        (["show", "note-000042"], ""),
        (["status"], ""),
        (["doctor"], ""),
    ):
        if command[0] == "search":
            median_cpu(
                [*cortex, "search", "storage"], root, 1
            )  # whatever was captured before is normalized now
            time.sleep(2.2)  # stamps younger than two seconds are read again; that is another row
            median_cpu([*cortex, "search", "storage"], root, 1)
        cpu = median_cpu([*cortex, *command], root)
        row(f"`cortex {' '.join(command)}`", f"{cpu:.1f}", f"{cpu / bare:.1f}", budget)


def sizes(work: str) -> str:
    print("\nA vault by its size\n")
    row(
        "notes",
        "build, one core: CPU s",
        "wall s",
        "build, two cores: wall s",
        "peak MB",
        "cache MB",
        "scan ms",
        "one note changed, CPU ms",
    )
    row(*["---:"] * 8)
    root = ""
    for notes in SIZES:
        root = os.path.join(work, f"v{notes}")
        write_vault(root, notes)
        measured = {}
        for procs in (1, 2):
            cache = os.path.join(work, f"cache-{notes}-{procs}")
            environment = os.environ | {"XDG_CACHE_HOME": cache}
            script = (
                f"import resource, time; from cortex.interfaces.cli.main import main; w = time.perf_counter(); main(['rebuild', '--cores', '{procs}'])\n"
                "u = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]\n"
                "print(sum(x.ru_utime + x.ru_stime for x in u), time.perf_counter() - w, max(x.ru_maxrss for x in u) / 1024)"
            )
            out = subprocess.run(
                [sys.executable, "-c", script],
                cwd=root,
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            measured[procs] = [float(word) for word in out.stdout.split("\n")[-2].split()]
        cache_mb = (
            sum(
                os.path.getsize(os.path.join(folder, name))
                for folder, _, names in os.walk(cache)
                for name in names
            )
            / 1e6
        )
        scan = min(timed(lambda: file_scan.scan_vault(root, (), ()))[0] for _ in range(5))
        subprocess.run(
            [sys.executable, "-m", "cortex", "rebuild"], cwd=root, check=True, capture_output=True
        )
        time.sleep(2.2)
        subprocess.run(
            [sys.executable, "-m", "cortex", "status"], cwd=root, check=True, capture_output=True
        )
        quiet = median_cpu([sys.executable, "-m", "cortex", "search", "storage"], root, 5)
        changes = []
        for number in range(5):
            with open(
                os.path.join(root, "notes", "00", f"new-{number}.md"), "w", encoding="utf-8"
            ) as file:
                file.write(f"# New {number}\n\nzebra {number}\n")
            changes.append(
                cpu_of([sys.executable, "-m", "cortex", "search", "storage"], root) - quiet
            )
        one, two = measured[1], measured[2]
        row(
            f"{notes:,}", f"{one[0]:.1f}", f"{one[1]:.1f}", f"{two[1]:.1f} ({one[1] / two[1]:.1f}×)", f"{max(one[2], two[2]):.0f}",
            f"{cache_mb:.0f}", f"{1000 * scan:.0f}", f"{statistics.median(changes):.0f}",
        )  # fmt: skip
    return root


FTS_BUILD = """
import os, sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("CREATE VIRTUAL TABLE note USING fts5(path UNINDEXED, body, tokenize = 'porter unicode61')")
for folder, _, names in os.walk("notes"):
    for name in names:
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as file:
            db.execute("INSERT INTO note VALUES (?, ?)", (path, file.read()))
db.commit()
"""
FTS_ASK = """
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT path FROM note WHERE note MATCH 'storage' ORDER BY rank LIMIT 10").fetchall())
"""


def peers(root: str, work: str) -> None:
    """What a user could type instead. Neither notices that a note has changed (FTS5) or ranks what it finds (grep)."""
    print("\nWhat else finds a word in these notes, CPU\n")
    row("way", "build, s", "one search, ms")
    row("---", "---:", "---:")
    database = os.path.join(work, "fts.sqlite")
    cpu, _ = timed(
        lambda: subprocess.run([sys.executable, "-c", FTS_BUILD, database], cwd=root, check=True)
    )
    row(
        "SQLite FTS5 from Python, no freshness scan, no snippet",
        f"{cpu:.1f}",
        f"{median_cpu([sys.executable, '-c', FTS_ASK, database], root):.1f}",
    )
    row(
        "`grep -ril storage .`", "0", f"{median_cpu(['grep', '-ril', 'storage', '.'], root, 5):.1f}"
    )


def in_process(work: str) -> None:
    print("\nIn one process\n")
    row("what", "figure")
    row("---", "---")
    root = os.path.join(work, "fresh")
    clock = [0]

    def caller() -> Caller:
        clock[0] += 20 * 60
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_760_000_000 + clock[0]))
        return Caller(work, at, os.urandom, "bench", no_progress)

    vault = Vault(init(caller(), root).root)
    spent = []
    events = 300 if QUICK else 1000
    for number in range(events):
        start = time.perf_counter()
        capture(
            vault,
            caller(),
            f"Decision: use way {number}, because it is better than way {number - 1}",
            project="bench",
        )
        spent.append(1000 * (time.perf_counter() - start))
    spent.sort()
    row(
        "capture with fsync, p50 / p95 ms",
        f"{spent[len(spent) // 2]:.2f} / {spent[int(len(spent) * 0.95)]:.2f}",
    )
    cpu, wall = timed(lambda: normalize(vault, caller()))
    row(
        f"normalize {events:,} events, events/s (CPU / wall)",
        f"{events / cpu:.0f} / {events / wall:.0f}",
    )
    cpu, wall = timed(lambda: normalize(vault, caller()))
    row("normalize an empty inbox, ms", f"{1000 * wall:.1f}")


def main() -> None:
    work = tempfile.mkdtemp(prefix="cortex-bench-")
    os.environ |= {
        "XDG_CACHE_HOME": os.path.join(work, "cache"),
        "XDG_STATE_HOME": os.path.join(work, "state"),
    }
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed program has its bytecode
    os.environ["PYTHONPATH"] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        print(f"Python {sys.version.split()[0]}, {os.cpu_count()} cores")
        root = sizes(work)
        whole_processes(root, SIZES[-1])
        peers(root, work)
        in_process(work)
        sharing.tables(root, work)
        knowledge.tables(work)
        hooks.tables(root, work)
        agents.tables(root, SIZES[-1])
        reminders.tables(work)
        extraction.tables()
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
