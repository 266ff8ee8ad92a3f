"""The Obsidian vault around ours: what its settings leave out, and where its templates lie.

Obsidian keeps its settings in `.obsidian` at the root of its vault. Of these only
`userIgnoreFilters` is ever written ("Excluded files": left out of search, graph and suggestions).
"""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.core.text import jsonc
from cortex.core.text.jsonc import JsonNode
from cortex.core.text.shell_command import cortex_command
from cortex.vault import files

FOLDER = ".obsidian"
SETTINGS = f"{FOLDER}/app.json"
_FILTERS = "userIgnoreFilters"
_EXCLUDED_FOLDERS = ("events/", "inbox/")
# Where the folder of templates is said: the core plugin, then Templater.
_TEMPLATE_SETTINGS = (
    (f"{FOLDER}/templates.json", "folder"),
    (f"{FOLDER}/plugins/templater-obsidian/data.json", "templates_folder"),
)
_MAX_BYTES = 1 << 20  # of a settings file that are read
_ENCODING = ("utf-8", "surrogateescape")  # any bytes come back as they were


class ObsidianChange(NamedTuple):
    """What is to be done to the settings; nothing is written before `apply_change`."""

    folder: str  # the root of the Obsidian vault
    entries: tuple[str, ...]  # that are added or removed
    before: bytes | None  # of the file; None where there is none
    after: bytes


def find_vault_root(root: str) -> str:
    """The nearest folder, from `root` upwards, that Obsidian has opened as a vault, else ""."""
    folder = os.path.abspath(root)
    while not os.path.isdir(os.path.join(folder, FOLDER)):
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)
    return folder


def plan_exclusion(root: str, *, exclude: bool) -> ObsidianChange | None:
    """What excludes our events and inbox from Obsidian's search and graph, or takes that back.
    None where nothing is to be done. Raises `CortexError` for settings that cannot be edited."""
    top = find_vault_root(root)
    if not top:
        if exclude:
            hint = "open the folder as a vault in Obsidian first, or leave --obsidian out"
            raise NotFoundError(f"{root} is not in an Obsidian vault: there is no {FOLDER}", hint)
        return None
    path = os.path.join(top, SETTINGS)
    try:
        before = _read(top, SETTINGS)
        if before is not None and len(before) > _MAX_BYTES:
            raise InvalidInputError("it is larger than 1 MB")
        text = (before or b"").decode(*_ENCODING)
        edited, entries = _edit(text, _entries(top, root), exclude=exclude)
    except CortexError as error:
        again = cortex_command("init", root, "--obsidian" if exclude else "--no-obsidian")
        way = error.hint or "mend it"
        raise type(error)(
            f"{path}: {error.message}", f"{way}, then {again}; nothing was written"
        ) from None
    return ObsidianChange(top, entries, before, edited.encode(*_ENCODING)) if entries else None


def apply_change(change: ObsidianChange) -> None:
    """Write the settings. `ConflictError` if they were changed meanwhile."""
    if change.before is None:
        files.create(change.folder, SETTINGS, change.after)
    else:
        files.replace(change.folder, SETTINGS, change.after, change.before)


def template_folders(root: str) -> tuple[str, ...]:
    """The folders of templates that Obsidian names, relative to our vault, each with a slash at its
    end; none of what cannot be read."""
    top = find_vault_root(root)
    if not top:
        return ()
    found = []
    for path, key in _TEMPLATE_SETTINGS:
        try:
            data = _read(top, path) or b""
            node = jsonc.find_member(jsonc.parse(data.decode("utf-8", "replace")), key)
        except (CortexError, OSError):
            continue
        folder = node.scalar.strip("/") if node and isinstance(node.scalar, str) else ""
        below = os.path.relpath(os.path.join(top, folder), root).replace(os.sep, "/")
        if folder and below.split("/")[0] not in (".", ".."):
            found.append(f"{below}/")
    return tuple(dict.fromkeys(found))


def _read(top: str, path: str) -> bytes | None:
    try:
        return files.read(top, path, _MAX_BYTES + 1)
    except NotFoundError:
        return None


def _entries(top: str, root: str) -> tuple[str, ...]:
    """What Obsidian would write for our folders: paths relative to the root of its vault."""
    below = os.path.relpath(root, top).replace(os.sep, "/")
    return tuple(f"{'' if below == '.' else f'{below}/'}{name}" for name in _EXCLUDED_FOLDERS)


def _edit(text: str, ours: tuple[str, ...], *, exclude: bool) -> tuple[str, tuple[str, ...]]:
    """The text with our entries added or removed, and those that were."""
    tree = jsonc.parse(text)
    if tree is not None and tree.kind != "object":
        raise InvalidInputError("it is no object")
    filters = jsonc.find_member(tree, _FILTERS)
    if filters is not None and filters.kind != "array":
        if filters.scalar is not None or filters.kind == "object":
            raise InvalidInputError(f"{_FILTERS} is no list")
        filters = None if not exclude else filters
    there = [entry.value.scalar for entry in filters.entries] if filters else []
    if not exclude:
        gone = tuple(one for one in ours if one in there)
        return (_without(text, gone), gone) if gone else (text, ())
    new = tuple(one for one in ours if one not in there)
    if not new:
        return text, ()
    listed = list(new)
    if tree is None:
        start = jsonc.BOM if text.startswith(jsonc.BOM) else ""
        return f"{start}{jsonc.dumps_in_style('', {_FILTERS: listed}, '', inline=False)}\n", new
    if filters is None:
        return jsonc.apply_splices(text, jsonc.splices_to_append(text, tree, listed, _FILTERS)), new
    if filters.kind == "scalar":  # null, as Obsidian leaves it
        return jsonc.apply_splices(text, [jsonc.splice_to_replace(text, filters, listed)]), new
    for one in new:
        text = jsonc.apply_splices(text, jsonc.splices_to_append(text, _filters(text), one))
    return text, new


def _without(text: str, gone: tuple[str, ...]) -> str:
    """The text without these entries, and without the list if none is left."""
    while True:
        filters = _filters(text)
        index = next((n for n, one in enumerate(filters.entries) if one.value.scalar in gone), -1)
        if index < 0:
            break
        text = jsonc.apply_splices(text, jsonc.splices_to_remove(text, filters, index))
    tree = jsonc.parse(text)
    if tree is None or _filters(text).entries:
        return text
    place = max(n for n, one in enumerate(tree.entries) if one.key == _FILTERS)
    return jsonc.apply_splices(text, jsonc.splices_to_remove(text, tree, place))


def _filters(text: str) -> JsonNode:
    filters = jsonc.find_member(jsonc.parse(text), _FILTERS)
    assert filters is not None
    return filters
