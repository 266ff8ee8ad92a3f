"""Private files of this user: state, caches, logs, locks. The one place that reads and writes them.

They lie in folders of mode 0700 (`user_folders.py`). Still no link is followed, nothing
waits for a pipe, and files of other users are not trusted. Standard library only: hooks load it.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from _collections_abc import Iterator

from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError, Problem
from cortex.core.text.light import contextmanager, suppress
from cortex.core.text.strings import shell_quote
from cortex.vault import files, user_folders

_EXPECTED_FILE_TYPES = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFSOCK)  # a watcher's socket among them
WATCHER_LOCK = "watch.lock"  # in the state folder: a watcher holds it
_TEMP_SUFFIX = ".new"  # of a file that is being written


def open_private(path: str, flags: int = os.O_RDONLY) -> int:
    """Open a file of this user and return its descriptor; with `os.O_CREAT` it is made, mode 0600.
    Raises `InvalidInputError` for another user's file, and for what is no regular file."""
    fd = files.open_regular(path, flags)
    if os.fstat(fd).st_uid != os.geteuid():
        os.close(fd)
        hint = "remove it; Cortex makes one of yours"
        raise InvalidInputError(f"{path} belongs to another user", hint)
    return fd


def read(path: str, most: int, *, end: bool = False) -> bytes:
    """At most `most` bytes of a file, from its end with `end`; empty if missing or foreign."""
    try:
        with files.closing(open_private(path)) as fd:
            start = max(0, os.fstat(fd).st_size - most) if end else 0
            return files.read_fd(fd, most, start)
    except (OSError, ValueError, CortexError):
        return b""


def append(path: str, data: bytes, most: int = 0) -> int:
    """Append to a file of this user, which is made when missing, and return its size. A file larger
    than `most`, if given, begins anew. Raises `OSError`, `InvalidInputError`."""
    with files.closing(open_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)) as fd:
        if most and os.fstat(fd).st_size > most:
            os.ftruncate(fd, 0)
        os.write(fd, data)
        return os.fstat(fd).st_size


def is_same_file(path: str, fd: int) -> bool:
    """True if the open file is what the name stands for now."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(fd))
    except FileNotFoundError:
        return False


def replace(
    path: str, data: bytes, *, synced: bool = False, durable: bool = False, mode: int = 0o600
) -> None:
    """Replace a file, whole or not at all. After a power cut there is the old file or the new one
    when `synced`, the new one when `durable`. `mode` is less the umask. Raises `OSError`."""
    # Not named by the process id: two containers, or two threads, may have the same one.
    new = f"{path}.{os.urandom(8).hex()}{_TEMP_SUFFIX}"
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with files.closing(fd):
            # A git folder may be a group's; what is private never is.
            files.share_with_group(fd, os.stat(os.path.dirname(path)))
            files.write_all(fd, data)
            if synced or durable:
                files.full_fsync(fd)
        rename(new, path)
    except OSError:
        with suppress(OSError):
            os.unlink(new)
        raise
    if durable:
        sync_folder(os.path.dirname(path))


def rename(new: str, path: str) -> None:
    """Give a file its name, also where a folder has it. Raises `OSError`."""
    try:
        os.replace(new, path)
    except IsADirectoryError:
        files.make_way(path)
        os.replace(new, path)


def sync_folder(path: str) -> None:
    """Make the entries of a folder durable. Raises `OSError`."""
    with files.closing(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
        files.full_fsync(fd)


def ensure_folder(path: str) -> str:
    """Make a folder in a private one when missing; its path. Raises `InvalidInputError` when a
    link, a file or another user's folder lies there."""
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    user_folders.check_private(path)
    return path


def remove(path: str) -> None:
    """Remove a folder with all that is in it, or anything else. Raises nothing."""
    with suppress(OSError):
        if stat.S_ISDIR(os.lstat(path).st_mode):
            from shutil import rmtree  # noqa: PLC0415  hooks remove no folder

            rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)


@contextmanager
def lock(path: str, what: str, *, shared: bool = False, wait: float = 10.0) -> Iterator[None]:
    """Hold the lock file at `path`, which the kernel frees when this process ends; `what` says in one word what it guards. Waits up to `wait`
    seconds, then raises `ConflictError`; `InvalidInputError` for what is no file. The file stays:
    deleting it would let two holders in."""
    with files.closing(files.open_regular(path, os.O_RDWR | os.O_CREAT)) as fd:
        if os.fstat(fd).st_uid == os.geteuid():
            files.share_with_group(fd, os.stat(os.path.dirname(path)))
        acquire_lock(fd, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, what, wait)
        yield


def is_locked(path: str) -> bool:
    """True if another process holds the lock file at `path`."""
    try:
        with files.closing(open_private(path)) as fd:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        pass
    return False


def _named(what: str) -> str:
    return "a model" if what == "model" else f"the {what} of this vault"


def acquire_lock(fd: int, mode: int, what: str, wait: float) -> None:
    """Lock an open file as `lock` does, until it is closed. Raises `ConflictError`."""
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(fd, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise ConflictError(
                    f"another cortex is busy with {_named(what)}",
                    "wait until it has finished, then run the command again",
                ) from None
            time.sleep(0.01)
        else:
            return


def evict(folder: str, most: int, *, keep: int = 0, suffix: str = "") -> None:
    """If a folder has over `most` files (with `suffix`), keep only the newest `keep`, or `most`."""
    names = [name for name in files.list_folder(folder) if name.endswith(suffix)]
    if len(names) > most:
        paths = (os.path.join(folder, name) for name in names)
        ages = {path: status.st_mtime_ns for path in paths if (status := _lstat_or_none(path))}
        oldest = sorted(ages, key=lambda path: (ages[path], path))
        for path in oldest[: len(names) - (keep or most)]:
            with suppress(OSError):  # another process did, or it is a folder
                os.unlink(path)


def problems(folder: str) -> list[Problem]:
    """What in a private folder is not read: links, pipes, devices, and files of other users."""
    found = []
    below = [os.path.join(folder, name) for name in files.list_folder(folder)]
    below += [os.path.join(path, name) for path in below for name in files.list_folder(path)]
    for path in below:
        status = _lstat_or_none(path)
        if status is None:
            continue
        if status.st_uid != os.geteuid():
            what = "belongs to another user"
        elif stat.S_IFMT(status.st_mode) not in _EXPECTED_FILE_TYPES:
            what = "is a link, a pipe or a device"
        else:
            continue
        message = f"{what}, where only files of yours are read"
        found.append(Problem(path, message, f"rm {shell_quote(path)}"))
    return found


def _lstat_or_none(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None
