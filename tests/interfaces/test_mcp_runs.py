"""An agent that asks for runs over the server: only where the person's settings say so."""

from __future__ import annotations

import os
import time
from pathlib import Path

from cortex.vault.runs import run_files
from tests.interfaces.test_mcp_server import agent
from tests.operations.runs.conftest import agent as agent_note, settings

__all__ = ["agent", "agent_note", "settings"]


def tools(session) -> dict[str, dict]:
    return {one.name: one.input_schema for one in session.ask("list_tools").tools}


def refusal(session, tool: str, **arguments: object) -> str:
    answer = session.ask("call_tool", tool, arguments)
    assert answer.is_error, answer.structured_content
    return answer.content[0].text


def test_without_the_setting_a_run_is_refused_with_the_setting(vault, settings, agent) -> None:
    with agent("--tools", "all") as session:
        said = refusal(session, "run", action="start", name="default", prompt="say:x")
        assert 'requests = ["mcp"]' in said
        assert "config.toml" in said
        assert session("run", action="list")["runs"] == []
    assert not Path(vault.root, "runs").exists()


def ended(session, id_: str) -> dict:
    """What `follow` answers once a run has ended: over the server it does not wait."""
    deadline = time.monotonic() + 60
    while (found := session("run", action="follow", name=id_))["runs"][0]["path"][:6] != "runs/2":  # fmt: skip
        assert time.monotonic() < deadline
    return found


def test_with_the_setting_a_run_is_started_shown_and_continued(vault, settings, agent) -> None:
    settings('requests = ["mcp"]')
    with agent("--tools", "all") as session:
        (started,) = session("run", action="start", prompt="say:Forty-two")["runs"]
        shown = ended(session, started["id"])
        assert (shown["runs"][0]["status"], shown["result"]) == ("finished", "Forty-two")
        again = session("run", action="continue", name=started["id"], prompt="say:More")["runs"][0]
        (done,) = ended(session, again["id"])["runs"]
        assert (done["status"], done["session_id"]) == ("finished", "session-1")
        assert shown["runs"][0]["session_id"] == "session-1"
        assert run_files.find_run(vault, done["id"]).request.requested_by == "mcp"


def test_a_client_names_no_variables_for_the_program(settings, agent) -> None:
    settings('requests = ["mcp"]')
    with agent("--tools", "all") as session:
        assert "env" not in tools(session)["run"]["properties"]
        assert "emit" not in tools(session)["run"]["properties"]
        said = refusal(session, "run", action="start", prompt="say:x", env=["PATH=/tmp"])
        assert "env" in said
        assert not {"trust", "tick"} & tools(session).keys()


def test_the_setting_of_the_web_does_not_open_this_door(settings, agent) -> None:
    settings('requests = ["http"]')
    with agent("--tools", "all") as session:
        assert "over mcp" in refusal(session, "run", action="start", prompt="say:x")


def test_agents_are_listed_and_shown(vault, agent_note, agent) -> None:
    agent_note("weekly-review", "What mattered?", tier="flash")
    with agent("--tools", "all") as session:
        (listed,) = session("agents")["agents"]
        assert (listed["agent"]["name"], listed["state"]) == ("weekly-review", "trusted")
        shown = session("agents", action="show", name="weekly-review", prompt=True)
        assert shown["sent"]["user_instruction"] == "What mattered?"
        wrong = session("agents", action="show", name="../x")
        assert (wrong["agents"], "no name of an agent" in wrong["problems"][0]["message"]) == (
            [],
            True,
        )


def test_a_run_may_start_none_over_the_server(settings, agent, monkeypatch) -> None:
    """What an agent's program is told, it may tell its own server."""
    settings('requests = ["mcp"]')
    monkeypatch.setitem(os.environ, "CORTEX_RUN", "run-20261120t171643z-0193ee")
    with agent("--tools", "all") as session:
        assert "an agent starts no agents" in refusal(session, "run", action="start", prompt="x")
