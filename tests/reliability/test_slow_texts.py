"""Ten texts that are built to be slow, pushed by a hostile clone, hold nobody up in the others."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.operations.care.init import init
from tests.conftest import run_cortex

MOST_SECONDS = 6.0  # of CPU, of a command with all that it starts; on a quiet machine none takes 3
EVENT = "20261120t1000{:02d}z-aaaaaaaaaa"
HEAD = "---\nid: {}\ntype: {}\nat: 2026-11-20T10:00:00Z\n---\n\n## Raw Content\n\n"
RECORD = "---\nid: {}\ntype: {}\ncreated: 2026-11-20T10:00:00Z\n---\n\n# {}\n\n"


def filled(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size] + "\nzymurgy\n"


def slow_texts() -> dict[str, str]:
    """Path -> text: events, records and people's notes, as large as they may be."""
    texts = {
        f"inbox/pending/{EVENT.format(at)}.md": HEAD.format(EVENT.format(at), kind) + filled(unit, size)
        for at, (kind, unit, size) in enumerate((
            ("meeting", "A. ", 34_000), ("meeting", "Mr. ", 900_000), ("meeting", "- [ ] a by 1. ", 900_000),
            ("stop", "Decision: a because b. ", 900_000), ("manual", "[MEMORY: decision] ", 900_000),
        ))
    }  # fmt: skip
    texts |= {
        f"records/note/slow-{at}.md": RECORD.format(f"slow-{at}-aaaaaa", kind, "Slow")
        + filled(unit, size)
        for at, (kind, unit, size) in enumerate(
            (("meeting", "1. ", 400_000), ("note", "- [ ] [[a]] #b\n", 900_000))
        )
    }
    return texts | {
        "heading.md": filled("# ", 50_000),
        "brackets.md": filled("[[a](", 1_000_000),
        "tags.md": "---\ntags: [" + "a1, " * 15_000 + "b]\n---\n" + filled("> ", 200_000),
    }


@pytest.fixture
def pair(tmp_path: Path, git, caller) -> tuple[Path, Path]:
    """A vault and the clone of somebody hostile, in step with their remote."""
    git(tmp_path, "init", "-q", "--bare", "remote")
    git(tmp_path, "clone", "-q", "remote", "ours")
    ours = Path(init(caller, str(tmp_path / "ours")).root)
    (ours / "bread.md").write_text("# Bread\n\nFlour and water.\n")
    assert run_cortex("sync", cwd=ours).returncode == 0
    git(tmp_path, "clone", "-q", "remote", "theirs")
    return ours, tmp_path / "theirs"


def cpu_seconds(*words: str, cwd: Path, stdin: str = "") -> tuple[float, str]:
    """What a command takes with all that it starts, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "cortex", *words],
        cwd=cwd, input=stdin, capture_output=True, text=True, env=dict(os.environ), check=False,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return taken, done.stdout + done.stderr


def test_ten_slow_texts_of_a_hostile_clone_hold_nobody_up(pair, git) -> None:
    ours, theirs = pair
    texts = slow_texts()
    assert len(texts) == 10
    for path, text in texts.items():
        (theirs / path).parent.mkdir(parents=True, exist_ok=True)
        (theirs / path).write_text(text)
    git(theirs, "add", "-A")
    git(theirs, "commit", "-qm", "slow")
    git(theirs, "push", "-q")
    git(ours, "pull", "-q")
    start = json.dumps({"hook_event_name": "SessionStart", "session_id": "s1", "cwd": str(ours)})
    taken = {}
    for name, words, stdin in (
        ("session start", ["hook", "session-start", "--host", "claude"], start),
        ("search", ["search", "flour"], ""),
        ("normalize", ["normalize"], ""),
        ("brief", ["brief"], ""),
        ("sync", ["sync"], ""),
        ("search again", ["search", "zymurgy"], ""),
    ):
        taken[name], told = cpu_seconds(*words, cwd=ours, stdin=stdin)
        if name == "search":
            assert "Bread" in told
    assert {name: one for name, one in taken.items() if one > MOST_SECONDS} == {}
    hits = json.loads(run_cortex("search", "zymurgy", "-n", "50", "--json", cwd=ours).stdout)[
        "hits"
    ]
    assert len({hit["path"] for hit in hits}) == len(texts)  # each is found as a text
    told = run_cortex("doctor", cwd=ours).stdout
    for name in ("records/note/slow-0.md", "records/note/slow-1.md", "brackets.md"):
        assert len(re.findall(rf"(?m)^{re.escape(name)}:\d+: is too long", told)) == 1, told
