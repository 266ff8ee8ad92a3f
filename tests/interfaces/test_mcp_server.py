"""The server, asked by a real client: over standard input and output, and over HTTP."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError

from cortex.interfaces.mcp.tools import profiles
from tests.conftest import SOAK, commit_all, run_cortex
from tests.interfaces.test_mcp_http import TOKEN, http_server, over_http


class Agent:
    """One client: its calls, from a test that is not asynchronous."""

    def __init__(self, portal: Any, session: ClientSession) -> None:
        self.portal, self.session = portal, session

    def ask(self, method: str, *arguments: object) -> Any:
        return self.portal.call(getattr(self.session, method), *arguments)

    def __call__(self, tool: str, **arguments: object) -> Any:
        answer = self.ask("call_tool", tool, arguments)
        assert not answer.is_error, answer.content[0].text
        return answer.structured_content

    def read(self, tool: str, **arguments: object) -> str:
        """What a model is given: a text and nothing else."""
        answer = self.ask("call_tool", tool, arguments)
        assert answer.structured_content is None
        (said,) = answer.content
        return said.text


@asynccontextmanager
async def over_stdio(cwd: str, *words: str) -> Any:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "cortex", "mcp", *words],
        cwd=cwd,
        env=dict(os.environ),
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


@pytest.fixture
def agent(vault) -> Iterator[Callable[..., Any]]:
    """Begin a session of an agent: a server of its own and a client, which is given JSON, too, unless it is `plain`."""

    @contextmanager
    def begin(*words: str, cwd: str = "", plain: bool = False) -> Iterator[Agent]:
        words = words if plain else (*words, "--structured")
        with start_blocking_portal() as portal:
            with portal.wrap_async_context_manager(
                over_stdio(cwd or vault.root, *words)
            ) as session:
                yield Agent(portal, session)

    return begin


# What every tool is called with, in this order; the others with what they require.
CALLS = {
    "mem_save": {"title": "Use pears", "type": "decision", "content": "**Why**: sweet", "topic_key": "decision/fruit"},
    "mem_save_prompt": {"content": "Which fruit?", "session_id": "s1"},
    "mem_session_start": {"id": "s1", "goal": "Make jam"},
    "mem_capture_passive": {"content": "## Key Learnings\n1. Quinces hold more pectin than pears do"},
    "mem_update": {"id": "decision-fruit", "title": "Use ripe pears"},
    "mem_suggest_topic_key": {"title": "Use pears", "type": "decision"},
    "capture": {"content": "Decision: boil the jam for an hour", "tags": ["jam"]},
    "save": {"title": "Boil quinces first", "type": "pattern"},
    "mem_relate": {"from_id": "boil-quinces-first", "to_id": "decision-fruit", "relation_type": "refines"},
    "relate": {"record": "boil-quinces-first", "kind": "refines", "other": "decision-fruit", "remove": True},
    "recall": {"query": "pears", "relation": "refines", "since": "1d"},
    "reflect": {"scope": "all", "save": "A sweet week\n\nPears won."},
    "mem_session_summary": {"content": "## Goal\nJam\n\n## Accomplished\nJam", "session_id": "s1"},
    "mem_session_end": {"id": "s1"},
    "supersede": {"record_id": "boil-quinces-first", "replacement": "decision-fruit", "reason": "dull"},
    "restore": {"ids": ["boil-quinces-first"]},
    "mem_archive": {"id": "boil-quinces-first"},
    "mem_delete": {"id": "boil-quinces-first", "hard_delete": False},
    "archive": {"id": "boil-quinces-first"},
    "delete": {"id": "boil-quinces-first"},
    "new": {"type": "note", "title": "Jars"},
    "mv": {"old": "decision-fruit", "new": "Pears in jars"},
    "revise": {"id": "decision-fruit", "content": "**Why**: sweet"},
    "pin": {"id": "decision-fruit"},
    "session": {"action": "list"},
    "project": {"action": "list"},
    "prune": {"dry_run": True},
    "lifecycle": {"dry_run": True},
    "heal": {"check": True},
    "entities": {"note": "decision-fruit"},
}  # fmt: skip
NEEDED = {
    "id": "decision-fruit", "note": "decision-fruit", "query": "pears", "title": "Use pears", "prompt": "pears?", "session": "s1",
}  # fmt: skip
# What cannot be done in that vault -> what the answer says.
REFUSED = {"run", "distill", "sync", "done", "promote", "retry", "embed", "extract", "history"}


def test_every_tool_resource_and_prompt_answers(agent, vault, git, monkeypatch):
    monkeypatch.setenv("CORTEX_EMBEDDER", "off")
    Path(vault.root, ".cortex-project").write_text("orchard\n")
    git(vault.root, "init", "-q", "-b", "feature/x")
    with agent("--tools", "all") as ask:
        tools = {one.name: one for one in ask.ask("list_tools").tools}
        assert [*tools] == profiles()["all"]
        for name in dict.fromkeys((*CALLS, *tools)):
            required = tools[name].input_schema.get("required", [])
            given = CALLS.get(name, {key: NEEDED[key] for key in required if key in NEEDED})
            answer = ask.ask("call_tool", name, given)
            (said,) = answer.content
            assert said.text, name
            assert "a fault of Cortex" not in said.text, (name, said.text)
            if answer.is_error:
                assert name in REFUSED, (name, said.text)
                assert "\n" in said.text, (name, "names no next step")
            else:
                assert isinstance(answer.structured_content, dict), name
        for one in ask.ask("list_resources").resources:
            (contents,) = ask.ask("read_resource", one.uri).contents
            assert contents.mime_type == one.mime_type
            assert contents.text
        templates = [
            one.uri_template for one in ask.ask("list_resource_templates").resource_templates
        ]
        assert templates == ["cortex://record/{id}", "cortex://briefing/{project}/{branch}"]
        for uri in ("cortex://record/decision-fruit", "cortex://briefing/orchard/feature%2Fx"):
            assert "Use ripe pears" in ask.ask("read_resource", uri).contents[0].text, uri
        for one in ask.ask("list_prompts").prompts:
            assert one.description
            (message,) = ask.ask("get_prompt", one.name, {"words": "the pears"}).messages
            assert "the pears" in message.content.text, one.name
        for wrong in (("call_tool", "nope", {}), ("read_resource", "cortex://nope"), ("get_prompt", "nope")):  # fmt: skip
            with pytest.raises(MCPError) as caught:
                ask.ask(*wrong)
            assert caught.value.code == -32602
            assert "nope" in caught.value.message
        assert ask("search", query="pears")["hits"]  # it lives on


def test_three_sessions_of_an_agent_with_nothing_but_the_default_tools(agent, vault):
    """It reads texts alone, and knows no other names than those that stand in them."""
    with agent(plain=True) as ask:
        assert {one.name for one in ask.ask("list_tools").tools} == {*profiles()["default"]}
        ask.read("capture", content="Decision: publish the notes with SQLite, since it is one file")
        said = "Talked about the release.\n\n- [ ] Ana: write the notes, due 2026-12-01\n- [ ] Ben: call the printer"
        told = ask.read("capture", content=said)
        assert re.search(r"(?m)^2 actions\n\S+  Write the notes  for Ana, due 2026-12-01$", told)
        ask.read("capture", content="Preference: indent code with tabs")
    with agent(plain=True) as ask:
        found = ask.read("recall", query="how do we publish the notes").splitlines()
        old = next(line.split()[0] for line in found if "SQLite" in line)
        assert "since it is one file" in ask.read("show", id=old)
        content = "Decision: publish the notes as plain files, since git merges them"
        new = re.search(r"1 decision (\S+)", ask.read("capture", content=content))[1]
        told = ask.read("supersede", record_id=old, replacement=new, reason="git cannot merge it")
        assert told.startswith("superseded: ")
        todo = ask.read("recall", scope="open")
        assert "write the notes" in todo.lower()
        action = next(line.split()[0] for line in todo.splitlines() if "printer" in line)
        undo = ask.read("revise", id=action, status="done").splitlines()[-1]
        assert undo == f'  undo: call revise(id="{action}", status="open")'
    with agent(plain=True) as ask:
        found = ask.read("recall", query="how do we publish the notes")
        assert "plain files" in found
        assert "SQLite" not in found + ask.read("recall", scope="recent")
        assert "SQLite" not in ask.ask("read_resource", "cortex://decisions").contents[0].text
        assert "status: superseded" in ask.read("show", id=old)
        assert "printer" not in ask.read("recall", scope="open")
        told = ask.read("capture", content="Preference: never indent code with tabs")
        assert re.search(r"contradicts \S+\? Indent code with tabs", told)
        call = re.search(r'call supersede\(record_id="(\S+)", replacement="(\S+)"\)', told)
        ask.read("supersede", record_id=call[1], replacement=call[2])
        held = ask.read("recall", query="indent code")
        assert "Never indent" in held
        assert "Indent code with tabs" not in held


def test_what_changes_outside_is_seen_at_the_next_call(agent, vault, vault_from):
    with agent() as ask:
        for number in range(5):
            vault_from(f"=== kitchen/jam{number}.md\n# Jam {number}\n\nquince {number}\n")
            assert ask("search", query="quince")["total"] == number + 1
        os.rename(f"{vault.root}/kitchen/jam0.md", f"{vault.root}/kitchen/plum.md")
        with open(f"{vault.root}/kitchen/jam1.md", "w") as file:
            file.write("# Jam 1\n\nmedlar\n")
        paths = [one["path"] for one in ask("search", query="quince")["hits"]]
        assert sorted(paths) == [
            "kitchen/jam2.md", "kitchen/jam3.md", "kitchen/jam4.md", "kitchen/plum.md",
        ]  # fmt: skip


def talk(folder: str, *messages: object, words: tuple[str, ...] = ()) -> list[dict]:
    """What the server writes for these lines, and nothing else."""
    line = [sys.executable, "-m", "cortex", "mcp", *words]
    said = "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in messages)
    with subprocess.Popen(line, cwd=folder, stdin=-1, stdout=-1, stderr=-1, text=True) as process:
        process.stdin.write(said)
        process.stdin.flush()
        expected = said.count('"jsonrpc": "2.0", "id": ')
        answers = [json.loads(process.stdout.readline()) for _ in range(expected)]
        process.stdin.close()
        assert process.stdout.read() == ""
        assert process.wait(60) == 0
    return sorted(answers, key=lambda one: one["id"])


def request(number: int, method: str, **params: object) -> dict:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def hello(number: int, version: str) -> dict:
    client = {"name": "test", "version": "1"}
    return request(
        number, "initialize", protocolVersion=version, capabilities={}, clientInfo=client
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_each_version_that_shakes_hands_is_spoken(vault, version):
    first, again, listed = talk(
        vault.root,
        hello(1, version),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        hello(2, version),
        request(3, "tools/list"),
    )
    assert first["result"]["protocolVersion"] == version
    assert first["result"]["serverInfo"]["name"] == "cortex"
    assert first["result"]["serverInfo"]["version"]
    assert again["result"]["protocolVersion"] == version
    assert len(listed["result"]["tools"]) == 9


def test_the_form_without_a_handshake_is_spoken_too(vault):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    found, listed, called = talk(
        vault.root,
        request(1, "server/discover", _meta=meta),
        request(2, "tools/list", _meta=meta),
        request(3, "tools/call", name="status", arguments={}, _meta=meta),
    )
    assert "2026-07-28" in found["result"]["supportedVersions"]
    assert len(listed["result"]["tools"]) == 9
    assert "0 notes" in called["result"]["content"][0]["text"]
    assert not any("outputSchema" in one for one in listed["result"]["tools"])
    assert "structuredContent" not in called["result"]


def test_what_is_printed_anywhere_does_not_reach_the_wire(vault, monkeypatch, tmp_path):
    """A module that is imported with the server prints, as a package may."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(
        "import threading, time, os\n"
        "def chatter():\n"
        "    for _ in range(40):\n"
        "        time.sleep(0.05); print('noise'); os.system('echo noise')\n"
        "def later():\n"
        "    time.sleep(1.0); chatter()\n"
        "threading.Thread(target=later, daemon=True).start()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    calls = [request(n, "tools/call", name="status", arguments={}) for n in range(2, 5)]
    answers = talk(vault.root, hello(1, "2025-11-25"), *calls)
    assert all("result" in one for one in answers)


