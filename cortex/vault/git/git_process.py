"""A process of git: hardened, fed, read, bounded in time, and ended with its children."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress

from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError
from cortex.vault import files, user_folders

HARDENING_FLAGS = (
    "-c", "safe.bareRepository=explicit",
    "-c", "core.fsmonitor=false",
    "-c", "protocol.ext.allow=never",
    "-c", "core.fsync=all",
    "-c", "core.quotePath=false",
    "-c", "submodule.recurse=false",
    "-c", "color.ui=false",
    "-c", "color.grep=false",
    "-c", "log.showSignature=false",
    "-c", "log.diffMerges=separate",
    "-c", "log.showRoot=true",
    "-c", "log.follow=false",
    "-c", "log.mailmap=false",
    "-c", "diff.orderFile=/dev/null",
    "-c", "i18n.logOutputEncoding=UTF-8",
    "-c", "grep.patternType=basic",
)  # fmt: skip
NO_HOOKS_FLAGS = ("-c", "core.hooksPath=/dev/null")
# Housekeeping belongs to a quiet moment; only who asks for it by name gets it.
NO_MAINTENANCE_FLAGS = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/dev/null/none",  # cannot exist; for an empty file git prints advice
    "LC_ALL": "C",
}
# Variables by which an outer git (a hook, `git rebase --exec`) would name another repository, and
# those that contradict literal path names. The user's own (GIT_SSH_COMMAND, ...) stay.
_DROPPED_VARIABLES = frozenset({
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_QUARANTINE_PATH",
    "GIT_CONFIG", "GIT_ATTR_SOURCE", "GIT_EXTERNAL_DIFF",
    "GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
})  # fmt: skip
_TERMINATE_SECONDS = 1.0  # between asking git to end, when it removes its locks, and ending it
_POLL_SECONDS = 0.05  # between looks whether git has ended though somebody still holds its pipes


def hardened_environment() -> dict[str, str]:
    """The variables of a git that reads the repository around its working directory."""
    kept = {key: value for key, value in os.environ.items() if key not in _DROPPED_VARIABLES}
    own = {
        "HOME": user_folders.home_folder(),
        "XDG_CONFIG_HOME": user_folders.absolute_variable("XDG_CONFIG_HOME"),
    }
    return kept | _ENVIRONMENT | own


def run_process(
    directory: str,
    command: list[str],
    environment: Mapping[str, str],
    stdin: bytes,
    seconds: float,
    *,
    renew: bool,
) -> tuple[int, bytes, bytes]:
    """The exit code of a command (below zero: the signal that ended it), its output and what it
    wrote to stderr. Raises `TimeoutError` after `seconds`, with `renew` counted from the last byte,
    and `CortexError` where it cannot be run."""
    process = _spawn(directory, command, environment, piped=bool(stdin))
    try:
        output, complaint = _communicate(process, stdin, seconds, renew=renew)
    except BaseException:
        _terminate(process)
        raise
    finally:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
    return process.returncode, output, complaint


def _spawn(
    directory: str, command: list[str], environment: Mapping[str, str], *, piped: bool
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
            umask=files.current_umask() & ~0o070 if files.is_group_shared(directory) else -1,
        )
    except OSError as error:
        if not os.path.isdir(directory):
            message = f"there is no folder {directory}"
            raise NotFoundError(message, "give a folder that exists") from error
        if isinstance(error, FileNotFoundError):
            hint = "install git, then run the command again"
            raise CortexError("git is not installed", hint) from error
        hint = "git --version shows whether it runs at all"
        raise CortexError(f"git cannot be run: {error.strerror}", hint) from error
    except ValueError as error:  # a NUL in a name
        hint = "give the name as git shows it"
        raise InvalidInputError("a name with a NUL byte is none", hint) from error


def _communicate(
    process: subprocess.Popen[bytes], stdin: bytes, seconds: float, *, renew: bool
) -> tuple[bytes, bytes]:
    """Feed and read git until it has ended. Raises `TimeoutError` after `seconds`, with
    `renew` counted from the last byte. A grandchild that keeps a pipe open is not waited for: it
    may be a person's ssh connection that is kept for the next command."""
    assert process.stdout is not None
    assert process.stderr is not None
    chunks: dict[int, list[bytes]] = {process.stdout.fileno(): [], process.stderr.fileno(): []}
    output, complaint = chunks.values()
    view = memoryview(stdin)
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as waiting:
        for fd in chunks:
            waiting.register(fd, selectors.EVENT_READ)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            waiting.register(process.stdin.fileno(), selectors.EVENT_WRITE)
        while True:
            # Asked before looking: what it wrote is in the pipes by then.
            ended = process.poll() is not None
            readable = False
            wait = 0 if ended else _POLL_SECONDS
            for key, _ in waiting.select(wait) if waiting.get_map() else ():
                if key.fd not in chunks:
                    assert process.stdin is not None
                    view = _write_some(process.stdin.fileno(), view)
                    if not view:
                        waiting.unregister(key.fd)
                        process.stdin.close()
                elif chunk := os.read(key.fd, 1 << 16):
                    chunks[key.fd].append(chunk)
                    readable = True
                else:
                    waiting.unregister(key.fd)
            if readable:
                deadline = time.monotonic() + seconds if renew else deadline
            elif ended or (not waiting.get_map() and _ends_before(process, deadline)):
                return b"".join(output), b"".join(complaint)
            if time.monotonic() >= deadline:
                raise TimeoutError


def _ends_before(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """Whether git, which has closed its pipes, ends before the deadline."""
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _write_some(fd: int, view: memoryview) -> memoryview:
    try:
        return view[os.write(fd, view[: 1 << 16]) :]
    except BlockingIOError:
        return view
    except BrokenPipeError:  # git wants no more of it; its exit code says whether that is right
        return view[:0]


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """End git and all its children; first politely, so that it removes its locks. It is reaped
    last, so that the second signal cannot reach a stranger with its number."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGTERM)
        _wait_for_pipes(process, time.monotonic() + _TERMINATE_SECONDS)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for_pipes(process: subprocess.Popen[bytes], deadline: float) -> None:
    """Wait until everybody has let go of git's pipes, at most until the deadline."""
    with selectors.DefaultSelector() as waiting:
        for pipe in (process.stdout, process.stderr):
            if pipe is not None and not pipe.closed:
                waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _ in waiting.select(left):
                if not os.read(key.fd, 1 << 16):
                    waiting.unregister(key.fd)
