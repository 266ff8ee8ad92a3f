"""The server over standard input and output: broken lines, versions, cancelled calls, progress, folders of the client,
subscriptions; and that it needs the standard library alone. A real server in a process, and the SDK's own client."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPDeprecationWarning

from tests.conftest import SOAK, run_cortex

SEED = 20261127


class Wire:
    """A server, and the lines that go to it and come from it."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def send(self, *messages: object) -> None:
        for one in messages:
            data = one if isinstance(one, bytes) else json.dumps(one).encode()
            self.process.stdin.write(data + b"\n")
        self.process.stdin.flush()

    def read(self) -> Any:
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, *, id: object = "q", **params: object) -> Any:
        """The answer to one request, whatever comes before it."""
        self.send({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        while not isinstance(told := self.read(), dict) or told.get("id") != id:
            pass
        return told

    def call(self, tool: str, **arguments: object) -> str:
        """The text that a tool answers."""
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        assert not result["isError"], result
        return result["content"][0]["text"]

    def hello(self, **capabilities: object) -> Any:
        client = {"name": "test", "version": "1"}
        given = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
        answer = self.ask("initialize", **given, clientInfo=client)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer


@contextmanager
def serving(cwd: str, *words: str, **environment: str) -> Iterator[Wire]:
    """A server that has to end well when its input ends, and to say nothing but messages."""
    line = [sys.executable, "-m", "cortex", "mcp", *words]
    with subprocess.Popen(
        line, cwd=cwd, stdin=-1, stdout=-1, stderr=-1, env=os.environ | environment
    ) as process:
        said: list[bytes] = []
        listener = threading.Thread(target=lambda: said.append(process.stderr.read()))
        listener.start()
        try:
            yield Wire(process)
            process.stdin.close()
            for left in process.stdout:
                json.loads(left)
            assert process.wait(60) == 0
        finally:
            process.kill()
            listener.join()
    assert b"Traceback" not in said[0], said[0].decode()


def codes(*lines: object, cwd: str) -> list[object]:
    """The code of each error, or the result, that these lines are answered with."""
    with serving(cwd) as wire:
        wire.send(*lines, {"jsonrpc": "2.0", "id": "last", "method": "ping"})
        told = []
        while (one := wire.read()) != {"jsonrpc": "2.0", "id": "last", "result": {}}:
            told.append(one["error"]["code"] if "error" in one else one["result"])
        return told


def test_what_is_no_request_is_refused_by_its_code(tmp_path):
    request = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for line, code in (
        (b"this is no JSON", -32700), (b'{"jsonrpc": "2.0", "id": 1, "met', -32700),
        (b"[" * 100_000, -32700), (b"\xff\xfe", -32700), (b'{"id": ' + b"9" * 5000 + b"}", -32700),
        (b"[]", -32600), (b"1", -32600), (b"null", -32600), (b'"ping"', -32600), ({}, -32600),
        (request | {"id": None}, -32600), (request | {"id": [1]}, -32600),
        (request | {"id": True}, -32600), (request | {"params": [1]}, -32602),
        (request | {"method": "nope"}, -32601), (request | {"method": 5}, -32601),
        (request | {"method": "tools/call", "params": {}}, -32602),
        (request | {"method": "tools/call", "params": {"name": 3}}, -32602),
        (request | {"method": "tools/call", "params": {"name": "nope"}}, -32602),
        (request | {"method": "resources/read", "params": {"uri": "cortex://nope"}}, -32602),
        (request | {"method": "resources/subscribe", "params": {"uri": "cortex://nope"}}, -32602),
        (request | {"method": "prompts/get", "params": {"name": "nope"}}, -32602),
        (b" " * (17 << 20) + b"{}", -32600),
    ):  # fmt: skip
        with serving(str(tmp_path)) as wire:
            wire.send(line)
            assert wire.read()["error"]["code"] == code, str(line)[:80]
            assert wire.ask("ping")["result"] == {}


def test_requests_are_answered_before_and_after_any_handshake(vault):
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
    with serving(vault.root) as wire:
        assert wire.ask("tools/list")["result"]["tools"]
        assert "0 notes" in wire.call("status")
        assert wire.hello()["result"]["protocolVersion"] == "2025-11-25"
        assert wire.hello()["result"]["serverInfo"]["name"] == "cortex"
        assert wire.ask("initialize", protocolVersion="1999-01-01")["result"]["protocolVersion"] == "2025-11-25"  # fmt: skip
        assert wire.ask("tools/list", **meta)["result"]["resultType"] == "complete"
        meta["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01"
        refused = wire.ask("tools/list", **meta)["error"]
        assert refused["code"] == -32022
        assert refused["data"] == {"supported": ["2026-07-28"], "requested": "2099-01-01"}


def test_a_batch_is_answered_as_one(vault):
    ping = lambda number: {"jsonrpc": "2.0", "id": number, "method": "ping"}
    call = ping(2) | {"method": "tools/call", "params": {"name": "status"}}
    with serving(vault.root) as wire:
        wire.send([ping(1), call, {"jsonrpc": "2.0", "method": "notifications/initialized"}, 7])
        told = wire.read()
        assert {str(one["id"]): "result" in one for one in told} == {"1": True, "2": True, "None": False}  # fmt: skip
        wire.send([{"jsonrpc": "2.0", "method": "notifications/initialized"}])
        assert wire.ask("ping")["result"] == {}


def test_arguments_may_be_missing_or_the_text_of_their_json(vault):
    with serving(vault.root) as wire:
        for given in ({}, {"arguments": None}, {"arguments": {}}, {"arguments": "{}"}, {"arguments": ""}):  # fmt: skip
            assert not wire.ask("tools/call", name="status", **given)["result"]["isError"], given
        wire.call("capture", content="Decision: boil quinces")
        found = wire.ask("tools/call", name="search", arguments='{"query": "quinces"}')["result"]
        assert "oil quinces" in found["content"][0]["text"]
        for wrong in ("quinces", [1], 3):
            told = wire.ask("tools/call", name="search", arguments=wrong)["result"]
            assert told["isError"], told
            assert "arguments has to be an object" in told["content"][0]["text"]


def test_an_argument_of_two_megabytes_is_answered(vault):
    with serving(vault.root) as wire:
        for text in ("quince " * 300_000, "\x01" * 2_000_000):
            wire.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"query": text}}})  # fmt: skip
            assert wire.read()["id"] == 1
        assert "0 notes" in wire.call("status")


