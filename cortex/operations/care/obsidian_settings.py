"""Exclude our machine folders from Obsidian's search and graph, by its own "Excluded files".

Only `userIgnoreFilters` of `.obsidian/app.json` changes: our entries come and go, every other byte
stays.
"""

from __future__ import annotations

import os

from cortex.core.model.layout import Layout
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.core.text.strings import cortex_command
from cortex.core.text.value import NamedTuple
from cortex.hosts import jsonc
from cortex.hosts.jsonc import JsonNode
from cortex.vault import files, foreign_settings, private, user_folders
from cortex.vault.layout import layout_of

_FILE, _KEY = f"{foreign_settings.OBSIDIAN_FOLDER}/app.json", "userIgnoreFilters"
_EXCLUDED_FOLDERS = ("events/", "inbox/")
_MAX_BYTES = 1 << 20
_ENCODING = ("utf-8", "surrogateescape")  # any bytes come back as they were


class ObsidianChange(NamedTuple):
    """What is to be done to the settings; nothing is written before `apply_change`."""

    top: str  # the root of the Obsidian vault
    entries: tuple[str, ...]  # that are added or removed
    before: bytes | None  # of the file; None where there is none
    after: bytes
    record: str  # the file that names the entries that Cortex has added
    added: frozenset[str]  # what it will name

    @property
    def file(self) -> str:
        return os.path.join(self.top, _FILE)


def plan_exclusion(root: str, *, exclude: bool) -> ObsidianChange | None:
    """What excludes our folders, or takes that back; None where nothing is to be done. Raises
    `CortexError` for settings that cannot be edited."""
    top = foreign_settings.find_obsidian_root(root)
    if not top:
        if not exclude:
            return None
        hint = "open the folder as a vault in Obsidian first, or leave --obsidian out"
        raise NotFoundError(
            f"{root} is in no Obsidian vault: there is no {foreign_settings.OBSIDIAN_FOLDER}", hint
        )
    ours, (record, added) = _entries(root, top, layout_of(root)), _read_record(root)
    if not exclude:  # what a person has added stays
        ours = [one for one in ours if one in added]
    try:
        before = _read(top)
        text = (before or b"").decode(*_ENCODING)
        if len(text) > _MAX_BYTES:
            raise InvalidInputError("it is larger than 1 MB")
        after, entries = (_add if exclude else _remove)(text, ours)
    except CortexError as error:
        again = cortex_command("init", root, "--obsidian" if exclude else "--no-obsidian")
        message = f"{os.path.join(top, _FILE)}: {error.message}"
        hint = f"{error.hint or 'mend it'}, then {again}; nothing was written"
        raise type(error)(message, hint) from None
    added = added | {*entries} if exclude else added - {*entries}
    change = ObsidianChange(top, tuple(entries), before, after.encode(*_ENCODING), record, added)
    return change if entries else None


def _read_record(root: str) -> tuple[str, frozenset[str]]:
    """The file that names the entries that Cortex has added, and these."""
    record = os.path.join(user_folders.ensure_vault_folder("state", root), "obsidian")
    return record, frozenset(private.read(record, _MAX_BYTES).decode(*_ENCODING).split("\n"))


def _entries(root: str, top: str, layout: Layout) -> list[str]:
    """Our folders as Obsidian's settings name them."""
    below = os.path.relpath(root, top).replace(os.sep, "/")
    lead = "" if below == os.curdir else f"{below}/"
    return [lead + layout.path(name) for name in _EXCLUDED_FOLDERS]


def _read(top: str) -> bytes | None:
    return files.read(top, _FILE, _MAX_BYTES + 1) if files.exists(top, _FILE) else None


def apply_change(change: ObsidianChange) -> None:
    """Write the settings. `ConflictError` if they were changed meanwhile."""
    files.replace(change.top, _FILE, change.after, change.before)
    private.replace(change.record, "\n".join(sorted(change.added)).encode(*_ENCODING))


def _add(text: str, ours: list[str]) -> tuple[str, list[str]]:
    """Obsidian's settings with our missing entries added, and the entries that were added."""
    tree, filters = _parse(text)
    if tree is None:
        text += "{}\n"
        tree, filters = _parse(text)
    new = [one for one in ours if one not in _texts(filters)]
    if filters is None and tree:
        return jsonc.append_value(text, tree, new, _KEY), new
    if filters and filters.kind == "scalar":  # null
        return jsonc.replace_value(text, filters, new), new
    for one in new:
        if (filters := _parse(text)[1]) is not None:
            text = jsonc.append_value(text, filters, one)
    return text, new


def _remove(text: str, ours: list[str]) -> tuple[str, list[str]]:
    """Obsidian's settings without our entries (nor the list, if it becomes empty), and those removed."""
    tree, filters = _parse(text)
    places = [place for place, one in enumerate(_texts(filters)) if one in ours]
    gone = [one for one in ours if one in _texts(filters)]
    if tree and places and len(places) == len(_texts(filters)):
        place = max(n for n, entry in enumerate(tree.entries) if entry.key == _KEY)
        return jsonc.remove_entry(text, tree, place), gone
    for place in reversed(places):
        if (filters := _parse(text)[1]) is not None:
            text = jsonc.remove_entry(text, filters, place)
    return text, gone


def _parse(text: str) -> tuple[JsonNode | None, JsonNode | None]:
    """The settings, and the list in them. Raises `InvalidInputError` for another structure."""
    tree = jsonc.parse(text)
    filters = jsonc.find_member(tree, _KEY)
    if tree is not None and tree.kind != "object":
        raise InvalidInputError("it is no object")
    if filters and filters.kind != "array" and jsonc.to_python(filters) is not None:
        raise InvalidInputError(f"{_KEY} is no list")
    return tree, filters


def _texts(filters: JsonNode | None) -> list[object]:
    return [entry.value.scalar for entry in filters.entries] if filters else []
