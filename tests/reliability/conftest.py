"""What the reliability tests share: what lies in a vault, where an event is, and places of their own for processes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from cortex.index import file_scan
from tests.reliability.disk import Disk

TEMP = ".cx-tmp"


class Vaulted(NamedTuple):
    """The files of a vault at one moment: vault-relative path -> bytes."""

    files: dict[str, bytes]

    @property
    def temps(self) -> list[str]:
        return [path for path in self.files if path.endswith(TEMP)]

    @property
    def notes(self) -> dict[str, bytes]:
        """Everything that is not a temporary file."""
        return {path: data for path, data in self.files.items() if not path.endswith(TEMP)}

    def below(self, folder: str) -> dict[str, bytes]:
        return {path: data for path, data in self.notes.items() if path.startswith(f"{folder}/")}

    def places(self, event_id: str) -> list[str]:
        """Where an event lies: one of inbox/pending, inbox/failed and events, when all is well."""
        return [
            path
            for path in self.notes
            if path.endswith(f"/{event_id}.md") and path.startswith(("inbox/", "events/"))
        ]


def look(root: str) -> Vaulted:
    found: dict[str, bytes] = {}
    for directory, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != "lost+found"]
        for name in names:
            path = os.path.join(directory, name)
            try:
                found[os.path.relpath(path, root)] = Path(path).read_bytes()
            except FileNotFoundError:
                continue  # a name that went while we looked; only where somebody is at work in the vault
    return Vaulted(found)


@pytest.fixture(name="look")
def _look() -> Callable[[str], Vaulted]:
    """All files of a vault, hidden ones and leftovers too."""
    return look


@pytest.fixture
def ram(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: for thousands of vaults that no power cut will ever see."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="cortex-test-", dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scan's clock that stands at zero. Every file is then too young for its stamp to be trusted, however slow the
    machine is, and a run makes the same calls to the system each time."""
    monkeypatch.setattr(file_scan, "time", SimpleNamespace(time_ns=lambda: 0))


@pytest.fixture
def soak() -> bool:
    """Whether an hour may be spent instead of a minute."""
    return os.environ.get("CORTEX_SOAK") == "1"


@pytest.fixture
def homes(ram: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Cache, state and configuration of this test alone, for its subprocesses as well."""
    for variable, name in (
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CONFIG_HOME", "config"),
    ):
        monkeypatch.setenv(variable, str(ram / "home" / name))
    return ram / "home"


@pytest.fixture
def disk(tmp_path: Path, tool: Callable[[str], str]) -> Iterator[Disk]:
    """A disk whose power can be cut."""
    if os.geteuid() != 0:
        pytest.skip("not run: power cuts need root")
    made = Disk(tmp_path, tool)
    try:
        yield made
    finally:
        made.remove()
