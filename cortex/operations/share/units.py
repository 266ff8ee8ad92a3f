"""What starts a verb by itself: with the user's session, or every so many minutes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from xml.sax.saxutils import escape

from cortex.core.text.strings import shell_quote, short_hash, slugify
from cortex.vault.templates import read_template

_TEMPLATES = {
    "systemd": "systemd.service.in", "timer": "systemd.timer.in", "launchd": "launchd.plist.in",
}  # fmt: skip
_KEEP_ALIVE = "<key>KeepAlive</key> <dict><key>SuccessfulExit</key> <false/></dict>"


def render_unit(
    kind: str, root: str, verb: str = "watch", options: Sequence[str] = (), minutes: int = 0
) -> str:
    """What starts the watcher, or another verb, with the user's session: a systemd unit or a
    launchd property list, with instructions in a comment at its top. With `minutes` every so often:
    also by systemd's timer or cron."""
    prefix = "cortex" if verb == "watch" else f"cortex-{verb}"
    name = f"{prefix}-{slugify(os.path.basename(root), 32)}-{short_hash(root, 4)}"
    words = [sys.executable, "-m", "cortex", verb, "--vault", root, *options]
    if kind == "cron":
        times = f"*/{minutes} *" if minutes < 60 else f"0 */{minutes // 60}"
        command = " ".join(map(shell_quote, words)).replace("%", "\\%")
        return f"# crontab -e opens the file for this line\n{times} * * * {command}\n"
    command = " ".join(map(_quote_argument, words))
    if kind == "launchd":
        command = "\n".join(f"    <string>{escape(word)}</string>" for word in words)
    interval = f"<key>StartInterval</key> <integer>{60 * minutes}</integer>"
    more = {"minutes": minutes, "when": interval if minutes else _KEEP_ALIVE}
    return read_template(_TEMPLATES[kind]).format(
        name=name, verb=verb, root=_escape_percent(root), command=command, **more
    )


def _quote_argument(word: str) -> str:
    """A word of ExecStart: systemd knows quotes and backslashes, and expands % and $."""
    quoted = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_escape_percent(quoted).replace("$", "$$")}"'


def _escape_percent(text: str) -> str:
    return text.replace("%", "%%").replace("\n", "\\n")
