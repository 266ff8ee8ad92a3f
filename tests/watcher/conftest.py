"""Watchers as real processes, and ways to wait for what they do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.index import file_scan, state_file
from cortex.vault.locate import Vault
from cortex.watcher import protocol
from cortex.watcher.running_watcher import WatcherStatus
from tests.conftest import commit_all

SOAK = os.environ.get("CORTEX_SOAK") == "1"
COMMAND = [sys.executable, "-m", "cortex", "watch"]


def until(condition: Callable[[], Any], seconds: float = 60.0) -> Any:
    """What the condition gives once it holds; the test fails when it never does."""
    deadline = time.monotonic() + seconds
    while not (held := condition()):
        assert time.monotonic() < deadline, f"still not so after {seconds:g} seconds"
        time.sleep(0.03)
    return held


def is_fresh(vault: Vault) -> bool:
    """Whether the index holds every note as it lies there now, told without bringing it up to date."""
    try:
        return state_file.decode_stamps(state_file.read_stamps(vault.cache_folder())) == stamps(
            vault
        )
    except OSError:
        return False


def stamps(vault: Vault) -> dict[str, str]:
    """The stamp of every note as it lies there now."""
    return file_scan.scan_vault(vault.root, (), ()).stamps


class Watcher:
    """One `cortex watch`."""

    def __init__(self, vault: Vault, log: Path, *words: str, before: tuple[str, ...] = ()) -> None:
        self.vault = vault
        self.log = log
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [*before, *COMMAND, *words],
                cwd=vault.root,
                stdout=file,
                stderr=file,
                stdin=subprocess.DEVNULL,
            )

    @property
    def said(self) -> str:
        return self.log.read_text()

    def standing(self) -> WatcherStatus | None:
        fields = protocol.exchange(self.vault.root, [protocol.STATE], 5, 5)
        return WatcherStatus.decode(fields[1]) if fields and len(fields) == 2 else None

    def ready(self) -> Watcher:
        """After its first pass."""
        until(lambda: self.process.poll() is None and (now := self.standing()) and now.passes)
        return self

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def ended(self, seconds: float = 20.0) -> int:
        return self.process.wait(seconds)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise


@pytest.fixture
def watch(vault: Vault, tmp_path: Path) -> Iterator[Callable[..., Watcher]]:
    """Start watchers of the vault; they end with the test."""
    started: list[Watcher] = []

    def start(*words: str, before: tuple[str, ...] = ()) -> Watcher:
        started.append(
            Watcher(vault, tmp_path / f"watch-{len(started)}.log", *words, before=before)
        )
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture
def repository(vault: Vault) -> Vault:
    """The vault as a git repository of its own, everything committed."""
    commit_all(vault.root, "init")
    return vault


def ask_watch(vault: Vault, *words: str) -> subprocess.CompletedProcess[str]:
    """`cortex watch --status` and the like."""
    return subprocess.run(
        [*COMMAND, *words], cwd=vault.root, capture_output=True, text=True, timeout=90, check=False
    )


def note(vault: Vault, path: str, text: str) -> Path:
    file = Path(vault.root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def rss(pid: int) -> int:
    """Resident memory in kB."""
    return int(
        next(
            line
            for line in Path(f"/proc/{pid}/status").read_text().splitlines()
            if line.startswith("VmRSS")
        ).split()[1]
    )


def old(path: Path, seconds: float = 10.0) -> None:
    """As if the file had been written a while ago; its change time cannot be set, and has to pass."""
    then = time.time() - seconds
    os.utime(path, (then, then))
