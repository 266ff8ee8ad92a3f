"""What all tests share: private cache and state folders, vaults written as text, and a `cortex` to call."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from cortex.core.caller import Caller, silent
from cortex.operations.init import init
from cortex.vault.find import Vault

SOAK = os.environ.get("CORTEX_SOAK") == "1"
settings.register_profile("ci", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
settings.register_profile("soak", deadline=None, max_examples=2000, suppress_health_check=list(HealthCheck))
settings.load_profile("soak" if SOAK else "ci")

NOW = "2026-11-20T16:45:12Z"
_OF_THE_PERSON = (
    "CORTEX_VAULT", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "NO_COLOR",
    "CORTEX_HOOK", "CORTEX_OFF", "CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "CODEX_HOME", "CURSOR_VERSION",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _private(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of the person who runs the tests is read or written."""
    home = tmp_path_factory.mktemp("home")
    for variable in _OF_THE_PERSON:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    (home / "gitconfig").write_text("[user]\n\tname = Test\n\temail = test@example.org\n[init]\n\tdefaultBranch = main\n")
    yield


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    """A caller with a stopped clock and countable chance."""
    return caller_at(NOW, str(tmp_path))


def caller_at(now: str, cwd: str = "/") -> Caller:
    count = 0

    def random(size: int) -> bytes:
        nonlocal count
        count += 1
        return count.to_bytes(size, "big")

    return Caller(cwd, now, random, "test", silent)


def caller_now(cwd: str = "/") -> Caller:
    """A caller with the clock and the randomness of this machine: for a vault that real processes write into."""
    return Caller(cwd, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), os.urandom, "test", silent)


@pytest.fixture
def vault(tmp_path: Path, caller: Caller) -> Vault:
    """An empty vault."""
    return Vault(init(caller, str(tmp_path / "vault")).root)


@pytest.fixture
def vault_from(vault: Vault) -> Callable[[str], Vault]:
    """Write notes into the vault: `=== path` before the text of each."""

    def write(notes: str) -> Vault:
        for part in notes.lstrip("\n").removeprefix("=== ").split("\n=== "):
            path, _, text = part.partition("\n")
            file = Path(vault.root, path.strip())
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes((text if text.endswith("\n") else f"{text}\n").encode())
        return vault

    return write


@pytest.fixture
def cortex(vault: Vault) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The real command in a process of its own, in the vault unless told otherwise."""

    def run(*words: str, stdin: str | None = None, cwd: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "cortex", *words],
            cwd=cwd or vault.root,
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def terminal(vault: Vault) -> Callable[..., str]:
    """The real command on a terminal of its own: what it writes there."""

    def run(*words: str, **environment: str) -> str:
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "cortex", *words]
        with subprocess.Popen(
            command, cwd=vault.root, env=os.environ | environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
        ) as process:
            os.close(theirs)
            held = b""
            with suppress(OSError):  # how a terminal ends whose other side is closed
                while piece := os.read(ours, 65536):
                    held += piece
            process.wait(60)
        os.close(ours)
        return held.decode()

    return run


@pytest.fixture
def git() -> Callable[..., str]:
    """Real git in a folder."""

    def run(folder: str | Path, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=60, check=True).stdout

    return run
