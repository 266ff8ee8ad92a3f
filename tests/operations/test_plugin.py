"""The plugins are what the declarations say, and every command in them is one that the CLI understands."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cortex import __version__
from cortex.core.briefing.injected import CONTRACT
from cortex.hosts.hook_settings import HOSTS
from cortex.interfaces.cli import arguments
from cortex.interfaces.declare import declaration_of, load_verb
from cortex.operations import VERBS
from cortex.vault import templates

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins/claude"


def derived(name: str, text: str) -> str:
    """The file with what the version, the table of hosts and the declarations say of it."""
    if name == "plugin.json":
        return re.sub(r'"version": "[^"]*"', f'"version": "{__version__}"', text)
    if name == "SKILL.md":
        return re.sub(r"^- `cortex ([a-z-]+)[^`]*`: .*", _command_line, text, flags=re.MULTILINE)
    if found := re.search(
        r"Bash\(cortex ([a-z-]+):", text
    ):  # the first command is what it is about
        summary = declaration_of(load_verb(found[1])).summary
        return re.sub(
            r"^description: .*",
            f"description: {json.dumps(summary)}",
            text,
            count=1,
            flags=re.MULTILINE,
        )
    return text


def _command_line(line: re.Match[str]) -> str:
    declared = declaration_of(load_verb(line[1]))
    return f"- `{declared.examples[0]}`: {declared.summary}"


@pytest.mark.parametrize(
    "path", sorted(path for path in PLUGIN.rglob("*") if path.is_file()), ids=lambda path: path.name
)
def test_the_committed_files_say_what_the_code_says(path) -> None:
    """CORTEX_UPDATE=1 writes it into them."""
    text = path.read_text()
    if os.environ.get("CORTEX_UPDATE") == "1" and derived(path.name, text) != text:
        path.write_text(derived(path.name, text))
    assert path.read_text() == derived(path.name, text)


def test_the_skill_says_of_what_is_kept_what_the_memory_instructions_say() -> None:
    section = re.compile(r"\*\*What is kept .*(?=\*\*Commands\.\*\*)", re.DOTALL)
    instructions = section.search(templates.read_template("agent/memory.md"))
    skill = section.search((PLUGIN / "skills/cortex/SKILL.md").read_text())
    assert instructions
    assert skill
    assert skill[0].strip() == instructions[0].strip()
    for kind in re.findall(r"(?<=\[MEMORY: )\w+|(?<=Or ).*(?=\. )", CONTRACT):
        assert all(word in skill[0] for word in kind.split(", ")), kind


def test_the_skill_of_the_plugin_is_the_one_that_brief_writes() -> None:
    """CORTEX_UPDATE=1 writes the template."""
    skill = (PLUGIN / "skills/cortex/SKILL.md").read_text()
    if os.environ.get("CORTEX_UPDATE") == "1":
        (ROOT / "templates/agent/skill.md").write_text(skill)
    assert templates.read_template("agent/skill.md") == skill


# What Claude Code takes, from its plugin reference: only `name` is required; a known key of another type stops the load.
MANIFEST = {"name": str, "version": str, "description": str, "license": str, "keywords": list}
GROUP, HANDLER = (
    {"matcher": str, "hooks": list},
    {"type": str, "command": str, "args": list, "timeout": int, "async": bool},
)
EVENTS = {on.name: on for on in HOSTS["claude"].events}


def shaped(value: dict[str, object], keys: dict[str, type]) -> bool:
    return all(key in keys and isinstance(held, keys[key]) for key, held in value.items())


def test_the_manifest_and_the_marketplace_have_the_documented_shape() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text())
    assert shaped(manifest, MANIFEST)
    assert re.fullmatch(r"[a-z][a-z0-9-]*", manifest["name"])
    assert manifest["version"] == __version__  # a host updates a plugin when this grows
    market = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())
    assert isinstance(market["owner"]["name"], str)
    (offered,) = market["plugins"]
    assert offered["name"] == manifest["name"]
    assert offered["source"].startswith("./")
    assert (ROOT / offered["source"] / ".claude-plugin/plugin.json").is_file()


def test_the_hooks_have_the_documented_shape() -> None:
    said = json.loads((PLUGIN / "hooks/hooks.json").read_text())
    assert set(said) == {"description", "hooks"}
    assert set(said["hooks"]) == set(EVENTS)
    for name, groups in said["hooks"].items():
        (group,) = groups
        assert shaped(group, GROUP)
        (handler,) = group["hooks"]
        assert shaped(handler, HANDLER)
        assert handler["type"] == "command"
        assert [handler["command"], *handler["args"]] == [
            "cortex", "hook", EVENTS[name].event, "--host", "claude",
        ]  # fmt: skip
    starts = said["hooks"]["SessionStart"][0]["matcher"]
    assert set(starts.split("|")) == {"startup", "resume", "clear", "compact", "fork"}


@pytest.mark.parametrize(
    "name", [str(path.relative_to(PLUGIN)) for path in sorted(PLUGIN.glob("*/**/*.md"))]
)
def test_each_command_in_them_is_understood(name) -> None:
    text = (PLUGIN / name).read_text()
    _, head, body = text.split("---\n", 2)
    assert re.search(r'^description: ".+"$', head, re.MULTILINE)
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", body, re.DOTALL))
    lines = [
        line for line in [*blocks.splitlines(), *re.findall(r"`(cortex [a-z][^`]*)`", body)] if line
    ]
    assert lines
    for line in lines:
        _, called, *words = shlex.split(re.split(r" [<|]", line)[0])
        assert called in VERBS, line
        if words:
            assert arguments.parse(declaration_of(load_verb(called)), words) is not None, line
    allowed = re.findall(r"Bash\((cortex [a-z -]+):\*\)", head)
    assert {line.split()[1] for line in allowed} <= set(VERBS)
    assert not allowed or all(line.startswith(tuple(allowed)) for line in lines)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("there", [True, False])
def test_the_shim_tells_and_keeps_and_never_fails(tmp_path, there) -> None:
    """The file as it is, run by node, with a `cortex` that writes down what it is given; and with none."""
    (tmp_path / "shim.mjs").write_text((ROOT / "plugins/opencode/cortex.ts").read_text())
    tools = tmp_path / "bin"
    tools.mkdir()
    if there:
        (tools / "cortex").write_text(f"#!{sys.executable}\n{FAKE}")
        (tools / "cortex").chmod(0o755)
    (tmp_path / "run.mjs").write_text(RUN)
    node = shutil.which("node")
    assert node
    done = subprocess.run(
        [node, "run.mjs"],
        cwd=tmp_path,
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    log = tmp_path / "log"
    if not there:
        assert json.loads(done.stdout) == [[], []]
        return
    assert json.loads(done.stdout) == [["what is known"], ["what is known"]]
    start, stop = [json.loads(line) for line in log.read_text().splitlines()]
    assert start == [
        ["hook", "session-start", "--host", "claude"],
        {"cwd": str(tmp_path), "session_id": "s", "source": "startup", "hook_event_name": "SessionStart"},
    ]  # fmt: skip
    assert stop[0][1] == "stop"
    assert stop[1]["last_assistant_message"] == "Decision: one\n\nand two"


FAKE = """
import json, sys
table = json.load(sys.stdin)
open("log", "a").write(json.dumps([sys.argv[1:], table]) + "\\n")
if sys.argv[2] == "session-start":
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "what is known"}}))
"""
RUN = """
import { Cortex } from "./shim.mjs"
const parts = [{ type: "text", text: "Decision: one" }, { type: "tool" }, { type: "text", text: "and two" }, { type: "text", text: "x", synthetic: true }]
const messages = async () => ({ data: [{ info: { role: "assistant" }, parts: [] }, { info: { role: "assistant" }, parts }, { info: { role: "user" } }] })
const none = await Cortex({ client: {}, directory: "/" })
if (Object.keys(none).length) throw new Error("another API is used")
const { event, ...hooks } = await Cortex({ client: { session: { messages } }, directory: process.cwd() })
const told = []
for (const _ of [1, 2]) {
  const output = { system: [] }
  await hooks["experimental.chat.system.transform"]({ sessionID: "s" }, output)
  told.push(output.system)
}
await hooks["experimental.chat.system.transform"]({}, {})
for (const one of [{}, { type: "session.idle" }, { type: "session.idle", properties: { sessionID: "s" } }]) await event({ event: one })
console.log(JSON.stringify(told))
"""


def test_the_hosts_are_those_that_hooks_understand() -> None:
    from cortex.interfaces.hook import payloads as spoken

    for host in HOSTS.values():
        for on in host.events:
            assert spoken.canonical_event(host.name, on.event) == on.event
            assert spoken.canonical_event(host.name, on.name) == on.event, (host.name, on.name)
