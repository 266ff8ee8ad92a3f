"""A provider of the user's own that does what its prompt says, in the form of the seed."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from cortex.vault import trust, user_settings
from tests.conftest import run_cortex

# What it is told stands in words of the prompt: `sleep:3`, `say:WORD`, `fail`, `die`, `hush`, `think`, `echo:NAME` of a variable.
PROGRAM = """
    import json, os, sys, time
    config = json.loads(sys.stdin.readline())
    def say(**event): print(json.dumps(event), flush=True)
    words = (config["prompt"] + " " + config["user_instruction"]).split()
    told = dict(word.partition(":")[::2] for word in words)
    say(event="start", model=config["model"], session_id=config["session_id"] or "session-1")
    if "hush" in told: print("Attempt 1 failed: Error: no quota", "    at retry", file=sys.stderr, flush=True, sep="\\n"); time.sleep(600)
    if "again" in told: say(event="start", model=config["model"], session_id="session-2")
    if "log" in told:
        with open(told["log"], "a") as log: log.write(json.dumps([config["name"], config["facet"], time.time()]) + "\\n")
    if "spawn" in told:
        import subprocess
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    if "think" in told: say(event="thinking", summary="I look for it first.")
    say(event="tool_start", tool="search", args={"query": "x"}, call_id="c1")
    time.sleep(float(told.get("sleep", 0)))
    say(event="tool_end", tool="search", call_id="c1", ok=True, result=["one", "two"])
    if "touch" in told: open("here", "w").close()
    if "look" in told: say(event="message", text=" ".join([*sorted(os.listdir()), *sorted(os.environ)]))
    if "echo" in told: say(event="message", text="it is " + os.environ.get(told["echo"], "not set"))
    if "plain" in told: print("no JSON", flush=True)
    if "die" in told: os._exit(7)
    if "fail" in told: say(event="error", error="no luck", trace="line 1")
    if "half" in told: print('{"event": "finish", "result": "half \\\\ud83d of it"}', flush=True)
    if "quote" in told: say(event="finish", result=json.dumps(os.environ.get(told["quote"])))
    if "object" in told: say(event="finish", result=[{"facet": "work", "level": "high"}])
    if "long" in told: say(event="finish", result="word " * 300_000)
    if "show" in told: say(event="finish", result=json.dumps(config))
    say(event="finish", result=told.get("say", "done"), usage={"input": 200, "output": 40})
    say(event="finish", result="late")
"""
SETTINGS = """
    [agents]
    provider = "mine"
    schedules = true
    {agents}
    [providers.mine]
    protocol = "ndjson"
    command = [{python}, {program}]
    [tiers.flash]
    mine = "m-1"
    [tiers.pro]
    mine = "m-2"
    [prices.m-1]
    input = 1000.0
    output = 2000.0
"""


@pytest.fixture
def settings(tmp_path: Path) -> Callable[[str], None]:
    """Write the user's settings, with further lines below `[agents]`."""
    program = tmp_path / "agent.py"
    program.write_text(dedent(PROGRAM))

    def write(agents: str = "") -> None:
        file = Path(user_settings.settings_file())
        file.parent.mkdir(parents=True, exist_ok=True)
        text = SETTINGS.format(agents=agents, python=json.dumps(sys.executable), program=json.dumps(str(program)))  # fmt: skip
        file.write_text(dedent(text))

    write()
    return write


@pytest.fixture
def agent(vault: Any, settings: object) -> Callable[..., None]:
    """Write the note of an agent, and trust it."""

    def write(name: str, prompt: str = "say:ok", **fields: object) -> None:
        lines = [f"{key}: {value}" for key, value in fields.items()]
        path = Path(vault.root, "agents", f"{name}.md")
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(["---", "type: agent", *lines, "---", prompt, ""]))
        trust.pin(vault, name, path.read_bytes())

    return write


@pytest.fixture
def run(cortex: Callable[..., Any], settings: object) -> Callable[..., dict[str, Any]]:
    """`cortex run …`: the first run of its answer, with the rest of the answer in `answer`."""

    def ask(*words: str, code: int = 0) -> dict[str, Any]:
        done = cortex("run", *words, "--json")
        assert done.returncode == code, done.stdout + done.stderr
        answer = json.loads(done.stdout.splitlines()[-1])
        if "error" in answer:
            return answer["error"]
        return {**(answer["runs"][0] if answer["runs"] else {}), "answer": answer}

    return ask


@pytest.fixture
def ended(run: Callable[..., Any]) -> Callable[[str], dict[str, Any]]:
    """Wait until a run has ended; how it stands then, with its events."""

    def wait(id_: str) -> dict[str, Any]:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = run("show", id_)
            if found["path"].startswith("runs/2"):  # closed, whatever its events say before
                return found
            time.sleep(0.05)
        raise AssertionError(f"{id_} has not ended")

    return wait


@pytest.fixture
def ended_in() -> Callable[..., dict[str, Any]]:
    """`cortex run …` in a vault, and how the run stands when it has ended, with its events."""

    def wait(vault: Any, *words: str) -> dict[str, Any]:
        done = run_cortex(*words, "--json", cwd=vault.root)
        assert done.returncode == 0, done.stdout + done.stderr
        id_ = json.loads(done.stdout.splitlines()[-1])["runs"][0]["id"]
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            answer = json.loads(run_cortex("run", "show", id_, "--json", cwd=vault.root).stdout)
            if answer["runs"][0]["path"].startswith("runs/2"):  # closed
                return {**answer["runs"][0], "answer": answer}
            time.sleep(0.05)
        raise AssertionError(f"{id_} has not ended")

    return wait
