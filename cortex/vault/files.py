"""The one place that writes into a vault: durable, never overwriting unasked, through no link.

Every path is vault-relative and walked folder by folder from the root with `O_NOFOLLOW`, so that a
link planted in a vault can redirect neither a read nor a write. What a function has returned from
is on disk, with its directory entry and new parents' entries. Standard library only, for capture.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from _collections_abc import Iterable, Iterator

from cortex.core.model.problem import ConflictError, InvalidInputError, NotFoundError
from cortex.core.text.light import contextmanager, suppress
from cortex.core.text.value import NamedTuple

TEMP_SUFFIX = ".cx-tmp"
# Left out when a Mac's file system compares names, so that `.g\u200cit` is `.git` there.
_HFS_IGNORED_CHARS = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_F_FULLFSYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)  # macOS only
_O_TMPFILE: int | None = getattr(os, "O_TMPFILE", None)  # Linux only
# Of a folder that a group shares, as `git init --shared=group` makes them.
_SHARED_FOLDER_BITS = stat.S_ISGID | stat.S_IWGRP
# What opening something that is no regular file says; the last is a socket on macOS.
_NOT_REGULAR_ERRNOS = {
    errno.ELOOP: "a link", errno.ENXIO: "a socket or a pipe", errno.EISDIR: "a folder",
    errno.EMLINK: "a link", errno.EOPNOTSUPP: "a socket",
}  # fmt: skip
_NOT_REGULAR_HINT = "put a regular file there, or remove it"
# How a file system says that it has no unnamed files. Anything else is a real error.
_TMPFILE_UNSUPPORTED_ERRNOS = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOSYS}
# The same for the full flush of macOS, which network drives and FUSE mounts lack.
_FULL_SYNC_UNSUPPORTED_ERRNOS = {*_TMPFILE_UNSUPPORTED_ERRNOS, errno.ENOTSUP, errno.ENOTTY}


class OpenFolder(NamedTuple):
    """An open folder of the vault with the way to it: the root's descriptor first, its own last."""

    fds: tuple[int, ...]

    @property
    def fd(self) -> int:
        return self.fds[-1]

    def sync(self) -> None:
        """Make this folder's entries durable, and those of every parent up to the root: another
        process may have made a folder and not synced it yet. Takes microseconds if nothing changed."""
        for fd in reversed(self.fds):
            full_fsync(fd)


def checked_parts(path: str) -> list[str]:
    """The components of a vault-relative path; `InvalidInputError` outside it or in `.git`."""
    parts = path.split("/")
    for part in parts:
        shown = part if part.isascii() else part.translate(_HFS_IGNORED_CHARS)
        folded = shown.casefold().rstrip(". ")
        if part in ("", ".", "..") or "\0" in part or folded in (".git", "git~1"):
            hint = "give a path as `cortex search` shows it"
            raise InvalidInputError(f"{path!r} is not a path inside the vault", hint)
    return parts


@contextmanager
def open_folder(root: str, path: str, *, create: bool = False) -> Iterator[OpenFolder]:
    """Open the folder at `path` (`""` is the root). With `create`, make what is missing: mode 0700,
    or with the rights of the group that shares the vault. An `OSError` names the whole path."""
    chain: list[int] = []
    try:
        chain.append(os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        for part in checked_parts(path) if path else ():
            new = False
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=chain[-1])
                    new = True
            try:
                chain.append(os.open(part, FOLDER_FLAGS, dir_fd=chain[-1]))
                if new:
                    share_with_group(chain[-1], os.fstat(chain[0]))
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    why = "is a link or a file, not a folder; nothing is read or written through it"
                    hint = f"replace {part} by a real folder"
                    raise InvalidInputError(f"{path}: {part} {why}", hint) from error
                raise
        yield OpenFolder(tuple(chain))
    except OSError as error:
        # The name of an entry, or `.`: which folder it is in, only the descriptor says.
        if isinstance(error.filename, str) and not os.path.isabs(error.filename):
            error.filename = os.path.join(root, path).rstrip("/")
        raise
    finally:
        for fd in reversed(chain):
            _close_quietly(fd)


def create(root: str, path: str, data: bytes | Iterable[bytes]) -> None:
    """Write a new file, whole or in pieces, and make it durable. Raises `FileExistsError` and any
    `OSError` of the disk; then nothing of this call is left to see."""
    parent, name = _split_checked(path)
    with open_folder(root, parent, create=True) as place:
        _write_and_link(place, name, [data] if isinstance(data, bytes) else data)
        try:
            place.sync()
        except OSError:
            # Not durable, so it must not be seen either: a retry would make a second note of it.
            with suppress(OSError):
                os.unlink(name, dir_fd=place.fd)
            raise


def replace(root: str, path: str, data: bytes, expected: bytes | None) -> None:
    """Replace a file that holds `expected`, or create one for None; `ConflictError` if it was changed
    meanwhile, or made."""
    if expected is None:
        try:
            create(root, path, data)
        except FileExistsError:
            message = f"{path} was made by somebody else just now"
            raise ConflictError(message, "run the command again") from None
        return
    parent, name = _split_checked(path)
    temp = f".{name}{TEMP_SUFFIX}"
    with open_folder(root, parent) as place:
        mode = stat.S_IMODE(os.stat(name, dir_fd=place.fd, follow_symlinks=False).st_mode)
        try:
            _write_temp_file(place.fd, temp, data, mode)
            # As late as can be: an editor may have saved while the new text was written and synced.
            if _read_at(place.fd, name, None) != expected:
                message = f"{path} was changed by somebody else just now"
                raise ConflictError(message, "run the command again")
            os.rename(temp, name, src_dir_fd=place.fd, dst_dir_fd=place.fd)
        except (OSError, ConflictError):
            with suppress(OSError):
                os.unlink(temp, dir_fd=place.fd)
            raise
        place.sync()


def move(root: str, source: str, target: str) -> None:
    """Move a file: link it into its new folder, sync that, then unlink the old name. A crash
    between leaves both names, and moving again finishes. `ConflictError` if the name is taken."""
    source_parent, source_name = _split_checked(source)
    target_parent, target_name = _split_checked(target)
    with (
        open_folder(root, source_parent) as here,
        open_folder(root, target_parent, create=True) as there,
    ):
        linked = True
        try:
            folders = {"src_dir_fd": here.fd, "dst_dir_fd": there.fd}
            os.link(source_name, target_name, **folders, follow_symlinks=False)
        except FileExistsError:
            linked = False
            if not _has_same_bytes(here.fd, source_name, there.fd, target_name):
                message = f"{target} exists and differs from {source}"
                hint = "compare the two files, then remove one"
                raise ConflictError(message, hint) from None
        try:
            there.sync()
        except OSError:
            if linked:
                with suppress(OSError):
                    os.unlink(target_name, dir_fd=there.fd)
            raise
        os.unlink(source_name, dir_fd=here.fd)
        here.sync()


def sync_folder(root: str, path: str) -> None:
    """Make the entries of a folder durable, also those that a killed process has not synced."""
    with open_folder(root, path) as place:
        place.sync()


def sync_files(root: str, paths: Iterable[str]) -> None:
    """Make files that another program has written or removed durable, and the entries of their
    folders. What is no regular file is left out."""
    parents = set()
    for path in paths:
        folder, name = _split_checked(path)
        parent = folder
        while parent and not os.path.isdir(os.path.join(root, parent)):
            parent = parent.rpartition("/")[0]  # the folder was removed with its last file
        parents.add(parent)
        with (
            suppress(FileNotFoundError, NotADirectoryError, InvalidInputError),
            open_folder(root, folder) as place,
            _reading(open_regular(name, at=place.fd)) as fd,
        ):
            full_fsync(fd)
    for parent in parents:
        with suppress(InvalidInputError):
            sync_folder(root, parent)


def remove(root: str, path: str) -> None:
    """Delete one file and make that durable."""
    parent, name = _split_checked(path)
    with open_folder(root, parent) as place:
        os.unlink(name, dir_fd=place.fd)
        place.sync()


def read(root: str, path: str, limit: int | None = None) -> bytes:
    """At most `limit` bytes of a regular file; follows no link, never blocks on a pipe."""
    parent, name = _split_checked(path)
    try:
        with open_folder(root, parent) as place:
            return _read_at(place.fd, name, limit)
    except (FileNotFoundError, NotADirectoryError):
        hint = "cortex search finds notes by their words"
        raise NotFoundError(f"there is no {path} in the vault", hint) from None


def open_to_append(root: str, path: str) -> int:
    """The descriptor of a regular file, to read it and to append to it. Raises as `open_regular`."""
    parent, name = _split_checked(path)
    with open_folder(root, parent) as place:
        return open_regular(name, os.O_RDWR | os.O_APPEND, at=place.fd)


def iter_chunks(root: str, path: str, start: int = 0) -> Iterator[bytes]:
    """The bytes of a regular file from `start` on, a megabyte at a time."""
    parent, name = _split_checked(path)
    with open_folder(root, parent) as place, _reading(open_regular(name, at=place.fd)) as fd:
        os.lseek(fd, start, os.SEEK_SET)
        while chunk := os.read(fd, 1 << 20):
            yield chunk


def size(root: str, path: str) -> int:
    """The bytes of a file, without opening it."""
    parent, name = _split_checked(path)
    with open_folder(root, parent) as place:
        return os.stat(name, dir_fd=place.fd, follow_symlinks=False).st_size


