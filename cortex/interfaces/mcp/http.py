"""The server over HTTP: for those who bring the token, under known names alone."""

from __future__ import annotations

import asyncio
import hmac
import itertools
import resource
import socket
import sys
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from uvicorn.protocols.http.h11_impl import H11Protocol

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.lazy_re import lazy_re
from cortex.interfaces.listener import open_listener
from cortex.interfaces.mcp.sdk_server import sdk_server
from cortex.interfaces.mcp.server import ToolServer, free_memory, lean_memory

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MIN_TOKEN_CHARS = 16
_MAX_UNKNOWN = 256  # connections that have not brought the token
_HEAD_SECONDS, _MAX_HEAD_BYTES = 10.0, 64 * 1024  # in which they have to
_BACKLOG = 2048  # connections that wait in the kernel
_STOP_SECONDS = 5  # for answers that are under way when the server is ended
_HEAD_END_RE = lazy_re(rb"\n\r?\n")
_REFUSAL = (
    b"Bring the token: Authorization: Bearer TOKEN\n"
    b"cortex mcp install HOST writes the line into a host's settings, cortex mcp token prints TOKEN.\n"
)
_REFUSAL_HEAD = [
    (b"www-authenticate", b"Bearer"), (b"content-type", b"text/plain; charset=utf-8"),
    (b"content-length", b"%d" % len(_REFUSAL)), (b"connection", b"close"),
]  # fmt: skip
_RAW_REFUSAL = b"\r\n".join(
    (b"HTTP/1.1 401 Unauthorized", *map(b": ".join, _REFUSAL_HEAD), b"", _REFUSAL)
)


def _brings_token(given: list[bytes], token: bytes) -> bool:
    """Whether the values of `Authorization` are the token alone."""
    scheme, value = (given[0][:7], given[0][7:]) if len(given) == 1 else (b"", b"")
    return scheme.lower() == b"bearer " and hmac.compare_digest(value, token)


class _TokenGuard:
    """Lets a request through that brings the token. Each has to: a proxy's connection brings those of
    many clients."""

    def __init__(self, app: ASGIApp, token: bytes) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = [value for name, value in scope["headers"] if name == b"authorization"]
            if not _brings_token(given, self._token):
                head = {"type": "http.response.start", "status": 401, "headers": _REFUSAL_HEAD}
                await send(head)
                await send({"type": "http.response.body", "body": _REFUSAL})
                return
        await self._app(scope, receive, send)


class _HttpServer(uvicorn.Server):
    """uvicorn's, which gets a connection when its first request has brought the token. Before, it is a
    socket and no more, since a flood makes thousands a second."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket, token: bytes) -> None:
        super().__init__(config)
        self._listener, self._token = listener, token
        # Half of the descriptors are for clients that are known, and for the vault.
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._max_unknown = max(16, min(_MAX_UNKNOWN, soft // 2))
        self._unknown: dict[asyncio.Task[None], None] = {}  # as they came

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self._accepting = self._loop.create_task(self._accept())

    async def _accept(self) -> None:
        """Take connections. One too many of unknown clients ends the oldest."""
        for number in itertools.count():
            try:
                link, _ = await self._loop.sock_accept(self._listener)
            except ConnectionAbortedError:
                continue
            except OSError as error:  # no descriptors are left, or no memory
                print(f"connections have to wait: {error.strerror}", file=sys.stderr, flush=True)
                await asyncio.sleep(1)
                continue
            if len(self._unknown) >= self._max_unknown:
                oldest = next(iter(self._unknown))
                self._unknown.pop(oldest)
                oldest.cancel()
            task = self._loop.create_task(self._meet(link))
            self._unknown[task] = None
            task.add_done_callback(lambda task: self._unknown.pop(task, None))
            # The others have a turn, so often that what one says is read before it may be ended.
            if number % (self._max_unknown // 16) == 0:
                await asyncio.sleep(0)

    async def _meet(self, link: socket.socket) -> None:
        """Hand a connection over to uvicorn if its first request brings the token."""
        head = b""
        with closing(link), suppress(OSError):  # a reset, or too late
            async with asyncio.timeout(_HEAD_SECONDS):
                while not (end := _HEAD_END_RE.search(head)):
                    data = await self._loop.sock_recv(link, _MAX_HEAD_BYTES)
                    if not data or len(head) > _MAX_HEAD_BYTES:
                        return
                    head += data
                fields = (line.partition(b":") for line in head[: end.start()].split(b"\n"))
                given = [one.strip() for name, _, one in fields if name.lower() == b"authorization"]
                if not _brings_token(given, self._token):
                    await self._refuse(link)
                    return
            known = H11Protocol(self.config, self.server_state, self.lifespan.state)
            known.conn.receive_data(head)
            own = socket.socket(fileno=link.detach())
            await self._loop.connect_accepted_socket(lambda: known, own)
            known.handle_events()

    async def _refuse(self, link: socket.socket) -> None:
        """Answer, and read a little: with something unread, closing would take the answer back."""
        await self._loop.sock_sendall(link, _RAW_REFUSAL)
        link.shutdown(socket.SHUT_WR)
        for _ in range(16):
            if not await self._loop.sock_recv(link, 4096):
                return


def parse_address(text: str, token: str) -> tuple[str, int]:
    """Host and port. Raises `InvalidInputError`, also where others could ask without a token."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdecimal() or int(port) > 65_535:
        raise InvalidInputError(f"{text!r} is no HOST:PORT", "cortex mcp --http 127.0.0.1:8765")
    host = host.strip("[]") or "127.0.0.1"
    if token and len(token) < _MIN_TOKEN_CHARS:
        message = f"$CORTEX_MCP_TOKEN has less than {_MIN_TOKEN_CHARS} characters"
        raise InvalidInputError(
            message, "python3 -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    if host not in _LOOPBACK and not token:
        message = f"{host} can be reached from elsewhere, and no token is set"
        raise InvalidInputError(message, "listen on 127.0.0.1, or set $CORTEX_MCP_TOKEN")
    return host, int(port)


def listen(tools: ToolServer, address: tuple[str, int], token: str, names: Sequence[str]) -> None:
    """Serve any number of clients that bring the token until the process is ended. `names` are those
    under which others may reach it beside this machine's loopback."""
    host, port = address
    listener = open_listener(host, port, _BACKLOG, "choose another port; 0 takes a free one")
    listener.setblocking(False)
    port = listener.getsockname()[1]
    known = [*_LOOPBACK[:2], "[::1]", host, socket.gethostname(), *names]
    hosts = [form for name in dict.fromkeys(known) for form in (name, f"{name}:{port}")]
    # A page of another port is another origin; a proxy with TLS has none.
    origins = [*(f"http://{one}" for one in hosts[1::2]), *(f"https://{one}" for one in names)]
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
    app: Any = sdk_server(tools).streamable_http_app(transport_security=security, host=host)
    shown = f"[{host}]" if ":" in host else host
    print(f"listening on http://{shown}:{port}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(
        _TokenGuard(app, token.encode()), ws="none", loop="asyncio", log_level="warning",
        access_log=False, timeout_graceful_shutdown=_STOP_SECONDS,
    )  # fmt: skip
    with listener, lean_memory():
        free_memory()
        _HttpServer(config, listener, token.encode()).run(sockets=[])
