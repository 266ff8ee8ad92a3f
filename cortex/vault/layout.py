"""Where things lie in a vault, and which names every file system can hold."""

from __future__ import annotations

import errno
import os

from cortex.core.model.layout import AT_ROOT, OWN_FOLDERS, Layout
from cortex.core.model.problem import CortexError
from cortex.core.text.light import re, suppress
from cortex.core.text.strings import RESERVED_STEMS
from cortex.core.text.tables import parse_toml
from cortex.vault import files, private, user_folders

SETTINGS_FILE = "cortex.toml"

_WINDOWS_FORBIDDEN_CHARS = frozenset('<>:"|?*\\') | frozenset(map(chr, range(32)))
MAX_PATH_CHARS = 200  # characters below the vault's root: Windows allows 260 for the whole path
_MAX_FOLDER_CHARS = 80
_MAX_BYTES = 64 * 1024
# Read without `tomllib` (6 ms) in every command, and of settings that cannot be parsed as well.
_FOLDER_PATTERN = rb"""(?mx)^[ \t]*(?:
      layout[ \t]*\.[ \t]*folder
      |layout[ \t]*=[ \t]*\{[^}\n]*?\bfolder
      |\[[ \t]*layout[ \t]*\](?:[^\n]*\n(?![ \t]*\[))*?[ \t]*folder
    )[ \t]*=[ \t]*(["'])([^"'\n]*)\1"""
_NO_MORE_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO)
_layouts: dict[str, tuple[tuple[int, ...], Layout]] = {}  # by root, with the stamp of the settings


def layout_of(root: str) -> Layout:
    """Where Cortex's folders lie in a vault, as its settings say; at its root if they cannot be
    read or name a folder that cannot be used (`folder_problem`)."""
    try:
        status = os.stat(f"{root}/{SETTINGS_FILE}", follow_symlinks=False)
    except OSError:
        return AT_ROOT
    stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
    known = _layouts.get(root)
    if known is None or known[0] != stamp:
        known = _layouts[root] = (stamp, _read_layout(root))
    return known[1]


def known_layout(root: str) -> Layout:
    """What `layout_of` answered last, without a look at the settings: a disk may not answer."""
    return _layouts[root][1] if root in _layouts else AT_ROOT


def folder_problem(folder: str) -> str:
    """Why Cortex's folders cannot lie below a folder; empty if they can."""
    parts = folder.split("/")
    try:
        files.checked_parts(folder)
        is_below = not folder.startswith("/")
    except CortexError:
        is_below = False
    if not is_below:
        return "is no path below the vault"
    if any(part.startswith(".") for part in parts):
        return "is hidden: what begins with a dot is not indexed"
    if any(part.casefold() in OWN_FOLDERS for part in parts):
        return "has a name that Cortex gives to a folder of its own"
    if len(folder) > _MAX_FOLDER_CHARS:
        return f"has more than {_MAX_FOLDER_CHARS} characters"
    if re.search(r"[#^|\[\]!]", folder):
        return "holds a character that Obsidian allows in no link"
    return portability_problem(folder)


def _read_layout(root: str) -> Layout:
    data = b"?"  # as what nobody can read
    try:
        with os.fdopen(files.open_regular(f"{root}/{SETTINGS_FILE}"), "rb") as file:
            data = file.read(_MAX_BYTES)
    except CortexError:
        pass
    except OSError as error:
        if error.errno in _NO_MORE_FILES:  # no reason to write elsewhere
            raise
    found = re.search(_FOLDER_PATTERN, data) if b"layout" in data else None
    if found is None and b"layout" in (sound := sound_settings(root)) and _is_unsound(data):
        found = re.search(_FOLDER_PATTERN, sound)
    folder = found[2].decode("utf-8", "replace").strip("/") if found else ""
    return Layout(folder) if folder and not folder_problem(folder) else AT_ROOT


def sound_settings(root: str) -> bytes:
    """A private copy of the last settings that were sound; they hold while nobody can read what
    a pull, or a hand, has left. Empty when there is none."""
    path = user_folders.vault_folder_path("state", root)
    return private.read(os.path.join(path, "settings"), _MAX_BYTES)


def keep_sound(root: str, data: bytes) -> None:
    """Keep a copy of settings, if the state can be written."""
    with suppress(CortexError, OSError):
        if data != sound_settings(root):
            path = user_folders.ensure_vault_folder("state", root)
            private.replace(os.path.join(path, "settings"), data)


def _is_unsound(data: bytes) -> bool:
    """Whether nobody can read in settings where Cortex's folders lie."""
    try:
        section = parse_toml(data.decode()).get("layout", {})
    except ValueError:
        return True
    return not isinstance(section, dict) or not isinstance(section.get("folder", ""), str)


def portability_problem(path: str) -> str:
    """Why a vault-relative path cannot be checked out everywhere; empty when it can."""
    if len(path) > MAX_PATH_CHARS:
        return f"the path has {len(path)} characters; Windows may fail beyond {MAX_PATH_CHARS}"
    for part in path.split("/"):
        if not _WINDOWS_FORBIDDEN_CHARS.isdisjoint(part):
            return f"{part!r} holds a character that Windows refuses"
        if part.endswith((" ", ".")):
            return f"{part!r} ends with a blank or a dot, which Windows drops"
        if part.split(".")[0].casefold() in RESERVED_STEMS:
            return f"{part!r} is a reserved name on Windows"
    return ""
