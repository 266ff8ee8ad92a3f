"""VS Code with Copilot: servers in a file of their own; it runs no hooks of ours.

Source, looked at in November 2026: code.visualstudio.com/docs/agents/reference/mcp-configuration.
"""

from __future__ import annotations

import sys

from cortex.hosts.host import Host, McpSettings

_SETTINGS_FOLDER = "Library/Application Support" if sys.platform == "darwin" else ".config"
HOST = Host(
    "vscode",
    "VS Code",
    mcp=McpSettings(
        ".vscode/mcp.json", f"{_SETTINGS_FOLDER}/Code/User/mcp.json", "servers", asks="whether the server may run",
        fields=(("type", "stdio"),), workspace="${workspaceFolder}", starts_elsewhere=True,
        variable="${env:%s}",
    ),
)  # fmt: skip
