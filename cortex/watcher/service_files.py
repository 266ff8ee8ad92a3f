"""Start the watcher with the user's session: a systemd unit or a launchd property list."""

from __future__ import annotations

import os
import sys
from xml.sax.saxutils import escape

from cortex.core.text.strings import short_hash, slugify

_TEMPLATES = {"systemd": "systemd.service.in", "launchd": "launchd.plist.in"}
KINDS = tuple(_TEMPLATES)


def render(kind: str, root: str) -> str:
    """The unit file, with instructions in a comment at its top."""
    name = f"cortex-{slugify(os.path.basename(root), 32)}-{short_hash(root, 4)}"
    words = [sys.executable, "-m", "cortex", "watch", "--vault", root]
    if kind == "systemd":
        command = " ".join(map(_quote_argument, words))
    else:
        command = "\n".join(f"    <string>{escape(word)}</string>" for word in words)
    path = os.path.join(os.path.dirname(__file__), _TEMPLATES[kind])
    with open(path, encoding="utf-8") as file:
        return file.read().format(name=name, root=_escape_percent(root), command=command)


def install_hint() -> str:
    """One line for a user who starts the watcher by hand."""
    kind = "launchd" if sys.platform == "darwin" else "systemd"
    return f"to have it started with your session: cortex watch --unit {kind}"


def _quote_argument(word: str) -> str:
    """A word of ExecStart: systemd knows quotes and backslashes, and expands % and $."""
    quoted = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_escape_percent(quoted).replace("$", "$$")}"'


def _escape_percent(text: str) -> str:
    return text.replace("%", "%%").replace("\n", "\\n")
