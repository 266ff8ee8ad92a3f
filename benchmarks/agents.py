"""What agents pay for asking over MCP: tokens of the tools, start, calls, memory."""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.measure import QUICK, row
from cortex.core.model.caller import Caller, no_progress
from cortex.core.text.token_count import count_tokens
from cortex.interfaces.call import Request
from cortex.interfaces.mcp.call import call_tool
from cortex.interfaces.mcp.tools import profiles, read_listing, select_tools
from cortex.operations.find.search import search
from cortex.vault.locate import Vault

_CALLS = 200 if QUICK else 1000
_STARTS = 3 if QUICK else 7
# As small as the SDK lets a server be.
_MINIMAL = """
from mcp.server import MCPServer
server = MCPServer("least", version="1")
@server.tool()
def ping() -> str:
    "Answer."
    return "pong"
server.run()
"""
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


def tables(root: str, notes: int) -> None:
    """Print them, for a vault of so many notes."""
    print("\nTools over MCP (`count_tokens`, which counts rather too high)\n")
    row("profile", "tools", "tokens", "budget")
    row("---", "---:", "---:", "---:")
    for name, names in profiles().items():
        shown = [one for one in read_listing()["tools"] if one["name"] in names]
        text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        budget = {"default": "1,500", "agent": "6,000"}.get(name, "")
        row(name, len(names), f"{count_tokens(text):,}", budget)
    print(f"\nThe server, {notes:,} notes\n")
    row("measure", "value", "budget")
    row("---", "---:", "---:")
    with tempfile.TemporaryDirectory() as folder:
        least = os.path.join(folder, "least.py")
        with open(least, "w", encoding="utf-8") as file:
            file.write(_MINIMAL)
        commands = [sys.executable, least], [sys.executable, "-m", "cortex", "mcp"]
        starts = [[_start(command, root) for command in commands] for _ in range(_STARTS)]
    plain, ours = (statistics.median(some) for some in zip(*starts, strict=True))
    row("start to `initialize` answered, × the SDK's own", f"{ours / plain:.2f}", "0.2")
    row("call in process over the verb, ms", f"{_overhead(root):.2f}", "2")
    with server(root) as ask:
        chance = random.Random(3)
        ask("tools/call", name="search", arguments={"query": "storage"})
        took, sizes = [], []
        for number in range(_CALLS):
            words = chance.choice(["merge", "storage", "decision", "folder", "index"])
            begun = time.perf_counter()
            ask(
                "tools/call",
                name="search",
                arguments={"query": f"{words} {chance.choice('abcde')}"},
            )
            took.append((time.perf_counter() - begun) * 1000)
            if number in (_CALLS // 2, _CALLS - 1):
                sizes.append(ask.megabytes())
    cuts = statistics.quantiles(took, n=20)
    row("search over stdio, p50, ms", f"{statistics.median(took):.1f}", "20")
    row("search over stdio, p95, ms", f"{cuts[18]:.1f}", "60")
    row(
        f"memory after {_CALLS:,} calls, MB (half of them: {sizes[0]:.0f})",
        f"{sizes[1]:.0f}",
        "60",
    )


class _Asker:
    """A client of a server's process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._count = 0

    def __call__(self, method: str, **params: object) -> Any:
        self._count += 1
        asked = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def megabytes(self) -> float:
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


@contextmanager
def server(root: str, command: list[str] | None = None) -> Iterator[_Asker]:
    """A server that has been greeted."""
    line = command or [sys.executable, "-m", "cortex", "mcp"]
    with subprocess.Popen(
        line, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        ask = _Asker(process)
        ask("initialize", **_HELLO)
        yield ask
        assert process.stdin is not None
        process.stdin.close()


def _start(command: list[str], root: str) -> float:
    """Seconds until a new server has answered the greeting."""
    begun = time.perf_counter()
    with server(root, command):
        return time.perf_counter() - begun


def _overhead(root: str) -> float:
    """Milliseconds of CPU that a call takes beside its verb."""
    vault, tool = Vault(root), select_tools(["search"])["search"]
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    caller = Caller(root, now, os.urandom, "mcp", no_progress)
    request = Request(root, "mcp", lambda: vault)

    def cost(action: Callable[[], object]) -> float:
        begun = time.process_time()
        action()
        return (time.process_time() - begun) * 1000

    pairs = [
        (
            cost(lambda: call_tool("search", tool, {"query": "storage"}, request)),
            cost(lambda: search(vault, caller, "storage")),
        )
        for _ in range(30)
    ]
    return statistics.median(one for one, _ in pairs) - statistics.median(one for _, one in pairs)
