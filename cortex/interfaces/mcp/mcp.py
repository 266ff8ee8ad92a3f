"""The verb `mcp`: serve the tools to an agent, or write the server into a host's settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from cortex.core.model.caller import Caller
from cortex.core.model.problem import InvalidInputError
from cortex.core.text.value import NamedTuple
from cortex.interfaces.mcp.server import ToolServer
from cortex.interfaces.mcp.tools import select_tools
from cortex.vault import user_settings
from cortex.vault.extra import MCP, require
from cortex.vault.locate import find_vault
from cortex.vault.state.known_vaults import find_workplace

if TYPE_CHECKING:
    from cortex.hosts.mcp_settings import McpChange

# Apart from what edits settings, which takes 20 ms that serving does without.
McpHostName = Literal[
    "claude", "claude-desktop", "codex", "copilot", "cursor", "gemini", "opencode", "vscode", "windsurf"
]  # fmt: skip


class McpResult(NamedTuple):
    """What was done to settings, or the token; empty after serving."""

    changes: tuple[McpChange, ...] = ()
    token: str = ""

    def lines(self) -> Iterator[str]:
        """For a person."""
        if self.token:
            yield self.token
        for one in self.changes:
            yield f"{one.outcome}: {one.file}"
            if one.seen or one.fault:
                yield f"  {one.seen or one.fault}"
            if one.next_step:
                yield f"  {one.next_step}"
            yield from one.diff.splitlines()


def mcp(
    caller: Caller,
    vault_name: str,
    action: Literal["serve", "install", "remove", "token"] = "serve",
    hosts: list[McpHostName] | None = None,
    *,
    tools: tuple[str, ...] = (),
    http: str = "",
    allow: tuple[str, ...] = (),
    structured: bool = False,
    user: bool = False,
    dry_run: bool = False,
) -> McpResult:
    """Serve the memory to agents over the Model Context Protocol.

    install writes the server into the settings of a host, and changes no other byte. Then it starts
    the server as the host does, and prints the result. remove takes the entry out again.

    serve uses standard input and output, as hosts start it. With --http it needs the package mcp, an
    extra, and each request needs a token: yours, which cortex mcp token prints, or the one in
    $CORTEX_MCP_TOKEN. Only with $CORTEX_MCP_TOKEN can other machines connect. An entry that has the
    server's address gets from install the line that sends the token.

    action: serve (by default), install, remove or token
    hosts: for install and remove: claude, claude-desktop, codex, copilot, cursor, gemini, opencode, vscode, windsurf
    tools: profiles or names of tools: default, agent, admin, briefing, all
    http: HOST:PORT to listen on, such as 127.0.0.1:8765; port 0 takes a free one
    allow: with --http, names under which others may reach it
    structured: answer with JSON, too, for a program; most models then see only the JSON
    user: for install and remove: your own settings, for all projects
    dry_run: for install and remove: show what would change, and change nothing

    Example: cortex mcp --tools agent
    Example: cortex mcp install claude cursor
    Example: cortex mcp --http 127.0.0.1:8765
    """
    by_agent = not tools and user_settings.load_distill()[0].by == user_settings.AGENT
    selected = select_tools(tools or (("default", "distill") if by_agent else ("default",)))
    if action == "serve":
        if hosts or user or dry_run or (allow and not http):
            message = "hosts, --user and --dry-run go with install and remove, --allow with --http"
            raise InvalidInputError(message, "cortex mcp --help")
        find = partial(find_workplace, vault_name, caller.cwd, os.environ)
        server = ToolServer(selected, find, caller.cwd, structured=structured)
        _serve_http(server, http, allow) if http else _serve_stdio(server)
        return McpResult()
    if http or allow:
        message = f"--http and --allow do not go with {action}"
        raise InvalidInputError(message, "cortex mcp --help")
    if action == "token":
        variable = os.environ.get(user_settings.TOKEN_VARIABLE)
        return McpResult(token=variable or user_settings.own_token())
    words = ["--tools", ",".join(tools)] if tools else []
    words += ["--vault", find_vault(vault_name, caller.cwd, os.environ).root] if vault_name else []
    words += ["--structured"] if structured else []
    # 40 ms, which serving does without.
    from cortex.interfaces.mcp.install import change_settings  # noqa: PLC0415

    changes = change_settings(caller.cwd, action, hosts or [], words, user=user, dry_run=dry_run)
    return McpResult(tuple(changes))


def _serve_http(tools: ToolServer, address: str, names: Sequence[str]) -> None:
    require("--http", MCP)
    # 0.7 s of the SDK.
    from cortex.interfaces.mcp import http  # noqa: PLC0415

    token = os.environ.get(user_settings.TOKEN_VARIABLE, "")
    parsed = http.parse_address(address, token)
    http.listen(tools, parsed, token or user_settings.own_token(), names)


def _serve_stdio(tools: ToolServer) -> None:
    if sys.stdin is None:
        message = "standard input is closed, over which the host of an agent asks"
        raise InvalidInputError(message, "cortex mcp install HOST has the host start the server")
    wire = _take_standard_streams()
    from cortex.interfaces.mcp.stdio import StdioServer  # noqa: PLC0415  15 ms of threads

    StdioServer(tools, wire).serve()


def _take_standard_streams() -> tuple[int, int]:
    """Descriptors of what standard input and output were. What is read or printed from now on, by an
    import or a process of git, is no message."""
    wire = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire
