"""Three texts merged by lines: `git merge-file`, run as cheaply as a merge driver must run it.

`subprocess` would cost the driver half its budget; this is one spawn, a pipe, three nameless files.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from cortex.core.model.problem import CortexError

TIMEOUT_SECONDS = 10.0
_SIGKILL = 9  # SIGKILL; the signal module builds its names from scratch
_MAX_CONFLICTS_EXIT_CODE = 127  # for as many or more; above are errors
# No repository and no configuration: nothing but the three files decides.
_ENVIRONMENT = {
    "GIT_DIR": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "LC_ALL": "C",
}


def merge_file(base: bytes, one: bytes, other: bytes, marker_size: int) -> bytes:
    """What `git merge-file -p --diff3` prints for three texts: `one` first in a conflict, base in
    the middle. `CortexError` when there is no git, it fails, or it takes more than ten seconds."""
    with _anonymous_files(one, base, other) as paths:
        output, code = _run(
            ["git", "merge-file", "-p", "-q", "--diff3", f"--marker-size={marker_size}", *paths]
        )
    if code > _MAX_CONFLICTS_EXIT_CODE:
        raise CortexError(f"git merge-file ended with {code}", "git merge-file -h; git --version")
    return output


def _run(line: list[str]) -> tuple[bytes, int]:
    reading, writing = os.pipe()
    pid = 0
    try:
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith("GIT_")
        } | _ENVIRONMENT
        actions = [
            (os.POSIX_SPAWN_DUP2, writing, 1),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        try:
            pid = os.posix_spawnp(line[0], line, environment, file_actions=actions)
        except FileNotFoundError as error:
            hint = "install git, then run the command again"
            raise CortexError("git is not installed", hint) from error
        os.close(writing)
        writing = -1
        output = b"".join(_read_until_eof(reading))
        _, status = os.waitpid(pid, 0)
        pid = 0
        return output, os.waitstatus_to_exitcode(status) % 256
    finally:
        for fd in (reading, writing):
            if fd >= 0:
                os.close(fd)
        if pid:
            with suppress(ProcessLookupError):  # it ended by itself meanwhile
                os.kill(pid, _SIGKILL)
            os.waitpid(pid, 0)


def _read_until_eof(fd: int) -> Iterator[bytes]:
    """What comes until the end, or `CortexError` when the time is over."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while True:
        # Not poll: there is one pipe; with over a thousand open files git merges in another way.
        ready, _, _ = select.select([fd], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise CortexError(
                f"git merge-file took longer than {TIMEOUT_SECONDS:g} seconds and was ended",
                "run the command again",
            )
        chunk = os.read(fd, 1 << 16)
        if not chunk:
            return
        yield chunk


@contextmanager
def _anonymous_files(*texts: bytes) -> Iterator[list[str]]:
    """Paths by which a child process reads the texts. The files have no name by the time they are
    written, so that nothing of a note is left behind, however this process ends."""
    fds: list[int] = []
    try:
        for text in texts:
            fd = _open_anonymous()
            fds.append(fd)
            view = memoryview(text)
            while view:
                view = view[os.write(fd, view) :]
            os.lseek(fd, 0, os.SEEK_SET)  # where /dev/fd means the same open file, as on macOS
            os.set_inheritable(fd, True)  # the texts are meant for the child
        yield [f"/dev/fd/{fd}" for fd in fds]
    finally:
        for fd in fds:
            os.close(fd)


def _open_anonymous() -> int:
    # The name cannot be guessed, the file is created exclusively and unlinked at once.
    folder = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108
    for place in (folder, "/tmp", "/var/tmp"):  # noqa: S108
        path = os.path.join(place, f"cortex-{os.urandom(12).hex()}")
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
        os.unlink(path)
        return fd
    raise CortexError(
        f"there is no folder for temporary files: {folder}",
        "set TMPDIR to a folder that can be written",
    )
