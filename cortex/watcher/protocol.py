"""The protocol between a command or hook and its vault's watcher: length-prefixed fields over a socket.

The socket is in the vault's state folder. Every command and many hooks import this module: keep it
lean, without a verb, a parser or `socket`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from cortex.core import __version__
from cortex.core.text.strings import truncate_prompt
from cortex.core.text.value import Any, NamedTuple
from cortex.vault import files, user_folders, zones
from cortex.vault.locate import Vault, default_vault_root

SOCKET_NAME = "watch.sock"
ALIVE = b"+"  # sent as soon as a request is understood: the answer may take its time
RUN, STATE, STOP = b"run", b"state", b"stop"  # kinds of requests
# How an answer begins; after DECLINED the asker answers itself.
DONE, DECLINED = b"done", b"declined"
MAX_REQUEST_BYTES, MAX_ANSWER_BYTES = 64 * 1024, 16 * 1024 * 1024  # bytes
CONNECT_SECONDS = 1.0
# Timeouts for the answer; then the asker answers by itself.
COMMAND_SECONDS, PROMPT_SECONDS, SESSION_START_SECONDS = 10.0, 1.5, 2.5
_MAX_ADDRESS_BYTES = 100  # bytes; Linux allows 107 for the path of a socket, macOS 103


class CommandReply(NamedTuple):
    """What a command wrote to its two streams, and its exit code."""

    stdout: bytes
    stderr: bytes
    exit_code: int


class CommandRequest(NamedTuple):
    """A command line for the watcher of the vault at `root`, to answer as in `cwd`."""

    root: str
    cwd: str
    terminal: str  # of the asker, as `View.encode` describes it; empty without one
    default_root: str  # the asker's default vault
    zone: str  # where the asker is, as `zones.local` names it
    words: tuple[str, ...]

    def encode(self) -> list[bytes]:
        """The fields of the request. Raises `UnicodeEncodeError` for lone surrogates."""
        words = (self.root, self.cwd, self.terminal, self.default_root, self.zone, *self.words)
        return [RUN, *map(os.fsencode, words)]

    @classmethod
    def decode(cls, fields: list[bytes]) -> CommandRequest | None:
        """The request of these fields, without its kind; None if there are too few."""
        if len(fields) < 6:
            return None
        root, cwd, terminal, default_root, zone, *words = map(os.fsdecode, fields)
        return cls(root, cwd, terminal, default_root, zone, tuple(words))


# Answers a command line for the vault, as the command itself would; None if the asker has to answer it.
CommandAnswerer = Callable[[Vault, CommandRequest], CommandReply | None]


def encode_message(fields: Iterable[bytes]) -> bytes:
    """One message."""
    body = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    return len(body).to_bytes(4, "big") + body


def decode_fields(body: bytes) -> list[bytes] | None:
    """The fields of a message, or None when their lengths do not fit."""
    fields = []
    at = 0
    while at < len(body):
        end = at + 4 + int.from_bytes(body[at : at + 4], "big")
        if end > len(body) or at + 4 > len(body):
            return None
        fields.append(body[at + 4 : end])
        at = end
    return fields


def receive(link: Any, size: int, deadline: float) -> bytes:
    """Exactly so many bytes before `deadline` (monotonic), else `OSError`."""
    parts: list[bytes] = []
    while size:
        link.settimeout(_seconds_left(deadline))
        if not (part := link.recv(min(size, 1 << 16))):
            raise ConnectionResetError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def read_message(link: Any, most: int, deadline: float) -> list[bytes] | None:
    """The fields of the next message; None when it is none, or larger than `most` bytes."""
    size = int.from_bytes(receive(link, 4, deadline), "big")
    return decode_fields(receive(link, size, deadline)) if size <= most else None


def send(link: Any, data: bytes, deadline: float) -> None:
    """Send all of it before `deadline`, else `OSError`."""
    link.settimeout(_seconds_left(deadline))
    link.sendall(data)


def exchange(
    root: str, request: Iterable[bytes], first_sign: float, whole_answer: float
) -> list[bytes] | None:
    """Ask the watcher of the vault at `root`. None if none runs, it does not acknowledge within
    `first_sign` seconds, or the answer is incomplete after `whole_answer` seconds. Raises
    `InvalidInputError` if the folder of its socket is not private."""
    # 0.5 ms that a capture and a cached briefing do without; `socket` would take 7.
    import _socket as socket  # noqa: PLC0415

    folder = user_folders.vault_folder_path("state", root)
    started = time.monotonic()
    try:
        user_folders.check_private(folder)
        link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with socket_path(folder) as path:
                link.settimeout(first_sign)
                link.connect(path)
            send(link, encode_message([__version__.encode(), *request]), started + first_sign)
            if receive(link, 1, started + first_sign) != ALIVE:
                return None
            return read_message(link, MAX_ANSWER_BYTES, started + whole_answer)
        finally:
            link.close()
    except OSError:
        return None


def send_command(
    root: str,
    words: Sequence[str],
    cwd: str,
    *,
    terminal: str = "",
    timeout: float = COMMAND_SECONDS,
) -> CommandReply | None:
    """Return the answer of the watcher of the vault at `root` to a command line. None if no watcher
    of this version runs or the answer is late or incomplete. Raises `InvalidInputError` if its
    folder is not private.

    The asker's default vault and zone are sent too: the watcher may run in another environment.
    """
    try:
        place = cwd, terminal, default_vault_root(), zones.local().name
        request = CommandRequest(root, *place, tuple(words)).encode()
    except UnicodeEncodeError:  # halves of surrogate pairs, which no command line can hold
        return None
    fields = exchange(root, request, CONNECT_SECONDS, timeout)
    if fields is None or len(fields) != 4 or fields[0] != DONE:
        return None
    return CommandReply(fields[1], fields[2], int.from_bytes(fields[3], "big"))


def request_reminder(
    root: str, prompt: str, cwd: str, *, session: str = "", project: str = "", branch: str = ""
) -> str | None:
    """Return the reminder of the watcher of the vault at `root` for a prompt of any size: text for
    the agent, empty if nothing is relevant. None if no watcher answers."""
    text = truncate_prompt(prompt)
    if text == "-":
        return ""
    options = _options(session=session, project=project, branch=branch)
    return _request_text(root, ["remind", *options, "--", text], cwd, PROMPT_SECONDS)


def request_briefing(root: str, cwd: str, *, project: str = "", branch: str = "") -> str | None:
    """Return the watcher's briefing for a session in `cwd`, with its frame; None if no watcher answers."""
    words = ["brief", "--print", *_options(project=project, branch=branch)]
    return _request_text(root, words, cwd, SESSION_START_SECONDS)


def _options(**values: str) -> list[str]:
    return [f"--{name}={truncate_prompt(value)}" for name, value in values.items() if value]


def _request_text(root: str, words: list[str], cwd: str, timeout: float) -> str | None:
    reply = send_command(root, words, cwd, timeout=timeout)
    if reply is None or reply.exit_code not in (0, 1):
        return None
    return reply.stdout.decode("utf-8", "replace").removesuffix("\n")


@contextmanager
def socket_path(
    folder: str, name: str = SOCKET_NAME, descriptors: str = "/proc/self/fd"
) -> Iterator[str]:
    """A path to the socket in `folder` that is short enough for every system: the path itself, else
    one through a descriptor of the folder, else a relative one, with the folder as the working
    directory meanwhile."""
    path = os.path.join(folder, name)
    if len(os.fsencode(path)) <= _MAX_ADDRESS_BYTES:
        yield path
        return
    with files.closing(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
        if os.path.isdir(descriptors):
            yield f"{descriptors}/{fd}/{name}"
            return
        here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fchdir(fd)
            yield name
        finally:
            os.fchdir(here)
            os.close(here)


def _seconds_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
