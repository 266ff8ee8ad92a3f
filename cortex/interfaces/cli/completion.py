"""Completion scripts for bash, zsh and fish, made from the table of verbs."""

from __future__ import annotations

from collections.abc import Callable

from cortex.core.model.problem import InvalidInputError
from cortex.interfaces.cli.arguments import GLOBAL_OPTIONS, flags_of
from cortex.interfaces.declare import declaration_of, load_verb
from cortex.operations import VERBS


def print_completion(argv: list[str]) -> int:
    """Print the script of the shell that is named."""
    if argv[:1] in (["--help"], ["-h"]):
        print(
            "usage: cortex completion bash|zsh|fish\n\nexample:\n  cortex completion bash > ~/.local/share/bash-completion/completions/cortex"
        )
        return 0
    if len(argv) != 1 or argv[0] not in _SCRIPT_BUILDERS:
        raise InvalidInputError("which shell?", f"cortex completion {'|'.join(_SCRIPT_BUILDERS)}")
    print(_SCRIPT_BUILDERS[argv[0]](_options_by_verb()))
    return 0


def _options_by_verb() -> dict[str, list[tuple[str, str]]]:
    """The options of every verb with their meaning."""
    options = {}
    for name in VERBS:
        declared = declaration_of(load_verb(name))
        own = [
            (flags_of(one)[-1], one.meaning)
            for one in (*declared.parameters, *GLOBAL_OPTIONS)
            if one.is_option
        ]
        options[name] = [*own, ("--help", "explain the verb")]
    return options


def _bash_script(options: dict[str, list[tuple[str, str]]]) -> str:
    cases = "\n".join(
        f'    {name}) words="{" ".join(flag for flag, _ in flags)}" ;;'
        for name, flags in options.items()
    )
    return f"""_cortex() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" words verb at=1
  while [ "$at" -lt "$COMP_CWORD" ]; do
    case "${{COMP_WORDS[at]}}" in
    --vault) at=$((at + 2)) ;;
    -*) at=$((at + 1)) ;;
    *) verb="${{COMP_WORDS[at]}}"; break ;;
    esac
  done
  if [ -z "$verb" ]; then
    words="{" ".join([*options, "completion"])}"
  else
    case "$verb" in
{cases}
    completion) words="bash zsh fish" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ -n "${{COMPREPLY[*]}}" ] || COMPREPLY=($(compgen -f -- "$current"))
}}
complete -F _cortex cortex"""


def _zsh_script(options: dict[str, list[tuple[str, str]]]) -> str:
    verbs = " ".join(
        f"{_quote_for_shell(f'{name}:{declaration_of(load_verb(name)).summary}')}"
        for name in options
    )
    cases = "\n".join(
        f"    {name}) _arguments {' '.join(_quote_for_shell(f'{flag}[{_replace_brackets(meaning)}]') for flag, meaning in flags)} '*:file:_files' ;;"
        for name, flags in options.items()
    )
    return f"""#compdef cortex
_cortex() {{
  local -a verbs
  verbs=({verbs} 'completion:Print a completion script')
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  case "$words[2]" in
{cases}
    completion) _values shell bash zsh fish ;;
  esac
}}
_cortex "$@" """.rstrip()


def _fish_script(options: dict[str, list[tuple[str, str]]]) -> str:
    lines = []
    for name, flags in options.items():
        lines.append(
            f"complete -c cortex -n __fish_use_subcommand -f -a {name} -d {_quote_for_shell(declaration_of(load_verb(name)).summary)}"
        )
        lines += [
            f"complete -c cortex -n '__fish_seen_subcommand_from {name}' -l {flag.removeprefix('--')} -d {_quote_for_shell(meaning)}"
            for flag, meaning in flags
        ]
    lines.append(
        "complete -c cortex -n __fish_use_subcommand -f -a completion -d 'Print a completion script'"
    )
    lines.append(
        "complete -c cortex -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'"
    )
    return "\n".join(lines)


def _replace_brackets(text: str) -> str:
    return text.replace("[", "(").replace("]", ")")


def _quote_for_shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_SCRIPT_BUILDERS: dict[str, Callable[[dict[str, list[tuple[str, str]]]], str]] = {
    "bash": _bash_script,
    "zsh": _zsh_script,
    "fish": _fish_script,
}
