"""Claude Desktop: it opens no folder, and starts servers outside of every project.

Source, looked at in November 2026: modelcontextprotocol.io/docs/develop/connect-local-servers.
"""

from __future__ import annotations

import sys

from cortex.hosts.host import Host, McpSettings

_SETTINGS_FOLDER = "Library/Application Support" if sys.platform == "darwin" else ".config"
HOST = Host(
    "claude-desktop",
    "Claude Desktop",
    mcp=McpSettings(
        "", f"{_SETTINGS_FOLDER}/Claude/claude_desktop_config.json", "mcpServers",
        "quit it and start it anew", starts_elsewhere=True,
    ),
)  # fmt: skip
