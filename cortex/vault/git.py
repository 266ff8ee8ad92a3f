"""The one way to run git: hardened, bounded in time, ended with its children.

A vault may come from a stranger, and git runs programs that a repository's own configuration names. Nothing here
takes a path, a ref or a pattern as an option, and no configuration of the vault can name a program.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence

from cortex.core.problem import CortexError

_FLAGS = (
    "-c", "safe.bareRepository=explicit",
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.sshCommand=ssh",
    "-c", "protocol.ext.allow=never",
    "-c", "core.fsync=all",
    "-c", "core.quotePath=false",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
}
# Variables by which an outer git (a hook, `git rebase --exec`) would point us at another repository.
_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")


def run(directory: str, arguments: Sequence[str], *, timeout: float = 20.0, stdin: bytes = b"") -> bytes:
    """What `git ARGUMENTS` prints when run in `directory`. `CortexError` when there is no git, it fails, or it takes
    longer than `timeout` seconds; then it and its children are ended."""
    environment = {key: value for key, value in os.environ.items() if key not in _FOREIGN} | _ENVIRONMENT
    try:
        process = subprocess.Popen(
            ["git", *_FLAGS, *arguments],
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise CortexError("git is not installed", "install git, then run the command again") from error
    try:
        output, complaint = process.communicate(stdin, timeout)
    except subprocess.TimeoutExpired as error:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise CortexError(f"git {arguments[0]} took longer than {timeout:g} seconds and was ended", "run the command again") from error
    if process.returncode:
        lines = complaint.decode("utf-8", "replace").strip().splitlines() or [f"exit code {process.returncode}"]
        raise CortexError(f"git {arguments[0]}: {lines[0]}", "git status shows the state of the repository")
    return output


def ignored(root: str) -> frozenset[str]:
    """The vault-relative files and folders (these with a `/` at the end) that git ignores. None when the vault is
    ignored as a whole: its owner keeps it out of the repository around it, not out of search."""
    listed = run(root, ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"], timeout=5)
    names = frozenset(os.fsdecode(name) for name in listed.split(b"\0") if name)
    return frozenset() if "./" in names else names