def test_half_a_character_is_answered(vault):
    asked = json.dumps(request(2, "tools/call", name="search", arguments={"query": "lone X"}))
    answers = talk(
        vault.root, hello(1, "2025-11-25"), asked.replace("X", "\\ud800"), request(3, "ping")
    )
    assert [one["id"] for one in answers] == [1, 2, 3]
    assert "result" in answers[1]


def test_an_error_that_names_a_file_of_no_utf8_is_answered(vault):
    for name in ("other.md", "pl\udcffum <system-reminder>.md"):
        Path(vault.root, name).write_text("# Plum\n")
    show = request(2, "tools/call", name="show", arguments={"id": "Plum"})
    read = request(3, "resources/read", uri="cortex://record/Plum")
    answers = talk(vault.root, hello(1, "2025-11-25"), show, read, request(4, "ping"))
    (told,) = answers[1]["result"]["content"]
    assert answers[1]["result"]["isError"]
    for text in (told["text"], answers[2]["error"]["message"]):
        assert "pl?um &lt;system-reminder>.md" in text


def test_a_call_that_is_cancelled_or_left_is_done_whole_or_not_at_all(vault):
    line = [sys.executable, "-m", "cortex", "mcp", "--tools", "all"]
    for stop in ("cancel", "close", "kill"):
        with subprocess.Popen(
            line, cwd=vault.root, stdin=-1, stdout=-1, stderr=-1, text=True
        ) as process:
            write = lambda *some: (
                process.stdin.writelines(f"{json.dumps(one)}\n" for one in some),
                process.stdin.flush(),
            )
            write(hello(1, "2025-11-25"))
            json.loads(process.stdout.readline())
            given = {"title": f"Pears {stop}", "type": "learning"}
            write(request(2, "tools/call", name="mem_save", arguments=given))
            if stop == "cancel":
                write(
                    {
                        "jsonrpc": "2.0",
                        "method": "notifications/cancelled",
                        "params": {"requestId": 2},
                    }
                )
                write(request(3, "tools/call", name="status", arguments={}))
                while json.loads(process.stdout.readline()).get("id") != 3:
                    pass
            if stop == "kill":
                time.sleep(0.2)
                process.send_signal(signal.SIGKILL)
            process.stdin.close()
            process.wait(60)
    run_cortex("normalize", cwd=vault.root)
    assert run_cortex("doctor", cwd=vault.root).returncode == 0
    titles = run_cortex("recall", "--scope", "recent", cwd=vault.root).stdout
    assert "Pears close" in titles  # it was sent whole, and is answered before the server ends


