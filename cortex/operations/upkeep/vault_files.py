"""What makes a folder a vault: its settings, attributes and folders."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress

from cortex.core.model.layout import VIEWS_FOLDER
from cortex.core.text.strings import slugify
from cortex.vault import files, layout, private
from cortex.vault.git import attributes, page_branch
from cortex.vault.locate import default_vault_file
from cortex.vault.templates import read_template

# Written only if missing. The git attributes name our folders alone: with a rule for every *.md git
# would see a change in each note of an adopted vault that has Windows line ends.
_VIEWS = ("Actions.base", "Decisions.base", "Meetings.base", "Sessions.base")  # of Obsidian
_TEMPLATE_BY_FILE = {layout.SETTINGS_FILE: "cortex.toml", ".gitattributes": "gitattributes"}


def add_vault_files(root: str, folder: str = "", project: str = "") -> tuple[str, ...]:
    """Add what a vault has and this folder lacks; the names of the files. Records need not name the
    `project`."""
    new = not files.exists(root, layout.SETTINGS_FILE)
    is_adopted = new and has_notes(root)
    added = []
    for name, source in _TEMPLATE_BY_FILE.items():
        if not files.exists(root, name):
            text = read_template(source).replace("{{name}}", slugify(os.path.basename(root)))
            if project and name == layout.SETTINGS_FILE:
                text = text.replace("\n\n", f'\nproject = "{project}"\n\n', 1)
            if folder and name == layout.SETTINGS_FILE:
                text += f"\n[layout]\nfolder = {json.dumps(folder, ensure_ascii=False)}\n"
            if name == layout.SETTINGS_FILE and (branch := page_branch.undeclared_default(root)[0]):
                text += page_branch.settings_lines(branch)
            data = text.encode()
            if name == ".gitattributes":
                if is_adopted:  # git merges people's notes there as it always did
                    data = re.sub(rb"(?m)^\*\.md .*\n", b"", data)
                data = attributes.with_layout(data, layout.layout_of(root))
            files.create(root, name, data)
            added.append(name)
    where = layout.layout_of(root)
    for name in _VIEWS if new else ():  # once: then they are a person's
        with suppress(FileExistsError):
            path = where.path(f"{VIEWS_FOLDER}/{name}")
            files.create(root, path, read_template(f"views/{name}").encode())
    added += [where.path(f"{VIEWS_FOLDER}/")] if new else []
    for path in (where.pending(), where.path("records")):
        with files.open_folder(root, path, create=True) as place:
            place.sync()
    return tuple(added)


def has_notes(root: str) -> bool:
    """Whether people have notes of their own in a folder."""
    for _, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if any(name.endswith(".md") for name in names):
            return True
    return False


def set_default_vault(root: str) -> None:
    """Make it the vault that commands use where no other is found."""
    path = default_vault_file()
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    # Where a user's own settings are a link, its target is written.
    private.replace(os.path.realpath(path), os.fsencode(root) + b"\n", synced=True)
