"""The server over HTTP: who is let in, and that a flood of others keeps nobody out."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

TOKEN = "a-token-of-some-length"
FLOOD = 1_200  # connections
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}  # fmt: skip


@contextmanager
def http_server(
    folder: str,
    *words: str,
    token: str = "",
    host: str = "127.0.0.1",
    limit: int = 0,
    says: str = "",
) -> Iterator[int]:
    """A server on a free port, which is given. It `says` this and little more, and ends when it is asked to."""
    line = [sys.executable, "-m", "cortex", "mcp", "--http", f"{host}:0", *words]
    if limit:
        line = ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *line]
    environment = os.environ | ({"CORTEX_MCP_TOKEN": token} if token else {})
    with subprocess.Popen(line, cwd=folder, env=environment, stderr=-1, text=True) as process:
        found = re.search(r"listening on http://.*:(\d+)/mcp", process.stderr.readline())
        assert found
        said: list[str] = []
        listener = threading.Thread(target=lambda: said.append(process.stderr.read()))
        listener.start()
        try:
            yield int(found[1])
        finally:
            process.terminate()
            assert process.wait(60) in (0, -signal.SIGTERM)
            listener.join()
    assert says in said[0]
    assert len(said[0]) < 10_000
    assert "Traceback" not in said[0], said[0]


@asynccontextmanager
async def over_http(port: int, token: str, **headers: str) -> Any:
    """A session of the SDK's own client."""
    async with create_mcp_http_client({"Authorization": f"Bearer {token}"} | headers) as client:
        url = f"http://127.0.0.1:{port}/mcp"
        async with streamable_http_client(url, http_client=client) as streams:
            async with ClientSession(*streams[:2]) as session:
                await session.initialize()
                yield session


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str


def post(port: int, body: bytes = b"", **headers: str) -> Answer:
    """What the first request of a client is answered, or `body`."""
    kind = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    names = {name.replace("_", "-"): one for name, one in headers.items()}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as link:
        link.request("POST", "/mcp", body or json.dumps(hello), kind | names)
        answer = link.getresponse()
        fields = {name.lower(): one for name, one in answer.getheaders()}
        return Answer(answer.status, fields, answer.read().decode())


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def connect(port: int, said: bytes = b"") -> socket.socket:
    link = socket.create_connection(("127.0.0.1", port), timeout=30)
    link.sendall(said)
    return link


def head(*fields: str, line: str = "POST /mcp HTTP/1.1") -> bytes:
    return "\r\n".join((line, "Host: localhost", *fields, "", "")).encode()


def test_http_lets_in_who_may(vault, cortex) -> None:
    own = cortex("mcp", "token").stdout.strip()
    with http_server(vault.root) as port:
        assert post(port).status == 401
        assert post(port, **bearer(own)).status == 200
        assert post(port, **bearer(own), origin=f"http://localhost:{port}").status == 200
        assert post(port, **bearer(own), origin="http://evil.example").status == 403
        assert post(port, **bearer(own), origin="http://localhost:3000").status == 403
        assert post(port, **bearer(own), host="evil.example").status == 421
        assert post(port, **bearer(own), host=f"evil.example:{port}").status == 421
    with http_server(vault.root, "--allow", "box.lan", token=TOKEN, host="0.0.0.0") as port:
        assert post(port).status == 401
        assert post(port, **bearer(own)).status == 401
        assert post(port, **bearer(f"{TOKEN}x")).status == 401
        assert post(port, authorization=f"Basic {TOKEN}").status == 401
        assert post(port, **bearer(TOKEN)).status == 200
        assert post(port, **bearer(TOKEN), host="box.lan").status == 200
        assert post(port, **bearer(TOKEN), host="evil.example").status == 421
        assert post(port, **bearer(TOKEN), origin="https://evil.example").status == 403


def test_a_client_of_the_sdk_is_let_in_with_the_token_alone(vault, cortex) -> None:
    async def ask(port: int, token: str) -> bool:
        async with over_http(port, token) as session:
            return (await session.call_tool("status", {})).is_error

    with http_server(vault.root) as port:
        assert not anyio.run(ask, port, cortex("mcp", "token").stdout.strip())
        with pytest.raises(BaseExceptionGroup):
            anyio.run(ask, port, "another-token-of-some-length")


def test_a_client_is_told_how_far_its_call_is(vault) -> None:
    for number in range(300):
        Path(vault.root, f"n{number}.md").write_text(f"# Note {number}\n\nquince {number}\n")

    async def ask(port: int) -> list[float]:
        told: list[float] = []

        async def tell(done: float, total: float | None, what: str | None) -> None:
            told.append(done)

        async with over_http(port, TOKEN) as session:
            found = await session.call_tool("search", {"query": "quince"}, progress_callback=tell)
            assert not found.is_error
        return told

    with http_server(vault.root, token=TOKEN) as port:
        told = anyio.run(ask, port)
    assert told
    assert told == sorted(told)


