"""A search that the watcher answers says what the command itself would say, and a watcher that dies costs nobody an answer."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.interfaces.cli import main
from cortex.operations.care.init import init
from cortex.vault import user_folders
from cortex.vault.locate import Vault
from cortex.watcher import protocol
from tests.watcher.conftest import SOAK, note, until

pytestmark = pytest.mark.sampled(2)


def _alone(vault, words, tmp_path, *, paint=False) -> tuple[bytes, bytes, int]:
    """What the command says when no watcher can be found."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
        patch.chdir(vault.root)
        streams = [io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2)]
        streams[0].isatty = lambda: paint
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            code = main.main(words)
        for stream in streams:
            stream.flush()
        return streams[0].buffer.getvalue(), streams[1].buffer.getvalue(), code


NOTES = """
=== records/decision/use-flock-aaaaaa.md
---
id: use-flock-aaaaaa
type: decision
title: Use flock
status: active
---

Because the kernel frees it, zebra.
=== notes/a.md
# Zebra crossing
an escape \x1b[31m and é
=== notes/bad.md
---
id: [
---
zebra
"""
LINES = [
    ["search", "zebra"],
    ["search", "zebra", "-n", "1"],
    ["search", "zebra", "--json"],
    ["--vault", ".", "search", "flock"],
    ["search", "nothing of the kind"],
    ["search", "zebra", "-n0"],
    ["search", "-l"],
    ["search", "staus:open"],
    ["search", "type:decision"],
    ["show", "use-flock-aaaaaa"],
    ["show", "use-flock-aaaaaa", "--json"],
    ["show", "nowhere"],
    ["status"],
    ["status", "--json"],
]


def test_the_watcher_says_what_the_command_says(vault_from, watch, tmp_path) -> None:
    vault = vault_from(NOTES)
    watcher = watch().ready()
    for words in LINES:
        for paint in (False, True):
            terminal = "80,0,1,0" if paint else ""  # columns, rows unknown, in colour, no links
            held = protocol.send_command(vault.root, words, vault.root, terminal=terminal)
            assert tuple(held) == _alone(vault, words, tmp_path, paint=paint), words
    assert watcher.standing().answered == 2 * len(LINES)


@pytest.mark.parametrize(
    "words",
    [["capture", "x"], ["search", "-"], ["search", "--help"], ["normalize"], ["watch"], [], ["--json"]],
)  # fmt: skip
def test_what_writes_and_what_has_to_be_explained_is_declined(vault, watch, words) -> None:
    watch().ready()
    assert protocol.send_command(vault.root, words, vault.root) is None


def test_another_version_or_vault_is_declined(vault, watch, monkeypatch) -> None:
    watch().ready()
    request = [
        protocol.RUN,
        os.fsencode(vault.root),
        os.fsencode(vault.root),
        b"",
        b"",
        b"",
        b"status",
    ]
    assert protocol.exchange(vault.root, request, 5, 5)[0] == protocol.DONE
    assert protocol.exchange(vault.root, [protocol.RUN, b"/other", *request[2:]], 5, 5) == [
        protocol.DECLINED
    ]
    assert protocol.exchange(vault.root, request[:3], 5, 5) == [protocol.DECLINED]
    assert protocol.exchange(vault.root, [b"nonsense"], 5, 5) == [protocol.DECLINED]
    assert protocol.exchange(vault.root, [], 5, 5) == [protocol.DECLINED]
    monkeypatch.setattr(protocol, "__version__", "99.0")
    assert protocol.exchange(vault.root, request, 5, 5) == [protocol.DECLINED]
    assert protocol.send_command(vault.root, ["status"], vault.root) is None


def test_every_answer_is_as_fresh_as_one_without_a_watcher(vault, watch, tmp_path) -> None:
    watch().ready()
    for number in range(200 if SOAK else 50):
        note(vault, f"notes/{number % 7}.md", f"# Zebra {number}\n\nstripes{number} and more\n")
        words = ["search", f"stripes{number}" if number % 3 else "zebra"]
        held = protocol.send_command(vault.root, words, vault.root)
        assert held is not None
        assert f"notes/{number % 7}.md".encode() in held.stdout
        if number % 5 == 0:
            assert tuple(held) == _alone(vault, words, tmp_path)


def _command(vault, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "cortex", *words],
        cwd=vault.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_watcher_killed_in_the_middle_of_it_costs_nobody_an_answer(vault, watch) -> None:
    chance = random.Random(7)
    note(vault, "notes/a.md", "# Zebra\n")
    expected = _command(vault, "search", "zebra").communicate()
    for _ in range(100 if SOAK else 5):
        watcher = watch()
        until(
            lambda: (
                user_folders.vault_folder_path("state", vault.root)
                and Path(vault.state_folder(), "watch.sock").exists()
            )
        )
        asking = [_command(vault, "search", "zebra") for _ in range(2)]
        try:
            asking[0].wait(chance.uniform(0.01, 0.15))
        except subprocess.TimeoutExpired:
            pass
        watcher.process.kill()
        for one in asking:
            assert one.communicate(timeout=60) == expected
            assert one.returncode == 0
        watcher.process.wait()


def test_the_own_vault_is_that_of_who_asks(vault, watch, caller, tmp_path, monkeypatch) -> None:
    """Watcher and asker may have different configurations; what counts is the asker's, with a watcher as without."""
    note(vault, "notes/ours.md", "# Zebra\n")
    owns = []
    for name in ("first", "second"):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / f"config-{name}"))
        owns.append(Vault(init(caller, str(tmp_path / name), default=True).root))
        note(owns[-1], f"{name}.md", "# Zebra\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config-first"))
    monkeypatch.setenv("CORTEX_VAULT", vault.root)
    watcher = watch().ready()
    answered = 0

    def found(*words: str) -> list[str]:
        nonlocal answered
        held = _command(vault, *words).communicate()
        answered += 1
        assert watcher.standing().answered == answered
        with monkeypatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
            assert _command(vault, *words).communicate() == held
        return [
            line.split()[-1].rpartition("/")[2].partition(".")[0]
            for line in held[0].decode().splitlines()
            if ".md:" in line
        ]

    assert found("search", "zebra") == ["ours"]
    assert found("search", "zebra", "--whose", "both") == ["ours", "first"]
    monkeypatch.delenv("CORTEX_VAULT")
    for name, others in (("first", ["first"]), ("second", ["second"]), ("none", [])):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / f"config-{name}"))
        assert found("search", "zebra") == ["ours", *others]
        assert found("--vault", ".", "search", "zebra") == ["ours"]
        assert found("show", "second.md") == []
    shutil.rmtree(owns[1].root)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config-second"))
    assert found("search", "zebra") == ["ours"]


def test_a_thin_search_needs_next_to_nothing(vault, watch) -> None:
    note(vault, "notes/a.md", "# Zebra\n")
    watch().ready()
    code = "import sys; from cortex.interfaces.cli import main, daemon_client; assert daemon_client.forward_command(['search', 'zebra']) == 0; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=vault.root, capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "notes/a.md" in done.stdout
    assert not loaded & {
        "socket",
        "hashlib",
        "json",
        "argparse",
        "subprocess",
        "sqlite3",
        "whoosh",
        "select",
        "yaml",
        "git",
        "cortex.index",
    }


def test_the_name_of_a_vaults_folder_is_the_one_of_hashlib() -> None:
    import hashlib

    for root in ("/v", "/", "/home/é\udcff/vault"):
        assert user_folders.vault_folder_path("state", root).endswith(
            "-" + hashlib.sha256(os.fsencode(root)).hexdigest()[:12]
        )
