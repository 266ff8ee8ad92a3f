"""List our uncommitted changes: paths that differ between the last commit and the work tree.

Ours are the folders that Cortex writes, its three settings files, and what is known to be made by
Cortex elsewhere in the vault, as a record that a person moved.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from cortex.core.merge.note_versions import is_briefing, is_record, note_id, stem_of
from cortex.core.model.event import is_event_id
from cortex.core.model.layout import OWN_FOLDERS, VIEWS_FOLDER, is_event_path
from cortex.core.model.problem import CortexError
from cortex.core.notes import note as notes
from cortex.core.text.value import NamedTuple
from cortex.vault import files, layout
from cortex.vault.git import checkout, git_cli, objects
from cortex.vault.layout import layout_of

OWN_SETTINGS_FILES = (layout.SETTINGS_FILE, ".gitattributes", checkout.PROJECT_FILE)


class UncommittedChange(NamedTuple):
    """A path of ours that differs from the last commit."""

    path: str  # vault-relative
    kind: str  # A, M or D
    # The other end of a move out of or into our folders: both are committed, or neither.
    moved_with: str = ""


class StatusEntry(NamedTuple):
    """A path that differs between the last commit and the work tree."""

    path: str
    kind: str
    blob: str  # of the last commit
    mode: bytes = b""  # of the last commit
    is_staged: bool = False


def list_changes(root: str) -> list[UncommittedChange]:
    """What of ours is not committed, by path. Nothing outside a repository."""
    if not checkout.is_in_repository(root):
        return []
    found = [one for one in list_status(root, own_paths(root)) if _is_own_file(root, one.path)]
    found += _own_changes_elsewhere(root)
    gone = {one.path: one.blob for one in found if one.kind == "D" and one.path.endswith(".md")}
    here = [one.path for one in found if one.kind == "A" and one.path.endswith(".md")]
    pairs = _find_moves(root, gone, here) if gone else {}
    back = {new: old for old, new in pairs.items()}
    moves = pairs | back
    changes = [UncommittedChange(one.path, one.kind, moves.get(one.path, "")) for one in found]
    changes += [UncommittedChange(new, "A", old) for new, old in back.items() if new not in here]
    return sorted(changes)


def list_foreign_changes(root: str, mine: Iterable[UncommittedChange] = ()) -> list[str]:
    """What is changed in the vault and not ours; a new folder is one entry."""
    known = {one.path for one in mine}
    found: list[str] = []
    for one in list_status(root, (".",), untracked="normal"):
        has_ours = one.path.endswith("/") and any(each.startswith(one.path) for each in known)
        found += [each.path for each in list_status(root, (one.path,))] if has_ours else [one.path]
    foreign = {path for path in found if path not in known and is_outside_own_folders(root, path)}
    return sorted(path for path in foreign if not path.endswith(files.TEMP_SUFFIX))


def list_status(root: str, paths: Sequence[str], *, untracked: str = "all") -> list[StatusEntry]:
    """What differs between the last commit and the work tree below the vault; vault-relative."""
    flags = ("--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=all")
    arguments = ["status", *flags, f"--untracked-files={untracked}", "--", *paths]
    prefix = objects.prefix(root)
    found = []
    for line in git_cli.run(root, arguments, timeout=120.0).split(b"\0"):
        head, staged, blob = b"", False, ""
        if line.startswith(b"? "):
            name, kind = line[2:], "A"
        elif line.startswith(b"1 "):
            _, both, _, head, _, here, old, _, name = line.split(b" ", 8)
            kind = "D" if here == b"000000" else "A" if head == b"000000" else "M"
            blob, staged = old.decode(), not both.startswith(b".")
        elif line.startswith(b"u "):
            name, kind = line.split(b" ", 10)[10], "M"
        else:
            continue
        if name.startswith(prefix):
            found.append(StatusEntry(os.fsdecode(name[len(prefix) :]), kind, blob, head, staged))
    return found


def own_paths(root: str) -> tuple[str, ...]:
    """The folders and files that commits by Cortex take."""
    return (*map(layout_of(root).path, (*OWN_FOLDERS, "runs", VIEWS_FOLDER)), *OWN_SETTINGS_FILES)


def is_settings_file(root: str, path: str) -> bool:
    """Whether it is a file of settings, or a view for Obsidian, which goes along with them."""
    is_view = layout_of(root).below(path).startswith(f"{VIEWS_FOLDER}/")
    return path in OWN_SETTINGS_FILES or (is_view and path.endswith(".base"))


def is_outside_own_folders(root: str, path: str) -> bool:
    """Whether what lies there is a person's, and commits by Cortex leave it out."""
    layout = layout_of(root)
    is_ours = layout.own_folder(path) or layout.is_run_file(path)
    return not (is_ours or is_settings_file(root, path))


