"""What a prompt calls to mind is the same whether the watcher says it or the asker itself, and asking costs next to nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.operations.find.remind import remind
from cortex.vault.state import reminder_log
from cortex.watcher import protocol
from tests.operations.test_remind import ASKED, LEDGER, OTHERS, record
from tests.watcher.conftest import note, until

MORE = record(
    "journal-size-aaaaaa",
    "The journal of the ledger has 64 MB",
    "é — <b>a larger one</b> takes long to replay \u2028 after a crash.",
)
PROMPTS = [
    ASKED, "thanks", "", "-", "--", "--help", "--json", "-n5", "*", f"{ASKED} --session x", "\x00 ledger journal replay", "\ud800 ledger journal replay",
    f"{'log line of the server ' * 5000}\n{ASKED}", "журнал ledger journal replay", "日本 " * 4000, "é" * 10**6, f"{ASKED}\r\n\ttabs",
]  # fmt: skip


@pytest.fixture
def watched(vault_from, watch):
    vault = vault_from(OTHERS + LEDGER + MORE)
    watch().ready()
    return vault


def test_the_watcher_calls_to_mind_what_the_asker_would(watched, caller) -> None:
    told = []
    for prompt in PROMPTS:
        alone = remind(
            watched, caller._replace(source="hook"), prompt, project="app", branch="main"
        ).text
        assert (
            protocol.request_reminder(
                watched.root, prompt, caller.cwd, project="app", branch="main"
            )
            == alone
        ), prompt[:60]
        told.append(bool(alone))
    assert sum(told) >= 6
    assert protocol.request_reminder(watched.root, ASKED, caller.cwd, project="\ud800") == ""
    assert protocol.request_reminder(watched.root, ASKED, "/\ud800") is None


def test_the_session_of_a_watcher_is_that_of_the_asker(watched, caller) -> None:
    given = {"session": "s-1", "project": "app", "branch": "main"}
    assert "ledger-wal" in protocol.request_reminder(watched.root, ASKED, caller.cwd, **given)
    assert remind(watched, caller, ASKED, **given).text == ""
    reminder_log.reset_reminders(watched, "s-1")
    assert "ledger-wal" in remind(watched, caller, ASKED, **given).text
    assert protocol.request_reminder(watched.root, ASKED, caller.cwd, **given) == ""


def test_the_watcher_knows_what_was_written_a_moment_ago(watched, caller) -> None:
    note(
        watched,
        "records/decision/zebra-aaaaaa.md",
        "---\nid: zebra-aaaaaa\ntype: decision\ntitle: Zebras feed the quokka\n---\n",
    )
    assert "zebra-aaaaaa" in protocol.request_reminder(
        watched.root, "do zebras feed the quokka?", caller.cwd, project="app"
    )


def test_without_a_watcher_nobody_answers(vault_from, caller) -> None:
    vault = vault_from(LEDGER)
    assert protocol.request_reminder(vault.root, ASKED, caller.cwd) is None


def test_a_watcher_that_is_asked_leaves_the_vault_as_it_is(watched, caller) -> None:
    before = {path: path.stat().st_mtime_ns for path in Path(watched.root).rglob("*")}
    for _ in range(3):
        protocol.request_reminder(watched.root, ASKED, caller.cwd, project="app", session="s")
    assert {path: path.stat().st_mtime_ns for path in Path(watched.root).rglob("*")} == before


def test_a_briefing_is_the_same_by_the_watcher_and_by_the_command(
    watched, cortex, monkeypatch, tmp_path
) -> None:
    words = ["brief", "--project", "app", "--branch", "main", "--print"]
    reply = until(lambda: protocol.send_command(watched.root, words, watched.root))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    alone = cortex(*words)
    assert reply.stdout.decode() == alone.stdout != ""


ASKING = """
import sys
sys.path.append(sys.argv[1])
from cortex.watcher import protocol
assert protocol.request_reminder(sys.argv[2], sys.argv[3], "/", project="app")
print(*sorted(sys.modules))
"""


def test_asking_imports_next_to_nothing(watched) -> None:
    command = [sys.executable, "-I", "-S", "-c", ASKING, str(Path(protocol.__file__).parents[2]), watched.root, ASKED]  # fmt: skip
    done = subprocess.run(
        command, env=os.environ, capture_output=True, text=True, timeout=60, check=True
    )
    spared = {"socket", "json", "whoosh", "yaml", "sqlite3", "tomllib", "hashlib", "argparse", "datetime", "subprocess", "tempfile", "inspect", "dataclasses", "pathlib"}  # fmt: skip
    assert spared.isdisjoint(done.stdout.split())
    assert not {
        name
        for name in done.stdout.split()
        if name.startswith(("cortex.operations", "cortex.index"))
    }