def exists(root: str, path: str) -> bool:
    """Whether something has this name, a dangling link included."""
    return os.path.lexists(os.path.join(root, path))


def list_names(root: str, path: str) -> list[str]:
    """The names in a folder, sorted; none when there is no such folder."""
    try:
        with open_folder(root, path) as place:
            return sorted(os.listdir(place.fd))
    except FileNotFoundError:
        return []


def list_notes(root: str, path: str) -> list[str]:
    """The names of the notes in a folder, sorted; hidden files are none."""
    names = list_names(root, path)
    return [name for name in names if name.endswith(".md") and not name.startswith(".")]


def _split_checked(path: str) -> tuple[str, str]:
    """A path's folder and name, all of it checked."""
    *parents, name = checked_parts(path)
    return "/".join(parents), name


def share_with_group(fd: int, above: os.stat_result) -> None:
    """Give a new file or folder to the group that shares the folder `above`, if one does. As with
    git's `core.sharedRepository`, no umask takes the group's rights away. Raises `OSError`."""
    if above.st_mode & _SHARED_FOLDER_BITS != _SHARED_FOLDER_BITS:
        return
    made = os.fstat(fd)
    if made.st_gid != above.st_gid:  # its own folder has lost the setgid bit
        with suppress(PermissionError):
            os.fchown(fd, -1, above.st_gid)
    group_bits = stat.S_ISGID | stat.S_IRWXG if stat.S_ISDIR(made.st_mode) else 0o060
    os.fchmod(fd, stat.S_IMODE(made.st_mode) | above.st_mode & group_bits)


def is_group_shared(path: str) -> bool:
    """Whether a folder is one that a group shares: writable by its group, with the setgid bit."""
    try:
        return os.stat(path).st_mode & _SHARED_FOLDER_BITS == _SHARED_FOLDER_BITS
    except OSError:
        return False


def current_umask() -> int:
    """The umask of the process; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _write_and_link(place: OpenFolder, name: str, pieces: Iterable[bytes]) -> None:
    """Give synced content its name. A kill leaves nothing of an unnamed file."""
    parent = place.fd
    unnamed = _open_tmpfile(parent)
    # Not named by the process id: after a crash in a container the next process has the same one.
    temp = f".{os.urandom(8).hex()}{TEMP_SUFFIX}" if unnamed is None else ""
    fd = _create_exclusively(temp, parent) if unnamed is None else unnamed
    linked = False
    try:
        with closing(fd):
            share_with_group(fd, os.fstat(place.fds[0]))
            for piece in pieces:
                write_all(fd, piece)
            full_fsync(fd)
            if unnamed is None:
                os.link(temp, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
            else:
                os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=parent, follow_symlinks=True)
            linked = True
    except OSError:
        if linked:
            with suppress(OSError):
                os.unlink(name, dir_fd=parent)
        raise
    finally:
        if unnamed is None:
            with suppress(OSError):
                os.unlink(temp, dir_fd=parent)


def _create_exclusively(name: str, parent: int) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.open(name, flags, 0o600, dir_fd=parent)


def _open_tmpfile(parent: int) -> int | None:
    """A file without a name in the folder; None where the system has no such thing."""
    if _O_TMPFILE is None or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(".", _O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600, dir_fd=parent)
    except OSError as error:
        if error.errno in _TMPFILE_UNSUPPORTED_ERRNOS:
            return None
        raise


def _write_temp_file(parent: int, name: str, data: bytes, mode: int) -> None:
    """Write a temporary file for a rename; the name may be left over from a killed process."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=parent)
    with closing(_create_exclusively(name, parent)) as fd:
        write_all(fd, data)
        os.fchmod(fd, mode)
        full_fsync(fd)


@contextmanager
def closing(fd: int) -> Iterator[int]:
    """Close a descriptor at the end, whatever happens."""
    try:
        yield fd
    finally:
        os.close(fd)


def full_fsync(fd: int) -> None:
    """Make an open file or folder durable; plain fsync leaves data in a Mac drive's cache."""
    if _F_FULLFSYNC is not None:
        try:
            fcntl.fcntl(fd, _F_FULLFSYNC)
            return
        except OSError as error:
            if error.errno not in _FULL_SYNC_UNSUPPORTED_ERRNOS:
                raise  # fsync would report the same failure only once, and so say that all is well
    os.fsync(fd)


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(fd, view)
        if written == 0:
            raise OSError(errno.EIO, "the disk took no bytes")
        view = view[written:]


