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

from cortex.core.model.problem import Conflict, CortexError, Invalid, NotFound
from cortex.core.text import jsonc
from cortex.core.text.strings import short_hash
from cortex.hosts import settings_edit
from cortex.hosts.settings_edit import HOOKS, Want
from cortex.vault import files, user_folders
from cortex.vault.lock import lock
from cortex.vault.state import store

MOST = 256 * 1024  # bytes of settings
_ENCODING = ("utf-8", "surrogateescape")  # any bytes come back as they were


class Kept(NamedTuple):
    """What is remembered of an install."""

    digest: str  # of the file as it was left; empty when the cuts are not known
    cuts: tuple[tuple[int, int], ...]
    absent: bool  # there was no file before
    folders: tuple[str, ...]  # made for it, outermost first
    made: tuple[str, ...] | None  # as in `Wired`; None when not known


class Change(NamedTuple):
    """What is to be done to one file; nothing is written before `write`."""

    file: str  # as it is called
    real: str  # where it lies, behind every link
    before: bytes | None
    after: bytes | None
    events: tuple[str, ...]  # the host's names of those that change
    kept: Kept | None
    ours: bool  # some of our entries were there before

    @property
    def changes(self) -> bool:
        return self.before != self.after


def place_of(path: str, inside: Sequence[str]) -> str:
    """Where a settings file really lies. `Invalid` when a link leads it out of the folders in which it may be."""
    real = os.path.realpath(path)
    if not any(
        os.path.commonpath([real, os.path.realpath(folder)]) == os.path.realpath(folder)
        for folder in inside
    ):
        raise Invalid(
            f"{path} leads to {real}, outside {inside[0]}",
            "put a file of its own in place of the link; nothing was written",
        )
    return real


def read(real: str) -> bytes | None:
    """The bytes of a settings file; None where there is none."""
    try:
        data = files.read(os.path.dirname(real), os.path.basename(real), MOST + 1)
    except NotFound:
        return None
    if len(data) > MOST:
        raise Invalid(
            f"{real} is larger than {MOST:,} bytes",
            "such a file is not edited; write the hooks into it yourself",
        )
    return data


def parsed(path: str, data: bytes | None) -> jsonc.Node | None:
    """What the file says. `Invalid` names it with line and column."""
    try:
        return jsonc.parse((data or b"").decode(*_ENCODING))
    except Invalid as error:
        raise Invalid(
            f"{path}, {error.message}", "mend it, then run the command again; nothing was written"
        ) from None


def install(
    path: str, real: str, wants: Sequence[Want], top: Sequence[tuple[str, object]]
) -> Change:
    """What puts our entries in, or brings them up to date."""
    before = read(real)
    root = parsed(path, before)
    text = (before or b"").decode(*_ENCODING)
    ours = bool(settings_edit.found(root))
    kept = _kept(real) if ours else None
    intact = kept is not None and kept.digest == _digest(before)
    try:
        done = settings_edit.wire(text, wants, top, kept.cuts if kept and intact else ())
    except Invalid as error:
        raise Invalid(
            f"{path}: {error.message}", "mend it, then run the command again; nothing was written"
        ) from None
    after = done.text.encode(*_ENCODING)
    known = intact or not ours
    made = (
        None
        if (kept is None and ours) or (kept and kept.made is None)
        else (*(kept.made or () if kept else ()), *done.made)
    )
    keep = Kept(
        _digest(after) if known else "",
        done.cuts if known else (),
        before is None or bool(kept and kept.absent),
        kept.folders if kept else (),
        made,
    )
    return Change(
        path,
        real,
        before,
        before if after == before else after,
        tuple(dict.fromkeys(done.events)),
        keep,
        ours,
    )


def remove(path: str, real: str, top: Sequence[tuple[str, object]], *, own: bool) -> Change:
    """What takes our entries out. A file that we have made, or that is ours alone, goes when nothing else is in it."""
    before = read(real)
    ours = settings_edit.found(parsed(path, before))
    if before is None or not ours:
        return Change(path, real, before, before, (), None, ours=False)
    kept = _kept(real)
    text = before.decode(*_ENCODING)
    if kept and kept.digest == _digest(before):
        after = None if kept.absent else settings_edit.uncut(text, kept.cuts).encode(*_ENCODING)
    else:
        bare = settings_edit.unwire(text, kept.made if kept else None)
        after = (
            None
            if (own or (kept and kept.absent)) and _says_nothing(bare, top)
            else bare.encode(*_ENCODING)
        )
    return Change(
        path, real, before, after, tuple(dict.fromkeys(one.event for one in ours)), None, ours=True
    )


