"""What a command line says before it is parsed."""

from __future__ import annotations

from collections.abc import Sequence


def verb_position(words: Sequence[str]) -> int:
    """Where the verb stands: the first word that is no option; `--vault DIR` may come before it."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] == "--vault" else 1
    return at


def asks_for_json(words: Sequence[str]) -> bool:
    """True if the answer, and an error, is to be JSON."""
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def vault_option(words: Sequence[str]) -> str:
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
