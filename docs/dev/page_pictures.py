"""Draw the pictures of the page and of the terminal view: `.venv/bin/python docs/dev/page_pictures.py` writes
docs/page/*.png and docs/tui.svg.

It needs what `make test-web` installs. A small vault is made by the real commands: a session with its transcript,
minutes, decisions that say opposites. Look at what it draws.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from cortex.interfaces.tui.app import VaultApp  # noqa: E402  of this tree
from cortex.vault.locate import Vault  # noqa: E402  as above
from tests.web.make_vault import SESSION, make_vault  # noqa: E402  of this tree

MINUTES = """\
# Weekly

Present: Ana, Ben, Cleo

## Decisions

- We ship on Thursdays, because support is in

## Actions

- [ ] Ana: write the release notes by 2026-01-09
- [ ] Ben: measure the index with ten thousand notes by 2031-01-31
- [x] Cleo: ask support about Fridays
"""
SAVED = (
    ("decision", "Always warm the cache at start", "The first request took a second.", "mcp"),
    ("decision", "Never warm the cache at start", "A start took a minute.", "mcp"),
    ("gotcha", "Staging drops idle connections after 30 s", "Ping it every 20 s.", "mcp"),
    ("gotcha", "Staging drops idle connections after thirty seconds", "Ping it every 20 s.", "mcp"),
    ("pattern", "One lock file for each index", "It lies beside it, so a copy has none.", "mcp"),
)
# An agent's program: it looks for notes, and answers with two of them.
AGENT = """\
import json, sys, time
config = json.loads(sys.stdin.readline())
def say(**event): print(json.dumps(event), flush=True)
say(event="start", model=config["model"], session_id="7d0e")
say(event="thinking", summary="Decisions about the index are wanted: I search for those first.")
say(event="tool_start", tool="search", args={"query": "type:decision index"}, call_id="1")
time.sleep(1.2)
say(event="tool_end", tool="search", call_id="1", ok=True, result=["Pages are cut at 4 KB"])
say(event="message", text="Two decisions are about it; the session says why.")
say(event="tool_start", tool="origin", args={"note": "pages-are-cut-at-4-kb"}, call_id="2")
time.sleep(0.4)
say(event="tool_end", tool="origin", call_id="2", ok=True, result="turn 5")
result = "- **SQLite** holds the index, because people know it.\\n- Pages are cut at 4 KB: larger ones made the disk wait."
say(event="finish", result=result, usage={"input": 18250, "output": 412})
"""
SETTINGS = """\
[agents]
provider = "local"
requests = ["http"]
[providers.local]
protocol = "ndjson"
command = ["{python}", "{program}"]
[tiers.flash]
local = "small-1"
[prices.small-1]
input = 0.3
output = 1.2
"""


def draw() -> None:
    """Make the vault in a temporary folder, and draw every view of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "cache"
        given = make_vault(folder, harms=())
        work, vault, environment = folder / "work", folder / "vault", os.environ | given

        def cortex(*words: str, text: str = "") -> str:
            line = [sys.executable, "-m", "cortex", *words, "--vault", str(vault)]
            return subprocess.run(
                line, cwd=work, env=environment, input=text, capture_output=True, text=True, check=True
            ).stdout  # fmt: skip

        cortex("capture", "-", "--type", "meeting", text=MINUTES)
        for type_, title, body, source in SAVED:
            cortex("save", title, "--type", type_, "--body", body, "--source", source)
        hits = json.loads(cortex("search", "type:decision SQLite", "--json"))["hits"]
        record = hits[0]["id"]
        for hit in json.loads(cortex("search", "type:decision,gotcha,pattern", "--json"))["hits"]:
            if hit["id"] != record:
                cortex("relate", hit["id"], "relates_to", record)
        for words in (["add", "-A"], ["commit", "-qm", "what the week brought"]):
            subprocess.run(["git", *words], cwd=vault, env=environment, check=True)
        cortex("done", json.loads(cortex("actions", "--json"))["hits"][-1]["id"])
        program = [sys.executable, __file__, "--terminal", str(vault)]
        subprocess.run(program, cwd=work, env=environment, check=True)
        (folder / "agent.py").write_text(AGENT)
        settings = Path(given["XDG_CONFIG_HOME"], "cortex/config.toml")
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(SETTINGS.format(python=sys.executable, program=folder / "agent.py"))
        asked = "What did we decide about the index?"
        run = json.loads(cortex("run", "start", "default", asked, "--json"))["runs"][0]["id"]
        cortex("run", "follow", run)
        out = ROOT / "docs/page"
        out.mkdir(exist_ok=True)
        places = {"PYTHON": sys.executable, "VAULT": str(vault), "WORK": str(work), "OUT": str(out)}
        shown = {"RECORD": record, "MIDDLE": record, "SESSION": SESSION, "RUN": run}
        browser = shutil.which("chromium") or shutil.which("google-chrome") or ""
        subprocess.run(
            ["node", "page_pictures.mjs"], cwd=ROOT / "docs/dev", check=True,
            env=environment | places | shown | {"CHROMIUM": browser},
        )  # fmt: skip


async def draw_terminal(vault: str) -> None:
    """Draw the search of the terminal view, with the letters of whoever looks at it."""
    app = VaultApp(Vault(vault), os.getcwd())
    async with app.run_test(size=(104, 22)) as pilot:
        await pilot.press("slash", *"cache")
        await pilot.pause(3)
        await pilot.press("down", "down")
        await pilot.pause(1)
        picture = app.export_screenshot(title="cortex tui")
    picture = re.sub(r"@font-face \{.*?\}\n", "", picture, flags=re.DOTALL)  # loaded from elsewhere
    (ROOT / "docs/tui.svg").write_text(re.sub(r"terminal-\d+-", "terminal-", picture))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--terminal"]:
        asyncio.run(draw_terminal(sys.argv[2]))
    else:
        draw()
