"""Completion scripts of bash, zsh and fish, which ask `complete.py` at each press of Tab."""

from __future__ import annotations

from typing import Literal, NamedTuple

from cortex.core.model.caller import Caller
from cortex.vault.templates import read_template


class CompletionScript(NamedTuple):
    """What a shell is to read."""

    shell: str
    script: str


def completion(caller: Caller, shell: Literal["bash", "zsh", "fish"]) -> CompletionScript:
    """Print a completion script for bash, zsh or fish.

    At a press of Tab it offers verbs, options and their values: notes, projects, topics, tags,
    types and what else the vault knows.

    shell: bash, zsh or fish

    Example: cortex completion bash > ~/.local/share/bash-completion/completions/cortex
    Example: cortex completion zsh > "${fpath[1]}/_cortex"
    Example: cortex completion fish > ~/.config/fish/completions/cortex.fish
    """
    del caller
    return CompletionScript(shell, read_template(f"completion/{shell}"))
