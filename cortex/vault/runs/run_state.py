"""What of runs is in this user's state folder: which requests are theirs, with the values of variables;
slots; who is to be told that a run has a new event."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

from cortex.core.model.problem import ConflictError, CortexError
from cortex.core.runs.run_note import is_run_id
from cortex.vault import files, private
from cortex.vault.locate import Vault
from cortex.vault.state.json_store import JsonStore

_FOLDER = "runs"
_MAX_STATE_BYTES = 1 << 20
_MAX_ADDRESS_BYTES = 100  # of a socket's path; Linux allows 107, macOS 103
_SOCKET_SUFFIX = ".sock"
_MIN_SECONDS = 60  # for which a file of a run that nobody knows stays
WORK = "work"  # suffix of the folder where a run, and those that continue it, have programs
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


def _values(table: object) -> dict[str, str]:
    """The variables in what a file holds; none in what is no object."""
    return {str(key): str(value) for key, value in table.items()} if isinstance(table, dict) else {}


# Run id -> the values of the variables that it was asked with. That there is a file says that the run
# was asked for by this user.
_VALUES: JsonStore[dict[str, str] | None] = JsonStore(_FOLDER + "/{}.json", _values, None, _MAX_STATE_BYTES)  # fmt: skip
# The last `cortex tick` that came to its end: when it began (UTC), and what failed in it.
TICK: JsonStore[tuple[str, str]] = JsonStore(_FOLDER + "/tick.json", lambda told: (str(told["at"]), str(told["fault"])), ("", ""), 10_000)  # fmt: skip
TICK_LOCK = "tick.lock"  # in the folder; held while one runs
# Run id -> why it is to end.
STOPS: JsonStore[str] = JsonStore(_FOLDER + "/{}.stop", str, "", 10_000)


def folder(vault: Vault) -> str:
    """The private folder; made when missing."""
    return private.ensure_folder(os.path.join(vault.state_folder(), _FOLDER))


def remember(vault: Vault, run: str, values: Mapping[str, str]) -> None:
    """Keep that this user asked for a run, durably and for nobody else to read."""
    folder(vault)
    _VALUES.write(vault, dict(values), run, durable=True)


def values_of(vault: Vault, run: str) -> dict[str, str] | None:
    """The values of its variables; None where somebody else asked for the run."""
    return _VALUES.read(vault, run) if is_run_id(run) else None


def forget(vault: Vault, run: str) -> None:
    """The run has ended."""
    _VALUES.remove(vault, run)
    STOPS.remove(vault, run)
    forget_lock(vault, run)


def forget_left(vault: Vault, known: Collection[str]) -> None:
    """Remove what was kept for runs other than the `known` ones, which wait or are active: somebody was
    killed at the last step, or at the first."""
    for name in files.list_folder(folder(vault)):
        run, _, kind = name.partition(".")
        if is_run_id(run) and run not in known and not (kind == WORK and known):
            path = os.path.join(folder(vault), name)
            with suppress(OSError):  # a request is remembered a moment before it is written
                if time.time() - os.lstat(path).st_mtime > _MIN_SECONDS:
                    private.remove(path)


def forget_lock(vault: Vault, run: str) -> None:
    """Remove the lock of a run that nobody can hold any more: it has no note that waits or is active."""
    private.remove(_lock_path(vault, run))


def hold(vault: Vault, run: str, wait: float) -> int | None:
    """The lock of a run, held until the descriptor is closed; None where another process has it.
    Raises `CortexError` where the file system has no locks."""
    fd = private.open_private(_lock_path(vault, run), os.O_RDWR | os.O_CREAT)
    try:
        private.acquire_lock(fd, fcntl.LOCK_EX, "run", wait)
        if private.is_same_file(_lock_path(vault, run), fd):
            return fd
    except ConflictError:
        pass
    except OSError as error:
        os.close(fd)
        if error.errno not in _NO_LOCKS:
            raise
        message = f"{folder(vault)} is on a file system without locks, which runs need"
        raise CortexError(message, "set XDG_STATE_HOME to a folder on a local disk") from error
    os.close(fd)
    return None


def _lock_path(vault: Vault, run: str) -> str:
    return os.path.join(folder(vault), f"{run}.lock")


@contextmanager
def free_slot(vault: Vault, slots: int) -> Iterator[bool]:
    """Hold one of the slots, if one is free; whether it was."""
    is_free = False
    with ExitStack() as held:
        for number in range(slots):
            path = os.path.join(folder(vault), f"slot-{number}.lock")
            with suppress(ConflictError):
                held.enter_context(private.lock(path, "slot", wait=0.0))
                is_free = True
                break
        yield is_free


def poke(vault: Vault) -> None:
    """Tell whoever follows runs to look. It may be lost: they look by themselves, too."""
    names = [one for one in files.list_folder(folder(vault)) if one.endswith(_SOCKET_SUFFIX)]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        for path in (os.path.join(folder(vault), name) for name in names):
            try:
                sender.sendto(b".", path)
            except OSError as error:
                if error.errno == errno.ECONNREFUSED:  # who read it was killed
                    private.remove(path)


@contextmanager
def pokes(vault: Vault) -> Iterator[socket.socket | None]:
    """What becomes readable when somebody pokes; None where the system has no room for it."""
    path = os.path.join(folder(vault), os.urandom(4).hex() + _SOCKET_SUFFIX)
    receiver = None
    if len(os.fsencode(path)) <= _MAX_ADDRESS_BYTES:
        receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        if receiver:
            receiver.setblocking(False)
            receiver.bind(path)
        yield receiver
    finally:
        if receiver:
            receiver.close()
            private.remove(path)
