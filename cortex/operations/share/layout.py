"""Where Cortex's own folders lie: show it, and move them."""

from __future__ import annotations

import os
from typing import NamedTuple

from cortex.core.model.caller import Caller
from cortex.core.model.layout import SETTINGS_FILE, Layout
from cortex.core.model.problem import CortexError, InvalidInputError, Problem, problem_of
from cortex.core.text.shell_command import cortex_command
from cortex.operations.care import obsidian_settings
from cortex.operations.records.change_record import refuse_during_git_operation
from cortex.operations.records.record_lock import record_lock
from cortex.operations.share.heal import try_heal
from cortex.operations.share.own_folders import join_taken, move_own_notes
from cortex.vault import files, settings_text
from cortex.vault.git import attributes
from cortex.vault.git.change_marker import mark_briefings_stale
from cortex.vault.layout import folder_problem
from cortex.vault.locate import Vault

_ATTRIBUTES_FILE = ".gitattributes"


class LayoutResult(NamedTuple):
    """Where Cortex's folders lie, and what was moved."""

    folder: str  # empty: the root of the vault
    before: str
    moved: tuple[str, ...]  # vault-relative paths before the move
    left: tuple[str, ...]  # files in these folders that are not Cortex's
    dry_run: bool
    undo: str
    problems: tuple[Problem, ...]


def layout(
    vault: Vault, caller: Caller, folder: str = "", *, dry_run: bool = False
) -> LayoutResult:
    """Show or move the folder that Cortex's own folders lie in.

    inbox, events, records, sessions and briefings lie at the root of the vault, or all below one
    folder, as `[layout] folder` in cortex.toml says. Moving them changes no text of a note; it
    changes cortex.toml, the lines of .gitattributes that name these folders, and Obsidian's
    excluded files. Notes of your own stay where they are, also within these folders.

    A clone that does not know of the folder yet goes on; what it has written elsewhere is moved by
    the first sync that brings both together. Before you move them back to the root, let the other
    clones sync.

    folder: where they are to lie, below the vault; `.` for its root; nothing shows where they lie
    dry_run: show what would be moved, change nothing

    Example: cortex layout
    Example: cortex layout cortex
    Example: cortex layout .
    """
    before = vault.layout()
    if not folder:
        return LayoutResult(before.folder, before.folder, (), (), False, "", ())
    wanted = folder.replace(os.sep, "/").rstrip("/")
    after = Layout("" if wanted == os.curdir else wanted)
    if after.folder and (why := folder_problem(after.folder)):
        raise InvalidInputError(f"{folder!r} {why}", "give another folder: cortex layout cortex")
    _check_is_folder(vault.root, after.folder)
    refuse_during_git_operation(vault)
    with record_lock(vault):
        text, new_text = settings_text.plan_layout_folder(vault.root, after.folder)
        places = {"", before.folder} - {after.folder}
        moved: list[str] = []
        problems: list[Problem] = []
        if not dry_run:
            mark_briefings_stale(vault)
            if before.folder:  # first: a run that ends within this can be run again
                moved += move_own_notes(vault, caller, places, after)[0]
            problems += _write_settings(vault.root, before, after)
            if text != new_text:  # after all that follows it
                files.replace(vault.root, SETTINGS_FILE, new_text, text)
        more, left, taken = move_own_notes(vault, caller, places, after, dry_run=dry_run)
        moved += more
    if not dry_run:
        joined, unmoved = join_taken(vault, caller, taken)
        moved += joined
        problems += [*unmoved, *try_heal(vault, caller)]
    undo = cortex_command("layout", before.folder or os.curdir)
    return LayoutResult(
        after.folder, before.folder, tuple(moved), tuple(left), dry_run,
        "" if dry_run or before == after else undo, tuple(problems),
    )  # fmt: skip


def _check_is_folder(root: str, folder: str) -> None:
    """Raise `InvalidInputError` if a file or a link is in the way of a folder."""
    parts = folder.split("/") if folder else []
    for end in range(1, len(parts) + 1):
        path = os.path.join(root, *parts[:end])
        if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
            raise InvalidInputError(f"{path} is no folder", "give another one: cortex layout DIR")


def _write_settings(root: str, before: Layout, after: Layout) -> list[Problem]:
    """Name the folder in the settings of git and of Obsidian."""
    if files.exists(root, _ATTRIBUTES_FILE):
        data = files.read(root, _ATTRIBUTES_FILE)
        if (new := attributes.with_layout(data, before, after)) != data:
            files.replace(root, _ATTRIBUTES_FILE, new, data)
    try:
        if change := obsidian_settings.plan_move(root, before, after):
            obsidian_settings.apply_change(change)
    except (CortexError, OSError) as error:
        hint = cortex_command("init", root, "--obsidian")
        return [problem_of("Obsidian's excluded files", error, hint)]
    return []