def test_broken_lines_do_no_harm(vault):
    """Lines made of requests by cutting, doubling and exchanging: each ping between them is answered."""
    chance = random.Random(SEED)
    whole = [
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "x"}}},
        {"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "id": 5, "method": "resources/subscribe", "params": {"uri": "cortex://status"}},
        {"jsonrpc": "2.0", "id": "roots-1", "result": {"roots": [{"uri": "file:///nowhere"}]}},
    ]  # fmt: skip
    odd = [None, True, 0, -1, 2**70, 1.5, "", "x", "\ud800", [], [[]], {}, {"a": {}}]

    def broken() -> bytes:
        message = json.loads(json.dumps(chance.choice(whole)))
        kind = chance.randrange(4)
        if kind == 0:  # a value is another one
            at = message
            while isinstance(inner := at[key := chance.choice([*at])], dict) and inner and chance.random() < 0.6:  # fmt: skip
                at = inner
            at[key] = chance.choice(odd)
        if kind == 1:
            message = [chance.choice([message, *odd]) for _ in range(chance.randrange(4))]
        data = json.dumps(message).encode()
        if kind == 2:
            start = chance.randrange(len(data))
            data = data[:start] + data[start + chance.randrange(20) :]
        if kind == 3:
            at = chance.randrange(len(data))
            data = data[:at] + bytes(chance.randrange(256) for _ in range(3)) + data[at:]
        return data.replace(b"\n", b"")

    with serving(vault.root) as wire:
        for number in range(20_000 if SOAK else 1_000):
            wire.send(broken())
            if number % 20 == 0:
                assert wire.ask("ping", id=f"ping {number}")["result"] == {}
    assert run_cortex("doctor", cwd=vault.root).returncode == 0


