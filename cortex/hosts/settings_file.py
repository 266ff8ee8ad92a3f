"""A settings file of a host, and what is remembered of an install into it.

The file is replaced atomically. The positions of what an install inserted are recorded in the
user's state folder, without any text of the file: while nobody edits the file, a removal restores
it byte for byte.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import unified_diff

from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError, NotFoundError
from cortex.core.text.strings import short_hash
from cortex.core.text.value import NamedTuple
from cortex.hosts import jsonc
from cortex.hosts.jsonc import JsonNode, Splice
from cortex.vault import files, private, user_folders
from cortex.vault.private import lock

MAX_BYTES = 256 * 1024  # bytes of settings
ENCODING = ("utf-8", "surrogateescape")  # any bytes come back as they were
NOTHING_WRITTEN = "mend it, then run the command again; nothing was written"

Span = tuple[int, int]  # start and end, in characters


class InstallRecord(NamedTuple):
    """What is remembered of an install."""

    digest: str  # of the file as it was left; empty when the cuts are not known
    cuts: tuple[Span, ...]
    absent: bool  # there was no file before
    folders: tuple[str, ...]  # made for it, outermost first
    made: tuple[str, ...] | None  # `hook_settings.EditedSettings.created_keys`; None when not known


class SettingsChange(NamedTuple):
    """What is to be done to one file; nothing is written before `apply_change`."""

    file: str  # as it is called
    real_path: str  # where it lies, behind every link
    before: bytes | None
    after: bytes | None
    changed_events: tuple[str, ...]  # the host's names of those that change
    install_record: InstallRecord | None
    had_hooks: bool  # some of our entries were there before
    record_name: str = ""  # of its install record; by default the real path

    @property
    def has_changes(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        """What it would do to the file, for a person."""
        old, new = (
            (data or b"").decode("utf-8", "replace").splitlines()
            for data in (self.before, self.after)
        )
        name = self.file if self.before is not None else "(none)"
        return "\n".join(unified_diff(old, new, name, self.file, lineterm=""))


def resolve_path(path: str, inside: Sequence[str]) -> str:
    """The real path of a settings file. `InvalidInputError` if a link leads outside `inside`."""
    real = os.path.realpath(path)
    folders = [os.path.realpath(folder) for folder in inside]
    if not any(os.path.commonpath([real, folder]) == folder for folder in folders):
        hint = "put a file of its own in place of the link; nothing was written"
        raise InvalidInputError(f"{path} leads to {real}, outside {inside[0]}", hint)
    return real


def read(real: str, most: int = MAX_BYTES) -> bytes | None:
    """The bytes of a settings file; None where there is none."""
    try:
        data = files.read(os.path.dirname(real), os.path.basename(real), most + 1)
    except NotFoundError:
        return None
    if len(data) > most:
        hint = "such a file is not edited; write the entry into it yourself"
        raise InvalidInputError(f"{real} is larger than {most:,} bytes", hint)
    return data


def parse(path: str, data: bytes | None) -> JsonNode | None:
    """What the file says. `InvalidInputError` names it with line and column."""
    try:
        return jsonc.parse((data or b"").decode(*ENCODING))
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}, {error.message}", NOTHING_WRITTEN) from None


def apply_change(change: SettingsChange) -> None:
    """Write the change: atomically, with the file's mode, through no link. `ConflictError` if the
    file has changed meanwhile. The install record is written first: if the process is killed
    between the two, its digest matches no file and it is ignored."""
    with lock(os.path.join(_records_folder(), "lock"), "settings"):
        name = change.record_name or change.real_path
        old_record, record = read_record(name), change.install_record
        folders = old_record.folders if old_record else ()
        is_new = change.before is None and change.after is not None
        made = _make_folders(os.path.dirname(change.real_path)) if is_new else []
        try:
            if record is not None:
                _save_record(name, record._replace(folders=tuple(made) or folders))
            _write(change)
        except (CortexError, OSError):
            with suppress(OSError):
                _save_record(name, old_record)
            _remove_empty_folders(made)
            raise
        if change.after is None and change.before is not None:
            _remove_empty_folders(folders)
        if record is None:
            _save_record(name, None)


def _write(change: SettingsChange) -> None:
    folder, name = os.path.split(change.real_path)
    if not change.has_changes:
        return
    if change.after is None:
        if read(change.real_path) != change.before:
            message = f"{change.file} was changed by somebody else just now"
            raise ConflictError(message, "run the command again")
        files.remove(folder, name)
    else:
        files.replace(folder, name, change.after, change.before)


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


def remove_spans(text: str, spans: Iterable[Span]) -> str:
    """The text without these parts."""
    return jsonc.apply_splices(text, [Splice(start, end, "") for start, end in spans])


def inserted_spans(original: str, text: str) -> tuple[Span, ...] | None:
    """The spans of `text` without which it is `original`; None if there are none such. Linear."""
    start = _common_length(original, text)
    suffix = _common_length(original[start:][::-1], text[start:][::-1])
    end = len(text) - suffix
    spans: list[Span] = []
    for sign in original[start : len(original) - suffix]:
        at = text.find(sign, start, end)
        if at < 0:
            return None
        if at > start:
            spans.append((start, at))
        start = at + 1
    return (*spans, (start, end)) if start < end else tuple(spans)


def _common_length(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def digest(data: bytes | None) -> str:
    return hashlib.sha256(data or b"").hexdigest()


def recall(name: str, data: bytes | None) -> tuple[InstallRecord | None, tuple[Span, ...] | None]:
    """What is remembered of a file, and which parts of `data` an install put in; None for these where
    the file is no longer as it was left."""
    record = read_record(name)
    is_intact = record is not None and record.digest == digest(data)
    return record, record.cuts if record and is_intact else None


def _records_folder() -> str:
    folder = os.path.join(user_folders.user_folder("state"), "hooks")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


def _record_path(real: str) -> str:
    return os.path.join(user_folders.user_folder("state"), "hooks", f"{short_hash(real, 12)}.json")


def read_record(real: str) -> InstallRecord | None:
    """What is remembered of this file; None when nothing is, or not in a form that we know."""
    try:
        data = json.loads(private.read(_record_path(real), MAX_BYTES))
        if data["file"] != real:
            return None
        cuts = tuple((int(start), int(end)) for start, end in data["cuts"])
        made = None if data["made"] is None else tuple(map(str, data["made"]))
        folders = tuple(map(str, data["folders"]))
        return InstallRecord(str(data["digest"]), cuts, bool(data["absent"]), folders, made)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _save_record(real: str, record: InstallRecord | None) -> None:
    """Write or forget the record of a file; when this returns, that is on disk."""
    if record is not None:
        data = json.dumps({"file": real, **record._asdict()}).encode()
        private.replace(_record_path(real), data, durable=True)
    else:
        with suppress(FileNotFoundError):
            os.unlink(_record_path(real))
            private.sync_folder(_records_folder())
