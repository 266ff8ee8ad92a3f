"""The programs that run agents, a protocol in each module: how one is called, and what it prints."""