def test_a_call_that_is_cancelled_ends_its_write_and_gets_no_answer(vault):
    with serving(vault.root) as wire:
        wire.hello()
        wire.call("status")
        given = {"content": "Decision: quinces are cancelled"}
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        save = {"name": "capture", "arguments": given}
        wire.send(
            {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": save},
            *(cancelled | {"params": {"requestId": one}} for one in (7, 99, None, [7])),
            {"jsonrpc": "2.0", "id": 8, "method": "ping"},
        )
        answers = [wire.read()["id"]]
        while answers[-1] != 8:
            answers.append(wire.read()["id"])
        assert 7 not in answers or answers.index(7) == 0  # it was quicker than the cancellation
    assert run_cortex("doctor", cwd=vault.root).returncode == 0
    assert not [*Path(vault.root).rglob("*.tmp*")]


def test_a_call_with_a_token_is_told_how_far_it_is(vault):
    for number in range(400):
        Path(vault.root, f"n{number}.md").write_text(f"# Note {number}\n\nquince {number}\n")
    with serving(vault.root) as wire:
        given = {"name": "search", "arguments": {"query": "quince"}, "_meta": {"progressToken": 5}}
        wire.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": given})
        told = [wire.read()]
        while "id" not in told[-1]:
            told.append(wire.read())
        *steps, answer = told
        assert "quince" in answer["result"]["content"][0]["text"]
        assert steps
        assert all(one["method"] == "notifications/progress" for one in steps)
        assert all(one["params"]["progressToken"] == 5 for one in steps)
        done = [one["params"]["progress"] for one in steps]
        assert done == sorted(done)
        assert all(one["params"]["progress"] <= one["params"]["total"] for one in steps)


def test_what_was_sent_is_done_before_the_server_ends(vault):
    with serving(vault.root) as wire:
        for number in range(12):
            given = {"name": "capture", "arguments": {"content": f"said {number}"}}
            wire.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": given})
        wire.process.stdin.close()
        assert sorted(json.loads(line)["id"] for line in wire.process.stdout) == [*range(12)]

    found = run_cortex("search", "said", "-n", "50", "--json", cwd=vault.root)
    assert json.loads(found.stdout)["total"] == 12


def test_without_standard_input_it_says_so(vault):
    line = ["sh", "-c", 'exec "$0" -m cortex mcp <&-', sys.executable]
    done = subprocess.run(line, cwd=vault.root, stdout=-1, stderr=-1, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "standard input is closed" in done.stderr


def test_a_server_that_nobody_reads_any_more_ends(vault):
    line = [sys.executable, "-m", "cortex", "mcp"]
    with subprocess.Popen(line, cwd=vault.root, stdin=-1, stdout=-1, stderr=-1) as process:
        wire = Wire(process)
        wire.hello()
        process.stdout.close()
        wire.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "capture", "arguments": {"content": "the last words"}}})  # fmt: skip
        assert process.wait(60) == 0
        process.stdin.close()
        assert b"Traceback" not in process.stderr.read()
    assert "he last words" in run_cortex("search", '"last words"', cwd=vault.root).stdout


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_end_ends_its_calls_first(vault, how):
    line = [sys.executable, "-m", "cortex", "mcp"]
    with subprocess.Popen(line, cwd=vault.root, stdin=-1, stdout=-1, stderr=-1) as process:
        wire = Wire(process)
        wire.call("status")
        words = [f"end{number}" for number in range(8)]
        for word in words:
            given = {"name": "capture", "arguments": {"content": f"said {word}"}}
            wire.send({"jsonrpc": "2.0", "id": word, "method": "tools/call", "params": given})
        assert wire.ask("ping")["result"] == {}  # all of them were read
        process.send_signal(how)
        assert process.wait(60) == 130
        process.stdin.close()
        assert b"Traceback" not in process.stderr.read()
    texts = "\n".join(path.read_text() for path in Path(vault.root).rglob("*.md"))
    assert [word for word in words if f"said {word}" not in texts] == []
    assert not [*Path(vault.root).rglob("*.tmp*")]


def test_no_moment_of_a_call_swallows_the_signal(vault):
    line = [sys.executable, "-m", "cortex", "mcp"]
    for milliseconds in range(0, 48, 6):
        with subprocess.Popen(line, cwd=vault.root, stdin=-1, stdout=-1, stderr=-1) as process:
            wire = Wire(process)
            wire.call("search", query="closing")
            given = {"name": "capture", "arguments": {"content": f"said after {milliseconds}"}}
            wire.send({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": given})
            time.sleep(milliseconds / 1000)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 130
            process.stdin.close()
            assert process.stderr.read() == b""


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_sdks_client_speaks_both_forms(vault, mode):
    async def speak() -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "cortex", "mcp"], cwd=vault.root, env=dict(os.environ)
        )  # fmt: skip
        async with Client(stdio_client(server), mode=mode) as client:
            assert client.protocol_version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
            assert len((await client.list_tools()).tools) >= 7
            kept = await client.call_tool("capture", {"content": "Decision: boil quinces"})
            assert not kept.is_error
            found = await client.call_tool("search", {"query": "quinces"})
            assert "oil quinces" in found.content[0].text
            assert (await client.list_resources()).resources
            assert (await client.read_resource("cortex://decisions")).contents[0].text
            assert (await client.list_prompts()).prompts
            assert (await client.get_prompt("recall", {"words": "jam"})).messages

    anyio.run(speak)


