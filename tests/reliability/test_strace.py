"""The real command under faults that the kernel injects: what the user reads, the exit code, what is left."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import pytest

ID = "20261120t164512z-aaaaaaaaab"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def traced(vault, homes, tool, tmp_path) -> Run:
    """`cortex capture` in the vault under strace with these options."""
    strace = tool("strace")
    if subprocess.run(
        [strace, "-o", "/dev/null", "true"], capture_output=True, timeout=60, check=False
    ).returncode:
        pytest.skip("not run: strace was refused")

    def run(*options: str, id: str = "") -> subprocess.CompletedProcess[str]:
        line = [
            sys.executable, "-m", "cortex", "capture", "Gotcha: the disk may refuse", "--vault",
            vault.root, *(["--id", id] if id else []),
        ]  # fmt: skip
        return subprocess.run(
            [strace, "-f", "-qq", *options, *line],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=60,
            check=False,
        )

    return run


@pytest.fixture
def which(traced, tmp_path) -> Callable[[str, str], int]:
    """The number of the first call of that name whose line holds a text."""

    def number(call: str, text: str) -> int:
        log = tmp_path / "log"
        traced("-e", f"trace={call}", "-o", str(log))  # the first run may compile modules
        traced("-e", f"trace={call}", "-o", str(log))
        lines = [line for line in log.read_text().splitlines() if f"{call}(" in line]
        return next(n for n, line in enumerate(lines, start=1) if re.search(text, line))

    return number


def injecting(fault: str) -> tuple[str, ...]:
    # strace injects only into calls that it traces: with trace=none nothing would ever fail.
    return "-e", f"trace={fault.partition(':')[0]}", "-e", f"inject={fault}", "-o", "/dev/null"


@pytest.mark.parametrize(("fault", "says"), [
    ("fsync:error=ENOSPC:when=1", "No space left on device"),
    ("fsync:error=ENOSPC:when=2", "No space left on device"),
    ("fsync:error=EIO:when=3", "Input/output error"),
    ("fsync:error=EIO:when=4", "Input/output error"),
    ("linkat:error=EIO:when=1", "Input/output error"),
    ("linkat:error=EPERM:when=1", "Operation not permitted"),
    ("write:error=ENOSPC:when=1", "No space left on device"),
    ("write:error=EDQUOT:when=1", "Disk quota exceeded"),
    ("mkdirat:error=EROFS:when=1", "Read-only file system"),
])  # fmt: skip
def test_a_refused_capture_says_so_and_leaves_nothing(fault, says, traced, vault, look):
    before = look(vault.root)
    done = traced(*injecting(fault))
    assert (done.returncode, done.stdout) == (2, "")
    message, hint = done.stderr.splitlines()
    assert message.startswith("cortex: nothing was captured: ")
    assert says in message
    assert re.search(r"--id [0-9]{8}t[0-9]{6}z-[a-z2-7]{10}", hint)
    assert look(vault.root) == before


def test_too_many_open_files_is_a_message_too(traced, which, vault, look):
    number = which("openat", re.escape(vault.root) + '", O_RDONLY.*O_DIRECTORY')
    before = look(vault.root)
    for further in range(4):  # the vault, inbox, pending, the unnamed file
        done = traced(*injecting(f"openat:error=EMFILE:when={number + further}"))
        assert "Too many open files" in done.stderr
        assert (done.returncode, done.stdout) == (2, "")
        assert look(vault.root) == before


def test_a_file_system_without_unnamed_files_takes_the_capture_by_a_named_one(
    traced, which, vault, look
):
    number = which("openat", "O_TMPFILE")
    done = traced(*injecting(f"openat:error=EOPNOTSUPP:when={number}"), id=ID)
    assert (done.returncode, done.stdout) == (0, f"{ID}\n"), done.stderr
    assert not look(vault.root).temps
    assert look(vault.root).places(ID) == [f"inbox/pending/{ID}.md"]


@pytest.mark.parametrize("call", ["write", "fsync", "linkat", "fsync:when=2"])
def test_a_killed_capture_leaves_no_half_note_and_can_be_repeated(
    call, traced, vault, look, cortex, tmp_path
):
    name, _, when = call.partition(":")
    killed = traced(*injecting(f"{name}:signal=KILL:{when or 'when=1'}"), id=ID)
    assert killed.returncode not in (0, 2)
    assert killed.stdout == ""
    assert not look(vault.root).temps
    done = cortex(
        "capture",
        "Gotcha: the disk may refuse",
        "--id",
        ID,
        "--vault",
        vault.root,
        cwd=str(tmp_path),
    )
    assert (done.returncode, done.stdout) == (0, f"{ID}\n"), done.stderr
    assert look(vault.root).places(ID) == [f"inbox/pending/{ID}.md"]
