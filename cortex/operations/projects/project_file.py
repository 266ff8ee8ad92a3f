"""The file that keeps a project's name when its folder is cloned or moved, or gets a remote.

Without it and without a remote a project is named after its path, so that each of the three would
make another project of it, of which nothing is kept yet.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from cortex.core.model.problem import Problem
from cortex.core.text.shell_command import cortex_command, shell_quote
from cortex.core.text.strings import slugify
from cortex.index.catalogue import Catalogue
from cortex.index.filters import KNOWLEDGE, NoteFilter
from cortex.operations.projects.project import identify_project
from cortex.vault import files, settings
from cortex.vault.git import checkout
from cortex.vault.git.checkout import PROJECT_FILE
from cortex.vault.locate import Vault

_PATH_NAME_RE = re.compile(r".{1,64}-[a-z2-7]{4}")  # a name that was made of a path


def write_project_file(directory: str, *, new: bool) -> str:
    """Write the file at the root of the repository around a vault, of a `new` one without git in
    it, unless one is there; its path, empty when none was written. With a `new` vault nothing is
    kept under the name made of the path, so the folder's own name does."""
    git = checkout.find_repository(directory)
    if not (git or new) or identify_project(directory).source == "file":
        return ""
    top = git[0] if git else directory
    said = identify_project(top)
    if said.source in ("file", "none"):
        return ""
    name = slugify(os.path.basename(top), 64) if new and said.source == "folder" else said.name
    with suppress(FileExistsError):  # an empty one, perhaps, or a link
        files.create(top, PROJECT_FILE, f"{name}\n".encode())
        return os.path.join(top, PROJECT_FILE)
    return ""


def unstable_name_hint(cwd: str) -> str:
    """How to keep a name that a clone, a move or a new remote would change; else empty."""
    git = checkout.find_repository(cwd)
    said = identify_project(cwd)
    if git is None or said.source != "folder":
        return ""
    command = _write_command(said.name, git[0], cwd)
    named = f"the project is named {said.name} after its path"
    return f"{named}; to keep that name wherever it lies: {command}"


def name_mismatch_problems(vault: Vault, catalogue: Catalogue, cwd: str) -> list[Problem]:
    """A problem if this folder's project differs from the one of which the vault has records."""
    git = checkout.find_repository(cwd)
    if git is None or os.path.commonpath([git[0], vault.root]) != git[0]:
        return []
    here = settings.load(vault.root).resolve_project(checkout.project_of(git[0]))
    names = catalogue.count_by("project", NoteFilter()).keys() - {""}
    if not here or len(names) != 1 or here in names:
        return []
    (name,) = names
    records = KNOWLEDGE._replace(projects=(name,), not_types=("session",), has_id=True)
    number = catalogue.count(records)
    if not number or (vault.root == git[0] and not _PATH_NAME_RE.fullmatch(name)):
        return []  # a vault of its own, perhaps, in which nobody works
    record = "record here is" if number == 1 else "records here are"
    message = f"{number:,} {record} of the project {name}, and this folder is {here} now"
    merge = cortex_command("project", "merge", name, here)
    hint = f"{_write_command(name, git[0], cwd)}, or {merge}"
    return [Problem(os.path.join(git[0], PROJECT_FILE), message, hint)]


def _write_command(name: str, root: str, cwd: str) -> str:
    """The command that writes the file."""
    path = os.path.relpath(os.path.join(root, PROJECT_FILE), os.path.realpath(cwd))
    return f"echo {shell_quote(name)} > {shell_quote(path)}"