def test_the_refusal_names_the_commands_that_help_and_reads_no_body(vault) -> None:
    with http_server(vault.root) as port:
        refused = post(port)
        assert refused.headers["www-authenticate"] == "Bearer"
        assert refused.headers["connection"] == "close"
        assert "cortex mcp install HOST" in refused.text
        assert "cortex mcp token" in refused.text
        for line in ("POST /mcp HTTP/1.1", "GET / HTTP/1.0", "nonsense"):
            with connect(port, head("Content-Length: 9999999999", line=line)) as link:
                said = b"".join(iter(lambda link=link: link.recv(4096), b""))
                assert said.startswith(b"HTTP/1.1 401 "), line
                with pytest.raises(OSError):
                    for _ in range(10_000):
                        link.sendall(bytes(10_000))


def test_each_request_of_a_connection_brings_the_token(vault) -> None:
    """Also those that come at once, as a proxy or a smuggler sends them."""
    with http_server(vault.root, token=TOKEN) as port:
        allowed = head(f"Authorization: bearer {TOKEN}", "Content-Length: 2") + b"{}"
        for second in (head("Content-Length: 0"), head("Authorization: Bearer x")):
            with connect(port, allowed + second) as link:
                said = b"".join(iter(lambda link=link: link.recv(4096), b""))
            assert said.startswith(b"HTTP/1.1 4")
            assert not said.startswith(b"HTTP/1.1 401")
            assert said.count(b"HTTP/1.1 401 ") == 1
        for twice in (TOKEN, "x"):
            fields = (f"Authorization: Bearer {one}" for one in (TOKEN, twice))
            with connect(port, head(*fields)) as link:
                assert link.recv(12) == b"HTTP/1.1 401"


def test_a_body_has_a_bound(vault) -> None:
    with http_server(vault.root, token=TOKEN) as port:
        assert post(port, b"x" * (5 << 20), **bearer(TOKEN)).status == 413
        assert post(port, b"x" * (1 << 20), **bearer(TOKEN)).status == 400


def test_a_head_may_come_in_pieces(vault) -> None:
    with http_server(vault.root, token=TOKEN) as port:
        with connect(port) as link:
            for byte in head(f"Authorization: Bearer {TOKEN}", "Content-Length: 0"):
                link.sendall(bytes([byte]))
            assert link.recv(9) == b"HTTP/1.1 "
            assert link.recv(3) != b"401"
        with connect(port, b"GET / HTTP/1.1\r\nX: ") as link:
            with suppress(OSError):
                link.sendall(bytes(1 << 20))
            with suppress(ConnectionResetError):
                assert link.recv(1) == b""


def test_the_token_is_of_one_user_and_stays_the_same(vault, cortex, cortex_process) -> None:
    token = cortex("mcp", "token").stdout
    assert len(token) > 40
    assert cortex_process("mcp", "token").stdout == token
    file = Path(os.path.expanduser("~/.local/state/cortex/mcp/token"))
    assert file.read_text() == token.strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.write_bytes(b"\n")
    assert "holds no token" in cortex("mcp", "token").stderr
    file.unlink()
    assert cortex("mcp", "token").stdout not in ("", token)


def test_the_variable_comes_first(vault, cortex, monkeypatch) -> None:
    monkeypatch.setenv("CORTEX_MCP_TOKEN", TOKEN)
    assert cortex("mcp", "token").stdout == f"{TOKEN}\n"


def test_a_short_token_is_refused(vault, cortex, monkeypatch) -> None:
    monkeypatch.setenv("CORTEX_MCP_TOKEN", "short")
    done = cortex("mcp", "--http", "0.0.0.0:0")
    assert done.returncode == 2
    assert "less than 16 characters" in done.stderr


def test_another_user_of_the_machine_finds_no_token_and_calls_nothing(
    vault, public_folder, monkeypatch, as_user
) -> None:
    """Neither in the file, though every folder above is open, nor in what `ps` shows."""
    monkeypatch.setenv("XDG_STATE_HOME", str(public_folder))
    file = public_folder / "cortex" / "mcp" / "token"

    def spy() -> list[str]:
        found = [str(os.getuid())]
        with suppress(PermissionError):
            found.append(file.read_text())
        for number in filter(str.isdecimal, os.listdir("/proc")):
            for name in ("cmdline", "environ"):
                with suppress(OSError):
                    found.append(
                        Path("/proc", number, name).read_bytes().decode("utf-8", "replace")
                    )
        found += [str(post(port, **bearer(word)).status) for word in ("", "a" * 43)]
        return found

    for token in ("", "a-token-of-the-environment"):
        with http_server(vault.root, token=token) as port:
            wanted = token or file.read_text()
            assert post(port, **bearer(wanted)).status == 200
            told = as_user(12_345, spy)
            assert told[0] == "12345"
            assert told[-2:] == ["401", "401"]
            assert not [one for one in told if wanted in one]


# A flood