def write(change: Change) -> None:
    """Do it: atomically, with the file's mode, through no link. `Conflict` when the file has changed meanwhile. What is to be
    remembered is on disk first: one who is killed between the two has a record of a file that is not there, which counts for nothing."""
    with lock(os.path.join(_state(), "lock"), "settings"):
        held = _kept(change.real)
        folders = held.folders if held else ()
        if change.after is None or change.kept is None:
            _take_out(change, folders)
            _remember(change.real, None)
            return
        made = _folders(os.path.dirname(change.real)) if change.before is None else []
        try:
            _remember(change.real, change.kept._replace(folders=tuple(made) or folders))
            _put_in(change)
        except (CortexError, OSError):
            with suppress(OSError):
                _remember(change.real, held)
            _empty(made)
            raise


def _put_in(change: Change) -> None:
    folder, name = os.path.split(change.real)
    if change.after is None or not change.changes:
        return
    if change.before is not None:
        files.replace(folder, name, change.after, change.before)
        return
    try:
        files.publish(folder, name, change.after)
    except FileExistsError:
        raise Conflict(
            f"{change.file} was made by somebody else just now", "run the command again"
        ) from None


def _take_out(change: Change, folders: Sequence[str]) -> None:
    if change.after is not None:
        _put_in(change)
    elif change.before is not None:
        _delete(change, folders)


def _delete(change: Change, folders: Sequence[str]) -> None:
    if read(change.real) != change.before:
        raise Conflict(
            f"{change.file} was changed by somebody else just now", "run the command again"
        )
    files.remove(os.path.dirname(change.real), os.path.basename(change.real))
    _empty(folders)


def _folders(folder: str) -> list[str]:
    """Make what is missing of a folder; the folders that were made, outermost first."""
    missing: list[str] = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    missing.reverse()
    for one in missing:
        os.mkdir(one)
    return missing


def _empty(folders: Sequence[str]) -> None:
    for one in reversed(folders):
        with suppress(OSError):  # somebody has put something into it
            os.rmdir(one)


def _says_nothing(text: str, top: Sequence[tuple[str, object]]) -> bool:
    try:
        said: Any = (
            json.loads(text.removeprefix(jsonc.BOM)) if text.strip(jsonc.BOM + " \t\r\n") else {}
        )
    except ValueError:  # a comment, perhaps
        return False
    nothing = [*top, (HOOKS, {})]
    return isinstance(said, dict) and all(one in nothing for one in said.items())


def _digest(data: bytes | None) -> str:
    import hashlib  # noqa: PLC0415  most commands have nothing to compare

    return hashlib.sha256(data or b"").hexdigest()


def _state() -> str:
    folder = os.path.join(user_folders.user_folder("state"), "hooks")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


def _record(real: str) -> str:
    return os.path.join(user_folders.user_folder("state"), "hooks", f"{short_hash(real, 12)}.json")


def _kept(real: str) -> Kept | None:
    """What is remembered of this file; None when nothing is, or not in a form that we know."""
    try:
        said = json.loads(store.read(_record(real), MOST))
        if said["file"] != real:
            return None
        made = said["made"]
        return Kept(
            str(said["digest"]), tuple((int(start), int(end)) for start, end in said["cuts"]), bool(said["absent"]),
            tuple(map(str, said["folders"])), None if made is None else tuple(map(str, made)),
        )  # fmt: skip
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(real: str, kept: Kept | None) -> None:
    """Write or forget the record of a file; when this returns, that is on disk."""
    folder, name = _state(), os.path.basename(_record(real))
    try:
        before = files.read(folder, name)
    except NotFound:
        before = None
    if kept is None:
        if before is not None:
            files.remove(folder, name)
        return
    data = json.dumps({"file": real, **kept._asdict()}).encode()
    if before is None:
        files.publish(folder, name, data)
    else:
        files.replace(folder, name, data, before)
