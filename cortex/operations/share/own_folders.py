"""Move Cortex's own notes to where the settings have its folders."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from cortex.core.merge.note_versions import is_record
from cortex.core.model.caller import Caller
from cortex.core.model.event import is_event_id
from cortex.core.model.layout import BRIEFINGS_FOLDER, OWN_FOLDERS, Layout
from cortex.core.model.problem import ConflictError, CortexError, Problem, problem_of
from cortex.core.notes import note as notes
from cortex.operations.records.record_lock import record_lock
from cortex.operations.share.duplicates import join_files
from cortex.vault import files
from cortex.vault.locate import Vault

_MAX_BYTES = 4_000_000  # bytes of a note that tell whether it is Cortex's


def gather_strays(vault: Vault, caller: Caller) -> tuple[list[str], list[Problem]]:
    """Move what clones that did not know of the folder have written at the vault's root; returns
    the new paths. The record lock must not be held."""
    after = vault.layout()
    if not after.folder or not any(os.path.isdir(f"{vault.root}/{name}") for name in OWN_FOLDERS):
        return [], []
    with record_lock(vault):
        moved, _, taken = move_own_notes(vault, caller, {""}, after)
    joined, problems = join_taken(vault, caller, taken)
    return [after.path(path) for path in [*moved, *joined]], problems


def join_taken(
    vault: Vault, caller: Caller, taken: Mapping[str, tuple[str, Problem]]
) -> tuple[list[str], list[Problem]]:
    """Join each record that could not be moved with the file of it that lies there already. Returns
    the paths that are gone, and the problems of the others. The record lock must not be held."""
    joined, problems = [], []
    for path, (target, problem) in taken.items():
        try:
            if join_files(vault, caller, path, target) is None:
                problems.append(problem)
                continue
            if files.exists(vault.root, path):
                with record_lock(vault):
                    files.move(vault.root, path, target)
            joined.append(path)
        except (CortexError, OSError) as error:
            problems.append(problem_of(path, error))
    return joined, problems


def move_own_notes(
    vault: Vault, caller: Caller, places: Collection[str], after: Layout, *, dry_run: bool = False
) -> tuple[list[str], list[str], dict[str, tuple[str, Problem]]]:
    """Move Cortex's notes from below these folders to where `after` has them. Returns the old paths
    of these, the other files there, and for what could not be moved its place there, and why not.
    """
    moved: list[str] = []
    left: list[str] = []
    taken: dict[str, tuple[str, Problem]] = {}
    layouts = map(Layout, sorted(places))
    listed = [(layout, path) for layout in layouts for path in _files(vault, layout)]
    for count, (before, path) in enumerate(listed, start=1):
        caller.progress("moving", count, len(listed))
        try:
            if not _is_cortex_note(vault.root, path, before.below(path)):
                left.append(path)
                continue
            if not dry_run:
                _move(vault.root, path, after.path(before.below(path)))
            moved.append(path)
        except (CortexError, OSError) as error:
            taken[path] = after.path(before.below(path)), problem_of(path, error)
    if not dry_run:
        for place in places:
            _remove_empty_folders(vault.root, Layout(place))
    return moved, left, taken


def _move(root: str, path: str, target: str) -> None:
    try:
        files.move(root, path, target)
    except ConflictError:
        if not _is_page(root, path):
            raise
        files.remove(root, path)  # two versions of a page: it is generated


def _files(vault: Vault, place: Layout) -> Iterator[str]:
    for name in OWN_FOLDERS:
        top = os.path.join(vault.root, place.path(name))
        for parent, folders, names in os.walk(top):
            folders[:] = sorted(one for one in folders if not one.startswith("."))
            below = os.path.relpath(parent, vault.root).replace(os.sep, "/")
            yield from (f"{below}/{one}" for one in sorted(names) if not one.startswith("."))


def _is_cortex_note(root: str, path: str, below: str) -> bool:
    """True unless a file in our folders is a person's own."""
    if not path.endswith(".md"):
        return False
    if below.startswith("inbox/"):
        return below.startswith(("inbox/pending/", "inbox/failed/"))
    stem = path.rpartition("/")[2].removesuffix(".md")
    if below.startswith("events/") and is_event_id(stem):
        return True
    if below.startswith(f"{BRIEFINGS_FOLDER}/"):
        return _is_page(root, path)
    note = notes.read(files.read(root, path, _MAX_BYTES))
    return is_record(note) or bool(note.get("id") and note.get("type"))


def _is_page(root: str, path: str) -> bool:
    return notes.read(files.read(root, path, _MAX_BYTES)).get("type") == "briefing"


def _remove_empty_folders(root: str, place: Layout) -> None:
    for name in OWN_FOLDERS:
        for parent, *_ in os.walk(os.path.join(root, place.path(name)), topdown=False):
            with suppress(OSError):  # something is left in it
                os.rmdir(parent)
    folder = place.folder
    while folder:
        with suppress(OSError):
            os.rmdir(os.path.join(root, folder))
        folder = folder.rpartition("/")[0]