@pytest.fixture
def many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < 2 * FLOOD:
        pytest.skip(f"not run: {before[1]} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 2 * FLOOD), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def flood(port: int, first: bytes, then: bytes = b"") -> Iterator[list[int]]:
    """Some 1,200 connections that bring no token and say these; those that are dropped are made anew. Gives the number of
    times that all of them were there."""
    rounds: list[int] = []
    is_over = threading.Event()

    def is_open(link: socket.socket) -> bool:
        with suppress(BlockingIOError):
            try:
                link.send(then)
                if not link.recv(4096):
                    raise ConnectionError
            except ConnectionError:
                link.close()
                return False
        return True

    def keep_up() -> None:
        links: list[socket.socket] = []
        while not is_over.wait(0.05):
            links = [link for link in links if is_open(link)]
            while len(links) < FLOOD and not is_over.is_set():
                link = connect(port)
                with suppress(ConnectionError):
                    link.sendall(first)
                link.setblocking(False)
                links.append(link)
            rounds.append(len(links))
        for link in links:
            link.close()

    thread = threading.Thread(target=keep_up)
    thread.start()
    try:
        yield rounds
    finally:
        is_over.set()
        thread.join()


def wait_until(holds: Any, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("first", "then", "limit"), [
    pytest.param(b"", b"", 1_024, id="nothing"),
    pytest.param(b"", b"", 128, id="few descriptors"),
    pytest.param(b"POST /mcp HTTP/1.1\r\nX: ", b"y", 1_024, id="half a head"),
    pytest.param(head("Content-Length: 1000000"), b"y", 1_024, id="a slow body"),
    pytest.param(head("Authorization: Bearer no"), b"", 1_024, id="a wrong token"),
])  # fmt: skip
def test_a_flood_keeps_nobody_out(vault, many_files, first, then, limit) -> None:
    """A client that is there stays, with its open stream, and new ones are answered; the server says little (`http_server`)."""

    async def ask_meanwhile(port: int) -> list[float]:
        took = []
        async with over_http(port, TOKEN) as session:
            with flood(port, first, then) as rounds:
                await anyio.to_thread.run_sync(wait_until, lambda: rounds)
                for _ in range(5):
                    begun = time.monotonic()
                    assert not (await session.call_tool("status", {})).is_error
                    assert (
                        await anyio.to_thread.run_sync(lambda: post(port, **bearer(TOKEN)))
                    ).status == 200
                    took.append(time.monotonic() - begun)
            assert not (await session.call_tool("status", {})).is_error
        return took

    with http_server(vault.root, token=TOKEN, limit=limit) as port:
        took = anyio.run(ask_meanwhile, port)
        assert max(took) < 10  # a twentieth of that where nothing else runs
        assert post(port, **bearer(TOKEN)).status == 200


def test_the_oldest_of_the_unknown_goes_first(vault) -> None:
    with http_server(vault.root, token=TOKEN, limit=128) as port, ExitStack() as stack:
        links = [stack.enter_context(connect(port)) for _ in range(80)]
        for link in links[:16]:
            assert link.recv(1) == b""
        links[-1].sendall(head(f"Authorization: Bearer {TOKEN}", "Content-Length: 0"))
        assert links[-1].recv(9) == b"HTTP/1.1 "
        for link in links[16:-1]:
            link.setblocking(False)
            with pytest.raises(BlockingIOError):
                link.recv(1)


def test_who_says_nothing_is_let_go_after_a_while(vault) -> None:
    with http_server(vault.root, token=TOKEN) as port:
        with connect(port, b"GET / HTTP/1.1\r\n") as link:
            assert link.recv(1) == b""


def test_without_descriptors_the_server_waits_and_says_so(vault) -> None:
    """Clients that bring the token are the user's own, and not bounded."""
    request = head(f"Authorization: Bearer {TOKEN}", "Content-Length: 9")
    says = "connections have to wait: Too many open files"
    with http_server(vault.root, token=TOKEN, limit=64, says=says) as port:
        with ExitStack() as stack:
            for _ in range(80):
                stack.enter_context(connect(port, request))
            with pytest.raises(TimeoutError):
                link = stack.enter_context(connect(port, head()))
                link.settimeout(2)
                link.recv(1)
        assert post(port, **bearer(TOKEN)).status == 200


def test_the_server_ends_while_others_hold_on(vault) -> None:
    """An open stream of a client, and one who says nothing (`http_server`)."""
    with ExitStack() as stack:
        with http_server(vault.root, token=TOKEN) as port:
            session = post(port, **bearer(TOKEN)).headers["mcp-session-id"]
            allowed = f"Authorization: Bearer {TOKEN}"
            stream = (allowed, f"Mcp-Session-Id: {session}", "Accept: text/event-stream")
            link = stack.enter_context(connect(port, head(*stream, line="GET /mcp HTTP/1.1")))
            assert link.recv(12) == b"HTTP/1.1 200"
            stack.enter_context(connect(port))
