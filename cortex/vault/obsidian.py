"""The Obsidian vault that a vault is, or lies in: its root, and its folders of templates."""

from __future__ import annotations

import json
import os
from contextlib import suppress

from cortex.core.model.problem import CortexError
from cortex.vault import files

FOLDER = ".obsidian"
# Where the folder of templates is named: the core plugin, then Templater.
_TEMPLATE_KEYS = {
    f"{FOLDER}/templates.json": "folder",
    f"{FOLDER}/plugins/templater-obsidian/data.json": "templates_folder",
}
_MAX_BYTES = 1 << 20  # of a settings file that are read


def find_vault_root(root: str) -> str:
    """The nearest folder, from `root` upwards, that Obsidian has opened as a vault, else ""."""
    folder = os.path.abspath(root)
    while not os.path.isdir(os.path.join(folder, FOLDER)):
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)
    return folder


def template_folders(root: str) -> tuple[str, ...]:
    """The readable folders of templates, relative to our vault, each with a slash at its end."""
    top = find_vault_root(root)
    found = []
    for path, key in _TEMPLATE_KEYS.items() if top else ():
        folder: object = ""
        with suppress(CortexError, OSError, ValueError, RecursionError, AttributeError):
            folder = json.loads(files.read(top, path, _MAX_BYTES)).get(key)
        if isinstance(folder, str) and folder.strip("/. "):
            below = os.path.relpath(os.path.join(top, folder.strip("/ ")), root)
            if not below.startswith(os.curdir):  # also what lies outside
                found.append(f"{below.replace(os.sep, '/')}/")
    return tuple(dict.fromkeys(found))
