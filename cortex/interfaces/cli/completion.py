"""Completion scripts of bash, zsh and fish: `templates/completion/SHELL`, a case for each verb."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from cortex.core.model.caller import Caller
from cortex.interfaces.cli.arguments import flags_of, options_of
from cortex.interfaces.declare import choices_of, declaration_of, load_verb
from cortex.operations import VERBS
from cortex.vault.templates import read_template


class CompletionScript(NamedTuple):
    """What a shell is to read."""

    shell: str
    script: str


def completion(caller: Caller, shell: Literal["bash", "zsh", "fish"]) -> CompletionScript:
    """Print a completion script for bash, zsh or fish.

    shell: bash, zsh or fish

    Example: cortex completion bash > ~/.local/share/bash-completion/completions/cortex
    """
    del caller
    names = list(VERBS)
    if shell == "zsh":
        names = [_quote(f"{name}:{declaration_of(load_verb(name)).summary}") for name in VERBS]
    cases = "\n".join(line for name in VERBS for line in _case_lines(shell, name))
    script = read_template(f"completion/{shell}")
    filled = script.replace("{{verbs}}", " ".join(names)).replace("{{cases}}", cases)
    return CompletionScript(shell, filled)


def _case_lines(shell: str, name: str) -> Iterator[str]:
    """What a script says of one verb: its options, and the words that its first argument may be."""
    declared = declaration_of(load_verb(name))
    flags = [(flags_of(one)[-1], one.meaning) for one in options_of(declared)]
    flags.append(("--help", "explain the verb"))
    arguments = [one for one in declared.parameters if not one.is_option]
    words = choices_of(arguments[0].type) if arguments else []
    if shell == "bash":
        yield f'    {name}) words="{" ".join([*words, *(flag for flag, _ in flags)])}" ;;'
    elif shell == "zsh":
        plain = ((flag, meaning.replace("[", "(").replace("]", ")")) for flag, meaning in flags)
        specs = [_quote(f"{flag}[{meaning}]") for flag, meaning in plain]
        first = _quote(f"1:word:({' '.join(words)})") + " " if words else ""
        yield f"    {name}) _arguments {' '.join(specs)} {first}'*:file:_files' ;;"
    else:
        summary = _quote(declared.summary)
        yield f"complete -c cortex -n __fish_use_subcommand -f -a {name} -d {summary}"
        seen = f"complete -c cortex -n '__fish_seen_subcommand_from {name}'"
        for flag, meaning in flags:
            yield f"{seen} -l {flag.removeprefix('--')} -d {_quote(meaning)}"
        if words:
            yield f"{seen} -f -a '{' '.join(words)}'"


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
