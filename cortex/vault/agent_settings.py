"""Settings and instructions of agents at the top of a vault, written by whoever wrote the vault."""

from __future__ import annotations

from cortex.vault import files

# By host: what it reads by itself when it is started in a folder.
_SETTINGS_PATHS = (
    ".claude", "CLAUDE.md", "CLAUDE.local.md", ".mcp.json",
    ".codex", "AGENTS.md", "AGENTS.override.md",
    ".gemini", "GEMINI.md",
    ".cursor", ".cursorrules",
    ".github/hooks", ".github/copilot-instructions.md", ".github/instructions", ".vscode/mcp.json",
    ".windsurf", ".windsurfrules",
    ".opencode", "opencode.json", "opencode.jsonc",
    ".agents", ".clinerules", ".roo", ".continue", ".kiro", ".aider.conf.yml",
)  # fmt: skip


def list_agent_settings(root: str) -> tuple[str, ...]:
    """The names of agents' settings in the vault at `root`, links included; none is opened."""
    return tuple(name for name in _SETTINGS_PATHS if files.exists(root, name))


def agent_settings_notice(names: tuple[str, ...]) -> str:
    """One line that names them."""
    advice = "Cortex trusts and installs none, so read them before you start an agent there"
    return f"agent settings lie in this vault: {', '.join(names)}; {advice}"
