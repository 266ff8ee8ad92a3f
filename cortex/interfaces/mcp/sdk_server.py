"""The server of the SDK around our answers, for HTTP: sessions, streams and checks of headers are its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio
import anyio.from_thread
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from cortex.core import __version__
from cortex.interfaces.mcp.server import (
    INSTRUCTIONS,
    MAX_CALLS,
    Client,
    ToolServer,
    as_protocol_error,
)

VAULT_HEADER = "Cortex-Vault"
_Answer = Callable[[Mapping[str, Any], Client], dict[str, Any]]


def sdk_server(tools: ToolServer) -> Server[Any]:
    """A server that answers as `tools` does."""
    slots = anyio.CapacityLimiter(MAX_CALLS)

    def listed(key: str) -> _Answer:
        return lambda _params, _client: tools.list_of(key)

    handlers: dict[str, tuple[type[BaseModel], _Answer]] = {
        "on_list_tools": (types.ListToolsResult, listed("tools")),
        "on_list_resources": (types.ListResourcesResult, listed("resources")),
        "on_list_resource_templates": (
            types.ListResourceTemplatesResult, listed("resourceTemplates")
        ),
        "on_list_prompts": (types.ListPromptsResult, listed("prompts")),
        "on_call_tool": (types.CallToolResult, tools.call_tool),
        "on_read_resource": (types.ReadResourceResult, tools.read_resource),
        "on_get_prompt": (types.GetPromptResult, tools.get_prompt),
    }  # fmt: skip
    awaited: Any = {name: _in_thread(*one, slots) for name, one in handlers.items()}
    return Server("cortex", version=__version__, instructions=INSTRUCTIONS, **awaited)


def _in_thread(kind: type[BaseModel], answer: _Answer, slots: anyio.CapacityLimiter) -> Any:
    """A handler that answers in a thread. A call that is cancelled ends its write before it is
    forgotten."""

    async def handle(context: ServerRequestContext[Any, Any], _params: object) -> BaseModel:
        named = context.request.headers.get(VAULT_HEADER, "") if context.request else ""
        client = Client(vault=named, progress=partial(_tell_progress, context))
        try:
            given = context.params or {}
            found = await anyio.to_thread.run_sync(answer, given, client, limiter=slots)
        except Exception as error:  # noqa: BLE001  the server lives on
            told = as_protocol_error(error)
            raise MCPError(told.code, told.message, told.data) from None
        return kind.model_validate(found)

    return handle


def _tell_progress(
    context: ServerRequestContext[Any, Any], what: str, done: int, total: int
) -> None:
    """For the thread of a call."""
    anyio.from_thread.run(context.session.report_progress, done, total, what)
