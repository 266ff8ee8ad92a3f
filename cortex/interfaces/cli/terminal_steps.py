"""What a command does with the person's terminal beside its answer: it asks, and opens programs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence

from cortex.core.model.problem import CortexError
from cortex.interfaces.escape_terminal import escape
from cortex.operations.care.obsidian_settings import plan_exclusion
from cortex.vault.locate import real_folder


def has_terminal() -> bool:
    """Whether a person can be asked and sees the answer."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout.isatty())


def ask_obsidian(given: Mapping[str, object], cwd: str) -> dict[str, object]:
    """The option of `cortex init` that the person chooses, where the folder lies in an Obsidian
    vault that does not leave ours out yet. Nothing is asked without a terminal."""
    if given.get("obsidian") or given.get("no_obsidian") or not has_terminal():
        return {}
    root = real_folder(cwd, str(given.get("directory") or "."))
    try:
        change = plan_exclusion(root, exclude=True)
    except (CortexError, OSError):  # what is wrong there, --obsidian says
        return {}
    if change is None:
        return {}
    print(f"{escape(change.top)} is an Obsidian vault.")
    try:
        said = input(f"Leave {' and '.join(change.entries)} out of its search and graph? [y/N] ")
    except EOFError:
        return {}
    return {"obsidian": said.strip().lower() in ("y", "yes")}


def launch(words: Sequence[str]) -> int:
    """Run a program in the foreground, without a shell. Returns its exit code. Raises `OSError`."""
    sys.stdout.flush()
    return subprocess.run(list(words), check=False).returncode
