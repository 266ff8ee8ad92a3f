"""Settings of other programs in a vault: of agents, at its top, and of Obsidian around it."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from cortex.core.model.problem import CortexError
from cortex.vault import files
from cortex.vault.layout import layout_of

OBSIDIAN_FOLDER = ".obsidian"
_DAILY_NOTES = f"{OBSIDIAN_FOLDER}/daily-notes.json"
# Where the folder of templates is named: the core plugin, then Templater.
_TEMPLATE_KEYS = {
    f"{OBSIDIAN_FOLDER}/templates.json": "folder",
    f"{OBSIDIAN_FOLDER}/plugins/templater-obsidian/data.json": "templates_folder",
}
_MAX_BYTES = 1 << 20  # of a settings file that are read
# By agent: what its host reads by itself when it is started in a folder.
AGENT_PATHS = (
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
    """Agents' settings at the top of a vault, from whoever wrote it, with links; none is opened."""
    return tuple(name for name in AGENT_PATHS if files.exists(root, name))


def agent_settings_notice(names: tuple[str, ...]) -> str:
    """One line that names them."""
    advice = "Cortex trusts and installs none, so read them before you start an agent there"
    return f"agent settings lie in this vault: {', '.join(names)}; {advice}"


def find_obsidian_root(root: str) -> str:
    """The nearest folder, from `root` upwards, that Obsidian has opened as a vault, else ""."""
    folders = files.folder_and_parents(os.path.abspath(root))
    return next((one for one in folders if os.path.isdir(os.path.join(one, OBSIDIAN_FOLDER))), "")


def daily_notes(root: str) -> tuple[str, dict[str, str]]:
    """Obsidian's vault, and its settings of daily notes; "" without any. Raises what reading JSON may."""
    top = find_obsidian_root(root)
    if not top or not files.exists(top, _DAILY_NOTES):
        return "", {}
    said = json.loads(files.read(top, _DAILY_NOTES, _MAX_BYTES))
    return top, {key: str(value) for key, value in said.items() if value}


def template_folders(root: str) -> tuple[str, ...]:
    """The readable folders of templates, relative to our vault, each with a slash at its end."""
    top = find_obsidian_root(root)
    own = layout_of(root).path("templates/")
    found = [own] if os.path.isdir(os.path.join(root, own)) else []
    for path, key in _TEMPLATE_KEYS.items() if top else ():
        folder: object = ""
        with suppress(CortexError, OSError, ValueError, RecursionError, AttributeError):
            folder = json.loads(files.read(top, path, _MAX_BYTES)).get(key)
        if isinstance(folder, str) and folder.strip("/. "):
            below = os.path.relpath(os.path.join(top, folder.strip("/ ")), root)
            if not below.startswith(os.curdir):  # also what lies outside
                found.append(f"{below.replace(os.sep, '/')}/")
    return tuple(dict.fromkeys(found))