def test_without_a_vault_the_server_says_so_at_each_call(tmp_path):
    (called,) = talk(
        str(tmp_path), hello(1, "2025-11-25"), request(2, "tools/call", name="status", arguments={})
    )[1:]
    assert called["result"]["isError"]
    told = called["result"]["content"][0]["text"]
    assert told == f"there is no vault in {tmp_path} or above it"  # no tool makes one


def test_what_cannot_be_served_is_said_at_once(vault, cortex):
    for words, said in (
        (["--tools", "agnet"], "did you mean agent"),
        (["--http", "8765x"], "is no HOST:PORT"),
        (["--http", "0.0.0.0:0"], "no token is set"),
        (["install"], "which host?"),
        (["serve", "claude"], "hosts, --user and --dry-run go with install and remove"),
        (["--allow", "box.lan"], "--allow with --http"),
        (
            ["install", "claude", "--http", "127.0.0.1:0"],
            "--http and --allow do not go with install",
        ),
    ):
        done = cortex("mcp", *words)
        assert done.returncode == 2, words
        assert said in done.stderr, words


def test_ten_agents_at_once_while_a_person_edits_and_pulls(vault, git, tmp_path, vault_from):
    """No error, no lost write, and each answer is of the moment."""
    git(vault.root, "init", "-q", "-b", "main")
    run_cortex("sync", cwd=vault.root)
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", vault.root, str(other))
    for number in range(5):
        (other / f"pulled{number}.md").write_text(f"# Pulled {number}\n\nmedlar\n")
        commit_all(other, f"pulled {number}")
    rounds, saved = 40 if SOAK else 2, []

    async def work(port: int, number: int) -> None:
        async with over_http(port, TOKEN) as session:
            for turn in range(rounds):
                name = f"quince{number}x{turn}"
                for tool, given in (
                    ("mem_save", {"title": f"Keep {name}", "type": "learning", "content": name}),
                    ("search", {"query": name}),
                    ("capture", {"content": f"said {name}"}),
                    ("recall", {"query": name}),
                    ("status", {}),
                ):
                    answer = await session.call_tool(tool, given)
                    assert not answer.is_error, (tool, answer.content[0].text)
                    if tool in ("search", "recall"):
                        titles = [one["title"] for one in answer.structured_content["hits"]]
                        assert f"Keep {name}" in titles, (tool, name, titles)
                saved.append(name)

    async def person(port: int) -> None:
        for number in range(5):
            vault_from(f"=== own{number}.md\n# Own {number}\n\nplum{number}\n")
            await anyio.to_thread.run_sync(
                lambda: git(
                    vault.root, "pull", "-q", "--no-edit", "--no-rebase", str(other), "main"
                )
            )
            await anyio.sleep(0.3)

    async def all_of_them(port: int) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(person, port)
            for number in range(10):
                group.start_soon(work, port, number)

    with http_server(vault.root, "--structured", "--tools", "all", token=TOKEN) as port:
        anyio.run(all_of_them, port)
    assert len(saved) == 10 * rounds
    for name in saved:
        assert (
            f"Keep {name}"
            in run_cortex("search", f'"{name}"', "--whose", "project", cwd=vault.root).stdout
        )
    assert os.path.join(vault.root, "pulled4.md")
    assert "Pulled 4" in run_cortex("search", "medlar", cwd=vault.root).stdout


