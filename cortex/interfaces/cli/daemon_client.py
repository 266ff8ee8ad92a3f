"""A verb answered by the watcher of the vault, and what a command line says before it is parsed.

Asking must cost next to nothing: no verb and no `socket` is imported before it is needed.
`command.answer_command` is the side in the watcher.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cortex.core.model.problem import CortexError
from cortex.operations import ALIASES, MOVED_OPTIONS, OFFICIAL_ALIASES
from cortex.vault import overrides
from cortex.vault.locate import find_vault
from cortex.watcher.protocol import send_command

# Verbs that the watcher answers: none of them changes a note of its own accord.
DAEMON_VERBS = ("search", "show", "status", "brief", "remind")


def forward_command(argv: Sequence[str]) -> int | None:
    """Let the watcher answer a command line, and print its reply. Returns the exit code.

    Returns None, and prints nothing, if the watcher cannot answer it.
    """
    if "-" in argv or "--pick" in argv or any(map(overrides.said, overrides.OVERRIDES)):
        return None  # standard input is here, and so are the variables
    cwd = os.getcwd()
    terminal = ""
    if sys.stdout.isatty():
        from cortex.interfaces.cli import view  # noqa: PLC0415  for a person alone

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
        view.print_paged(reply.stdout.decode("utf-8", "replace"), reader, sys.stdout)
        reply = reply._replace(stdout=b"")
    for stream, data in ((sys.stdout, reply.stdout), (sys.stderr, reply.stderr)):
        if data and stream.encoding.lower() == "utf-8" and hasattr(stream, "buffer"):
            stream.flush()
            stream.buffer.write(data)
        elif data:
            stream.write(data.decode("utf-8", "replace"))
    return reply.exit_code


def verb_position(words: Sequence[str]) -> int:
    """Where the verb stands: the first word that is no option; `--vault DIR` may come before it."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] == "--vault" else 1
    return at


def expand_alias(name: str) -> tuple[str, ...]:
    """The verb and options that an alias stands for, or the word itself. For an alias that is not
    official, a line on standard error says which command runs."""
    words = ALIASES.get(name, (name,))
    if name in ALIASES and name not in OFFICIAL_ALIASES:
        sys.stderr.write(f"cortex: {name} is cortex {' '.join(words)}\n")
    return words


def move_options(words: Sequence[str], at: int) -> list[str]:
    """The words, of which the one at `at` is the verb, with the verb that an option has become."""
    for (verb, option), own in MOVED_OPTIONS.items():
        if words[at] == verb and option in words:
            return [own if n == at else word for n, word in enumerate(words) if word != option]
    return [*words]


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
