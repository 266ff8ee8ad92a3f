"""A verb answered by the watcher of the vault: the thin side that asks, and the side that answers inside the watcher.

Asking must cost next to nothing, so nothing here imports a verb, a parser or `socket` before it knows that it has to.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from cortex.core.model.problem import CortexError
from cortex.core.text.prompt import truncate_prompt
from cortex.vault.locate import Vault, default_vault_root, find_vault
from cortex.watcher import protocol
from cortex.watcher.protocol import CommandReply

DAEMON_VERBS = (
    "search",
    "show",
    "status",
    "brief",
    "remind",
)  # verbs that the watcher answers: none of them changes a note of its own accord
_CONNECT_SECONDS, _COMMAND_SECONDS = (
    1.0,
    10.0,
)  # seconds that are waited for a watcher; then the command answers by itself
_PROMPT_SECONDS, _SESSION_START_SECONDS = (
    1.5,
    2.5,
)  # the same, where somebody waits to be answered by an agent; a session that starts can wait longer


def forward_command(argv: Sequence[str]) -> int | None:
    """Let the watcher answer a whole command line and print what it says. None when it cannot: nothing is printed then."""
    if "-" in argv:
        return None  # standard input is here
    if sys.stdout.isatty() and "NO_COLOR" in os.environ:
        return None  # to the watcher it would be no terminal, and what acts on one would come as it stands
    cwd = os.getcwd()
    try:
        vault = find_vault(_vault_option(argv), cwd, os.environ)
        words = (
            [f"--vault={vault.root}", *argv] if vault.is_explicit else argv
        )  # what $CORTEX_VAULT says is told as the option says it
        reply = send_command(
            vault.root, words, cwd, paint=sys.stdout.isatty() and "NO_COLOR" not in os.environ
        )
    except CortexError:
        return None  # explained by whoever answers instead
    if reply is None:
        return None
    for stream, data in ((sys.stdout, reply.stdout), (sys.stderr, reply.stderr)):
        if data and stream.encoding.lower() == "utf-8" and hasattr(stream, "buffer"):
            stream.flush()
            stream.buffer.write(data)
        elif data:
            stream.write(data.decode("utf-8", "replace"))
    return reply.exit_code


def send_command(
    root: str, words: Sequence[str], cwd: str, *, paint: bool, patience: float = _COMMAND_SECONDS
) -> CommandReply | None:
    """What the watcher of the vault at `root` answers to a command line. None when none runs, it does not answer in
    time or not whole, or it is of another version. `InvalidInputError` when its folder is not ours alone.

    The asker's own default vault goes with the question: the watcher may run in another environment."""
    try:
        request = [
            protocol.RUN,
            os.fsencode(root),
            os.fsencode(cwd),
            b"1" if paint else b"",
            os.fsencode(default_vault_root()),
            *map(os.fsencode, words),
        ]
    except UnicodeEncodeError:  # halves of surrogate pairs, which no command line can hold
        return None
    fields = protocol.exchange(root, request, _CONNECT_SECONDS, patience)
    if fields is None or len(fields) != 4 or fields[0] != protocol.DONE:
        return None
    return CommandReply(fields[1], fields[2], int.from_bytes(fields[3], "big"))


def request_reminder(
    root: str, prompt: str, cwd: str, *, session: str = "", project: str = "", branch: str = ""
) -> str | None:
    """What the watcher of the vault at `root` says to a prompt, for a hook: the text that an agent is given, empty when nothing
    bears on the prompt. None when no watcher answers. A prompt of any size and content can be asked."""
    text = truncate_prompt(prompt)
    if text == "-":
        return ""
    named = (("session", session), ("project", project), ("branch", branch))
    words = [
        "remind",
        *(f"--{name}={truncate_prompt(value)}" for name, value in named if value),
        "--",
        text,
    ]
    reply = send_command(root, words, cwd, paint=False, patience=_PROMPT_SECONDS)
    return (
        reply.stdout.decode("utf-8", "replace").removesuffix("\n")
        if reply is not None and reply.exit_code in (0, 1)
        else None
    )


def request_briefing(root: str, cwd: str, *, project: str = "", branch: str = "") -> str | None:
    """What the watcher of the vault at `root` says at the start of a session in `cwd`, frame included; as `remind`."""
    named = (("project", project), ("branch", branch))
    reply = send_command(
        root,
        [
            "brief",
            "--print",
            *(f"--{name}={truncate_prompt(value)}" for name, value in named if value),
        ],
        cwd,
        paint=False,
        patience=_SESSION_START_SECONDS,
    )
    return (
        reply.stdout.decode("utf-8", "replace").removesuffix("\n")
        if reply is not None and reply.exit_code in (0, 1)
        else None
    )


def answer_command(
    vault: Vault, words: Sequence[str], cwd: str, paint: bool, default: str
) -> CommandReply | None:
    """Answer a command line as the command itself would; None when it should do that itself. `default` is the asker's
    default vault. Called in the watcher, by several threads at once."""
    from cortex.core.model.caller import Caller, no_progress  # noqa: PLC0415
    from cortex.interfaces.cli import command  # noqa: PLC0415

    os.environ.pop("NO_COLOR", None)  # the asker's counts, and `paint` says what it was
    at = command.verb_position(words)
    if at >= len(words) or words[at] not in DAEMON_VERBS:
        return None
    output, complaint, code = _OutputBuffer(paint=paint), "", 2
    try:
        parsed = command.parse(words)
        if parsed is None or "-" in parsed.given.values() or parsed.given.get("into"):
            return None  # help, standard input to read, or files to write in somebody's folder
        vault = vault._replace(is_explicit=bool(parsed.vault), default_root=default)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        caller = Caller(cwd, now, os.urandom, "cli", no_progress)
        code = command.run(parsed, caller, {"vault": vault}, output)
    except CortexError as error:
        as_json = command.asks_for_json(words)
        text = command.error_text(error, as_json=as_json)
        if as_json:
            output.write(text)
        else:
            complaint = text
    except OSError:
        return None  # perhaps the command has better luck: it has descriptors and rights of its own
    return CommandReply(
        _encode_output(output.getvalue()), complaint.encode("utf-8", "backslashreplace"), code
    )


def _encode_output(text: str) -> bytes:
    try:
        return text.encode(
            "utf-8", "surrogateescape"
        )  # a note that is shown as it stands need not be UTF-8
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def print_message(line: str) -> None:
    """What the watcher has to tell while it runs. A terminal that went away does not end it."""
    from cortex.interfaces.escape_terminal import escape  # noqa: PLC0415

    with suppress(OSError, ValueError):
        print(escape(line), flush=True)


def _vault_option(words: Sequence[str]) -> str:
    """The vault that a command line names; empty when it names none."""
    named = ""
    for at, word in enumerate(words):
        if word == "--":
            break
        if word == "--vault":
            named = words[at + 1] if at + 1 < len(words) else ""
        elif word.startswith("--vault="):
            named = word.removeprefix("--vault=")
    return named


class _OutputBuffer(io.StringIO):
    """Text that is written for somebody else's terminal, or for none."""

    def __init__(self, *, paint: bool) -> None:
        super().__init__()
        self._paint = paint

    def isatty(self) -> bool:
        return self._paint