# Which vault


@pytest.fixture
def shops(tmp_path, cortex) -> Path:
    """Two projects with a vault and a decision each, below a folder that lies in no vault."""
    for name in ("bikes", "books"):
        (tmp_path / "elsewhere" / name).mkdir(parents=True)
        place = str(tmp_path / "elsewhere" / name)
        cortex("init", "vault", cwd=place)
        cortex("save", f"Sell {name}", "--type", "decision", cwd=place)
    shutil.rmtree(tmp_path / "vault")
    return tmp_path / "elsewhere"


def test_a_server_outside_of_every_vault_offers_those_of_this_machine(agent, shops) -> None:
    with agent(cwd=str(shops)) as ask:
        tools = ask.ask("list_tools").tools
        assert {
            one["enum"][0][:5] for one in (t.input_schema["properties"]["vault"] for t in tools)
        } == {"bikes"}
        refused = ask.ask("call_tool", "search", {"query": "sell"})
        assert refused.is_error
        assert str(shops / "books/vault") in refused.content[0].text
        for name in ("bikes", "books"):
            (hit,) = ask("search", query="sell", vault=name)["hits"]
            assert hit["title"] == f"Sell {name}"
        ask("capture", content="Decision: bikes are red", vault="bikes")
        shutil.rmtree(shops / "books")
        gone = ask.ask("call_tool", "search", {"query": "sell", "vault": "books"})
        assert f"the vault {shops / 'books/vault'} is gone" in gone.content[0].text
        assert str(shops / "bikes/vault") in gone.content[0].text
        assert ask("recall", query="red bikes", vault="bikes")["hits"]


