"""One file of a host's settings: read, changed where our entries are, written whole or not at all.

What an install put in is remembered by its positions in the user's state folder, with none of the file's own text: while
nobody edits the file, a removal gives it back byte for byte. After an edit ours are found by what they run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError, NotFoundError
from cortex.core.text import jsonc
from cortex.core.text.strings import short_hash
from cortex.hosts import settings_edit
from cortex.hosts.settings_edit import HOOKS_KEY, WantedEntry
from cortex.vault import files, user_folders
from cortex.vault.lock import lock
from cortex.vault.state import store

MAX_BYTES = 256 * 1024  # bytes of settings
_ENCODING = ("utf-8", "surrogateescape")  # any bytes come back as they were


class InstallRecord(NamedTuple):
    """What is remembered of an install."""

    digest: str  # of the file as it was left; empty when the cuts are not known
    cuts: tuple[tuple[int, int], ...]
    absent: bool  # there was no file before
    folders: tuple[str, ...]  # made for it, outermost first
    made: tuple[str, ...] | None  # as in `EditedSettings`; None when not known


class SettingsChange(NamedTuple):
    """What is to be done to one file; nothing is written before `write`."""

    file: str  # as it is called
    real_path: str  # where it lies, behind every link
    before: bytes | None
    after: bytes | None
    changed_events: tuple[str, ...]  # the host's names of those that change
    install_record: InstallRecord | None
    had_hooks: bool  # some of our entries were there before

    @property
    def has_changes(self) -> bool:
        return self.before != self.after


def resolve_path(path: str, inside: Sequence[str]) -> str:
    """Where a settings file really lies. `InvalidInputError` when a link leads it out of the folders in which it may be."""
    real = os.path.realpath(path)
    if not any(
        os.path.commonpath([real, os.path.realpath(folder)]) == os.path.realpath(folder)
        for folder in inside
    ):
        raise InvalidInputError(
            f"{path} leads to {real}, outside {inside[0]}",
            "put a file of its own in place of the link; nothing was written",
        )
    return real


def read(real: str) -> bytes | None:
    """The bytes of a settings file; None where there is none."""
    try:
        data = files.read(os.path.dirname(real), os.path.basename(real), MAX_BYTES + 1)
    except NotFoundError:
        return None
    if len(data) > MAX_BYTES:
        raise InvalidInputError(
            f"{real} is larger than {MAX_BYTES:,} bytes",
            "such a file is not edited; write the hooks into it yourself",
        )
    return data


def parse(path: str, data: bytes | None) -> jsonc.JsonNode | None:
    """What the file says. `InvalidInputError` names it with line and column."""
    try:
        return jsonc.parse((data or b"").decode(*_ENCODING))
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{path}, {error.message}", "mend it, then run the command again; nothing was written"
        ) from None


def plan_install(
    path: str, real: str, wants: Sequence[WantedEntry], top: Sequence[tuple[str, object]]
) -> SettingsChange:
    """What puts our entries in, or brings them up to date."""
    before = read(real)
    root = parse(path, before)
    text = (before or b"").decode(*_ENCODING)
    ours = bool(settings_edit.find_hooks(root))
    kept = _read_record(real) if ours else None
    intact = kept is not None and kept.digest == _digest(before)
    try:
        done = settings_edit.install_hooks(text, wants, top, kept.cuts if kept and intact else ())
    except InvalidInputError as error:
        raise InvalidInputError(
            f"{path}: {error.message}", "mend it, then run the command again; nothing was written"
        ) from None
    after = done.text.encode(*_ENCODING)
    known = intact or not ours
    made = (
        None
        if (kept is None and ours) or (kept and kept.made is None)
        else (*(kept.made or () if kept else ()), *done.created_keys)
    )
    keep = InstallRecord(
        _digest(after) if known else "",
        done.inserted_spans if known else (),
        before is None or bool(kept and kept.absent),
        kept.folders if kept else (),
        made,
    )
    return SettingsChange(
        path,
        real,
        before,
        before if after == before else after,
        tuple(dict.fromkeys(done.changed_events)),
        keep,
        ours,
    )


def plan_removal(
    path: str, real: str, top: Sequence[tuple[str, object]], *, own: bool
) -> SettingsChange:
    """What takes our entries out. A file that we have made, or that is ours alone, goes when nothing else is in it."""
    before = read(real)
    ours = settings_edit.find_hooks(parse(path, before))
    if before is None or not ours:
        return SettingsChange(path, real, before, before, (), None, had_hooks=False)
    kept = _read_record(real)
    text = before.decode(*_ENCODING)
    if kept and kept.digest == _digest(before):
        after = (
            None if kept.absent else settings_edit.remove_spans(text, kept.cuts).encode(*_ENCODING)
        )
    else:
        bare = settings_edit.remove_hooks(text, kept.made if kept else None)
        after = (
            None
            if (own or (kept and kept.absent)) and _is_empty_settings(bare, top)
            else bare.encode(*_ENCODING)
        )
    return SettingsChange(
        path,
        real,
        before,
        after,
        tuple(dict.fromkeys(one.event for one in ours)),
        None,
        had_hooks=True,
    )


def apply_change(change: SettingsChange) -> None:
    """Do it: atomically, with the file's mode, through no link. `ConflictError` when the file has changed meanwhile. What is to be
    remembered is on disk first: one who is killed between the two has a record of a file that is not there, which counts for nothing."""
    with lock(os.path.join(_records_folder(), "lock"), "settings"):
        held = _read_record(change.real_path)
        folders = held.folders if held else ()
        if change.after is None or change.install_record is None:
            _write_or_delete(change, folders)
            _save_record(change.real_path, None)
            return
        made = _make_folders(os.path.dirname(change.real_path)) if change.before is None else []
        try:
            _save_record(
                change.real_path, change.install_record._replace(folders=tuple(made) or folders)
            )
            _write_content(change)
        except (CortexError, OSError):
            with suppress(OSError):
                _save_record(change.real_path, held)
            _remove_empty_folders(made)
            raise


def _write_content(change: SettingsChange) -> None:
    folder, name = os.path.split(change.real_path)
    if change.after is None or not change.has_changes:
        return
    if change.before is not None:
        files.replace(folder, name, change.after, change.before)
        return
    try:
        files.create(folder, name, change.after)
    except FileExistsError:
        raise ConflictError(
            f"{change.file} was made by somebody else just now", "run the command again"
        ) from None


def _write_or_delete(change: SettingsChange, folders: Sequence[str]) -> None:
    if change.after is not None:
        _write_content(change)
    elif change.before is not None:
        _delete(change, folders)


def _delete(change: SettingsChange, folders: Sequence[str]) -> None:
    if read(change.real_path) != change.before:
        raise ConflictError(
            f"{change.file} was changed by somebody else just now", "run the command again"
        )
    files.remove(os.path.dirname(change.real_path), os.path.basename(change.real_path))
    _remove_empty_folders(folders)


def _make_folders(folder: str) -> list[str]:
    """Make what is missing of a folder; the folders that were made, outermost first."""
    missing: list[str] = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    missing.reverse()
    for one in missing:
        os.mkdir(one)
    return missing


def _remove_empty_folders(folders: Sequence[str]) -> None:
    for one in reversed(folders):
        with suppress(OSError):  # somebody has put something into it
            os.rmdir(one)


def _is_empty_settings(text: str, top: Sequence[tuple[str, object]]) -> bool:
    try:
        said: Any = (
            json.loads(text.removeprefix(jsonc.BOM)) if text.strip(jsonc.BOM + " \t\r\n") else {}
        )
    except ValueError:  # a comment, perhaps
        return False
    nothing = [*top, (HOOKS_KEY, {})]
    return isinstance(said, dict) and all(one in nothing for one in said.items())


def _digest(data: bytes | None) -> str:
    import hashlib  # noqa: PLC0415  most commands have nothing to compare

    return hashlib.sha256(data or b"").hexdigest()


def _records_folder() -> str:
    folder = os.path.join(user_folders.user_folder("state"), "hooks")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


def _record_path(real: str) -> str:
    return os.path.join(user_folders.user_folder("state"), "hooks", f"{short_hash(real, 12)}.json")


def _read_record(real: str) -> InstallRecord | None:
    """What is remembered of this file; None when nothing is, or not in a form that we know."""
    try:
        said = json.loads(store.read(_record_path(real), MAX_BYTES))
        if said["file"] != real:
            return None
        made = said["made"]
        return InstallRecord(
            str(said["digest"]), tuple((int(start), int(end)) for start, end in said["cuts"]), bool(said["absent"]),
            tuple(map(str, said["folders"])), None if made is None else tuple(map(str, made)),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _save_record(real: str, kept: InstallRecord | None) -> None:
    """Write or forget the record of a file; when this returns, that is on disk."""
    folder, name = _records_folder(), os.path.basename(_record_path(real))
    try:
        before = files.read(folder, name)
    except NotFoundError:
        before = None
    if kept is None:
        if before is not None:
            files.remove(folder, name)
        return
    data = json.dumps({"file": real, **kept._asdict()}).encode()
    if before is None:
        files.create(folder, name, data)
    else:
        files.replace(folder, name, data, before)
