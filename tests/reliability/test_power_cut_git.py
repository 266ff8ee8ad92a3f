"""Real power cuts around commits: through our git, and as a control through git as it comes.

A note is on the disk before git hears of it, so a cut may cost a commit, never a note. What our git leaves works again
after `repair`; what plain git leaves may have lost objects, and is named. A disk that lies about its flush is not covered.
"""

from __future__ import annotations

import os
import random
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.operations.care.init import init
from cortex.vault.git import git_cli as bounded
from cortex.vault.git.git_locks import Clock
from cortex.vault.repair import diagnose, fix

pytestmark = pytest.mark.power
SEED = 20261120
WORKER = """
import os, subprocess, sys
from cortex.vault import files
from cortex.vault.git import git_cli
root, how = sys.argv[1:]
for number in range(10_000):
    text = f"note {number}\\n" * (1 + number % 50)
    path = f"records/decision/{number % 7}/note-{number}.md"
    files.create(root, path, text.encode())
    print("note", path, flush=True)
    for words in (["add", "--", path], ["commit", "-q", "-m", path]):
        if how == "ours":
            git_cli.run(root, words)
        else:
            subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
    print("commit", path, flush=True)
"""


def repository_at(disk, number: int) -> Path:
    """A new vault under git with one commit, all of it safely on the disk."""
    root = disk.at / f"vault-{number}"
    init(Caller("/", "2026-11-20T16:45:12Z", os.urandom, "test", no_progress), str(root))
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        bounded.run(str(root), words)
    fd = os.open(root, os.O_RDONLY)
    os.sync()
    os.close(fd)
    return root


def cut_cycle(
    disk, how: str, number: int, chance: random.Random
) -> tuple[Path, list[str], list[str]]:
    """Notes and commits, a cut among them, a restart; answers the vault and what had been said before the cut."""
    root = repository_at(disk, number)
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(root), how],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    wanted = chance.randrange(2, 9)
    said = b""
    while said.count(b"\n") < wanted:
        said += os.read(worker.stdout.fileno(), 1 << 16)
    time.sleep(chance.uniform(0, 0.01))
    while select.select([worker.stdout], [], [], 0)[0] and (
        more := os.read(worker.stdout.fileno(), 1 << 16)
    ):
        said += more
    disk.cut()  # what comes after this line was said too late to count
    worker.communicate(timeout=60)
    disk.restart()
    lines = [line.split(" ", 1) for line in said.decode().splitlines(keepends=False) if line]
    return (
        root,
        [path for kind, path in lines if kind == "note"],
        [path for kind, path in lines if kind == "commit"],
    )


def text_of(path: str) -> str:
    number = int(path.rpartition("-")[2].removesuffix(".md"))
    return f"note {number}\n" * (1 + number % 50)


def fault(root: Path) -> str:
    """What a person would see of a damaged repository."""
    for words in (
        ["fsck", "--no-dangling"],
        ["status", "--porcelain"],
        ["rev-parse", "--verify", "HEAD"],
    ):
        ran = bounded.run_unchecked(str(root), words)
        if ran.code:
            return f"git {words[0]}: {ran.reason}"
    return ""


def cuts(disk, how: str, cycles: int) -> tuple[int, int, int]:
    """Answers how many repositories were damaged, how many notes were written, and how many commits were gone."""
    chance = random.Random(SEED)
    damaged = notes = gone = 0
    for number in range(cycles):
        where = f"seed {SEED}, cycle {number}"
        root, written, committed = cut_cycle(disk, how, number, chance)
        notes += len(written)
        for path in written:
            assert (root / path).read_text() == text_of(path), where
        before = {path: path.read_bytes() for path in root.rglob("*.md")}
        damaged += bool(fault(root))
        fix.repair(
            str(root), Clock(time.time() + 60, time.time() + 30)
        )  # the machine was not really started anew
        assert {path: path.read_bytes() for path in root.rglob("*.md")} == before, where
        if how == "plain":
            assert not fault(root) or diagnose.find_problems(str(root)), where
            subprocess.run(["rm", "-rf", root], check=True, timeout=60)
            continue
        assert fault(root) == "", where
        assert diagnose.find_problems(str(root)) == [], where
        listed = (
            bounded.run(str(root), ["ls-tree", "-r", "-z", "--name-only", "HEAD"])
            .decode()
            .split("\0")
        )
        gone += len([path for path in committed if path not in listed])
        bounded.run(str(root), ["add", "--", *written])
        bounded.run_unchecked(str(root), ["commit", "-qm", "the next"])
        assert bounded.run(str(root), ["status", "--porcelain", "--", *written]) == b"", where
        assert fault(root) == "", where
        subprocess.run(["rm", "-rf", root], check=True, timeout=60)
    return damaged, notes, gone


def test_no_note_is_lost_around_a_commit_and_git_works_again(disk, homes, soak):
    cycles = 50 if soak else 5
    damaged, notes, gone = cuts(disk, "ours", cycles)
    print(
        f"\n{cycles} power cuts around commits, {notes} notes, 0 lost; {damaged} repositories damaged and mended, {gone} commits gone"
    )


def test_git_as_it_comes_is_damaged_by_the_same_cuts_and_the_damage_is_named(disk, homes, soak):
    cycles = 50 if soak else 5
    damaged, notes, _ = cuts(disk, "plain", cycles)
    print(f"\ncontrol: {cycles} power cuts, {notes} notes, 0 lost; {damaged} repositories damaged")
    assert damaged
