"""The notes of runs on the disk: `runs/queue`, where requests wait, `runs/active`, `runs/YYYY/MM`.

An event is one write at the end of the file. Who runs a run holds its lock in the state folder
(`run_state.hold`), not one on the note: an editor may put another file in the note's place.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import takewhile
from typing import Any

from cortex.core.model.layout import ACTIVE, QUEUE
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.core.notes import note as notes
from cortex.core.notes.note import Note
from cortex.core.runs import run_event, run_note
from cortex.core.runs.run_event import RunEvent
from cortex.core.runs.run_note import Run, RunRequest
from cortex.core.runs.schedule import MAX_TRIES
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.strings import format_time, sha256_digest
from cortex.vault import files, private
from cortex.vault.locate import Vault
from cortex.vault.runs import run_state
from cortex.vault.settings import load_cached

RUNS = "runs"
MAX_RUN_BYTES = 64 << 20  # of a note that is read
_HEAD_BYTES = 8_192  # of a note whose properties alone are read
_WEEK_SECONDS = 7 * 86_400
_SYNC_SECONDS = 0.2  # the longest that an event is not on the disk
_GAP = " three times, which left a gap"  # of what is tried no more
_MAX_CHAIN = 1000  # runs that go on with each other
_IGNORED = b"/active/\n/queue/\n"


def run_path(vault: Vault, folder: str, id_: str) -> str:
    """The vault-relative path of the note of a run that waits or is active."""
    return vault.layout().path(f"{folder}/{id_}.md")


def list_runs(vault: Vault, folder: str) -> list[str]:
    """The ids of the runs in a folder, `runs/queue` or another one, oldest first."""
    names = reversed(_reversed_names(vault, folder))
    return [one[:-3] for one in names if one.endswith(".md") and run_note.is_run_id(one[:-3])]


def list_open(vault: Vault) -> list[tuple[str, str]]:
    """The folder and the id of each run that waits or is active, oldest first in each folder."""
    # Those that wait first: one may become active meanwhile.
    return [(folder, id_) for folder in (QUEUE, ACTIVE) for id_ in list_runs(vault, folder)]


def list_ended(vault: Vault) -> Iterator[str]:
    """The ids of the runs that have ended, newest first."""
    for year in _reversed_names(vault, RUNS):
        if not (len(year) == 4 and year.isdecimal()):
            continue
        for month in _reversed_names(vault, f"{RUNS}/{year}"):
            yield from reversed(list_runs(vault, f"{RUNS}/{year}/{month}"))


def list_failed(vault: Vault, now: str) -> list[tuple[str, str]]:
    """What failed in the last seven days, however often it was tried, and nothing else came of: the id
    of the last try, and a name."""
    oldest = run_note.make_run_id(format_time(epoch_seconds(now) - _WEEK_SECONDS), b"")
    tries: dict[str, list[tuple[str, bool]]] = {}
    for id_ in takewhile(lambda id_: id_ >= oldest, list_ended(vault)):
        with suppress(CortexError, OSError):
            head = read_head(vault, id_)
            about = " ".join(filter(None, (head.get("facet"), head.get("period")))) or id_
            known = tries.setdefault(f"{head.get('agent')} ({about})", [])
            known.append((id_, head.get("status") == run_note.FAILED))
    return [(some[0][0], f"{name}{_GAP * (len(some) >= MAX_TRIES)}") for name, some in tries.items() if all(is_failed for _, is_failed in some)]  # fmt: skip


def _reversed_names(vault: Vault, folder: str) -> list[str]:
    """The names in a folder, the last first; none in what is no folder, which doctor names."""
    with suppress(InvalidInputError):
        return files.list_names(vault.root, vault.layout().path(folder))[::-1]
    return []


def find_run(vault: Vault, id_: str) -> Run:
    """A run, wherever its note lies now. Raises `NotFoundError`."""
    return run_note.read_run(*_read(vault, id_, MAX_RUN_BYTES))


def read_head(vault: Vault, id_: str) -> Note:
    """The beginning of the note of a run, with its properties. Raises `NotFoundError`."""
    return notes.read(*_read(vault, id_, _HEAD_BYTES))


def _read(vault: Vault, id_: str, most: int) -> tuple[bytes, str]:
    if not run_note.is_run_id(id_):
        raise NotFoundError(f"there is no run {id_[:100]}", "cortex run list names them")
    layout = vault.layout()
    places = (run_path(vault, QUEUE, id_), run_path(vault, ACTIVE, id_), layout.path(run_note.sealed_path(id_)))  # fmt: skip
    for path in (*places, *places[1:]):  # it may move on while we look
        with suppress(NotFoundError):
            return files.read(vault.root, path, most), path
    raise NotFoundError(f"there is no run {id_}", "cortex run list names them")


def load_event(vault: Vault, run: Run, event: RunEvent) -> RunEvent:
    """An event with all that it says, where part of it lies beside the note."""
    if not isinstance(event.get("file"), str) or "sha256" not in event:
        return event
    path = f"{run.path[:-3]}.d/{event['seq']}.json"
    with suppress(CortexError, OSError):
        data = files.read(vault.root, path, MAX_RUN_BYTES)
        whole = run_event.decode_json(data)
        is_sound = isinstance(whole, dict) and sha256_digest(data).hex() == event["sha256"]
        return whole if is_sound else event
    return event


def load_request(vault: Vault, run: Run) -> RunRequest:
    """What a run was asked, with the whole prompt, which the note may not hold as it was."""
    asked = load_event(vault, run, run.events[0]) if run.events else {}
    return run.request._replace(prompt=str(asked.get("prompt", "")))


def list_chain(vault: Vault, run: Run) -> list[Run]:
    """The runs that a run goes on with, the last first."""
    found: list[Run] = []
    parent = run.request.parent
    while parent and len(found) < _MAX_CHAIN:
        try:
            found.append(find_run(vault, parent))
        except (CortexError, OSError):
            break
        parent = found[-1].request.parent
    return found


def work_folder(vault: Vault, run: Run) -> str:
    """The folder in which the program of a run works, and that of each run of its chain: programs keep
    a session by the folder in which it began."""
    first = [run, *list_chain(vault, run)][-1]
    return os.path.join(run_state.folder(vault), f"{first.id}.{run_state.WORK}")


def remove_work_folder(vault: Vault, run: Run) -> None:
    """Remove the folder of a run that has ended, unless another run may go on in it."""
    if not run.request.parent or list_runs(vault, ACTIVE) in ([], [run.id]):
        private.remove(work_folder(vault, run))


def add_request(vault: Vault, id_: str, request: RunRequest, now: str) -> str:
    """Write a request, durably; its path. The values of its variables are remembered before. Raises
    `FileExistsError` for an id that there is."""
    root, layout = vault.root, vault.layout()
    if files.exists(root, layout.path(run_note.sealed_path(id_))):
        raise FileExistsError(id_)
    with suppress(FileExistsError):
        files.create(root, layout.path(f"{RUNS}/.gitignore"), _IGNORED)
    path = run_path(vault, QUEUE, id_)
    said = {key: value for key, value in request._asdict().items() if value}
    event = run_event.complete({"event": "request", **said}, id_, 0, now[:-1] + ".000Z")
    event = _set_aside(vault, path, event)
    files.create(
        root, path, run_note.compose_request(id_, request, event, now, load_cached(root).zone)
    )
    return path


def _set_aside(vault: Vault, path: str, event: RunEvent) -> RunEvent:
    """The event as the note at `path` has it: one too large for a line is written beside the note."""
    if len(run_event.encode_line(event)) <= run_event.MAX_EVENT_BYTES:
        return event
    name = f".d/{event['seq']}.json"
    event, data = run_event.set_aside(event, f"{event['agent_id']}{name}")
    files.create(vault.root, f"{path[:-3]}{name}", data)
    return event


def _move_aside(vault: Vault, source: str, target: str) -> None:
    """Move what lies beside a note with it."""
    for name in files.list_names(vault.root, f"{source[:-3]}.d"):
        files.move(vault.root, f"{source[:-3]}.d/{name}", f"{target[:-3]}.d/{name}")
    with suppress(OSError):
        os.rmdir(os.path.join(vault.root, f"{source[:-3]}.d"))


class ActiveRun:
    """A run whose note this process has locked: its events, and where the next goes."""

    def __init__(self, vault: Vault, id_: str, lock: int) -> None:
        self.vault, self.id, self.lock = vault, id_, lock
        self.path = run_path(vault, ACTIVE, id_)
        self.fd = fd = files.open_to_append(vault.root, self.path)
        data = files.read_fd(fd, MAX_RUN_BYTES)
        run = run_note.read_run(data, self.path)
        self.request, self.events = run.request, list(run.events)
        self.is_torn = not data.endswith(b"\n")  # a write was cut off
        self.unsynced_since = 0.0

    @property
    def has_ended(self) -> bool:
        """True once there is a terminal event."""
        return bool(self.events) and self.events[-1]["event"] in run_event.TERMINAL

    def append(
        self, event: Mapping[str, Any], now: str, clean: Callable[[str], str]
    ) -> RunEvent | None:
        """Append an event, each text that its fields hold `clean`; None after a terminal one. What must
        not be lost is on the disk when this returns. Raises `OSError`."""
        if self.has_ended:
            return None
        said = {
            key: run_event.with_texts(one, clean) for key, one in event.items() if key != "event"
        }
        whole = run_event.complete({**said, "event": event.get("event")}, self.id, len(self.events), now)  # fmt: skip
        whole = _set_aside(self.vault, self.path, whole)
        self._follow_edit()
        self._write(run_event.encode_line(whole).encode())
        self.events.append(whole)
        self.unsynced_since = self.unsynced_since or time.monotonic()
        self.sync(at_once=whole["event"] in run_event.SYNCED)
        run_state.poke(self.vault)
        return whole

    def sync(self, *, at_once: bool = False) -> None:
        """Make durable what was appended, if it is due."""
        since = self.unsynced_since
        if since and (at_once or time.monotonic() - since >= _SYNC_SECONDS):
            os.fdatasync(self.fd) if hasattr(os, "fdatasync") else os.fsync(self.fd)
            self.unsynced_since = 0.0

    def _write(self, data: bytes) -> None:
        data = b"\n" + data if self.is_torn else data
        self.is_torn = True
        if os.write(self.fd, data) < len(data):
            raise OSError(errno.ENOSPC, "the disk took half an event")
        self.is_torn = False

    def _follow_edit(self) -> None:
        """Where an editor has put another file in the place of the note, go on in that one."""
        file = os.path.join(self.vault.root, self.path)
        if private.is_same_file(file, self.fd):
            return
        self.sync(at_once=True)
        try:
            fd = files.open_to_append(self.vault.root, self.path)
        except (CortexError, FileNotFoundError):  # removed: written anew when the run ends
            return
        os.close(self.fd)
        self.fd = fd
        data = files.read_fd(fd, MAX_RUN_BYTES)
        self.is_torn = not data.endswith(b"\n")
        own = {one["seq"] for one in run_note.read_run(data, self.path).events}
        for one in self.events:
            if one["seq"] not in own:
                self._write(run_event.encode_line(one).encode())

    def seal(self, output: str, result: str) -> str:
        """Move the note to those of the ended runs, with what came of it; its path. Cut short, it can be
        done again. Raises `OSError`, `CortexError`."""
        root, layout = self.vault.root, self.vault.layout()
        target = layout.path(run_note.sealed_path(self.id))
        _move_aside(self.vault, self.path, target)
        try:
            data = files.read(root, self.path, MAX_RUN_BYTES)
        except NotFoundError:
            data = files.read_fd(self.fd, MAX_RUN_BYTES)
        with suppress(FileExistsError):  # a seal that was cut short wrote it
            files.create(root, target, run_note.compose_sealed(data, self.events, result, output))
        with suppress(FileNotFoundError):
            files.remove(root, self.path)
        run_state.forget(self.vault, self.id)
        run_state.poke(self.vault)
        return target

    def close(self) -> None:
        """Let go of the note."""
        os.close(self.fd)
        os.close(self.lock)


def claim(vault: Vault, id_: str) -> ActiveRun | None:
    """Take a request that waits, which makes it an active run; None where somebody else has. Raises
    `CortexError`, `OSError`."""
    return _take(vault, id_, QUEUE, 0.5)  # somebody may be looking whether it is alive


def take_orphan(vault: Vault, id_: str) -> ActiveRun | None:
    """An active run whose process is gone; None while it lives, or when it has just ended."""
    return _take(vault, id_, ACTIVE, 0.0)


def _take(vault: Vault, id_: str, folder: str, wait: float) -> ActiveRun | None:
    lock = run_state.hold(vault, id_, wait)
    if lock is None:
        return None
    try:
        source, target = (run_path(vault, one, id_) for one in (QUEUE, ACTIVE))
        if not files.exists(vault.root, run_path(vault, folder, id_)):
            run_state.forget_lock(vault, id_)
            os.close(lock)
            return None
        if files.exists(vault.root, source):  # of an active one: the move was cut short
            _move_aside(vault, source, target)
            files.move(vault.root, source, target)
        return ActiveRun(vault, id_, lock)
    except (OSError, CortexError):
        os.close(lock)
        raise
