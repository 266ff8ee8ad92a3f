"""How to have the watcher started with one's session: a unit for systemd, a property list for launchd."""

from __future__ import annotations

import os
import sys
from xml.sax.saxutils import escape

from cortex.core.text.strings import short_hash, slugify

KINDS = ("systemd", "launchd")


def render(kind: str, root: str) -> str:
    """The whole file, with what to do with it in a comment at its top."""
    name = f"cortex-{slugify(os.path.basename(root), 32)}-{short_hash(root, 4)}"
    command = [sys.executable, "-m", "cortex", "watch", "--vault", root]
    return (
        _render_systemd(name, root, command)
        if kind == "systemd"
        else _render_launchd(name, command)
    )


def install_hint() -> str:
    """One line for whoever starts it by hand."""
    kind = "launchd" if sys.platform == "darwin" else "systemd"
    return f"to have it started with your session: cortex watch --unit {kind}"


def _render_systemd(name: str, root: str, command: list[str]) -> str:
    return f"""# ~/.config/systemd/user/{name}.service
# systemctl --user daemon-reload && systemctl --user enable --now {name}
[Unit]
Description=Cortex watcher of {_escape_percent(root)}

[Service]
ExecStart={" ".join(map(_quote_argument, command))}
Restart=on-failure
RestartSec=10
RestartPreventExitStatus=2
Nice=5

[Install]
WantedBy=default.target
"""


def _render_launchd(name: str, command: list[str]) -> str:
    words = "\n".join(f"    <string>{escape(word)}</string>" for word in command)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!-- ~/Library/LaunchAgents/{name}.plist
     launchctl bootstrap gui/$UID ~/Library/LaunchAgents/{name}.plist -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{name}</string>
  <key>ProgramArguments</key>
  <array>
{words}
  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key>
    <false/>
  </dict>
  <key>ThrottleInterval</key>
  <integer>60</integer>
  <key>ProcessType</key>
  <string>Background</string>
</dict>
</plist>
"""


def _quote_argument(word: str) -> str:
    """A word of ExecStart: systemd knows quotes and backslashes, and expands % and $."""
    return (
        '"'
        + _escape_percent(word.replace("\\", "\\\\").replace('"', '\\"')).replace("$", "$$")
        + '"'
    )


def _escape_percent(text: str) -> str:
    return text.replace("%", "%%").replace("\n", "\\n")
