"""A verb answered by the watcher of the vault: the side that asks, and the side in the watcher.

Asking must cost next to nothing: no verb and no `socket` is imported before it is needed.
"""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.problem import AmbiguousNameError, CortexError
from cortex.interfaces.escape_terminal import escape
from cortex.vault.locate import Vault, find_vault
from cortex.watcher.client import send_command
from cortex.watcher.protocol import CommandReply

# Verbs that the watcher answers: none of them changes a note of its own accord.
DAEMON_VERBS = ("search", "show", "status", "brief", "remind")


def forward_command(argv: Sequence[str]) -> int | None:
    """Let the watcher answer a command line, and print its reply. Returns the exit code.

    Returns None, and prints nothing, if the watcher cannot answer it.
    """
    if "-" in argv or "--pick" in argv:
        return None  # standard input is here
    cwd = os.getcwd()
    terminal = ""
    if sys.stdout.isatty():
        from cortex.interfaces.cli.terminal import view  # noqa: PLC0415  for a person alone

        reader = view.view_of(sys.stdout, cwd, os.environ)
        terminal = reader.encode()
    try:
        vault = find_vault(_vault_option(argv), cwd, os.environ)
        # What $CORTEX_VAULT says is told as the option says it.
        words = [f"--vault={vault.root}", *argv] if vault.is_explicit else argv
        reply = send_command(vault.root, words, cwd, terminal=terminal)
    except CortexError:
        return None  # explained by whoever answers instead
    if reply is None:
        return None
    if terminal:
        from cortex.interfaces.cli.terminal.pager import print_paged  # noqa: PLC0415  as above

        print_paged(reply.stdout.decode("utf-8", "replace"), reader, sys.stdout)
        reply = reply._replace(stdout=b"")
    for stream, data in ((sys.stdout, reply.stdout), (sys.stderr, reply.stderr)):
        if data and stream.encoding.lower() == "utf-8" and hasattr(stream, "buffer"):
            stream.flush()
            stream.buffer.write(data)
        elif data:
            stream.write(data.decode("utf-8", "replace"))
    return reply.exit_code


def answer_command(
    vault: Vault, words: Sequence[str], cwd: str, terminal: str, default: str
) -> CommandReply | None:
    """Answer a command line as the command itself would. None if it must do that itself.

    `default` is the asker's default vault. The watcher calls it in several threads at once.
    """
    at = verb_position(words)
    if at >= len(words) or words[at] not in DAEMON_VERBS:
        return None
    from cortex.interfaces.cli import command  # noqa: PLC0415  in the watcher alone
    from cortex.interfaces.cli.terminal.view import decode  # noqa: PLC0415  as above

    output, complaint, code = io.StringIO(), "", 2
    try:
        parsed = command.parse(words)
        if parsed is None or "-" in parsed.given.values() or parsed.given.get("into"):
            return None  # help, standard input to read, or files to write in somebody's folder
        vault = vault._replace(is_explicit=bool(parsed.vault), default_root=default)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        caller = Caller(cwd, now, os.urandom, "cli", no_progress)
        answer = command.call(parsed, caller, {"vault": vault}, vault.root)
        code = command.print_answer(parsed, answer, output, decode(terminal, cwd, vault.root))
    except AmbiguousNameError as error:
        if terminal:
            return None  # the person is asked
        complaint = command.error_text(error, as_json=False)
    except CortexError as error:
        as_json = asks_for_json(words)
        text = command.error_text(error, as_json=as_json)
        if as_json:
            output.write(text)
        else:
            complaint = text
    except OSError:
        return None  # perhaps the command has better luck: it has descriptors and rights of its own
    stderr = complaint.encode("utf-8", "backslashreplace")
    return CommandReply(_encode_output(output.getvalue()), stderr, code)


def _encode_output(text: str) -> bytes:
    try:
        # A note that is shown as it stands need not be UTF-8.
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def print_message(line: str) -> None:
    """What the watcher has to tell while it runs. A terminal that went away does not end it."""
    with suppress(OSError, ValueError):
        print(escape(line), flush=True)


def verb_position(words: Sequence[str]) -> int:
    """Where the verb stands: the first word that is no option; `--vault DIR` may come before it."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] == "--vault" else 1
    return at


def asks_for_json(words: Sequence[str]) -> bool:
    """True if the answer, and an error, is to be JSON."""
    return "--json" in (words[: words.index("--")] if "--" in words else words)


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
