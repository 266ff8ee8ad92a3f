"""`cortex agents`: which there are, what is wrong with them, and exactly what would be sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cortex as package
from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.core.runs.agent_note import read_agent
from cortex.core.runs.run_note import RunRequest
from cortex.operations.runs.agents import agents, trust
from cortex.operations.runs.prepare import prepare_config
from cortex.vault.templates import list_template_names, read_template
from cortex.vault.user_settings import settings_file
from tests.operations.runs.test_trust import NOTES

TEMPLATES = ("meeting-prep", "session-writeup", "weekly-review")


def test_agents_are_listed_with_their_state(vault_from, caller) -> None:
    vault = vault_from(NOTES)
    trust(vault, caller, ["weekly"])
    found = agents(vault, caller)
    states = {one.agent.name: one.state for one in found.agents}
    assert states == {"broken": "wrong", "off": "disabled", "weekly": "trusted"}
    assert not any(one.diff for one in found.agents)
    assert [one.where for one in found.problems] == ["agents/broken.md:2"]
    Path(vault.root, "agents/weekly.md").write_text("Other.\n")
    assert agents(vault, caller, "show", "weekly").agents[0].state == "changed"


def test_nothing_in_an_empty_vault(vault, caller, cortex) -> None:
    assert agents(vault, caller).agents == []
    done = cortex("agents")
    assert (done.returncode, done.stdout) == (0, "no agents: a note agents/NAME.md is one\n")
    assert cortex("agents", "check").returncode == 0
    assert cortex("agents", "show").returncode == 2


def test_one_that_comes_with_cortex_is_added_once_and_trusted_where_a_person_adds_it(vault, caller, cortex) -> None:  # fmt: skip
    assert cortex("agents", "add", "weekly-review").returncode == 0
    assert [(one.agent.name, one.state) for one in agents(vault, caller).agents] == [("weekly-review", "trusted")]  # fmt: skip
    assert "is there already" in cortex("agents", "add", "weekly-review").stderr
    assert "use one of: meeting-prep" in cortex("agents", "add", "nothing").stderr
    agents(vault, caller._replace(source="mcp"), "add", "meeting-prep")
    assert agents(vault, caller, "show", "meeting-prep").agents[0].state == "new"


def test_check_names_what_is_wrong_and_what_the_settings_lack(vault_from, caller, cortex) -> None:
    vault = vault_from(NOTES)
    assert [one.where for one in agents(vault, caller, "check").problems] == ["agents/broken.md:2"]
    done = cortex("agents", "check")
    assert done.returncode == 1
    assert "tier is not understood" in done.stdout
    assert cortex("agents", "check", "weekly").returncode == 0
    path = Path(settings_file())
    path.parent.mkdir(parents=True)
    path.write_text("[agents]\nprovider = 'acme'\nslot = 1\n")
    said = [one.message for one in agents(vault, caller, "check", "weekly").problems]
    assert said[0] == "[agents] slot is no setting"
    assert said[1].startswith("there is no provider 'acme'")


def test_prompt_prints_exactly_what_would_be_sent(vault_from, caller, cortex) -> None:
    vault = vault_from(NOTES)
    sent = agents(vault, caller, "show", "weekly", prompt=True).sent
    assert sent == prepare_config(vault, caller, RunRequest("weekly"))
    done = cortex("agents", "show", "weekly", "--prompt")
    assert done.stdout.startswith("to anthropic, sonnet, not started: not_trusted\n\nYou work for")
    assert done.stdout.endswith("\n\nReview the week.\nBe <U+001B>[1mbrief.\n")
    told = json.loads(cortex("agents", "show", "weekly", "--prompt", "--json").stdout)["sent"]
    assert told["user_instruction"] == sent.user_instruction
    assert told["system_instruction"] == sent.system_instruction
    assert agents(vault, caller, "show", "default", prompt=True).sent.name == "default"


@pytest.mark.parametrize(
    ("name", "error"),
    [("gone", NotFoundError), ("../x", InvalidInputError), ("", InvalidInputError)],
)
def test_what_there_is_not_is_not_shown(vault, caller, name, error) -> None:
    with pytest.raises(error):
        agents(vault, caller, "show", name, prompt=True)


def test_what_ships_is_sound_and_brief() -> None:
    assert tuple(list_template_names("agents")) == ("journal", *TEMPLATES) or set(
        list_template_names("agents")
    ) == {"journal", *TEMPLATES}
    for name in TEMPLATES:
        agent, problems = read_agent(
            read_template(f"agents/{name}.md").encode(), f"agents/{name}.md"
        )
        assert problems == []
        assert agent.title
        assert agent.schedule
        assert agent.max_cost_usd
        assert len(agent.prompt) < 2_000
    assert read_agent(read_template("agents/session-writeup.md").encode(), "a.md")[0].is_generator
    assert len(read_template("agents/journal.md")) < 2_000


def test_the_same_from_python(vault_from, caller) -> None:
    root = vault_from(NOTES + "=== facets/work.md\nWhat pays.\n").root
    assert package.get_agent(root, "weekly").prompt.startswith("Review")
    assert [*package.get_talent_configs(package.Vault(root), type="cogitate")] == ["off", "weekly"]
    assert package.get_facet(root, "work").name == "work"
    config = package.prepare_config(root, package.RunRequest("weekly", "Now."))
    assert (config.prompt, package.validate_config(config)) == ("Now.", [])
    assert package.Vault(root).agents("check", "weekly").problems == []
