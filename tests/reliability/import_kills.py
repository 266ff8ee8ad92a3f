"""An import is killed with -9 at a system call that changes files, in a real process, and begun again: afterwards each
memory is there once.

By hand: `python -m tests.reliability.import_kills 20 [SEED [ROWS]]`, so many kills.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from cortex.core.notes.note import read
from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.vault.locate import Vault
from tests.conftest import caller_now

# Before anything of Cortex: counts the calls that give a file its name, and kills the process at one of them.
BREAKER = """
import os, signal, sys
at, calls = int(sys.argv.pop(1)), 0
def wrap(name):
    real = getattr(os, name)
    def call(*words, **more):
        global calls
        calls += 1
        if calls == at: os.kill(os.getpid(), signal.SIGKILL)
        return real(*words, **more)
    setattr(os, name, call)
for name in ("link", "rename", "replace", "unlink"): wrap(name)
from cortex.interfaces.cli.main import main
code = main(sys.argv[1:])
print(calls, file=sys.stderr)
sys.exit(code)
"""


def make_store(path: Path, rows: int) -> None:
    """A database as claude-mem's first version had it, with so many observations of five sessions."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(
            "CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, claude_session_id, sdk_session_id, project,"
            " user_prompt, started_at, completed_at);"
            "CREATE TABLE observations (id INTEGER PRIMARY KEY, sdk_session_id, project, text, type, created_at);"
        )
        for number in range(5):
            row = (
                number,
                f"c-{number}",
                f"s-{number}",
                "shop",
                f"Do {number}",
                "2026-01-01T08:00:00Z",
                None,
            )
            database.execute("INSERT INTO sdk_sessions VALUES (?,?,?,?,?,?,?)", row)
        for number in range(rows):
            at = f"2026-01-{number % 28 + 1:02}T09:00:00Z"
            row = number, f"s-{number % 5}", "shop", f"Fact {number} holds.", "discovery", at
            database.execute("INSERT INTO observations VALUES (?,?,?,?,?,?)", row)
        database.commit()


def run_import(vault: str, store: Path, kill_at: int = 0) -> subprocess.CompletedProcess[str]:
    words = [
        sys.executable,
        "-c",
        BREAKER,
        str(kill_at),
        "import",
        "claude-mem",
        str(store),
        "--json",
    ]
    return subprocess.run(words, cwd=vault, capture_output=True, text=True, check=False)


def faults(vault: Vault, rows: int) -> Iterator[str]:
    """What is wrong after an import that came to its end: memories that are missing or there twice, and other problems."""
    found = Counter(
        read(path.read_bytes()).get("imported_from")
        for path in Path(vault.root, "records").rglob("*.md")
    )
    wanted = {f"claude-mem observation {number}" for number in range(rows)}
    yield from (f"missing: {name}" for name in sorted(wanted - found.keys()))
    yield from (f"{number} times: {name}" for name, number in found.items() if number > 1)
    yield from (f"waits: {path}" for path in Path(vault.root, "inbox").rglob("*.md"))
    # A temporary file is what any killed process may leave; doctor names it.
    problems = doctor(vault, caller_now(vault.root)).problems
    yield from (str(one) for one in problems if not one.where.endswith(".cx-tmp"))


def kill_import(
    place: Path, store: Path, at: int
) -> tuple[Vault, subprocess.CompletedProcess[str]]:
    """A new vault whose import was killed at that call, or before: how many calls an import makes depends a little on time."""
    vault = Vault(init(caller_now(str(place.parent)), str(place), no_git=True).root)
    done = run_import(vault.root, store, at)
    if done.returncode or at < 2:
        return vault, done
    return kill_import(place.with_name(f"{place.name}-earlier"), store, at - 1)


def kill_and_resume(folder: Path, points: int, seed: int, rows: int) -> list[str]:
    """Import with a kill at each of so many calls, spread over all of them; the faults."""
    store, chance = folder / "claude-mem.db", random.Random(seed)
    make_store(store, rows)
    whole = Vault(init(caller_now(str(folder)), str(folder / "whole"), no_git=True).root)
    calls = int(run_import(whole.root, store).stderr.split()[-1])
    wrong = list(faults(whole, rows))
    for number in range(points):
        at = chance.randrange(calls * number // points, calls * (number + 1) // points) + 1
        vault, killed = kill_import(folder / f"v{number}", store, at)
        again = run_import(vault.root, store)
        if killed.returncode != -signal.SIGKILL or again.returncode:
            wrong.append(f"at {at}: {killed.returncode}, then {again.returncode} {again.stderr}")
        known = json.loads(run_import(vault.root, store).stdout)["sources"][0]["items"]
        wrong += [f"at {at}: {one}" for one in known if one["known"] != one["found"]]
        wrong += [f"at {at}: {fault}" for fault in faults(vault, rows)]
    return wrong


if __name__ == "__main__":
    COUNT, SEED, ROWS = (
        int(word) for word in [*sys.argv[1:], *("20", "54", "120")[len(sys.argv) - 1 :]]
    )
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {
            "XDG_STATE_HOME": f"{home}/state",
            "XDG_CACHE_HOME": f"{home}/cache",
            "HOME": home,
        }
        problems = kill_and_resume(Path(home), COUNT, SEED, ROWS)
    print("\n".join([*problems, f"{COUNT} kills, {len(problems)} wrong"]))
