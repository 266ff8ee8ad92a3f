"""A vault with something for every view of the page: minutes, actions, opposites, twins, a stale record, a star of links."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

MINUTES = """\
# Boiler room

Attendees: Ada Byrne, Ben, Chidi

## Decisions

- The old pump stays until spring

## Actions

- [ ] Ada: order the valves by 2026-02-03
- [ ] Ben to measure the pressure by 2031-01-31
- [x] Chidi: call the chimney sweep
"""
SAVED = (
    (
        "decision",
        "Always use the copper pipe in the cellar",
        "Copper outlasts steel beside the boiler.",
        "py",
    ),
    ("decision", "Never use the copper pipe in the cellar", "It is stolen within a week.", "py"),
    (
        "gotcha",
        "The boiler trips when the damper is shut",
        "The sensor reads the flue; open the damper, then reset.",
        "mcp",
    ),
    (
        "gotcha",
        "The boiler trips whenever the damper is shut",
        "The sensor reads the flue; open the damper, then reset it.",
        "mcp",
    ),
    (
        "preference",
        "Write the pressure into the log each morning",
        "Before anybody opens a valve.",
        "mcp",
    ),
    ("pattern", "Bleed the radiators from the bottom up", "Air gathers at the top floor.", "mcp"),
)
STALE = """\
---
id: action-paint-the-door-k3f7q2
type: action
status: open
created: 2026-01-05T09:00:00Z
updated: 2026-01-05T09:00:00Z
owner: Ada
---
# Paint the door

It still has its red lead.
"""


def build(root: Path, environment: Mapping[str, str], leaves: int = 0) -> None:
    """Make the vault in this folder, with git; `leaves` notes link to the note Star.md in its middle."""

    def run(*words: str, text: str = "") -> None:
        program = [sys.executable, "-m", "cortex", *words, "--vault", str(root)]
        subprocess.run(
            program,
            input=text,
            text=True,
            env=environment,
            cwd=root,
            check=True,
            capture_output=True,
        )

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=root, env=environment, check=True, capture_output=True)

    root.mkdir(parents=True, exist_ok=True)
    git("init", "-q", "-b", "main")
    subprocess.run(
        [sys.executable, "-m", "cortex", "init", str(root)],
        env=environment,
        check=True,
        capture_output=True,
        cwd=root,
    )
    run("capture", "-", "--type", "meeting", text=MINUTES)
    (root / "records/action").mkdir(parents=True, exist_ok=True)
    (root / "records/action/action-paint-the-door-k3f7q2.md").write_text(STALE)
    (root / "leaves").mkdir(exist_ok=True)
    for number in range(leaves):
        beside = f"[[Leaf {number // 2}]]" if number % 3 else ""
        (root / f"leaves/Leaf {number}.md").write_text(f"# Leaf {number}\n\nOf [[Star]] {beside}\n")
    if leaves:
        (root / "Star.md").write_text("# Star\n\nIn the middle.\n")
    git("add", "-A")
    git("commit", "-q", "-m", "the minutes of the boiler room")
    for type_, title, body, source in SAVED:
        run("save", title, "--type", type_, "--body", body, "--source", source)
    git("add", "-A")
    git("commit", "-q", "-m", "what was learned in the boiler room")
    (root / "Keys.md").write_text(
        "# Keys\n\nghp_abcdefghijklmnopqrstuvwxyz0123456789 opens the shed\n"
    )


if __name__ == "__main__":
    build(Path(sys.argv[1]), os.environ, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
