"""Hosts that run no hooks of ours: servers in their settings alone; transcripts are not read.

opencode has hooks by a plugin, `plugins/opencode`. Claude Desktop opens no folder, and starts servers
outside of every project. Sources, looked at in November 2026: opencode.ai/docs/mcp-servers,
code.visualstudio.com/docs/agents/reference/mcp-configuration,
modelcontextprotocol.io/docs/develop/connect-local-servers.
"""

from __future__ import annotations

import sys

from cortex.hosts.host import Host, McpSettings

_SETTINGS_FOLDER = "Library/Application Support" if sys.platform == "darwin" else ".config"
HOSTS = (
    Host("opencode", "opencode", mcp=McpSettings(
        "opencode.json", "mcp", ".config/opencode/opencode.json",
        fields=(("type", "local"),), is_one_list=True, variable="{env:%s}",
    )),
    Host("vscode", "VS Code", mcp=McpSettings(
        ".vscode/mcp.json", "servers", f"{_SETTINGS_FOLDER}/Code/User/mcp.json", asks="whether the server may run",
        fields=(("type", "stdio"),), workspace="${workspaceFolder}", starts_elsewhere=True, variable="${env:%s}",
    )),
    Host("claude-desktop", "Claude Desktop", mcp=McpSettings(
        "", "mcpServers", f"{_SETTINGS_FOLDER}/Claude/claude_desktop_config.json",
        "quit it and start it anew", starts_elsewhere=True,
    )),
)  # fmt: skip