def test_a_server_whose_vault_goes_names_no_other_until_its_tools_are_listed_anew(shops) -> None:
    line = [sys.executable, "-m", "cortex", "mcp"]
    with subprocess.Popen(line, cwd=shops / "bikes", stdin=-1, stdout=-1, text=True) as process:

        def ask(method: str, **params: object) -> dict:
            process.stdin.write(json.dumps(request(1, method, **params)) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        def call(name: str, **arguments: object) -> str:
            return ask("tools/call", name=name, arguments=arguments)["result"]["content"][0]["text"]

        def choices() -> list[str]:
            (tool,) = (
                one for one in ask("tools/list")["result"]["tools"] if one["name"] == "search"
            )
            return tool["inputSchema"]["properties"].get("vault", {}).get("enum", [])

        ask("initialize", **hello(1, "2025-11-25")["params"])
        assert choices() == []
        assert "Sell bikes" in call("search", query="sell")
        shutil.rmtree(shops / "bikes/vault")
        gone = call("search", query="sell")
        assert gone.startswith("the vault of this server is gone\n")
        assert "books" not in gone
        assert json.loads(process.stdout.readline())["method"] == "notifications/tools/list_changed"
        assert "books" not in call("search", query="sell")
        assert [one[:5] for one in choices()] == ["books"]
        assert "choose by the argument vault: " in call("search", query="sell")
        found = call("search", query="sell", vault="books")
        name = found.split()[0]
        undo = call("revise", id=name, title="Lend books", vault="books")
        assert f'undo: call revise(id="{name}", title="Sell books", vault="books")' in undo
        process.stdin.close()
        assert process.stdout.read() == ""


def test_a_server_in_a_vault_has_no_such_argument_in_its_lists(agent, vault) -> None:
    with agent() as ask:
        assert not any(
            "vault" in one.input_schema["properties"] for one in ask.ask("list_tools").tools
        )


def test_one_server_over_http_serves_the_projects_that_a_header_names(shops) -> None:
    with (
        http_server(str(shops / "bikes"), "--structured", token=TOKEN) as port,
        start_blocking_portal() as portal,
    ):
        for name in ("books", "bikes", ""):
            more = {"Cortex-Vault": name} if name else {}
            with portal.wrap_async_context_manager(over_http(port, TOKEN, **more)) as session:
                (hit,) = Agent(portal, session)("search", query="sell")["hits"]
                assert hit["title"] == f"Sell {name or 'bikes'}"
        with portal.wrap_async_context_manager(
            over_http(port, TOKEN, **{"Cortex-Vault": "/etc"})
        ) as session:
            refused = Agent(portal, session).ask("call_tool", "search", {"query": "sell"})
            assert "there is no vault '/etc' here" in refused.content[0].text


def test_a_server_says_a_problem_of_a_note_once_and_names_tools_in_a_prompt(agent, vault):
    torn = Path(vault.root, "records", "decision", "torn-k3f7q2.md")
    torn.parent.mkdir(parents=True, exist_ok=True)
    torn.write_text("---\nid: [torn\n---\n\n# Torn\n")
    with agent(plain=True) as ask:
        assert "cannot be read" in ask.read("search", query="pears")
        assert "cannot be read" not in ask.read("search", query="plums")
        (message,) = ask.ask("get_prompt", "forget", {"words": "the pears"}).messages
        assert 'revise(id=ID, status="archived")' in message.content.text
