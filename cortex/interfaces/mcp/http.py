"""The server over HTTP: on this machine alone unless a token is set, for known names alone."""

from __future__ import annotations

import hmac
import socket
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from cortex.core.model.problem import InvalidInputError

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MIN_TOKEN_CHARS = 16


class _TokenGuard:
    """Lets through what brings the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._wanted = b"bearer " + token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            given = given[:7].lower() + given[7:]
            if not hmac.compare_digest(given, self._wanted):
                head = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
                await send({"type": "http.response.start", "status": 401, "headers": head})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)


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


def listen_on_http(
    server: Server[Any], address: tuple[str, int], token: str, names: Sequence[str]
) -> None:
    """Serve any number of clients until the process is ended. `names` are those under which others
    may reach it beside this machine's loopback."""
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        hint = "choose another port; 0 takes a free one"
        raise InvalidInputError(
            f"cannot listen on {host}:{port}: {error.strerror}", hint
        ) from error
    port = listener.getsockname()[1]
    known = [*_LOOPBACK[:2], "[::1]", host, socket.gethostname(), *names]
    hosts = [form for name in dict.fromkeys(known) for form in (name, f"{name}:{port}")]
    # A page of another port is another origin; a proxy with TLS has none.
    origins = [*(f"http://{one}" for one in hosts[1::2]), *(f"https://{one}" for one in names)]
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)
    app: Any = server.streamable_http_app(transport_security=security, host=host)
    shown = f"[{host}]" if ":" in host else host
    print(f"listening on http://{shown}:{port}/mcp", file=sys.stderr, flush=True)
    config = uvicorn.Config(
        _TokenGuard(app, token) if token else app, log_level="warning", access_log=False
    )
    with listener:
        uvicorn.Server(config).run(sockets=[listener])