def test_a_call_works_in_the_folder_that_the_client_has_open(vault, tmp_path_factory):
    home, asked = tmp_path_factory.mktemp("home"), []

    async def roots(_context: object) -> types.ListRootsResult:
        asked.append(True)
        return types.ListRootsResult(roots=[types.Root(uri=f"file://{vault.root}")])

    async def speak() -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "cortex", "mcp"], cwd=str(home), env=dict(os.environ)
        )  # fmt: skip
        async with stdio_client(server) as streams:
            async with ClientSession(*streams, list_roots_callback=roots) as client:
                await client.initialize()
                status = await client.call_tool("status", {})
                assert not status.is_error, status.content[0].text
                with pytest.warns(MCPDeprecationWarning):  # the newest form has no folders
                    await client.send_roots_list_changed()
                kept = await client.call_tool("capture", {"content": "in the folder"})
                assert not kept.is_error
                assert len(asked) == 2

    anyio.run(speak)
    assert "n the folder" in run_cortex("search", '"in the folder"', cwd=vault.root).stdout
    with serving(str(home)) as wire:  # that never answers which folders it has
        wire.hello(roots={})
        told = wire.ask("tools/call", name="status")["result"]
        assert told["isError"], told
        assert "no vault" in told["content"][0]["text"]


def test_a_client_is_told_of_changes_to_what_it_subscribed_to(vault):
    changed = {"jsonrpc": "2.0", "method": "notifications/resources/updated"}
    changed["params"] = {"uri": "cortex://status"}
    with serving(vault.root) as wire:
        told = wire.hello()["result"]["capabilities"]
        assert told["resources"] == {"subscribe": True, "listChanged": True}
        assert told["tools"]["listChanged"]
        assert wire.ask("resources/subscribe", uri="cortex://status")["result"] == {}
        Path(vault.root, "jam.md").write_text("# Jam\n")
        assert wire.read() == changed  # of an outside change
        given = {"name": "capture", "arguments": {"content": "Decision: more jam"}}
        wire.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": given})
        assert "result" in wire.read()
        assert wire.read() == changed  # of its own
        while wire.ask("resources/read", uri="cortex://status", id="read").get("id") != "read":
            pass  # reading made a record of the capture, which is another change
        assert wire.ask("resources/unsubscribe", uri="cortex://status")["result"] == {}
        Path(vault.root, "more.md").write_text("# More\n")
        time.sleep(1.5)
        wire.send({"jsonrpc": "2.0", "id": "end", "method": "ping"})
        assert wire.read()["id"] == "end"


def test_the_standard_library_is_enough(vault, tmp_path):
    (site := tmp_path / "site").mkdir()
    (site / "sitecustomize.py").write_text(
        "import sys\nfor name in ('mcp', 'mcp_types', 'anyio', 'pydantic', 'asyncio', 'starlette', 'uvicorn'):\n"
        "    sys.modules[name] = None\n"
    )
    with serving(vault.root, PYTHONPATH=str(site)) as wire:
        wire.hello()
        assert wire.ask("tools/list")["result"]["tools"]
        wire.call("capture", content="Decision: boil quinces")
        assert "oil quinces" in wire.call("recall", query="quinces")
        assert "oil quinces" in wire.ask("resources/read", uri="cortex://decisions")["result"]["contents"][0]["text"]  # fmt: skip


@pytest.mark.parametrize(
    ("made_by", "said"), [("pipx_metadata.json", "pipx inject"), ("", "install 'mcp>=2.2,<3'")]
)
def test_without_the_sdk_http_names_the_command_that_installs_it(
    vault, cortex, monkeypatch, tmp_path, made_by, said
):
    (tmp_path / (made_by or "other")).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = cortex("mcp", "--http", "127.0.0.1:0")
    assert done.returncode == 2
    assert "--http needs the package mcp" in done.stderr
    assert said in done.stderr


def test_of_four_servers_two_are_killed_and_no_capture_is_lost(vault):
    total = 200 if SOAK else 60
    acknowledged: list[str] = []

    def agent(number: int, share: int) -> None:
        line = [sys.executable, "-m", "cortex", "mcp"]
        with subprocess.Popen(line, cwd=vault.root, stdin=-1, stdout=-1, stderr=-1) as process:
            wire = Wire(process)
            for turn in range(share):
                text = f"word{number}x{turn}"
                with_id = {"jsonrpc": "2.0", "id": turn, "method": "tools/call"}
                given = {"name": "capture", "arguments": {"content": f"said {text}"}}
                wire.send(with_id | {"params": given})
                if number < 2 and turn == share // 2:
                    process.send_signal(signal.SIGKILL)
                    break
                assert not wire.read()["result"]["isError"]
                acknowledged.append(text)
            process.stdin.close()
            process.wait(60)

    agents = [threading.Thread(target=agent, args=(one, total // 3)) for one in range(4)]
    for one in agents:
        one.start()
    for one in agents:
        one.join()
    assert len(acknowledged) >= total - 2
    run_cortex("normalize", cwd=vault.root)
    texts = "\n".join(path.read_text() for path in Path(vault.root).rglob("*.md"))
    assert [word for word in acknowledged if f"said {word}\n" not in texts] == []
    assert run_cortex("doctor", cwd=vault.root).returncode == 0
