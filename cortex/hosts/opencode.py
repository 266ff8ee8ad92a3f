"""opencode: servers in its settings; hooks by a plugin, `plugins/opencode`; transcripts are not read.

Source, looked at in November 2026: opencode.ai/docs/mcp-servers.
"""

from __future__ import annotations

from cortex.hosts.host import Host, McpSettings

HOST = Host(
    "opencode",
    "opencode",
    mcp=McpSettings(
        "opencode.json", ".config/opencode/opencode.json", "mcp",
        fields=(("type", "local"),), is_one_list=True, variable="{env:%s}",
    ),
)  # fmt: skip