def read_if_there(root: str, path: str, most: int | None = None) -> bytes | None:
    """The bytes of a file, at most so many; None when there is none, or nothing that can be read."""
    try:
        return files.read(root, path, most)
    except (CortexError, OSError):
        return None


def _is_own_file(root: str, path: str) -> bool:
    """False for a nested repository's folder, and for what editors and killed processes leave."""
    name = path.rpartition("/")[2]
    layout = layout_of(root)
    if is_settings_file(root, path) or layout.is_run_file(path):
        return True
    return bool(layout.own_folder(path)) and bool(
        name and not name.startswith((".", "#")) and not name.endswith(("~", files.TEMP_SUFFIX))
    )


def _find_moves(root: str, gone: Mapping[str, str], here: Sequence[str]) -> dict[str, str]:
    """Moves of notes out of our folders, or back into them: old path -> new path, by their id."""
    # An event keeps its name on its way through our folders.
    names = {path.rpartition("/")[2] for path in here}
    gone = {
        path: blob
        for path, blob in gone.items()
        if is_outside_own_folders(root, path) or path.rpartition("/")[2] not in names
    }
    texts = objects.read_blobs(root, gone.values())
    ids = {id_: path for path, blob in gone.items() if (id_ := note_id(texts.get(blob, b"")))}
    found = {}
    for path in here if ids else ():
        old = ids.pop(note_id(_read_beginning(root, path)), "")
        if old and is_outside_own_folders(root, old):
            found[old] = path
    for one in sorted(list_status(root, (".",))) if ids else ():
        if one.kind == "A" and one.path.endswith(".md") and is_outside_own_folders(root, one.path):
            old = ids.pop(note_id(_read_beginning(root, one.path)), "")
            found |= {old: one.path} if old else {}
    return found


def _own_changes_elsewhere(root: str) -> list[StatusEntry]:
    """Changed records outside our folders: Cortex goes on writing them, and uncommitted they would
    stand in the way of every merge. A new one is a person's.
    Also what lay in our folders before these were moved."""
    entries = [
        one
        for one in list_status(root, (".",), untracked="no")
        if one.kind != "A" and one.path.endswith(".md") and is_outside_own_folders(root, one.path)
    ]
    before = objects.read_blobs(root, [one.blob for one in entries if one.kind == "D"])

    def text_of(one: StatusEntry) -> bytes:
        return before.get(one.blob, b"") if one.kind == "D" else _read_beginning(root, one.path)

    return [one for one in entries if _is_ours(one.path, text_of(one))]


def _is_ours(path: str, data: bytes) -> bool:
    is_event = is_event_path(path) and is_event_id(stem_of(path))
    return is_event or is_record(notes.read(data)) or is_briefing(path, data)


def _read_beginning(root: str, path: str) -> bytes:
    """The beginning of a note, enough for its frontmatter."""
    return read_if_there(root, path, notes.MAX_FRONTMATTER_BYTES + 4096) or b""
