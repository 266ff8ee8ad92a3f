"""The weekly review that ships with Cortex, over this project's own vault: its notes are what the model is sent.

The model is a server on this machine. It writes what a careful one could not get wrong: a line for each of the first
notes that it was given, with its id. `docs/dev/runs.md` shows such a run.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from cortex.vault.user_settings import settings_file
from tests.agents.loopback_model import serve

PROJECT = Path(__file__).parents[3]
NOTE_RE = re.compile(r"^## Note (\S+)\n.*?^# (.+?)$", re.MULTILINE | re.DOTALL)


def review(asked: str) -> str:
    """A line for each of the first five notes in a prompt."""
    lines = [f"- {title.strip()} [[{id_}]]" for id_, title in NOTE_RE.findall(asked)[:5]]
    return "\n".join(["## Decided", "", *lines]) if lines else "Nothing was decided this week."


def test_the_weekly_review_of_this_projects_vault(tmp_path) -> None:
    vault = tmp_path / "vault"
    shutil.copytree(PROJECT / "vault", vault)

    def cortex(*words: str) -> dict:
        line = [sys.executable, "-m", "cortex", *words, "--json"]
        done = subprocess.run(line, cwd=vault, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    with serve(answer=review) as server:
        file = Path(settings_file())
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            dedent(f"""
            [agents]
            provider = "local"
            [providers.local]
            protocol = "openai-compatible"
            url = "{server.url}/v1"
            [tiers.pro]
            local = "on-this-machine"
            """)
        )
        cortex("agents", "add", "weekly-review")
        id_ = cortex("run", "start", "weekly-review")["runs"][0]["id"]
        done = cortex("run", "follow", id_)["runs"][0]
        sent = json.dumps(server.requests[0][1], ensure_ascii=False)
    assert (done["status"], done["model"], done["tokens_in"]) == (
        "finished",
        "on-this-machine",
        120,
    )
    assert "Review the week that ended" in sent
    result = cortex("run", "show", id_)["result"]
    text = (vault / done["path"]).read_text()
    assert text.endswith(f"## Result\n\n{result}\n")
    named = re.findall(r"\[\[(.+?)\]\]", result)
    known = {path.stem for path in vault.rglob("*.md")}
    assert set(named) <= known
    assert bool(named) == ("## Note " in sent)
    assert done["output"] == "runs-weekly-review-" + done["output"][-6:]
    (record,) = vault.rglob(f"{done['output']}.md")
    assert result in record.read_text()
