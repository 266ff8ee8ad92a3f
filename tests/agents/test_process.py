"""Programs that do not behave: what they print is bounded, and nothing of them is left running."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from cortex.agents import process
from cortex.agents.process import Ended, LineSplitter
from cortex.core.model.problem import NotFoundError

# Each in a process of its own, since it adopts what its program leaves behind.
RUNNER = """
import sys, time
from cortex.agents import process
process.TERM_SECONDS = 0.5
splitter, began = process.LineSplitter(1 << 20), time.monotonic()
lines = []
def look():
    return "timeout" if time.monotonic() - began > float(sys.argv[2]) else ""
ended = process.run_process(
    [sys.executable, "-c", sys.argv[1]], cwd="/", env={"PATH": "/usr/bin:/bin"}, stdin=b"", mark="CORTEX_RUN=" + sys.argv[3],
    on_output=lambda chunk: lines.extend(splitter.feed(chunk)), look=look, adopt=True)
print(repr((ended.exit_code, ended.why, len(ended.stderr), len(lines), max(map(len, lines), default=0))))
"""
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {clean})
    os._exit(0)
os.wait()
"""
HOSTILE: dict[str, tuple[str, float, tuple[object, ...]]] = {
    # program, seconds that it may take, (exit code, why, stderr, lines, longest line)
    "ends well": ("print('{}')", 20, (0, "", 0, 1, 2)),
    "fails": ("import sys; sys.exit(3)", 20, (3, "", 0, 0, 0)),
    "prints bytes": ("import os; os.write(1, bytes(range(256)))", 20, (0, "", 0, 1, 10)),
    "prints a line of a megabyte": ("print('x' * 1_000_000)", 20, (0, "", 0, 1, 1_000_000)),
    "prints 20 MB without a line end": ("import os\nfor _ in range(20): os.write(1, b'x' * (1 << 20))", 20, (0, "", 0, 1, 1 << 20)),
    "hangs": ("import time; time.sleep(600)", 0.5, (-15, "timeout", 0, 0, 0)),
    "ignores being asked": ("import signal, time; signal.signal(15, signal.SIG_IGN); print('x', flush=True); time.sleep(600)", 1, (-9, "timeout", 0, 1, 1)),
    "has a child that holds the pipe": ("import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])", 20, (0, "", 0, 0, 0)),
    "leaves a daemon": (DAEMON.format(clean="dict(os.environ)"), 20, (0, "", 0, 0, 0)),
    "leaves a daemon without its mark": (DAEMON.format(clean="{}"), 20, (0, "", 0, 0, 0)),
    "prints 10 MB of errors": ("import os\nfor _ in range(10): os.write(2, b'x' * (1 << 20))", 20, (0, "", 65_536, 0, 0)),
}  # fmt: skip


def sleepers(mark: str) -> list[str]:
    """The processes that a program of these tests has left."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes()
            is_marked = mark.encode() in (folder / "environ").read_bytes()
        except OSError:
            continue
        if is_marked or (b"time.sleep(600)" in words and int(folder.name) in children_of_init()):
            found.append(f"{folder.name} {words!r}")
    return found


def children_of_init() -> set[int]:
    return {int(one) for file in Path("/proc/1/task").glob("*/children") for one in file.read_text().split()}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process has started")
@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_of_a_program_is_left(name: str) -> None:
    program, seconds, told = HOSTILE[name]
    mark = f"{os.urandom(8).hex()}"
    before = sleepers(mark)
    began = time.monotonic()
    line = [sys.executable, "-c", RUNNER, dedent(program), str(seconds), mark]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == repr(told), done.stderr
    assert sleepers(mark) == before
    assert time.monotonic() - began < 30


def run(words: list[str], look: Callable[[], str] = lambda: "") -> Ended:
    return process.run_process(
        words, cwd="/", env=os.environ, stdin=b"", mark=f"CORTEX_RUN={os.urandom(8).hex()}",
        on_output=lambda _: None, look=look,
    )  # fmt: skip


def test_a_program_that_is_not_there_is_said() -> None:
    with pytest.raises(NotFoundError, match="no-such-agent cannot be run: No such file"):
        run(["no-such-agent"])


def test_what_it_is_told_comes_on_standard_input_however_long() -> None:
    told = b"x" * 10_000_000
    seen = bytearray()
    process.run_process(
        ["wc", "-c"], cwd="/", env=os.environ, stdin=told, mark="CORTEX_RUN=w", on_output=seen.extend, look=lambda: ""
    )  # fmt: skip
    assert int(seen) == len(told)


def test_lines_come_whole_however_they_are_cut() -> None:
    data = b"one\n\ntwo and more\nthree"
    for size in range(1, len(data) + 1):
        splitter = LineSplitter(100)
        lines = [line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])]  # fmt: skip
        assert (lines, splitter.begun) == ([b"one", b"", b"two and more"], b"three")


def test_of_a_long_line_only_its_beginning_comes_and_once() -> None:
    splitter = LineSplitter(4)
    assert splitter.feed(b"abcdefgh") == [b"abcd"]
    assert splitter.feed(b"ijk") == []
    assert splitter.feed(b"l\nxy\n") == [b"xy"]
    assert splitter.begun == b""
