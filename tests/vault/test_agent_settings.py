"""The user's settings of agents: defaults, and that what is wrong leaves nothing that was not meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cortex.core.model.problem import CortexError
from cortex.vault.agent_settings import AgentSettings, Price, load_agents, resolve_model
from cortex.vault.user_settings import settings_file

WHOLE = """
[agents]
schedules = true
requests = ["mcp"]
provider = "local"
slots = 3
idle = 60
env = ["HTTPS_PROXY"]
[agents.contexts]
"agents.weekly-*" = "pro"
"agents.weekly-fun" = "lite"
[tiers.pro]
anthropic = "opus-9"
local = "llama-70b"
[tiers.flash]
local = "llama-8b"
[providers.local]
protocol = "openai-compatible"
url = "http://127.0.0.1:11434/v1"
key_variable = "LOCAL_KEY"
[providers.anthropic]
command = ["/opt/claude", "-p"]
[prices."opus-9"]
input = 5
output = 25.5
cached = 0.5
"""


def load(text: str) -> tuple[AgentSettings, list[str]]:
    path = Path(settings_file())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    settings, problems = load_agents()
    assert all(one.hint and one.where == str(path) for one in problems)
    return settings, [one.message for one in problems]


def test_without_settings_there_are_three_providers_and_no_schedule() -> None:
    settings, problems = load_agents()
    assert problems == []
    assert settings == AgentSettings(providers=settings.providers)
    assert not settings.schedules
    assert {name: one.protocol for name, one in settings.providers.items()} == {
        "anthropic": "claude", "openai": "codex", "google": "gemini",
    }  # fmt: skip
    assert not any(one.command or one.env for one in settings.providers.values())
    assert resolve_model(settings, "any", "", "", "") == ("anthropic", "flash", "sonnet")
    for name in settings.providers:
        assert all(resolve_model(settings, "a", name, tier, "")[2] for tier in ("pro", "lite"))


def test_all_that_can_be_said() -> None:
    settings, problems = load(WHOLE)
    assert problems == []
    assert settings[:6] == (True, ("mcp",), "local", 3, 60, ("HTTPS_PROXY",))
    assert settings.prices == {"opus-9": Price(5, 25.5, 0.5)}
    local = settings.providers["local"]
    assert (local.protocol, local.url) == ("openai-compatible", "http://127.0.0.1:11434/v1")
    assert settings.providers["anthropic"].command == ("/opt/claude", "-p")
    assert settings.providers["anthropic"].protocol == "claude"


def test_request_note_and_settings_say_which_model() -> None:
    settings, _ = load(WHOLE)
    assert resolve_model(settings, "weekly-review", "", "", "") == ("local", "pro", "llama-70b")
    assert resolve_model(settings, "other", "", "", "") == ("local", "flash", "llama-8b")
    assert resolve_model(settings, "other", "anthropic", "pro", "") == (
        "anthropic",
        "pro",
        "opus-9",
    )
    assert resolve_model(settings, "other", "anthropic", "", "x-1") == ("anthropic", "", "x-1")
    with pytest.raises(CortexError, match="local has no model of the tier 'lite'") as raised:
        resolve_model(settings, "weekly-fun", "", "", "")  # the longest pattern
    assert 'write local = "MODEL" below [tiers.lite] in' in raised.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agents = 1", "agents is no table"),
        ("[agents]\nschedule = true", "schedule is no setting"),
        ("[agents]\nschedules = 'yes'", "schedules is not understood"),
        ("[agents]\nrequests = ['cli']", "requests is not understood"),
        ("[agents]\nrequests = 'mcp'", "requests is not understood"),
        ("[agents]\nslots = 0", "slots is not understood"),
        ("[agents]\nslots = true", "slots is not understood"),
        ("[agents]\nidle = nan", "idle is not understood"),
        ("[agents]\nidle = inf", "idle is not understood"),
        ("[agents]\nidle = -1", "idle is not understood"),
        ("[agents]\nenv = ['A=B']", "env is not understood"),
        ("[agents]\ncontexts = 'pro'", "[agents.contexts] is no table"),
        ("[agents]\ncontexts = 5", "[agents.contexts] is no table"),
        ("[agents.contexts]\n'agents.*' = 'big'", "agents.* is not understood"),
        ("tiers = 1", "tiers is no table"),
        ("[tiers.big]\nanthropic = 'x'", "[tiers] big is no setting"),
        ("[tiers]\npro = 'x'", "[tiers] pro is not understood"),
        ("[tiers.pro]\nanthropic = 3", "[tiers.pro] anthropic is not understood"),
        ("[tiers.pro]\nacme = 'x'", "[tiers.pro] acme is no setting"),
        ("[providers]\nacme = 'x'", "[providers.acme] is no table"),
        ("[providers.acme]\nurl = 'http://a'", "[providers.acme] has no protocol"),
        ("[providers.acme]\nprotocol = 'ndjson'", "[providers.acme] has no command"),
        ("[providers.acme]\nprotocol = 'openai-compatible'", "[providers.acme] has no url"),
        ("[providers.acme]\nprotocol = 'sh'", "[providers.acme] protocol is not understood"),
        ("[providers.'A b']\nprotocol = 'claude'", "is no name"),
        ("[providers.openai]\ncommand = 'codex exec'", "[providers.openai] command is not"),
        ("[providers.openai]\ncommand = []", "[providers.openai] command is not"),
        ("[providers.openai]\nurl = 'file:///etc'", "[providers.openai] url is not"),
        ("[providers.openai]\nurl = 'https://me:secret@host'", "[providers.openai] url is not"),
        ("prices = 1", "prices is no table"),
        ("[prices.x]\ninput = 1", "needs input and output"),
        ("[prices.x]\ninput = -1\noutput = 1", "input is not understood"),
        ("[prices.x]\ninput = nan\noutput = 1", "input is not understood"),
        ("[prices]\nx = 1", "is no table"),
    ],
)
def test_what_is_not_understood_is_said_once(text, message) -> None:
    _, problems = load(text)
    (problem,) = problems
    assert message in problem


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[agents", "no provider is named"),
        ("[agents]\nprovider = 3", "no provider is named"),
        ("[agents]\nprovider = 'acme'", "there is no provider 'acme'"),
        ("[providers.anthropic]\ncommand = 'claude'", "there is no provider 'anthropic'"),
        ("[tiers.flash]\nanthropic = 3", "anthropic has no model of the tier 'flash'"),
        ("[agents.contexts]\n'agents.*' = 'big'", "anthropic has no model of the tier ''"),
    ],
)
def test_what_is_wrong_asks_nobody_else(text, message) -> None:
    settings, _ = load(text)
    with pytest.raises(CortexError, match=message) as raised:
        resolve_model(settings, "a", "", "", "")
    assert settings_file() in raised.value.hint


def test_a_file_that_is_none_gives_no_provider(tmp_path) -> None:
    os.makedirs(settings_file())
    settings, (problem,) = load_agents()
    assert (settings.provider, settings.providers, settings.schedules) == ("", {}, False)
    assert problem.message == "is not a regular file"


def test_a_tier_that_there_is_not() -> None:
    settings, _ = load_agents()
    with pytest.raises(CortexError, match="anthropic has no model of the tier 'big'"):
        resolve_model(settings, "a", "", "big", "")
