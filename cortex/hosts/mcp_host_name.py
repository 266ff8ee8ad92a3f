"""The hosts whose settings can name the server: apart from what edits settings, which takes 20 ms that
serving does without."""

from __future__ import annotations

from typing import Literal

McpHostName = Literal[
    "claude", "claude-desktop", "codex", "copilot", "cursor", "gemini", "opencode", "vscode",
    "windsurf",
]  # fmt: skip
