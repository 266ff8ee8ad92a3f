"""The server of the SDK around our answers, for HTTP: sessions, streams and checks of headers are its own."""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import anyio.from_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import RequestParams

from cortex.core import __version__
from cortex.interfaces.mcp import server
from cortex.interfaces.mcp.server import Client, Progress, ToolServer

VAULT_HEADER = "Cortex-Vault"
_Context = ServerRequestContext[Any, Any]


def sdk_server(tools: ToolServer) -> Server[Any]:
    """A server that answers as `tools` does. A call that is cancelled ends its write before it is
    forgotten."""
    slots = anyio.CapacityLimiter(server.MAX_CALLS)

    async def answer(context: _Context, _params: RequestParams) -> dict[str, Any]:
        named = context.request.headers.get(VAULT_HEADER, "") if context.request else ""
        client = Client(vault=named, progress=Progress(partial(_tell_progress, context)).tell)
        arguments = context.method, context.params or {}, client
        try:
            return await anyio.to_thread.run_sync(tools.answer, *arguments, limiter=slots)
        except Exception as error:  # noqa: BLE001  the server lives on
            refusal = server.as_protocol_error(error)
            raise MCPError(refusal.code, refusal.message, refusal.data) from None

    sdk = Server[Any]("cortex", version=__version__, instructions=server.INSTRUCTIONS)
    for method in (*server.LISTS, *server.CALLS):
        sdk.add_request_handler(method, RequestParams, answer)
    return sdk


def _tell_progress(context: _Context, done: int, total: int, what: str) -> None:
    """For the thread of a call."""
    anyio.from_thread.run(context.session.report_progress, done, total, what)
