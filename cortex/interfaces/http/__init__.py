"""The memory over HTTP: REST, the page, the live stream, and MCP."""