def open_regular(
    path: str, flags: int = os.O_RDONLY, *, at: int | None = None, follow: bool = False
) -> int:
    """Open a file and return its descriptor. Raises `InvalidInputError` for a link (unless
    `follow`), a pipe, a socket, a device or a folder, and never waits for the other end of a pipe.
    `at` is the folder that `path` is relative to."""
    try:
        flags |= (0 if follow else os.O_NOFOLLOW) | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600, dir_fd=at)
    except OSError as error:
        if error.errno == errno.EISDIR and flags & os.O_CREAT and at is None:
            make_way(path)
            return open_regular(path, flags)
        if error.errno in _NOT_REGULAR_ERRNOS:
            message = f"{path} is {_NOT_REGULAR_ERRNOS[error.errno]}, not a regular file"
            raise InvalidInputError(message, _NOT_REGULAR_HINT) from error
        raise
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise InvalidInputError(f"{path} is not a regular file", _NOT_REGULAR_HINT)
    except (OSError, InvalidInputError):
        _close_quietly(fd)
        raise
    return fd


def make_way(path: str) -> None:
    """Remove the folder that lies in the place of one of our private files; move it aside unless it
    is empty. Raises `OSError`."""
    try:
        os.rmdir(path)
    except OSError:
        os.rename(path, f"{path}.{os.urandom(4).hex()}.aside")


def read_bounded(path: str, most: int, *, end: bool = False, follow: bool = False) -> bytes:
    """At most `most` bytes of a file that lies beside or around a vault (git's own files,
    `.cortex-project`), from its end with `end`. Nothing when there is none, and when it may not be
    read: see `why_unreadable`. `follow` is for a person's own settings, which may be a link."""
    try:
        with _reading(open_regular(path, follow=follow)) as fd:
            status = os.fstat(fd)
            if _ownership_fault(path, status, follow=follow):
                return b""
            return read_fd(fd, most, max(0, status.st_size - most) if end else 0)
    except (OSError, ValueError, InvalidInputError):
        return b""


def folder_and_parents(directory: str) -> list[str]:
    """The folder with this absolute path and those above it, the nearest first."""
    found = [directory]
    while (parent := os.path.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return found


def list_folder(folder: str) -> list[str]:
    """The names in a folder beside or around a vault, sorted; none when it is missing or a link."""
    try:
        with _reading(os.open(folder, FOLDER_FLAGS)) as fd:
            return sorted(os.listdir(fd))
    except (OSError, ValueError):
        return []


def why_unreadable(path: str, *, follow: bool = False) -> str:
    """Why `read_bounded` does not read a file; empty when it does, and when there is none."""
    try:
        fd = open_regular(path, follow=follow)
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except InvalidInputError as error:
        return error.message.removeprefix(f"{path} ")
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    with _reading(fd):
        return _ownership_fault(path, os.fstat(fd), follow=follow)


def _ownership_fault(path: str, status: os.stat_result, *, follow: bool) -> str:
    """Why an open file is not to be trusted; empty when it is. Where a link may lead to it, another
    user's is not, and neither is one that a stranger can have put where we look for ours, as in a
    folder like /tmp."""
    if status.st_uid in (os.geteuid(), 0):
        return ""
    if follow:
        return "belongs to another user"
    folder = os.stat(os.path.dirname(path) or ".")
    if folder.st_mode & stat.S_IWOTH and folder.st_uid != status.st_uid:
        return "belongs to another user, in a folder in which everybody may write"
    return ""


def read_fd(fd: int, most: int, start: int = 0) -> bytes:
    """The bytes of an open file from `start` on, at most `most` of them."""
    chunks: list[bytes] = []
    while most > 0 and (chunk := os.pread(fd, most, start)):
        chunks.append(chunk)
        most -= len(chunk)
        start += len(chunk)
    return b"".join(chunks)


@contextmanager
def _reading(fd: int) -> Iterator[int]:
    """As `closing`; an error at the end says nothing of what was read."""
    try:
        yield fd
    finally:
        _close_quietly(fd)


def _close_quietly(fd: int) -> None:
    with suppress(OSError):  # nothing was written through it
        os.close(fd)


def _read_at(parent: int, name: str, limit: int | None) -> bytes:
    with _reading(open_regular(name, at=parent)) as fd:
        size = os.fstat(fd).st_size + 1
        return read_fd(fd, size if limit is None else min(limit, size))


def _has_same_bytes(source_fd: int, source: str, target_fd: int, target: str) -> bool:
    """Whether two names hold the same bytes: two links to one file, or two equal copies."""
    source_stat = os.stat(source, dir_fd=source_fd, follow_symlinks=False)
    target_stat = os.stat(target, dir_fd=target_fd, follow_symlinks=False)
    if os.path.samestat(source_stat, target_stat):
        return True
    if source_stat.st_size != target_stat.st_size:
        return False
    return _read_at(source_fd, source, None) == _read_at(target_fd, target, None)
