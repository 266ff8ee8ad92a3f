"""A clone pushes texts that are made to take long: in another clone every command goes on, and names each text that is not read whole."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.markdown.bound import MAX_RECORDS
from cortex.interfaces.hook.main import __file__ as hook_program
from tests.conftest import cpu_limit, run_git

LARGE = 990_000  # bytes: an event may have as many
# What each file repeats, and how many bytes of it.
EVENTS = {
    "inbox/pending/20261101t000001z-aaaaaaaaaa": ("meeting", "A. ", LARGE),
    "inbox/pending/20261101t000002z-aaaaaaaaaa": ("stop", "# ", LARGE),
    "inbox/pending/20261101t000003z-aaaaaaaaaa": ("meeting", "1. ", 18_000),
    "inbox/pending/20261101t000004z-aaaaaaaaaa": ("meeting", "Mr. ", 50_000),
    "inbox/pending/20261101t000005z-aaaaaaaaaa": ("manual", "a\n", 50_000),
    "events/2026/11/20261101t000006z-aaaaaaaaaa": ("stop", "# # ", 50_000),
    "events/2026/11/20261101t000007z-aaaaaaaaaa": ("meeting", "A. ", 34_000),
}
NOTES = {
    "tasks": ("- [ ] a\n", LARGE),
    "links": ("[[a]] ", LARGE),
    "records/decision/slow-aaaaaa": ("=", 50_000),
}
NOT_READ_WHOLE = (
    "events/2026/11/20261101t000001z-aaaaaaaaaa.md",
    "events/2026/11/20261101t000002z-aaaaaaaaaa.md",
    "tasks.md",
    "links.md",
)


def repeated(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size] + "x\n"


def command(folder: Path, *words: str, stdin: str = "") -> tuple[str, float]:
    """What a command prints, and the CPU seconds that it and its children have used."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = (
        [sys.executable, *words]
        if words[0] == hook_program
        else [sys.executable, "-m", "cortex", *words]
    )
    done = subprocess.run(
        line, cwd=folder, input=stdin, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "Traceback" not in done.stderr
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout + done.stderr, seconds


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of a small vault, into which a hostile one has pushed ten texts."""
    hostile, remote, mine = (tmp_path / name for name in ("hostile", "remote", "mine"))
    run_git(tmp_path, "init", "-q", "--bare", str(remote))
    command(tmp_path, "init", str(hostile), "--no-obsidian")
    run_git(hostile, "remote", "add", "origin", str(remote))
    command(hostile, "capture", "Decision: keep parcels in SQLite")
    command(hostile, "sync")
    run_git(tmp_path, "clone", "-q", str(remote), str(mine))
    command(mine, "search", "parcels")
    for name, (type_, unit, size) in EVENTS.items():
        id_ = name.rpartition("/")[2]
        head = f"---\nid: {id_}\ntype: {type_}\nat: 2026-11-01T00:00:0{id_[14]}Z\nsession: s{id_[14]}\n---\n"
        write(hostile / f"{name}.md", f"{head}\n## Raw Content\n\n{repeated(unit, size)}")
    for name, (unit, size) in NOTES.items():
        write(hostile / f"{name}.md", f"# A slow text\n\n{repeated(unit, size)}")
    run_git(hostile, "add", "--force", ".")
    run_git(hostile, "commit", "-qm", "slow texts")
    run_git(hostile, "push", "-q", "origin", "HEAD")
    run_git(mine, "pull", "-q")
    return mine


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_no_command_of_another_clone_waits_for_slow_texts(clone: Path) -> None:
    start = json.dumps({"hook_event_name": "SessionStart", "session_id": "s", "cwd": str(clone)})
    hook = (hook_program, "--host", "claude")
    commands = (("search", "parcels"), ("normalize",), ("brief",), ("sync",), ("search", "slow"))
    used = dict[str, float]()
    for words, stdin in ((hook, start), *((words, "") for words in commands), (hook, start)):
        said, seconds = command(clone, *words, stdin=stdin)
        used[" ".join(words)] = seconds
        if words == ("search", "parcels"):
            assert "Keep parcels in SQLite" in said
    # 3 s of an idle machine; before, the first of them took minutes.
    assert max(used.values()) < 3 * slowness(), used
    assert not list((clone / "inbox/pending").iterdir())
    assert not (clone / "inbox/failed").exists()  # nothing is lost, nothing has failed
    told, _ = command(clone, "doctor")
    for path in NOT_READ_WHOLE:
        assert told.count(f"{path}:") == 1
    found, _ = command(clone, "search", "path:tasks.md", "x", "--json")
    assert "tasks.md" in found


def slowness() -> float:
    """By how much this machine is slower just now than one that counts so far in 10 ms; at least 2, since others use its caches."""
    before = os.times()
    sum(len(str(number)) for number in range(600_000))
    after = os.times()
    return max(2.0, 2 * (after.user - before.user) / 0.1)


HOSTILE: dict[str, Callable[[], str]] = {
    "check boxes": lambda: "".join(f"- [ ] do {n}\n" for n in range(70_000)),
    "headings": lambda: "".join(f"# a{n}\n" for n in range(100_000)),
    "links": lambda: "".join(f"[[a{n}]] " for n in range(100_000)),
    "bullets": lambda: "".join(f"- a{n}\n" for n in range(100_000)),
    "tags": lambda: "".join(f"#a{n} " for n in range(100_000)),
    "nested lists": lambda: "".join("  " * (n % 300) + "- a\n" for n in range(3_000)),
    "nested quotes": lambda: "> " * 400_000,
    "nested brackets": lambda: "[" * 400_000 + "]" * 400_000,
    "one line": lambda: "a" * LARGE,
    "a wide table": lambda: ("|a" * 10_000 + "|\n" + "|-" * 10_000 + "|\n" + ("|b" * 10_000 + "|\n") * 20),
    "tags in frontmatter": lambda: (f"---\ntags: [{', '.join(f'a{n}' for n in range(100_000))}]\n---\n"),
    "a long heading": lambda: f"# {'long ' * 90_000}\n\n{'text ' * 90_000}\n",
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", HOSTILE)
def test_very_many_things_in_one_note_are_read_within_a_bound(name: str) -> None:
    from cortex.index.note_summary import summarize_note
    from cortex.index.reindex import make_documents

    data = HOSTILE[name]().encode()[: 1024 * 1024]
    with cpu_limit(2):
        summary = summarize_note("a.md", data, 0)
        documents = make_documents(1, summary)
    assert sum(len(str(one["around"])) for one in documents) < 1_000_000


def test_an_event_makes_so_many_records_at_most() -> None:
    from cortex.core.model.event import Event
    from cortex.core.normalize.handlers import records_from_event

    text = "".join(
        f"Decision: use the cart number {n} for parcels\n" for n in range(MAX_RECORDS * 2)
    )
    event = Event("20261101t000000z-aaaaaaaaaa", "manual", "2026-11-01T00:00:00Z", text)
    assert len(records_from_event(event)) == MAX_RECORDS
